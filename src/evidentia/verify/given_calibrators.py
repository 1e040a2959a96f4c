"""Given calibrators: what they make of a score, and which one the TUNE rows choose, fitted anew."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.verify.fits import SMALLEST, isotonic, log_loss, log_odds, logistic, separated, sigmoid, temperature
from evidentia.verify.given_rows import TuneRow, dealt, lacking
from evidentia.verify.tally import TOLERANCE, Tally

METHODS = ("none", "temperature", "platt", "beta", "isotonic")
OF_PROBABILITIES = ("none", "beta")
INNER = 5
TOO_FEW = "cannot be tuned: too few posts with evidence to compare calibrators"
Parameters = Mapping[str, Sequence[float]]


def calibrated(method: str, parameters: Parameters, score: float, *, is_prob: bool) -> float:
    """The probability that a calibrator makes of a score."""
    if method == "none":
        return score
    if method == "isotonic":
        return _interpolated(parameters["x"], parameters["y"], score)
    if method == "beta":
        a, b, c = parameters["coefficients"]
        yes, no = _logs(score)
        return sigmoid(a * yes + b * no + c)
    odds = log_odds(score) if is_prob else score
    if method == "temperature":
        return sigmoid(odds / parameters["temperature"][0])
    slope, intercept = parameters["coefficients"]
    return sigmoid(slope * odds + intercept)


def _logs(prob: float) -> tuple[float, float]:
    kept = min(max(prob, SMALLEST), 1 - SMALLEST)
    return math.log(kept), -math.log1p(-kept)


def _interpolated(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Straight lines between the points, level beyond them."""
    at = bisect_right(xs, x)
    if at in {0, len(xs)}:
        return ys[0] if at == 0 else ys[-1]
    (x0, x1), (y0, y1) = xs[at - 1 : at + 1], ys[at - 1 : at + 1]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def fitted(method: str, rows: Sequence[TuneRow], *, is_prob: bool) -> dict[str, list[float]] | None:
    """The parameters of a method on the rows; None where it has no finite optimum."""
    raw, labels = [row.raw for row in rows], [row.label for row in rows]
    if method == "none":
        return {}
    if method == "isotonic":
        xs, ys = isotonic(raw, labels)
        return {"x": xs, "y": ys}
    if method == "beta":
        return _beta(raw, labels)
    odds = [log_odds(score) if is_prob else score for score in raw]
    if method == "temperature":
        return {"temperature": [temperature(odds, labels)]}
    solution = None if separated(odds, labels, 1) else logistic([(odd,) for odd in odds], labels)
    return None if solution is None else {"coefficients": solution}


def _beta(prob: Sequence[float], labels: Sequence[bool]) -> dict[str, list[float]] | None:
    """a log p - b log(1 - p) + c; a slope below 0 is taken out, a first, and what is left fitted again."""
    columns = [_logs(p) for p in prob]
    solution = None if separated([yes for yes, _ in columns], labels, 2) else logistic(columns, labels)
    if solution is None or min(solution[:2]) >= 0:
        return None if solution is None else {"coefficients": solution}
    kept = 1 if solution[0] < 0 else 0
    alone = logistic([(pair[kept],) for pair in columns], labels)
    if alone is None:
        return None
    if alone[0] < 0:
        return {"coefficients": [0.0, 0.0, log_odds(sum(labels) / len(labels))]}
    slopes = [0.0, alone[0]] if kept else [alone[0], 0.0]
    return {"coefficients": [*slopes, alone[1]]}


@dataclass(frozen=True)
class Choice:
    """The calibrator that the rows give: its method and parameters, the losses it was chosen by, or why there is none."""

    method: str
    parameters: Parameters
    losses: Mapping[str, float]
    reason: str | None = None


def choose(how: str, reported: str, rows: Sequence[TuneRow], seed: int, *, is_prob: bool) -> Choice:
    """Fit what was asked for, or what has least log-loss on posts it was not fitted on; ``said`` breaks a tie of losses."""
    reason, losses = lacking(rows), {}
    if reason is None and how == "auto":
        losses = held_out_losses(rows, seed, is_prob=is_prob)
        reason = None if losses else TOO_FEW
    if reason is not None:
        return Choice("none", {}, {}, reason)
    if how == "auto":
        least = min(losses.values())
        how = (
            reported
            if losses.get(reported, math.inf) <= least + TOLERANCE
            else min(losses, key=lambda name: losses[name])
        )
    solution = fitted(how, rows, is_prob=is_prob)
    if solution is None:
        return Choice("none", {}, {}, f"cannot be tuned: {how} has no finite optimum on labels that are separated")
    return Choice(how, solution, losses)


def held_out_losses(rows: Sequence[TuneRow], seed: int, *, is_prob: bool) -> dict[str, float]:
    """The log-loss of every method over inner folds of posts; without those that have no finite optimum on one of them."""
    posts = {row.post for row in rows}
    if len(posts) < 2:
        return {}
    part = dealt(posts, min(INNER, len(posts)), seed)
    terms: dict[str, list[float]] = {name: [] for name in METHODS if is_prob or name not in OF_PROBABILITIES}
    for held in sorted(set(part.values())):
        inside = [row for row in rows if part[row.post] != held]
        if lacking(inside) is not None:
            return {}
        for method in list(terms):
            solution = fitted(method, inside, is_prob=is_prob)
            if solution is None:
                del terms[method]
                continue
            outside = (row for row in rows if part[row.post] == held)
            reported = ((calibrated(method, solution, row.raw, is_prob=is_prob), row.label) for row in outside)
            terms[method] += [log_loss(prob, label) for prob, label in reported]
    return {method: math.fsum(losses) / len(rows) for method, losses in terms.items()}


def compare_parameters(
    where: str, reported: Mapping[str, Any], own: Choice, rows: Sequence[TuneRow], tally: Tally, *, is_prob: bool
) -> None:
    """The written calibrator and the one fitted anew make the same of every TUNE score; steps stand at observed scores.

    Compared as functions, because coefficients far out along a flat likelihood have fewer right digits than what they give.
    """
    method, parameters = str(reported["method"]), reported["parameters"]
    if method == "isotonic":
        observed = {row.raw for row in rows}
        tally.exact(f"{where}: parameters", list(parameters), ["x", "y"])
        tally.exact(
            f"{where}: steps that are not at a TUNE score", [x for x in parameters["x"] if x not in observed], []
        )
        tally.exact(f"{where}: steps in order", list(parameters["x"]), sorted(set(parameters["x"])))
    else:
        sizes = {name: len(values) for name, values in own.parameters.items()}
        tally.exact(f"{where}: parameters", {name: len(values) for name, values in parameters.items()}, sizes)
    for score in sorted({row.raw for row in rows}):
        solution = calibrated(own.method, own.parameters, score, is_prob=is_prob)
        tally.number(f"{where}: of score {score!r}", calibrated(method, parameters, score, is_prob=is_prob), solution)
