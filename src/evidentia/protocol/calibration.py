"""Which calibrator: the one of least log-loss on posts that it was not fitted on, within TUNE, where TUNE has what that needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError, counted
from evidentia.protocol.calibrators import Calibrator, fit_calibrator, log_loss, usable
from evidentia.protocol.folds import outer_folds
from evidentia.protocol.provenance import Provenance
from evidentia.protocol.thresholds import UNTUNABLE, lacking

AUTO = "auto"
ALWAYS_FITS = "isotonic"  # any labels of both classes
INNER_FOLDS = 5
_TOO_FEW = "too few posts with evidence to compare calibrators"


@dataclass(frozen=True)
class Shortage:
    """What TUNE lacks: the reason that is written where a calibrator would stand, and the counts, for a person.

    ``comparing`` says that calibrators cannot be compared, though one alone could be fitted.
    """

    reason: str
    counts: str
    comparing: bool = False


def inner_parts(posts: Sequence[str], *, seed: int) -> Ints:
    """The part of every post: calibrators are compared on one part after the other, fitted on the rest."""
    if len(posts) < 2:
        return np.zeros(len(posts), np.int64)
    dealt = outer_folds(posts, seed=seed, folds=min(INNER_FOLDS, len(posts)))
    part = dict(zip(dealt.post_ids, dealt.fold.tolist(), strict=True))
    return np.array([part[post] for post in posts], np.int64)


def shortage(labels: Bools, post: Ints, posts: Sequence[str], *, method: str, seed: int) -> Shortage | None:
    """Why no calibrator can be fitted, whatever the scores are; None where that depends on them, or on nothing.

    ``post`` has the place of each query's post in ``posts``. All methods need queries with evidence and queries without;
    ``auto`` also needs both outside every part that it holds out, so posts of either kind in two parts.
    """
    having = {"with evidence": np.unique(post[labels]), "with a query without evidence": np.unique(post[~labels])}
    size = counted(len(posts), "post")
    needed = "at least 2 are needed to compare calibrators" if method == AUTO else "at least 1 is needed"
    for words, places in having.items():
        if not len(places):
            return Shortage(f"{UNTUNABLE}: {lacking(labels)}", f"{size}, none {words}; {needed}")
    if method != AUTO:
        return None
    part = inner_parts(posts, seed=seed)
    for words, places in having.items():
        if len(np.unique(part[places])) < 2:
            if len(places) > 1:
                enough = int(np.bincount(part).max()) + 1
                needed = f"all in one of the parts that calibrators are compared on, and {enough} are always enough"
            return Shortage(f"{UNTUNABLE}: {_TOO_FEW}", f"{size}, {len(places)} {words}; {needed}", comparing=True)
    return None


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
