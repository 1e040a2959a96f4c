"""Where sentences are alike: vectors of unit length, from the words of the TRAIN posts or from an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Ints
from evidentia.pipeline.stage import Parts
from evidentia.pipeline.stages.words import learn_matrix, matrix

LSA = "lsa"
DIMENSIONS = 64

Vectors = NDArray[np.float32]


def learn_lsa(
    texts: Sequence[str], *, dimensions: int = DIMENSIONS, offsets: Ints | None = None, min_posts: int = 1
) -> Parts:
    """Latent semantic analysis of the words of some texts; labels have no part in it."""
    from scipy.sparse.linalg import svds

    words, counts = learn_matrix(texts, "words", offsets=offsets, min_posts=min_posts)
    size = min(dimensions, *(side - 1 for side in counts.shape))
    if size < 1:
        return Parts(words.document, {**words.arrays, "axes": np.zeros((counts.shape[1], 0), np.float32)})
    start = np.ones(min(counts.shape)) / np.sqrt(min(counts.shape))  # a fixed start: the same bytes every time
    _, _, right = svds(counts, k=size, v0=start, random_state=0)
    signs = np.sign(right[np.arange(size), np.abs(right).argmax(1)])
    axes = (right * signs[:, None])[::-1].T
    return Parts(words.document, {**words.arrays, "axes": np.ascontiguousarray(axes, np.float32)})


def lsa_vectors(space: Parts, texts: Sequence[str]) -> Vectors:
    """A vector of unit length for every text; zeros where it has no known word."""
    return unit(np.asarray(matrix(space, texts) @ space.arrays["axes"], np.float32))


def unit(vectors: Vectors) -> Vectors:
    """The same directions, at length one."""
    length = np.sqrt((vectors.astype(np.float64) ** 2).sum(1, keepdims=True))
    scaled: Vectors = (vectors / np.where(length > 0, length, 1.0)).astype(np.float32)
    return scaled
