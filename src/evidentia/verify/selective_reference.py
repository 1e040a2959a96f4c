"""Selective prediction from its definitions: one repeated list of losses in the order of confidence, read in plain steps."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

from evidentia.verify.folder import ResultFolder, unquoted

_NAME = re.compile(r"(?P<base>\w+)(?:\((?P<params>[^)]*)\))?(?:@(?P<kind>coverage|C)=(?P<cut>[^\[]+))?")


@dataclass(frozen=True)
class Item:
    """One item of one participant; a prediction of None is an abstention."""

    cluster: str
    name: str
    pred: float | None
    gt: float
    signals: Mapping[str, float | None]


@dataclass(frozen=True)
class Measure:
    """An expanded definition, taken apart."""

    base: str
    ties: str
    order: str
    loss: str
    kind: str | None
    cut: str | None

    @property
    def is_area(self) -> bool:
        """Whether it is an area, for which ties matter."""
        return self.base not in {"Cmax", "MAE"}

    @property
    def expanded(self) -> str:
        """The definition with every choice written out."""
        full = self.base in {"AURC", "AUGRC"} and self.cut is None
        params = [
            *([f"order={self.order}"] if full else []),
            *([f"ties={self.ties}"] if self.is_area else []),
            *([f"loss={self.loss}"] if self.base != "Cmax" else []),
        ]
        cut = "" if self.cut is None else f"@{self.kind}={self.cut}"
        return self.base + (f"({','.join(params)})" if params else "") + cut


def read_items(folder: ResultFolder, name: str) -> list[Item]:
    """The items of a run in the order of the file, which is participant, then item."""
    fixed = {"cluster_id", "item", "pred", "gt"}
    return [
        Item(
            row["cluster_id"],
            row["item"],
            _number(row["pred"]),
            float(row["gt"]),
            {unquoted(key): _number(cell) for key, cell in row.items() if key not in fixed},
        )
        for row in folder.rows(name)
    ]


def _number(cell: str) -> float | None:
    return None if cell == "" else float(cell)


def parse_definition(text: str) -> Measure:
    """Take a definition apart; what it leaves out is as usual.

    >>> parse_definition("AURC(ties=plateau,loss=abs)@C=0.6").cut
    '0.6'
    """
    found = _NAME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    params = dict(part.split("=", 1) for part in (found["params"] or "").split(",") if part)
    return Measure(
        found["base"],
        params.get("ties", "step"),
        params.get("order", "confidence"),
        params.get("loss", "abs_norm" if "AUGRC" in found["base"] else "abs"),
        found["kind"],
        found["cut"],
    )


def name_of(measure: Measure, signal: str | None) -> str:
    """The name that a number must have: choices that are usual are left out, the confidence stands in brackets."""
    usual = "abs_norm" if "AUGRC" in measure.base else "abs"
    params = [
        *(["order=oracle"] if measure.order == "oracle" else []),
        *(["ties=plateau"] if measure.ties == "plateau" else []),
        *([f"loss={measure.loss}"] if measure.base != "Cmax" and measure.loss != usual else []),
    ]
    cut = f"@{measure.kind}={measure.cut}" if measure.cut is not None else ""
    plain = signal is None or re.fullmatch(r'[^",\[\]\s](?:[^",\[\]]*[^",\[\]\s])?', signal) is not None
    group = "" if signal is None else f"[confidence={signal if plain else json.dumps(signal, ensure_ascii=False)}]"
    return measure.base + (f"({','.join(params)})" if params else "") + cut + group


def needs_order(measure: Measure) -> bool:
    """Whether the confidence matters to a measure."""
    plain = measure.base == "Cmax" or (measure.base == "MAE" and measure.cut is None)
    return not plain and measure.order != "oracle"


def loss_of(item: Item, loss: str, item_max: float | None) -> float:
    """How wrong a prediction is."""
    assert item.pred is not None
    error = item.pred - item.gt
    if loss == "squared":
        return error * error
    if loss == "zero_one":
        return 0.0 if error == 0 else 1.0
    return abs(error) / item_max if loss == "abs_norm" and item_max is not None else abs(error)


@dataclass(frozen=True)
class Ordered:
    """Losses in the order of coverage with the confidence of each, and how many items there are in all."""

    losses: Sequence[float]
    confidences: Sequence[float]
    total: int
    common: int | None = None


def ordered(items: Sequence[Item], measure: Measure, signal: str | None, item_max: float | None) -> Ordered:
    """Predicted items, most confident first; Python's sort keeps the order of equals."""
    predicted = [item for item in items if item.pred is not None]
    if signal is not None:
        predicted = sorted(predicted, key=lambda item: -_sure(item, signal))
    confidences = [0.0 if signal is None else _sure(item, signal) for item in predicted]
    return Ordered([loss_of(item, measure.loss, item_max) for item in predicted], confidences, len(items))


def _sure(item: Item, signal: str) -> float:
    value = item.signals[signal]
    assert value is not None
    return value


