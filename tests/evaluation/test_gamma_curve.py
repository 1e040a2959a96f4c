"""The sweep over gamma of an evaluated run: by hand, and only where there are node probabilities."""

from __future__ import annotations

import polars as pl

import evidentia
from evidentia.results import Curve
from evidentia.synth import synthetic_run
from evidentia.tables import read_run

FIRST = [0.5, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]  # shares 0.5, 0.7, 0.8, 0.9, 1
POOLS = {"a": (FIRST, {0, 3}), "b": (FIRST, {0}), "c": ([0.9, 0.0, 0.0], set())}
PROBS = {"a": 0.9, "b": 0.1, "c": 0.6}  # the gate stops b


def queries(gold: bool = True, probs: dict[str, float] = PROBS) -> pl.DataFrame:
    labels = [gold and bool(marks) for _, marks in POOLS.values()]
    return pl.DataFrame(
        {"post_id": list(POOLS), "criterion_id": "x", "has_evidence": labels, "prob": list(probs.values())}
    )


def candidates(gold: bool = True) -> pl.DataFrame:
    rows = [
        (post, "x", f"{post}{at}", 10.0 - at, gold and at in marks, prob)
        for post, (mass, marks) in POOLS.items()
        for at, prob in enumerate(mass)
    ]
    return pl.DataFrame(rows, ["post_id", "criterion_id", "sent_uid", "score", "is_gold", "node_prob"], orient="row")


def swept(per_query: pl.DataFrame, pool: pl.DataFrame | None) -> Curve | None:
    found = evidentia.evaluate(read_run(per_query, candidates=pool), resamples=0).curves
    return next((curve for curve in found if curve.name == "gamma_sweep"), None)


def test_a_hand_worked_sweep() -> None:
    """a wants 2, 3, 4, 5 of 10; c wants 1 of 3 and gets the floor of 2; b gets nothing, and its evidence is lost."""
    curve = swept(queries(), candidates())
    assert curve is not None
    assert dict(curve.columns) == {
        "gamma": (0.7, 0.8, 0.9, 0.95),
        "mean_k": (2.0, 2.5, 3.0, 3.5),
        "evidence_recall": (0.25, 0.25, 0.5, 0.5),
        "workload": (4, 5, 6, 7),
        "at_floor": (0.5,) * 4,
        "at_cap": (0.0,) * 4,
    }


def test_gamma_raises_k_on_a_realistic_run() -> None:
    made = synthetic_run(seed=5, posts=30, criteria=3, positives=20)
    curve = swept(made.per_query, made.candidates)
    assert curve is not None
    mean_k = [value or 0.0 for value in curve.columns["mean_k"]]
    assert mean_k == sorted(mean_k)
    assert mean_k[-1] > mean_k[0]


def test_without_node_probabilities_there_is_none() -> None:
    assert swept(queries(), candidates().drop("node_prob")) is None
    assert swept(queries(), None) is None


def test_what_nobody_can_say_is_empty() -> None:
    shut = swept(queries(probs=dict.fromkeys(POOLS, 0.2)), candidates())
    assert shut is not None
    assert {shut.columns[name] for name in ("mean_k", "at_floor", "at_cap")} == {(None,) * 4}
    assert shut.columns["evidence_recall"] == (0.0,) * 4
    bare = swept(queries(gold=False), candidates(gold=False))
    assert bare is not None
    assert bare.columns["evidence_recall"] == (None,) * 4
