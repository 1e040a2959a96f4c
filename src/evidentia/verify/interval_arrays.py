"""The queries as arrays, for everything that must be recomputed thousands of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from evidentia.verify.draws import Bools, Floats, Ints
from evidentia.verify.evidence import Query
from evidentia.verify.interval_names import Group
from evidentia.verify.order import as_numbers

MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Ranks:
    """Every gold sentence that was ranked: its query, its rank from 1, and the how-manieth gold one it is there."""

    owner: Ints
    rank: Ints
    ordinal: Ints


@dataclass(frozen=True, eq=False)
class Units:
    """What a sweep runs over: scores with labels, and the query of each."""

    score: Floats
    label: Bools
    owner: Ints


@dataclass(frozen=True, eq=False)
class Arrays:
    """One row per query. Columns that the run lacks hold nothing of use, and no number of the run asks for them."""

    queries: Sequence[Query]
    posts: tuple[str, ...]
    post: Ints
    criteria: tuple[Bools, ...]  # the queries of each criterion
    label: Bools
    prob: Floats
    gate: Bools
    state: tuple[str, ...]
    n_gold: Ints
    n_ranked: Ints
    n_selected: Ints
    n_found: Ints  # gold sentences among the selected
    ranks: Ranks
    units: Mapping[str, Units]  # by level
    decisions: Mapping[str, Ints]  # by cut: 1 yes, 0 no, -1 where no threshold could be had

    def __len__(self) -> int:
        return len(self.label)

    def in_state(self, state: str) -> Bools:
        """The queries in one state."""
        return np.array([mine == state for mine in self.state], bool)

    def members(self, group: Group) -> Bools:
        """The queries of a group."""
        inside = np.ones(len(self), bool)
        for column, value in group:
            inside &= np.array([value_of(query, column) == value for query in self.queries], bool)
        return inside

    def per_post(self, column: Floats | Bools, rows: Bools) -> Floats:
        """A column added up over the given queries of every post."""
        sums: Floats = np.bincount(self.post[rows], column[rows], minlength=len(self.posts)).astype(np.float64)
        return sums

    def clusters(self, rows: Bools) -> int:
        """From how many posts the given queries come."""
        return len(np.unique(self.post[rows]))


def value_of(query: Query, column: str) -> str:
    """What a query has in the column of a group."""
    if column == "has_evidence":
        return "1" if query.label else "0"
    if column in {"criterion", "fold", "state"}:
        return str(getattr(query, column))
    return query.slices[column] or MISSING


def arrays_of(queries: Sequence[Query], decisions: Mapping[str, Sequence[int]]) -> Arrays:
    """Lay the queries out."""
    posts = as_numbers({query.post for query in queries})
    place = {post: at for at, post in enumerate(posts)}
    criterion = np.array([query.criterion for query in queries])
    return Arrays(
        queries,
        tuple(posts),
        np.array([place[query.post] for query in queries], np.int64),
        tuple(criterion == one for one in sorted(set(criterion.tolist()))),
        np.array([query.label for query in queries], bool),
        _floats(queries, lambda query: query.prob),
        np.array([bool(query.gate) for query in queries], bool),
        tuple(str(query.state) for query in queries),
        _counts(queries, lambda query: len(query.gold or ())),
        _counts(queries, lambda query: len(query.ranked or ())),
        _counts(queries, lambda query: len(query.selected or ())),
        _counts(queries, lambda query: len(set(query.gold or ()) & set(query.selected or ()))),
        _ranks(queries),
        MappingProxyType({"query": _query_units(queries), "candidate": _candidate_units(queries)}),
        MappingProxyType({cut: np.array(said, np.int64) for cut, said in decisions.items()}),
    )


def _floats(queries: Sequence[Query], of: Callable[[Query], float | None]) -> Floats:
    return np.array([np.nan if (value := of(query)) is None else value for query in queries], np.float64)


def _counts(queries: Sequence[Query], of: Callable[[Query], int]) -> Ints:
    return np.array([of(query) for query in queries], np.int64)


def _ranks(queries: Sequence[Query]) -> Ranks:
    found: list[tuple[int, int, int]] = []
    for at, query in enumerate(queries):
        gold = set(query.gold or ())
        ranks = [rank for rank, uid in enumerate(query.ranked or (), 1) if uid in gold] if gold else []
        found += [(at, rank, ordinal) for ordinal, rank in enumerate(ranks, 1)]
    owner, rank, ordinal = np.array(found, np.int64).reshape(-1, 3).T
    return Ranks(owner, rank, ordinal)


def _query_units(queries: Sequence[Query]) -> Units:
    label = np.array([query.label for query in queries], bool)
    return Units(_floats(queries, lambda query: query.score), label, np.arange(len(queries)))


def _candidate_units(queries: Sequence[Query]) -> Units:
    """Every candidate of every query, by its node probability where there is one, else by its score."""
    pairs = [(at, candidate) for at, query in enumerate(queries) for candidate in query.candidates or ()]
    score = [one.score if one.node_prob is None else one.node_prob for _, one in pairs]
    label = [one.gold for _, one in pairs]
    return Units(np.array(score, np.float64), np.array(label, bool), np.array([at for at, _ in pairs], np.int64))
