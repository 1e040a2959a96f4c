"""A replicate drawn again over narrow columns: every number under the weights of the posts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Floats
from evidentia.results.catalogue import Definition
from evidentia.results.measure import Args
from evidentia.verify.plan import averaged, within_criterion
from evidentia.verify.recipes import over
from evidentia.verify.streamed.numbers import GroupedPlanner, columns_of
from evidentia.verify.streamed.study import Cells
from evidentia.verify.streamed.sweeps import steps_of
from evidentia.verify.sweeps import Passed
from evidentia.verify.twins import FitTwin, SumTwin, SweepTwin, twin_of


@dataclass(eq=False)
class RedrawnReplicate:
    """The numbers of a run whose posts count as often as a replicate says."""

    planner: GroupedPlanner
    by_post: Floats

    def __post_init__(self) -> None:
        self.study = self.planner.study
        self.weights: Floats = self.by_post[self.study.post]
        total = float(self.by_post.sum())
        self.factor = len(self.by_post) / total if total else np.nan

    def values(self, definition: Definition, cells: Cells) -> Floats:
        """The value of every group, NaN where it is undefined."""
        values = self._means(definition, cells) if averaged(definition) else self._plain(definition, cells)
        return np.where(np.isnan(self.factor), np.nan, values)

    def gaps(self, definition: Definition, cells: Cells) -> Floats:
        """The parts of a sum of absolute gaps as shares of all queries: gaps x groups."""
        twin = twin_of(definition)
        assert isinstance(twin, SumTwin)
        assert twin.gaps is not None
        whole = cells.sums(self.weights)
        return np.array([over(cells.sums(gap * self.weights), whole) for gap in twin.gaps(self.study, definition.args)])

    def _plain(self, definition: Definition, cells: Cells) -> Floats:
        twin, args = twin_of(definition), definition.args
        if isinstance(twin, SweepTwin):
            return np.array([float(twin.read(passed, args)[0]) for passed in self._passed(args, cells)])
        if isinstance(twin, FitTwin):
            return np.array(list(self._steps(twin, cells)))
        assert isinstance(twin, SumTwin)
        sums = self._sums(twin, args, cells)
        return np.asarray(twin.finish(sums * self.factor if twin.count else sums, args), np.float64)

    def _sums(self, twin: SumTwin, args: Args, cells: Cells) -> Floats:
        if twin.post_columns is None:
            assert twin.columns is not None
            return np.array([cells.sums(column * self.weights) for column in twin.columns(self.study, args)])
        whole = Cells(((),), None)
        members = (self.study.members(group) for group in cells.groups)
        columns = (twin.post_columns(self.study, args, rows) for rows in members)
        return np.array([[whole.sums(column * self.by_post)[0] for column in group] for group in columns]).T

    def _passed(self, args: Args, cells: Cells) -> Iterator[Passed]:
        if args.get("level") == "candidate":
            return (steps.passed() for steps in self.study.count_candidates(cells, self.weights))
        members = (self.study.members(group) for group in cells.groups)
        score, label = self.study.score, self.study.label
        return (steps_of(score[rows], label[rows], self.weights[rows]).passed() for rows in members)

    def _steps(self, twin: FitTwin, cells: Cells) -> Iterator[float]:
        """One Newton step of every group from the solution of the run."""
        for group in cells.groups:
            rows = self.study.members(group)
            solution = self.planner.solution(twin, rows)
            if isinstance(solution, int):
                yield np.nan
                continue
            weights = self.weights[rows]
            columns = twin.columns(solution, self.study.prob[rows], self.study.label[rows])
            sums = np.array([[float((column * weights).sum())] for column in columns])
            yield float(twin.step(solution, sums)[0])

    def _means(self, definition: Definition, cells: Cells) -> Floats:
        """Means over criteria: each counts the same, or by its positives."""
        crossed = self.study.cells((*columns_of(cells.groups[0]), "criterion"))
        values = self._plain(within_criterion(definition), crossed).reshape(len(cells.groups), -1)
        shares = (~np.isnan(values)).astype(np.float64)
        if definition.args["avg"] == "label_weighted":
            shares *= crossed.sums(self.study.label * self.weights).reshape(values.shape)
        return over((np.nan_to_num(values) * shares).sum(axis=1), shares.sum(axis=1))
