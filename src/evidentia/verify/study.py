"""A run as verification sees it: its queries as columns, its groups, its thresholds, its yes and no at operating points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.results.measure import Args
from evidentia.results.names import Cut
from evidentia.verify.evidence import Query, read_queries, read_tune
from evidentia.verify.folder import ResultFolder, as_numbers, naturally
from evidentia.verify.tuning import Point, TunedThreshold, operating_points, score_of, tune_thresholds

T = TypeVar("T")
Group = tuple[tuple[str, str], ...]
STATES = ("NEG", "UNCERTAIN", "POS")
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class GoldRanks:
    """Every gold sentence that was ranked: its query, its rank from 1, and its number among the gold ones there."""

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
class Study:
    """The evaluated queries, the TUNE queries, and the columns that were named to slice by.

    Columns that the run lacks hold nothing of use, and no number of the run asks for them. ``post_ids`` gives every query
    another post than its own: in a drawn sample a post that is drawn twice is two posts.
    """

    queries: Sequence[Query]
    tune: Sequence[Query] = ()
    by: tuple[str, ...] = ()
    post_ids: Sequence[str] | None = None
    memo: dict[object, object] = field(default_factory=dict)
    cross_fit: bool = False

    def __len__(self) -> int:
        return len(self.queries)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What several definitions share is computed once."""
        if key not in self.memo:
            self.memo[key] = make()
        return cast(T, self.memo[key])

    @cached_property
    def posts(self) -> tuple[str, ...]:
        """The posts in the order of the draws."""
        return as_numbers(set(self.post_ids or (query.post for query in self.queries)))

    @cached_property
    def post(self) -> Ints:
        """The place of every query's post."""
        place = {post: at for at, post in enumerate(self.posts)}
        return np.array([place[post] for post in self.post_ids or (query.post for query in self.queries)], np.int64)

    @cached_property
    def criteria(self) -> tuple[str, ...]:
        """The criteria, numbers inside them counting as numbers."""
        return naturally({query.criterion for query in self.queries})

    @cached_property
    def folds(self) -> tuple[str, ...]:
        """The folds in order; empty where the run has none."""
        return as_numbers({query.fold for query in self.queries if query.fold is not None})

    @cached_property
    def complete(self) -> bool:
        """Whether there is one query for every pair of a post and a criterion."""
        return len(self.posts) * len(self.criteria) == len(self.queries)

    @cached_property
    def label(self) -> Bools:
        """Which queries have evidence."""
        return np.array([query.label for query in self.queries], bool)

    @cached_property
    def prob(self) -> Floats:
        """The stated probabilities."""
        return self._floats(lambda query: query.prob)

    @cached_property
    def gate(self) -> Bools:
        """The yes or no of the gate."""
        return np.array([bool(query.gate) for query in self.queries], bool)

    @cached_property
    def state(self) -> NDArray[np.str_]:
        """The state of every query."""
        return np.array([str(query.state) for query in self.queries])

    @cached_property
    def n_gold(self) -> Floats:
        """How many gold sentences every query has."""
        return self._floats(lambda query: len(query.gold or ()))

    @cached_property
    def n_ranked(self) -> Floats:
        """How many sentences were ranked."""
        return self._floats(lambda query: len(query.ranked or ()))

    @cached_property
    def n_selected(self) -> Floats:
        """How many sentences were selected."""
        return self._floats(lambda query: len(query.selected or ()))

    @cached_property
    def n_found(self) -> Floats:
        """How many of the selected sentences are gold."""
        return self._floats(lambda query: len(set(query.gold or ()) & set(query.selected or ())))

    @cached_property
    def gold_ranks(self) -> GoldRanks:
        """Where the gold sentences stand."""
        ranks = [
            (at, rank, ordinal)
            for at, query in enumerate(self.queries)
            for ordinal, rank in enumerate(query.gold_ranks, 1)
        ]
        return GoldRanks(*np.array(ranks, np.int64).reshape(-1, 3).T)

    @cached_property
    def everyone(self) -> Bools:
        """All queries."""
        return np.ones(len(self), bool)

    def units(self, level: str | None) -> Units:
        """Queries with their score, or candidates by their node probability where there is one, else by their score."""
        if level != "candidate":
            score = self.once("scores", lambda: self._floats(lambda query: query.score))
            return Units(score, self.label, np.arange(len(self)))
        return self.once("candidates", self._candidates)

    def _candidates(self) -> Units:
        scores, marks = [query.candidate_scores for query in self.queries], [q.candidate_marks for q in self.queries]
        owner = np.repeat(np.arange(len(self)), [len(score) for score in scores])
        return Units(np.concatenate([np.zeros(0), *scores]), np.concatenate([np.zeros(0, bool), *marks]), owner)

    def _floats(self, of: Callable[[Query], float | None]) -> Floats:
        return np.array([np.nan if (value := of(query)) is None else value for query in self.queries], np.float64)

    def label_of(self, query: Query, column: str) -> str | None:
        """The value of a grouping column."""
        if column == "has_evidence":
            return str(int(query.label))
        if column in {"criterion", "fold", "state"}:
            return cast("str | None", getattr(query, column))
        return query.slices[column] or MISSING

    def column(self, name: str) -> NDArray[Any]:
        """The values of a grouping column, None where a query has none."""
        return self.once(
            ("column", name), lambda: np.array([self.label_of(query, name) for query in self.queries], object)
        )

    def labels(self, column: str) -> tuple[str, ...]:
        """The values of a grouping column in the order in which they are reported; empty where the run lacks it."""
        if column in {"criterion", "fold"}:
            return self.criteria if column == "criterion" else self.folds
        if column == "has_evidence":
            return ("0", "1")
        values = set(self.column(column).tolist()) - {None}
        if column == "state":
            return STATES if values else ()
        return (*as_numbers(values - {MISSING}), *({MISSING} & values))

    def members(self, group: Group) -> Bools:
        """The queries of a group."""
        if not group:
            return self.everyone
        (column, value) = group[-1]
        return self.once(
            ("members", group), lambda: np.equal(self.column(column), value).astype(bool) & self.members(group[:-1])
        )

    def per_post(self, column: Floats | Bools, rows: Bools) -> Floats:
        """A column added up over the given queries of every post."""
        sums: Floats = np.bincount(self.post[rows], column[rows], minlength=len(self.posts)).astype(np.float64)
        return sums

    def clusters(self, rows: Bools) -> int:
        """From how many posts the given queries come."""
        return int(np.count_nonzero(np.bincount(self.post[rows])))

    @cached_property
    def tuned_by_prob(self) -> bool:
        """Whether TUNE and EVAL both have probabilities; else thresholds are about the detection score."""
        return all(query.prob is not None for query in (*self.queries, *self.tune))

    def thresholds(self, cut: Cut) -> dict[str, TunedThreshold]:
        """The threshold of every fold for a budget, chosen on its TUNE queries."""
        assert cut.value is not None
        budget, by_prob = cut.value, self.tuned_by_prob
        return self.once(("thresholds", cut), lambda: tune_thresholds(self.tune, self.folds, budget, by_prob=by_prob))

    def has(self, need: str) -> bool:
        """Whether the run has what a definition rests on."""
        if need in {"complete", "items"}:
            return need == "complete" and self.complete
        if need == "tune":
            both = (*self.queries, *self.tune)
            shared = all(q.prob is not None for q in both) or all(q.detection_score is not None for q in both)
            return bool(self.tune) and bool(self.folds) and shared
        if need == "ranking":
            return all(query.gold is not None and query.ranked is not None for query in self.queries)
        column = {"selection": "selected"}.get(need, need)
        return all(getattr(query, column) is not None for query in self.queries)

    def keeps_posts_whole(self, column: str) -> bool:
        """Whether a column has one value for every post."""
        return len(set(zip(self.post.tolist(), self.column(column).tolist(), strict=True))) == len(self.posts)

    def classes(self, level: str | None, rows: Bools) -> tuple[int, int]:
        """How many units of a sweep over some queries are positive, and how many there are."""
        units = self.units(level)
        label = units.label[rows[units.owner]]
        return int(label.sum()), len(label)

    def operating_points(self, rows: Bools) -> list[Point]:
        """What every score of some queries gives as a threshold, the highest first; all pass the last."""
        units, key = self.units("query"), ("operating points", np.packbits(rows).tobytes())
        return self.once(key, lambda: operating_points(units.score[rows].tolist(), units.label[rows].tolist()))

    def decisions(self, args: Args) -> Ints:
        """Yes (1) or no (0) of every query at the operating point; -1 where a fold has no threshold."""
        point, cut = args.get("t"), args.cut
        if point == "alert":
            return np.equal(self.state, "POS").astype(np.int64)
        if point in {"gate", "returned"}:
            return (self.gate if point == "gate" else self.n_selected > 0).astype(np.int64)
        if point is not None:
            return (self.prob >= float(point)).astype(np.int64)
        assert cut is not None
        return self.once(("tuned", cut), lambda: self._tuned(cut))

    def _tuned(self, cut: Cut) -> Ints:
        chosen, by_prob = self.thresholds(cut), self.tuned_by_prob
        score = self.once(("tuned scores", by_prob), lambda: self._floats(lambda query: score_of(query, by_prob)))
        answers = np.empty(len(self), np.int64)
        for fold in set(self.column("fold").tolist()):
            threshold, mine = chosen[str(fold)], np.equal(self.column("fold"), fold).astype(bool)
            none = 0 if threshold.usable else -1
            answers[mine] = none if threshold.value is None else score[mine] >= threshold.value
        return answers


def read_study(folder: ResultFolder) -> Study:
    """The run that a result folder holds."""
    applied = folder.manifest.get("applied_thresholds")
    cross_fit = applied is not None and applied["choices"].get("cross_fit") is True
    by = tuple(folder.manifest["options"]["by"])
    return Study(read_queries(folder), read_tune(folder), by, cross_fit=cross_fit)
