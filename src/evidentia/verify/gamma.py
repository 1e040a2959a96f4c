"""The sweep over gamma as it must have been written: K counted again, query by query and sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from evidentia.verify.evidence import Query
from evidentia.verify.sheet import Cell, Sheet

GAMMAS = (0.7, 0.8, 0.9, 0.95)
FEWEST, MOST = 2, 10  # K of a query; and at most half of its candidates
ROUNDING = 1e-12  # a share that is short of gamma by less reaches it
COLUMNS = ("gamma", "mean_k", "evidence_recall", "workload", "at_floor", "at_cap")


@dataclass(frozen=True)
class Pool:
    """A query: the share that its first 1, 2, ... most probable candidates hold, and whether each ranked one is gold."""

    shares: tuple[float, ...]
    gold: tuple[bool, ...]
    is_open: bool
    entering: int  # the candidates that reached the selection: those of the ranking, where there is one

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest K; on a short post the least wins."""
        count = self.entering
        least = min(FEWEST, count)
        return least, max(least, min(MOST, count // 2))

    def wanted(self, gamma: float) -> int:
        """The smallest K that holds the share, before any limit."""
        return next((k for k, share in enumerate(self.shares, 1) if share >= gamma - ROUNDING), len(self.shares))

    def chosen(self, gamma: float) -> int:
        """How many are returned; none where the gate says no."""
        least, largest = self.limits
        return min(max(self.wanted(gamma), least), largest) if self.is_open else 0


def gamma_sheets(queries: Sequence[Query]) -> list[Sheet]:
    """The one figure; none where candidates, or their node probabilities, are not in the folder."""
    candidates = [candidate for query in queries for candidate in query.candidates or ()]
    if not candidates or any(candidate.node_prob is None for candidate in candidates):
        return []
    pools = [_pool(query) for query in queries]
    return [Sheet("figures/gamma_sweep", COLUMNS, tuple(_row(pools, gamma) for gamma in GAMMAS))]


def _pool(query: Query) -> Pool:
    candidates = query.candidates or ()
    mass = sorted((candidate.node_prob or 0.0 for candidate in candidates), reverse=True)
    if not any(mass):
        mass = [1.0] * len(mass)
    running = list(accumulate(mass))
    ranked = sorted(candidates, key=lambda candidate: -candidate.score)  # stable: equal scores keep their order
    shares = tuple(part / running[-1] for part in running)
    entering = len(candidates) if query.ranked is None else len(query.ranked)
    return Pool(shares, tuple(candidate.gold for candidate in ranked), query.gate is not False, entering)


def _row(pools: Sequence[Pool], gamma: float) -> tuple[Cell, ...]:
    through = [pool for pool in pools if pool.is_open]
    chosen = [pool.chosen(gamma) for pool in through]
    recalls = [sum(pool.gold[: pool.chosen(gamma)]) / sum(pool.gold) for pool in pools if any(pool.gold)]
    raised = sum(pool.wanted(gamma) < pool.limits[0] for pool in through)
    lowered = sum(pool.wanted(gamma) > pool.limits[1] for pool in through)
    shares = (_share(raised, len(through)), _share(lowered, len(through)))
    return (gamma, _share(sum(chosen), len(through)), _share(sum(recalls), len(recalls)), sum(chosen), *shares)


def _share(part: float, of: int) -> float | None:
    return part / of if of else None
