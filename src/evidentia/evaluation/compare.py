"""Compare systems fairly: the same queries, the same resamples, the same definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError, counted, shown
from evidentia.evaluation.choose import Choice
from evidentia.evaluation.cluster_sums import per_cluster
from evidentia.evaluation.compute import Cell, Want, compute
from evidentia.evaluation.groups import OVERALL, Grouping, grouping_by
from evidentia.evaluation.intervals import Resampling, spread_out
from evidentia.evaluation.narrate import reservations, simulated_kind
from evidentia.evaluation.needs import unmet
from evidentia.evaluation.plan import Plan, Thresholds, with_tuned_decisions
from evidentia.evaluation.replicates import Progress, part_of, replicate
from evidentia.measures import Definition, Profile, resolve
from evidentia.measures.core import Additive, Args, Macro
from evidentia.measures.names import group_suffix
from evidentia.measures.profiles import PER_CRITERION
from evidentia.results import Comparison, Delta, Design, pairs
from evidentia.results.sample_size import Sample, comparison_warnings, left_out_warning
from evidentia.stats.intervals import Limits, standard_errors, t_quantile
from evidentia.stats.testing import holm, t_test
from evidentia.tables import Run
from evidentia.tables.queries import Queries

OnMismatch = Literal["error", "intersect"]
Key = tuple[str, str]
ROUNDING = 1e-9


@dataclass(frozen=True)
class System:
    """A run under the name that the comparison calls it by."""

    name: str
    run: Run


def compare_systems(
    systems: Sequence[System],
    choice: Choice,
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
    compared = pairs(sides, design)
    deltas: list[Delta] = []
    for i, (baseline, system) in enumerate(compared):
        pair = _Pair(choice.profile, baseline, system, resampling, alpha)
        deltas += pair.deltas(definitions, part_of(progress, i, len(compared)))
    return Comparison(
        profile=choice.profile.name,
        systems=tuple(system.name for system in systems),
        seed=resampling.seed,
        resamples=resampling.resamples,
        alpha=alpha,
        queries=len(sides[0].queries),
        posts=len(sides[0].queries.post_ids),
        deltas=tuple(deltas),
        notes=(*notes, *choice.notes, *missing, *_few(resampling.resamples)),
        interval={"level": resampling.level, "method": "t", "stratified_by_fold": resampling.stratify},
        design=design,
    )


def _refuse_what_cannot_be(systems: Sequence[System], resampling: Resampling, alpha: float) -> None:
    if len(systems) < 2:
        raise InputError("A comparison needs at least two results.")
    if len({system.name for system in systems}) < len(systems):
        raise InputError("Two of the results have the same name. Rename one of the folders.")
    if not 0 < alpha < 1:
        raise InputError("alpha must lie between 0 and 1, for example 0.05.")
    if not resampling.resamples:
        raise InputError("A comparison needs resamples: its intervals and p values are made of them.")


def align(systems: Sequence[System], on_mismatch: OnMismatch) -> tuple[list[System], list[str]]:
    """Cut every run to the queries that all have, if that was asked for; else a difference is an error that lists it."""
    keys = [_keys(system.run.queries) for system in systems]
    shared = set(keys[0]).intersection(*keys[1:])
    notes: list[str] = []
    for system, mine in zip(systems, keys, strict=True):
        extra = sorted(set(mine) - shared)
        if extra and on_mismatch == "error":
            raise InputError(
                f"{system.name} has {counted(len(extra), 'query', 'queries')} that another result lacks "
                f"(first: post {shown(extra[0][0])}, criterion {shown(extra[0][1])}). Evaluate the same queries, or compare "
                "what is shared with --on-mismatch intersect."
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


def _keys(queries: Queries) -> list[Key]:
    posts, criteria = queries.post_ids, queries.criterion_ids
    return [(posts[p], criteria[c]) for p, c in zip(queries.post, queries.criterion, strict=True)]


def _cut(system: System, keys: Sequence[Key], order: Sequence[Key]) -> System:
    """The queries in the given order, with posts and criteria numbered by it, so that equal keys have equal codes."""
    at = {key: row for row, key in enumerate(keys)}
    rows = np.array([at[key] for key in order])
    post, post_ids = _numbered([post for post, _ in order])
    criterion, criterion_ids = _numbered([criterion for _, criterion in order])
    part = system.run.queries.take(rows)
    queries = replace(part, post=post, post_ids=post_ids, criterion=criterion, criterion_ids=criterion_ids)
    whole = len(queries) == len(post_ids) * len(criterion_ids)
    return System(
        system.name, replace(system.run, queries=replace(queries, complete=whole), frame=system.run.frame[rows])
    )


def _numbered(labels: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Codes in the order of first appearance."""
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    return np.array([codes[label] for label in labels]), tuple(codes)


