"""Calibrators of scores, fitted anew on TUNE rows: what they make of a score, and which one the rows choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.verify.tally import TOLERANCE
from evidentia.verify.tuning import TuneRow, dealt, lacking

TINY = 2.0**-52  # probabilities are kept so far off 0 and 1
STEPS = 100
ARRIVED = 1e-7  # relative: Newton's method doubles the right digits, and one more step is made
CLOSE = 1e-15  # scores closer than this are one step
METHODS = ("none", "temperature", "platt", "beta", "isotonic")
OF_PROBABILITIES = ("none", "beta")
INNER = 5
TOO_FEW = "cannot be tuned: too few posts with evidence to compare calibrators"
Parameters = Mapping[str, Sequence[float]]


def calibrated(method: str, parameters: Parameters, scores: Sequence[float], *, is_prob: bool) -> Floats:
    """The probabilities that a calibrator makes of scores, to the last bit: equal ones must stay equal."""
    raw = np.asarray(scores, np.float64)
    if method == "none":
        return raw
    if method == "isotonic":
        return np.interp(raw, parameters["x"], parameters["y"])
    odds = log_odds(raw) if is_prob else raw
    if method == "temperature":
        line = odds / parameters["temperature"][0]
    elif method == "beta":
        a, b, c = parameters["coefficients"]
        yes, no = _logs(raw).T
        line = a * yes + b * no + c
    else:
        slope, intercept = parameters["coefficients"]
        line = slope * odds + intercept
    return 1 / (1 + np.exp(-np.clip(line, -700, 700)))


def _logs(prob: Floats) -> Floats:
    kept = clipped(prob)
    return np.column_stack([np.log(kept), -np.log1p(-kept)])


def fitted(method: str, rows: Sequence[TuneRow], *, is_prob: bool) -> dict[str, list[float]] | None:
    """The parameters of a method on the rows; None where it has no finite optimum."""
    raw, label = np.array([row.raw for row in rows], np.float64), np.array([row.label for row in rows], bool)
    if method == "none":
        return {}
    if method == "isotonic":
        return isotonic(raw, label)
    if method == "beta":
        coefficients = _beta(_logs(raw), label)
    else:
        odds = log_odds(raw) if is_prob else raw
        if method == "temperature":
            return {"temperature": [temperature(odds, label)]}
        coefficients = None if separated(odds.tolist(), label.tolist(), 1) else logistic(odds[:, None], label)
    return None if coefficients is None else {"coefficients": coefficients}


def _beta(columns: Floats, label: Bools) -> list[float] | None:
    """a log p - b log(1 - p) + c; a slope below 0 is taken out, a first, and what is left fitted again."""
    solution = None if separated(columns[:, 0].tolist(), label.tolist(), 2) else logistic(columns, label)
    if solution is None or min(solution[:2]) >= 0:
        return solution
    kept = 1 if solution[0] < 0 else 0
    alone = logistic(columns[:, [kept]], label)
    if alone is None:
        return None
    if alone[0] < 0:
        return [0.0, 0.0, float(log_odds(np.array([label.mean()]))[0])]
    return [0.0, *alone] if kept else [alone[0], 0.0, alone[1]]


@dataclass(frozen=True)
class ChosenCalibrator:
    """The calibrator that the rows give: its method and parameters, the losses it was chosen by, or why there is none."""

    method: str
    parameters: Parameters
    losses: Mapping[str, float]
    reason: str | None = None


def choose(how: str, reported: str, rows: Sequence[TuneRow], seed: int, *, is_prob: bool) -> ChosenCalibrator:
    """Fit what was asked for, or what has least log-loss on posts it was not fitted on; ``reported`` breaks a tie."""
    reason, losses = lacking(rows), {}
    if reason is None and how == "auto":
        losses = held_out_losses(rows, seed, is_prob=is_prob)
        reason = None if losses else TOO_FEW
    if reason is not None:
        return ChosenCalibrator("none", {}, {}, reason)
    if how == "auto":
        tied = [name for name, loss in losses.items() if loss <= min(losses.values()) + TOLERANCE]
        how = reported if reported in tied else min(losses, key=lambda name: losses[name])
    solution = fitted(how, rows, is_prob=is_prob)
    if solution is None:
        return ChosenCalibrator(
            "none", {}, {}, f"cannot be tuned: {how} has no finite optimum on labels that are separated"
        )
    return ChosenCalibrator(how, solution, losses)


def held_out_losses(rows: Sequence[TuneRow], seed: int, *, is_prob: bool) -> dict[str, float]:
    """The log-loss of every method over inner folds of posts; without those that have no finite optimum on one of them."""
    posts = {row.post for row in rows}
    if len(posts) < 2:
        return {}
    part = dealt(posts, min(INNER, len(posts)), seed)
    losses = {name: 0.0 for name in METHODS if is_prob or name not in OF_PROBABILITIES}
    for held in sorted(set(part.values())):
        inside, outside = ([row for row in rows if (part[row.post] == held) is out] for out in (False, True))
        if lacking(inside) is not None:
            return {}
        label = np.array([row.label for row in outside], bool)
        for method in list(losses):
            solution = fitted(method, inside, is_prob=is_prob)
            if solution is None:
                del losses[method]
                continue
            prob = clipped(calibrated(method, solution, [row.raw for row in outside], is_prob=is_prob))
            losses[method] -= math.fsum(np.log(np.where(label, prob, 1 - prob))) / len(rows)
    return losses


def clipped(prob: Floats) -> Floats:
    """Probabilities kept off 0 and 1."""
    return np.minimum(np.maximum(prob, TINY), 1 - TINY)


def log_odds(prob: Floats) -> Floats:
    """Log-odds of probabilities that are clipped away from 0 and 1."""
    kept = clipped(prob)
    return np.log(kept) - np.log1p(-kept)


def sigmoid(x: Floats) -> Floats:
    """The inverse of the log-odds, without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def rest_at(line: Floats, label: Bools) -> Floats:
    """Label less probability at some log-odds, with its digits where they nearly agree."""
    return np.where(label, sigmoid(-line), -sigmoid(line))


