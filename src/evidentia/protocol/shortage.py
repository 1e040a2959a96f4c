"""Whether TUNE has what a calibrator needs: labels and posts say so, before there is any score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Ints
from evidentia.errors import counted
from evidentia.protocol.folds import outer_folds
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
