"""From a definition and a group to its number: one planner for point estimates, replicates and the loop that confirms them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.results.catalogue import Definition
from evidentia.results.measure import Args, Measure
from evidentia.results.sample_size import Kind, Sample
from evidentia.verify import calibration, counts, detection, extraction, gate, multilabel, ranking
from evidentia.verify.draws import Draws
from evidentia.verify.limits import effective_posts
from evidentia.verify.recipes import MeanOf, Nothing, Recipe, Sums, WholeBlock, over, point, replicated
from evidentia.verify.study import Group, Study
from evidentia.verify.sweeps import ThresholdSweep, sweep_of
from evidentia.verify.tally import Tally
from evidentia.verify.twins import TWINS, Column, Finish, FitTwin, Solution, SumTwin, SweepTwin, Twin, register, twin_of

for module in (counts, detection, calibration, ranking, extraction, gate, multilabel):
    register(module.family)

NO_CRITERION = "no criterion where it is defined and has weight"
LOOPS = 5  # replicates that a plain loop confirms


def has_twin(measure: Measure) -> bool:
    """Whether a measure can be verified."""
    return (measure.family, measure.base) in TWINS


def averaged(definition: Definition) -> bool:
    """Whether a definition is a mean over criteria."""
    return definition.args.get("avg") in {"criterion", "label_weighted"}


def within_criterion(definition: Definition) -> Definition:
    """What a mean over criteria averages."""
    return definition.with_params(avg="pooled", empty=None)


def sweeps(definition: Definition) -> bool:
    """Whether a definition is read off a sweep, or the mean of such numbers over criteria."""
    family = TWINS.get((definition.measure.family, definition.measure.base), ())
    return any(isinstance(twin, SweepTwin) for _, twin in family)


def has_values(definition: Definition) -> bool:
    """Whether a definition is the mean of one value per query."""
    if averaged(definition):
        return False
    twin = twin_of(definition)
    return isinstance(twin, SumTwin) and twin.values is not None


@dataclass(frozen=True)
class RecomputedNumber:
    """A recomputed number; ``undefined`` counts the criteria that a mean over them leaves out, and all of them."""

    value: float
    flaw: str | None
    n: int
    clusters: int
    details: dict[str, Any] = field(default_factory=dict)
    undefined: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class Planned:
    """How a number is replicated, what it rests on, and whether it is a proportion.

    ``gaps`` are the parts of a sum of absolute gaps.
    """

    recipe: Recipe
    sample: Sample
    proportion: bool
    gaps: tuple[Recipe, ...] = ()


@dataclass(eq=False)
class Planner:
    """Plans numbers over one study; those that need the same sweep share it. ``origin`` has the fits that a sample moves."""

    study: Study
    origin: Planner | None = None
    _sweeps: dict[tuple[str, bytes], ThresholdSweep] = field(default_factory=dict)
    _last: tuple[object, Args, Sequence[Column]] | None = None

    def plan(self, definition: Definition, group: Group) -> Planned:
        """Plan a number under any weights."""
        twin, rows = self._twin(definition), self.study.members(group)
        inside = rows & twin.population(self.study, definition.args)
        positives = int(np.count_nonzero(rows & self.study.label))
        clusters = self.study.clusters(inside)
        effective = float(clusters) if definition.population.unit == "post" else self._effective(definition, inside)
        sample = Sample(clusters, effective, positives, kind_of(definition, twin))
        gaps = self._gaps(twin, definition.args, rows)
        proportion = twin.proportion and not averaged(definition)
        return Planned(self.recipe(definition, rows), sample, proportion, gaps)

    def number(self, definition: Definition, group: Group) -> RecomputedNumber:
        """The number on the run as it is, with its size and what stands beside it."""
        study, args, rows = self.study, definition.args, self.study.members(group)
        n, clusters = self.sizes(definition, rows)
        recipe, block = self.recipe(definition, rows), WholeBlock(np.ones((len(study.posts), 1)))
        value = point(recipe, block)
        if isinstance(recipe, MeanOf):
            left = int(np.isnan([point(part, block) for part in recipe.parts]).sum())
            flaw = NO_CRITERION if math.isnan(value) else None
            return RecomputedNumber(0.0 if flaw else value, flaw, n, clusters, undefined=(left, len(recipe.parts)))
        twin, flaw = twin_of(definition), None
        if math.isnan(value):
            value, reason = self._undefined(twin, args, rows)
            flaw = definition.measure.reasons[reason - 1]
        details = {} if twin.details is None else twin.details(study, args, rows)
        return RecomputedNumber(value, flaw, n, clusters, {**details, **self._thresholds(args)})

    def try_replicates(self, definition: Definition) -> None:
        """Compute a number in a few draws, so that a twin that cannot do that fails here."""
        posts = len(self.study.posts)
        replicated([self.plan(definition, ()).recipe], Draws(posts, 2, 0, (np.arange(posts),)))

    def sizes(self, definition: Definition, rows: Bools) -> tuple[int, int]:
        """How many units of the population are among the queries, and from how many posts."""
        inside = rows & self._twin(definition).population(self.study, definition.args)
        clusters, unit = self.study.clusters(inside), definition.population.unit
        if unit == "candidate":
            return int(inside[self.study.units("candidate").owner].sum()), clusters
        return (clusters if unit == "post" else int(np.count_nonzero(inside))), clusters

    def values(self, definition: Definition) -> tuple[Floats, Bools]:
        """The value of every query, and which queries it counts for."""
        twin = twin_of(definition)
        assert isinstance(twin, SumTwin)
        assert twin.values is not None
        return twin.values(self.study, definition.args), twin.population(self.study, definition.args)

    def recipe(self, definition: Definition, rows: Bools) -> Recipe:
        """How the number over some queries is computed."""
        if averaged(definition):
            return self._mean_of_criteria(definition, rows)
        twin, args, study = twin_of(definition), definition.args, self.study
        if isinstance(twin, SweepTwin):
            read = twin.read
            return self._sweep(args.get("level") or "query", rows).reading(
                definition.expanded, lambda passed: read(passed, args)
            )
        if isinstance(twin, FitTwin):
            return self._fit(twin, rows)
        assert isinstance(twin, SumTwin)
        finish = study.once(("finish", definition.expanded), lambda: partial(_finish, twin.finish, args))
        if twin.post_columns is not None:
            columns = [np.asarray(column, np.float64) for column in twin.post_columns(study, args, rows)]
        else:
            columns = [study.per_post(column, rows) for column in self._columns(twin, args)]
        return Sums(np.array(columns), finish, count=twin.count)

    def _twin(self, definition: Definition) -> Twin:
        """The twin that knows the population: of a mean over criteria, that of what it averages."""
        return twin_of(within_criterion(definition) if averaged(definition) else definition)

    def _columns(self, twin: SumTwin, args: Args) -> Sequence[Column]:
        """The columns of the last definition are kept: its groups come one after the other."""
        if self._last is None or self._last[0] is not twin or self._last[1] != args:
            assert twin.columns is not None
            self._last = (twin, args, twin.columns(self.study, args))
        return self._last[2]

    def _mean_of_criteria(self, definition: Definition, rows: Bools) -> Recipe:
        study, inner = self.study, within_criterion(definition)
        each = [rows & study.members((("criterion", criterion),)) for criterion in study.criteria]
        parts = tuple(self.recipe(inner, mine) for mine in each)
        if definition.args["avg"] != "label_weighted":
            return MeanOf(parts)
        weights = np.array([study.per_post(study.label, mine) for mine in each])
        return MeanOf(parts, Sums(weights, lambda sums: sums))

    def _fit(self, twin: FitTwin, rows: Bools) -> Recipe:
        solution = (self.origin or self).solution(twin, rows if self.origin is None else None)
        if isinstance(solution, int):
            return Nothing()
        columns = []
        for column in twin.columns(solution, self.study.prob[rows], self.study.label[rows]):
            whole = np.zeros(len(self.study))
            whole[rows] = column
            columns.append(self.study.per_post(whole, rows))
        start = solution[0] if self.origin is None else None
        return Sums(np.array(columns), lambda sums: twin.step(solution, sums), start)

    def solution(self, twin: FitTwin, rows: Bools | None = None) -> Solution | int:
        """The solution of a fit, or the number of the reason why there is none."""
        rows = self.study.everyone if rows is None else rows
        return twin.solve(self.study.prob[rows], self.study.label[rows])

    def _undefined(self, twin: Twin, args: Args, rows: Bools) -> tuple[float, int]:
        if isinstance(twin, FitTwin):
            reason = self.solution(twin, rows)
            assert isinstance(reason, int)
            return 0.0, reason
        return (0.0, 1) if twin.undefined is None else twin.undefined(self.study, args, rows)

    def _thresholds(self, args: Args) -> dict[str, Any]:
        """The thresholds behind a number that TUNE set."""
        if args.get("threshold") != "tuned":
            return {}
        assert args.cut is not None
        chosen = {
            fold: {"value": t.value, "reason": t.reason, "tune_tpr": t.tpr, "tune_fpr": t.fpr}
            for fold, t in self.study.thresholds(args.cut).items()
        }
        return {"budget_fpr": args.level, "thresholds": chosen}

    def _gaps(self, twin: Twin, args: Args, rows: Bools) -> tuple[Recipe, ...]:
        """Every part of a sum of absolute gaps on its own, as a share of all queries."""
        if not isinstance(twin, SumTwin) or twin.gaps is None:
            return ()
        whole = self.study.per_post(self.study.everyone, rows)
        columns = (np.array([self.study.per_post(gap, rows), whole]) for gap in twin.gaps(self.study, args))
        return tuple(Sums(column, _share) for column in columns)

    def _effective(self, definition: Definition, rows: Bools) -> float:
        """How many even posts tell as much; of a sweep, those of its rarer class."""
        study = self.study
        if averaged(definition) or not isinstance(twin_of(definition), SweepTwin):
            return effective_posts(study.per_post(rows, rows))
        units = study.units(definition.args.get("level"))
        held = rows[units.owner]
        classes = (units.owner[held & units.label], units.owner[held & ~units.label])
        return min(effective_posts(np.bincount(study.post[owner]).astype(np.float64)) for owner in classes)

    def _sweep(self, level: str, rows: Bools) -> ThresholdSweep:
        key = (level, np.packbits(rows).tobytes())
        if key not in self._sweeps:
            units = self.study.units(level)
            held = rows[units.owner]
            post = self.study.post[units.owner[held]]
            self._sweeps[key] = sweep_of(units.score[held], units.label[held], post, len(self.study.posts))
        return self._sweeps[key]


def _finish(finish: Finish, args: Args, sums: Floats) -> Floats:
    return finish(sums, args)


def _share(sums: Floats) -> Floats:
    return over(sums[0], sums[1])


def kind_of(definition: Definition, twin: Twin) -> Kind | None:
    """The kind of number under which intervals were simulated; calibration errors, fits and means over criteria were not."""
    if averaged(definition) or isinstance(twin, FitTwin) or (isinstance(twin, SumTwin) and twin.gaps is not None):
        return None
    return "sweep" if isinstance(twin, SweepTwin) else "sum"


def check_loops(study: Study, draws: Draws, values: Mapping[tuple[str, Definition], Floats], tally: Tally) -> None:
    """The first draws again as studies of their own, every query repeated as often as its post was drawn.

    TUNE is not drawn, so that its thresholds stay what they are.
    """
    tuned = {key: value for key, value in study.memo.items() if isinstance(key, tuple) and key[0] == "thresholds"}
    ends = np.cumsum(np.bincount(study.post, minlength=len(study.posts)))
    origin, rows = Planner(study), np.split(np.argsort(study.post, kind="stable"), ends[:-1])
    for replicate in draws.first(LOOPS):
        picks = draws.picks(replicate)
        places = np.concatenate([rows[post] for post in picks])
        copies = np.repeat(np.arange(len(picks)), [len(rows[post]) for post in picks])
        repeated = [study.queries[place] for place in places]
        copy_ids = [str(copy) for copy in copies]
        planner = Planner(Study(repeated, study.tune, study.by, copy_ids, memo=dict(tuned)), origin)
        block = WholeBlock(np.ones((len(picks), 1)), draws.factors(np.full(1, float(len(picks)))))
        for (name, definition), drawn in values.items():
            value = None if np.isnan(drawn[replicate]) else float(drawn[replicate])
            again = point(planner.recipe(definition, planner.study.everyone), block)
            tally.number(f"{name}: replicate {replicate}, by a plain loop", value, again)
