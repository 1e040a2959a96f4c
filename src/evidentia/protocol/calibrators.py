"""Calibrators: from a score to the probability that evidence exists, as plain numbers that can be written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.errors import InputError
from evidentia.protocol.logistic import logistic, scikit_learn, separated
from evidentia.protocol.plain import Plain
from evidentia.protocol.provenance import Provenance

EPSILON = 2.0**-52
METHODS = ("none", "temperature", "platt", "beta", "isotonic")  # the simpler first
_OF_PROBABILITIES = ("none", "beta")  # what a score that is no probability cannot use
Parameters = Mapping[str, tuple[float, ...]]
Fit = dict[str, tuple[float, ...]] | None  # None where there is no finite optimum


@dataclass(frozen=True)
class Calibrator(Plain):
    """A fitted calibrator. ``log_loss`` has the held-out loss of every method that was tried."""

    method: str
    parameters: Parameters
    log_loss: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    reason: str | None = None
    tuned_on: Provenance = field(default_factory=Provenance)

    def apply(self, scores: Floats) -> Floats:
        """The calibrated probabilities."""
        parameters = self.parameters
        if self.method == "none":
            return scores
        if self.method == "isotonic":
            steps: Floats = np.interp(scores, parameters["x"], parameters["y"])
            return steps
        if self.method == "beta":
            a, b, c = parameters["coefficients"]
            yes, no = _logs(scores).T
            return _sigmoid(a * yes + b * no + c)  # not a product of matrices, which rounds by the number of rows
        odds = scores if self.tuned_on.score == "detection_score" else logit(scores)
        if self.method == "temperature":
            return _sigmoid(odds / parameters["temperature"][0])
        slope, intercept = parameters["coefficients"]
        return _sigmoid(slope * odds + intercept)

    def check(self) -> None:
        """Refuse parameters that do not fit the method."""
        sizes = {name: len(values) for name, values in self.parameters.items()}
        wanted = {
            "none": {},
            "temperature": {"temperature": 1},
            "platt": {"coefficients": 2},
            "beta": {"coefficients": 3},
        }
        steps = sizes.get("x", 0)
        if sizes != wanted.get(self.method, {"x": steps, "y": steps} if self.method == "isotonic" and steps else None):
            raise ValueError("the parameters do not fit the calibrator's method")


def fit_calibrator(method: str, scores: Floats, labels: Bools, *, score: str = "prob") -> Calibrator | None:
    """Fit one method. Labels must be of both classes; ``score`` says whether the scores are probabilities.

    Platt and temperature scaling work on the log-odds of probabilities, and on other scores as they are. Where labels are
    separated, Platt scaling and beta calibration have no finite optimum, and None is returned.
    """
    if method not in usable(score):
        raise InputError(f"There is no calibrator {method!r} for {score}. Choose one of: {', '.join(usable(score))}.")
    fitted = {"none": _none, "temperature": _temperature, "platt": _platt, "beta": _beta, "isotonic": _isotonic}
    odds = scores if score == "detection_score" else logit(scores)
    inputs = odds if method in {"temperature", "platt"} else scores
    parameters = fitted[method](inputs, labels)
    return (
        None
        if parameters is None
        else Calibrator(method, MappingProxyType(parameters), tuned_on=Provenance(None, score))
    )


def usable(score: str) -> tuple[str, ...]:
    """The methods for a score column: without probabilities there is no leaving them as they are."""
    return METHODS if score == "prob" else tuple(m for m in METHODS if m not in _OF_PROBABILITIES)


def log_loss(probabilities: Floats, labels: Bools) -> float:
    """The mean of -log(probability given to what was true), clipped to [2^-52, 1 - 2^-52] as the measure is."""
    clipped = np.clip(probabilities, EPSILON, 1 - EPSILON)
    return float(-np.mean(np.log(np.where(labels, clipped, 1 - clipped))))


def logit(prob: Floats) -> Floats:
    """Log-odds, finite for 0 and 1 too."""
    clipped = np.clip(prob, EPSILON, 1 - EPSILON)
    odds: Floats = np.log(clipped) - np.log1p(-clipped)
    return odds


def _none(scores: Floats, labels: Bools) -> Fit:
    return {}


def _temperature(odds: Floats, labels: Bools) -> Fit:
    """One factor for all log-odds, between e^-5 and e^5: where the slope of the log-loss in 1 / T is 0."""
    from scipy.optimize import brentq

    def slope(inverse: float) -> float:
        gap = np.where(labels, -_sigmoid(-odds * inverse), _sigmoid(odds * inverse))
        return float(np.mean(gap * odds))

    low, high = np.exp(-5.0), np.exp(5.0)  # the slope never falls, since the log-loss is convex in 1 / T
    if slope(low) >= 0 or slope(high) <= 0:
        return {"temperature": (float(1 / low if slope(low) >= 0 else 1 / high),)}
    return {"temperature": (1 / float(brentq(slope, low, high, xtol=1e-15, rtol=1e-14)),)}


def _platt(odds: Floats, labels: Bools) -> Fit:
    if separated(odds, labels, 1):
        return None
    coefficients = logistic(odds[:, None], labels)
    return None if coefficients is None else {"coefficients": coefficients}


def _beta(prob: Floats, labels: Bools) -> Fit:
    """Beta calibration (Kull et al. 2017): a log p - b log(1 - p) + c with a and b not below 0."""
    columns = _logs(prob)
    if separated(columns[:, 0], labels, 2):
        return None
    coefficients = logistic(columns, labels)
    if coefficients is None:
        return None
    a, b, c = coefficients
    if a < 0 or b < 0:
        kept = 1 if a < 0 else 0
        alone = logistic(columns[:, [kept]], labels)
        if alone is None:
            return None
        if alone[0] < 0:  # no score helps: the share of positives for all
            a, b, c = 0.0, 0.0, float(logit(np.array([labels.mean()]))[0])
        else:
            a, b, c = (0.0, *alone) if kept else (alone[0], 0.0, alone[1])
    return {"coefficients": (a, b, c)}


def _isotonic(scores: Floats, labels: Bools) -> Fit:
    sklearn = scikit_learn("isotonic")
    fitted = sklearn.IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, labels.astype(float))
    return {"x": tuple(fitted.X_thresholds_.tolist()), "y": tuple(fitted.y_thresholds_.tolist())}


def _logs(prob: Floats) -> Floats:
    clipped = np.clip(prob, EPSILON, 1 - EPSILON)
    return np.column_stack([np.log(clipped), -np.log1p(-clipped)])


def _sigmoid(odds: Floats) -> Floats:
    probabilities: Floats = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    return probabilities
