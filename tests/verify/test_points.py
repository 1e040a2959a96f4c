"""Results of every kind verify without a mismatch: all profiles, slices, tuned thresholds, gaps, odd names, real runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evidentia
from evidentia.synth import synthetic_run
from evidentia.verify.course import Verification
from evidentia.verifying import verify_numbers
from shared_data.data import folder as shared

from .made import evaluated, small_run

PROFILES = ("contract", "e2e", "paper", "audit")
PUBLISHED = ("baseline-val", "final-105736", "final-v2-dual")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run(tmp_path_factory.mktemp("run"), posts=60, criteria=4, positives=40)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """The EVAL rows of the same run, to be bent."""
    made = synthetic_run(seed=7, posts=60, criteria=4, positives=40, splits=False)
    return made.per_query.with_columns(pl.col(pl.List(pl.String)).list.join("|"))


def clean(found: Verification, at_least: int) -> None:
    assert [(m.where, m.reported, m.recomputed) for m in found.mismatches[:5]] == []
    assert found.passed
    assert found.comparisons >= at_least


def verified(frame: pl.DataFrame, out: Path, *, by: tuple[str, ...] = (), **options: Any) -> Verification:
    run = evidentia.read_run(frame, by=by)
    evidentia.evaluate(run, by=by, **{"resamples": 0, **options}).save(out)
    return verify_numbers(out)


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_with_slices_both_populations_and_tuned_thresholds(
    profile: str, run: Path, tmp_path: Path
) -> None:
    clean(verify_numbers(evaluated(run, tmp_path / "out", profile=profile, dual=True)), 80_000)


def test_with_intervals_the_warnings_about_small_samples_are_looked_at(run: Path, tmp_path: Path) -> None:
    found = verify_numbers(evaluated(run, tmp_path / "out", resamples=20))
    clean(found, 50_000)
    assert found.checks[-1].name == "intervals"


BENT = {
    "no probabilities": lambda f: f.drop("prob", "tau_neg", "tau_pos"),
    "a detection score": lambda f: f.rename({"prob": "detection_score"}).drop("tau_neg", "tau_pos", "state"),
    "one threshold": lambda f: f.drop("state", "tau_neg", "tau_pos").with_columns(tau=pl.lit(0.3)),
    "no state": lambda f: f.drop("state"),
    "no selection": lambda f: f.drop("selected_sent_uids"),
    "no folds": lambda f: f.drop("fold"),
    "gold only": lambda f: f.select("post_id", "criterion_id", "gold_sent_uids"),
    "labels and probabilities": lambda f: f.select("post_id", "criterion_id", "has_evidence", "prob"),
    "incomplete": lambda f: f.head(101),
    "no evidence": lambda f: f.filter(pl.col("gold_sent_uids") == ""),
    "only evidence": lambda f: f.filter(pl.col("gold_sent_uids") != ""),
    "one query": lambda f: f.head(1),
    "ties everywhere": lambda f: f.drop("state", "tau_neg", "tau_pos").with_columns(pl.col("prob").round(1)),
    "certainties": lambda f: f.drop("state", "tau_neg", "tau_pos").with_columns(
        prob=pl.when(pl.int_range(pl.len()) % 5 == 0)
        .then(1.0)
        .when(pl.int_range(pl.len()) % 5 == 1)
        .then(0.0)
        .otherwise("prob")
    ),
    "criteria with signs": lambda f: f.with_columns(criterion_id=pl.col("criterion_id") + ' ,["=x'),
    "posts that are numbers": lambda f: f.with_columns(post_id=pl.col("post_id").str.slice(-2)).drop(
        "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"
    ),
}


@pytest.mark.sample(every=6)
@pytest.mark.parametrize("bend", BENT.values(), ids=BENT.keys())
def test_what_a_run_lacks_or_is_odd_about_it(bend: Any, frame: pl.DataFrame, tmp_path: Path) -> None:
    clean(verified(bend(frame), tmp_path / "out"), 1_000)


@pytest.mark.slow
def test_slices_that_cut_through_posts_and_values_that_look_like_formulas(frame: pl.DataFrame, tmp_path: Path) -> None:
    third = pl.int_range(pl.len()) % 3
    odd = frame.with_columns(
        site=pl.when(third == 0).then(pl.lit("=1+1")).when(third == 1).then(pl.lit('a,"b] [')),
        number=pl.int_range(pl.len()) % 11,
    )
    clean(verified(odd, tmp_path / "out", by=("site", "number")), 50_000)


def test_named_measures_groups_and_the_names_of_other_tools(frame: pl.DataFrame, tmp_path: Path) -> None:
    names = [
        *(
            "ndcg_cut_10",
            "AUROC[fold=3]",
            "macro_f1",
            "F1(t=0.250)",
            "ECE(bins=15)",
            "nDCG@7[criterion=A.1,fold=2]",
            "map",
        ),
        *(
            "NetBenefit@t=1",
            "MAP(norm=min_eff)@ALL",
            "Precision@ALL",
            "TPR@FPR=0.2",
            "auroc",
            "EvidenceRecall(given=gate)",
        ),
        *(
            "Recall(avg=criterion)@10",
            "F1(t=gate,avg=criterion)",
            "MRR[fold=1]",
            "MRR[fold=0]",
            "AUROC(level=candidate)",
        ),
    ]
    clean(verified(frame, tmp_path / "out", measures=names), 5_000)


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(("profile", "k"), [("contract", ["7"]), ("paper", ["2", "ALL"]), ("audit", [10])])
def test_other_depths(profile: str, k: list[str], frame: pl.DataFrame, tmp_path: Path) -> None:
    clean(verified(frame, tmp_path / "out", profile=profile, k=k), 20_000)


def test_a_candidates_table_without_gold_marks_or_node_probabilities(run: Path, tmp_path: Path) -> None:
    candidates = pl.read_csv(run / "candidates.csv").drop("is_gold", "node_prob")
    read = evidentia.read_run(run / "per_query.csv", candidates=candidates)
    evidentia.evaluate(read, profile="paper", resamples=0).save(tmp_path / "out")
    clean(verify_numbers(tmp_path / "out"), 20_000)


def test_trec_files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("t1 0 a 1\nt1 0 b 0\nt1 0 c 2\nt2 0 a 1\nt10 0 z 0\n")
    (tmp_path / "run").write_text("t1 Q0 b 1 0.9 x\nt1 Q0 a 2 0.8 x\nt1 Q0 d 3 0.8 x\nt10 Q0 z 1 1 x\n")
    for profile in PROFILES:
        read = evidentia.read_trec(tmp_path / "qrels", tmp_path / "run")
        evidentia.evaluate(read, profile=profile, resamples=0).save(tmp_path / profile)
        clean(verify_numbers(tmp_path / profile), 300)


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("profile", ["audit", "paper"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_runs(name: str, profile: str, tmp_path: Path) -> None:
    columns = {"gold_sent_uids": "gold_ids", "ranked_sent_uids": "reranked_topk"}
    read = evidentia.read_run(shared("published-runs") / name / "per_query.csv", mapping=columns)
    evidentia.evaluate(read, profile=profile, dual=True, resamples=0).save(tmp_path / "out")
    clean(verify_numbers(tmp_path / "out"), 100_000)


def test_the_example_of_trec_eval(tmp_path: Path) -> None:
    home = shared("trec-eval")
    read = evidentia.read_trec(home / "qrels.test", home / "results.test", ties="trec")
    evidentia.evaluate(read, resamples=0).save(tmp_path / "out")
    clean(verify_numbers(tmp_path / "out"), 1_000)


@pytest.mark.slow
def test_a_fold_that_cannot_be_tuned(run: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(run / "per_query.csv", infer_schema_length=0)
    untuned = (pl.col("split") == "TUNE") & (pl.col("fold") == "2") & (pl.col("has_evidence") == "1")
    clean(verified(frame.filter(~untuned), tmp_path / "out"), 20_000)
