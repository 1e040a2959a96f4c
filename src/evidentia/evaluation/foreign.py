"""Formulas that other tools use under a name of ours, and that are no definition here: only to recognise their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Floats
from evidentia.measures import Definition, kernels
from evidentia.stats.exact import add_up
from evidentia.stats.sweeps import sweep_counts
from evidentia.tables.queries import Queries


@dataclass(frozen=True, eq=False)
class ForeignFormula:
    """A formula for measures of one base name; it gives one value per query, or a single number."""

    base: str
    words: str
    values: Callable[[Queries, Definition], Floats | float | None]


def _capped_recall(queries: Queries, asked: Definition) -> Floats | None:
    if queries.gold_ranks is None or queries.n_gold is None:
        return None
    k = asked.args.k
    depth = queries.n_gold if k is None else np.minimum(queries.n_gold, k)
    return _share(kernels.hits(queries.gold_ranks, k), depth)


def _ndcg_of_found(queries: Queries, asked: Definition) -> Floats | None:
    """The ideal ranking holds only the gold sentences that were found in the top K."""
    if queries.gold_ranks is None:
        return None
    return kernels.ndcg(
        queries.gold_ranks, kernels.hits(queries.gold_ranks, asked.args.k).astype(np.int64), asked.args.k
    )


def _ndcg_of_ties(queries: Queries, asked: Definition) -> Floats | None:
    """Sentences with equal scores share the discounts of their ranks."""
    pool = queries.candidates
    if pool is None or queries.n_gold is None:
        return None
    owner = np.repeat(np.arange(len(queries)), np.diff(pool.offsets))
    order = np.lexsort((-pool.score, owner))
    owner, score, gold = owner[order], pool.score[order], pool.is_gold[order]
    rank = np.arange(len(owner)) - pool.offsets[owner] + 1
    k = asked.args.k
    discount = np.where(rank <= (len(owner) if k is None else k), 1.0 / np.log2(rank + 1.0), 0.0)
    starts = np.flatnonzero(np.append(True, (np.diff(owner) != 0) | (np.diff(score) != 0)))
    sizes = np.diff(np.append(starts, len(owner)))
    shared = np.repeat(np.add.reduceat(discount, starts) / sizes, sizes) if len(owner) else discount
    gained = add_up(owner, np.where(gold, shared, 0.0), len(queries))
    depth = queries.n_gold if k is None else np.minimum(queries.n_gold, k)
    ideal = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, depth.max(initial=0) + 2)))])
    return _share(gained, ideal[depth])


def _trapezoids(queries: Queries, asked: Definition) -> float | None:
    if queries.scores is None or asked.args.get("level") == "candidate" or not queries.label.any():
        return None
    counts = sweep_counts(queries.scores, queries.label, None, None, 1)[0]
    recall = counts.tp / counts.tp[-1]
    precision = np.ones(len(recall))
    np.divide(counts.tp, counts.tp + counts.fp, out=precision, where=counts.tp + counts.fp > 0)
    return float(np.trapezoid(precision, recall))


def _bins_of_equal_size(queries: Queries, asked: Definition) -> float | None:
    if queries.prob is None:
        return None
    order = np.argsort(queries.prob, kind="stable")
    parts = np.array_split(order, int(asked.args["bins"]))
    gaps = [abs(float(queries.prob[part].sum() - queries.label[part].sum())) for part in parts]
    return sum(gaps) / len(order)


def _gaps(queries: Queries, asked: Definition) -> tuple[Floats, Floats] | None:
    """The share of queries in each bin of equal width, and its gap."""
    if queries.prob is None:
        return None
    bins = int(asked.args["bins"])
    place = np.minimum((queries.prob * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    gap = np.abs(np.bincount(place, queries.prob, bins) - np.bincount(place, queries.label, bins))
    return count / count.sum(), _share(gap, count)


def _largest_gap(queries: Queries, asked: Definition) -> float | None:
    gaps = _gaps(queries, asked)
    return None if gaps is None else float(gaps[1].max())


def _root_mean_square_gap(queries: Queries, asked: Definition) -> float | None:
    gaps = _gaps(queries, asked)
    return None if gaps is None else float(np.sqrt((gaps[0] * gaps[1] ** 2).sum()))


def _share(top: Floats, bottom: Floats | np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    return np.divide(top, bottom, out=np.zeros(len(top)), where=np.asarray(bottom) > 0)


FOREIGN = (
    ForeignFormula("Recall", "divided by min(|gold|, K) instead of |gold|", _capped_recall),
    ForeignFormula("nDCG", "the ideal holds only the gold that was found: too high", _ndcg_of_found),
    ForeignFormula("nDCG", "equal scores share their ranks, as in scikit-learn", _ndcg_of_ties),
    ForeignFormula("AUPRC", "trapezoids under the precision-recall curve: too high", _trapezoids),
    ForeignFormula("ECE", "bins of equal size instead of equal width", _bins_of_equal_size),
    ForeignFormula("ECE", "the largest gap of any bin (MCE)", _largest_gap),
    ForeignFormula("ECE", "the root of the mean squared gap", _root_mean_square_gap),
)
