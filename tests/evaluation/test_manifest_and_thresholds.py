"""The manifest proves what went in, and that no threshold was tuned on a post that it is judged on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import evidentia
from builders.runs import Files, Saved
from cli.points import point_estimates

BUDGETS = {"FPR=3%": 0.03, "FPR=5%": 0.05, "FPR=10%": 0.1}


@pytest.fixture(scope="module")
def frame(split_files: Files) -> pl.DataFrame:
    return pl.read_csv(split_files.per_query, schema_overrides={"fold": pl.String})


def test_inputs_are_named_with_their_hash_and_rows(split_files: Files, split_saved: Saved) -> None:
    assert split_saved.manifest["inputs"] == [
        {
            "role": role,
            "name": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": len(path.read_text().splitlines()) - 1,
        }
        for role, path in (("run", split_files.per_query), ("candidates", split_files.candidates))
    ]


def test_every_file_of_the_folder_is_listed_with_its_hash(split_saved: Saved) -> None:
    folder = split_saved.folder
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    there.pop("manifest.json")
    assert {"tune.parquet", "candidates.parquet", "tables/measures.csv"} <= set(there)
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in there.items()}
    assert split_saved.manifest["files"] == hashes


def test_a_gzipped_file_is_hashed_as_it_lies_on_the_disk(files: Files, tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "run.csv.gz"
    packed.write_bytes(gzip.compress(files.per_query.read_bytes()))
    (source,) = evidentia.read_run(packed).sources
    assert source.sha256 == hashlib.sha256(packed.read_bytes()).hexdigest()


def test_a_run_without_splits_has_no_thresholds(saved: Saved) -> None:
    assert saved.manifest["thresholds"] == []


def test_every_threshold_names_the_posts_it_was_tuned_on_and_none_is_judged(
    split_saved: Saved, frame: pl.DataFrame
) -> None:
    thresholds = split_saved.manifest["thresholds"]
    assert {(t["target"], t["fold"]) for t in thresholds} == {(b, str(f)) for b in BUDGETS for f in range(5)}
    for threshold in thresholds:
        own = frame.filter(pl.col("fold") == threshold["fold"])
        tune = set(own.filter(pl.col("split") == "TUNE")["post_id"])
        judged = set(own.filter(pl.col("split") == "EVAL")["post_id"])
        assert set(threshold["tuned_on_posts"]) == tune
        assert len(tune) > 5
        assert judged
        assert not set(threshold["tuned_on_posts"]) & judged


def test_thresholds_follow_from_the_tune_rows_alone(split_saved: Saved, frame: pl.DataFrame) -> None:
    for threshold in split_saved.manifest["thresholds"]:
        tune = labelled(frame, threshold["fold"], "TUNE")
        value, tpr, fpr = best_threshold(tune, BUDGETS[threshold["target"]])
        assert (threshold["value"], threshold["reason"]) == (value, None if value is not None else "reject_all")
        assert (threshold["tune_tpr"], threshold["tune_fpr"]) == pytest.approx((tpr, fpr))


@pytest.mark.parametrize("target", BUDGETS)
def test_tuned_rates_are_those_of_a_plain_computation(target: str, split_saved: Saved, frame: pl.DataFrame) -> None:
    cells = {True: [0, 0], False: [0, 0]}  # label -> said no, said yes
    for fold in map(str, range(5)):
        value, _, _ = best_threshold(labelled(frame, fold, "TUNE"), BUDGETS[target])
        for prob, label in labelled(frame, fold, "EVAL"):
            cells[label][value is not None and prob >= value] += 1
    (fn, tp), (tn, fp) = cells[True], cells[False]
    result = split_saved.evaluation
    assert result[f"TPR(tuned)@{target}"].value == pytest.approx(tp / (tp + fn), abs=1e-12)
    assert result[f"FPR(tuned)@{target}"].value == pytest.approx(fp / (fp + tn), abs=1e-12)
    assert result[f"Precision(tuned)@{target}"].value == pytest.approx(tp / (tp + fp), abs=1e-12)
    assert result[f"TPR@{target}"] is result[f"TPR(tuned)@{target}"]  # what the name means under e2e


def labelled(frame: pl.DataFrame, fold: str, split: str) -> list[tuple[float, bool]]:
    rows = frame.filter((pl.col("fold") == fold) & (pl.col("split") == split))
    return [(prob, bool(label)) for prob, label in rows.select("prob", "has_evidence").iter_rows()]


def best_threshold(rows: list[tuple[float, bool]], budget: float) -> tuple[float | None, float, float]:
    """Among the observed scores within the budget, those with the highest rate found, and of these the largest."""
    within = [(tpr, t, fpr) for t, tpr, fpr in rates(rows) if fpr <= budget]
    if not within or max(within)[0] == 0:
        return None, 0.0, 0.0
    tpr, t, fpr = max(within)
    return t, tpr, fpr


def rates(rows: list[tuple[float, bool]]) -> Iterator[tuple[float, float, float]]:
    positives = sum(label for _, label in rows)
    for t in {prob for prob, _ in rows}:
        yes = [label for prob, label in rows if prob >= t]
        yield t, sum(yes) / positives, (len(yes) - sum(yes)) / (len(rows) - positives)


def test_a_post_that_is_tuned_on_and_judged_in_one_fold_is_refused(frame: pl.DataFrame) -> None:
    own = (pl.col("fold") == "0") & (pl.col("split") == "EVAL")
    leak = frame.filter(own).head(1).with_columns(split=pl.lit("TUNE"))
    with pytest.raises(evidentia.InputError, match="also EVAL in the same fold"):
        evidentia.read_run(pl.concat([frame, leak]))


def test_changing_the_labels_of_eval_rows_does_not_move_a_threshold(split_saved: Saved, frame: pl.DataFrame) -> None:
    judged = pl.col("split") == "EVAL"
    changed = frame.drop("gold_sent_uids", "selected_sent_uids").with_columns(
        has_evidence=pl.when(judged).then(1 - pl.col("has_evidence")).otherwise(pl.col("has_evidence"))
    )
    result = point_estimates(evidentia.read_run(changed), profile="e2e", measures=[f"TPR@{b}" for b in BUDGETS])
    assert result.thresholds == split_saved.evaluation.thresholds
