"""Intervals and paired differences of selective runs, from every replicate drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.verify.draws import Bools, Draws, Floats, Ints, LeftOut, over_blocks
from evidentia.verify.order import as_numbers
from evidentia.verify.selective_lists import Lists
from evidentia.verify.selective_reference import Item, Measure, loss_of, needs_order, steps_within

Progress = Callable[[int, int], None]
Want = tuple[str, str | None]  # an expanded definition, and the confidence that orders
JOINT = "Joint"  # the joint risk at a coverage, for the bands of a figure
CELLS = 1 << 18  # items times replicates that are written out at once


def clusters_of(items: Sequence[Item]) -> tuple[str, ...]:
    """Ids in the order of the draws."""
    return as_numbers({item.cluster for item in items})


def draws(clusters: int, seed: int, replicate: int) -> Ints:
    """How often each cluster is drawn in a replicate."""
    picks = draws_of(clusters, seed, replicate + 1).picks(replicate)
    return np.bincount(picks, minlength=clusters)


def draws_of(clusters: int, seed: int, resamples: int) -> Draws:
    """All draws, without strata."""
    return Draws(clusters, resamples, seed, (np.arange(clusters),))


@dataclass(frozen=True, eq=False)
class Plan:
    """What every replicate is made of."""

    wants: Mapping[Want, Measure]
    item_max: float | None
    seed: int
    resamples: int

    def by_list(self) -> dict[tuple[str | None, str], list[Want]]:
        """The wants by the list that they are read from: the confidence that orders it, and its losses."""
        found: dict[tuple[str | None, str], list[Want]] = {}
        for want, measure in self.wants.items():
            found.setdefault((want[1] if needs_order(measure) else None, measure.loss), []).append(want)
        return found


class Prepared:
    """A run's predicted items as arrays, with the losses and confidences that a plan needs."""

    def __init__(self, items: Sequence[Item], plan: Plan) -> None:
        place = {name: at for at, name in enumerate(clusters_of(items))}
        self.sizes = np.bincount([place[item.cluster] for item in items], minlength=len(place))
        held = [item for item in items if item.pred is not None]
        self.owner = np.array([place[item.cluster] for item in held], np.int64)
        lists = plan.by_list()
        self.losses = {
            loss: np.array([loss_of(item, loss, plan.item_max) for item in held], np.float64)
            for loss in {loss for _, loss in lists}
        }
        self.sure: dict[str, Floats] = {
            signal: np.array([item.signals[signal] for item in held], np.float64)
            for signal in {signal for signal, _ in lists}
            if signal is not None
        }

    def under(self, times: Ints) -> Block:
        """The run under a block of draws (draws x clusters)."""
        return Block(self, times)


class Block:
    """One run under some draws; one order is written out at a time, so that memory stays bounded."""

    def __init__(self, run: Prepared, times: Ints) -> None:
        self.run, self.copies = run, times[:, run.owner]
        self.total: Ints = times @ run.sizes
        self.predicted: Ints = self.copies.sum(axis=1)
        self._steps: dict[str, tuple[Ints, Floats, Ints]] = {}
        self._rising: dict[str, Lists] = {}  # every confidence shares the best order

    def lists(self, signal: str | None, loss: str) -> Pair:
        """The items by confidence, beside the same ones with ascending losses."""
        losses = self.run.losses[loss]
        own = self._listed(losses, -self.run.sure[signal] if signal is not None else np.zeros(len(losses)))
        if loss not in self._rising:
            self._rising[loss] = self._listed(losses, losses)
        return Pair(self, own, self._rising[loss])

    def _listed(self, losses: Floats, key: Floats) -> Lists:
        order = np.argsort(key, kind="stable")
        ranked = key[order]
        runs = np.cumsum(np.append(False, ranked[1:] != ranked[:-1]))[: len(ranked)]
        return Lists(losses[order], runs, self.copies[:, order], self.total)

    def steps(self, cut: str) -> tuple[Ints, Floats, Ints]:
        """In every replicate: whole items within a coverage, the part of the next one, and how many reach it."""
        if cut not in self._steps:
            totals, where = np.unique(self.total, return_inverse=True)
            found = [steps_within(cut, total) if total else (0, 0.0, 1) for total in totals.tolist()]
            whole, rest, count = (np.array(part)[where] for part in zip(*found, strict=True))
            self._steps[cut] = whole, rest, count
        return self._steps[cut]


