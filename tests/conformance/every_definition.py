"""Every registered measure with every combination of its choices, and runs on which all of them can be computed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from evidentia.array_types import Floats
from evidentia.evaluation.compute import Cell, compute
from evidentia.evaluation.plan import OVERALL, Grouping, grouping_by, unmet, with_tuned_decisions
from evidentia.measures import MEASURES, PROFILES, Definition, resolve
from evidentia.measures.core import Macro, Selective, Tallied
from evidentia.results.measure import Args, Measure, Parameter
from evidentia.results.names import Cut, parse_cut
from evidentia.synth import SyntheticRun, synthetic_run
from evidentia.tables import Queries, Run, read_run

CUTS = {
    None: (None,),
    "k": ("1", "3", "ALL"),
    "FPR": ("FPR=5%",),
    "t": ("t=0.2",),
    "coverage": ("coverage=0.5",),
    "C": ("C=0.5", "C=common"),
    "cut": ("cut=6",),
}
FREE = {"t": ("0.2",), "bins": ("3",)}  # examples for choices that are open


def _values(parameter: Parameter) -> tuple[str, ...]:
    free = FREE[parameter.name] if parameter.share or parameter.whole_number else ()
    return (*parameter.values, *free)


def definitions_of(measure: Measure) -> Iterator[Definition]:
    """Every combination of the measure's choices, at the example cuts."""
    for choice in itertools.product(*(_values(parameter) for parameter in measure.params)):
        params = {parameter.name: value for parameter, value in zip(measure.params, choice, strict=True)}
        for text in CUTS[measure.cut]:
            cut: Cut | None = None if text is None else parse_cut(text, text)
            made = Definition(measure, Args(params, cut))
            if resolve(made.expanded, PROFILES["contract"]).definition == made:  # else a choice without effect was made
                yield made


EVERY = tuple(definition for measure in MEASURES for definition in definitions_of(measure))
SELECTIVE_ONES = tuple(d for d in EVERY if isinstance(d.kind, Selective))  # they need items, not queries
QUESTIONNAIRE_ONES = tuple(d for d in EVERY if isinstance(d.kind, Tallied))  # they need the items of a questionnaire
DEFINITIONS = tuple(d for d in EVERY if d not in {*SELECTIVE_ONES, *QUESTIONNAIRE_ONES})
EXPANDED = tuple(definition.expanded for definition in DEFINITIONS)
BY_NAME = dict(zip(EXPANDED, DEFINITIONS, strict=True))
COLUMNS = (None, "fold", "criterion", "state", "subreddit")


@dataclass(frozen=True)
class Table:
    """All cells of a run by (expanded definition, grouping column), and which definitions the run cannot have."""

    cells: dict[tuple[str, str | None], Cell]
    unmet: dict[str, str]


def read(tables: SyntheticRun) -> Run:
    return read_run(tables.per_query, candidates=tables.candidates, by=["subreddit"])


@cache
def nested() -> SyntheticRun:
    """A run with every column, candidates, and TRAIN, TUNE and EVAL rows."""
    return synthetic_run(seed=11, posts=60, criteria=4, positives=40, ties=0.3, splits=True, candidates=True)


def shuffled(tables: SyntheticRun, seed: int) -> SyntheticRun:
    return SyntheticRun(
        tables.per_query.sample(fraction=1, shuffle=True, seed=seed),
        tables.candidates.sample(fraction=1, shuffle=True, seed=seed),
    )


def edited(tables: SyntheticRun, *columns: pl.Expr) -> SyntheticRun:
    return SyntheticRun(tables.per_query.with_columns(columns), tables.candidates)


def with_decisions(run: Run) -> Run:
    """The run with the thresholds applied that tuned definitions ask for."""
    return with_tuned_decisions(run, [d for d in DEFINITIONS if unmet(d, run) is None])[0]


def all_cells(
    run: Run,
    *,
    columns: Iterable[str | None] = COLUMNS,
    groupings: Callable[[Queries, str], Grouping | None] = grouping_by,
    weights: Floats | None = None,
    block: int = 10**9,
) -> Table:
    """Compute everything that the run can have, over all groupings."""
    queries = with_decisions(run).queries
    missing = {d.expanded: reason for d in DEFINITIONS if (reason := unmet(d, run)) is not None}
    wants = []
    for definition in (d for d in DEFINITIONS if d.expanded not in missing):
        for column in columns:
            grouping = OVERALL if column is None else groupings(queries, column)
            if grouping is not None and not (column == "criterion" and isinstance(definition.kind, Macro)):
                wants.append((definition, column, grouping))
    computation = compute(queries, [(d, g) for d, _, g in wants], weights=weights, block=block)
    cells = {(d.expanded, column): computation.cell(d, grouping) for d, column, grouping in wants}
    return Table(cells, missing)


def same_bits(left: Cell, right: Cell) -> bool:
    """Whether two cells agree in everything, to the last bit."""
    return (
        left.outcome.values.tobytes() == right.outcome.values.tobytes()
        and np.array_equal(left.outcome.flaws, right.outcome.flaws)
        and np.array_equal(left.n, right.n)
        and np.array_equal(left.clusters, right.clusters)
        and left.details == right.details
    )


def of(table: Table, name: str) -> dict[str | None, Cell]:
    """The cells of one definition by grouping column; there must be some."""
    found = {column: cell for (expanded, column), cell in table.cells.items() if expanded == name}
    assert found, f"{name}: {table.unmet.get(name)}"
    return found
