"""The fits behind calibrators in plain Python: Newton's method for the smooth ones, pooled neighbours for steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

STEPS = 100
ARRIVED = 1e-7  # relative: Newton's method doubles the right digits, and one more step is made
CLOSE = 1e-15  # scores closer than this are one step
Vector = list[float]
SMALLEST = 2.0**-52


def log_loss(prob: float, label: bool) -> float:
    """The surprise at what was true, with probabilities kept off 0 and 1."""
    kept = min(max(prob, SMALLEST), 1 - SMALLEST)
    return -math.log(kept if label else 1 - kept)


def log_odds(prob: float) -> float:
    """The logarithm of the odds, with probabilities kept off 0 and 1."""
    kept = min(max(prob, SMALLEST), 1 - SMALLEST)
    return math.log(kept) - math.log1p(-kept)


def sigmoid(x: float) -> float:
    """The inverse of the log-odds, without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def separated(scores: Sequence[float], labels: Sequence[bool], turns: int) -> bool:
    """Whether a curve with at most ``turns`` zeros along the scores has the sign of every label, and a zero at every tie.

    Then no finite coefficients are the most likely, or many are. Every choice of signs is tried: before each score the
    curve may cross once, and at a tie of both labels it must be 0, crossing or touching, which costs two.

    >>> separated([0.1, 0.2, 0.3], [False, True, False], 2), separated([0.1, 0.2, 0.3], [False, True, False], 1)
    (True, False)
    """
    both: dict[float, set[bool]] = {}
    for score, label in zip(scores, labels, strict=True):
        both.setdefault(score, set()).add(label)
    fewest = {True: 0, False: 0}  # zeros so far, by the sign of the curve behind them
    for score in sorted(both):
        if len(both[score]) == 2:
            fewest = {sign: min(fewest[not sign] + 1, fewest[sign] + 2) for sign in fewest}
        else:
            (label,) = both[score]
            there = min(fewest[label], fewest[not label] + 1)
            fewest = {label: there, not label: there + 1}
    return min(fewest.values()) <= turns


def logistic(columns: Sequence[tuple[float, ...]], labels: Sequence[bool]) -> Vector | None:
    """Slopes and intercept of most likelihood, for labels that are not separated; None where digits do not suffice."""
    middle = [math.fsum(column) / len(columns) for column in zip(*columns, strict=True)]
    spread = [
        math.sqrt(math.fsum((x - m) ** 2 for x in column) / len(columns))
        for column, m in zip(zip(*columns, strict=True), middle, strict=True)
    ]
    points = [(*((x - m) / s for x, m, s in zip(row, middle, spread, strict=True)), 1.0) for row in columns]
    found = _climbed(points, labels)
    if found is None:
        return None
    slopes = [b / s for b, s in zip(found, spread, strict=False)]
    return [*slopes, found[-1] - math.fsum(b * m for b, m in zip(slopes, middle, strict=True))]


def _climbed(points: Sequence[tuple[float, ...]], labels: Sequence[bool]) -> Vector | None:
    """Newton steps, halved where they overshoot, until they hardly move; None where they never do."""
    at = [0.0] * len(points[0])
    for _ in range(STEPS):
        step = _newton_step(points, labels, at)
        if step is None:
            return None
        if max(map(abs, step)) <= ARRIVED * max(1.0, *map(abs, at)):
            at = _moved(at, step, 1.0)
            last = _newton_step(points, labels, at)
            return at if last is None else _moved(at, last, 1.0)
        size, before = 1.0, _loss(points, labels, at)
        while size > 1e-9 and _loss(points, labels, _moved(at, step, size)) > before:
            size /= 2
        at = _moved(at, step, size)
    return None


def _moved(at: Vector, step: Vector, size: float) -> Vector:
    return [x + size * d for x, d in zip(at, step, strict=True)]


def _odds(point: tuple[float, ...], at: Vector) -> float:
    return sum(b * x for b, x in zip(at, point, strict=True))


