"""A synthetic PHQ-8 run has the layout of the real files, and signals that are worth what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evidentia.errors import InputError, OutputError
from evidentia.synth import synthetic_phq8, write_phq8
from evidentia.tables import Items, read_items

ITEMS = ["NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving"]
MODES = ("zero_shot", "few_shot")
SIGNALS = {"llm_evidence_count", "keyword_evidence_count", "evidence_source", "verbalized_confidence", "token_msp"}
SOURCES = {(True, True): "both", (True, False): "llm", (False, True): "keyword", (False, False): None}


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return synthetic_phq8()


@pytest.fixture(scope="module")
def large() -> dict[str, Items]:
    made = synthetic_phq8(seed=11, participants=1000)
    return {mode: read_items(made, mode=mode) for mode in MODES}


def results(run: dict[str, Any], mode: int = 0) -> list[dict[str, Any]]:
    return run["experiments"][mode]["results"]["results"]


def errors(items: Items) -> NDArray[np.float64]:
    return np.abs(items.pred - items.gt)[items.predicted]


def ranks_correct_above_wrong(items: Items, name: str) -> float:
    """The share of (correct, wrong) pairs that a signal puts in the right order, ties half."""
    values, correct = items.confidence(name)[items.predicted], errors(items) == 0
    wrong = np.sort(values[~correct])
    below, up_to = (np.searchsorted(wrong, values[correct], side=side) for side in ("left", "right"))
    return float((below + up_to).mean() / 2 / len(wrong))


class TestLayout:
    def test_the_top_of_the_file(self, run):
        assert list(run) == ["run_metadata", "experiments"]
        assert run["run_metadata"]["run_id"] == "synthetic-7"
        for experiment, mode in zip(run["experiments"], MODES, strict=True):
            assert experiment["provenance"]["mode"] == experiment["results"]["mode"] == mode
            assert len(experiment["results"]["results"]) == 41

    def test_every_item_of_a_success_has_all_of_its_signals(self, run):
        for one in (one for mode in (0, 1) for one in results(run, mode) if one["success"]):
            for key in ("predicted_items", "ground_truth_items", "item_signals"):
                assert list(one[key]) == ITEMS
            for item, own in one["item_signals"].items():
                assert set(own) == SIGNALS
                counts = (own["llm_evidence_count"] > 0, own["keyword_evidence_count"] > 0)
                assert own["evidence_source"] == SOURCES[counts]
                assert (own["token_msp"] is None) == (one["predicted_items"][item] is None)

    def test_failures_are_the_same_in_every_mode_and_have_nothing_but_an_error(self, run):
        failed = [[one for one in results(run, mode) if not one["success"]] for mode in (0, 1)]
        assert failed[0] == failed[1]
        assert len(failed[0]) == 2
        assert {tuple(one) for one in failed[0]} == {("participant_id", "success", "error")}

    def test_modes_share_participants_and_truth(self, run):
        zero, few = (results(run, mode) for mode in (0, 1))
        for one, other in zip(zero, few, strict=True):
            assert one["participant_id"] == other["participant_id"]
            assert one.get("ground_truth_items") == other.get("ground_truth_items")

    def test_modes_can_be_named(self):
        made = synthetic_phq8(participants=4, failures=0, modes=("a",))
        assert [experiment["results"]["mode"] for experiment in made["experiments"]] == ["a"]


class TestFiles:
    def test_the_same_seed_gives_the_same_bytes(self, tmp_path: Path):
        paths = [write_phq8(synthetic_phq8(seed=seed), tmp_path / f"{at}.json") for at, seed in enumerate((3, 3, 4))]
        same, again, other = (path.read_bytes() for path in paths)
        assert same == again
        assert same != other

    def test_a_run_comes_back_as_it_was(self, run, tmp_path: Path):
        path = write_phq8(run, tmp_path / "new" / "folder" / "phq8.json")
        assert json.loads(path.read_text(encoding="utf-8")) == run
        items = read_items(path, mode="few_shot")
        assert len(items) == 39 * 8
        assert list(items.signals) == ["llm", "keyword", "total_evidence", "verbalized_confidence", "token_msp"]
        for name in items.signals:
            assert np.isfinite(items.confidence(name)[items.predicted]).all()

    def test_a_place_that_cannot_be_written_to(self, run, tmp_path: Path):
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="Choose another"):
            write_phq8(run, tmp_path / "file" / "phq8.json")
        with pytest.raises(OutputError, match="Cannot write"):
            write_phq8(run, tmp_path)


class TestContent:
    def test_the_first_mode_abstains_as_often_as_was_asked(self):
        for share in (0.0, 0.25, 1.0):
            made = synthetic_phq8(participants=22, failures=2, abstention=share)
            assert read_items(made, mode="zero_shot").predicted.mean() == 1 - share

    def test_few_shot_answers_more_and_better(self, large):
        zero, few = (large[mode] for mode in MODES)
        assert few.predicted.mean() > zero.predicted.mean() + 0.05
        assert errors(few).mean() < errors(zero).mean() - 0.03

    def test_somebody_gets_no_prediction_at_all(self, run):
        for mode in MODES:
            items = read_items(run, mode=mode)
            answers = np.bincount(items.cluster[items.predicted], minlength=len(items.cluster_ids))
            assert 1 <= (answers == 0).sum() < len(answers) / 4

    def test_token_msp_knows_errors_and_verbalized_confidence_hardly_does(self, large):
        for items in large.values():
            assert ranks_correct_above_wrong(items, "token_msp") > 0.75
            assert 0.5 < ranks_correct_above_wrong(items, "llm") < 0.65
            assert 0.48 < ranks_correct_above_wrong(items, "verbalized_confidence") < 0.57

    def test_evidence_counts_are_small_and_mostly_tied(self, large):
        for items in large.values():
            counts = items.confidence("total_evidence")[items.predicted]
            assert counts.max() <= 9
            assert np.bincount(counts.astype(int)).max() > len(counts) / 4

    def test_scores_are_mostly_low_and_go_together_within_a_participant(self, large):
        gt = large["zero_shot"].gt.reshape(-1, 8)
        shares = np.bincount(gt.ravel().astype(int), minlength=4) / gt.size
        assert shares[0] > shares[1] > shares[2] > shares[3] > 0.04
        assert np.corrcoef(gt.T)[np.triu_indices(8, 1)].min() > 0.25


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"participants": 0, "failures": 0}, "participants is 0"),
        ({"participants": 2.5}, "participants is 2.5"),
        ({"participants": 10**7}, "at most 1,000,000"),
        ({"participants": 5, "failures": 5}, "failures is 5. Give a whole number of at least 0, at most 4"),
        ({"abstention": 1.01}, "abstention is 1.01"),
        ({"abstention": float("nan")}, "abstention is nan"),
        ({"modes": ()}, "modes are none"),
        ({"modes": ("a", "a")}, "modes are 'a', 'a'"),
    ],
)
def test_settings_that_make_no_run(settings, part):
    with pytest.raises(InputError) as raised:
        synthetic_phq8(**settings)
    assert part in str(raised.value)
