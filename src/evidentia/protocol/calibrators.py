"""Calibrators: from a score to the probability that evidence exists, as plain numbers that can be written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from evidentia.errors import InputError
from evidentia.protocol.provenance import Provenance
from evidentia.tables.queries import Bools, Floats

EPSILON = 2.0**-52
METHODS = ("none", "temperature", "platt", "beta", "isotonic")  # the simpler first
_OF_PROBABILITIES = ("none", "beta")  # what a score that is no probability cannot use
Parameters = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Calibrator:
    """A fitted calibrator. ``log_loss`` has the held-out loss of every method that was tried."""

    method: str
    parameters: Parameters
    log_loss: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    reason: str | None = None
    tuned_on: Provenance = field(default_factory=Provenance)

    def apply(self, scores: Floats) -> Floats:
        """The calibrated probabilities."""
        given = self.parameters
        if self.method == "none":
            return scores
        if self.method == "isotonic":
            steps: Floats = np.interp(scores, given["x"], given["y"])
            return steps
        if self.method == "beta":
            a, b, c = given["coefficients"]
            yes, no = _logs(scores).T
            return _sigmoid(a * yes + b * no + c)  # not a product of matrices, which rounds by the number of rows
        odds = scores if self.tuned_on.score == "detection_score" else logit(scores)
        if self.method == "temperature":
            return _sigmoid(odds / given["temperature"][0])
        slope, intercept = given["coefficients"]
        return _sigmoid(slope * odds + intercept)

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        return {
            "method": self.method,
            "parameters": {name: list(values) for name, values in self.parameters.items()},
            "log_loss": dict(self.log_loss),
            "reason": self.reason,
            "tuned_on": self.tuned_on.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Calibrator:
        """Read it back; parameters that do not fit the method are refused."""
        parameters = {str(name): tuple(map(float, values)) for name, values in content["parameters"].items()}
        sizes = {name: len(values) for name, values in parameters.items()}
        if content["method"] not in METHODS or not _fits(content["method"], sizes):
            raise ValueError("the parameters do not fit the calibrator's method")
        made = MappingProxyType(parameters)
        losses = MappingProxyType({str(name): float(loss) for name, loss in content["log_loss"].items()})
        return cls(content["method"], made, losses, content["reason"], Provenance.from_dict(content["tuned_on"]))


def _fits(method: str, sizes: Mapping[str, int]) -> bool:
    if method == "isotonic":
        return set(sizes) == {"x", "y"} and sizes["x"] == sizes["y"] > 0
    wanted = {"none": {}, "temperature": {"temperature": 1}, "platt": {"coefficients": 2}, "beta": {"coefficients": 3}}
    return sizes == wanted[method]


def fit_calibrator(method: str, scores: Floats, labels: Bools, *, score: str = "prob") -> Calibrator:
    """Fit one method. Labels must be of both classes; ``score`` says whether the scores are probabilities.

    Platt and temperature scaling work on the log-odds of probabilities, and on other scores as they are.
    """
    if method not in usable(score):
        raise InputError(f"There is no calibrator {method!r} for {score}. Choose one of: {', '.join(usable(score))}.")
    fitted = {"none": _none, "temperature": _temperature, "platt": _platt, "beta": _beta, "isotonic": _isotonic}
    odds = scores if score == "detection_score" else logit(scores)
    given = odds if method in {"temperature", "platt"} else scores
    return Calibrator(method, MappingProxyType(fitted[method](given, labels)), tuned_on=Provenance(None, score))


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


def _none(scores: Floats, labels: Bools) -> dict[str, tuple[float, ...]]:
    return {}


def _temperature(odds: Floats, labels: Bools) -> dict[str, tuple[float, ...]]:
    """One factor for all log-odds, between e^-5 and e^5."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(lambda t: log_loss(_sigmoid(odds / np.exp(t)), labels), bounds=(-5, 5), method="bounded")
    return {"temperature": (float(np.exp(found.x)),)}


def _platt(odds: Floats, labels: Bools) -> dict[str, tuple[float, ...]]:
    (slope,), intercept = _logistic(odds[:, None], labels)
    return {"coefficients": (slope, intercept)}


def _beta(prob: Floats, labels: Bools) -> dict[str, tuple[float, ...]]:
    """Beta calibration (Kull et al. 2017): a log p - b log(1 - p) + c with a and b not below 0."""
    columns = _logs(prob)
    coefficients, intercept = _logistic(columns, labels)
    a, b = coefficients
    if a < 0 or b < 0:
        kept = 1 if a < 0 else 0
        (slope,), intercept = _logistic(columns[:, [kept]], labels)
        a, b = (0.0, max(slope, 0.0)) if kept else (max(slope, 0.0), 0.0)
    return {"coefficients": (a, b, intercept)}


def _isotonic(scores: Floats, labels: Bools) -> dict[str, tuple[float, ...]]:
    sklearn = _scikit_learn("isotonic")
    fitted = sklearn.IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, labels.astype(float))
    return {"x": tuple(fitted.X_thresholds_.tolist()), "y": tuple(fitted.y_thresholds_.tolist())}


def _logistic(columns: Floats, labels: Bools) -> tuple[list[float], float]:
    """Logistic regression without a penalty."""
    sklearn = _scikit_learn("linear_model")
    fitted = sklearn.LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(columns, labels)
    return [float(one) for one in fitted.coef_[0]], float(fitted.intercept_[0])


def _scikit_learn(part: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"sklearn.{part}")
    except ImportError:
        raise InputError("Fitting a calibrator needs scikit-learn: pip install 'evidentia[calibrate]'.") from None


def _logs(prob: Floats) -> Floats:
    clipped = np.clip(prob, EPSILON, 1 - EPSILON)
    return np.column_stack([np.log(clipped), -np.log1p(-clipped)])


def _sigmoid(odds: Floats) -> Floats:
    probabilities: Floats = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    return probabilities