def _same_gold(one: System, other: System) -> None:
    different = one.run.queries.label != other.run.queries.label
    columns = [system.run.frame for system in (one, other) if "gold_sent_uids" in system.run.frame.columns]
    if len(columns) == 2:
        golds = [frame["gold_sent_uids"].list.sort().list.join("|") for frame in columns]
        different = different | (golds[0] != golds[1]).fill_null(True).to_numpy()
    if different.any():
        key = _keys(one.run.queries)[int(np.argmax(different))]
        raise InputError(
            f"{one.name} and {other.name} disagree about the gold of {counted(int(different.sum()), 'query', 'queries')} "
            f"(first: post {shown(key[0])}, criterion {shown(key[1])}). Systems can only be compared on the same truth."
        )


def _shared(choice: Choice, systems: Sequence[System]) -> tuple[list[Definition], list[str]]:
    """What can be compared, and where measures were asked for, a note about each that cannot."""
    requests = {name: resolve(name, choice.profile) for name in choice.names}
    if any(request.group for request in requests.values()):
        raise InputError(
            "A comparison takes measures without groups; what can be compared per criterion is, by itself."
        )
    wanted = {name: request.definition for name, request in requests.items()}
    counts = [name for name, d in wanted.items() if d.measure.family == "counts"]
    lacking = [name for name, d in wanted.items() if any(unmet(d, system.run) is not None for system in systems)]
    reasons = {"they count what all results share": counts, "not every result has what it needs": lacking}
    notes = [f"not compared, because {reason}: {', '.join(names)}" for reason, names in reasons.items() if names]
    compared = dict.fromkeys(d for name, d in wanted.items() if name not in {*counts, *lacking})
    return list(compared), notes if choice.asked else []


@dataclass(frozen=True, eq=False)
class _Side:
    """A system's queries with its decisions at tuned thresholds."""

    name: str
    queries: Queries
    thresholds: Thresholds


def _side(system: System, definitions: Sequence[Definition]) -> _Side:
    run, thresholds = with_tuned_decisions(system.run, Plan(tuple((d, OVERALL) for d in definitions)))
    return _Side(system.name, run.queries, thresholds)


@dataclass(frozen=True, eq=False)
class _Paired:
    """A definition in both systems, group by group: the two cells, and limits and p of the replicate differences.

    ``effective``: the effective number of posts. ``differing``: the posts that the systems answer differently, if countable.
    """

    definition: Definition
    grouping: Grouping
    cells: tuple[Cell, Cell]
    limits: Limits
    p: Floats
    effective: Floats
    differing: Ints | None


