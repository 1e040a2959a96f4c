"""Risk-coverage curves in every draw: the items of each are written out in full, and read by place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.draws import Draws
from evidentia.verify.items import CurveReading, ItemRows, steps_within
from evidentia.verify.plan import LOOPS
from evidentia.verify.recipes import Block, on_all
from evidentia.verify.tally import Tally

Want = tuple[str, str | None]  # an expanded definition, and the confidence that orders
JOINT = "Joint"  # the joint risk at a coverage, for the bands of a figure


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


class DrawnItems:
    """One run in a block of draws; one order is written out at a time, so that memory stays bounded."""

    def __init__(self, items: ItemRows, block: Block) -> None:
        times = block.weights.T.astype(np.int64)
        self.items = items
        self.copies = times[:, items.owner[items.held]]
        self.total: Ints = times @ np.bincount(items.owner, minlength=len(items.clusters))
        self.predicted: Ints = self.copies.sum(axis=1)
        self._steps: dict[Decimal, tuple[Ints, Floats, Ints]] = {}
        self._rising: dict[str, Lists] = {}  # every confidence shares the best order
        self._own: tuple[object, Lists] | None = None

    def own(self, signal: str | None, loss: str) -> Lists:
        """The items by confidence; those of the last confidence are kept."""
        if self._own is None or self._own[0] != (signal, loss):
            losses = self.items.losses(loss)
            sure = np.zeros(len(losses)) if signal is None else self.items.signals[signal][self.items.held]
            self._own = ((signal, loss), self._listed(losses, -sure))
        return self._own[1]

    def rising(self, loss: str) -> Lists:
        """The items with ascending losses: the best order that there is."""
        if loss not in self._rising:
            losses = self.items.losses(loss)
            self._rising[loss] = self._listed(losses, losses)
        return self._rising[loss]

    def _listed(self, losses: Floats, key: Floats) -> Lists:
        order = np.argsort(key, kind="stable")
        ranked = key[order]
        runs = np.cumsum(np.append(False, ranked[1:] != ranked[:-1]))[: len(ranked)]
        return Lists(losses[order], runs, self.copies[:, order], self.total)

    def steps(self, cut: Decimal) -> tuple[Ints, Floats, Ints]:
        """In every draw: whole items within a coverage, the part of the next one, and how many reach it."""
        if cut not in self._steps:
            totals, where = np.unique(self.total, return_inverse=True)
            steps = [steps_within(cut, total) if total else (0, 0.0, 1) for total in totals.tolist()]
            whole, rest, count = (np.array(part)[where] for part in zip(*steps, strict=True))
            self._steps[cut] = whole, rest, count
        return self._steps[cut]

    def values(self, reading: CurveReading, signal: str | None, common: Ints) -> Floats:
        """A reading in every draw; NaN where it is no measurement."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if reading.base == "Cmax":
                return self.predicted / self.total
            own = self.own(signal, reading.loss)
            if reading.kind == "coverage" and reading.cut is not None:
                count = self.steps(reading.cut)[2]
                there = count <= self.predicted
                return np.where(there, own.point(reading.base == JOINT, np.where(there, count, 0)), np.nan)
            values = own.point(False, self.predicted) if reading.base == "MAE" else self._areas(reading, own, common)
        return np.where(self.predicted > 0, values, np.nan)

    def _areas(self, reading: CurveReading, own: Lists, common: Ints) -> Floats:
        joint, ties = "AUGRC" in reading.base, str(reading.ties)
        if reading.order == "oracle":
            return self.rising(reading.loss).best(joint, ties)
        end, rest = common if reading.common else self.predicted, np.zeros(len(common))
        if reading.cut is not None:
            end, rest, _ = self.steps(reading.cut)
        area = own.area(joint, ties, end, rest)
        if reading.base.startswith("e"):
            return np.maximum(area - self.rising(reading.loss).best(joint, ties), 0.0)
        return area * self.total / self.predicted if reading.base.startswith("n") else area

    def enough(self, reading: CurveReading, common: Ints) -> Bools:
        """Where a draw predicts as many items as the cut asks for."""
        if reading.kind is None:
            return np.ones(len(common), np.bool_)
        return common > 0 if reading.cut is None else self.steps(reading.cut)[2] <= self.predicted


@dataclass(frozen=True, eq=False)
class CurveRecipe:
    """A reading of one of the runs, or without a ``side`` last minus first where all reach its coverage."""

    runs: tuple[ItemRows, ...]
    reading: CurveReading
    signal: str | None
    side: int | None = 0

    def values(self, block: Block) -> Floats:
        """One value per replicate, NaN where it is no measurement."""
        drawn = [_drawn(block, items) for items in self.runs]
        common = np.minimum.reduce([run.predicted for run in drawn])
        if self.side is not None:
            return drawn[self.side].values(self.reading, self.signal, common)
        reached = np.logical_and.reduce([run.enough(self.reading, common) for run in drawn])
        first, last = (run.values(self.reading, self.signal, common) for run in (drawn[0], drawn[-1]))
        return np.where(reached, last - first, np.nan)


def _drawn(block: Block, items: ItemRows) -> DrawnItems:
    known: DrawnItems | None = block.swept.get(id(items))
    if known is None:
        known = block.swept[id(items)] = DrawnItems(items, block)
    return known


def check_curve_loops(
    recipes: Mapping[Want, CurveRecipe], draws: Draws, values: Mapping[Want, Floats], tally: Tally
) -> None:
    """Some replicates again, as rows that repeat the items of the drawn participants."""
    for replicate in draws.first(LOOPS):
        times = np.bincount(draws.picks(replicate), minlength=draws.posts)
        rows = {id(run): run.repeated(times) for recipe in recipes.values() for run in recipe.runs}
        again = [replace(recipe, runs=tuple(rows[id(run)] for run in recipe.runs)) for recipe in recipes.values()]
        for want, value in zip(recipes, on_all(again, draws.posts), strict=True):
            drawn = float(values[want][replicate])
            where = f"{want[0]}: replicate {replicate}, by a plain loop"
            tally.number(where, None if np.isnan(drawn) else drawn, value)