def curve_at(line: Floats) -> Floats:
    """How a probability bends with its log-odds."""
    return sigmoid(line) * sigmoid(-line)


def log_likelihood(line: Floats, label: Bools) -> float:
    """How well log-odds tell the labels."""
    return -float(np.logaddexp(0.0, np.where(label, -line, line)).sum())


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


def logistic(columns: Floats, label: Bools) -> list[float] | None:
    """Slopes and intercept of most likelihood, for labels that are not separated; None where digits do not suffice."""
    middle, spread = columns.mean(axis=0), columns.std(axis=0)
    best = _climbed(np.column_stack([(columns - middle) / spread, np.ones(len(columns))]), label)
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
        size, before = 1.0, log_likelihood(points @ at, label)
        while size > 1e-9 and log_likelihood(points @ (at + size * step), label) < before:
            size /= 2
        at = at + size * step
    return None


def _newton_step(points: Floats, label: Bools, at: Floats) -> Floats | None:
    odds = points @ at
    bend = points.T @ (curve_at(odds)[:, None] * points)
    try:
        step: Floats = np.linalg.solve(bend, points.T @ rest_at(odds, label)).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    return step if np.isfinite(step).all() else None


def temperature(odds: Floats, label: Bools) -> float:
    """The T between e^-5 and e^5 of least log-loss of sigmoid(odds / T), which is convex in 1 / T."""
    from scipy.optimize import brentq

    def slope(inverse: float) -> float:
        return -math.fsum(rest_at(odds * inverse, label) * odds)

    low, high = math.exp(-5), math.exp(5)
    if slope(low) >= 0 or slope(high) <= 0:
        return 1 / low if slope(low) >= 0 else 1 / high
    return 1 / float(brentq(slope, low, high, xtol=1e-15))


def isotonic(scores: Floats, label: Bools) -> dict[str, list[float]]:
    """The rising steps nearest to the labels: the different scores, and their values.

    >>> isotonic(np.array([0.1, 0.2, 0.3]), np.array([True, False, True]))
    {'x': [0.1, 0.2, 0.3], 'y': [0.5, 0.5, 1.0]}
    """
    from scipy.optimize import isotonic_regression

    xs: list[float] = []
    for score in np.unique(scores).tolist():
        if not xs or score - xs[-1] >= CLOSE:
            xs.append(score)
    at = np.searchsorted(xs, scores, side="right") - 1
    counts = np.bincount(at)
    return {"x": xs, "y": isotonic_regression(np.bincount(at, label) / counts, weights=counts).x.tolist()}
