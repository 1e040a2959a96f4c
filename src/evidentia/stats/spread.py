"""Spread of per-query values and of fold values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats, Ints
from evidentia.stats.exact import add_up

SHARES = (25, 50, 75, 90)  # percentiles


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


Stretch = tuple[Floats, NDArray[np.integer[Any]] | None]


def grouped_distributions(
    stretches: Iterable[Stretch], groups: int, *, whole_numbers: bool
) -> list[dict[str, Any] | None]:
    """Std (ddof 1), median and quartiles of the values of every group; of whole numbers also P90, range and histogram.

    The values come in ascending order, stretch by stretch, with the group of each (None: all are of one), and are read
    twice. They are added up in that order, so it does not matter how many stretches there are.

    >>> shapes = grouped_distributions([(np.array([1.0, 2.0]), None), (np.array([6.0]), None)], 1, whole_numbers=False)
    >>> shapes[0]["median"], shapes[0]["p75"]
    (2.0, 4.0)
    """
    sizes, sums = np.zeros(groups, np.int64), np.zeros(groups)
    for values, codes in stretches:
        sizes += _counts(values, codes, groups)
        sums = _running(sums, values, codes)
    means, squares = sums / np.maximum(sizes, 1), np.zeros(groups)
    ranked = _Ranked(sizes)
    for values, codes in stretches:
        squares = _running(squares, (values - (means[0] if codes is None else means[codes])) ** 2, codes)
        ranked.add(values, codes, histogram=whole_numbers)
    return [ranked.shape(group, float(squares[group])) if sizes[group] else None for group in range(groups)]


def _counts(values: Floats, codes: NDArray[np.integer[Any]] | None, groups: int) -> Ints:
    return np.array([len(values)]) if codes is None else np.bincount(codes, minlength=groups)


def _running(sums: Floats, values: Floats, codes: NDArray[np.integer[Any]] | None) -> Floats:
    """The sums with more values, which are added one after the other."""
    groups = np.arange(len(sums))
    owner = np.zeros(len(values), np.int64) if codes is None else codes
    return add_up(np.concatenate([groups, owner]), np.concatenate([sums, values]), len(sums))


class _Ranked:
    """The values at the ranks that describe every group, picked from stretches in ascending order."""

    def __init__(self, sizes: Ints) -> None:
        self.sizes, self.seen = sizes, np.zeros(len(sizes), np.int64)
        self.at = np.maximum(sizes - 1, 0)[:, None] * (np.array(SHARES) / 100)
        low = np.floor(self.at).astype(np.int64)
        last = np.maximum(sizes - 1, 0)[:, None]
        self.ranks = np.concatenate([low, np.minimum(low + 1, last), np.zeros_like(last), last], axis=1)
        self.values = np.zeros(self.ranks.shape)
        self.histograms: list[Counter[int]] = [Counter() for _ in sizes]

    def add(self, values: Floats, codes: NDArray[np.integer[Any]] | None, *, histogram: bool) -> None:
        """Go on with the next values."""
        groups = len(self.sizes)
        counts = _counts(values, codes, groups)
        if codes is not None:
            values = values[np.argsort(codes.astype(np.int16 if groups < 2**15 else np.int64), kind="stable")]
        starts = np.cumsum(counts) - counts
        place = self.ranks - self.seen[:, None]
        here = (place >= 0) & (place < counts[:, None])
        self.values[here] = values[(starts[:, None] + place)[here]]
        self.seen += counts
        if histogram:
            for group, (start, count) in enumerate(zip(starts, counts, strict=True)):
                distinct, each = np.unique(values[start : start + count], return_counts=True)
                self.histograms[group].update(dict(zip(distinct.astype(int).tolist(), each.tolist(), strict=True)))

    def shape(self, group: int, squares: float) -> dict[str, Any]:
        """What describes a group, by name; percentiles by linear interpolation (type 7)."""
        size, count = int(self.sizes[group]), len(SHARES)
        below, above = self.values[group, :count], self.values[group, count : 2 * count]
        at = self.at[group]
        cuts = below + (above - below) * (at - np.floor(at))
        p25, p50, p75, p90 = cuts.tolist()
        std = float(np.sqrt(squares / (size - 1))) if size > 1 else None
        shape: dict[str, Any] = {"std": std, "median": p50, "p25": p25, "p75": p75}
        if histogram := self.histograms[group]:
            least, most = self.values[group, -2:].tolist()
            counted = {str(value): number for value, number in histogram.items()}
            shape |= {"p90": p90, "min": least, "max": most, "histogram": counted}
        return shape
