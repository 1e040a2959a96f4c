"""Many replicates of a selective run side by side: the list of each is written out in full, and read by place."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from evidentia.array_types import Bools, Floats, Ints


class Lists:
    """Row b has the losses of the items that draw b takes, copies side by side, in one order; beyond its length nothing.

    ``runs`` numbers the items of equal confidence, ascending. ``copies`` is draws x items, in the same order.
    """

    def __init__(self, losses: Floats, runs: Ints, copies: Ints, total: Ints) -> None:
        self.losses, self.runs, self.copies, self.total = losses, runs, copies, total
        self.rows = np.arange(len(copies))
        self.length: Ints = copies.sum(axis=1)

    @cached_property
    def _there(self) -> Bools:
        places = np.arange(max(int(self.length.max(initial=0)), 1))
        return places < self.length[:, None]

    @cached_property
    def _which(self) -> Ints:
        """The item at every place."""
        places_of = np.zeros(self._there.shape, np.int64)
        items = np.broadcast_to(np.arange(len(self.losses)), self.copies.shape)
        places_of[self._there] = np.repeat(items.ravel(), self.copies.ravel())
        return places_of

    @cached_property
    def _lost(self) -> Floats:
        """The loss before every place; the first is 0."""
        lost = np.zeros((len(self.rows), self._there.shape[1] + 1))
        if len(self.losses):
            np.cumsum(np.where(self._there, self.losses[self._which], 0.0), axis=1, out=lost[:, 1:])
        return lost

    def point(self, joint: bool, count: Ints) -> Floats:
        """The risk, or the joint risk, of the first so many (at least one) of every row."""
        return self._lost[self.rows, count] / (self.total if joint else count)

    def area(self, joint: bool, ties: str, whole: Ints, rest: Floats) -> Floats:
        """The area up to so many items and a part of the next one."""
        within = whole < self.length
        whole, rest = np.where(within, whole, self.length), np.where(within, rest, 0.0)
        if ties == "plateau":
            return self._lines_to(joint, whole, rest) / self.total
        last = self.point(joint, np.minimum(whole + 1, np.maximum(self.length, 1)))
        return (self._heights(joint)[self.rows, whole] + rest * last) / self.total

    def _heights(self, joint: bool) -> Floats:
        return self._joint_heights if joint else self._risk_heights

    @cached_property
    def _risk_heights(self) -> Floats:
        return _summed(self._lost[:, 1:] / np.arange(1, self._lost.shape[1]))

    @cached_property
    def _joint_heights(self) -> Floats:
        return _summed(self._lost[:, 1:] / self.total[:, None])

    @cached_property
    def _ends(self) -> Ints:
        """How many are taken at the end of every run; a run that was not drawn ends where the one before it does."""
        last = np.flatnonzero(np.append(self.runs[1:] != self.runs[:-1], True))[: len(self.runs)]
        taken: Ints = np.cumsum(self.copies, axis=1)[:, last]
        return taken

    def _lines(self, joint: bool) -> tuple[Ints, Floats, Floats, Floats]:
        """The straight line of every run: where it starts, its height there and at its end, and the area before it."""
        ends, starts = self._ends, np.pad(self._ends, ((0, 0), (1, 0)))[:, :-1]
        high = self._lost[self.rows[:, None], ends] / (self.total[:, None] if joint else np.maximum(ends, 1))
        low = np.pad(high, ((0, 0), (1, 0)))[:, :-1]
        if not joint:  # the first line is level
            low = np.where(starts == 0, high, low)
        return starts, low, high, _summed((ends - starts) * (low + high) / 2)

    @cached_property
    def _risk_lines(self) -> tuple[Ints, Floats, Floats, Floats]:
        return self._lines(joint=False)

    @cached_property
    def _joint_lines(self) -> tuple[Ints, Floats, Floats, Floats]:
        return self._lines(joint=True)

    def _lines_to(self, joint: bool, whole: Ints, rest: Floats) -> Floats:
        """N times the area under the lines; the item at the place where it stops says in which run that is."""
        if not len(self.losses):
            return np.zeros(len(self.rows))
        starts, low, high, before = self._joint_lines if joint else self._risk_lines
        run = self.runs[self._which[self.rows, np.minimum(whole, np.maximum(self.length - 1, 0))]]
        at = (self.rows, run)
        width = np.maximum(self._ends[at] - starts[at], 1)
        into = np.where(self.length > 0, whole + rest - starts[at], 0.0)
        areas: Floats = before[at] + into * (low[at] + (high[at] - low[at]) * into / width / 2)
        return areas

    def best(self, joint: bool, ties: str) -> Floats:
        """The smallest area with these losses, which must ascend, with runs of equal loss."""
        nothing = np.zeros(len(self.rows))
        if ties == "step":
            return self.area(joint, "step", self.length, nothing)
        if joint:  # every item apart: lines from (0, 0), so that half of the last height is missing
            last = self.point(joint=True, count=self.length)
            return self.area(True, "step", self.length, nothing) - last / 2 / self.total
        return self._hulls / self.total

    @cached_property
    def _hulls(self) -> Floats:
        """N times the area under the first risk and then the lower hull of the points at the ends of runs."""
        x = np.maximum(self._ends, 1)
        first = self._lost[:, 1:2]
        y = np.where(self._ends > 0, self._lost[self.rows[:, None], self._ends] / x, first)
        width = np.diff(x, axis=1, prepend=1)
        rise = np.diff(y, axis=1, prepend=first)
        slopes = np.divide(rise, width, out=np.full(x.shape, -np.inf), where=width > 0)
        bent = np.any((width > 0) & (slopes < np.maximum.accumulate(slopes, axis=1)), axis=1)
        areas: Floats = first[:, 0] + np.sum(width * (y - rise / 2), axis=1)
        for row in np.flatnonzero(bent):
            held = width[row] > 0
            areas[row] = first[row, 0] + _area_under_hull(first[row, 0], width[row][held], slopes[row][held])
        return areas


def _summed(steps: Floats) -> Floats:
    """The sum before every column, and after the last."""
    sums = np.zeros((len(steps), steps.shape[1] + 1))
    np.cumsum(steps, axis=1, out=sums[:, 1:])
    return sums


def _area_under_hull(start: float, width: Floats, slopes: Floats) -> float:
    """The area under the largest convex curve below some lines: its slopes are the isotonic regression of theirs.

    >>> _area_under_hull(0.0, np.array([1, 1]), np.array([1.0, -1.0]))
    0.0
    """
    from scipy.optimize import isotonic_regression

    rise = isotonic_regression(slopes, weights=width).x * width
    return float(np.sum(width * (start + np.cumsum(rise) - rise / 2)))


def tie_range(lists: Lists, joint: bool) -> tuple[float, float, float, int]:
    """The area with tied items in the best order, at their mean loss, in the worst order; and how many are tied.

    The list must be that of a run as it is.
    """
    losses, runs = lists.losses, lists.runs
    sizes = np.bincount(runs) if len(runs) else np.zeros(0, np.int64)
    means = (np.bincount(runs, losses) / sizes)[runs] if len(runs) else losses
    orders = (losses[np.lexsort((losses, runs))], means, losses[np.lexsort((-losses, runs))])
    nothing = np.zeros(1)
    best, expected, worst = (
        float(Lists(order, runs, lists.copies, lists.total).area(joint, "step", lists.length, nothing)[0])
        for order in orders
    )
    return best, expected, worst, int(sizes[sizes > 1].sum())
