"""What every block is asked for: the same definitions and groupings everywhere, whatever a block happens to hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.evaluation.evaluate import defined_otherwise
from evidentia.evaluation.plan import OVERALL, Grouping, MeasurePlan, Want, grouping_by, plan_for
from evidentia.measures import Definition, profile_named
from evidentia.tables import Run
from evidentia.tables.queries import Candidates, Coded, Queries, Ragged

Columns = tuple[str, ...]
NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Labels:
    """The labels of all blocks, so that a code means the same in each."""

    criteria: tuple[str, ...]
    folds: tuple[str, ...] | None
    slices: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class RunShape:
    """Which columns the queries have, and whether candidates have probabilities."""

    columns: frozenset[str]
    node_prob: bool = False

    @classmethod
    def of(cls, queries: Queries) -> RunShape:
        """The shape of some queries."""
        columns = frozenset(f.name for f in fields(Queries) if getattr(queries, f.name) is not None)
        return cls(columns, queries.candidates is not None and queries.candidates.node_prob is not None)


@dataclass(frozen=True)
class Specification:
    """The measures that are asked for, by name, under a profile, and what the run is like."""

    profile: str
    names: tuple[str, ...]
    by: tuple[str, ...]
    labels: Labels


def empty_queries(shape: RunShape, labels: Labels) -> Queries:
    """A table without rows that has the columns and labels of the run."""
    kinds: dict[str, Any] = {
        **dict.fromkeys(("prob", "detection_score"), np.zeros(0)),
        **dict.fromkeys(("gate",), np.zeros(0, np.bool_)),
        **dict.fromkeys(("state", "n_gold", "n_ranked", "n_selected", "n_selected_gold"), NOTHING),
        "gold_ranks": Ragged(np.zeros(1, np.int64), NOTHING),
        "fold": Coded(NOTHING, labels.folds or ()),
        "candidates": Candidates(
            np.zeros(1, np.int64), np.zeros(0), np.zeros(0, np.bool_), np.zeros(0) if shape.node_prob else None
        ),
    }
    return Queries(
        post=NOTHING,
        criterion=NOTHING,
        label=np.zeros(0, np.bool_),
        post_ids=(),
        criterion_ids=labels.criteria,
        complete=True,
        slices=MappingProxyType({name: Coded(NOTHING, values) for name, values in labels.slices}),
        **{name: value for name, value in kinds.items() if name in shape.columns},
    )


def plan_of(queries: Queries, specification: Specification) -> MeasurePlan:
    """The plan for a run that has these columns and labels."""
    run = Run(queries=queries, frame=pl.DataFrame())
    return plan_for(run, profile_named(specification.profile), specification.names, specification.by)


def other_wants(queries: Queries, plan: MeasurePlan, profile: str) -> tuple[Want, ...]:
    """What the same names mean under the other profiles, over the whole run."""
    run = Run(queries=queries, frame=pl.DataFrame())
    return tuple((definition, OVERALL) for _, definition in defined_otherwise(run, profile_named(profile), plan))


@dataclass(frozen=True)
class AskedPairs:
    """Definitions with the columns that they are grouped by: those of the plan, and those that other profiles mean beside."""

    planned: tuple[tuple[Definition, Columns], ...]
    beside: tuple[tuple[Definition, Columns], ...]

    @property
    def both(self) -> tuple[tuple[Definition, Columns], ...]:
        """All of them."""
        return tuple(dict.fromkeys((*self.planned, *self.beside)))


@lru_cache(maxsize=4)
def asked(specification: Specification, shape: RunShape) -> AskedPairs:
    """What every block is asked for, as any block can have it."""
    queries = empty_queries(shape, specification.labels)
    plan = plan_of(queries, specification)
    others = other_wants(queries, plan, specification.profile)
    planned, beside = (tuple((d, grouping.columns) for d, grouping in wants) for wants in (plan.wants, others))
    return AskedPairs(planned, beside)


class Groupings:
    """The groupings of a table of queries, by their columns."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        self._known: dict[Columns, Grouping] = {(): OVERALL}

    def __getitem__(self, columns: Columns) -> Grouping:
        if columns not in self._known:
            grouping = OVERALL
            for column in columns:
                by_column = grouping_by(self.queries, column)
                assert by_column is not None
                grouping = grouping.crossed(by_column) if grouping.columns else by_column
            self._known[columns] = grouping
        return self._known[columns]

    def wants(self, asked: tuple[tuple[Definition, Columns], ...]) -> Iterator[Want]:
        """The definitions with their groupings."""
        return ((definition, self[columns]) for definition, columns in asked)


def relabelled(queries: Queries, labels: Labels) -> Queries:
    """The queries of a block under the labels of all blocks."""
    slices = dict(labels.slices)
    changes: dict[str, Any] = {
        "criterion": places(queries.criterion_ids, labels.criteria)[queries.criterion],
        "criterion_ids": labels.criteria,
        "slices": MappingProxyType({name: _under(c, slices[name]) for name, c in queries.slices.items()}),
        "complete": len(queries.post_ids) * len(labels.criteria) == len(queries),
    }
    if queries.fold is not None and labels.folds is not None:
        changes["fold"] = _under(queries.fold, labels.folds)
    return replace(queries, **changes)


def _under(coded: Coded, labels: tuple[str, ...]) -> Coded:
    return Coded(places(coded.labels, labels)[coded.codes], labels)


def places(some: tuple[str, ...], among: tuple[str, ...]) -> Ints:
    """The place of each label among all labels."""
    at = {label: place for place, label in enumerate(among)}
    return np.array([at[label] for label in some], np.int64)
