"""Sums that do not depend on the order of their terms.

Float addition rounds, so blocks, threads and machines would disagree in the last digits. Values are therefore split onto
two fixed dyadic grids, a coarse and a fine one, chosen such that sums of up to 2^27 terms are exact in float64 on each.
Only the last addition, of the two totals, rounds, and it always rounds the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Floats, Ints

COARSE = 2.0**-26  # grid of the coarse part, relative to the bound
FINE = 2.0**-53
WIDE = 16  # columns of a matrix of which most are zeros: a row falls into one of many bins
ROUND = 1.5 * 2.0**52  # adding it and taking it away again rounds to whole numbers, halves to even ones
SMALLEST = 2.0**-900  # bound: its grids are still numbers
PART = 1 << 14  # columns in work at once: they stay in the cache of a core
SAMPLED = 32  # parts of a long row that tell its bound


def powers_above(largest: Floats) -> Floats:
    """The least power of two that is at least each number; 1 for zero.

    >>> powers_above(np.array([0.0, 0.3, 5.0]))
    array([1. , 0.5, 8. ])
    """
    powers: Floats = 2.0 ** np.ceil(np.log2(np.where(largest > 0, largest, 1.0)))
    return powers


def split(values: Floats, bound: float | Floats) -> tuple[Floats, Floats]:
    """Cut values with |value| <= bound (a power of two, or one for each column) into a coarse and a fine part on fixed grids.

    >>> coarse, fine = split(np.array([1 / 3]), 1.0)
    >>> abs(float(coarse[0] + fine[0]) - 1 / 3) <= 2**-54
    True
    """
    coarse = values + ROUND * COARSE * bound
    coarse -= ROUND * COARSE * bound
    fine = values - coarse
    fine += ROUND * FINE * bound
    fine -= ROUND * FINE * bound
    return coarse, fine


@dataclass(frozen=True, eq=False)
class ExactParts:
    """Sums as they add up without rounding: the coarse parts and, of values that are not whole numbers, the fine ones."""

    coarse: Floats
    fine: Floats | None

    def total(self) -> Floats:
        """The sums; here alone something is rounded."""
        return self.coarse if self.fine is None else self.coarse + self.fine

    def plus(self, other: ExactParts) -> ExactParts:
        """The sums of both."""
        if self.fine is None or other.fine is None:
            return ExactParts(self.coarse + other.coarse, other.fine if self.fine is None else self.fine)
        return ExactParts(self.coarse + other.coarse, self.fine + other.fine)


@dataclass
class ExactSums:
    """Running sums of matrices, row by row into groups; the total is the same in whatever order the rows came.

    ``bound`` None says that the values are integers, which add up exactly as they are.
    """

    groups: int
    bound: float | None
    coarse: Floats | None = None
    fine: Floats | None = None

    def add(self, values: Floats, codes: Ints | None, weights: Floats | None = None) -> None:
        """Add the rows of ``values`` (repeated ``weights`` times) to the groups that ``codes`` names; None: all to one."""
        width, groups = values.shape[1], self.groups
        if codes is not None and width >= WIDE:
            at = np.flatnonzero(values.ravel() != 0)
            rows = at // width
            codes, weights = codes[rows] * width + at - rows * width, None if weights is None else weights[rows]
            values, groups = values.ravel()[at, None], groups * width
        if self.bound is None:
            self.coarse = _plus(self.coarse, _summed(values, codes, weights, groups).reshape(-1, width))
            return
        coarse, fine = split(values, self.bound)
        self.coarse = _plus(self.coarse, _summed(coarse, codes, weights, groups).reshape(-1, width))
        self.fine = _plus(self.fine, _summed(fine, codes, weights, groups).reshape(-1, width))

    def total(self) -> Floats:
        """The sums: one row per group, one column per statistic."""
        return self.total_of(np.arange(self.groups), self.groups)

    def total_of(self, group: Ints, groups: int) -> Floats:
        """The sums of coarser groups; ``group`` says into which of them each of these falls."""
        return self.parts_of(group, groups).total()

    def parts_of(self, group: Ints, groups: int) -> ExactParts:
        """The same, before the two parts are added."""
        assert self.coarse is not None
        fine = None if self.fine is None else _gathered(self.fine, group, groups)
        return ExactParts(_gathered(self.coarse, group, groups), fine)


def _summed(values: Floats, codes: Ints | None, weights: Floats | None, groups: int) -> Floats:
    if weights is not None:
        values = values * weights[:, None]
    if codes is None:
        # numpy sums a tall, narrow matrix over its rows twenty times slower than column by column
        return np.array([[column.sum() for column in values.T]])
    return np.column_stack([add_up(codes, column, groups) for column in values.T])


def _gathered(sums: Floats, group: Ints, groups: int) -> Floats:
    gathered = np.zeros((groups, sums.shape[1]))
    np.add.at(gathered, group, sums)
    return gathered


def _plus(total: Floats | None, more: Floats) -> Floats:
    return more if total is None else total + more


def in_order(terms: Floats, axis: int) -> Floats:
    """Add up along a short axis, one after the other: numpy's own order depends on the shape and so on the block.

    >>> in_order(np.array([[1.0, 2.0], [3.0, 4.0]]), 1)
    array([3., 7.])
    """
    moved = np.moveaxis(terms, axis, 0)
    total: Floats = np.zeros(moved.shape[1:])
    for part in moved:
        total = total + part
    return total


def totals_of(make: Callable[[slice], Sequence[Floats]], columns: int) -> Floats:
    """The sums of rows that are made part by part, some columns of all at a time: the same for every library and any order.

    The bounds are those of a sample of the parts; where another part goes beyond them, all are added up anew.

    >>> totals_of(lambda part: np.arange(6.0).reshape(2, 3)[:, part], 3)
    array([ 3., 12.])
    """
    places = [slice(at, at + PART) for at in range(0, max(columns, 1), PART)]
    sampled = {place.start: make(place) for place in places[:: max(1, len(places) // SAMPLED)]}
    needed = _bounds([[_largest(row) for row in rows] for rows in sampled.values()])
    while True:
        bounds, largest = needed, []
        coarse, fine = np.zeros((2, len(bounds)))
        for place in places:
            rows = sampled[place.start] if place.start in sampled else make(place)
            largest.append([_largest(row) for row in rows])
            for at, row in enumerate(rows):
                coarser, finer = split(row, bounds[at])
                coarse[at] += coarser.sum()
                fine[at] += finer.sum()
        needed = _bounds(largest)
        if np.all(needed <= bounds):
            total: Floats = coarse + fine
            return total


def _largest(row: Floats) -> float:
    return max(float(row.max(initial=0.0)), -float(row.min(initial=0.0)))


def _bounds(largest: Sequence[Sequence[float]]) -> Floats:
    return np.maximum(powers_above(np.max(largest, axis=0)), SMALLEST)


def add_up(codes: Ints, values: Floats | Bools, groups: int) -> Floats:
    """The sum of the values of every group, in the order of the rows.

    >>> add_up(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    array([3., 0., 5.])
    """
    sums: Floats = np.bincount(codes, values, minlength=groups).astype(np.float64, copy=False)
    return sums
