"""A stated sample of posts as plain records: candidates against gold and rankings, and the narrow columns against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evidentia.results.catalogue import Definition
from evidentia.verify.evidence import Candidate, Query, query_of
from evidentia.verify.plan import Planner, has_values
from evidentia.verify.points import Points
from evidentia.verify.streamed.columns import KEY
from evidentia.verify.streamed.study import StreamedStudy
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally

Pairs = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The rows of some posts: of the run, and of the candidates where there are some."""

    queries: pl.DataFrame
    candidates: pl.DataFrame | None
    gold_is_marked: bool  # the run has no gold sentences of its own
    is_ranked: bool  # the run has rankings of its own


def check_sample(rows: SampledRows, study: StreamedStudy, points: Points, tally: Tally) -> None:
    """Candidates, gold and rankings of every sampled query agree, and its own values are those of the narrow columns."""
    pairs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in [] if rows.candidates is None else rows.candidates.iter_rows(named=True):
        pairs.setdefault((row["post_id"], row["criterion_id"]), []).append(row)
    in_post: dict[str, set[str]] = {}
    for (post, _), listed in pairs.items():
        in_post.setdefault(post, set()).update(row["sent_uid"] for row in listed)
    queries = []
    for row in rows.queries.iter_rows(named=True):
        mine = pairs.get((row["post_id"], row["criterion_id"]), [])
        if rows.candidates is not None:
            _check_candidates(row, mine, in_post.get(row["post_id"], set()), rows, tally)
        queries.append(_record(row, mine, rows, study.by))
    _check_values(queries, rows.queries, study, points, tally)


def _check_candidates(
    row: Mapping[str, Any], mine: Sequence[Mapping[str, Any]], in_post: set[str], rows: SampledRows, tally: Tally
) -> None:
    """The candidates of a query, against what its row says."""
    where = f"candidates: {row['post_id']}, {row['criterion_id']}"
    uids = [candidate["sent_uid"] for candidate in mine]
    tally.exact(f"{where}: different sentences", len(set(uids)), len(uids))
    if not rows.gold_is_marked and row["gold_sent_uids"] is not None:
        marked = sorted(candidate["sent_uid"] for candidate in mine if candidate["is_gold"])
        tally.exact(f"{where}: marked as gold", marked, sorted(row["gold_sent_uids"]))
    if rows.is_ranked:
        tally.exact(f"{where}: ranked that are none", sorted({*row["ranked_sent_uids"]} - in_post), [])
    if row["n_candidates"] is not None:
        tally.exact(f"{where}: no more than n_candidates", len(uids) <= row["n_candidates"], True)


def _record(row: Mapping[str, Any], mine: Sequence[Mapping[str, Any]], rows: SampledRows, by: Sequence[str]) -> Query:
    """A query with its candidates as any other run has it; a ranking is by descending score where the run has none."""
    content = dict(row)
    if not rows.is_ranked and mine:
        content["ranked_sent_uids"] = [each["sent_uid"] for each in sorted(mine, key=lambda each: -each["score"])]
    listed = [Candidate(each["sent_uid"], each["score"], bool(each["is_gold"]), each["node_prob"]) for each in mine]
    slices = {name: content[name] or "" for name in by}
    return query_of(content | slices, by, {(row["post_id"], row["criterion_id"]): listed})


def _check_values(
    queries: Sequence[Query], frame: pl.DataFrame, study: StreamedStudy, points: Points, tally: Tally
) -> None:
    """What means are made of, query by query, from records and from columns."""
    places = study.columns.lookup()[study.columns.places(frame[KEY[0]], frame[KEY[1]])]
    plain = Planner(Study(queries, (), study.by))
    for definition in _means(points):
        values, inside = plain.values(definition)
        others, held = points.planner.values(definition)
        for at, place in enumerate(places.tolist()):
            where = f"{queries[at].post}, {queries[at].criterion}: {definition.expanded}"
            mine = float(values[at]) if inside[at] else None
            tally.number(where, float(others[place]) if held[place] else None, mine)


def _means(points: Points) -> list[Definition]:
    overall = (entry.definition for entry in points.expected.entries.values() if not entry.group)
    return [definition for definition in overall if has_values(definition)]
