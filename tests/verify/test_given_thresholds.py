"""Every number of given thresholds is recomputed: honest ones match, and an edit of any single one is noticed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evidentia
from evidentia.protocol import Choices, parse_rule, parse_targets, tune
from evidentia.synth import synthetic_run
from evidentia.tables import Run
from evidentia.verify.applied import check_applied
from evidentia.verify.folder import ResultFolder
from evidentia.verify.points import Points
from evidentia.verify.run import read_points
from evidentia.verify.tally import Tally
from evidentia.verifying import verify_numbers
from verify.made import Copy, copied

EASY = parse_targets(["ScreeningSensitivity(unit=post)>=0.6", "AlertPrecision(unit=post)>=0.1"])
CERTIFIED = Choices(None, EASY, certify=True)
BUDGETS = parse_targets(["UncertainRate<=0.3", "AlertsPer1000<=100", "NegRate>=0.9", "PosRate>=0.2"])
WAYS = {
    "fpr": Choices(parse_rule("fpr=0.1")),
    "max-f1": Choices(parse_rule("max-f1")),
    "max-mcc": Choices(parse_rule("max-mcc"), calibrate="isotonic"),
    "youden": Choices(parse_rule("youden"), calibrate="temperature"),
    "fixed": Choices(parse_rule("fixed=0.5"), calibrate="platt"),
    "three states": Choices(calibrate="beta"),
    "budgets of work": Choices(None, BUDGETS),
    "certified": CERTIFIED,
    "not certified": Choices(certify=True),
    "certified behind the best calibrator": replace(CERTIFIED, calibrate="auto"),
}


def one_fold() -> pl.DataFrame:
    """The TUNE and EVAL rows of a fold without its name, and without TRAIN."""
    made = synthetic_run(seed=4, posts=110, criteria=4, positives=120, splits=True, candidates=False).per_query
    return made.filter((pl.col("fold").cast(pl.String) == "0") & (pl.col("split") != "TRAIN")).drop("fold")


@dataclass(frozen=True)
class Given:
    """A result under thresholds, and its rows as verification reads them."""

    folder: Path
    points: Points
    choices: Choices

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "thresholds.json").read_text(encoding="utf-8"))
        return found


@pytest.fixture(scope="module")
def run() -> Run:
    return evidentia.read_run(one_fold())


@pytest.fixture(scope="module", params=WAYS)
def given(request: pytest.FixtureRequest, run: Run, tmp_path_factory: pytest.TempPathFactory) -> Given:
    return made(run, WAYS[request.param], tmp_path_factory.mktemp("given") / "result")


def made(run: Run, choices: Choices, folder: Path) -> Given:
    evidentia.evaluate(run, thresholds=tune(run, choices), measures=["AUROC"], resamples=0).save(folder)
    return Given(folder, read_points(ResultFolder(folder)), choices)


def checked(given: Given, folder: Path | None = None) -> Tally:
    tally = Tally()
    check_applied(ResultFolder(folder or given.folder), given.points, tally)
    return tally


def test_honest_thresholds_match(given: Given) -> None:
    found = checked(given)
    assert found.mismatches == []
    assert found.comparisons > 90


def test_the_ways_are_what_they_are_called(given: Given) -> None:
    gate = given.document["folds"][0]["three_state"]
    if given.choices.certify:
        certified = [one["value"] is not None for one in gate["certificates"]]
        assert certified == ([True, True] if given.choices.targets == EASY else [False, False])
    else:
        assert gate is None or gate["certificates"] == []


def leaves(content: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place with a plain value; of long lists the first, the middle and the last."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from leaves(value, (*path, key))
    elif isinstance(content, list) and content:
        for at in sorted({0, len(content) // 2, len(content) - 1}):
            yield from leaves(content[at], (*path, at))
    else:
        yield path


def other(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value + 1e-6
    return 0.5 if value is None else f"{value}x"


def edited(content: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    changed = copy.deepcopy(content)
    at: Any = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = other(at[path[-1]]) if at[path[-1]] != [] else ["x"]
    return changed


def write(target: Copy, document: dict[str, Any]) -> None:
    """Put a document in both places, under the hash that it has."""

    def without_grids(manifest: dict[str, Any]) -> None:
        manifest["applied_thresholds"] = kept = copy.deepcopy(document)
        for fold in kept["folds"]:
            if fold["three_state"] and isinstance(fold["three_state"], dict):
                fold["three_state"]["grid"] = {}

    (target.folder / "thresholds.json").write_text(json.dumps(document), encoding="utf-8")
    path = target.folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    without_grids(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    target.renew("thresholds.json")


def noticed(given: Given, target: Copy, document: dict[str, Any]) -> bool:
    write(target, document)
    try:
        return bool(checked(given, target.folder).mismatches)
    except (LookupError, TypeError, ValueError):  # `verify` counts what it cannot read as a mismatch
        return True


def unused(given: Given) -> set[str]:
    """Settings that had no say: seeds deal posts for `auto` and for certificates behind a calibrator."""
    asked = given.choices
    dealt = asked.calibrate == "auto" or (asked.certify and asked.calibrate != "none")
    seed = set() if dealt else {"choices.seed"}
    about_posts = {f"choices.targets.{name}(unit=post)>=" for name in ("ScreeningSensitivity", "AlertPrecision")}
    return seed if asked.certify else seed | about_posts


@pytest.mark.sample(every=6)
def test_every_single_edit_is_noticed(given: Given, tmp_path: Path) -> None:
    document, target = given.document, copied(given.folder, tmp_path / "copy")
    places = [path for path in leaves(document) if path[0] != "inputs"]
    kinds = {".".join(str(key) for key in path if isinstance(key, str)) for path in places}
    assert len(kinds) >= (40 if given.choices.rule is None else 20)
    missed = [path for path in places if not noticed(given, target, edited(document, path))]
    assert {".".join(map(str, path)) for path in missed} - unused(given) == set()


def test_a_post_less_or_more_is_noticed_under_its_own_hash(given: Given, tmp_path: Path) -> None:
    from evidentia.verify.tuning import posts_sha256

    target = copied(given.folder, tmp_path / "copy")
    document = given.document
    gate = document["folds"][0]["three_state"] or document["folds"][0]["threshold"]
    for posts in (gate["tuned_on"]["posts"][1:], [*gate["tuned_on"]["posts"], "stranger"]):
        if posts:
            gate["tuned_on"] |= {"posts": posts, "posts_sha256": posts_sha256(posts)}
            assert noticed(given, target, document)


@pytest.fixture(scope="module")
def certified(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Given:
    return made(run, WAYS["certified behind the best calibrator"], tmp_path_factory.mktemp("whole") / "result")


def test_a_certified_result_passes_the_whole_verification(certified: Given) -> None:
    found = verify_numbers(certified.folder)
    assert found.mismatches == ()
    assert next(check.comparisons for check in found.checks if check.name == "given thresholds") > 1000


def test_rows_that_are_not_those_of_the_tuning_need_the_note(certified: Given, tmp_path: Path) -> None:
    """Changing the hash of the rows would turn the recomputation off: that is only accepted if the summary says so."""
    target, document = copied(certified.folder, tmp_path / "copy"), certified.document
    document["folds"][0]["tune_sha256"] = "0" * 64
    document["folds"][0]["three_state"]["metrics"]["Workload"] = 0.0
    write(target, document)
    assert [mismatch.where for mismatch in checked(certified, target.folder).mismatches] == [
        "summary.json: notes: tuned on rows that are not the TUNE rows of this run"
    ]


def test_thresholds_from_other_rows_verify_with_the_note(run: Run, tmp_path: Path) -> None:
    alone = evidentia.read_run(one_fold().filter(split="EVAL"))
    result = evidentia.evaluate(alone, thresholds=tune(run, CERTIFIED), measures=["AUROC"], resamples=0)
    result.save(tmp_path / "out")
    assert any("`verify` cannot recompute them" in note for note in result.notes)
    assert verify_numbers(tmp_path / "out").mismatches == ()


@pytest.mark.parametrize("label", ["has_evidence", "prob"])
def test_an_edit_of_a_tune_row_is_noticed(certified: Given, tmp_path: Path, label: str) -> None:
    target = copied(certified.folder, tmp_path / "copy")
    change = pl.col("prob") * 0.999 if label == "prob" else ~pl.col("has_evidence").cast(pl.Boolean)
    first = pl.int_range(pl.len()) == 3
    target.parquet(
        "tune.parquet", lambda t: t.with_columns(pl.when(first).then(change).otherwise(pl.col(label)).alias(label))
    )
    places = [mismatch.where for mismatch in verify_numbers(target.folder).mismatches]
    assert any("thresholds.json" in place or "tune.parquet" in place or "notes" in place for place in places)


def test_a_score_of_its_own_is_calibrated_and_recomputed(tmp_path: Path) -> None:
    frame = one_fold().rename({"prob": "detection_score"}).drop("state", "tau_neg", "tau_pos")
    run = evidentia.read_run(frame.with_columns(detection_score=pl.col("detection_score") * 40 - 7))
    for method in ("auto", "platt", "temperature", "isotonic"):
        found = made(run, Choices(parse_rule("youden"), calibrate=method), tmp_path / method)
        assert checked(found).mismatches == []


def test_separated_labels_are_told_apart_alike(tmp_path: Path) -> None:
    frame = one_fold().drop("state", "tau_neg", "tau_pos", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")
    frame = frame.with_columns(prob=pl.col("prob") / 2 + 0.5 * pl.col("has_evidence").cast(pl.Float64))
    for method in ("auto", "platt", "beta"):
        found = made(evidentia.read_run(frame), Choices(parse_rule("max-f1"), calibrate=method), tmp_path / method)
        assert checked(found).mismatches == []
        calibrator = found.document["folds"][0]["calibrator"]
        assert (calibrator["reason"] is None) == (method == "auto")
        assert "platt" not in calibrator["log_loss"]
