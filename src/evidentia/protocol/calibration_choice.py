"""Which calibrator: the one of least log-loss on posts that it was not fitted on, within TUNE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from evidentia.errors import InputError
from evidentia.protocol.calibrators import Calibrator, fit_calibrator, log_loss, usable
from evidentia.protocol.folds import outer_folds
from evidentia.protocol.provenance import Provenance
from evidentia.protocol.thresholds import UNTUNABLE, lacking
from evidentia.tables.queries import Bools, Floats, Ints

INNER_FOLDS = 5
AUTO = "auto"


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
    missing = lacking(labels)
    if missing is not None:
        return _uncalibrated(f"{UNTUNABLE}: {missing}", tuned_on)
    losses: dict[str, float] = {}
    if method == AUTO:
        losses = held_out_losses(scores, labels, post, methods=methods, tuned_on=tuned_on, seed=seed)
        if not losses:
            return _uncalibrated(f"{UNTUNABLE}: too few posts with evidence to compare calibrators", tuned_on)
        method = min(losses, key=lambda name: (losses[name], methods.index(name)))
    fitted = fit_calibrator(method, scores, labels, score=tuned_on.score)
    if fitted is None:
        return _uncalibrated(f"{UNTUNABLE}: {method} has no finite optimum on labels that are separated", tuned_on)
    return replace(fitted, log_loss=MappingProxyType(losses), tuned_on=tuned_on)


def held_out_losses(
    scores: Floats, labels: Bools, post: Ints, *, methods: Sequence[str], tuned_on: Provenance, seed: int
) -> dict[str, float]:
    """The log-loss of every method over inner folds of posts; empty if a fold would have to fit on one class.

    A method that has no finite optimum on a fold is not among them: where it stops would be an accident.
    """
    assert tuned_on.score is not None
    if len(tuned_on.posts) < 2:
        return {}
    folds = outer_folds(tuned_on.posts, seed=seed, folds=min(INNER_FOLDS, len(tuned_on.posts)))
    at = dict(zip(folds.post_ids, folds.fold.tolist(), strict=True))
    held = np.array([at[name] for name in tuned_on.posts])[post]
    said = {method: np.empty(len(scores)) for method in methods}
    for fold in np.unique(held):
        out = held == fold
        if lacking(labels[~out]) is not None:
            return {}
        for method in list(said):
            fitted = fit_calibrator(method, scores[~out], labels[~out], score=tuned_on.score)
            if fitted is None:
                del said[method]
            else:
                said[method][out] = fitted.apply(scores[out])
    return {method: log_loss(probabilities, labels) for method, probabilities in said.items()}


def _uncalibrated(reason: str, tuned_on: Provenance) -> Calibrator:
    if tuned_on.score != "prob":
        fold = "" if tuned_on.fold is None else f" of fold {tuned_on.fold}"
        raise InputError(f"The scores{fold} cannot be made probabilities: {reason}.")
    return Calibrator("none", MappingProxyType({}), reason=reason, tuned_on=tuned_on)