@dataclass(frozen=True, eq=False)
class Pair:
    """The lists of some replicates in the order of a confidence, and in the best order that there is."""

    block: Block
    own: Lists
    rising: Lists

    def values(self, measure: Measure, common: Ints | None = None) -> Floats:
        """A measure in every replicate; NaN where it is no measurement."""
        predicted, total = self.own.length, self.own.total
        with np.errstate(divide="ignore", invalid="ignore"):
            if measure.base == "Cmax":
                return predicted / total
            if measure.kind == "coverage":
                count = self.block.steps(str(measure.cut))[2]
                there = count <= predicted
                return np.where(there, self.own.point(measure.base == JOINT, np.where(there, count, 0)), np.nan)
            found = self.own.point(False, predicted) if measure.base == "MAE" else self._areas(measure, common)
        return np.where(predicted > 0, found, np.nan)

    def _areas(self, measure: Measure, common: Ints | None) -> Floats:
        joint, ties = "AUGRC" in measure.base, measure.ties
        if measure.order == "oracle":
            return self.rising.best(joint, ties)
        own = self.own.area(joint, ties, *self._end(measure, common))
        if measure.base.startswith("e"):
            return np.maximum(own - self.rising.best(joint, ties), 0.0)
        return own * self.own.total / self.own.length if measure.base.startswith("n") else own

    def _end(self, measure: Measure, common: Ints | None) -> tuple[Ints, Floats]:
        """Where the area ends: whole items, and a part of the next one."""
        if measure.cut is not None and measure.cut != "common":
            return self.block.steps(measure.cut)[:2]
        end = self.own.length if measure.cut is None else common
        assert end is not None
        return end, np.zeros(len(end))

    def enough(self, measure: Measure, common: Ints) -> Bools:
        """Where a replicate predicts as many items as the cut asks for."""
        if measure.cut is None:
            return np.ones(len(common), np.bool_)
        return common > 0 if measure.cut == "common" else self.block.steps(measure.cut)[2] <= self.own.length


def replicate_values(items: Sequence[Item], plan: Plan, progress: Progress | None = None) -> dict[Want, Floats]:
    """The value of every want in every replicate; NaN where it is no measurement."""
    run = Prepared(items, plan)
    return _each(plan, (run,), draws_of(len(run.sizes), plan.seed, plan.resamples), progress)


def leave_one_out_values(items: Sequence[Item], plan: Plan) -> dict[Want, Floats]:
    """The value of every want without each participant in turn."""
    run = Prepared(items, plan)
    return _each(plan, (run,), LeftOut(len(run.sizes)), None)


def paired_differences(
    runs: tuple[Sequence[Item], Sequence[Item]], plan: Plan, progress: Progress | None = None
) -> dict[Want, Floats]:
    """Second minus first in every replicate; NaN where either is no measurement or does not reach the coverage."""
    sides = [Prepared(items, plan) for items in runs]
    return _each(plan, sides, draws_of(len(sides[0].sizes), plan.seed, plan.resamples), progress)


def _each(
    plan: Plan, runs: Sequence[Prepared], drawn: Draws | LeftOut, progress: Progress | None
) -> dict[Want, Floats]:
    """The values of one run, or the differences of two, over all draws."""
    found = {want: np.empty(drawn.resamples) for want in plan.wants}
    rows_at_once = max(1, CELLS // max(*(len(run.owner) for run in runs), 1))
    finished = 0

    def work(rows: slice, weights: Floats) -> None:
        times = weights.T.astype(np.int64)
        for start in range(0, len(times), rows_at_once):
            part = times[start : start + rows_at_once]
            place = slice(rows.start + start, rows.start + start + len(part))
            for want, values in _block_values(plan, [run.under(part) for run in runs]):
                found[want][place] = values

    def report(done: int) -> None:
        nonlocal finished
        finished += done
        if progress is not None:
            progress(finished, drawn.resamples)

    over_blocks(drawn, work, report)
    return found


def _block_values(plan: Plan, blocks: Sequence[Block]) -> Iterator[tuple[Want, Floats]]:
    common = np.minimum.reduce([block.predicted for block in blocks])
    for (signal, loss), wants in plan.by_list().items():
        pairs = [block.lists(signal, loss) for block in blocks]
        for want in wants:
            measure = plan.wants[want]
            values = [pair.values(measure, common) for pair in pairs]
            if len(pairs) == 1:
                yield want, values[0]
                continue
            reached = np.logical_and(*(pair.enough(measure, common) for pair in pairs))
            yield want, np.where(reached, values[1] - values[0], np.nan)
