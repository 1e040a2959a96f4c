"""Curves read at a fixed grid, for many weightings of a sweep at once."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats
from evidentia.stats.sweeps import Counts


def tpr_on_grid(counts: Counts, grid: Floats) -> Floats:
    """The best true positive rate with FPR at most each grid value (replicates x grid); NaN with one class only."""
    rates = np.full((counts.tp.shape[1], len(grid)), np.nan)
    for i, (tp, fp) in enumerate(zip(counts.tp.T, counts.fp.T, strict=True)):
        if tp[-1] > 0 and fp[-1] > 0:
            rates[i] = tp[np.searchsorted(fp / fp[-1], grid, side="right") - 1] / tp[-1]
    return rates


def precision_on_grid(counts: Counts, grid: Floats) -> Floats:
    """The precision where recall first reaches each grid value (replicates x grid); NaN without positives."""
    rates = np.full((counts.tp.shape[1], len(grid)), np.nan)
    for i, (tp, fp) in enumerate(zip(counts.tp.T, counts.fp.T, strict=True)):
        if tp[-1] > 0:
            at = np.searchsorted(tp / tp[-1], grid, side="left")
            rates[i] = tp[at] / (tp[at] + fp[at])
    return rates
