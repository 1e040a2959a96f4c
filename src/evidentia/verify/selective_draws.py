"""Selective prediction, the second opinion: every reading in every draw, from items that are written out and read by place.

A run as it is has one draw that takes every cluster once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isnan

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.draws import Draws, LeftOut, over_blocks
from evidentia.verify.selective_items import CurveReading, ItemRows, steps_within
from evidentia.verify.selective_lists import Lists

Progress = Callable[[int, int], None]
Want = tuple[str, str | None]  # an expanded definition, and the confidence that orders
JOINT = "Joint"  # the joint risk at a coverage, for the bands of a figure
CELLS = 1 << 18  # items times replicates that are written out at once


@dataclass(frozen=True, eq=False)
class DrawPlan:
    """What is read in every draw, and how many draws there are."""

    wants: Mapping[Want, CurveReading]
    item_max: float | None
    seed: int = 0
    resamples: int = 0

    def by_list(self) -> dict[tuple[str | None, str], list[Want]]:
        """The wants by the list that they are read from: the confidence that orders it, and its losses."""
        lists: dict[tuple[str | None, str], list[Want]] = {}
        for want, reading in self.wants.items():
            lists.setdefault((want[1], reading.loss), []).append(want)
        return lists

    def draws(self, clusters: int) -> Draws:
        """All draws, without strata."""
        return Draws(clusters, self.resamples, self.seed, (np.arange(clusters),))

    def times(self, clusters: int, replicate: int) -> Ints:
        """How often each cluster is drawn in a replicate."""
        return np.bincount(self.draws(clusters).picks(replicate), minlength=clusters)


class DrawnItems:
    """One run under some draws (draws x clusters); one order is written out at a time, so that memory stays bounded."""

    def __init__(self, items: ItemRows, times: Ints, item_max: float | None) -> None:
        self.items, self.item_max = items, item_max
        self.copies = times[:, items.owner[items.held]]
        self.total: Ints = times @ np.bincount(items.owner, minlength=len(items.clusters))
        self.predicted: Ints = self.copies.sum(axis=1)
        self._steps: dict[Decimal, tuple[Ints, Floats, Ints]] = {}
        self._rising: dict[str, Lists] = {}  # every confidence shares the best order

    def lists(self, signal: str | None, loss: str) -> Orders:
        """The items by confidence, beside the same ones with ascending losses."""
        losses = self.items.losses(loss, self.item_max)
        sure = np.zeros(len(losses)) if signal is None else self.items.signals[signal][self.items.held]
        if loss not in self._rising:
            self._rising[loss] = self._listed(losses, losses)
        return Orders(self, self._listed(losses, -sure), self._rising[loss])

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


@dataclass(frozen=True, eq=False)
class Orders:
    """The lists of some draws in the order of a confidence, and in the best order that there is."""

    block: DrawnItems
    own: Lists
    rising: Lists

    def values(self, reading: CurveReading, common: Ints | None = None) -> Floats:
        """A reading in every draw; NaN where it is no measurement."""
        predicted, total = self.own.length, self.own.total
        with np.errstate(divide="ignore", invalid="ignore"):
            if reading.base == "Cmax":
                return predicted / total
            if reading.kind == "coverage" and reading.cut is not None:
                count = self.block.steps(reading.cut)[2]
                there = count <= predicted
                return np.where(there, self.own.point(reading.base == JOINT, np.where(there, count, 0)), np.nan)
            values = self.own.point(False, predicted) if reading.base == "MAE" else self._areas(reading, common)
        return np.where(predicted > 0, values, np.nan)

    def _areas(self, reading: CurveReading, common: Ints | None) -> Floats:
        joint, ties = "AUGRC" in reading.base, str(reading.ties)
        if reading.order == "oracle":
            return self.rising.best(joint, ties)
        own = self.own.area(joint, ties, *self._end(reading, common))
        if reading.base.startswith("e"):
            return np.maximum(own - self.rising.best(joint, ties), 0.0)
        return own * self.own.total / self.own.length if reading.base.startswith("n") else own

    def _end(self, reading: CurveReading, common: Ints | None) -> tuple[Ints, Floats]:
        """Where the area ends: whole items, and a part of the next one."""
        if reading.cut is not None:
            return self.block.steps(reading.cut)[:2]
        end = self.own.length if common is None or not reading.common else common
        return end, np.zeros(len(end))

    def enough(self, reading: CurveReading, common: Ints) -> Bools:
        """Where a draw predicts as many items as the cut asks for."""
        if reading.kind is None:
            return np.ones(len(common), np.bool_)
        return common > 0 if reading.cut is None else self.block.steps(reading.cut)[2] <= self.own.length


def values_of(plan: DrawPlan, runs: Sequence[ItemRows], times: Ints) -> Iterator[tuple[Want, list[Floats], Bools]]:
    """Every want in every run under some draws, and where all runs reach the coverage that it asks for."""
    blocks = [DrawnItems(items, times, plan.item_max) for items in runs]
    common = np.minimum.reduce([block.predicted for block in blocks])
    for (signal, loss), wants in plan.by_list().items():
        orders = [block.lists(signal, loss) for block in blocks]
        for want in wants:
            reading = plan.wants[want]
            reached = np.logical_and.reduce([order.enough(reading, common) for order in orders])
            yield want, [order.values(reading, common) for order in orders], reached


@dataclass(frozen=True)
class ItemPoint:
    """The value of a want in every run as it is (NaN: no measurement), and whether all reach its coverage."""

    values: tuple[float, ...]
    reached: bool

    @property
    def difference(self) -> float | None:
        """Last minus first; None where it is no measurement."""
        difference = self.values[-1] - self.values[0]
        return difference if self.reached and not isnan(difference) else None


def points_of(plan: DrawPlan, runs: Sequence[ItemRows]) -> dict[Want, ItemPoint]:
    """Every want in every run as it is."""
    once = np.ones((1, len(runs[0].clusters)), np.int64)
    return {
        want: ItemPoint(tuple(float(side[0]) for side in values), bool(reached[0]))
        for want, values, reached in values_of(plan, runs, once)
    }


def replicate_values(items: ItemRows, plan: DrawPlan, progress: Progress | None = None) -> dict[Want, Floats]:
    """The value of every want in every draw; NaN where it is no measurement."""
    return _each(plan, (items,), plan.draws(len(items.clusters)), progress)


def leave_one_out_values(items: ItemRows, plan: DrawPlan) -> dict[Want, Floats]:
    """The value of every want without each participant in turn."""
    return _each(plan, (items,), LeftOut(len(items.clusters)), None)


def paired_differences(
    runs: tuple[ItemRows, ItemRows], plan: DrawPlan, progress: Progress | None = None
) -> dict[Want, Floats]:
    """Second minus first in every draw; NaN where either is no measurement or does not reach the coverage."""
    return _each(plan, runs, plan.draws(len(runs[0].clusters)), progress)


def _each(
    plan: DrawPlan, runs: Sequence[ItemRows], drawn: Draws | LeftOut, progress: Progress | None
) -> dict[Want, Floats]:
    """The values of one run, or the differences of two, over all draws."""
    values = {want: np.empty(drawn.resamples) for want in plan.wants}
    rows_at_once = max(1, CELLS // max(*(items.predicted for items in runs), 1))
    finished = 0

    def work(rows: slice, weights: Floats) -> None:
        times = weights.T.astype(np.int64)
        for start in range(0, len(times), rows_at_once):
            part = times[start : start + rows_at_once]
            place = slice(rows.start + start, rows.start + start + len(part))
            for want, sides, reached in values_of(plan, runs, part):
                values[want][place] = np.where(reached, sides[1] - sides[0], np.nan) if len(runs) > 1 else sides[0]

    def report(done: int) -> None:
        nonlocal finished
        finished += done
        if progress is not None:
            progress(finished, drawn.resamples)

    over_blocks(drawn, work, report)
    return values
