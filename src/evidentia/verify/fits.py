"""The fits behind calibrators: Newton's method for the smooth ones, pooled neighbours for steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evidentia.verify.draws import Bools, Floats

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
    x, label = np.array(columns, np.float64), np.array(labels, bool)
    middle, spread = x.mean(axis=0), x.std(axis=0)
    best = _climbed(np.column_stack([(x - middle) / spread, np.ones(len(x))]), label)
    if best is None:
        return None
    slopes = best[:-1] / spread
    return [*slopes.tolist(), float(best[-1] - slopes @ middle)]


def _climbed(points: Floats, label: Bools) -> Floats | None:
    """Newton steps, halved where they overshoot, until they hardly move; None where they never do."""
    at = np.zeros(points.shape[1])
    for _ in range(STEPS):
        step = _newton_step(points, label, at)
        if step is None:
            return None
        if np.abs(step).max() <= ARRIVED * max(1.0, np.abs(at).max()):
            last = _newton_step(points, label, at + step)
            return at + step if last is None else at + step + last
        size, before = 1.0, _loss(points, label, at)
        while size > 1e-9 and _loss(points, label, at + size * step) > before:
            size /= 2
        at = at + size * step
    return None


def _loss(points: Floats, label: Bools, at: Floats) -> float:
    odds = points @ at
    return float(np.logaddexp(0.0, np.where(label, -odds, odds)).sum())


def _newton_step(points: Floats, label: Bools, at: Floats) -> Floats | None:
    odds = points @ at
    small = np.exp(-np.minimum(np.abs(odds), 700.0))
    curvature = points.T @ ((small / (1 + small) ** 2)[:, None] * points)
    try:
        step: Floats = np.linalg.solve(curvature, points.T @ _residual(odds, label))
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None


def _residual(odds: Floats, label: Bools) -> Floats:
    """Label less probability, with its digits where they nearly agree."""
    small = np.exp(-np.minimum(np.abs(odds), 700.0))
    near, far = small / (1 + small), 1 / (1 + small)
    rest = np.where(label == (odds > 0), near, far)
    return np.where(label, rest, -rest)


def temperature(odds: Sequence[float], labels: Sequence[bool]) -> float:
    """The T between e^-5 and e^5 of least log-loss of sigmoid(odds / T), which is convex in 1 / T."""
    scores, label = np.array(odds, np.float64), np.array(labels, bool)
    low, high, at = math.exp(-5), math.exp(5), 1.0
    if _slope(scores, label, low)[0] >= 0:
        return 1 / low
    if _slope(scores, label, high)[0] <= 0:
        return 1 / high
    for _ in range(200):
        slope, curve = _slope(scores, label, at)
        low, high = (low, at) if slope > 0 else (at, high)
        moved = at - slope / curve if curve > 0 else low
        moved = moved if low < moved < high else (low + high) / 2
        if abs(moved - at) <= 1e-15 * at:
            break
        at = moved
    return 1 / at


def _slope(odds: Floats, label: Bools, inverse: float) -> tuple[float, float]:
    z = odds * inverse
    small = np.exp(-np.minimum(np.abs(z), 700.0))
    return -math.fsum(_residual(z, label) * odds), math.fsum(small / (1 + small) ** 2 * odds * odds)


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
