"""What any model's numbers must be before a stage sees them: as many as asked for, finite, of unit length."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidentia.errors import InputError, counted
from evidentia.pipeline.encoders.interface import Vectors


def unit_vectors(values: ArrayLike, *, model: str, normalize: bool = True) -> Vectors:
    """The rows at unit length (a row of zeros stays one); numbers that are not finite are refused.

    >>> unit_vectors([[3.0, 4.0], [0.0, 0.0]], model="m").tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    vectors = finite(np.asarray(values, np.float32), model)
    if not normalize:
        return vectors
    wide = vectors.astype(np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    return (wide / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def finite(values: NDArray[np.float32], model: str) -> NDArray[np.float32]:
    """The same numbers, if they are numbers."""
    rows = values.reshape(len(values), -1) if len(values) else values.reshape(0, 1)
    if bad := int((~np.isfinite(rows).all(axis=1)).sum()):
        raise InputError(
            f"{model} gave NaN or infinity for {counted(bad, 'text')} of {len(values):,}. With float16 weights try "
            "dtype = 'float32' or 'bfloat16'."
        )
    return values
