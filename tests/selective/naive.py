"""Selective prediction over a plain list of items: those of a drawn cluster stand in it as often as it was drawn.

Written from CONTRACT.md with nothing but the standard library (and numpy's generator for the draws); no package code. NaN where
a measure is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby, pairwise

from numpy.random import Generator, Philox

UNDEFINED = math.nan
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Answer:
    """One item of a cluster; a pred of None is an abstention. ``place`` is where ties put the item within its cluster."""

    cluster: str
    place: int
    pred: float | None
    gt: float
    confidence: float = 0.0
    highest: float | None = None  # the largest possible error


def sorted_clusters(answers: Iterable[Answer]) -> list[str]:
    """Numerically where all ids are whole numbers, else as strings."""
    names = {answer.cluster for answer in answers}
    return sorted(names, key=int) if all(name.isdecimal() for name in names) else sorted(names)


def picks(clusters: int, seed: int, replicate: int) -> list[int]:
    """CONTRACT section 4."""
    return [int(i) for i in Generator(Philox(key=[seed, replicate])).integers(clusters, size=clusters)]


def drawn(answers: Sequence[Answer], seed: int, replicate: int) -> Sample:
    """The items of every drawn cluster, once per draw."""
    clusters = sorted_clusters(answers)
    of = {name: [answer for answer in answers if answer.cluster == name] for name in clusters}
    return Sample([answer for pick in picks(len(clusters), seed, replicate) for answer in of[clusters[pick]]])


def without(answers: Sequence[Answer], cluster: str) -> Sample:
    return Sample([answer for answer in answers if answer.cluster != cluster])


def loss_of(answer: Answer, loss: str) -> float:
    assert answer.pred is not None
    error = abs(answer.pred - answer.gt)
    if loss == "abs_norm":
        assert answer.highest is not None
        return error / answer.highest
    return {"abs": error, "zero_one": float(error > 0), "squared": error * error}[loss]


@dataclass(frozen=True)
class Sample:
    """A list of items, some of them several times."""

    answers: Sequence[Answer]

    @property
    def total(self) -> int:
        return len(self.answers)

    @cached_property
    def in_order(self) -> list[Answer]:
        """What is predicted: the surest first, then by cluster and place; copies of an item stay side by side."""
        rank = {name: at for at, name in enumerate(sorted_clusters(self.answers))}
        held = [answer for answer in self.answers if answer.pred is not None]
        return sorted(held, key=lambda a: (-a.confidence, rank[a.cluster], a.place))

    @property
    def predicted(self) -> int:
        return len(self.in_order)

    def losses(self, loss: str) -> list[float]:
        return [loss_of(answer, loss) for answer in self.in_order]

    def reaches(self, cut: str) -> bool:
        return 0 < self.predicted >= Fraction(cut) * self.total


def step_heights(losses: Sequence[float], total: int, joint: bool) -> list[float]:
    """The height of every step: risk or joint risk."""
    return [lost / (total if joint else k) for k, lost in enumerate(accumulate(losses), 1)]


def step_area(heights: Sequence[float], total: int, up_to: Fraction | None = None) -> float:
    """Steps of 1 / total, as far as so many items."""
    reach = Fraction(len(heights)) if up_to is None else min(up_to, Fraction(len(heights)))
    whole = math.floor(reach)
    parts = list(heights[:whole])
    if reach > whole:
        parts.append(float(reach - whole) * heights[whole])
    return math.fsum(parts) / total


def plateau_points(ranked: Sequence[tuple[float, float]], total: int, joint: bool) -> Points:
    """(items, height) after every distinct confidence, from the start on; ``ranked`` holds (confidence, loss)."""
    points: Points = []
    sums = list(accumulate(loss for _, loss in ranked))
    taken = 0
    for _, tied in groupby(ranked, key=lambda pair: pair[0]):
        taken += len(list(tied))
        points.append((taken, sums[taken - 1] / (total if joint else taken)))
    return [(0, 0.0 if joint else points[0][1]), *points] if points else []


def line_area(points: Points, total: int, up_to: Fraction | None = None) -> float:
    """The area under straight lines between points, as far as so many items."""
    parts = []
    for (x, y), (to_x, to_y) in pairwise(points):
        end = to_x if up_to is None else min(float(up_to), to_x)
        if end > x:
            reached = y + (to_y - y) * (end - x) / (to_x - x)
            parts.append((y + reached) / 2 * (end - x))
    return math.fsum(parts) / total


def lower_hull(points: Points) -> Points:
    """Drop every point that does not lie below the line between its neighbours, until none is left."""
    hull: Points = []
    for point in points:
        while len(hull) > 1 and _not_below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _not_below(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> bool:
    line = left[1] + (right[1] - left[1]) * (middle[0] - left[0]) / (right[0] - left[0])
    return middle[1] >= line


def best_area(losses: Sequence[float], total: int, ties: str, joint: bool) -> float:
    """CONTRACT section H: losses ascending; on lines the risk takes the lower hull behind its level start."""
    ascending = sorted(losses)
    heights = step_heights(ascending, total, joint)
    if ties == "step":
        return step_area(heights, total)
    points = [(float(k), height) for k, height in enumerate(heights, 1)]
    if joint:
        return line_area([(0, 0.0), *points], total)
    return heights[0] / total + line_area(lower_hull(points), total)


def area(sample: Sample, params: dict[str, str], joint: bool, up_to: Fraction | None = None) -> float:
    losses, total = sample.losses(params["loss"]), sample.total
    if params.get("order") == "oracle":
        return best_area(losses, total, params["ties"], joint)
    if params["ties"] == "plateau":
        ranked = list(zip((answer.confidence for answer in sample.in_order), losses, strict=True))
        return line_area(plateau_points(ranked, total, joint), total, up_to)
    return step_area(step_heights(losses, total, joint), total, up_to)


def value(
    sample: Sample, base: str, params: dict[str, str], cut: str | None = None, common: int | None = None
) -> float:
    """A measure of these items; the cut is a decimal, or ``common``: then so many items count."""
    if base == "Cmax":
        return sample.predicted / sample.total if sample.total else 0.0
    if sample.predicted == 0:
        return UNDEFINED
    if base == "MAE":
        return mean_loss(sample, params["loss"], cut)
    joint, kind = base.endswith("AUGRC"), base.removesuffix("AUGRC").removesuffix("AURC")
    whole = area(sample, params, joint, items_of(cut, sample.total, common))
    if kind == "n":
        return whole / (sample.predicted / sample.total)
    return whole - area(sample, {**params, "order": "oracle"}, joint) if kind == "e" else whole


def items_of(cut: str | None, total: int, common: int | None) -> Fraction | None:
    if cut == "common":
        assert common is not None
        return Fraction(common)
    return None if cut is None else Fraction(cut) * total


def mean_loss(sample: Sample, loss: str, cut: str | None) -> float:
    losses = sample.losses(loss)
    count = len(losses) if cut is None else math.ceil(Fraction(cut) * sample.total)
    return math.fsum(losses[:count]) / count if count <= len(losses) else UNDEFINED
