"""Every ranking measure, in every reading, against a second implementation that is too simple to be wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plain_ranking as plain
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidentia.evaluation import evaluate_run
from evidentia.measures import kernels
from evidentia.tables import read_run
from sampling import examples

KS = ("1", "2", "3", "10", "ALL")
LETTERS = "abcdefghijklmnop"
Query = tuple[set[str], list[str]]


@st.composite
def a_query(draw: Any) -> Query:
    """Gold and ranking; either may be empty, and gold may be missing from the ranking."""
    ranked = draw(st.lists(st.sampled_from(LETTERS), unique=True, max_size=12))
    gold = draw(st.sets(st.sampled_from(LETTERS), max_size=5))
    return gold, ranked


queries = st.lists(st.tuples(a_query(), st.integers(0, 2)), min_size=1, max_size=12)


def of_one(name: str, gold: set[str], ranked: list[str], k: int | None) -> float:
    base, _, choice = name.partition(":")
    if base == "MAP":
        return plain.average_precision(gold, ranked, k, choice)
    if base == "Precision":
        return plain.precision(gold, ranked, k, choice)
    simple = {"Recall": plain.recall, "HitRate": plain.hit, "MRR": plain.reciprocal_rank, "nDCG": plain.ndcg}
    return simple[base](gold, ranked, k)


READINGS = {
    **{f"MAP:{norm}": ("MAP", f"norm={norm},") for norm in ("gold", "found", "min", "min_eff")},
    **{f"Precision:{depth}": ("Precision", f"depth={depth},") for depth in ("k", "k_eff")},
    **{name: (name, "") for name in ("Recall", "HitRate", "MRR", "nDCG")},
}


@examples(25)
@given(queries)
def test_every_ranking_measure_is_what_plain_python_says(drawn: list[tuple[Query, int]]) -> None:
    frame = pl.DataFrame(
        {
            "post_id": [f"p{i}" for i in range(len(drawn))],
            "criterion_id": [f"A.{criterion}" for _, criterion in drawn],
            "gold_sent_uids": [[f"{i}.{u}" for u in sorted(gold)] for i, ((gold, _), _) in enumerate(drawn)],
            "ranked_sent_uids": [[f"{i}.{u}" for u in ranked] for i, ((_, ranked), _) in enumerate(drawn)],
        },
        schema_overrides={"gold_sent_uids": pl.List(pl.String), "ranked_sent_uids": pl.List(pl.String)},
    )
    expected = dict(expected_values(drawn))
    found = evaluate_run(read_run(frame), measures=expected)
    for name, mean in expected.items():
        assert found[name].value == pytest.approx(0.0 if mean is None else mean, rel=0, abs=1e-12), name
        assert (found[name].degenerate is None) == (mean is not None), name


def expected_values(drawn: list[tuple[Query, int]]) -> Any:
    """Name and mean (None: undefined) of every reading, population, average and depth."""
    for reading, (base, params) in READINGS.items():
        for k in KS:
            depth = None if k == "ALL" else int(k)
            for pop in ("positives", "all"):
                counted = [
                    (criterion, of_one(reading, gold, ranked, depth))
                    for (gold, ranked), criterion in drawn
                    if gold or pop == "all"
                ]
                yield f"{base}({params}pop={pop})@{k}", mean([v for _, v in counted])
                each = [mean([v for c, v in counted if c == criterion]) for criterion in {c for c, _ in counted}]
                yield f"{base}({params}pop={pop},avg=criterion)@{k}", mean([v for v in each if v is not None])
                if base == "MRR" and depth is None:
                    yield f"MRR(pop={pop})", mean([v for _, v in counted])


def mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


# values so close together that float32 or a tolerance would merge them, and plain ties
score = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, -3.0]), st.floats(-1e9, 1e9))


@examples(150)
@given(st.lists(st.lists(st.tuples(score, st.booleans()), max_size=12), min_size=1, max_size=6))
def test_gold_ranks_are_places_in_a_stable_sort(pools: list[list[tuple[float, bool]]]) -> None:
    flat = [candidate for pool in pools for candidate in pool]
    ranks = kernels.gold_ranks(
        np.array([s for s, _ in flat], float),
        np.array([g for _, g in flat], bool),
        np.concatenate([[0], np.cumsum([len(pool) for pool in pools])]).astype(np.int64),
    )
    for i, pool in enumerate(pools):
        order = plain.stable_ranking([s for s, _ in pool])
        expected = [place for place, at in enumerate(order, start=1) if pool[at][1]]
        assert ranks.values[ranks.offsets[i] : ranks.offsets[i + 1]].tolist() == expected


def test_gold_ranks_do_not_depend_on_how_the_work_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    scores, gold = rng.integers(0, 5, 400).astype(float), rng.random(400) < 0.3
    offsets = np.sort(np.concatenate([[0, 400], rng.integers(0, 401, 40)]))
    whole = kernels.gold_ranks(scores, gold, offsets)
    monkeypatch.setattr(kernels, "BLOCK", 7)
    assert kernels.gold_ranks(scores, gold, offsets).values.tolist() == whole.values.tolist()


@examples(60)
@given(st.lists(st.tuples(score, st.booleans()), min_size=1, max_size=10))
def test_a_ranking_taken_from_candidates_keeps_the_input_order_of_equal_scores(
    pool: list[tuple[float, bool]],
) -> None:
    uids = [f"s{i}" for i in range(len(pool))]
    candidates = pl.DataFrame(
        {
            "post_id": "p",
            "criterion_id": "A",
            "sent_uid": uids,
            "score": [float(s) for s, _ in pool],
            "is_gold": [g for _, g in pool],
        }
    )
    run = read_run(
        pl.DataFrame({"post_id": ["p"], "criterion_id": ["A"], "has_evidence": [any(g for _, g in pool)]}),
        candidates=candidates,
    )
    order = plain.stable_ranking([s for s, _ in pool])
    gold = {uid for uid, (_, is_gold) in zip(uids, pool, strict=True) if is_gold}
    found = evaluate_run(run, measures=["nDCG(pop=all)@3"])["nDCG(pop=all)@3"]
    assert found.value == pytest.approx(plain.ndcg(gold, [uids[i] for i in order], 3), rel=0, abs=1e-12)
