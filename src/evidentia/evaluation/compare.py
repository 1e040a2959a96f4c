"""Compare systems fairly: the same queries, the same resamples, the same definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError, counted, shown, spelled
from evidentia.evaluation.choose import COUNTED, MeasureChoice, not_compared
from evidentia.evaluation.cluster_sums import per_cluster
from evidentia.evaluation.compute import Computation, compute
from evidentia.evaluation.deltas import (
    Contrast,
    DeltaBuilder,
    OnMismatch,
    few,
    judged,
    refuse_names,
    refuse_settings,
    reserved_for,
    t_limits,
)
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.plan import (
    OVERALL,
    Grouping,
    Thresholds,
    Want,
    grouping_by,
    unmet,
    with_tuned_decisions,
)
from evidentia.evaluation.replicates import Replicated, replicate
from evidentia.evaluation.sample_counts import simulated_kind
from evidentia.measures import Definition, Profile, resolve
from evidentia.measures.core import Additive, Macro
from evidentia.results import Comparison, Delta, Design, pairs
from evidentia.results.measure import Args
from evidentia.results.profiles import COMPARED_PER_CRITERION
from evidentia.results.sample_size import Sample, comparison_warnings, left_out_warning
from evidentia.stats.intervals import Limits
from evidentia.stats.resampling import Progress, ReplicatePlan, part_of
from evidentia.tables import Run
from evidentia.tables.queries import Queries

QueryKey = tuple[str, str]
ROUNDING = 1e-9


@dataclass(frozen=True)
class NamedRun:
    """A run under the name that the comparison calls it by."""

    name: str
    run: Run


def compare_systems(
    systems: Sequence[NamedRun],
    choice: MeasureChoice,
    resampling: Resampling,
    *,
    alpha: float = 0.05,
    on_mismatch: OnMismatch = "error",
    design: Design = "against first",
    progress: Progress | None = None,
) -> Comparison:
    """Paired deltas of every system against the first, or against the one before it, over the queries that all of them have.

    One resampling plan serves all pairs: it follows from the seed and the posts, which all systems share.
    """
    _refuse_what_cannot_be(systems, resampling, alpha)
    aligned, notes = align(systems, on_mismatch)
    definitions, missing = _shared(choice, aligned)
    sides = [_side(system, definitions) for system in aligned]
    resampling = resampling.settled(len(sides[0].queries.post_ids))
    wants = _wants(definitions, choice.profile, sides[0].queries)
    plan = resampling.plan(sides[0].queries)
    deltas: list[Delta] = []
    known: dict[str, _Replicates] = {}
    for pair in pairs(sides, design):  # each shares a system with the pair before it
        known = {
            side.name: known.get(side.name)
            or _Replicates.of(side, wants, plan, part_of(progress, sides.index(side), len(sides)))
            for side in pair
        }
        baseline, system = known.values()
        deltas += _Pair(choice.profile, baseline, system, resampling, alpha).deltas(wants)
    return Comparison(
        profile=choice.profile.name,
        systems=tuple(system.name for system in systems),
        seed=resampling.seed,
        resamples=resampling.resamples,
        alpha=alpha,
        queries=len(sides[0].queries),
        posts=len(sides[0].queries.post_ids),
        deltas=tuple(deltas),
        notes=(*notes, *choice.notes, *missing, *few(resampling.resamples)),
        interval=resampling.to_dict() | {"method": "t"},
        design=design,
    )


def _refuse_what_cannot_be(systems: Sequence[NamedRun], resampling: Resampling, alpha: float) -> None:
    refuse_names([system.name for system in systems])
    refuse_settings(resampling, alpha)


def align(systems: Sequence[NamedRun], on_mismatch: OnMismatch) -> tuple[list[NamedRun], list[str]]:
    """Cut every run to the queries that all have, if that was asked for; else a difference is an error that lists it."""
    keys = [_keys(system.run.queries) for system in systems]
    shared = set(keys[0]).intersection(*keys[1:])
    notes: list[str] = []
    for system, mine in zip(systems, keys, strict=True):
        extra = sorted(set(mine) - shared)
        if extra and on_mismatch == "error":
            remedy = spelled(
                "`evidentia compare --on-mismatch intersect`", 'evidentia.compare(..., on_mismatch="intersect")'
            )
            raise InputError(
                f"{system.name} has {counted(len(extra), 'query', 'queries')} that another result lacks "
                f"(first: post {shown(extra[0][0])}, criterion {shown(extra[0][1])}). Evaluate the same queries, or compare "
                f"what is shared with {remedy}."
            )
        if extra:
            notes.append(
                f"{system.name}: {counted(len(extra), 'query', 'queries')} that not all results have are left out"
            )
    if not shared:
        raise InputError("The results have no query in common.")
    order = [key for key in keys[0] if key in shared]
    cut = [_cut(system, mine, order) for system, mine in zip(systems, keys, strict=True)]
    for other in cut[1:]:
        _same_gold(cut[0], other)
    return cut, notes


def _keys(queries: Queries) -> list[QueryKey]:
    posts, criteria = queries.post_ids, queries.criterion_ids
    return [(posts[p], criteria[c]) for p, c in zip(queries.post, queries.criterion, strict=True)]


def _cut(system: NamedRun, keys: Sequence[QueryKey], order: Sequence[QueryKey]) -> NamedRun:
    """The queries in the given order, with posts and criteria numbered by it, so that equal keys have equal codes."""
    at = {key: row for row, key in enumerate(keys)}
    rows = np.array([at[key] for key in order])
    post, post_ids = _numbered([post for post, _ in order])
    criterion, criterion_ids = _numbered([criterion for _, criterion in order])
    part = system.run.queries.take(rows)
    queries = replace(part, post=post, post_ids=post_ids, criterion=criterion, criterion_ids=criterion_ids)
    whole = len(queries) == len(post_ids) * len(criterion_ids)
    return NamedRun(
        system.name, replace(system.run, queries=replace(queries, complete=whole), frame=system.run.frame[rows])
    )


def _numbered(labels: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Codes in the order of first appearance."""
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    return np.array([codes[label] for label in labels]), tuple(codes)