def value_of(measure: Measure, data: Ordered) -> tuple[float | None, bool]:
    """The value (None where there is none by convention either), and whether it is a measurement."""
    predicted = len(data.losses)
    if measure.base == "Cmax":
        return predicted / data.total, True
    if measure.kind == "coverage":
        count = -(-items_within(str(measure.cut), data.total) // 1)
        return (None, False) if count > predicted else (sum(data.losses[:count]) / count, True)
    if predicted == 0:
        return (None if measure.base in {"MAE", "nAURC", "nAUGRC"} else 0.0), False
    if measure.base == "MAE":
        return sum(data.losses) / predicted, True
    return _area_measure(measure, data), True


def _area_measure(measure: Measure, data: Ordered) -> float:
    joint = "AUGRC" in measure.base
    own = best_area(data, measure.ties, joint) if measure.order == "oracle" else area(data, measure, joint)
    if measure.base.startswith("n"):
        return own / (len(data.losses) / data.total)
    if measure.base.startswith("e"):
        return max(own - best_area(data, measure.ties, joint), 0.0)
    return own


def area(data: Ordered, measure: Measure, joint: bool) -> float:
    """The area up to the cut, or all of it."""
    end = Fraction(len(data.losses))
    if measure.cut is not None:
        asked = Fraction(data.common or 0) if measure.cut == "common" else items_within(measure.cut, data.total)
        end = min(end, asked)
    return plateau_area(data, joint, end) if measure.ties == "plateau" else step_area(data, joint, end)


def step_area(data: Ordered, joint: bool, end: Fraction) -> float:
    """A step for every item, the last one in part."""
    whole, lost, height = int(end), 0.0, 0.0
    for k, loss in enumerate(data.losses, 1):
        lost += loss
        point = lost / data.total if joint else lost / k
        if k > whole:
            return (height + float(end - whole) * point) / data.total
        height += point
    return height / data.total


def plateau_area(data: Ordered, joint: bool, end: Fraction) -> float:
    """Straight lines between one point for every distinct confidence."""
    points = _plateau_points(data, joint)
    covered, stop = 0.0, float(end)
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if stop <= x0:
            break
        right = min(stop, x1)
        y = y0 + (y1 - y0) * (right - x0) / (x1 - x0)
        covered += (right - x0) * (y0 + y) / 2
    return covered / data.total


def _plateau_points(data: Ordered, joint: bool) -> list[tuple[int, float]]:
    points: list[tuple[int, float]] = []
    lost = 0.0
    for k, loss in enumerate(data.losses, 1):
        lost += loss
        if k == len(data.losses) or data.confidences[k] != data.confidences[k - 1]:
            points.append((k, lost / data.total if joint else lost / k))
    start = 0.0 if joint else points[0][1]
    return [(0, start), *points]


def best_area(data: Ordered, ties: str, joint: bool) -> float:
    """The smallest area with the same losses: ascending; with lines for the risk, under their lower hull."""
    rising = sorted(data.losses)
    apart = Ordered(rising, [-float(k) for k in range(len(rising))], data.total)
    end = Fraction(len(rising))
    if ties == "step":
        return step_area(apart, joint, end)
    if joint:
        return plateau_area(apart, joint, end)
    hull: list[tuple[float, float]] = []
    lost = 0.0
    for k, loss in enumerate(rising, 1):
        lost += loss
        push(hull, (float(k), lost / k))
    under = sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in itertools.pairwise(hull))
    return (rising[0] + under) / data.total


def push(hull: list[tuple[float, float]], point: tuple[float, float]) -> None:
    """Add the next point of a lower convex hull, dropping those that come to lie above it."""
    while len(hull) > 1:
        (x0, y0), (x1, y1) = hull[-2:]
        if (y1 - y0) * (point[0] - x1) < (point[1] - y1) * (x1 - x0):
            break
        hull.pop()
    hull.append(point)


@cache
def items_within(cut: str, total: int) -> Fraction:
    """Coverage times N; a number that is the float of some k / N means k."""
    share = Fraction(Decimal(cut))
    nearest = round(share * total)
    return Fraction(nearest) if float(Fraction(nearest, total)) == float(share) else share * total


@cache
def steps_within(cut: str, total: int) -> tuple[int, float, int]:
    """Whole items within a coverage, the part of the next one, and how many it takes to reach it."""
    items = items_within(cut, total)
    return int(items), float(items - int(items)), int(-(-items // 1))


def reaches(measure: Measure, data: Ordered) -> bool:
    """Whether as many items are predicted as the cut asks for."""
    if measure.cut is None:
        return True
    if measure.cut == "common":
        return bool(data.common)
    return -(-items_within(measure.cut, data.total) // 1) <= len(data.losses)


def tie_range(data: Ordered, measure: Measure) -> tuple[float, float, float, int]:
    """The area with tied items in the best order, at their mean loss, in the worst order; and how many are tied."""
    runs: list[list[float]] = []
    for k, loss in enumerate(data.losses):
        if k == 0 or data.confidences[k] != data.confidences[k - 1]:
            runs.append([])
        runs[-1].append(loss)
    orders = (
        [loss for run in runs for loss in sorted(run)],
        [sum(run) / len(run) for run in runs for _ in run],
        [loss for run in runs for loss in sorted(run, reverse=True)],
    )
    joint, end = "AUGRC" in measure.base, Fraction(len(data.losses))
    best, expected, worst = (step_area(Ordered(o, data.confidences, data.total), joint, end) for o in orders)
    return best, expected, worst, sum(len(run) for run in runs if len(run) > 1)