@dataclass(frozen=True)
class _Pair:
    """One system against its baseline."""

    profile: Profile
    baseline: _Side
    system: _Side
    resampling: Resampling
    alpha: float

    def deltas(self, definitions: Sequence[Definition], progress: Progress | None) -> list[Delta]:
        """The base measures, then the deltas per criterion; each family is corrected on its own."""
        named = {resolve(name, self.profile).definition for name in (*PER_CRITERION, "MRR", "MRR@10")}
        per_criterion = [d for d in definitions if d in named and not isinstance(d.kind, Macro)]
        by_criterion = grouping_by(self.baseline.queries, "criterion")
        assert by_criterion is not None
        wants = {
            "measures": [(d, OVERALL) for d in definitions],
            "criteria": [(d, by_criterion) for d in per_criterion],
        }
        found = self._replicated([want for part in wants.values() for want in part], progress)
        verdicts: list[Delta] = []
        for family, part in wants.items():
            verdicts += judged([delta for d, g in part for delta in found[d, g.columns]], family, self.alpha, once=True)
        return verdicts

    def _replicated(
        self, wants: Sequence[Want], progress: Progress | None
    ) -> dict[tuple[Definition, tuple[str, ...]], list[Delta]]:
        sides = (self.baseline.queries, self.system.queries)
        plan = self.resampling.plan(sides[0])
        first, second = (compute(queries, wants) for queries in sides)
        found = {}
        halves = [replicate(queries, wants, plan, part_of(progress, i, 2)) for i, queries in enumerate(sides)]
        for one, other in zip(*halves, strict=True):
            d, g, differences = one.definition, one.grouping, other.values - one.values
            cells = first.cell(d, g), second.cell(d, g)
            effective = np.minimum(first.effective(d, g), second.effective(d, g))
            deltas, errors = cells[1].outcome.values - cells[0].outcome.values, standard_errors(differences, effective)
            reach = errors * t_quantile(effective, self.resampling.level)
            limits = Limits(deltas - reach, deltas + reach, np.isnan(differences).sum(axis=1))
            differing = differing_posts(*sides, d, g)
            paired = _Paired(d, g, cells, limits, t_test(deltas, errors, effective), effective, differing)
            found[d, g.columns] = [self._delta(paired, i) for i in range(len(g))]
        return found

    def _delta(self, paired: _Paired, i: int) -> Delta:
        definition, (first, second), limits = paired.definition, paired.cells, paired.limits
        sound = first.outcome.flaws[i] == 0 and second.outcome.flaws[i] == 0
        before, after = float(first.outcome.values[i]), float(second.outcome.values[i])
        low, high = float(limits.low[i]), float(limits.high[i])
        width = spread_out(low, high)
        return Delta(
            name=definition.name(self.profile) + group_suffix(paired.grouping.groups[i]),
            definition=definition.expanded,
            baseline=self.baseline.name,
            system=self.system.name,
            baseline_value=before,
            system_value=after,
            delta=after - before if sound else None,
            direction=definition.measure.direction,
            n=int(first.n[i]),
            n_clusters=int(first.clusters[i]),
            system_n=int(second.n[i]),
            system_n_clusters=int(second.clusters[i]),
            ci=(low, high) if sound and width else None,
            replicates_left_out=int(limits.left_out[i]),
            p=p_value(float(paired.p[i]), after - before, width) if sound else None,
            warnings=(*self._warnings(paired, i), *_no_interval(sound, limits, i, self.resampling.resamples)),
        )

    def _warnings(self, paired: _Paired, i: int) -> Iterator[str]:
        """The same reservations as an evaluation has; a name before one that holds for one of the two only."""
        label, codes = self.baseline.queries.label, paired.grouping.codes
        positives = int(label.sum() if codes is None else label[codes == i].sum())
        posts = min(int(cell.clusters[i]) for cell in paired.cells)
        sample = Sample(posts, float(paired.effective[i]), positives, simulated_kind(paired.definition))
        yield from comparison_warnings(sample, None if paired.differing is None else int(paired.differing[i]))
        yield from left_out_warning(int(paired.limits.left_out[i]), self.resampling.resamples)
        said = {
            side.name: reservations(paired.definition, cell, i, side.thresholds)
            for side, cell in zip((self.baseline, self.system), paired.cells, strict=True)
        }
        for words in dict.fromkeys(word for mine in said.values() for word in mine):
            whose = [name for name, mine in said.items() if words in mine]
            yield words if len(whose) == len(said) else f"{whose[0]}: {words}"


