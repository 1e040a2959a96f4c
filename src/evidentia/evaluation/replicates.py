"""Replicate values of every definition: one matrix product for all that adds up, one weighted pass for every sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evidentia.array_types import Floats
from evidentia.evaluation.cluster_sums import ClusterSums, defined
from evidentia.evaluation.compute import macro_parts
from evidentia.evaluation.plan import Grouping, Key, Want
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Fit, Macro, Sweep
from evidentia.results.measure import Args
from evidentia.stats.exact import in_order
from evidentia.stats.resampling import LeaveOneOut, Progress, ReplicatePlan, each_block, over_replicates, part_of
from evidentia.stats.segments import Segments, segments
from evidentia.tables.queries import Queries

CELLS = 1 << 26  # replicate values held at once: 512 MB


@dataclass(frozen=True, eq=False)
class Replicated:
    """A definition's replicate values in every group (groups x replicates); NaN where it is undefined."""

    definition: Definition
    grouping: Grouping
    values: Floats
    jackknife: Floats | None = None  # groups x clusters: the values with each cluster left out, where asked for
    gaps: Floats | None = (
        None  # groups x replicates x gaps in place of the values, where asked for and where it has them
    )


def replicate(
    queries: Queries,
    wants: Sequence[Want],
    plan: ReplicatePlan,
    progress: Progress | None = None,
    *,
    jackknife: bool = False,
    gaps: bool = False,
) -> Iterator[Replicated]:
    """The replicate values of each wanted pair, in batches of definitions that bound memory.

    With ``gaps``, sums of absolute gaps give their gaps instead, which is what their limits are made of.
    """
    if gaps:
        yield from _gaps(queries, [want for want in wants if has_gaps(want[0])], plan)
        wants = [want for want in wants if not has_gaps(want[0])]
    left_out = LeaveOneOut(len(queries.post_ids)) if jackknife else None
    batches = _batches(wants, plan.resamples + (left_out.resamples if left_out else 0))
    for done, wanted in enumerate(batches):
        report = part_of(progress, done, len(batches))
        batch = ReplicateBatch(queries, wanted)
        values = batch.run(plan, report)
        without = batch.run(left_out) if left_out else {}
        for definition, grouping in wanted:
            key = (definition, grouping.columns)
            yield Replicated(definition, grouping, values.pop(key), without.pop(key, None))


def has_gaps(definition: Definition) -> bool:
    """Whether a definition adds up absolute gaps."""
    return isinstance(definition.kind, Additive) and definition.kind.gaps is not None


def _gaps(queries: Queries, wants: Sequence[Want], plan: ReplicatePlan) -> Iterator[Replicated]:
    """The gaps of sums of absolute gaps, in every replicate."""
    sums = ClusterSums(queries, wants)
    blocks = [block for _, block in each_block(sums.gaps, plan)] if wants else []
    for definition, grouping in wants:
        parts = [block.pop((definition, grouping.columns)) for block in blocks]
        yield Replicated(definition, grouping, np.empty((0, 0)), gaps=np.concatenate(parts, axis=1))


def _batches(wants: Sequence[Want], resamples: int) -> list[list[Want]]:
    """Cut the wants between definitions, sweeps first, so that what definitions share is mostly in one batch."""
    by_definition: dict[Definition, list[Want]] = {}
    for want in sorted(wants, key=lambda want: not isinstance(want[0].kind, Sweep | Macro)):
        by_definition.setdefault(want[0], []).append(want)
    batches: list[list[Want]] = []
    room = 0
    for mine in by_definition.values():
        cells = resamples * sum(len(grouping) for _, grouping in mine)
        if not batches or cells > room:
            batches.append([])
            room = CELLS
        batches[-1] += mine
        room -= cells
    return batches


