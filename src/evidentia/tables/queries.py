"""The arrays that measures read: one row per query, sorted by post, checked once and then trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints

Decisions = NDArray[np.int8]  # 1 yes, 0 no, or UNDECIDED

UNDECIDED = -1
STATES = ("NEG", "UNCERTAIN", "POS")
NEG, UNCERTAIN, POS = range(3)


class Frozen:
    """Makes the arrays of a dataclass read-only: through views, so that the arrays of a caller stay as they are."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, read_only(value))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of the array that cannot be written through."""
    view = array.view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True, eq=False)
class Ragged(Frozen):
    """A list of integers for every query: the list of query i is values[offsets[i]:offsets[i + 1]]."""

    offsets: Ints
    values: Ints

    @cached_property
    def lengths(self) -> Ints:
        """How long each list is."""
        return read_only(np.diff(self.offsets))

    @cached_property
    def owner(self) -> Ints:
        """The query that each value belongs to."""
        return read_only(np.repeat(np.arange(len(self.offsets) - 1), self.lengths))

    def take(self, rows: Ints) -> Ragged:
        """The lists of the given queries, in that order."""
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Ragged(offsets, self.values[np.repeat(self.offsets[rows], lengths) + within])

    def between(self, start: int, stop: int) -> Ragged:
        """The lists of a contiguous range of queries; nothing is copied but the offsets."""
        offsets = self.offsets[start : stop + 1]
        return Ragged(offsets - offsets[0], self.values[offsets[0] : offsets[-1]])


@dataclass(frozen=True, eq=False)
class Coded(Frozen):
    """A column of labels as integer codes; the labels are in display order."""

    codes: Ints
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Candidates(Frozen):
    """The scored candidates of every query, in the order of the queries and, within one, of the file."""

    offsets: Ints
    score: Floats
    is_gold: Bools
    node_prob: Floats | None = None

    def take(self, rows: Ints) -> Candidates:
        """The candidates of the given queries, in that order."""
        picked = Ragged(self.offsets, np.arange(len(self.score))).take(rows)
        node_prob = None if self.node_prob is None else self.node_prob[picked.values]
        return Candidates(picked.offsets, self.score[picked.values], self.is_gold[picked.values], node_prob)


@dataclass(frozen=True, eq=False)
class Queries(Frozen):
    """The EVAL (or the TUNE) queries of a run as plain arrays; what a run does not have is None.

    Rows are sorted by post (TUNE rows by fold first), so a block between two posts is a table of its own.
    ``post`` and ``criterion`` are codes into ``post_ids`` and ``criterion_ids``, the same in every subset.
    """

    post: Ints
    criterion: Ints
    label: Bools
    post_ids: tuple[str, ...]
    criterion_ids: tuple[str, ...]
    fold: Coded | None = None
    prob: Floats | None = None
    detection_score: Floats | None = None
    gate: Bools | None = None
    state: Ints | None = None
    n_gold: Ints | None = None
    n_ranked: Ints | None = None
    gold_ranks: Ragged | None = None  # 1-based positions of the gold sentences that were ranked, ascending
    n_selected: Ints | None = None
    n_selected_gold: Ints | None = None
    candidates: Candidates | None = None
    complete: bool = False  # every post has exactly one query for every criterion
    slices: Mapping[str, Coded] = field(default_factory=lambda: MappingProxyType({}))
    decisions: Mapping[str, Decisions] = field(
        default_factory=lambda: MappingProxyType({})
    )  # at thresholds tuned elsewhere

    def __len__(self) -> int:
        return len(self.post)

    @property
    def scores(self) -> Floats | None:
        """What orders the queries by how likely they hold evidence: prob, else detection_score."""
        return self.prob if self.prob is not None else self.detection_score

    def has(self, column: str) -> bool:
        """Whether the run has what this column stands for."""
        return getattr(self, column) is not None

    def take(self, rows: Ints) -> Queries:
        """A table of the given rows (ascending), with the same codes."""
        changes: dict[str, Any] = {
            f.name: _pick(getattr(self, f.name), rows) for f in fields(self) if f.name in _PER_ROW
        }
        slices = {name: Coded(c.codes[rows], c.labels) for name, c in self.slices.items()}
        decisions = MappingProxyType({name: decision[rows] for name, decision in self.decisions.items()})
        # whole posts stay complete, a cut through posts does not
        changes["complete"] = self.complete and _whole_posts(self.post[rows], len(self.criterion_ids))
        return replace(self, slices=MappingProxyType(slices), decisions=decisions, **changes)

    def blocks(self, size: int) -> Iterator[Queries]:
        """Cut the table between posts into pieces of about the given number of queries."""
        starts = np.concatenate([[0], np.flatnonzero(np.diff(self.post)) + 1, [len(self)]])
        at = 0
        while at < len(self):
            stop = int(starts[min(int(np.searchsorted(starts, at + size)), len(starts) - 1)])
            yield self if stop - at == len(self) else self.take(np.arange(at, stop))
            at = stop


_NOT_PER_ROW = ("post_ids", "criterion_ids", "complete", "slices", "decisions")
_PER_ROW = frozenset(f.name for f in fields(Queries) if f.name not in _NOT_PER_ROW)


def _whole_posts(post: Ints, criteria: int) -> bool:
    return len(np.unique(post)) * criteria == len(post)


def _pick(column: object, rows: Ints) -> object:
    if column is None:
        return None
    if isinstance(column, Ragged | Candidates):
        return column.take(rows)
    if isinstance(column, Coded):
        return Coded(column.codes[rows], column.labels)
    assert isinstance(column, np.ndarray)
    return column[rows]
