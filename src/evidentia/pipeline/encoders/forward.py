"""Running a transformer over token lists in batches, so that no text's result depends on the texts beside it.

Every text is padded to its own length rounded up, never to its neighbours' length, and every batch has the same number of rows:
then the same text gives the same bytes in any company and order (as measured with torch 2.13 on CPU), and caches are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.pipeline.encoders.interface import Progress, tell

ROWS = 16  # 32 and 64 were no faster on a CPU, as far as a busy machine could tell
STEP = 8
Tokens = NDArray[np.int64]


def padded_length(length: int) -> int:
    """The length rounded up to the next step.

    >>> padded_length(3), padded_length(8), padded_length(9)
    (8, 8, 16)
    """
    return max(1, -(-length // STEP)) * STEP


def length_batches(lengths: Sequence[int], rows: int = ROWS) -> list[list[int]]:
    """Places of texts of the same padded length, at most ``rows`` together, the longest first.

    >>> length_batches([3, 20, 5], rows=2)
    [[1], [0, 2]]
    """
    buckets: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        buckets.setdefault(padded_length(length), []).append(place)
    ordered = [buckets[length] for length in sorted(buckets, reverse=True)]
    return [bucket[start : start + rows] for bucket in ordered for start in range(0, len(bucket), rows)]


def padded(lists: Sequence[Sequence[int]], filler: int = 0) -> tuple[Tokens, Tokens]:
    """The lists as one matrix, and a mask of what is not filler."""
    width = padded_length(max(map(len, lists)))
    tokens = np.full((len(lists), width), filler, np.int64)
    mask = np.zeros_like(tokens)
    for row, values in enumerate(lists):
        tokens[row, : len(values)] = values
        mask[row, : len(values)] = 1
    return tokens, mask


def run_batches(
    lengths: Sequence[int], run: Callable[[list[int]], Any], width: int, progress: Progress | None
) -> NDArray[np.float32]:
    """The rows that ``run`` gives for the places of each batch, put back into the order of the texts."""
    outputs = np.zeros((len(lengths), width), np.float32)
    for batch, rows in each_batch(lengths, run, progress):
        outputs[batch] = rows
    return outputs


def each_batch(
    lengths: Sequence[int], run: Callable[[list[int]], Any], progress: Progress | None
) -> Iterator[tuple[list[int], Any]]:
    """The places of each batch, and what ``run`` gives for them.

    A batch that is not full repeats its first text: products of other shapes may round differently.
    """
    done = 0
    for batch in length_batches(lengths):
        full = batch + [batch[0]] * (ROWS - len(batch))
        yield batch, run(full)[: len(batch)]
        done += len(batch)
        tell(progress, done, len(lengths))
