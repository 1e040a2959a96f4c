"""Compare results of tables by what they wrote: Poisson weights are those of the posts' names, so replicates are paired."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Floats
from evidentia.errors import InputError
from evidentia.evaluation.choose import COUNTED, MeasureChoice, not_compared
from evidentia.evaluation.compute import Cell
from evidentia.evaluation.deltas import (
    Contrast,
    DeltaBuilder,
    few,
    judged,
    refuse_names,
    refuse_settings,
    reserved_for,
    t_limits,
)
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.plan import OVERALL, Grouping
from evidentia.evaluation.sample_counts import simulated_kind
from evidentia.evaluation.tables_result import Number, Replicates, TablesResult, refuse_unpaired
from evidentia.measures import Definition, Profile, resolve
from evidentia.measures.core import Macro, Outcome
from evidentia.results import Comparison, Delta, Design, pairs
from evidentia.results.names import group_suffix
from evidentia.results.profiles import COMPARED_PER_CRITERION
from evidentia.results.sample_size import UNDEFINED_CRITERIA, Sample, comparison_warnings, left_out_warning

Want = tuple[Definition, Grouping]
UNCOUNTED = "in how many posts two systems differ is not known, because their rows stayed in the tables"


def compare_results_of_tables(
    results: Sequence[TablesResult],
    choice: MeasureChoice,
    *,
    level: float = 0.95,
    alpha: float = 0.05,
    design: Design = "against first",
) -> Comparison:
    """Paired deltas of results that judged the same queries, from the values that they hold of every replicate."""
    refuse_names([result.name for result in results])
    refuse_unpaired(results)
    first = results[0]
    resampling = Resampling(first.summary["resamples"], first.summary["seed"], level, bootstrap="poisson")
    refuse_settings(resampling, alpha)
    compared, missing = _shared(choice, results)
    families = _families(compared, choice.profile, results)
    sides = [_Side(result, result.replicates(compared)) for result in results]
    deltas = [
        delta
        for baseline, system in pairs(sides, design)
        for delta in _Pair(choice.profile, baseline, system, resampling).deltas(families, alpha)
    ]
    return Comparison(
        profile=choice.profile.name,
        systems=tuple(result.name for result in results),
        seed=resampling.seed,
        resamples=resampling.resamples,
        alpha=alpha,
        queries=first.summary["dataset"]["queries"],
        posts=first.summary["dataset"]["posts"],
        deltas=tuple(deltas),
        notes=(*choice.notes, *missing, *few(resampling.resamples), UNCOUNTED),
        interval=resampling.to_dict() | {"method": "t"},
        design=design,
    )


def _shared(choice: MeasureChoice, results: Sequence[TablesResult]) -> tuple[list[Definition], list[str]]:
    """What all results hold, and where measures were asked for, a note about each that is not compared."""
    wanted = choice.definitions()
    counts = [name for name, d in wanted.items() if d.measure.family == "counts"]
    lacking = [name for name, d in wanted.items() if not all(result.holds(d) for result in results)]
    notes = not_compared({COUNTED: counts, "not every result holds them": lacking})
    compared = list(dict.fromkeys(d for name, d in wanted.items() if name not in {*counts, *lacking}))
    if not compared:
        words = "; ".join(notes) or "nothing was asked for"
        raise InputError(f"Nothing is left to compare: {words}. Evaluate the tables again with these measures.")
    return compared, notes if choice.asked else []


def _families(
    compared: Sequence[Definition], profile: Profile, results: Sequence[TablesResult]
) -> dict[str, list[Want]]:
    """The base measures, then the deltas per criterion: two families, each corrected on its own."""
    named = {resolve(name, profile).definition for name in COMPARED_PER_CRITERION}
    groups = tuple((("criterion", str(entry["criterion"])),) for entry in results[0].truth or ())
    by_criterion = Grouping(("criterion",), None, groups)
    single = [d for d in compared if d in named and not isinstance(d.kind, Macro)]
    return {
        "measures": [(d, OVERALL) for d in compared],
        "criteria": [
            (d, by_criterion)
            for d in single
            if all((d.expanded, group_suffix(group)) in result.numbers for result in results for group in groups)
        ],
    }


@dataclass(frozen=True, eq=False)
class _Side:
    """What is compared of a result: its numbers, and their values in every replicate."""

    result: TablesResult
    replicates: Mapping[Number, Replicates]

    @property
    def name(self) -> str:
        return self.result.name

    def entries(self, definition: Definition, grouping: Grouping) -> list[Mapping[str, Any]]:
        """What the summary says of every group."""
        return [self.result.numbers[definition.expanded, group_suffix(group)] for group in grouping.groups]

    def cell(self, definition: Definition, grouping: Grouping) -> Cell:
        """The values of every group with their sizes."""
        entries = self.entries(definition, grouping)
        values = np.array([math.nan if entry["value"] is None else entry["value"] for entry in entries], np.float64)
        flaws = np.array([entry["degenerate"] is not None for entry in entries], np.int8)
        n, clusters = (np.array([entry[key] for entry in entries], np.int64) for key in ("n", "n_clusters"))
        return Cell(Outcome(values, flaws), n, clusters, ({},) * len(grouping))

    def values(self, definition: Definition, grouping: Grouping) -> Floats:
        """The values of every group in every replicate."""
        return np.stack([each.values for each in self._replicates(definition, grouping)])

    def effective(self, definition: Definition, grouping: Grouping) -> Floats:
        """The effective number of posts behind every group."""
        return np.array([each.effective for each in self._replicates(definition, grouping)])

    def reservations(self, definition: Definition, grouping: Grouping, index: int) -> list[str]:
        """What a value does not cover."""
        words = self.entries(definition, grouping)[index]["warnings"]
        return [each for each in words if each.endswith(UNDEFINED_CRITERIA)]

    def _replicates(self, definition: Definition, grouping: Grouping) -> list[Replicates]:
        keys = [(definition.expanded, group_suffix(group)) for group in grouping.groups]
        missing = [f"{name}{suffix}" for name, suffix in keys if (name, suffix) not in self.replicates]
        if missing:
            raise InputError(f"{self.name} holds no replicates of {missing[0]}. Evaluate its tables again.")
        return [self.replicates[key] for key in keys]


@dataclass(frozen=True, eq=False)
class _Pair:
    """One result against its baseline."""

    profile: Profile
    baseline: _Side
    system: _Side
    resampling: Resampling

    def deltas(self, families: Mapping[str, Sequence[Want]], alpha: float) -> list[Delta]:
        """The deltas of every family."""
        builder = DeltaBuilder(self.profile, self.baseline.name, self.system.name, self.resampling)
        compared: list[Delta] = []
        for family, wants in families.items():
            own = [delta for want in wants for delta in builder.deltas(self._contrast(*want))]
            compared += judged(own, family, alpha, once=True)
        return compared

    def _contrast(self, definition: Definition, grouping: Grouping) -> Contrast:
        sides = self.baseline, self.system
        cells = self.baseline.cell(definition, grouping), self.system.cell(definition, grouping)
        differences = self.system.values(definition, grouping) - self.baseline.values(definition, grouping)
        effective = np.minimum(*(side.effective(definition, grouping) for side in sides))
        limits, p = t_limits(cells, differences, effective, self.resampling.level)
        posts = np.minimum(cells[0].clusters, cells[1].clusters)
        warnings = []
        for i, positives in enumerate(self._positives(grouping)):
            sample = Sample(int(posts[i]), float(effective[i]), positives, simulated_kind(definition))
            reserved = {side.name: side.reservations(definition, grouping, i) for side in sides}
            warnings.append(
                [
                    *comparison_warnings(sample, None),
                    *left_out_warning(int(limits.left_out[i]), self.resampling.resamples),
                    *reserved_for(reserved),
                ]
            )
        return Contrast(definition, grouping, cells, limits, p, warnings)

    def _positives(self, grouping: Grouping) -> list[int]:
        """How many queries of every group have evidence."""
        counts = [int(entry["with_evidence"]) for entry in self.baseline.result.truth or ()]
        return counts if grouping.columns else [sum(counts)]