def _same_gold(first: NamedRun, other: NamedRun) -> None:
    different = first.run.queries.label != other.run.queries.label
    columns = [system.run.frame for system in (first, other) if "gold_sent_uids" in system.run.frame.columns]
    if len(columns) == 2:
        golds = [frame["gold_sent_uids"].list.sort().list.join("|") for frame in columns]
        different = different | (golds[0] != golds[1]).fill_null(True).to_numpy()
    if different.any():
        key = _keys(first.run.queries)[int(np.argmax(different))]
        raise InputError(
            f"{first.name} and {other.name} disagree about the gold of {counted(int(different.sum()), 'query', 'queries')} "
            f"(first: post {shown(key[0])}, criterion {shown(key[1])}). Systems can only be compared on the same truth."
        )


def _shared(choice: MeasureChoice, systems: Sequence[NamedRun]) -> tuple[list[Definition], list[str]]:
    """What can be compared, and where measures were asked for, a note about each that cannot."""
    wanted = choice.definitions()
    counts = [name for name, d in wanted.items() if d.measure.family == "counts"]
    lacking = [name for name, d in wanted.items() if any(unmet(d, system.run) is not None for system in systems)]
    notes = not_compared({COUNTED: counts, "not every result has what it needs": lacking})
    compared = dict.fromkeys(d for name, d in wanted.items() if name not in {*counts, *lacking})
    return list(compared), notes if choice.asked else []


@dataclass(frozen=True, eq=False)
class _Side:
    """A system's queries with its decisions at tuned thresholds."""

    name: str
    queries: Queries
    thresholds: Thresholds


def _side(system: NamedRun, definitions: Sequence[Definition]) -> _Side:
    run, thresholds = with_tuned_decisions(system.run, definitions)
    return _Side(system.name, run.queries, thresholds)


def _wants(definitions: Sequence[Definition], profile: Profile, queries: Queries) -> dict[str, list[Want]]:
    """The base measures, then the deltas per criterion: two families, each corrected on its own."""
    named = {resolve(name, profile).definition for name in COMPARED_PER_CRITERION}
    per_criterion = [d for d in definitions if d in named and not isinstance(d.kind, Macro)]
    by_criterion = grouping_by(queries, "criterion")
    assert by_criterion is not None
    return {
        "measures": [(d, OVERALL) for d in definitions],
        "criteria": [(d, by_criterion) for d in per_criterion],
    }


