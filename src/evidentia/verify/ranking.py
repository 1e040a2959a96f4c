"""Twins of the ranking measures: one value per query, from where its gold sentences stand."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats
from evidentia.results.measure import Args
from evidentia.verify.study import Study
from evidentia.verify.twins import TwinFamily, by_choice

family = TwinFamily("ranking")


def _depth(args: Args) -> int | None:
    return None if args.cut is None else args.k


def _total(study: Study, args: Args, gained: Floats) -> Floats:
    """What the gold sentences above the cut gain, added up per query."""
    ranks, depth = study.gold_ranks, _depth(args)
    inside = slice(None) if depth is None else ranks.rank <= depth
    sums: Floats = np.bincount(ranks.owner[inside], gained[inside], minlength=len(study)).astype(np.float64)
    return sums


def hits(study: Study, args: Args) -> Floats:
    """How many gold sentences stand above the cut."""
    return _total(study, args, np.ones(len(study.gold_ranks.rank)))


def share(top: Floats, bottom: Floats) -> Floats:
    """Divide; 0 over nothing."""
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), 0.0)


def _at_most_cut(size: Floats, args: Args) -> Floats:
    depth = _depth(args)
    return size if depth is None else np.minimum(size, depth)


@family.mean("Recall", population=by_choice)
def recall(study: Study, args: Args) -> Floats:
    """Gold sentences above the cut, of all gold sentences."""
    return share(hits(study, args), study.n_gold)


@family.mean("Precision", population=by_choice)
def precision(study: Study, args: Args) -> Floats:
    """Gold sentences above the cut, over the depth: K, or no more than were ranked."""
    depth = _depth(args)
    if depth is not None and args["depth"] == "k":
        return hits(study, args) / depth
    return share(hits(study, args), _at_most_cut(study.n_ranked, args))


@family.mean("HitRate", population=by_choice, proportion=True)
def hit_rate(study: Study, args: Args) -> Floats:
    """Whether a gold sentence stands above the cut."""
    return (hits(study, args) > 0).astype(np.float64)


@family.mean("MRR", population=by_choice)
def reciprocal_rank(study: Study, args: Args) -> Floats:
    """One over the rank of the first gold sentence."""
    ranks = study.gold_ranks
    return _total(study, args, np.where(ranks.ordinal == 1, 1 / ranks.rank, 0.0))


@family.mean("MAP", population=by_choice)
def average_precision(study: Study, args: Args) -> Floats:
    """Precision at the rank of every gold sentence above the cut, over what the norm says."""
    least, norm = _at_most_cut(study.n_gold, args), args["norm"]
    if norm == "found":
        divisor = hits(study, args)
    else:
        divisor = {"gold": study.n_gold, "min": least, "min_eff": np.minimum(least, study.n_ranked)}[norm]
    ranks = study.gold_ranks
    return share(_total(study, args, ranks.ordinal / ranks.rank), divisor)


@family.mean("nDCG", population=by_choice)
def ndcg(study: Study, args: Args) -> Floats:
    """Discounted gain above the cut, over that of the best order; the ideal comes from the labels."""
    gained = _total(study, args, 1 / np.log2(1 + study.gold_ranks.rank))
    best = _at_most_cut(study.n_gold, args).astype(np.int64)
    ideal = np.append(0.0, np.cumsum([1 / np.log2(1 + rank) for rank in range(1, best.max(initial=0) + 1)]))
    return share(gained, ideal[best])
