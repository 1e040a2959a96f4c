"""The pipeline's output as tables: a row per query, and a row per candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.pipeline.decide import Decider, Scored
from evidentia.pipeline.graphs import query_nodes, ranked_nodes
from evidentia.pipeline.selection import CandidateRanking
from evidentia.pipeline.system import RETRIEVER
from evidentia.tables.queries import STATES, Frozen


def query_rows(scored: Scored, gold: Bools, posts: Ints, *, split: str, ranked_by: str) -> pl.DataFrame:
    """The queries of some posts: labels, the ranking, and the score that says whether there is evidence."""
    some = scored.view.posts.take(posts)
    rows = scored.view.posts.sentences_of(posts)
    kept, score = scored.view.kept[rows], scored.view.scores[ranked_by][rows]
    ends, sentence, _ = ranked_nodes(score, kept, some.offsets)
    return pl.DataFrame(
        {
            **_keys(some),
            "fold": [scored.division.fold] * (len(some) * len(some.criteria)),
            "split": [split] * (len(some) * len(some.criteria)),
            "has_evidence": some.relabelled(gold[rows]).has_evidence().ravel().astype(np.int8),
            "detection_score": scored.detection[posts].ravel(),
            "gold_sent_uids": _joined(some, *query_nodes(gold[rows], some.offsets)[:2]),
            "ranked_sent_uids": _joined(some, ends, sentence),
            "n_candidates": np.repeat(some.lengths, len(some.criteria)),
        }
    )


def _keys(posts: Posts) -> dict[str, list[str]]:
    return {
        "post_id": [post for post in posts.post_ids for _ in posts.criteria],
        "criterion_id": list(posts.criterion_ids) * len(posts),
    }


def _joined(posts: Posts, ends: Ints, sentence: Ints) -> list[str]:
    uids = [posts.sent_uids[at] for at in sentence.tolist()]
    return ["|".join(uids[start:stop]) for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def selected_column(scored: Scored, posts: Ints, decider: Decider, *, ranked_by: str) -> pl.Series:
    """The sentences that are returned for every query of some posts."""
    some, rows = scored.view.posts.take(posts), scored.view.posts.sentences_of(posts)
    ranking = CandidateRanking.of(
        scored.view.scores[ranked_by][rows], scored.view.kept[rows], some.offsets, decider.nodes
    )
    _, state = decider.states(scored.detection[posts].ravel())
    return pl.Series("selected_sent_uids", _joined(some, *_top(ranking, decider.chosen(ranking, state))))


def _top(ranking: CandidateRanking, chosen: Ints) -> tuple[Ints, Ints]:
    """The first K sentences of every query: where each query starts, and the sentences."""
    owner = np.repeat(np.arange(len(chosen)), np.diff(ranking.offsets))
    taken = np.arange(len(owner)) - ranking.offsets[:-1][owner] < chosen[owner]
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner[taken], minlength=len(chosen)))])
    return ends, ranking.sentence[taken]


@dataclass(frozen=True, eq=False)
class Decisions(Frozen):
    """What a system that is in use answers to every query: nothing is known about the truth.

    The evidence sentences of query i are ``evidence[ends[i] : ends[i + 1]]``, as places among the sentences.
    """

    prob: Floats
    state: Ints
    ends: Ints
    evidence: Ints
    ranking: CandidateRanking
    detection: Floats

    @classmethod
    def of(cls, scored: Scored, decider: Decider, *, ranked_by: str) -> Decisions:
        """Decide all queries in view."""
        view = scored.view
        ranking = CandidateRanking.of(view.scores[ranked_by], view.kept, view.posts.offsets, decider.nodes)
        detection = scored.detection.ravel()
        prob, state = decider.states(detection)
        return cls(prob, state, *_top(ranking, decider.chosen(ranking, state)), ranking, detection)


def predicted_rows(
    posts: Posts, decisions: Decisions, taus: Mapping[str, float | None], *, texts: bool = False
) -> pl.DataFrame:
    """The answers as a table: a row per query."""
    ends, evidence, ranking = decisions.ends, decisions.evidence, decisions.ranking
    columns: dict[str, Any] = {
        **_keys(posts),
        "prob": decisions.prob,
        "state": [STATES[code] for code in decisions.state.tolist()],
        **{name: pl.repeat(value, len(decisions.prob), dtype=pl.Float64, eager=True) for name, value in taus.items()},
        "selected_sent_uids": _joined(posts, ends, evidence),
        "ranked_sent_uids": _joined(posts, ranking.offsets, ranking.sentence),
        "detection_score": decisions.detection,
        "n_candidates": np.repeat(posts.lengths, len(posts.criteria)),
    }
    if texts:
        columns["evidence"] = lists_of([posts.texts[at] for at in evidence.tolist()], ends)
    return pl.DataFrame(columns)


def lists_of(values: list[Any], ends: Ints) -> list[list[Any]]:
    """What belongs to the evidence sentences of all queries, query by query."""
    return [values[start:stop] for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def candidate_rows(
    scored: Scored, gold: Bools, posts: Ints, decider: Decider, steps: Sequence[str], *, ranked_by: str
) -> pl.DataFrame:
    """Every sentence of some posts as a candidate of every criterion, with what each stage said.

    ``score`` orders them: candidates of the ranking by its score, then those that were cut off, in the order that the
    retriever gave them, one step apart. ``node_prob`` of those is 0: they can no longer be returned.
    """
    view = scored.view
    some, rows = view.posts.take(posts), view.posts.sentences_of(posts)
    criteria = len(some.criteria)
    ends, sentence, criterion = query_nodes(np.ones((len(rows), criteria), bool), some.offsets)
    final, kept = view.scores[ranked_by][rows], view.kept[rows]
    first = RETRIEVER if RETRIEVER in view.scores else ranked_by
    score = _with_tail(final, kept, view.scores[first][rows], some.offsets)
    prob = np.where(kept, decider.nodes.apply(final.ravel()).reshape(final.shape), 0.0)
    uids = np.array(some.sent_uids, object)
    named = np.repeat(np.array(_keys(some)["post_id"], object), np.diff(ends))
    ids = np.array(some.criterion_ids, object)
    stage_scores = {
        f"{name}_score": view.scores[name][rows][sentence, criterion] for name in steps if name in view.scores
    }
    return pl.DataFrame(
        {
            "post_id": named.tolist(),
            "criterion_id": ids[criterion].tolist(),
            "sent_uid": uids[sentence].tolist(),
            "score": score[sentence, criterion],
            "is_gold": gold[rows][sentence, criterion],
            "node_prob": prob[sentence, criterion],
            **stage_scores,
            "fold": [scored.division.fold] * len(sentence),
        }
    )


def _with_tail(final: Floats, kept: Bools, first: Floats, offsets: Ints) -> Floats:
    """Scores in which what was cut off comes after all that was kept; it keeps the order that the first stage gave it."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    lowest = np.minimum.reduceat(np.where(kept, final, np.inf), offsets[:-1], axis=0)
    scores = final.copy()
    for column in range(final.shape[1]):
        cut = np.flatnonzero(~kept[:, column])
        order = cut[np.lexsort((-first[cut, column], owner[cut]))]
        start = np.searchsorted(owner[order], owner[order])
        scores[order, column] = lowest[owner[order], column] - 1 - (np.arange(len(order)) - start)
    return scores
