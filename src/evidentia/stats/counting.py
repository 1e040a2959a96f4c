"""Adding up by group."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Bools, Floats, Ints


def add_up(codes: Ints, values: Floats | Bools, groups: int) -> Floats:
    """The sum of the values of every group, in the order of the rows.

    >>> add_up(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    array([3., 0., 5.])
    """
    sums: Floats = np.bincount(codes, values, minlength=groups).astype(np.float64, copy=False)
    return sums