def _loss(points: Sequence[tuple[float, ...]], labels: Sequence[bool], at: Vector) -> float:
    signed = (-_odds(point, at) if label else _odds(point, at) for point, label in zip(points, labels, strict=True))
    return math.fsum(max(z, 0.0) + math.log1p(math.exp(-abs(z))) for z in signed)


def _newton_step(points: Sequence[tuple[float, ...]], labels: Sequence[bool], at: Vector) -> Vector | None:
    size = len(at)
    slopes: list[Vector] = [[] for _ in at]
    curves: list[list[Vector]] = [[[] for _ in at] for _ in at]
    for point, label in zip(points, labels, strict=True):
        odds = _odds(point, at)
        gap = sigmoid(-odds) if label else -sigmoid(odds)
        small = math.exp(-min(abs(odds), 700.0))
        weight = small / (1 + small) ** 2
        for i in range(size):
            slopes[i].append(gap * point[i])
            for j in range(i + 1):
                curves[i][j].append(weight * point[i] * point[j])
    matrix = [[math.fsum(curves[max(i, j)][min(i, j)]) for j in range(size)] for i in range(size)]
    return _solved(matrix, [math.fsum(slope) for slope in slopes])


def _solved(matrix: list[Vector], right: Vector) -> Vector | None:
    """Gauss's elimination with the largest pivot; None where there is none."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at in range(len(rows)):
        pivot = max(range(at, len(rows)), key=lambda i: abs(rows[i][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        if rows[at][at] == 0:
            return None
        for i in range(at + 1, len(rows)):
            factor = rows[i][at] / rows[at][at]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[at], strict=True)]
    found: Vector = [0.0] * len(rows)
    for at in reversed(range(len(rows))):
        rest = sum(rows[at][j] * found[j] for j in range(at + 1, len(rows)))
        found[at] = (rows[at][-1] - rest) / rows[at][at]
    return found if all(map(math.isfinite, found)) else None


def temperature(odds: Sequence[float], labels: Sequence[bool]) -> float:
    """The T between e^-5 and e^5 of least log-loss of sigmoid(odds / T), which is convex in 1 / T."""
    low, high, at = math.exp(-5), math.exp(5), 1.0
    if _slope(odds, labels, low)[0] >= 0:
        return 1 / low
    if _slope(odds, labels, high)[0] <= 0:
        return 1 / high
    for _ in range(200):
        slope, curve = _slope(odds, labels, at)
        low, high = (low, at) if slope > 0 else (at, high)
        moved = at - slope / curve if curve > 0 else low
        moved = moved if low < moved < high else (low + high) / 2
        if abs(moved - at) <= 1e-15 * at:
            break
        at = moved
    return 1 / at


def _slope(odds: Sequence[float], labels: Sequence[bool], inverse: float) -> tuple[float, float]:
    slopes, curves = [], []
    for odd, label in zip(odds, labels, strict=True):
        z = odd * inverse
        slopes.append((-sigmoid(-z) if label else sigmoid(z)) * odd)
        curves.append(sigmoid(z) * sigmoid(-z) * odd * odd)
    return math.fsum(slopes), math.fsum(curves)


def isotonic(scores: Sequence[float], labels: Sequence[bool]) -> tuple[Vector, Vector]:
    """The rising steps nearest to the labels, as the different scores and their values: neighbours out of order are pooled.

    >>> isotonic([0.1, 0.2, 0.3], [True, False, True])
    ([0.1, 0.2, 0.3], [0.5, 0.5, 1.0])
    """
    xs: Vector = []
    blocks: list[list[int]] = []  # positives, rows, different scores; whole numbers, so that ties are ties
    counts: list[list[int]] = []
    for score, label in sorted(zip(scores, labels, strict=True)):
        if not xs or score - xs[-1] >= CLOSE:
            xs.append(score)
            counts.append([0, 0, 1])
        counts[-1][0] += label
        counts[-1][1] += 1
    for block in counts:
        blocks.append(block)
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [mine + other for mine, other in zip(blocks[-1], last, strict=True)]
    return xs, [positives / rows for positives, rows, size in blocks for _ in range(size)]
