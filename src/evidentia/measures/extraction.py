"""Extraction: how many sentences does the system return, and are they the right ones?"""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.measures.core import Statistic, ratio_of_sums
from evidentia.measures.family import Family
from evidentia.measures.populations import (
    ALL,
    GATE_OPEN,
    GIVEN,
    POPULATION,
    POSITIVES,
    POSITIVES_GATE_OPEN,
    asked_population,
)
from evidentia.results.measure import Args, Parameter, Population
from evidentia.tables.queries import Queries

family = Family("extraction")
POOL = Parameter("pool", ("mean", "micro"), "mean")
CLOSED = Parameter("closed", ("counted", "zero"), "counted")
EMPTY = ("no queries in the population",)
SOURCES = "set-based recall and precision of a variable-length answer, as defined here"
OTHERS = {"elsewhere": "Recall@10 of the ranking is often printed under this name; with a dynamic K they differ"}


def _selected(queries: Queries) -> tuple[Ints, Ints]:
    assert queries.n_selected_gold is not None
    return _count(queries), queries.n_selected_gold


def _count(queries: Queries) -> Ints:
    assert queries.n_selected is not None
    return queries.n_selected


def _gold(queries: Queries) -> Ints:
    assert queries.n_gold is not None
    return queries.n_gold


@family.mean(
    "SelectedK",
    bound=None,
    label="Sentences selected per query",
    params=(GIVEN, CLOSED),
    population=lambda args: GATE_OPEN if args["given"] == "gate" else ALL,
    requires=lambda args: (
        ("selection",) if args["given"] == "all" and args["closed"] == "counted" else ("selection", "gate")
    ),
    direction="neither",
    bounds=(0.0, None),
    reasons=EMPTY,
    formula="mean of |selected|",
    meaning="How many sentences a reader gets per query: the reading load.",
    reference=SOURCES,
    groups=frozenset({"fold", "criterion", "state", "has_evidence", "slice"}),
    moot={("given", "gate"): ("closed",)},
    choices={
        "given=all": "over all queries",
        "given=gate": "over the queries that the gate lets through",
        "closed=counted": "what was selected counts, whatever the gate says",
        "closed=zero": "a query that the gate stops counts as 0",
    },
)
def selected_k(queries: Queries, args: Args) -> Floats:
    """Number of selected sentences of every query."""
    count = _count(queries)
    if args["closed"] == "zero":
        assert queries.gate is not None
        return np.where(queries.gate, count, 0).astype(float)
    return count.astype(float)


def _recall_population(args: Args) -> Population:
    if args["given"] == "gate":
        return POSITIVES_GATE_OPEN
    return POSITIVES if args["pool"] == "micro" else asked_population(args)


def _pooled(queries: Queries, args: Args) -> Floats:
    """Gold sentences found where the gate is open, and gold sentences there are (for given=gate: where it is open)."""
    assert queries.gate is not None
    _, hits = _selected(queries)
    gold = _gold(queries)
    there = np.where(queries.gate, gold, 0) if args["given"] == "gate" else gold
    return np.column_stack([np.where(queries.gate, hits, 0), there]).astype(float)


POOLED = ratio_of_sums(
    Statistic("pooled recall", _pooled, uses=("given",)),
    lambda sums, args: (sums[..., 0], sums[..., 1]),
    parts=("gold sentences found", "gold sentences"),
)


def _recall_needs(args: Args) -> tuple[str, ...]:
    gated = args["pool"] == "micro" or args["given"] == "gate"
    return ("gold", "selection", "gate") if gated else ("gold", "selection")


@family.mean(
    "EvidenceRecall",
    label="Evidence recall at the selected K",
    params=(POOL, GIVEN, POPULATION),
    variants={("pool", "micro"): POOLED},
    moot={("pool", "micro"): ("pop",), ("given", "gate"): ("pop",)},
    population=_recall_population,
    requires=_recall_needs,
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=("no gold sentences in the population",),
    formula="|selected and gold| / |gold|: mean over queries (pool=mean), or summed before dividing (pool=micro)",
    meaning="The share of the evidence that reaches the reader through the system's own selection.",
    reference=SOURCES,
    choices={
        "pool=mean": "every query weighs the same",
        "pool=micro": "every gold sentence weighs the same; a query that the gate stops finds nothing",
        "given=gate": "only queries with evidence that the gate lets through",
        "pop=all": "every query; with empty gold it scores 1 if nothing was selected, else 0",
    },
    conventions=OTHERS,
)
def evidence_recall(queries: Queries, args: Args) -> Floats:
    """Share of the gold sentences that was selected; with empty gold 1 if nothing was selected, else 0."""
    count, hits = _selected(queries)
    gold = _gold(queries)
    return np.where(gold > 0, hits / np.maximum(gold, 1), count == 0).astype(float)


@family.mean(
    "EvidencePrecision",
    label="Evidence precision at the selected K",
    params=(POPULATION,),
    population=asked_population,
    requires=("gold", "selection"),
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=EMPTY,
    formula="|selected and gold| / |selected|; nothing selected scores 0, except with pop=all and empty gold: 1",
    meaning="The share of the sentences handed to the reader that is evidence; the rest is reading for nothing.",
    reference=SOURCES,
    choices={
        "pop=positives": "queries with evidence; nothing selected scores 0",
        "pop=all": "every query; nothing selected scores 1 if gold is empty, else 0",
    },
)
def evidence_precision(queries: Queries, args: Args) -> Floats:
    """Share of gold among the selected sentences of every query."""
    count, hits = _selected(queries)
    nothing = (_gold(queries) == 0) if args["pop"] == "all" else np.zeros(len(queries), bool)
    return np.where(count > 0, hits / np.maximum(count, 1), nothing).astype(float)
