"""Ranking kernels: arrays in, arrays out, one value per query. All they need of a ranking is where its gold ones stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.stats.exact import add_up
from evidentia.tables.queries import Ragged

BLOCK = 1 << 16  # candidates (or comparisons) handled at once: the working set stays in the processor's cache


def gold_ranks(scores: Floats, is_gold: Bools, offsets: Ints) -> Ragged:
    """Where the gold candidates of every query stand: 1-based ranks, ascending; equal scores keep the input order.

    The candidates of query i are scores[offsets[i]:offsets[i + 1]]. Queries without gold cost nothing; for the others it
    is enough to count the candidates that stand ahead of each gold one.

    >>> gold_ranks(np.array([0.1, 0.9, 0.5, 0.5]), np.array([True, False, True, True]), np.array([0, 2, 4])).values
    array([2, 1, 2])
    """
    gold = np.flatnonzero(is_gold)
    owner = np.searchsorted(offsets, gold, side="right") - 1
    counts = np.bincount(owner, minlength=len(offsets) - 1)
    ranks = np.concatenate(
        [_ranks_of(gold[part], owner[part], scores, offsets) for part in _parts(owner, offsets)] or [gold]
    )
    order = np.lexsort((ranks, owner)) if counts.max(initial=0) > 1 else slice(None)
    return Ragged(np.concatenate([[0], np.cumsum(counts)]), ranks[order])


def _ranks_of(gold: Ints, owner: Ints, scores: Floats, offsets: Ints) -> Ints:
    """Compare each of a few gold candidates with every candidate of its query."""
    first = offsets[owner]
    sizes = offsets[owner + 1] - first
    ends = np.cumsum(sizes)
    starts = ends - sizes
    rival = np.arange(ends[-1]) + np.repeat(first - starts, sizes)
    mine = np.repeat(scores[gold], sizes)
    theirs = scores[rival]
    ahead = (theirs > mine) | ((theirs == mine) & (rival < np.repeat(gold, sizes)))
    return np.add.reduceat(ahead, starts, dtype=np.int64) + 1


def _parts(owner: Ints, offsets: Ints) -> Iterator[slice]:
    """Cut the gold candidates so that each part needs about BLOCK comparisons."""
    work = np.cumsum(offsets[owner + 1] - offsets[owner])
    at = 0
    while at < len(owner):
        done = work[at - 1] if at else 0
        stop = max(at + 1, int(np.searchsorted(work, done + BLOCK, side="right")))
        yield slice(at, stop)
        at = stop


def hits(ranks: Ragged, k: int | None) -> Floats:
    """How many gold candidates stand in the top k of every query (k None: anywhere).

    >>> ranks = Ragged(np.array([0, 2, 2]), np.array([1, 3]))  # gold at ranks 1 and 3; none in the second query
    >>> hits(ranks, 2), hits(ranks, None)
    (array([1., 0.]), array([2., 0.]))
    """
    if k is None:
        return ranks.lengths.astype(float)
    return _count(ranks, ranks.values <= k)


def recall(ranks: Ragged, n_gold: Ints, k: int | None) -> Floats:
    """Share of the gold candidates in the top k; 0 without gold.

    >>> ranks = Ragged(np.array([0, 2, 2]), np.array([1, 3]))  # gold at ranks 1 and 3; none in the second query
    >>> recall(ranks, ranks.lengths, 2)
    array([0.5, 0. ])
    """
    return _divide(hits(ranks, k), n_gold)


def precision(ranks: Ragged, depth: Ints | int) -> Floats:
    """Share of gold among the first ``depth`` candidates of every query; 0 for an empty ranking.

    >>> ranks = Ragged(np.array([0, 2, 2]), np.array([1, 3]))  # gold at ranks 1 and 3; none in the second query
    >>> precision(ranks, 2), precision(ranks, np.array([4, 0]))
    (array([0.5, 0. ]), array([0.5, 0. ]))
    """
    within = ranks.values <= np.repeat(np.broadcast_to(depth, len(ranks.offsets) - 1), ranks.lengths)
    return _divide(_count(ranks, within), depth)


def _count(ranks: Ragged, chosen: Bools) -> Floats:
    """How many gold candidates of every query are chosen."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    counts: Floats = (before[ranks.offsets[1:]] - before[ranks.offsets[:-1]]).astype(np.float64)
    return counts


def reciprocal_rank(ranks: Ragged, k: int | None) -> Floats:
    """One over the rank of the first gold candidate; 0 if none stands in the top k.

    >>> reciprocal_rank(Ragged(np.array([0, 1, 1]), np.array([4])), None)
    array([0.25, 0.  ])
    """
    some = ranks.lengths > 0
    first = np.ones(len(some), np.int64)
    first[some] = ranks.values[ranks.offsets[:-1][some]]
    return np.where(some if k is None else some & (first <= k), 1.0 / first, 0.0)


def precision_sum(ranks: Ragged, k: int | None) -> Floats:
    """Sum of the precisions at the ranks of the gold candidates in the top k: the numerator of average precision.

    >>> ranks = Ragged(np.array([0, 2, 2]), np.array([1, 3]))  # gold at ranks 1 and 3; none in the second query
    >>> precision_sum(ranks, None), precision_sum(ranks, 2)
    (array([1.66666667, 0.        ]), array([1., 0.]))
    """
    owner = ranks.owner
    position = np.arange(len(owner)) - np.repeat(ranks.offsets[:-1], ranks.lengths) + 1
    gained = position / ranks.values
    if k is not None:
        gained = np.where(ranks.values <= k, gained, 0.0)
    return add_up(owner, gained, len(ranks.offsets) - 1)


def average_precision(ranks: Ragged, n_gold: Ints, n_ranked: Ints, k: int | None, norm: str) -> Floats:
    """Average precision in the top k, divided by what ``norm`` names; 0 without gold.

    >>> ranks = Ragged(np.array([0, 2, 2]), np.array([1, 3]))  # gold at ranks 1 and 3; none in the second query
    >>> average_precision(ranks, ranks.lengths, np.array([3, 3]), 2, "gold")
    array([0.5, 0. ])
    >>> average_precision(ranks, ranks.lengths, np.array([3, 3]), 2, "found")
    array([1., 0.])
    """
    within = n_gold if k is None else np.minimum(n_gold, k)
    divisors: dict[str, Callable[[], Ints | Floats]] = {
        "gold": lambda: n_gold,
        "found": lambda: hits(ranks, k),
        "min": lambda: within,
        "min_eff": lambda: np.minimum(within, n_ranked),
    }
    return _divide(precision_sum(ranks, k), divisors[norm]())


def ndcg(ranks: Ragged, n_gold: Ints, k: int | None) -> Floats:
    """Discounted gain of the top k over that of an ideal ranking of min(gold, k) gold ones; 0 without gold.

    >>> ndcg(Ragged(np.array([0, 1, 1]), np.array([3])), np.array([1, 0]), 10)
    array([0.5, 0. ])
    """
    gained = 1.0 / np.log2(ranks.values + 1.0)
    if k is not None:
        gained = np.where(ranks.values <= k, gained, 0.0)
    dcg = add_up(ranks.owner, gained, len(ranks.offsets) - 1)
    depth = n_gold if k is None else np.minimum(n_gold, k)
    ideal = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, depth.max(initial=0) + 2)))])
    return _divide(dcg, ideal[depth])


def _divide(top: Floats, bottom: Ints | Floats | int) -> Floats:
    return np.divide(top, bottom, out=np.zeros(len(top)), where=np.broadcast_to(bottom, top.shape) > 0)
