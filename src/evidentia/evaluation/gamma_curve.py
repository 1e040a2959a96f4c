"""What other gammas would return, as data for a figure. This is for looking: gamma is chosen on TUNE."""

from __future__ import annotations

from evidentia.protocol.dynamic_k import gamma_sweep
from evidentia.results import Curve
from evidentia.tables.queries import Queries

Column = tuple[float | None, ...]


def gamma_curves(queries: Queries) -> tuple[Curve, ...]:
    """The sweep over gamma on the queries of a run; nothing where its candidates have no node probabilities.

    Scores alone need not be shares of anything, so they do not stand in for them here.
    """
    candidates, gate = queries.candidates, queries.gate
    if candidates is None or candidates.node_prob is None:
        return ()
    points = gamma_sweep(candidates, gate=gate, entering=queries.n_ranked)
    some_open, some_gold = gate is None or bool(gate.any()), bool(candidates.is_gold.any())
    columns: dict[str, Column] = {
        "gamma": tuple(point.gamma for point in points),
        "mean_k": tuple(point.mean_k if some_open else None for point in points),
        "evidence_recall": tuple(point.evidence_recall if some_gold else None for point in points),
        "workload": tuple(point.sentences for point in points),
        "at_floor": tuple(point.at_floor if some_open else None for point in points),
        "at_cap": tuple(point.at_cap if some_open else None for point in points),
    }
    return (Curve("gamma_sweep", "Dynamic K at other gammas", columns),)
