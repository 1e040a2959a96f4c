"""What must be said beside a number: what it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evidentia.verify.expected import Entry
from evidentia.verify.recompute import Found
from evidentia.verify.study import Study

if TYPE_CHECKING:
    from evidentia.verify.points import Folds
ABOUT_INTERVALS = ("rests on ", "undefined in ", "interval: ", "no interval: ")


def about_intervals(warning: str) -> bool:
    """Whether a warning speaks of the interval; intervals are recomputed apart.

    >>> about_intervals("no interval: every resample gives the same value"), about_intervals("rests on 2 posts")
    (True, True)
    """
    return warning.startswith(ABOUT_INTERVALS)


def point_warnings(study: Study, entry: Entry, found: Found, folds: Folds | None) -> list[str]:
    """The warnings of an entry, but for those about its interval, in their order."""
    return [
        *undefined_criteria(found),
        *untuned_folds(study, entry),
        *_undefined_folds(folds),
    ]


def undefined_criteria(found: Found) -> list[str]:
    """Criteria that a mean over them leaves out."""
    left, of = found.undefined
    return [f"{left} of {of} criteria are undefined and left out of the mean"] if left else []


def untuned_folds(study: Study, entry: Entry) -> list[str]:
    """Folds that have no threshold of their own."""
    if entry.definition.get("threshold") != "tuned":
        return []
    own = dict(entry.group).get("fold")
    return [
        f"fold {fold} {threshold.reason}: its queries are left out"
        for fold, threshold in study.thresholds(str(entry.definition.cut)).items()
        if not threshold.usable and own in {None, fold}
    ]


def _undefined_folds(folds: Folds | None) -> list[str]:
    if folds is None or folds.used == folds.of:
        return []
    return [f"{folds.of - folds.used} of {folds.of} folds are undefined and left out of mean and std"]
