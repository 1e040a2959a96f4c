"""PHQ-8 files of newer tools have no keyword_evidence_count: what is missing is missing, not 0."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evidentia
from cli.command import evidentia as run_command
from cli.command import refused
from evidentia.errors import InputError
from evidentia.synth import synthetic_phq8
from evidentia.tables import read_items

COUNTS = ("keyword_evidence_count", "llm_evidence_count")
OLDER = synthetic_phq8(participants=12, failures=1)


def without(*names: str, every: int = 1) -> dict[str, Any]:
    """The run without some signals, of all items or of every so many."""
    run = copy.deepcopy(OLDER)
    results = [one for experiment in run["experiments"] for one in experiment["results"]["results"]]
    items = [own for one in results for own in (one.get("item_signals") or {}).values()]
    for own in items[::every]:
        for name in names:
            own.pop(name)
    return run


def write(path: Path, run: dict[str, Any]) -> Path:
    path.write_text(json.dumps(run))
    return path


@pytest.mark.parametrize("mode", ["zero_shot", "few_shot"])
def test_they_are_read_and_ranked_by_the_counts_they_have(mode: str) -> None:
    items = read_items(without("keyword_evidence_count"), mode=mode)
    assert list(items.signals) == ["llm", "verbalized_confidence", "token_msp"]
    older = read_items(OLDER, mode=mode)
    assert np.array_equal(items.signals["llm"], older.signals["llm"], equal_nan=True)
    result = evidentia.selective.evaluate(items, seed=1, resamples=0)
    assert result.dataset["signals"] == ["llm"]
    assert (
        result["AURC"].value == evidentia.selective.evaluate(older, seed=1, resamples=0)["AURC[confidence=llm]"].value
    )


@pytest.mark.parametrize(
    ("lacking", "asked", "needed"),
    [
        (
            COUNTS[:1],
            "keyword",
            "keyword needs keyword_evidence_count in item_signals, and none of 88 items has a value",
        ),
        (COUNTS[:1], "total_evidence", "total_evidence needs keyword_evidence_count in"),
        (COUNTS[1:], "llm", "llm needs llm_evidence_count"),
        (COUNTS, "total_evidence", "total_evidence needs llm_evidence_count and keyword_evidence_count"),
        (COUNTS, None, "llm needs llm_evidence_count"),
        ((), "nonsense", "there is no signal 'nonsense'"),
    ],
)
def test_asking_for_what_they_lack_is_an_error_that_names_it(
    lacking: tuple[str, ...], asked: str | None, needed: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "run.json", without(*lacking))
    options = () if asked is None else ("--confidence", asked)
    refused(run_command("selective", path, "--mode", "zero_shot", "--seed", 1, "--resamples", 0, *options), needed)


def test_a_count_that_some_items_lack_is_not_taken_for_0() -> None:
    items = read_items(without("keyword_evidence_count", every=2), mode="zero_shot")
    assert np.isnan(items.signals["total_evidence"]).sum() == np.isnan(items.signals["keyword"]).sum() > 0
    with pytest.raises(
        InputError, match=r"predicted items without 'total_evidence' .*It needs keyword_evidence_count\."
    ):
        evidentia.selective.evaluate(items, seed=1, resamples=0)
    assert evidentia.selective.evaluate(items, seed=1, resamples=0, confidence="llm").dataset["signals"] == ["llm"]


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("newer", ["run", "other", "both"])
def test_a_newer_file_is_compared_with_an_older_one_and_verified(newer: str, tmp_path: Path) -> None:
    lacking = without("keyword_evidence_count")
    run = write(tmp_path / "run.json", lacking if newer in {"run", "both"} else OLDER)
    other = write(tmp_path / "other.json", lacking if newer in {"other", "both"} else OLDER)
    words = ("--mode", "few_shot", "--against", other, "--against-mode", "zero_shot", "--seed", 1, "--resamples", 20)
    ran = run_command("selective", run, *words, "-o", tmp_path / "out", "--quiet")
    assert ran.code == 0, ran
    assert run_command("verify", tmp_path / "out", "--quiet").code == 0


FURTHER: dict[str, Any] = {
    "verbalized_confidence": 4,
    "token_msp": 0.7,
    "token_pe": 0.4,
    "token_energy": -3.5,
    "retrieval_similarity_mean": 0.61,
    "consistency_modal_confidence": 0.8,
}
NO_SIGNALS = {"evidence_source": None, "consistency_samples": [2, 2, 3], "fallback": False, "reason": "no evidence"}


def newer() -> dict[str, Any]:
    """A run with further signals, and without the keywords' counts; abstained items lack the further ones."""
    run = without("keyword_evidence_count")
    for experiment in run["experiments"]:
        for place, result in enumerate(experiment["results"]["results"]):
            for item, own in result.get("item_signals", {}).items():
                there = result["predicted_items"][item] is not None
                own.update({name: value + place / 100 if there else None for name, value in FURTHER.items()})
                own.update(NO_SIGNALS)
    return run


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("signal", FURTHER)
def test_every_further_signal_can_be_the_confidence_and_verifies(signal: str, tmp_path: Path) -> None:
    path = write(tmp_path / "run.json", newer())
    words = ("--mode", "few_shot", "--confidence", signal, "--seed", 1, "--resamples", 10, "--no-report")
    ran = run_command("selective", path, *words, "-o", tmp_path / "out", "--quiet")
    assert ran.code == 0, ran
    assert run_command("verify", tmp_path / "out", "--quiet").code == 0
    items = read_items(path, mode="few_shot")
    assert {*items.signals} == {"llm", *FURTHER}, "texts, lists and flags are no signals"


@pytest.mark.parametrize("signal", FURTHER)
def test_a_further_signal_that_is_not_there_is_named_with_those_that_are(signal: str, tmp_path: Path) -> None:
    run = newer()
    for experiment in run["experiments"]:
        for result in experiment["results"]["results"]:
            for own in result.get("item_signals", {}).values():
                del own[signal]
    path = write(tmp_path / "run.json", run)
    words = ("--mode", "zero_shot", "--seed", 1, "--resamples", 0, "--confidence", signal)
    refused(run_command("selective", path, *words), f"run.json: there is no signal '{signal}'; there is 'llm'")


def test_a_further_signal_that_some_items_lack_is_counted() -> None:
    run = newer()
    first = run["experiments"][0]["results"]["results"][0]
    item = next(item for item, score in first["predicted_items"].items() if score is not None)
    first["item_signals"][item]["token_msp"] = None
    items = read_items(run, mode=run["experiments"][0]["results"]["mode"])
    with pytest.raises(InputError, match=r"1 predicted item without 'token_msp' \(first: participant .*Give every"):
        items.confidence("token_msp")
