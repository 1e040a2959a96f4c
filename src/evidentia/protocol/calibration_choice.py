"""Which calibrator: the one of least log-loss on posts that it was not fitted on, within TUNE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError
from evidentia.protocol.calibrators import Calibrator, fit_calibrator, log_loss, usable
from evidentia.protocol.provenance import Provenance
from evidentia.protocol.shortage import ALWAYS_FITS, AUTO, inner_parts, shortage
from evidentia.protocol.thresholds import UNTUNABLE


def choose_calibrator(
    scores: Floats, labels: Bools, post: Ints, *, method: str = AUTO, tuned_on: Provenance, seed: int
) -> Calibrator:
    """Fit the method that was asked for, or under ``auto`` the best of all, on everything that was given.

    ``post`` has the place of each query's post in ``tuned_on.posts``. Methods are compared by their log-loss on inner
    folds that share no post; where two are equally good the simpler one is taken. Labels of one class, too few posts
    for two folds, or a method without a finite optimum leave probabilities as they are, and say so.
    """
    assert tuned_on.score is not None
    methods = usable(tuned_on.score)
    short = shortage(labels, post, tuned_on.posts, method=method, seed=seed)
    if short is not None:
        other = f", or calibrate by {ALWAYS_FITS}" if short.comparing else ""
        return _uncalibrated(short.reason, tuned_on, f"TUNE has {short.counts}. Give more such posts{other}")
    losses: dict[str, float] = {}
    if method == AUTO:
        losses = held_out_losses(scores, labels, post, methods=methods, tuned_on=tuned_on, seed=seed)
        method = min(losses, key=lambda name: (losses[name], methods.index(name)))
    fitted = fit_calibrator(method, scores, labels, score=tuned_on.score)
    if fitted is None:
        reason = f"{method} has no finite optimum on labels that are separated"
        words = f"{reason}. Give more posts, or calibrate by {ALWAYS_FITS}"
        return _uncalibrated(f"{UNTUNABLE}: {reason}", tuned_on, words)
    return replace(fitted, log_loss=MappingProxyType(losses), tuned_on=tuned_on)


def held_out_losses(
    scores: Floats, labels: Bools, post: Ints, *, methods: Sequence[str], tuned_on: Provenance, seed: int
) -> dict[str, float]:
    """The log-loss of every method over inner folds of posts, of which none may leave one class to fit on.

    A method that has no finite optimum on a fold is not among them: where it stops would be an accident.
    """
    assert tuned_on.score is not None
    held = inner_parts(tuned_on.posts, seed=seed)[post]
    predicted = {method: np.empty(len(scores)) for method in methods}
    for fold in np.unique(held):
        out = held == fold
        for method in list(predicted):
            fitted = fit_calibrator(method, scores[~out], labels[~out], score=tuned_on.score)
            if fitted is None:
                del predicted[method]
            else:
                predicted[method][out] = fitted.apply(scores[out])
    return {method: log_loss(probabilities, labels) for method, probabilities in predicted.items()}


def _uncalibrated(reason: str, tuned_on: Provenance, words: str) -> Calibrator:
    """Probabilities stay as they are; other scores cannot, and the words say why and what to do."""
    if tuned_on.score != "prob":
        fold = "" if tuned_on.fold is None else f" of fold {tuned_on.fold}"
        raise InputError(f"The scores{fold} cannot be made probabilities: {words}.")
    return Calibrator("none", MappingProxyType({}), reason=reason, tuned_on=tuned_on)
