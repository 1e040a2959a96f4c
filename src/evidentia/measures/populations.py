"""The populations that numbers speak about, and the decisions that split them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from evidentia.array_types import Bools, Ints
from evidentia.results.measure import Args, Parameter, Population
from evidentia.tables.queries import NEG, POS, UNDECIDED, Queries

OPERATING_POINT = Parameter("t", ("0.5", "gate", "alert", "returned"), None, share=True)
POPULATION = Parameter("pop", ("positives", "all"), "positives")
GIVEN = Parameter("given", ("all", "gate"), "all")


def decision(queries: Queries, args: Args) -> Bools:
    """The yes/no of every query at the definition's operating point (thresholds are inclusive)."""
    point = args.get("t")
    if point is None:
        assert args.cut is not None
        return np.equal(queries.decisions[str(args.cut)], 1)
    if point == "gate":
        assert queries.gate is not None
        return queries.gate
    if point == "alert":
        return np.equal(_state(queries), POS)
    if point == "returned":
        assert queries.n_selected is not None
        return queries.n_selected > 0
    assert queries.prob is not None
    return queries.prob >= float(Decimal(point))


def decided(queries: Queries, args: Args) -> Bools:
    """The queries that have a yes or no: all, but for folds where a tuned threshold could not be had."""
    if args.get("t") is not None:
        return np.ones(len(queries), bool)
    return np.not_equal(queries.decisions[str(args.cut)], UNDECIDED)


def needs_of_point(args: Args) -> tuple[str, ...]:
    """What a run must have for the definition's operating point."""
    point = args.get("t")
    if point is None:
        return ("tune",)
    return {"gate": ("gate",), "alert": ("state",), "returned": ("selection",)}.get(point, ("prob",))


def _state(queries: Queries) -> Ints:
    assert queries.state is not None
    return queries.state


def _gate(queries: Queries) -> Bools:
    assert queries.gate is not None
    return queries.gate


ALL = Population("all queries", "", lambda q, a: None)
POSITIVES = Population("queries with evidence", "queries without evidence", lambda q, a: q.label)
NEGATIVES = Population("queries without evidence", "queries with evidence", lambda q, a: ~q.label)
SAID_YES = Population("queries answered yes", "queries answered no", decision)
SAID_NO = Population("queries answered no", "queries answered yes", lambda q, a: ~decision(q, a))
GATE_OPEN = Population("queries that the gate lets through", "queries that the gate stops", lambda q, a: _gate(q))
POSITIVES_GATE_OPEN = Population(
    "queries with evidence that the gate lets through",
    "queries without evidence or stopped by the gate",
    lambda q, a: q.label & _gate(q),
)
ALERTS = Population("queries in state POS", "queries in another state", lambda q, a: _state(q) == POS)
CANDIDATES = Population("all (query, candidate) pairs", "", lambda q, a: None, unit="candidate")
POSTS = Population("all posts", "", lambda q, a: None, unit="post")
POSTS_WITH_EVIDENCE = Population("posts with evidence", "posts without evidence", lambda q, a: q.label, unit="post")
POSTS_WITH_ALERT = Population(
    "posts with an alert", "posts without an alert", lambda q, a: _state(q) == POS, unit="post"
)


def among_decided(population: Population) -> Population:
    """A population without the queries of folds where a tuned threshold could not be had."""

    def mask(queries: Queries, args: Args) -> Bools:
        base = population.mask(queries, args)
        there = decided(queries, args)
        return there if base is None else base & there

    words = population.left_out + ", or " if population.left_out else ""
    return Population(population.words, f"{words}queries of folds that cannot be tuned", mask)


def skipped(queries: Queries) -> Bools:
    """The queries that the three-state gate skips."""
    states = _state(queries)
    return np.equal(states, NEG)


def asked_population(args: Args) -> Population:
    """The population that the ``pop`` parameter names."""
    return ALL if args["pop"] == "all" else POSITIVES
