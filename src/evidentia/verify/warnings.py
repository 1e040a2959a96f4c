"""What must be said beside a number: what it leaves out, and how little it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evidentia.verify.expected import Entry
from evidentia.verify.recompute import Found
from evidentia.verify.study import Study

if TYPE_CHECKING:
    from evidentia.verify.points import Folds

FEW_POSTS, FEW_POSITIVES = 30, 10


def about_intervals(warning: str) -> bool:
    """Whether a warning speaks of the resamples; intervals are recomputed apart.

    >>> about_intervals("no interval: every resample gives the same value"), about_intervals("rests on 2 posts")
    (True, False)
    """
    return warning.startswith(("interval: ", "no interval: ", "undefined in "))


def point_warnings(study: Study, entry: Entry, found: Found, folds: Folds | None, resamples: int) -> list[str]:
    """The warnings of an entry, but for those about its interval, in their order."""
    return [
        *undefined_criteria(found),
        *untuned_folds(study, entry),
        *(_small(study, entry, found) if resamples else ()),
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


def _small(study: Study, entry: Entry, found: Found) -> list[str]:
    positives = study.positives(study.scope(entry.group))
    said = []
    if found.clusters < FEW_POSTS:
        posts = "1 post" if found.clusters == 1 else f"{found.clusters} posts"
        said.append(f"rests on {posts} (fewer than {FEW_POSTS}): read the interval with care")
    if positives < FEW_POSITIVES:
        queries = "1 query" if positives == 1 else f"{positives} queries"
        said.append(f"rests on {queries} with evidence (fewer than {FEW_POSITIVES})")
    return said


def _undefined_folds(folds: Folds | None) -> list[str]:
    if folds is None or folds.used == folds.of:
        return []
    return [f"{folds.of - folds.used} of {folds.of} folds are undefined and left out of mean and std"]
