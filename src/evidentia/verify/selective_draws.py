"""Intervals and paired differences of selective runs, from every replicate drawn anew."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray

from evidentia.verify.order import as_numbers
from evidentia.verify.selective_reference import Item, Measure, ordered, push, steps_within

Progress = Callable[[int, int], None]
Want = tuple[str, str | None]  # an expanded definition, and the confidence that orders
JOINT = "Joint"  # the joint risk at a coverage, for the bands of a figure
Values = NDArray[np.float64]


def clusters_of(items: Sequence[Item]) -> tuple[str, ...]:
    """Ids in the order of the draws."""
    return as_numbers({item.cluster for item in items})


def draws(clusters: int, seed: int, replicate: int) -> NDArray[np.int64]:
    """How often each cluster is drawn in a replicate."""
    picks = Generator(Philox(key=[seed, replicate])).integers(clusters, size=clusters)
    return np.bincount(picks, minlength=clusters)


@dataclass(frozen=True, eq=False)
class Plan:
    """What every replicate is made of."""

    wants: Mapping[Want, Measure]
    item_max: float | None
    seed: int
    resamples: int


class Drawn:
    """One replicate's list in one order: losses, confidences, and sums over prefixes."""

    def __init__(self, losses: Values, sure: Values, total: int) -> None:
        self.losses, self.total, self.predicted = losses, total, len(losses)
        self.lost = np.cumsum(losses)
        self.points = {False: self.lost / np.arange(1, self.predicted + 1), True: self.lost / max(total, 1)}
        self.ends = (
            np.flatnonzero(np.append(sure[1:] != sure[:-1], True)) + 1 if self.predicted else np.zeros(0, np.int64)
        )

    def value(self, measure: Measure, rising: Drawn, common: int | None = None) -> float:
        """A measure of this replicate; NaN where it is no measurement. ``rising`` is the list with ascending losses."""
        if measure.base == "Cmax":
            return self.predicted / self.total
        if measure.kind == "coverage":
            count = steps_within(str(measure.cut), self.total)[2]
            return float(self.points[measure.base == JOINT][count - 1]) if count <= self.predicted else np.nan
        if self.predicted == 0:
            return np.nan
        return float(self.points[False][-1]) if measure.base == "MAE" else self._area(measure, rising, common)

    def _area(self, measure: Measure, rising: Drawn, common: int | None) -> float:
        joint = "AUGRC" in measure.base
        if measure.order == "oracle":
            return rising.best(joint, measure.ties)
        own = self.area(joint, measure.ties, self._end(measure, common))
        if measure.base.startswith("e"):
            return max(own - rising.best(joint, measure.ties), 0.0)
        return own * self.total / self.predicted if measure.base.startswith("n") else own

    def _end(self, measure: Measure, common: int | None) -> tuple[int, float]:
        """Where the area ends: whole items, and a part of the next one."""
        if measure.cut is None:
            return self.predicted, 0.0
        whole, rest = (common or 0, 0.0) if measure.cut == "common" else steps_within(measure.cut, self.total)[:2]
        return (whole, rest) if whole < self.predicted else (self.predicted, 0.0)

    def area(self, joint: bool, ties: str, end: tuple[int, float]) -> float:
        """The area up to so many items."""
        point, (whole, rest) = self.points[joint], end
        if ties == "step":
            last = rest * float(point[whole]) if rest else 0.0
            return (float(point[:whole].sum()) + last) / self.total
        x = np.concatenate([[0.0], self.ends])
        y = np.concatenate([[0.0 if joint else point[self.ends[0] - 1]], point[self.ends - 1]])
        stop = whole + rest
        inside = np.append(x[x < stop], stop)
        return float(np.trapezoid(np.interp(inside, x, y), inside)) / self.total

    def best(self, joint: bool, ties: str) -> float:
        """The smallest area with these losses, which must ascend."""
        if ties == "step":
            return self.area(joint, "step", (self.predicted, 0.0))
        if joint:
            return (float(self.points[True].sum()) - float(self.points[True][-1]) / 2) / self.total
        runs = np.flatnonzero(np.append(self.losses[1:] != self.losses[:-1], True))
        hull: list[tuple[float, float]] = [(1.0, float(self.losses[0]))]
        for run in runs:
            if run > 0:
                push(hull, (float(run + 1), float(self.points[False][run])))
        under = sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in itertools.pairwise(hull))
        return (float(self.losses[0]) + under) / self.total


