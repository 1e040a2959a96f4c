"""A synthetic run: as flat arrays for benchmarks, and as the two tables of the contract, per_query and candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.synth import system
from evidentia.synth.system import STATES, prob_in_fold, selected_count, states
from evidentia.synth.truth import (
    BANDS,
    COMMUNITIES,
    Knobs,
    PostTable,
    Stretch,
    draw_evidence,
    draw_gold,
    draw_posts,
    post_ids,
    training_posts,
)


@dataclass(frozen=True, eq=False)
class SyntheticArrays:
    """A run as arrays. Queries go post by post, criteria within; candidates query by query, sentences within.

    The candidates of query q are ``offsets[q]:offsets[q + 1]``. ``post`` codes posts in the order of their
    sorted ids; ``state`` is 0 NEG, 1 UNCERTAIN, 2 POS; the taus are one per fold.
    """

    knobs: Knobs
    posts: PostTable
    offsets: Ints
    post: Ints
    criterion: Ints
    fold: Ints
    label: Bools
    prob: Floats
    tau_neg: Floats
    tau_pos: Floats
    state: Ints
    k: Ints  # smallest K with a cumulative share of node_prob >= gamma, before state and bounds
    n_selected: Ints
    n_gold: Ints
    score: Floats
    is_gold: Bools
    node_prob: Floats
    order: NDArray[np.int32]  # sentence positions within the query, best first
    retriever_score: Floats | None = None
    reranker_score: Floats | None = None
    stretch: Stretch | None = None  # where these are posts of a larger run

    @property
    def post_ids(self) -> list[str]:
        """The id of each post."""
        return post_ids(self.knobs.posts, self.stretch)

    @property
    def length(self) -> Ints:
        """How many candidates each query has."""
        return np.diff(self.offsets)


def synthetic_arrays(*, stages: bool = True, stretch: Stretch | None = None, **settings: Any) -> SyntheticArrays:
    """Draw a run with the settings that `Knobs` has; without ``stages`` there are no retriever and reranker scores.

    As a ``stretch`` of a larger run it has its ids and taus.

    >>> run = synthetic_arrays(seed=7, posts=50, positives=40)
    >>> len(run.label), int(run.label.sum())
    (500, 40)
    """
    knobs = Knobs(**settings)
    # One stream per subject: a knob of one part leaves the others as they were.
    of_posts, of_labels, of_gold, of_ties, of_prob, of_scores, of_stages = np.random.default_rng(knobs.seed).spawn(7)
    corpus = draw_posts(knobs, rng=of_posts)
    evidence = draw_evidence(corpus, knobs, rng=of_labels)
    post = np.repeat(np.arange(knobs.posts), knobs.criteria)
    length = corpus.length[post]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(length)])
    is_gold = draw_gold(corpus, evidence.label, offsets, rng=of_gold)
    coarse = of_ties.random(knobs.queries) < knobs.ties
    prob = system.detection_prob(evidence, knobs, coarse, rng=of_prob)
    if stretch is None:
        tau_neg, tau_pos = system.tuned_taus(prob, evidence.label, corpus, knobs)
    else:
        tau_neg, tau_pos = stretch.tau_neg, stretch.tau_pos
    fold = corpus.fold[post]
    state = states(prob, tau_neg[fold], tau_pos[fold])
    scores = system.candidate_scores(is_gold, length, prob, coarse, knobs, rng=of_scores)
    order, k = system.rank(scores.score, scores.node_prob, offsets)
    staged = system.stage_scores(scores.score, is_gold, knobs, rng=of_stages) if stages else (None, None)
    return SyntheticArrays(
        knobs=knobs,
        posts=corpus,
        offsets=offsets,
        post=post,
        criterion=np.tile(np.arange(knobs.criteria), knobs.posts),
        fold=fold,
        label=evidence.label,
        prob=prob,
        tau_neg=tau_neg,
        tau_pos=tau_pos,
        state=state,
        k=k,
        n_selected=selected_count(k, length, state),
        n_gold=np.add.reduceat(is_gold, offsets[:-1], dtype=np.int64),
        score=scores.score,
        is_gold=is_gold,
        node_prob=scores.node_prob,
        order=order,
        retriever_score=staged[0],
        reranker_score=staged[1],
        stretch=stretch,
    )


@dataclass(frozen=True, eq=False)
class SyntheticRun:
    """The tables of a run; lists of uids are list columns, and has_evidence and is_gold are 0 or 1.

    ``candidates`` is empty if it was not asked for. Its rows are in the order of the sentences, not of ranks.
    """

    per_query: pl.DataFrame
    candidates: pl.DataFrame


def synthetic_run(*, splits: bool = False, candidates: bool = True, **settings: Any) -> SyntheticRun:
    """Draw a run of an invented system over an invented corpus; the same arguments give the same tables.

    `Knobs` has the settings. With ``splits`` every query has one row per outer fold: EVAL in the fold of its post, TRAIN or TUNE
    in the others; the candidates are those of the EVAL rows.

    >>> run = synthetic_run(seed=7, posts=20, positives=19)
    >>> run.per_query.height, run.per_query["has_evidence"].sum()
    (200, 19)
    """
    arrays = synthetic_arrays(stages=candidates, **settings)
    table = candidate_table(arrays, splits=splits) if candidates else pl.DataFrame()
    return SyntheticRun(query_table(arrays, splits=splits), table)


def query_table(arrays: SyntheticArrays, *, splits: bool) -> pl.DataFrame:
    """The table per_query of what was drawn."""
    rows = [_split_rows(arrays, fold) for fold in range(arrays.knobs.folds)] if splits else [_eval_rows(arrays)]
    lists = _uid_lists(arrays, _sentence_uids(arrays))
    return _finished(pl.concat(rows).join(lists, on="query", how="left", maintain_order="left"), splits=splits)


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
            "post_id": _coded(arrays.post_ids, arrays.post),
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


def candidate_table(arrays: SyntheticArrays, *, splits: bool) -> pl.DataFrame:
    """The table of candidates of what was drawn, which needs the scores of the stages."""
    assert arrays.retriever_score is not None
    assert arrays.reranker_score is not None
    query = _query_of_candidate(arrays)
    table = pl.DataFrame(
        {
            "post_id": _coded(arrays.post_ids, arrays.post[query]),
            "criterion_id": _coded(_criterion_ids(arrays), arrays.criterion[query]),
            "sent_uid": _sentence_uids(arrays).gather(_sentence_of_candidate(arrays)),
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
    post = _coded(arrays.post_ids, np.repeat(np.arange(len(length)), length))
    parts = pl.DataFrame({"post": post, "index": within})
    return parts.select(pl.format("{}_{}", "post", "index").alias("sent_uid")).to_series()


def _criterion_ids(arrays: SyntheticArrays) -> list[str]:
    return [f"A.{number}" for number in range(1, arrays.knobs.criteria + 1)]


def _coded(labels: Sequence[str], codes: Ints) -> pl.Series:
    return pl.Series(labels, dtype=pl.String).gather(codes)
