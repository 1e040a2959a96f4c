"""The warnings that numbers from few posts carry, with what simulations of 30 posts showed (docs/intervals.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from typing import Literal

from evidentia.errors import counted

Kind = Literal["sum", "sweep"]  # means, shares and other functions of sums; AUROC, AUPRC and TPR@FPR
Range = tuple[float, float]

FEW_POSTS, FEW_CLUSTERS, FEW_POSITIVES, FEW_DIFFERENCES = 50, 30, 10, 10

CONVENTION = "the value is a convention, not a measurement"
NEVER = "undefined in every resample"
SAME = "every resample gives the same value"
UNDEFINED_CRITERIA = "criteria are undefined and left out of the mean"  # ends a reservation

# Lowest and highest share of data sets, in percent, over all headline measures and three shapes of data.
COVERED: dict[str, dict[Kind, Range]] = {  # 95 % intervals that held the truth
    "auto": {"sum": (91.5, 99.9), "sweep": (94.6, 98.8)},
    "percentile": {"sum": (88.0, 100.0), "sweep": (81.0, 95.8)},
    "bca": {"sum": (86.9, 100.0), "sweep": (87.1, 93.3)},
}
REJECTED: dict[Kind, Range] = {"sum": (0.0, 6.3), "sweep": (0.9, 3.4)}  # equal systems with p <= 0.05


@dataclass(frozen=True)
class Sample:
    """What a number rests on: posts, how many even posts tell as much, queries with evidence, and its kind if simulated."""

    posts: int
    effective: float
    positives: int
    kind: Kind | None

    @property
    def even(self) -> int:
        """Whole even posts that tell as much; a number just below a whole one comes from rounding."""
        return floor(self.effective + 1e-6)


def interval_warnings(sample: Sample, method: str, level: float) -> Iterator[str]:
    """Warn of an interval that rests on few posts or few queries with evidence."""
    measured = COVERED[method].get(sample.kind) if sample.kind and level == 0.95 else None
    if sample.even < FEW_POSTS:
        yield f"{_few_posts(sample)}: " + (
            f"such 95 % intervals held the truth in {measured[0]:.1f} to {measured[1]:.1f} % of simulations of 30 posts"
            if measured
            else "read the interval with care"
        )
    yield from _few_positives(sample)


def comparison_warnings(sample: Sample, differing: int | None) -> Iterator[str]:
    """Warn of a comparison that rests on few posts, or on few posts (None: unknown) in which the systems differ."""
    measured = REJECTED.get(sample.kind) if sample.kind else None
    if sample.even < FEW_POSTS:
        yield f"{_few_posts(sample)}: " + (
            f"5 % tests saw a difference where there is none in {measured[0]:.1f} to {measured[1]:.1f} % of simulations of 30 posts"
            if measured
            else "read interval and p with care"
        )
    if differing is not None and 0 < differing < FEW_DIFFERENCES:
        yield f"the systems differ in {counted(differing, 'post')} (fewer than {FEW_DIFFERENCES}): few to find a difference by"
    yield from _few_positives(sample)


def cluster_warnings(clusters: int, unit: str) -> Iterator[str]:
    """Warn of a percentile interval that rests on few clusters."""
    if clusters < FEW_CLUSTERS:
        yield f"rests on {counted(clusters, unit)} (fewer than {FEW_CLUSTERS}): read the interval with care"


def left_out_warning(left_out: int, resamples: int) -> Iterator[str]:
    """Warn where more than one resample in twenty was undefined."""
    if left_out > resamples / 20:
        yield f"undefined in {left_out:,} of {resamples:,} resamples, which are left out of the interval"


def exact_limits(clusters: int, unit: str) -> str:
    """Say that limits are exact binomial because no resample differs."""
    return f"{SAME}, so the limits are exact binomial over {counted(clusters, unit)}"


def interval_reason(reason: str | None, *, given: bool) -> Iterator[str]:
    """Say why an interval is missing, or where it comes from."""
    if reason is not None:
        yield f"{'interval' if given else 'no interval'}: {reason}"


def no_interval_of_difference(left_out: int, resamples: int, *, unknown: bool = False) -> str:
    """Say why a difference has no interval; ``unknown`` is one whose standard error cannot be had."""
    if left_out >= resamples:
        return f"no interval: {NEVER}"
    return f"no interval: {'one post does not show chance' if unknown else 'every resample gives the same difference'}"


def _few_posts(sample: Sample) -> str:
    worth = "" if sample.even == sample.posts else f", {sample.even:,} in effect"
    return f"rests on {counted(sample.posts, 'post')}{worth} (fewer than {FEW_POSTS})"


def _few_positives(sample: Sample) -> Iterator[str]:
    if sample.positives < FEW_POSITIVES:
        queries = counted(sample.positives, "query", "queries")
        yield f"rests on {queries} with evidence (fewer than {FEW_POSITIVES})"
