"""What became of evidence: each missed gold sentence is charged to one stage, and K is counted again for every gamma."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from evidentia.verify.evidence import Query
from evidentia.verify.sheet import Cell, Sheet
from evidentia.verify.study import Study

GAMMAS = (0.7, 0.8, 0.9, 0.95)
FEWEST, MOST = 2, 10  # K of a query; and at most half of its candidates
ROUNDING = 1e-12  # a share that is short of gamma by less reaches it
COLUMNS = ("gamma", "mean_k", "evidence_recall", "workload", "at_floor", "at_cap")
LOSSES = ("gold", "returned", "retriever", "gate", "k", "ranking", "false_alerts", "false_returns")
REGRET = ("queries", "mean_k", "mean_oracle_k", "too_small", "too_large", "f1", "oracle_f1", "regret")


def attribution_sheets(study: Study) -> list[Sheet]:
    """Both tables, by criterion and over all; none without gold sentences, rankings and selections."""
    return study.once("attribution", lambda: _sheets(study))


def _sheets(study: Study) -> list[Sheet]:
    queries = study.queries
    if any(q.gold is None or q.ranked is None or q.selected is None for q in queries):
        return []
    cap = max((len(q.selected or ()) for q in queries), default=0)
    parts: dict[str, list[Query]] = {}
    for query in queries:
        parts.setdefault(query.criterion, []).append(query)
    ordered = {name: parts[name] for name in study.criteria} | {"all": list(queries)}
    losses = tuple((name, *_losses(part, cap)) for name, part in ordered.items())
    regrets = tuple((name, *regret) for name, part in ordered.items() if (regret := _regret(part)) is not None)
    sheets = [Sheet("tables/attribution", ("criterion", *LOSSES), losses)]
    if regrets:
        sheets.append(Sheet("tables/dynamic_k", ("criterion", *REGRET), regrets))
    return sheets


def _open(query: Query) -> bool:
    return query.gate is None or query.gate


def _losses(queries: Sequence[Query], cap: int) -> tuple[Cell, ...]:
    fates = Counter(fate for query in queries for fate in _fates(query, cap))
    negatives = [query for query in queries if not query.label]
    alerts = sum((q.state == "POS" if q.state is not None else _open(q)) for q in negatives if q.gate is not None)
    returns = sum(bool(query.selected) for query in negatives)
    stages = tuple(fates[stage] for stage in ("returned", "retriever", "gate", "k", "ranking"))
    return (sum(stages), *stages, alerts, returns)


def _fates(query: Query, cap: int) -> list[str]:
    """What became of every gold sentence of a query."""
    ranked, selected = query.ranked or (), set(query.selected or ())
    places = {uid: ranked.index(uid) + 1 for uid in query.gold or () if uid in ranked}
    deepest = sorted(places, key=lambda uid: -places[uid])
    beyond = set(deepest[: max(len(places) - cap, 0)])  # no ranking could have put all of them among the first
    fates = []
    for uid in query.gold or ():
        if uid in selected:
            fates.append("returned")
        elif uid not in places:
            fates.append("retriever")
        elif not _open(query):
            fates.append("gate")
        else:
            fates.append("k" if places[uid] <= cap or uid in beyond else "ranking")
    return fates


def _regret(queries: Sequence[Query]) -> tuple[Cell, ...] | None:
    judged = [query for query in queries if query.label and _open(query)]
    if not judged:
        return None
    best = [_oracle(query) for query in judged]
    sizes = [len(query.selected or ()) for query in judged]
    f1 = [_f1(len(set(q.selected or ()) & set(q.gold or ())), len(q.selected or ()), len(q.gold or ())) for q in judged]
    mean_f1, best_f1 = _mean(f1), _mean([score for _, score in best])
    smaller = sum(size < k for size, (k, _) in zip(sizes, best, strict=True))
    larger = sum(size > k for size, (k, _) in zip(sizes, best, strict=True))
    return (
        *(len(judged), _mean(sizes), _mean([k for k, _ in best]), smaller, larger),
        *(mean_f1, best_f1, best_f1 - mean_f1),
    )


def _oracle(query: Query) -> tuple[int, float]:
    """The smallest K with the largest F1 of the top K, and that F1; 0 where no gold sentence is ranked."""
    gold, hits, best = set(query.gold or ()), 0, (0, 0.0)
    for k, uid in enumerate(query.ranked or (), 1):
        hits += uid in gold
        score = _f1(hits, k, len(gold))
        if score > best[1]:
            best = (k, score)
    return best


def _f1(hits: int, k: int, gold: int) -> float:
    return 2 * hits / (k + gold) if k + gold else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


@dataclass(frozen=True)
class CandidatePool:
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


def _pool(query: Query) -> CandidatePool:
    candidates = query.candidates or ()
    mass = sorted((candidate.node_prob or 0.0 for candidate in candidates), reverse=True)
    if not any(mass):
        mass = [1.0] * len(mass)
    running = list(accumulate(mass))
    ranked = sorted(candidates, key=lambda candidate: -candidate.score)  # stable: equal scores keep their order
    shares = tuple(part / running[-1] for part in running)
    entering = len(candidates) if query.ranked is None else len(query.ranked)
    return CandidatePool(shares, tuple(candidate.gold for candidate in ranked), query.gate is not False, entering)


def _row(pools: Sequence[CandidatePool], gamma: float) -> tuple[Cell, ...]:
    through = [pool for pool in pools if pool.is_open]
    chosen = [pool.chosen(gamma) for pool in through]
    recalls = [sum(pool.gold[: pool.chosen(gamma)]) / sum(pool.gold) for pool in pools if any(pool.gold)]
    raised = sum(pool.wanted(gamma) < pool.limits[0] for pool in through)
    lowered = sum(pool.wanted(gamma) > pool.limits[1] for pool in through)
    shares = (_share(raised, len(through)), _share(lowered, len(through)))
    return (gamma, _share(sum(chosen), len(through)), _share(sum(recalls), len(recalls)), sum(chosen), *shares)


def _share(part: float, of: int) -> float | None:
    return part / of if of else None
