"""A run of narrow columns that answers what a run of records does, so that the twins compute numbers of both."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.results.measure import Args
from evidentia.verify.folder import as_numbers
from evidentia.verify.streamed.columns import Coded, QueryColumns, float_column
from evidentia.verify.streamed.pool import Pool
from evidentia.verify.streamed.sweeps import Steps, steps_of
from evidentia.verify.study import STATES, GoldRanks, Group, Study, Units
from evidentia.verify.tuning import Point

Columns = tuple[str, ...]
EVIDENCE = ("0", "1")
PART = 1 << 17  # queries that are added up at once


class _States:
    """States by their codes, which compare with a name as an array of names does."""

    def __init__(self, codes: NDArray[np.int16]) -> None:
        self.codes = codes

    def __eq__(self, state: object) -> Bools:  # type: ignore[override]
        place = STATES.index(str(state)) if state in STATES else -1
        same: Bools = self.codes == place
        return same

    def __ne__(self, state: object) -> Bools:  # type: ignore[override]
        return ~(self == state)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Cells:
    """The groups that some columns cut the queries into, and the group of every query; one group where nothing cuts."""

    groups: tuple[Group, ...]
    codes: NDArray[np.int32] | None

    def sums(self, column: NDArray[Any]) -> Floats:
        """A column added up in every group; long sums are made of short ones, so that little is rounded."""
        parts = []
        for start in range(0, len(column), PART):
            part = slice(start, start + PART)
            codes = None if self.codes is None else self.codes[part]
            parts.append([column[part].sum(dtype=np.float64)] if codes is None else self._bins(codes, column[part]))
        return np.array([math.fsum(sums) for sums in zip(*parts, strict=True)])

    def _bins(self, codes: NDArray[np.int32], column: NDArray[Any]) -> Floats:
        return np.bincount(codes, column, minlength=len(self.groups)).astype(np.float64, copy=False)

    def of(self, owner: Ints | NDArray[np.int32]) -> NDArray[np.int32]:
        """The group of some queries."""
        return np.zeros(len(owner), np.int32) if self.codes is None else self.codes[owner]


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedStudy(Study):
    """The queries as narrow columns, and the candidates on the disk."""

    columns: QueryColumns
    pool: Pool | None = None

    def __len__(self) -> int:
        return self.columns.rows

    @cached_property
    def posts(self) -> tuple[str, ...]:
        """The posts in the order of the draws."""
        return as_numbers(self.columns.posts)

    @property
    def post(self) -> Ints:
        """The place of every query's post, in the order in which they were read."""
        return cast(Ints, self.columns.arrays["post"])

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria, numbers inside them counting as numbers."""
        return self.columns.coded["criterion"].labels

    @property
    def folds(self) -> tuple[str, ...]:
        """The folds in order; empty where the run has none."""
        return self.columns.coded["fold"].labels if "fold" in self.columns.coded else ()

    @property
    def complete(self) -> bool:
        """Whether there is one query for every pair of a post and a criterion."""
        return len(self.columns.posts) * len(self.criteria) == len(self)

    @property
    def label(self) -> Bools:
        """Which queries have evidence."""
        return self.columns.arrays["label"]

    @property
    def prob(self) -> Floats:
        """The stated probabilities."""
        return self._number("prob")

    @property
    def gate(self) -> Bools:
        """The yes or no of the gate."""
        return self.columns.arrays["gate"]

    @property
    def state(self) -> Any:
        """The state of every query."""
        return _States(self.columns.coded["state"].codes)

    @property
    def n_gold(self) -> Floats:
        """How many gold sentences every query has."""
        return self._number("n_gold")

    @property
    def n_ranked(self) -> Floats:
        """How many sentences were ranked."""
        return self._number("n_ranked")

    @property
    def n_selected(self) -> Floats:
        """How many sentences were selected."""
        return self._number("n_selected")

    @property
    def n_found(self) -> Floats:
        """How many of the selected sentences are gold."""
        return self._number("n_found")

    @property
    def gold_ranks(self) -> GoldRanks:
        """Where the gold sentences stand."""
        assert self.columns.gold_ranks is not None
        return self.columns.gold_ranks

    def _number(self, name: str) -> Floats:
        return float_column(self.columns.arrays.get(name), len(self))

    @property
    def score(self) -> Floats:
        """What a sweep over queries runs over."""
        return self._number("prob" if "prob" in self.columns.arrays else "detection_score")

    def units(self, level: str | None) -> Units:
        """Queries with their score; candidates are not held."""
        assert level != "candidate"
        return Units(self.score, self.label, np.arange(len(self)))

    def classes(self, level: str | None, rows: Bools) -> tuple[int, int]:
        """How many units of a sweep over some queries are positive, and how many there are."""
        if level != "candidate":
            return int(np.count_nonzero(self.label & rows)), int(np.count_nonzero(rows))
        assert self.pool is not None
        owner, _ = self.gold_candidates
        return int(np.count_nonzero(rows[owner])), int(self.pool.listed[rows].sum(dtype=np.int64))

    @cached_property
    def gold_candidates(self) -> tuple[Ints, Floats]:
        """The query and the score of every gold candidate."""
        assert self.pool is not None
        return self.pool.gold()

    def steps(self, rows: Bools) -> Steps:
        """The counts of a sweep over some queries."""
        key = hashlib.sha256(np.packbits(rows).data).digest()
        return self.once(("steps", key), lambda: steps_of(self.score[rows], self.label[rows]))

    def candidate_steps(self, cells: Cells) -> list[Steps]:
        """The counts of sweeps over the candidates of every group."""
        return self.once(("candidate steps", cells.groups), lambda: self.count_candidates(cells))

    def count_candidates(self, cells: Cells, weights: Floats | None = None) -> list[Steps]:
        """Count them, each once or by the weight of its query."""
        assert self.pool is not None
        owner, score = self.gold_candidates
        places = cells.of(owner)
        mine = [places == place for place in range(len(cells.groups))]
        steps = [Steps.of(score[held], None if weights is None else weights[owner[held]]) for held in mine]
        for deal in self.pool.deals():
            rest, units = deal.owner[~deal.gold], deal.unit[~deal.gold]
            others = cells.of(rest)
            for place in np.unique(others).tolist():
                held = others == place
                steps[place].add(units[held], None if weights is None else weights[rest[held]])
        return steps

    def operating_points(self, rows: Bools) -> list[Point]:
        """What every score of a positive gives as a threshold, the highest first; the last one passes everything."""
        return self.steps(rows).points()

    def cells(self, columns: Columns) -> Cells:
        """The groups of some columns, those of the last changing first."""
        codes: NDArray[np.int32] | None = None
        groups: list[Group] = [()]
        for name in columns:
            coded = self._coded(name)
            codes = coded.codes.astype(np.int32) if codes is None else codes * len(coded.labels) + coded.codes
            groups = [(*group, (name, label)) for group in groups for label in coded.labels]
        return Cells(tuple(groups), codes)

    def _coded(self, name: str) -> Coded:
        if name == "has_evidence":
            return Coded(self.label.astype(np.int16), EVIDENCE)
        return self.columns.coded[name]

    def labels(self, column: str) -> tuple[str, ...]:
        """The values of a grouping column in the order in which they are reported; empty where the run lacks it."""
        if column == "has_evidence":
            return EVIDENCE
        return self.columns.coded[column].labels if column in self.columns.coded else ()

    def members(self, group: Group) -> Bools:
        """The queries of a group."""
        rows = self.everyone
        for name, label in group:
            coded = self._coded(name)
            rows = rows & (coded.codes == coded.labels.index(label))
        return rows

    def keeps_posts_whole(self, column: str) -> bool:
        """Whether a column has one value for every post."""
        return len(self.columns.posts) == sum(self.posts_in(self.everyone, self.cells((column,))))

    def posts_in(self, rows: Bools, cells: Cells) -> list[int]:
        """From how many posts the given queries of every group come."""
        size = len(cells.groups)
        there: Bools = np.zeros((len(self.columns.posts), size), np.bool_)
        there[self.post[rows], cells.of(np.flatnonzero(rows))] = True
        return [int(count) for count in there.sum(axis=0)]

    def per_post(self, column: Floats | Bools, rows: Bools) -> Floats:
        """A column added up over the given queries of every post."""
        posts = len(self.columns.posts)
        return np.bincount(self.post[rows], column[rows], minlength=posts).astype(np.float64, copy=False)

    def clusters(self, rows: Bools) -> int:
        """From how many posts the given queries come."""
        return self.posts_in(rows, Cells(((),), None))[0]

    def has(self, need: str) -> bool:
        """Whether the run has what a definition rests on."""
        if need in {"complete", "items", "tune"}:
            return need == "complete" and self.complete
        arrays, coded = self.columns.arrays, self.columns.coded
        if need == "ranking":
            return "n_gold" in arrays and self.columns.gold_ranks is not None and "n_ranked" in arrays
        if need == "candidates":
            return self.pool is not None
        if need == "score":
            return "prob" in arrays or "detection_score" in arrays
        column = {"selection": "n_selected", "gold": "n_gold"}.get(need, need)
        return column in arrays or column in coded

    def decisions(self, args: Args) -> Ints:
        """Yes (1) or no (0) of every query at the operating point; no threshold is tuned here."""
        point = args.get("t")
        assert point is not None
        if point == "alert":
            return np.asarray(self.state == "POS").astype(np.int64)
        return super().decisions(args)
