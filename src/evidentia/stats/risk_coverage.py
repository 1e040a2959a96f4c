"""Risk against coverage for predictors that may abstain, under many weightings of the clusters at once.

Predicted items stand in an order, most confident first. Under a weighting every item counts as often as its cluster was
drawn, its copies side by side. Inside a block of m copies of an item with loss l, after c items with summed loss s, the risks
add up to ``m l + (s - l c) (H(c + m) - H(c))`` with harmonic numbers H, so no copy needs to be written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.stats.segments import cumulated

Total = Literal["risks", "joint", "lost"]
CACHED_CELLS = 1 << 16  # items times replicates that whole areas are added up over at once: they stay in the processor


@dataclass(frozen=True, eq=False)
class Ranking:
    """Predicted items in the order in which coverage takes them, and where each run of equal confidence ends."""

    cluster: Ints
    loss: Floats
    ends: Ints

    def under(self, weights: Floats) -> Steps:
        """The curve under many weightings (weights is clusters x replicates)."""
        return Steps(self, weights)

    @cached_property
    def runs(self) -> tuple[Ints, Floats]:
        """The last item of every run of equal losses, and its loss: to a whole area such a run is one item."""
        last = np.flatnonzero(np.append(self.loss[1:] != self.loss[:-1], True))[: len(self.loss)]
        return last, self.loss[last]

    def sizes(self, clusters: int) -> Floats:
        """How many items each cluster has in the order."""
        return np.bincount(self.cluster, minlength=clusters).astype(float)


def ranking(confidence: Floats, cluster: Ints, loss: Floats) -> Ranking:
    """Order items by confidence, highest first; equal ones stay in the given order.

    >>> ranking(np.array([1.0, 2.0, 1.0]), np.array([0, 1, 2]), np.array([0.0, 1.0, 2.0])).loss
    array([1., 0., 2.])
    """
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    return Ranking(
        cluster[order], loss[order], np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))[: len(ranked)]
    )


def oracle(cluster: Ints, loss: Floats) -> Ranking:
    """The best order there is: smallest loss first. Runs of equal loss take the place of runs of equal confidence."""
    return ranking(-loss, cluster, loss)


@dataclass(frozen=True, eq=False)
class Steps:
    """The step curve: after each item in the order, how many items were taken and how much loss they had.

    Arrays have the items on axis 0 and the weightings on axis 1; those over points start with a zero.
    """

    ranked: Ranking
    weights: Floats

    @property
    def loss(self) -> Floats:
        """The loss of every item, as a column."""
        return self.ranked.loss[:, None]

    @cached_property
    def copies(self) -> Floats:
        """How often every item counts."""
        return self.weights[self.ranked.cluster]

    @cached_property
    def taken(self) -> Floats:
        """Items taken so far."""
        return cumulated(self.copies)

    @cached_property
    def lost(self) -> Floats:
        """Loss so far."""
        return cumulated(self.copies * self.loss)

    @cached_property
    def predicted(self) -> Floats:
        """How many items were predicted."""
        counts: Floats = self.ranked.sizes(len(self.weights)) @ self.weights
        return counts

    @cached_property
    def wholes(self) -> dict[Total, Floats]:
        """The last of the risks, of the joint losses and of the losses, without the way there, in small blocks."""
        many = self.weights.shape[1]
        totals = np.zeros((3, many))
        size = min(many, max(1, CACHED_CELLS // max(len(self.ranked.loss), 1)))
        sums = _WholeSums(self.ranked, size)
        for start in range(0, many if len(self.ranked.loss) else 0, size):
            rows = slice(start, min(start + size, many))
            totals[:, rows] = sums.of(np.ascontiguousarray(self.weights[:, rows].T, np.int64))
        return {"risks": totals[0], "joint": totals[1], "lost": totals[2]}

    def whole(self, total: Total) -> Floats:
        """The sum over all items of the risks so far, of the losses so far, or of the losses."""
        return self.wholes[total]

    @cached_property
    def risks(self) -> Floats:
        """The sum of the risks of all prefixes so far: N times the area under the risk."""
        before, lost = self.taken[:-1], self.lost[:-1]
        steps = np.diff(_harmonic(self.taken), axis=0)
        steps *= lost - self.loss * before
        steps += self.copies * self.loss
        return cumulated(steps)

    @cached_property
    def joint(self) -> Floats:
        """The sum of the losses of all prefixes so far: N squared times the area under the joint risk."""
        steps = self.copies + 1
        steps *= self.loss / 2
        steps += self.lost[:-1]
        steps *= self.copies
        return cumulated(steps)

    def mean_loss(self, count: Ints) -> Floats:
        """The risk of the first ``count`` items, one count (at least 1, at most those predicted) per weighting."""
        at, inside, _ = self._locate(count - 1)
        total: Floats = _pick(self.lost, at) + self._loss_of(at) * (inside + 1)
        return total / count

    def risks_to(self, count: Ints, rest: Floats) -> Floats:
        """The sum of the risks of the first ``count`` prefixes, and ``rest`` of the next one."""
        at, inside, full = self._locate(count)
        before, lost, loss = _pick(self.taken, at), _pick(self.lost, at), self._loss_of(at)
        part = inside * loss + (lost - loss * before) * (_harmonic(before + inside) - _harmonic(before))
        part += rest * (lost + loss * (inside + 1)) / (before + inside + 1)
        return np.where(full, self.whole("risks"), _pick(self.risks, at) + part)

    def joint_to(self, count: Ints, rest: Floats) -> Floats:
        """The sum of the losses of the first ``count`` prefixes, and ``rest`` of the next one."""
        at, inside, full = self._locate(count)
        lost, loss = _pick(self.lost, at), self._loss_of(at)
        part = inside * lost + loss * inside * (inside + 1) / 2 + rest * (lost + loss * (inside + 1))
        return np.where(full, self.whole("joint"), _pick(self.joint, at) + part)

    def _locate(self, count: Ints) -> tuple[Ints, Floats, Bools]:
        """The item that holds the copy after the first ``count``, how many of its copies come before, and where none is left."""
        full = count >= self.predicted
        at = np.minimum(last_at_most(self.taken, count), max(len(self.ranked.loss) - 1, 0))
        return at, count - _pick(self.taken, at), full

    def _loss_of(self, at: Ints) -> Floats:
        losses: Floats = self.loss[at, 0] if len(self.loss) else np.zeros(len(at))
        return losses

    @cached_property
    def plateaus(self) -> Plateaus:
        """The same curve with one point for every distinct confidence."""
        points = np.concatenate([[0], self.ranked.ends + 1])
        return Plateaus(self.taken[points], self.lost[points])


class _WholeSums:
    """Sums over all items for a few replicates at once, in arrays that are made once: new ones cost more than the sums.

    An item at place p with loss l adds l (H(K) - H(p - 1)) to the risks, l (K - p + 1) to the losses so far, and l to the losses.
    All three are sums of l (f(c) - f(c before)) over runs of equal loss that end after c items, with f(c) = c, c (c + 1) / 2 and
    c H(c) - c; summed by parts, of (l - l of the next run) f(c).
    """

    def __init__(self, ranked: Ranking, size: int) -> None:
        self.cluster = ranked.cluster
        self.last, loss = ranked.runs
        self.drops = loss - np.append(loss[1:], 0.0)
        self.items = np.empty((size, len(ranked.loss)), np.int64)
        self.taken = np.empty((size, len(loss)), np.int64)
        self.counts, self.work = np.empty(self.taken.shape), np.empty(self.taken.shape)

    def of(self, weights: Ints) -> tuple[Floats, Floats, Floats]:
        """All risks, all losses so far and all losses, for weights that are replicates x clusters."""
        n = len(weights)
        items, taken, counts, work = self.items[:n], self.taken[:n], self.counts[:n], self.work[:n]
        weights.take(self.cluster, axis=1, out=items, mode="clip")
        np.cumsum(items, axis=1, out=items)
        items.take(self.last, axis=1, out=taken, mode="clip")
        np.copyto(counts, taken)
        np.multiply(counts, self.drops, out=work)
        lost = work.sum(axis=1)
        work *= counts
        squares = work.sum(axis=1)
        predicted = items[:, -1]
        bits = int(predicted.max()).bit_length()
        _counts_times_harmonic(bits).take(taken, out=work, mode="clip")
        work *= self.drops
        risks = (_harmonic_numbers(bits)[predicted] + 1) * lost - work.sum(axis=1)
        return risks, (predicted + 1) * lost - (squares + lost) / 2, lost


@dataclass(frozen=True, eq=False)
class Plateaus:
    """One point for every distinct confidence, and straight lines between them."""

    taken: Floats
    lost: Floats

    @cached_property
    def risk(self) -> tuple[Floats, Floats]:
        """The risk at the start and at the end of each line; the first line is level."""
        risk = np.divide(self.lost, self.taken, out=np.zeros(self.lost.shape), where=self.taken > 0)
        return np.where(self.taken[:-1] > 0, risk[:-1], risk[1:]), risk[1:]

    @cached_property
    def risks(self) -> Floats:
        """N times the area under the risk so far."""
        start, stop = self.risk
        return cumulated((start + stop) / 2 * np.diff(self.taken, axis=0))

    @cached_property
    def joint(self) -> Floats:
        """N squared times the area under the joint risk so far."""
        return cumulated((self.lost[:-1] + self.lost[1:]) / 2 * np.diff(self.taken, axis=0))

    def whole(self, total: Total) -> Floats:
        """The whole area, times N (or N squared where it is the joint one), or all losses."""
        last: Floats = getattr(self, total)[-1]
        return last

    def risks_to(self, count: Ints, rest: Floats) -> Floats:
        """N times the area up to ``count + rest`` items, on the straight line between points."""
        return self._to(self.risks, *self.risk, count, rest)

    def joint_to(self, count: Ints, rest: Floats) -> Floats:
        """N squared times the joint area up to ``count + rest`` items."""
        return self._to(self.joint, self.lost[:-1], self.lost[1:], count, rest)

    def _to(self, area: Floats, start: Floats, stop: Floats, count: Ints, rest: Floats) -> Floats:
        if len(start) == 0:
            return np.zeros(len(count))
        at = np.minimum(last_at_most(self.taken, count), len(start) - 1)
        width = _pick(self.taken[1:], at) - _pick(self.taken, at)
        into = np.clip(count + rest - _pick(self.taken, at), 0, width)
        share = np.divide(into, width, out=np.zeros(len(into)), where=width > 0)
        low, high = _pick(start, at), _pick(stop, at)
        whole: Floats = _pick(area, at) + into * (low + (high - low) * share / 2)
        return whole


def best_plateaus(steps: Steps) -> Floats:
    """N times the smallest area that straight lines can have: the first risk, then the lower hull of the ascending order.

    ``steps`` must be in the oracle's order. Within a run of equal losses the risk bends downwards, so that only its ends can lie
    on the hull.
    """
    curve = steps.plateaus
    there = np.diff(curve.taken, axis=0) > 0
    risk = curve.risk[1]
    first = np.zeros(risk.shape[1]) if len(risk) == 0 else _pick(risk, np.argmax(there, axis=0))
    x = np.concatenate([np.ones((1, risk.shape[1])), curve.taken[1:]])
    y = np.concatenate([first[None], risk])
    held = np.concatenate([np.any(there, axis=0, keepdims=True), there & (curve.taken[1:] > 1)])
    area: Floats = first * held[0] + _hull_area(x, y, held)
    return area


def _hull_area(x: Floats, y: Floats, held: Bools) -> Floats:
    """The area under the lower convex hull of the held points of every column; x rises down the rows."""
    stack_x, stack_y = np.zeros(x.shape), np.zeros(x.shape)
    top = np.full(x.shape[1], -1)
    for row in range(len(x)):
        live = held[row]
        while True:
            rows = np.flatnonzero(live & (top >= 1))
            a, b = top[rows] - 1, top[rows]
            rise = (stack_y[b, rows] - stack_y[a, rows]) * (x[row, rows] - stack_x[b, rows])
            over = rise >= (y[row, rows] - stack_y[b, rows]) * (stack_x[b, rows] - stack_x[a, rows])
            if not over.any():
                break
            top[rows[over]] -= 1
        rows = np.flatnonzero(live)
        top[rows] += 1
        stack_x[top[rows], rows], stack_y[top[rows], rows] = x[row, rows], y[row, rows]
    area = np.zeros(x.shape[1])
    for depth in range(1, int(top.max(initial=-1)) + 1):
        width = stack_x[depth] - stack_x[depth - 1]
        area += np.where(top >= depth, width * (stack_y[depth] + stack_y[depth - 1]) / 2, 0.0)
    return area


def within_ties(ranked: Ranking) -> tuple[Ranking, Ranking, Ranking]:
    """The order with ties broken as well as they can be, with every tied item at its expected loss, and as badly."""
    run = np.searchsorted(ranked.ends, np.arange(len(ranked.loss)))
    best = np.lexsort((ranked.loss, run))
    worst = np.lexsort((-ranked.loss, run))
    means = np.bincount(run, ranked.loss) / np.bincount(run) if len(run) else ranked.loss
    return (
        Ranking(ranked.cluster[best], ranked.loss[best], ranked.ends),
        Ranking(ranked.cluster, means[run], ranked.ends),
        Ranking(ranked.cluster[worst], ranked.loss[worst], ranked.ends),
    )


def last_at_most(points: Floats, count: Ints) -> Ints:
    """The last row whose value is at most ``count``, column by column; values never fall down the rows, the first is 0."""
    columns = np.arange(points.shape[1])
    low, high = np.zeros(len(columns), np.int64), np.full(len(columns), len(points))
    while np.any(high - low > 1):
        middle = (low + high) // 2
        inside = points[middle, columns] <= count
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def _pick(points: Floats, at: Ints) -> Floats:
    picked: Floats = points[at, np.arange(points.shape[1])]
    return picked


def _harmonic(counts: Floats) -> Floats:
    """Harmonic numbers of whole numbers."""
    highest = int(counts.max(initial=0.0))
    return _harmonic_numbers(highest.bit_length()).take(counts.astype(np.intp))


@cache
def _harmonic_numbers(bits: int) -> Floats:
    table: Floats = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, 1 << bits))])
    table.setflags(write=False)
    return table


@cache
def _counts_times_harmonic(bits: int) -> Floats:
    table: Floats = np.arange(1 << bits) * _harmonic_numbers(bits)
    table.setflags(write=False)
    return table


@dataclass(frozen=True, eq=False)
class Curves:
    """What a measure of selective prediction reads, for one order and one loss."""

    steps: Steps
    best: Steps  # the same items, smallest loss first
    total: Ints  # items of each weighting, abstentions included
    scale: float = 1.0  # what losses are multiplied with
    common: Ints | None = None  # how many items both systems of a comparison predict, in each weighting
