"""Ranking measures of every query, from where its gold sentences stand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evidentia.verify.draws import Bools, Floats
from evidentia.verify.interval_arrays import Arrays
from evidentia.verify.interval_names import Defined
from evidentia.verify.replicate_sums import Additive, mean, of_population


def ranking(run: Arrays, what: Defined) -> Additive:
    """The mean over the population of a ranking measure."""
    values = RANKED[what.base](run, what)
    return mean(values, of_population(run, what), proportion=what.base == "HitRate")


def _inside(run: Arrays, what: Defined) -> Bools:
    """Which of the ranked gold sentences stand above the cut."""
    return np.ones(len(run.ranks.rank), bool) if what.depth is None else run.ranks.rank <= what.depth


def _total(run: Arrays, what: Defined, gained: Floats | Bools) -> Floats:
    """What the gold sentences above the cut gain, added up per query."""
    inside = _inside(run, what)
    sums: Floats = np.bincount(run.ranks.owner[inside], gained[inside], minlength=len(run)).astype(np.float64)
    return sums


def _hits(run: Arrays, what: Defined) -> Floats:
    return _total(run, what, np.ones(len(run.ranks.rank)))


def _share(top: Floats, bottom: Floats) -> Floats:
    """One over the other, 0 over nothing."""
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), 0.0)


def _cut(run: Arrays, what: Defined, size: Floats) -> Floats:
    """A size, but at most the cut."""
    return size if what.depth is None else np.minimum(size, what.depth)


def _recall(run: Arrays, what: Defined) -> Floats:
    return _share(_hits(run, what), run.n_gold.astype(np.float64))


def _precision(run: Arrays, what: Defined) -> Floats:
    length = run.n_ranked.astype(np.float64)
    if what.depth is not None and what.get("depth") == "k":
        return _hits(run, what) / what.depth
    return _share(_hits(run, what), _cut(run, what, length))


def _hit_rate(run: Arrays, what: Defined) -> Floats:
    return (_hits(run, what) > 0).astype(np.float64)


def _reciprocal_rank(run: Arrays, what: Defined) -> Floats:
    return _total(run, what, np.where(run.ranks.ordinal == 1, 1 / run.ranks.rank, 0.0))


def _average_precision(run: Arrays, what: Defined) -> Floats:
    gold, length = run.n_gold.astype(np.float64), run.n_ranked.astype(np.float64)
    least = _cut(run, what, gold)
    divisor = {"gold": gold, "found": _hits(run, what), "min": least, "min_eff": np.minimum(least, length)}
    return _share(_total(run, what, run.ranks.ordinal / run.ranks.rank), divisor[what.get("norm")])


def _ndcg(run: Arrays, what: Defined) -> Floats:
    gained = _total(run, what, 1 / np.log2(1 + run.ranks.rank))
    best = _cut(run, what, run.n_gold.astype(np.float64)).astype(np.int64)
    ideal = np.array([sum(1 / np.log2(1 + rank) for rank in range(1, size + 1)) for size in range(max(best) + 1)])
    return _share(gained, ideal[best])


RANKED: dict[str, Callable[[Arrays, Defined], Floats]] = {
    "Recall": _recall,
    "Precision": _precision,
    "HitRate": _hit_rate,
    "MRR": _reciprocal_rank,
    "MAP": _average_precision,
    "nDCG": _ndcg,
}
