"""Thresholds with a guarantee about posts: fixed-sequence testing with an exact binomial bound at every point of a grid.

Queries of one post are not independent trials, posts are. With confidence 1 - delta each: at least the target share of
posts with evidence has none of it skipped, and at least the target share of alerting posts has only right alerts. Points
are tested in an order that no label decides, each at the full delta, until the first that fails; the last one before it
is certified, and the chance that it should not have been is at most delta.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import counted
from evidentia.protocol.plain import Plain
from evidentia.protocol.provenance import Provenance, refuse_overlap
from evidentia.protocol.targets import POST_PRECISION, POST_SENSITIVITY, Targets
from evidentia.stats.power import certifies, most_misses, posts_needed

DELTA = 0.05
SCREENING = "ScreeningSensitivity(unit=post)"
ALERTS = "AlertPrecision(unit=post)"


@dataclass(frozen=True)
class PostCertificate(Plain):
    """A certified threshold, or None with the reason and the number of posts that it would take.

    ``posts`` and ``misses`` are those at the value, else at the first point that was tested; ``bound`` is the exact lower
    limit there.
    """

    name: str
    target: float
    delta: float
    value: float | None
    posts: int
    misses: int
    bound: float
    tested: int
    posts_needed: int | None
    reason: str | None
    tuned_on: Provenance = field(default_factory=Provenance)


@dataclass(frozen=True, eq=False)
class PostScores:
    """Per post: the lowest score of its evidence, its highest score, and the highest of its queries without evidence.

    An infinity stands for "has none": +inf evidence is never skipped, -inf never alerts.
    """

    lowest_evidence: Floats
    highest: Floats
    highest_wrong: Floats

    @classmethod
    def of(cls, scores: Floats, labels: Bools, post: Ints) -> PostScores:
        """Gather the scores of every post."""
        names, at = np.unique(post, return_inverse=True)
        lowest, highest, wrong = (np.full(len(names), filler) for filler in (np.inf, -np.inf, -np.inf))
        np.minimum.at(lowest, at[labels], scores[labels])
        np.maximum.at(highest, at, scores)
        np.maximum.at(wrong, at[~labels], scores[~labels])
        return cls(lowest, highest, wrong)


def certify(
    scores: Floats,
    labels: Bools,
    post: Ints,
    targets: Targets,
    *,
    grid: Floats,
    delta: float = DELTA,
    tuned_on: Provenance,
    used: Collection[str] = (),
) -> tuple[PostCertificate, PostCertificate]:
    """Certify tau_neg and tau_pos on posts that nothing else was chosen on; ``used`` names those that were.

    ``grid`` holds the candidates; no label may have had a say in it.
    """
    refuse_overlap(tuned_on.posts, used, "would certify thresholds")
    by_post = PostScores.of(scores, labels, post)
    screening = certify_screening(by_post, targets[POST_SENSITIVITY], grid=grid, delta=delta, tuned_on=tuned_on)
    alerts = certify_alerts(by_post, targets[POST_PRECISION], grid=grid, delta=delta, tuned_on=tuned_on)
    return screening, alerts


def certify_screening(
    posts: PostScores, target: float, *, grid: Floats, delta: float = DELTA, tuned_on: Provenance
) -> PostCertificate:
    """The largest tau_neg, ascending from 0, before the share of posts without skipped evidence cannot be shown."""
    evidence = np.sort(posts.lowest_evidence[np.isfinite(posts.lowest_evidence)])
    taus = np.unique(np.concatenate([[0.0], grid]))
    misses = np.searchsorted(evidence, taus, side="left")
    allowed = most_misses(len(evidence), target, 1 - delta)
    # misses never fall along the grid, so everything before the first failure is below the bound
    passed = int(np.count_nonzero(misses <= allowed))
    at = max(passed - 1, 0)
    reason, needed = None, None
    if not passed:
        needed = posts_needed(target, 1 - delta, int(misses[0]))
        reason = f"{counted(len(evidence), 'post')} with evidence; {needed:,} without a miss are needed"
    value = float(taus[at]) if passed else None
    tested = min(passed + 1, len(taus))
    missed = int(misses[at])
    bound = lower_bound(len(evidence), missed, delta)
    return PostCertificate(
        SCREENING, target, delta, value, len(evidence), missed, bound, tested, needed, reason, tuned_on
    )


def certify_alerts(
    posts: PostScores, target: float, *, grid: Floats, delta: float = DELTA, tuned_on: Provenance
) -> PostCertificate:
    """The smallest tau_pos, descending from the first with enough alerting posts, before their precision cannot be shown."""
    taus = np.unique(grid)[::-1]
    alerting = _at_least(posts.highest, taus)
    wrong = _at_least(posts.highest_wrong, taus)
    enough = posts_needed(target, 1 - delta, 0)
    order = np.flatnonzero(alerting >= enough)
    passed = 0
    while passed < len(order) and _shown(alerting, wrong, order[passed], target, delta):
        passed += 1
    at = int(order[max(passed - 1, 0)]) if len(order) else len(taus) - 1
    reason, needed = None, None
    if not len(order):
        needed = enough
        reason = f"{counted(int(alerting[at]), 'post')} alert at most; {needed:,} without a wrong alert are needed"
    elif not passed:
        needed = posts_needed(target, 1 - delta, int(wrong[at]))
        reason = (
            f"{int(wrong[at])} of {int(alerting[at])} alerting posts have a wrong alert at the first threshold; "
            f"with as many wrong, {needed:,} posts are needed"
        )
    value = float(taus[at]) if passed else None
    tested = min(passed + 1, len(order))
    bound = lower_bound(int(alerting[at]), int(wrong[at]), delta)
    return PostCertificate(
        ALERTS, target, delta, value, int(alerting[at]), int(wrong[at]), bound, tested, needed, reason, tuned_on
    )


def lower_bound(posts: int, misses: int, delta: float) -> float:
    """The exact one-sided lower limit of a share.

    >>> round(lower_bound(598, 0, 0.05), 6)
    0.995003
    """
    from scipy.special import betaincinv

    return 0.0 if posts == misses else float(betaincinv(posts - misses, misses + 1, delta))


def _at_least(scores: Floats, taus: Floats) -> Ints:
    return len(scores) - np.searchsorted(np.sort(scores), taus, side="left")


def _shown(alerting: Ints, wrong: Ints, at: int, target: float, delta: float) -> bool:
    return certifies(int(alerting[at]), int(wrong[at]), target, 1 - delta)
