"""How many sentences to return: the fewest that hold a share gamma of the candidates' probability, and a sweep over gamma."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError
from evidentia.protocol.plain import Plain
from evidentia.tables.queries import Candidates

GAMMAS = (0.7, 0.8, 0.9, 0.95)
_ROUNDING = 1e-12  # a share that reaches gamma but for rounding reaches it


@dataclass(frozen=True)
class KPolicy:
    """The limits of K: at least ``k_min``, at most ``hard_cap`` and ``ratio`` of the candidates; never more than there are."""

    k_min: int = 2
    hard_cap: int = 10
    ratio: float = 0.5

    def __post_init__(self) -> None:
        if self.hard_cap < self.k_min or self.k_min < 0 or not 0 < self.ratio <= 1:
            raise InputError("Dynamic K needs 0 <= k_min <= hard_cap and a ratio above 0 and at most 1.")

    def limits(self, candidates: Ints) -> tuple[Ints, Ints]:
        """The floor and the cap of every query; on a short post the floor wins (erratum 9).

        Examples
        --------
        >>> [limit.tolist() for limit in KPolicy().limits(np.array([1, 3, 30]))]
        [[1, 2, 2], [1, 2, 10]]
        """
        part = Fraction(str(self.ratio))
        share = candidates * part.numerator // part.denominator
        floor = np.minimum(self.k_min, candidates)
        return floor, np.maximum(np.minimum(np.minimum(self.hard_cap, share), candidates), floor)


@dataclass(frozen=True)
class GammaPoint(Plain):
    """What a gamma does on TUNE. ``pinned`` says how K is held where gamma has no say in most queries, else None."""

    gamma: float
    mean_k: float
    evidence_recall: float
    sentences: int  # the workload: all that somebody would read
    at_floor: float  # share of the queries whose K was raised to the floor
    at_cap: float  # and lowered to the cap
    pinned: str | None


def wanted_k(candidates: Candidates, gamma: float) -> Ints:
    """The smallest K whose cumulated share of the candidates' probability reaches gamma, before any limit.

    Probabilities (``node_prob``, else scores from 0 on) are sorted and normalised to sum 1 within the query; all zero
    counts as uniform. Without the normalisation gamma would be inert (erratum 10).
    """
    if not 0 < gamma <= 1:
        raise InputError("gamma must lie above 0 and at most at 1.")
    mass = candidates.score if candidates.node_prob is None else candidates.node_prob
    if (mass < 0).any():
        raise InputError("Dynamic K cumulates probabilities; scores below 0 have no share. Give node_prob.")
    offsets = candidates.offsets
    lengths = np.diff(offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    total = np.bincount(owner, mass, minlength=len(lengths))
    mass = np.where(total[owner] > 0, mass, 1.0)
    ordered = mass[np.lexsort((-mass, owner))]
    shares = _running(ordered, offsets)
    reached = shares >= gamma - _ROUNDING
    within = np.arange(len(owner)) - offsets[:-1][owner] + 1
    first = np.full(len(lengths), np.iinfo(np.int64).max)
    np.minimum.at(first, owner[reached], within[reached])
    wanted: Ints = np.minimum(first, lengths)
    return wanted


def _running(ordered: Floats, offsets: Ints) -> Floats:
    """The cumulated share of each query's total, query by query so that long tables do not lose digits."""
    shares = np.empty(len(ordered))
    lengths = np.diff(offsets)
    for length in np.unique(lengths[lengths > 0]):  # queries of one length are a matrix
        within = offsets[:-1][lengths == length][:, None] + np.arange(length)
        running = np.cumsum(ordered[within], axis=1)
        shares[within] = running / running[:, -1:]
    return shares


def gamma_sweep(
    candidates: Candidates,
    *,
    gate: Bools | None = None,
    entering: Ints | None = None,
    policy: KPolicy | None = None,
    gammas: Sequence[float] = GAMMAS,
) -> tuple[GammaPoint, ...]:
    """Mean K, evidence recall and sentences to read for every gamma.

    ``entering`` is how many candidates of each query reached the selection, where earlier stages cut some off (None: all).

    The selection is the top K of the ranking by score, ties in input order. Mean K and the shares at a limit are over the
    queries that ``gate`` lets through (None: all); evidence recall is the mean over all queries with gold, and a query
    that the gate stops returns nothing.
    """
    policy = policy or KPolicy()
    lengths = np.diff(candidates.offsets)
    is_open = np.ones(len(lengths), bool) if gate is None else gate
    floor, cap = policy.limits(lengths if entering is None else entering)
    points = []
    for gamma in gammas:
        wanted = wanted_k(candidates, gamma)
        chosen = np.where(is_open, np.clip(wanted, floor, cap), 0)
        raised, lowered = (wanted < floor)[is_open], (wanted > cap)[is_open]
        points.append(
            GammaPoint(
                gamma,
                _mean(chosen[is_open]),
                _recall(candidates, chosen),
                int(chosen.sum()),
                _mean(raised),
                _mean(lowered),
                _pinned(_mean(raised), _mean(lowered)),
            )
        )
    return tuple(points)


def _mean(values: Ints | Bools | Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def _pinned(at_floor: float, at_cap: float) -> str | None:
    """Where most queries are held by a limit, gamma decides little."""
    if at_floor + at_cap <= 0.5:
        return None
    return "floor" if at_floor > at_cap else "cap"


def _recall(candidates: Candidates, chosen: Ints) -> float:
    """The mean over queries with gold of the share of it that is among the chosen top of the ranking."""
    lengths = np.diff(candidates.offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-candidates.score, owner))  # stable: equal scores keep their order
    rank = np.arange(len(owner)) - candidates.offsets[:-1][owner]
    selected = candidates.is_gold[order] & (rank < chosen[owner])
    gold = np.bincount(owner, candidates.is_gold, minlength=len(lengths))
    hits = np.bincount(owner, selected, minlength=len(lengths))
    return _mean(hits[gold > 0] / gold[gold > 0])
