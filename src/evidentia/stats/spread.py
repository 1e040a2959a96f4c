"""Spread of per-query values and of fold values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.stats.exact import add_up


@dataclass(frozen=True)
class FoldSummary:
    """Mean and standard deviation over the folds where a value is defined."""

    mean: float | None
    std: float | None
    used: int


def fold_summary(values: Floats, *, ddof: int) -> FoldSummary:
    """Mean and std over folds; fewer than two folds leave the std undefined.

    >>> fold_summary(np.array([0.25, 0.75]), ddof=0)
    FoldSummary(mean=0.5, std=0.25, used=2)
    """
    if len(values) == 0:
        return FoldSummary(None, None, 0)
    mean = float(np.mean(values))
    std = float(np.sqrt(np.sum((values - mean) ** 2) / (len(values) - ddof))) if len(values) > 1 else None
    return FoldSummary(mean, std, len(values))


def grouped_distributions(
    ascending: Floats, codes: Ints | None, groups: int, *, whole_numbers: bool
) -> list[dict[str, Any] | None]:
    """Std (ddof 1), median and quartiles of the values of every group; of whole numbers also P90, range and histogram.

    The values come sorted, with the group of each (None: all are of one).
    """
    ranked, owner = ascending, np.zeros(len(ascending), np.int64)
    if codes is not None:
        order = np.argsort(codes.astype(np.int16 if groups < 2**15 else np.int64), kind="stable")
        ranked, owner = ascending[order], codes[order]
    ends = np.searchsorted(owner, np.arange(groups + 1))
    starts, sizes = ends[:-1], np.diff(ends)
    held = np.flatnonzero(sizes)
    cuts = {f"p{share}": _percentile(ranked, starts[held], sizes[held], share) for share in (25, 50, 75, 90)}
    means = add_up(owner, ranked, groups) / np.maximum(sizes, 1)
    squares = add_up(owner, (ranked - means[owner]) ** 2, groups)
    result: list[dict[str, Any] | None] = [None] * groups
    for i, group in enumerate(held):
        part = ranked[ends[group] : ends[group + 1]]
        std = float(np.sqrt(squares[group] / (len(part) - 1))) if len(part) > 1 else None
        shape: dict[str, Any] = {
            "std": std,
            "median": float(cuts["p50"][i]),
            "p25": float(cuts["p25"][i]),
            "p75": float(cuts["p75"][i]),
        }
        if whole_numbers:
            distinct, counts = np.unique(part, return_counts=True)
            histogram = {str(int(size)): int(count) for size, count in zip(distinct, counts, strict=True)}
            shape |= {
                "p90": float(cuts["p90"][i]),
                "min": float(part[0]),
                "max": float(part[-1]),
                "histogram": histogram,
            }
        result[group] = shape
    return result


def _percentile(ranked: Floats, starts: Ints, sizes: Ints, share: int) -> Floats:
    """Percentiles by linear interpolation (type 7) within contiguous sorted runs."""
    at = (sizes - 1) * (share / 100)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, sizes - 1)
    below, above = ranked[starts + low], ranked[starts + high]
    cut: Floats = below + (above - below) * (at - low)
    return cut
