"""What must be said beside a number: what it leaves out."""

from __future__ import annotations

from evidentia.verify.expected import Entry
from evidentia.verify.plan import Recomputed
from evidentia.verify.study import Study

ABOUT_INTERVALS = ("rests on ", "undefined in ", "interval: ", "no interval: ")


def about_intervals(warning: str) -> bool:
    """Whether a warning speaks of the interval; intervals are recomputed apart.

    >>> about_intervals("no interval: every resample gives the same value"), about_intervals("rests on 2 posts")
    (True, True)
    """
    return warning.startswith(ABOUT_INTERVALS)


def undefined_criteria(number: Recomputed) -> list[str]:
    """Criteria that a mean over them leaves out."""
    left, of = number.undefined
    return [f"{left} of {of} criteria are undefined and left out of the mean"] if left else []


def untuned_folds(study: Study, entry: Entry) -> list[str]:
    """Folds that have no threshold of their own."""
    args = entry.definition.args
    if args.get("threshold") != "tuned" or args.cut is None:
        return []
    own = dict(entry.group).get("fold")
    return [
        f"fold {fold} {threshold.reason}: its queries are left out"
        for fold, threshold in study.thresholds(args.cut).items()
        if not threshold.usable and own in {None, fold}
    ]