@dataclass(frozen=True, eq=False)
class _Replicates:
    """What is compared of a system: its values, and those of every resample."""

    name: str
    queries: Queries
    computed: Computation
    replicated: list[Replicated]

    @classmethod
    def of(
        cls, side: _Side, families: Mapping[str, Sequence[Want]], plan: ReplicatePlan, progress: Progress | None
    ) -> _Replicates:
        wants = [want for family in families.values() for want in family]
        computed = compute(side.queries, wants, thresholds=side.thresholds)
        return cls(side.name, side.queries, computed, list(replicate(side.queries, wants, plan, progress)))


@dataclass(frozen=True)
class _Pair:
    """One system against its baseline."""

    profile: Profile
    baseline: _Replicates
    system: _Replicates
    resampling: Resampling
    alpha: float

    def deltas(self, families: Mapping[str, Sequence[Want]]) -> list[Delta]:
        """The deltas of every family."""
        builder = DeltaBuilder(self.profile, self.baseline.name, self.system.name, self.resampling)
        deltas = {(c.definition, c.grouping.columns): builder.deltas(c) for c in self._contrasts()}
        judged_deltas: list[Delta] = []
        for family, members in families.items():
            own = [delta for d, g in members for delta in deltas[d, g.columns]]
            judged_deltas += judged(own, family, self.alpha, once=True)
        return judged_deltas

    def _contrasts(self) -> Iterator[Contrast]:
        first, second = self.baseline.computed, self.system.computed
        for first_values, other in zip(self.baseline.replicated, self.system.replicated, strict=True):
            d, g, differences = first_values.definition, first_values.grouping, other.values - first_values.values
            cells = first.cell(d, g), second.cell(d, g)
            effective = np.minimum(first.effective(d, g), second.effective(d, g))
            limits, p = t_limits(cells, differences, effective, self.resampling.level)
            warnings = self._warnings((first, second), d, g, effective, limits)
            yield Contrast(d, g, cells, limits, p, warnings)

    def _warnings(
        self,
        computed: tuple[Computation, Computation],
        definition: Definition,
        grouping: Grouping,
        effective: Floats,
        limits: Limits,
    ) -> list[list[str]]:
        """The same reservations as an evaluation has; a name before one that holds for one of the two only."""
        posts = np.minimum(*(each.cell(definition, grouping).clusters for each in computed))
        positives = computed[0].positive_counts(grouping)
        differing = differing_posts(self.baseline.queries, self.system.queries, definition, grouping)
        kind, warnings = simulated_kind(definition), []
        for i in range(len(grouping)):
            sample = Sample(int(posts[i]), float(effective[i]), int(positives[i]), kind)
            names = self.baseline.name, self.system.name
            reserved = {n: c.reservations(definition, grouping, i) for n, c in zip(names, computed, strict=True)}
            warnings.append(
                [
                    *comparison_warnings(sample, None if differing is None else int(differing[i])),
                    *left_out_warning(int(limits.left_out[i]), self.resampling.resamples),
                    *reserved_for(reserved),
                ]
            )
        return warnings


def differing_posts(first: Queries, second: Queries, definition: Definition, grouping: Grouping) -> Ints | None:
    """In how many posts of every group two systems add different sums to a measure; None where it is not made of sums."""
    kind, args = definition.kind, definition.args
    if not isinstance(kind, Additive):
        return None
    counts = []
    for code in range(len(grouping)):
        rows = None if grouping.codes is None else np.flatnonzero(grouping.codes == code)
        parts = [queries if rows is None else queries.take(rows) for queries in (first, second)]
        first_sums, other = (per_cluster(part, kind.statistic, args) for part in parts)
        used = _used_columns(kind, first_sums.sum(axis=0) + other.sum(axis=0), args)
        counts.append(np.count_nonzero((np.abs(first_sums - other) > ROUNDING)[:, used].any(axis=1)))
    return np.array(counts)


def _used_columns(kind: Additive, sums: Floats, args: Args) -> Ints:
    """The columns of a statistic that a measure depends on: several measures may share one statistic."""
    moved = kind.finish(sums + np.vstack([np.zeros_like(sums), np.diag(1 + sums / 2)]), args).values
    return np.flatnonzero(moved[1:] != moved[0])