class ReplicateBatch:
    """Some definitions with their groupings, prepared once and then run over every block of replicates."""

    def __init__(self, queries: Queries, wants: Sequence[Want]) -> None:
        self.wants = wants
        macros = [(d, g) for d, g in wants if isinstance(d.kind, Macro)]
        self.macros = [_Macro(queries, definition, grouping) for definition, grouping in macros]
        bases = [(macro.base, macro.crossed) for macro in self.macros]
        plain = {(d, g.columns): (d, g) for d, g in [*wants, *bases] if not isinstance(d.kind, Macro)}.values()
        self.sums = ClusterSums(queries, [want for want in plain if isinstance(want[0].kind, Additive | Fit)])
        self.sweeps = _Sweeps(queries, [want for want in plain if isinstance(want[0].kind, Sweep)])

    def run(self, plan: ReplicatePlan, progress: Progress | None = None) -> dict[Key, Floats]:
        """The values of every want: groups x replicates."""
        return over_replicates(partial(self.block, scaled=plan.scaled), plan, progress)

    def block(self, weights: Floats, *, scaled: bool = False) -> dict[Key, Floats]:
        """Values for some replicates (weights is clusters x replicates)."""
        values = self.sums.values(weights, scaled=scaled) | self.sweeps.values(weights)
        values |= {macro.key: macro.values(values, weights) for macro in self.macros}
        return {(d, g.columns): values[d, g.columns] for d, g in self.wants}


class _Sweeps:
    """Sweeps; definitions over the same units and groups share their steps and counts."""

    def __init__(self, queries: Queries, wants: Sequence[Want]) -> None:
        self.members: dict[tuple[object, ...], list[Key]] = {}
        self.prepared: dict[tuple[object, ...], list[Segments]] = {}
        for definition, grouping in wants:
            kind, args = definition.kind, definition.args
            assert isinstance(kind, Sweep)
            key = (*kind.key(args), grouping.columns)
            self.members.setdefault(key, []).append((definition, grouping.columns))
            if key not in self.prepared:
                self.prepared[key] = _segments_of(queries, grouping, kind, args)

    def values(self, weights: Floats) -> dict[Key, Floats]:
        by_member: dict[Key, list[Floats]] = {key: [] for members in self.members.values() for key in members}
        for key, groups in self.prepared.items():
            for part in groups:
                counts = part.counts(weights)
                for member in self.members[key]:
                    definition = member[0]
                    assert isinstance(definition.kind, Sweep)
                    by_member[member].append(defined(definition.kind.finish(counts, definition.args)))
        return {member: np.stack(values) for member, values in by_member.items()}


def _segments_of(queries: Queries, grouping: Grouping, kind: Sweep, args: Args) -> list[Segments]:
    units = kind.units(queries, args)
    cluster, n = queries.post[units.rows], len(queries.post_ids)
    if grouping.codes is None:
        return [segments(units.scores, units.labels, cluster, n)]
    codes = grouping.codes[units.rows]
    parts = [np.flatnonzero(codes == code) for code in range(len(grouping))]
    return [segments(units.scores[p], units.labels[p], cluster[p], n) for p in parts]


class _Macro:
    """A mean over criteria, replicate by replicate, leaving out the criteria where a replicate is undefined."""

    def __init__(self, queries: Queries, definition: Definition, grouping: Grouping) -> None:
        kind = definition.kind
        assert isinstance(kind, Macro)
        self.base, criteria = macro_parts(queries, definition, kind)
        self.key = (definition, grouping.columns)
        self.crossed = grouping.crossed(criteria)
        self.shape = (len(grouping), len(criteria))
        self.positives = _positives(queries, self.crossed) if kind.weighted else None

    def values(self, computed: dict[Key, Floats], weights: Floats) -> Floats:
        values = computed[self.base, self.crossed.columns].reshape(*self.shape, -1)
        return mean_over_criteria(values, None if self.positives is None else self.positives @ weights)


def mean_over_criteria(values: Floats, positives: Floats | None) -> Floats:
    """The mean of values (groups x criteria x replicates) over the criteria where they are defined, weighed by positives."""
    there = ~np.isnan(values)
    shares = there.astype(float)
    if positives is not None:
        shares = shares * positives.reshape(values.shape)
    total = in_order(shares, 1)
    top = in_order(np.where(there, values, 0.0) * shares, 1)
    means: Floats = np.divide(top, total, out=np.full(total.shape, np.nan), where=total > 0)
    return means


def _positives(queries: Queries, grouping: Grouping) -> Floats:
    """Queries with evidence per group and cluster."""
    assert grouping.codes is not None
    counts = np.zeros((len(grouping), len(queries.post_ids)))
    np.add.at(counts, (grouping.codes, queries.post), queries.label.astype(float))
    return counts