def differing_posts(first: Queries, second: Queries, definition: Definition, grouping: Grouping) -> Ints | None:
    """In how many posts of every group two systems add different sums to a measure; None where it is not made of sums."""
    kind, args = definition.kind, definition.args
    if not isinstance(kind, Additive):
        return None
    counts = []
    for code in range(len(grouping)):
        rows = None if grouping.codes is None else np.flatnonzero(grouping.codes == code)
        parts = [queries if rows is None else queries.take(rows) for queries in (first, second)]
        one, other = (per_cluster(part, kind.statistic, args) for part in parts)
        used = _used_columns(kind, one.sum(axis=0) + other.sum(axis=0), args)
        counts.append(np.count_nonzero((np.abs(one - other) > ROUNDING)[:, used].any(axis=1)))
    return np.array(counts)


def _used_columns(kind: Additive, sums: Floats, args: Args) -> Ints:
    """The columns of a statistic that a measure depends on: several measures may share one statistic."""
    moved = kind.finish(sums + np.vstack([np.zeros_like(sums), np.diag(1 + sums / 2)]), args).values
    return np.flatnonzero(moved[1:] != moved[0])


def judged(deltas: Sequence[Delta], family: str, alpha: float, *, once: bool = False) -> list[Delta]:
    """The deltas of one family with p values corrected for each other (Holm), and a verdict for each.

    With ``once``, measures that are one and the same test, as a rate and its complement are, count once.
    """
    tested = {_test_of(delta) if once else i: delta.p for i, delta in enumerate(deltas) if delta.p is not None}
    corrected = dict(zip(tested, holm(np.array(list(tested.values()), float)), strict=True)) if tested else {}
    verdicts = []
    for i, delta in enumerate(deltas):
        p = float(corrected[_test_of(delta) if once else i]) if delta.p is not None else None
        verdict = "undefined" if p is None else _verdict(delta, p, alpha)
        verdicts.append(replace(delta, family=family, p_holm=p, verdict=verdict))
    return verdicts


def _test_of(delta: Delta) -> str:
    """Equal for deltas that are one test: their ratio to the width of the interval, which is the t statistic, agrees."""
    if delta.ci is None or not delta.delta:
        return delta.name
    return f"{abs(delta.delta) / (delta.ci[1] - delta.ci[0]):.9e} over {delta.n_clusters}"


def _verdict(delta: Delta, p: float, alpha: float) -> Literal["win", "loss", "differs", "tie"]:
    if p > alpha or not delta.delta:
        return "tie"
    if delta.direction == "neither":
        return "differs"
    return "win" if (delta.delta > 0) == (delta.direction == "higher") else "loss"


def _no_interval(sound: bool, limits: Limits, i: int, resamples: int) -> list[str]:
    """Why there is no difference, or no interval around it; nothing if there is one."""
    if not sound:
        return ["undefined for at least one of the two"]
    low, high = float(limits.low[i]), float(limits.high[i])
    if spread_out(low, high):
        return []
    if limits.left_out[i] >= resamples:
        return ["no interval: undefined in every resample"]
    return [
        f"no interval: {'one post does not show chance' if np.isnan(low) else 'every resample gives the same difference'}"
    ]


def p_value(p: float, delta: float, width: bool) -> float | None:
    """Where every resample gives one and the same difference there is nothing to test, unless that difference is none."""
    if np.isnan(p):
        return None
    return p if width else (1.0 if delta == 0 else None)


def _few(resamples: int) -> list[str]:
    """A word where standard errors rest on few resamples."""
    if resamples >= 200:
        return []
    return [f"{resamples:,} resamples give rough standard errors: take 1,000 or more for p values to quote"]
