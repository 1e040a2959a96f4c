"""`evidentia tune` and `evaluate --thresholds` on disk: strict files, whole or not at all, and a manifest that keeps them."""

from __future__ import annotations

import copy
import csv
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from cli.command import evidentia as command
from cli.command import refused
from evidentia import InputError
from evidentia.protocol import posts_sha256, read_tuning
from evidentia.results import dumps, loads
from results.schemas import faults, schema


def tuned(run_file: Path, out: Path, *words: str) -> dict:
    ran = command("tune", run_file, *words, "-o", out)
    assert (ran.code, ran.err) == (0, "")
    return loads(out.read_text("utf-8"))


WAYS = {
    "a budget": ("--rule", "fpr=5%"),
    "a fixed value": ("--rule", "fixed=0.5"),
    "one threshold behind a calibrator": ("--rule", "max-mcc", "--calibrate", "isotonic"),
    "two thresholds": ("--three-state",),
    "certified ones": ("--three-state", "--certify", "--targets", "ScreeningSensitivity(unit=post)>=0.6"),
    "everything": ("--three-state", "--certify", "--calibrate", "auto"),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_tuned_is_described_kept_and_recomputable(way: str, run_file: Path, tmp_path: Path) -> None:
    content = tuned(run_file, tmp_path / "t.json", *WAYS[way])
    assert faults("thresholds", content) == []
    assert content["inputs"][0]["name"] == "per_query.csv"
    ran = command("evaluate", run_file, "--thresholds", tmp_path / "t.json", "-o", tmp_path / "out", "-q")
    assert (ran.code, ran.err) == (0, "")
    manifest = loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert faults("manifest", manifest) == []
    assert "--thresholds t.json" in manifest["command"]
    assert manifest["inputs"][-1]["role"] == "thresholds"
    kept = copy.deepcopy(content)
    for fold in kept["folds"]:
        if fold["three_state"]:
            fold["three_state"]["grid"] = {}
    assert manifest["applied_thresholds"] == kept
    check_rows(tmp_path / "out" / "per_query.csv", {fold["fold"]: fold for fold in content["folds"]})


def check_rows(file: Path, folds: dict[str, dict]) -> None:
    """Every query's yes or no follows from what stands in its own row, and that from the manifest."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 600
    for row in rows:
        prob, fold = float(row["prob"]), folds[row["fold"]]
        if fold["threshold"] is not None:
            assert float(row["tau"]) == fold["threshold"]["value"]
            assert "state" not in row
        else:
            low, high = float(row["tau_neg"]), float(row["tau_pos"])
            assert (low, high) == (fold["three_state"]["tau_neg"], fold["three_state"]["tau_pos"])
            assert row["state"] == ("NEG" if prob < low else "POS" if prob >= high else "UNCERTAIN")
        assert ("raw_prob" in row) == (fold["calibrator"] is not None)


def test_the_same_run_gives_the_same_bytes_and_nothing_is_replaced_by_mistake(run_file: Path, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        tuned(run_file, tmp_path / name, "--three-state", "--calibrate", "auto")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    refused(command("tune", run_file, "-o", tmp_path / "a.json"), "a.json exists", "--force")
    assert command("tune", run_file, "-o", tmp_path / "a.json", "--force").code == 0
    (tmp_path / "notes.json").write_text('{"mine": true}')
    refused(command("tune", run_file, "-o", tmp_path / "notes.json", "--force"), "not a thresholds file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json", "notes.json"]


def test_the_screen_says_what_was_chosen_missed_and_not_certified(run_file: Path, tmp_path: Path) -> None:
    words = ("--three-state", "--certify", "--targets", "AlertPrecision>=1,AlertPrecision(unit=post)>=0.9")
    ran = command("tune", run_file, *words, "-o", tmp_path / "t.json")
    content = loads((tmp_path / "t.json").read_text("utf-8"))
    assert "fold  posts  pos." in ran.out
    for fold in content["folds"]:
        assert f"{fold['three_state']['tau_neg']:.4f}" in ran.out
        assert str(len(fold["three_state"]["tuned_on"]["posts"])) in ran.out
        for outcome in fold["three_state"]["targets"]:
            missed = f"{outcome['name']}{outcome['target']:g} is missed on TUNE by {outcome['missed_by']:.4g}"
            assert (missed in ran.out) == (outcome["missed_by"] > 0)
    assert "cannot certify ScreeningSensitivity(unit=post) >= 0.995 at confidence 0.95" in ran.out
    assert "598 without a miss are needed. The threshold is tuned, not certified" in ran.out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--rule", "best"), "'best' is not a rule"),
        (("--rule", "youden", "--three-state"), "Give one of them"),
        (("--certify",), "Add --three-state"),
        (("--targets", "AlertPrecision>=0.9"), "Add --three-state"),
        (("--three-state", "--targets", "AUROC>=0.9"), "not a target for thresholds"),
        (("--calibrate", "magic"), "no calibrator 'magic'"),
        (("--three-state", "--certify", "--delta", "1"), "delta must lie between 0 and 1"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    words: tuple[str, ...], part: str, run_file: Path, tmp_path: Path
) -> None:
    refused(command("tune", run_file, *words, "-o", tmp_path / "t.json"), part)
    assert list(tmp_path.iterdir()) == []


def test_thresholds_tuned_on_the_evaluation_set_are_refused_and_nothing_is_written(
    run_file: Path, tmp_path: Path
) -> None:
    """Somebody calls the EVAL rows TUNE, tunes on them, and applies the result to them."""
    table = pl.read_csv(run_file)
    own = table.filter(split="EVAL").with_columns(split=pl.lit("TUNE"))
    other = table.filter(split="TUNE").with_columns(split=pl.lit("EVAL"))
    other = other.unique(["post_id", "criterion_id"], maintain_order=True).join(own, on=["post_id", "fold"], how="anti")
    pl.concat([own, other]).write_csv(tmp_path / "swapped.csv")
    tuned(tmp_path / "swapped.csv", tmp_path / "t.json", "--three-state")
    ran = command("evaluate", run_file, "--thresholds", tmp_path / "t.json", "-o", tmp_path / "out")
    refused(ran, *(f"t.json: the thresholds for fold '{fold}' were tuned on 24 posts of the 24" for fold in range(5)))
    assert not (tmp_path / "out").exists()


def test_a_result_under_thresholds_can_be_compared(run_file: Path, tmp_path: Path) -> None:
    tuned(run_file, tmp_path / "t.json", "--three-state", "--calibrate", "platt")
    for name, words in (("plain", ()), ("tuned", ("--thresholds", tmp_path / "t.json"))):
        assert command("evaluate", run_file, *words, "-o", tmp_path / name, "-q").code == 0
    measures = "ECE,ScreeningSensitivity,TPR(tuned)@FPR=5%"
    ran = command(
        "compare",
        tmp_path / "plain",
        tmp_path / "tuned",
        "--measures",
        measures,
        "--resamples",
        50,
        "-o",
        tmp_path / "c",
    )
    assert ran.code == 0, ran.err
    deltas = loads((tmp_path / "c" / "comparison.json").read_text("utf-8"))["deltas"]
    summaries = [loads((tmp_path / name / "summary.json").read_text("utf-8")) for name in ("plain", "tuned")]
    compared = [delta for delta in deltas if "[" not in delta["name"]]
    assert len(compared) == 3
    for delta in compared:
        plain, under = (summary["measures"][delta["name"]]["value"] for summary in summaries)
        assert (delta["baseline_value"], delta["system_value"]) == pytest.approx((plain, under), abs=1e-12)


def _threshold(content: dict) -> dict:
    return content["folds"][1]["threshold"]


DAMAGE: dict[str, Callable[[dict], object]] = {
    "another schema": lambda c: c.update(schema="evidentia.thresholds/2"),
    "no folds": lambda c: c.update(folds=[]),
    "a fold twice": lambda c: c["folds"].append(c["folds"][0]),
    "a fold under another name": lambda c: c["folds"][0].update(fold="x"),
    "no threshold": lambda c: c["folds"][0].update(threshold=None),
    "a threshold above 1": lambda c: _threshold(c).update(value=1.5),
    "a threshold that is text": lambda c: _threshold(c).update(value="0.5"),
    "a threshold that is false": lambda c: _threshold(c).update(value=False),
    "a target that is true": lambda c: _threshold(c).update(target=True),
    "a figure that is text": lambda c: _threshold(c)["metrics"].update(F1="0.5"),
    "a coefficient that is true": lambda c: c["folds"][0]["calibrator"]["parameters"].update(coefficients=[True, 0.5]),
    "a count that is a fraction": lambda c: c["folds"][0].update(tune_queries=10.5),
    "a count that is false": lambda c: c["folds"][0].update(tune_positives=False),
    "no value and no reason": lambda c: _threshold(c).update(value=None),
    "no posts": lambda c: _threshold(c)["tuned_on"].pop("posts"),
    "a post taken out": lambda c: _threshold(c)["tuned_on"]["posts"].pop(),
    "another score column": lambda c: _threshold(c)["tuned_on"].update(score="score"),
    "an unknown rule": lambda c: _threshold(c).update(rule="magic"),
    "a calibrator without its numbers": lambda c: c["folds"][0]["calibrator"].update(parameters={}),
    "a calibrator of another kind": lambda c: c["folds"][0]["calibrator"].update(method="magic"),
}


@pytest.fixture(scope="module")
def document(run_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    return tuned(run_file, tmp_path_factory.mktemp("whole") / "t.json", "--rule", "max-f1", "--calibrate", "platt")


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_file_is_refused(what: str, document: dict, tmp_path: Path) -> None:
    broken = copy.deepcopy(document)
    DAMAGE[what](broken)
    (tmp_path / "t.json").write_text(dumps(broken), encoding="utf-8")
    with pytest.raises(InputError, match=r"^t\.json: "):
        read_tuning(tmp_path / "t.json")


def test_the_schema_is_valid_and_sees_damage_too(document: dict) -> None:
    Draft202012Validator.check_schema(schema("thresholds"))
    assert schema("thresholds")["$id"] == document["schema"]
    assert faults("thresholds", document) == []
    # a hash, a repeated fold and the parameters of a method are the reader's to check
    unseen = {"a fold twice", "a fold under another name", "a post taken out", "a calibrator without its numbers"}
    for what in set(DAMAGE) - unseen:
        broken = copy.deepcopy(document)
        DAMAGE[what](broken)
        assert faults("thresholds", broken), what


def test_a_judged_post_among_the_tuning_posts_is_refused_also_with_the_right_hash(
    document: dict, run_file: Path, tmp_path: Path
) -> None:
    """The hash guards against edits; the overlap is looked for apart from it."""
    judged = pl.read_csv(run_file).filter(split="EVAL", fold=1)["post_id"][0]
    forged = copy.deepcopy(document)
    on = _threshold(forged)["tuned_on"]
    on["posts"].append(judged)
    on["posts_sha256"] = posts_sha256(on["posts"])
    (tmp_path / "t.json").write_text(dumps(forged), encoding="utf-8")
    ran = command("evaluate", run_file, "--thresholds", tmp_path / "t.json")
    refused(ran, "thresholds for fold '1' were tuned on 1 post of the 24", judged)


def test_a_file_that_cannot_be_written_leaves_nothing_behind(run_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    refused(command("tune", run_file, "-o", tmp_path / "file" / "t.json"), "Cannot write t.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_targets_that_are_only_defaults_are_named(run_file: Path, tmp_path: Path) -> None:
    words = ("--three-state", "--targets", "ScreeningSensitivity>=0.9")
    ran = command("tune", run_file, *words, "-o", tmp_path / "thresholds.json")
    told = "targets: ScreeningSensitivity>=0.9; by default ScreeningFNPer1000<=5, AlertPrecision>=0.9\n"
    assert told in ran.out