class Prepared:
    """A run's items in the order of each confidence and loss, ready to be repeated."""

    def __init__(self, items: Sequence[Item], plan: Plan) -> None:
        place = {name: at for at, name in enumerate(clusters_of(items))}
        self.sizes = np.bincount([place[item.cluster] for item in items], minlength=len(place))
        self.orders: dict[tuple[str | None, str], tuple[Values, Values, NDArray[np.int64]]] = {}
        predicted = [item for item in items if item.pred is not None]
        for (_, signal), measure in plan.wants.items():
            data = ordered(items, measure, signal, plan.item_max)
            sort = sorted(predicted, key=lambda i: -(i.signals[signal] or 0.0)) if signal is not None else predicted
            owner = np.array([place[item.cluster] for item in sort], np.int64)
            self.orders[signal, measure.loss] = (
                np.asarray(data.losses, float),
                np.asarray(data.confidences, float),
                owner,
            )

    def repeated(self, times: NDArray[np.int64]) -> dict[tuple[str | None, str], tuple[Drawn, Drawn]]:
        """Every order of a replicate, beside the same losses ascending: copies of an item stand side by side."""
        total = int(self.sizes @ times)
        made = {}
        for key, (losses, sure, owner) in self.orders.items():
            copies = times[owner]
            drawn = np.repeat(losses, copies)
            rising = np.sort(drawn)
            made[key] = (Drawn(drawn, np.repeat(sure, copies), total), Drawn(rising, -rising, total))
        return made


def replicate_values(items: Sequence[Item], plan: Plan, progress: Progress | None = None) -> dict[Want, Values]:
    """The value of every want in every replicate; NaN where it is no measurement."""
    prepared = Prepared(items, plan)
    found = {want: np.full(plan.resamples, np.nan) for want in plan.wants}
    for b in range(plan.resamples):
        made = prepared.repeated(draws(len(prepared.sizes), plan.seed, b))
        for want, measure in plan.wants.items():
            own, rising = made[want[1], measure.loss]
            found[want][b] = own.value(measure, rising)
        if progress is not None and b % 50 == 0:
            progress(b, plan.resamples)
    return found


def replicate_once(items: Sequence[Item], plan: Plan) -> dict[Want, float]:
    """The values of the run itself: every participant once."""
    prepared = Prepared(items, plan)
    made = prepared.repeated(np.ones(len(prepared.sizes), np.int64))
    return {want: made[want[1], m.loss][0].value(m, made[want[1], m.loss][1]) for want, m in plan.wants.items()}


def leave_one_out_values(items: Sequence[Item], plan: Plan) -> dict[Want, Values]:
    """The value of every want without each participant in turn."""
    prepared = Prepared(items, plan)
    clusters = len(prepared.sizes)
    found = {want: np.full(clusters, np.nan) for want in plan.wants}
    for left_out in range(clusters):
        times = np.ones(clusters, np.int64)
        times[left_out] = 0
        made = prepared.repeated(times)
        for want, measure in plan.wants.items():
            own, rising = made[want[1], measure.loss]
            found[want][left_out] = own.value(measure, rising) if own.total else np.nan
    return found


def paired_differences(
    runs: tuple[Sequence[Item], Sequence[Item]], plan: Plan, progress: Progress | None = None
) -> dict[Want, Values]:
    """Second minus first in every replicate; NaN where either is no measurement or does not reach the coverage."""
    sides = [Prepared(items, plan) for items in runs]
    found = {want: np.full(plan.resamples, np.nan) for want in plan.wants}
    for b in range(plan.resamples):
        times = draws(len(sides[0].sizes), plan.seed, b)
        first, second = (side.repeated(times) for side in sides)
        for want, measure in plan.wants.items():
            key = (want[1], measure.loss)
            common = min(first[key][0].predicted, second[key][0].predicted)
            before, after = (side[key][0].value(measure, side[key][1], common) for side in (first, second))
            short = not all(enough(measure, side[key][0], common) for side in (first, second))
            found[want][b] = np.nan if short else after - before
        if progress is not None and b % 50 == 0:
            progress(b, plan.resamples)
    return found


def enough(measure: Measure, drawn: Drawn, common: int) -> bool:
    """Whether a replicate predicts as many items as the cut asks for."""
    if measure.cut is None:
        return True
    if measure.cut == "common":
        return common > 0
    return steps_within(measure.cut, drawn.total)[2] <= drawn.predicted
