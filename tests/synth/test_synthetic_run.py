"""A synthetic run has the shape it was asked for, and obeys the contract that real runs must obey."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from polars.testing import assert_frame_equal

from evidentia.errors import InputError
from evidentia.synth import SyntheticRun, synthetic_arrays, synthetic_run, write_run, write_trec


@pytest.fixture(scope="module")
def run() -> SyntheticRun:
    return synthetic_run(seed=7)


@pytest.fixture(scope="module")
def nested() -> SyntheticRun:
    return synthetic_run(seed=3, posts=101, positives=None, splits=True)


def auroc(label: NDArray[np.bool_], prob: NDArray[np.float64]) -> float:
    """Share of (positive, negative) pairs in the right order, ties half."""
    negative = np.sort(prob[~label])
    below = np.searchsorted(negative, prob[label], side="left")
    up_to = np.searchsorted(negative, prob[label], side="right")
    return float((below + up_to).mean() / 2 / len(negative))


def reciprocal_rank(arrays_score: NDArray[np.float64], is_gold: NDArray[np.bool_], offsets: NDArray[np.int64]) -> float:
    values = []
    for start, stop in pairwise(offsets):
        gold = is_gold[start:stop][np.argsort(-arrays_score[start:stop], kind="stable")]
        if gold.any():
            values.append(1 / (gold.argmax() + 1))
    return float(np.mean(values))


class TestShape:
    def test_every_pair_once_and_exactly_the_positives_asked_for(self, run: SyntheticRun) -> None:
        table = run.per_query
        assert table.height == 14_770
        assert table.select("post_id", "criterion_id").n_unique() == 14_770
        assert table["post_id"].n_unique() == 1_477
        assert set(table["criterion_id"]) == {f"A.{i}" for i in range(1, 11)}
        assert table["has_evidence"].sum() == 1_379

    def test_folds_are_295_four_times_and_297(self, run: SyntheticRun) -> None:
        posts = run.per_query.select("post_id", "fold").unique()
        assert posts.height == 1_477
        assert posts["fold"].value_counts().sort("fold")["count"].to_list() == [295, 295, 295, 295, 297]

    def test_folds_follow_erratum_11(self, run: SyntheticRun) -> None:
        ids = np.array(sorted(run.per_query["post_id"].unique()))
        shuffled = np.random.default_rng(7).permutation(ids)
        of_fold_1 = run.per_query.filter(pl.col("fold") == 1)["post_id"].unique()
        assert set(of_fold_1) == set(shuffled[295:590])

    def test_lengths_are_skewed_around_the_mean(self, run: SyntheticRun) -> None:
        lengths = run.per_query.unique("post_id")["n_candidates"].to_numpy()
        assert lengths.min() >= 1
        assert lengths.max() <= 120
        assert 18 <= lengths.mean() <= 22
        assert np.median(lengths) < lengths.mean()

    def test_base_rates_differ_and_positives_cluster_in_posts(self, run: SyntheticRun) -> None:
        rates = run.per_query.group_by("criterion_id").agg(pl.col("has_evidence").mean())["has_evidence"]
        assert rates.min() < 0.045  # type: ignore[operator]
        assert rates.max() > 0.16  # type: ignore[operator]
        per_post = run.per_query.group_by("post_id").agg(pl.col("has_evidence").sum())["has_evidence"]
        assert 0.45 <= (per_post > 0).mean() <= 0.6  # type: ignore[operator]
        assert per_post.max() >= 5  # type: ignore[operator]

    def test_slices_are_constant_within_a_post(self, run: SyntheticRun) -> None:
        posts = run.per_query.select("post_id", "subreddit", "length_band", "n_candidates").unique()
        assert posts.height == 1_477
        assert posts["subreddit"].n_unique() == 4
        assert set(posts["length_band"]) == {"short", "medium", "long"}


class TestContract:
    def test_state_follows_prob_and_taus(self, run: SyntheticRun) -> None:
        expected = (
            pl.when(pl.col("prob") < pl.col("tau_neg"))
            .then(pl.lit("NEG"))
            .when(pl.col("prob") < pl.col("tau_pos"))
            .then(pl.lit("UNCERTAIN"))
            .otherwise(pl.lit("POS"))
        )
        assert run.per_query.filter(pl.col("state") != expected).is_empty()
        assert run.per_query.filter(pl.col("tau_neg") > pl.col("tau_pos")).is_empty()
        assert run.per_query.filter(~pl.col("prob").is_between(0, 1)).is_empty()
        assert run.per_query.select("fold", "tau_neg", "tau_pos").n_unique() == 5

    def test_neg_returns_nothing_and_k_is_within_its_bounds(self, run: SyntheticRun) -> None:
        n, k = pl.col("n_candidates"), pl.col("selected_sent_uids").list.len().cast(pl.Int64)
        assert run.per_query.filter((pl.col("state") == "NEG") & (k > 0)).is_empty()
        for state, cap in (("UNCERTAIN", 5), ("POS", 10)):
            least = pl.min_horizontal(2, n)
            most = pl.max_horizontal(pl.min_horizontal(cap, n // 2), least)
            rows = run.per_query.filter(pl.col("state") == state)
            assert rows.height > 0
            assert rows.filter(~k.is_between(least, most)).is_empty()

    def test_k_is_the_smallest_that_reaches_gamma(self, run: SyntheticRun) -> None:
        rows = run.per_query.filter((pl.col("state") == "POS") & (pl.col("n_candidates") >= 20)).head(50)
        for row in rows.iter_rows(named=True):
            of_query = (pl.col("post_id") == row["post_id"]) & (pl.col("criterion_id") == row["criterion_id"])
            nodes = np.sort(run.candidates.filter(of_query)["node_prob"].to_numpy())[::-1]
            wanted = int(np.argmax(np.cumsum(nodes / nodes.sum()) >= 0.9)) + 1
            assert len(row["selected_sent_uids"]) == min(max(wanted, 2), 10)

    def test_selection_is_the_top_of_the_ranking(self, run: SyntheticRun) -> None:
        top = pl.col("ranked_sent_uids").list.head(pl.col("selected_sent_uids").list.len())
        assert run.per_query.filter(top != pl.col("selected_sent_uids")).is_empty()

    def test_gold_lies_within_the_post_and_agrees_with_the_candidates(self, run: SyntheticRun) -> None:
        n_gold = run.per_query["gold_sent_uids"].list.len()
        assert ((n_gold > 0) == (run.per_query["has_evidence"] == 1)).all()
        assert n_gold.max() == 4
        gold = run.per_query.explode("gold_sent_uids", empty_as_null=False, keep_nulls=False)
        marked = run.candidates.filter(pl.col("is_gold") == 1)
        keys = ["post_id", "criterion_id"]
        assert_frame_equal(
            gold.select(*keys, pl.col("gold_sent_uids").alias("sent_uid")), marked.select(*keys, "sent_uid")
        )
        assert (gold["gold_sent_uids"].str.replace(r"_\d+$", "") == gold["post_id"]).all()
        assert marked.group_by("sent_uid").len()["len"].max() >= 2  # type: ignore[operator]

    def test_ranking_is_every_candidate_by_score_stable(self, run: SyntheticRun) -> None:
        ranked = (
            run.candidates.sort("post_id", "score", descending=[False, True], maintain_order=True)
            .group_by("post_id", "criterion_id", maintain_order=True)
            .agg(pl.col("sent_uid").alias("expected"))
        )
        both = run.per_query.join(ranked, on=["post_id", "criterion_id"])
        assert both.height == 14_770
        assert both.filter(pl.col("expected") != pl.col("ranked_sent_uids")).is_empty()
        tied = run.candidates.select(pl.struct("post_id", "criterion_id", "score").is_duplicated().mean()).item()
        assert 0.03 < tied < 0.15

    def test_without_ties_no_score_repeats_and_no_prob_but_at_the_ends(self) -> None:
        arrays = synthetic_arrays(seed=1, posts=60, positives=None, ties=0)
        inside = arrays.prob[(arrays.prob > 0.0011) & (arrays.prob < 0.9989)]
        assert len(inside) > 400
        assert len(np.unique(inside)) == len(inside)
        assert len(np.unique(arrays.score)) == len(arrays.score)


class TestQuality:
    def test_default_system_is_good_but_not_perfect(self, run: SyntheticRun) -> None:
        table = run.per_query
        label = table["has_evidence"].to_numpy() == 1
        assert 0.88 < auroc(label, table["prob"].to_numpy()) < 0.93
        states = table["state"].to_numpy()
        assert (states == "NEG").mean() > 0.5
        assert (states[label] != "NEG").mean() > 0.965
        assert 0.7 < label[states == "POS"].mean() < 0.95

    def test_prob_is_roughly_calibrated(self, run: SyntheticRun) -> None:
        bins = run.per_query.group_by((pl.col("prob") * 10).floor().clip(0, 9).alias("bin")).agg(
            (pl.col("prob").mean() - pl.col("has_evidence").mean()).abs().alias("gap"), pl.len()
        )
        assert (bins["gap"] * bins["len"]).sum() / 14_770 < 0.02

    def test_difficulty_runs_from_perfect_to_guessing(self) -> None:
        steps = [synthetic_arrays(seed=5, posts=400, positives=None, difficulty=d / 4) for d in range(5)]
        detection = [auroc(a.label, a.prob) for a in steps]
        ranking = [reciprocal_rank(a.score, a.is_gold, a.offsets) for a in steps]
        assert detection[0] == 1
        assert ranking[0] == 1
        assert all(a > b for a, b in pairwise(detection))
        assert all(a >= b for a, b in pairwise(ranking))
        assert abs(detection[-1] - 0.5) < 0.06
        assert all(np.array_equal(a.is_gold, steps[0].is_gold) for a in steps)

    def test_each_stage_beats_the_one_before(self) -> None:
        a = synthetic_arrays(seed=5)
        assert a.retriever_score is not None
        assert a.reranker_score is not None
        stages = [reciprocal_rank(s, a.is_gold, a.offsets) for s in (a.retriever_score, a.reranker_score, a.score)]
        assert stages[0] < stages[1] < stages[2]


class TestDeterminism:
    def test_same_seed_same_tables(self) -> None:
        first, second = (synthetic_run(seed=11, posts=40, positives=30, splits=True) for _ in range(2))
        assert_frame_equal(first.per_query, second.per_query)
        assert_frame_equal(first.candidates, second.candidates)

    def test_another_seed_another_run(self) -> None:
        first, second = (synthetic_run(seed=s, posts=40, positives=30).per_query for s in (1, 2))
        assert not first.equals(second)

    def test_leaving_the_candidates_out_changes_nothing_else(self) -> None:
        without = synthetic_run(seed=7, posts=40, positives=30, candidates=False)
        assert without.candidates.is_empty()
        assert_frame_equal(without.per_query, synthetic_run(seed=7, posts=40, positives=30).per_query)


class TestSplits:
    def test_every_fold_holds_every_post_in_one_split(self, nested: SyntheticRun) -> None:
        table = nested.per_query
        assert table.height == 5 * 1_010
        posts = table.select("fold", "split", "post_id").unique()
        assert posts.select("fold", "post_id").n_unique() == posts.height == 505
        sizes = posts.group_by("fold", "split").len().sort("fold", "split")["len"].to_list()
        assert sizes[:3] == [20, 56, 25]  # EVAL 101 // 5, TRAIN 7 * 81 // 10, TUNE the rest
        assert sizes[-3:] == [21, 56, 24]

    def test_train_posts_follow_erratum_11(self, nested: SyntheticRun) -> None:
        in_fold = nested.per_query.filter(pl.col("fold") == 2)
        rest = np.array(sorted(in_fold.filter(pl.col("split") != "EVAL")["post_id"].unique()))
        train = np.random.default_rng([3, 2]).permutation(rest)[: 7 * len(rest) // 10]
        assert set(in_fold.filter(pl.col("split") == "TRAIN")["post_id"]) == set(train)

    def test_eval_rows_are_the_run_without_splits(self, nested: SyntheticRun) -> None:
        plain = synthetic_run(seed=3, posts=101, positives=None).per_query.sort("post_id", "criterion_id")
        evaluated = nested.per_query.filter(pl.col("split") == "EVAL").drop("split")
        assert_frame_equal(evaluated.sort("post_id", "criterion_id"), plain)

    def test_tau_neg_is_an_observed_prob_of_tune(self, nested: SyntheticRun) -> None:
        tune = nested.per_query.filter(pl.col("split") == "TUNE")
        for _, rows in tune.group_by("fold"):
            positive = rows.filter(pl.col("has_evidence") == 1)
            assert rows["tau_neg"][0] in positive["prob"].to_list()
            assert (positive["prob"] >= rows["tau_neg"][0]).to_numpy().mean() >= 0.975


class TestSmallAndBad:
    @pytest.mark.parametrize("positives", [0, 1, None])
    def test_one_post_one_criterion(self, positives: int | None) -> None:
        made = synthetic_run(seed=1, posts=1, criteria=1, positives=positives, splits=True)
        assert made.per_query.filter(pl.col("split") == "EVAL").height == 1
        assert made.per_query["has_evidence"].max() == (positives or 0)

    def test_no_positive_and_all_positive(self) -> None:
        none = synthetic_run(seed=1, posts=30, positives=0).per_query
        assert none["gold_sent_uids"].list.len().sum() == 0
        every = synthetic_run(seed=1, posts=30, positives=300).per_query
        assert every["gold_sent_uids"].list.len().min() == 1

    @pytest.mark.parametrize("difficulty", [0.0, 1.0])
    def test_posts_of_one_sentence(self, difficulty: float) -> None:
        made = synthetic_run(seed=1, posts=30, positives=20, mean_candidates=1, ties=1, difficulty=difficulty)
        assert made.per_query["n_candidates"].min() == 1

    @pytest.mark.parametrize(
        "bad",
        [
            {"posts": 0},
            {"posts": 1.5},
            {"criteria": 0},
            {"folds": 0},
            {"seed": -1},
            {"positives": 14_771},
            {"positives": -1},
            {"positives": 0.1},
            {"difficulty": 1.5},
            {"ties": float("nan")},
            {"mean_candidates": 0.5},
            {"mean_candidates": 1e12},
            {"folds": 10**12},
        ],
    )
    def test_bad_settings_are_named(self, bad: dict[str, float]) -> None:
        with pytest.raises(InputError, match=next(iter(bad))):
            synthetic_arrays(**{"seed": 1} | bad)

    def test_more_candidates_than_any_machine_holds(self) -> None:
        for size in ({"posts": 10**12}, {"criteria": 10**9}, {"mean_candidates": 135_500}):
            with pytest.raises(InputError, match="more than 2,000,000,000"):
                synthetic_arrays(seed=1, **size)

    def test_all_problems_are_reported_at_once(self) -> None:
        with pytest.raises(InputError) as caught:
            synthetic_arrays(seed=-1, difficulty=2, ties=2)
        assert len(caught.value.problems) == 3


class TestFiles:
    def test_csv_joins_uids_and_reads_back(self, tmp_path: Path) -> None:
        made = synthetic_run(seed=7, posts=30, positives=20)
        paths = write_run(made, tmp_path, stem="demo_")
        assert [path.name for path in paths] == ["demo_per_query.csv", "demo_candidates.csv"]
        table = pl.read_csv(paths[0])
        assert table["ranked_sent_uids"].to_list() == made.per_query["ranked_sent_uids"].list.join("|").to_list()
        assert table["prob"].to_list() == made.per_query["prob"].to_list()
        assert set(table["has_evidence"]) == {0, 1}

    @pytest.mark.parametrize("format", ["parquet", "jsonl"])
    def test_other_formats_keep_lists(self, tmp_path: Path, format: str) -> None:
        made = synthetic_run(seed=7, posts=30, positives=20, candidates=False)
        (path,) = write_run(made, tmp_path, format=format)
        table = pl.read_parquet(path) if format == "parquet" else pl.read_ndjson(path)
        assert table["selected_sent_uids"].to_list() == made.per_query["selected_sent_uids"].to_list()

    def test_unknown_format_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="xlsx"):
            write_run(synthetic_run(seed=1, posts=2, positives=1), tmp_path, format="xlsx")

    def test_trec_files_list_every_candidate_in_rank_order(self, tmp_path: Path) -> None:
        made = synthetic_run(seed=7, posts=30, positives=20, ties=0.5)
        qrels, ranking = write_trec(made, tmp_path)
        judged = [line.split(" ") for line in qrels.read_text().splitlines()]
        ranked = [line.split(" ") for line in ranking.read_text().splitlines()]
        assert len(judged) == len(ranked) == made.candidates.height
        assert sum(int(row[3]) for row in judged) == made.candidates["is_gold"].sum()
        assert [row[2] for row in ranked] == made.per_query.explode("ranked_sent_uids")["ranked_sent_uids"].to_list()
        first = made.per_query.row(0, named=True)
        assert ranked[0][0] == f"{first['post_id']}::{first['criterion_id']}"
        assert [int(row[3]) for row in ranked[: first["n_candidates"]]] == list(range(1, first["n_candidates"] + 1))

    def test_trec_needs_candidates(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="candidates=True"):
            write_trec(synthetic_run(seed=1, posts=2, positives=1, candidates=False), tmp_path)
