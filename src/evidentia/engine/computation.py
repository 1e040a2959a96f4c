"""The computation of a run of which only totals and narrow columns are left: it answers what that of a run in memory does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.engine.columns import Key
from evidentia.engine.endings import Remains, SpreadTask, ended
from evidentia.engine.executors import Executor
from evidentia.engine.kept import LEVELS, cut_columns, level_of
from evidentia.engine.reduction import Totals, squares_key
from evidentia.engine.specification import Labels, RunShape, empty_queries
from evidentia.engine.steps import Steps
from evidentia.evaluation.compute import Computation, population_key
from evidentia.evaluation.plan import Grouping
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Outcome, Sweep
from evidentia.results import Distribution
from evidentia.results.measure import Args
from evidentia.stats.resampling import in_threads
from evidentia.stats.sweeps import Counts
from evidentia.tables.queries import Coded, Queries

SHOWN = ((), ("fold",))  # groupings of the sweeps in figures
FEW = 500_000  # queries up to which workers would cost more time than they save

Columns = tuple[str, ...]


@dataclass
class SpilledComputation(Computation):
    """Everything that was computed of a run whose rows are gone; what needs all of them is computed when it is asked for."""

    totals: Totals = field(default_factory=Totals)
    remains: Remains | None = None
    executor: Executor | None = None
    _fits: dict[tuple[Definition, Columns], list[tuple[float, int]]] = field(default_factory=dict)
    _spreads: dict[Key, dict[Columns, list[Distribution | None]]] = field(default_factory=dict)
    _steps: dict[tuple[str, Columns], list[Steps]] = field(default_factory=dict)

    def _size(self, definition: Definition, grouping: Grouping) -> tuple[Ints, Ints]:
        n, clusters = self.totals.counts["size", *population_key(definition, grouping)]
        return n, clusters

    def _totals(self, unit: str, grouping: Grouping) -> Ints:
        return self.totals.counts["totals", unit, grouping.columns]

    def effective(self, definition: Definition, grouping: Grouping) -> Floats:
        """The effective number of posts behind the number of every group; of a sweep, that of its rarer class."""
        if definition.population.unit == "post" and not isinstance(definition.kind, Sweep):
            return self._size(definition, grouping)[1].astype(np.float64)
        classes = self.totals.counts["squares", *squares_key(definition, grouping)].astype(np.float64)
        each = [np.divide(size**2, square, out=np.zeros(len(size)), where=square > 0) for size, square in classes]
        smallest: Floats = np.min(each, axis=0)
        return smallest

    def positive_counts(self, grouping: Grouping) -> Ints:
        """How many queries of every group have evidence."""
        return self.totals.counts["evidence", grouping.columns]

    def _positives(self, grouping: Grouping) -> Floats:
        return self.positive_counts(grouping).astype(np.float64)

    def distributions(self, definition: Definition, grouping: Grouping) -> list[Distribution | None]:
        """The spread of the values behind a mean in every group; None where there is none."""
        kind = definition.kind
        if not isinstance(kind, Additive) or kind.per_query is None:
            return [None] * len(grouping)
        return self._spreads[kind.statistic.key(definition.args)][grouping.columns]

    def _fitted(self, definition: Definition, grouping: Grouping) -> Outcome:
        solved = self._fits[definition, grouping.columns]
        return Outcome(np.array([value for value, _ in solved]), np.array([flaw for _, flaw in solved], np.int8))

    def _end(self) -> None:
        """All fits and spreads, shared among the workers."""
        assert self.remains is not None
        assert self.executor is not None
        remains, tasks = self.remains, list(self.remains.tasks())
        if remains.fits:
            for scores, _ in remains.partitions("query"):
                scores.put_together()
        each = partial(ended, remains)
        few = int(self.totals.counts["flags",][2]) <= FEW
        answers = map(each, tasks) if few else self.executor.map(each, tasks)
        for task, answer in zip(tasks, answers, strict=True):
            if isinstance(task, SpreadTask):
                self._spreads[task.key] = answer
                continue
            for definition, solved in zip(remains.fits, answer, strict=True):
                self._fits.setdefault((definition, task.columns), []).append(solved)

    def _counts(self, kind: Sweep, args: Args, grouping: Grouping) -> tuple[Counts, ...]:
        return tuple(steps.counts() for steps in self._steps[level_of(args), grouping.columns])

    def turns(self, columns: Columns) -> Iterator[Counts]:
        """The sweep over queries in every group of a grouping that figures show, one after the other."""
        return (steps.turns() for steps in self._steps["query", columns])

    def prepare(self) -> None:
        """Compute what needs all queries at once; steps of sweeps are kept only for figures."""
        assert self.remains is not None
        self._end()
        for level in LEVELS:
            self._count(level)
            for definition, grouping in self.remains.sweeps(level):
                self.cell(definition, grouping)
            self._steps = {key: steps for key, steps in self._steps.items() if key[1] in SHOWN and key[0] == "query"}

    def _count(self, level: str) -> None:
        """The steps of every grouping, cell by cell."""
        assert self.remains is not None
        for scores, cells in self.remains.partitions(level):
            gold = [scores.read("gold", cell) for cell in range(cells.size)]
            steps = {
                columns: [
                    Steps(np.concatenate([gold[c] for c in np.flatnonzero(groups == g)]))
                    for g in range(int(groups.max()) + 1)
                ]
                for columns, groups in cells.groups.items()
            }
            chunks = (
                (chunk, [steps[columns][groups[cell]] for columns, groups in cells.groups.items()])
                for cell in range(cells.size)
                for chunk in scores.chunks("other", cell)
            )
            for _ in in_threads(_add_to_all, chunks):
                pass
            self._steps |= {(level, columns): of_groups for columns, of_groups in steps.items()}


def _add_to_all(chunk: Floats, steps: Sequence[Steps]) -> None:
    chunk.sort()
    for each in steps:
        each.add(chunk)


def planned_queries(shape: RunShape, labels: Labels, cuts: Ints, *, complete: bool) -> Queries:
    """A table of one post whose two queries differ in every column that cuts through some post: all that plans ask of rows."""
    empty = empty_queries(shape, labels)
    two = replace(empty, post=np.zeros(2, np.int64), criterion=np.zeros(2, np.int64), label=np.zeros(2, np.bool_))
    two = replace(two, state=None if two.state is None else np.zeros(2, np.int64))
    codes = {
        column: np.array([0, count > 0], np.int64) for (column, _), count in zip(cut_columns(two), cuts, strict=True)
    }
    changes: dict[str, Any] = {"state": codes["state"]} if "state" in codes else {}
    if empty.fold is not None:
        changes["fold"] = Coded(codes["fold"], empty.fold.labels)
    slices = {name: Coded(codes[name], coded.labels) for name, coded in empty.slices.items()}
    return replace(
        two,
        criterion=codes["criterion"],
        label=codes["has_evidence"] > 0,
        slices=MappingProxyType(slices),
        complete=complete,
        **changes,
    )
