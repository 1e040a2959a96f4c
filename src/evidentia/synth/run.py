"""A synthetic run as the two tables of the contract, per_query and candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.synth.arrays import SyntheticArrays, synthetic_arrays
from evidentia.synth.system import STATES, prob_in_fold, selected_count, states
from evidentia.synth.truth import BANDS, COMMUNITIES, post_ids, training_posts


@dataclass(frozen=True, eq=False)
class SyntheticRun:
    """The tables of a run; lists of uids are list columns, and has_evidence and is_gold are 0 or 1.

    ``candidates`` is empty if it was not asked for. Its rows are in the order of the sentences, not of ranks.
    """

    per_query: pl.DataFrame
    candidates: pl.DataFrame


def synthetic_run(
    *,
    seed: int,
    posts: int = 1477,
    criteria: int = 10,
    positives: int | None = 1379,
    mean_candidates: float = 20,
    folds: int = 5,
    difficulty: float = 0.5,
    ties: float = 0.1,
    splits: bool = False,
    candidates: bool = True,
) -> SyntheticRun:
    """Draw a run of an invented system over an invented corpus; the same arguments give the same tables.

    See ``synthetic_arrays`` for the settings. With ``splits`` every query has one row per outer fold: EVAL in
    the fold of its post, TRAIN or TUNE in the others; the candidates are those of the EVAL rows.

    >>> run = synthetic_run(seed=7, posts=20, positives=19)
    >>> run.per_query.height, run.per_query["has_evidence"].sum()
    (200, 19)
    """
    arrays = synthetic_arrays(
        seed=seed,
        posts=posts,
        criteria=criteria,
        positives=positives,
        mean_candidates=mean_candidates,
        folds=folds,
        difficulty=difficulty,
        ties=ties,
        stages=candidates,
    )
    uids = _sentence_uids(arrays)
    rows = [_split_rows(arrays, fold) for fold in range(folds)] if splits else [_eval_rows(arrays)]
    per_query = pl.concat(rows).join(_uid_lists(arrays, uids), on="query", how="left", maintain_order="left")
    table = _candidates(arrays, uids, splits=splits) if candidates else pl.DataFrame()
    return SyntheticRun(_finished(per_query, splits=splits), table)


def _eval_rows(arrays: SyntheticArrays) -> pl.DataFrame:
    return _rows(arrays, arrays.fold, arrays.prob, np.full(arrays.knobs.queries, "EVAL"))


def _split_rows(arrays: SyntheticArrays, fold: int) -> pl.DataFrame:
    """All queries as one outer fold has them; the taus are those that its TUNE rows gave."""
    seed = arrays.knobs.seed
    evaluated: Bools = arrays.fold == fold
    train = training_posts(arrays.posts.fold, fold, seed=seed)[arrays.post]
    prob = prob_in_fold(arrays.prob, evaluated, seed=seed, fold=fold)
    split = np.where(evaluated, "EVAL", np.where(train, "TRAIN", "TUNE"))
    return _rows(arrays, np.full(len(prob), fold), prob, split)


def _rows(arrays: SyntheticArrays, fold: Ints, prob: Floats, split: NDArray[np.str_]) -> pl.DataFrame:
    state = states(prob, arrays.tau_neg[fold], arrays.tau_pos[fold])
    return pl.DataFrame(
        {
            "query": np.arange(len(prob)),
            "post_id": _coded(post_ids(arrays.knobs.posts), arrays.post),
            "criterion_id": _coded(_criterion_ids(arrays), arrays.criterion),
            "fold": fold,
            "split": split,
            "has_evidence": arrays.label.astype(np.int8),
            "prob": prob,
            "tau_neg": arrays.tau_neg[fold],
            "tau_pos": arrays.tau_pos[fold],
            "n_selected": selected_count(arrays.k, arrays.length, state),
            "state": _coded(STATES, state),
            "n_candidates": arrays.length,
            "subreddit": _coded(COMMUNITIES, arrays.posts.community[arrays.post]),
            "length_band": _coded(BANDS, arrays.posts.band[arrays.post]),
        }
    )


def _uid_lists(arrays: SyntheticArrays, uids: pl.Series) -> pl.DataFrame:
    """Per query the ranking, and the gold sentences in the order of the post (null where there is none)."""
    query = _query_of_candidate(arrays)
    ranked = pl.DataFrame({"query": query, "ranked_sent_uids": uids.gather(_first_sentence(arrays) + arrays.order)})
    gold_uids = uids.gather(_sentence_of_candidate(arrays)[arrays.is_gold])
    gold = pl.DataFrame({"query": query[arrays.is_gold], "gold_sent_uids": gold_uids})
    return (
        ranked.group_by("query", maintain_order=True)
        .agg("ranked_sent_uids")
        .join(gold.group_by("query", maintain_order=True).agg("gold_sent_uids"), on="query", how="left")
    )


def _finished(per_query: pl.DataFrame, *, splits: bool) -> pl.DataFrame:
    columns = ["post_id", "criterion_id", "fold", "split", "has_evidence", "prob", "tau_neg", "tau_pos"]
    columns += ["gold_sent_uids", "ranked_sent_uids", "selected_sent_uids", "state", "n_candidates"]
    columns += ["subreddit", "length_band"]
    nothing = pl.lit([], dtype=pl.List(pl.String))
    return per_query.with_columns(
        pl.col("gold_sent_uids").fill_null(nothing),
        pl.col("ranked_sent_uids").list.head(pl.col("n_selected")).alias("selected_sent_uids"),
    ).select([name for name in columns if splits or name != "split"])


def _candidates(arrays: SyntheticArrays, uids: pl.Series, *, splits: bool) -> pl.DataFrame:
    assert arrays.retriever_score is not None
    assert arrays.reranker_score is not None
    query = _query_of_candidate(arrays)
    table = pl.DataFrame(
        {
            "post_id": _coded(post_ids(arrays.knobs.posts), arrays.post[query]),
            "criterion_id": _coded(_criterion_ids(arrays), arrays.criterion[query]),
            "sent_uid": uids.gather(_sentence_of_candidate(arrays)),
            "score": arrays.score,
            "is_gold": arrays.is_gold.astype(np.int8),
            "retriever_score": arrays.retriever_score,
            "reranker_score": arrays.reranker_score,
            "graph_score": arrays.score,
            "node_prob": arrays.node_prob,
            "fold": arrays.fold[query],
        }
    )
    return table.with_columns(pl.lit("EVAL").alias("split")) if splits else table


def _query_of_candidate(arrays: SyntheticArrays) -> Ints:
    return np.repeat(np.arange(arrays.knobs.queries), arrays.length)


def _first_sentence(arrays: SyntheticArrays) -> Ints:
    """Where the sentences of each candidate's post start among the sentences of all posts."""
    starts: Ints = np.cumsum(arrays.posts.length) - arrays.posts.length
    return np.repeat(starts[arrays.post], arrays.length)


def _sentence_of_candidate(arrays: SyntheticArrays) -> Ints:
    within = np.arange(len(arrays.score)) - np.repeat(arrays.offsets[:-1], arrays.length)
    return _first_sentence(arrays) + within


def _sentence_uids(arrays: SyntheticArrays) -> pl.Series:
    length = arrays.posts.length
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    post = _coded(post_ids(arrays.knobs.posts), np.repeat(np.arange(len(length)), length))
    parts = pl.DataFrame({"post": post, "index": within})
    return parts.select(pl.format("{}_{}", "post", "index").alias("sent_uid")).to_series()


def _criterion_ids(arrays: SyntheticArrays) -> list[str]:
    return [f"A.{number}" for number in range(1, arrays.knobs.criteria + 1)]


def _coded(labels: Sequence[str], codes: Ints) -> pl.Series:
    return pl.Series(labels, dtype=pl.String).gather(codes)
