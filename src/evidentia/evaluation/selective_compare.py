"""Two predictors that may abstain, compared fairly: the same participants, the same draws, and only coverages that both reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from evidentia.array_types import Floats
from evidentia.errors import InputError, counted, shown
from evidentia.evaluation.compare import OnMismatch, judged, p_value
from evidentia.evaluation.intervals import Resampling, spread_out
from evidentia.evaluation.replicates import Progress
from evidentia.evaluation.selective import ALL, Readings, Want, outcome_of, signals_for, task_for
from evidentia.evaluation.selective_result import unit_of
from evidentia.measures.core import Outcome
from evidentia.measures.names import group_suffix
from evidentia.measures.profiles import COVERAGES, SELECTIVE
from evidentia.measures.registry import Definition, resolve
from evidentia.measures.selective import reached
from evidentia.results import Delta, SelectiveComparison
from evidentia.results.sample_size import cluster_warnings, left_out_warning
from evidentia.results.selective import REFUSED, UNTESTED
from evidentia.stats.coverage import counts_to_reach
from evidentia.stats.intervals import Limits, percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.stats.testing import bootstrap_p
from evidentia.stats.threads import in_threads
from evidentia.tables.items import Items
from evidentia.tables.order import without_zeros

FAMILIES = ("measures", "coverage", "truncated")
Sides = tuple[Items, Items]


def compare_items(
    baseline: Items,
    system: Items,
    *,
    names: tuple[str, str],
    confidence: Sequence[str] | None = None,
    loss: str | None = None,
    coverage: Iterable[object] | None = None,
    resampling: Resampling,
    alpha: float = 0.05,
    on_mismatch: OnMismatch = "error",
    progress: Progress | None = None,
) -> SelectiveComparison:
    """Paired deltas, system minus baseline, over the participants that both have."""
    if not resampling.resamples:
        raise InputError("A comparison needs resamples: its intervals and p values are made of them.")
    if not 0 < alpha < 1:
        raise InputError("alpha must lie between 0 and 1, for example 0.05.")
    sides, notes = aligned((baseline, system), names, on_mismatch)
    for side, name in zip(sides, names, strict=True):
        if not side.predicted.any():
            raise InputError(f"{name} abstains on every item, so the two have no coverage in common to be compared at.")
    grid = COVERAGES if coverage is None else tuple(f"{c}" for c in coverage)
    wants = _wants(sides, confidence, loss, grid)
    pair = _Pair(names, sides, (Readings(sides[0], wants), Readings(sides[1], wants)), resampling)
    made = pair.deltas(wants, progress)
    families = {f: [d for d, (of, _) in zip(made, wants, strict=True) if _family(of) == f] for f in FAMILIES}
    deltas = tuple(d for family, group in families.items() for d in judged(group, family, alpha))
    return SelectiveComparison(
        baseline=names[0],
        system=names[1],
        seed=resampling.seed,
        resamples=resampling.resamples,
        alpha=alpha,
        participants=len(sides[0].cluster_ids),
        items=len(sides[0]),
        baseline_predicted=int(sides[0].predicted.sum()),
        system_predicted=int(sides[1].predicted.sum()),
        coverages=tuple(_validity(c, names, sides) for c in grid),
        deltas=deltas,
        notes=(*notes, *_bounds(deltas, resampling.resamples, alpha)),
    )


def aligned(runs: Sides, names: tuple[str, str], on_mismatch: OnMismatch) -> tuple[Sides, tuple[str, ...]]:
    """Both runs over the same participants; those that only one has are an error, or left out if that was asked for."""
    first, second = runs
    notes = []
    _same_spelling(runs, names)
    for one, other, name in ((first, second, names[0]), (second, first, names[1])):
        there = set(other.cluster_ids)
        extra = [cluster for cluster in one.cluster_ids if cluster not in there]
        if extra and on_mismatch == "error":
            raise InputError(
                f"{name} has {counted(len(extra), unit_of(one))} that the other run lacks or failed on (first: "
                f"{shown(extra[0])}). Only the same people can be compared: run both on the same ones, or compare those that both "
                "have with --on-mismatch intersect."
            )
        if extra:
            notes.append(f"{name}: {counted(len(extra), unit_of(one))} that the other run lacks are left out")
    sides = (first.restricted_to(second.cluster_ids), second.restricted_to(first.cluster_ids))
    if not len(sides[0]):
        raise InputError("The two runs have no participant in common.")
    _same_truth(sides, names)
    return sides, tuple(notes)


def _same_spelling(runs: Sides, names: tuple[str, str]) -> None:
    """Nobody may be 007 in one run and 7 in the other: they would be taken for two people, and both left out."""
    first, second = (set(run.cluster_ids) for run in runs)
    plain = {without_zeros(name) for name in first - second}
    alike = sum(without_zeros(name) in plain for name in second - first)
    if alike:
        raise InputError(
            f"{counted(alike, unit_of(runs[0]))} of {names[0]} and {names[1]} differ only by zeros before the number of the id, as "
            "007 and 7 do. Write the ids alike in both."
        )


def _same_truth(sides: Sides, names: tuple[str, str]) -> None:
    first, second = sides
    same_items = len(first) == len(second) and first.item == second.item
    if not same_items or not np.array_equal(first.cluster, second.cluster):
        raise InputError(f"{names[0]} and {names[1]} do not have the same items for the same {unit_of(first)}s.")
    different = np.flatnonzero(first.gt != second.gt)
    if len(different):
        at = int(different[0])
        raise InputError(
            f"{names[0]} and {names[1]} disagree about the ground truth of {counted(len(different), 'item')} (first: "
            f"{unit_of(first)} {shown(first.cluster_ids[first.cluster[at]])}, item {shown(first.item[at])})."
        )
    if first.item_max != second.item_max:
        raise InputError(f"{names[0]} and {names[1]} were given different largest scores.")


def _wants(sides: Sides, confidence: Sequence[str] | None, loss: str | None, grid: Sequence[str]) -> tuple[Want, ...]:
    """What a run alone reports, and the areas up to the common coverage."""
    signals, _ = signals_for(sides[0], confidence)
    if confidence and ALL in confidence:
        signals = tuple(name for name in signals if name in signals_for(sides[1], confidence)[0])
    elif not confidence:
        signals = tuple(name for name in signals if name in sides[1].signals) or signals
    tasks = [task_for(side, confidence=signals, loss=loss, coverage=grid) for side in sides]
    shared = dict.fromkeys(want for want in tasks[0].wants if want in set(tasks[1].wants))
    usual = [loss] if loss else ["abs", "abs_norm"] if sides[0].item_max is not None else ["abs"]
    areas = [("AURC", usual[0]), ("AUGRC", usual[-1])]
    common = [
        resolve(f"{base}(ties={ties},loss={of})@C=common", SELECTIVE).definition
        for base, of in areas
        for ties in ("step", "plateau")
    ]
    return (*((d, signal) for d in common for signal in signals), *shared)


@dataclass(frozen=True)
class _Pair:
    """A baseline and a system over the same participants, read on the same draws."""

    names: tuple[str, str]
    sides: Sides
    readings: tuple[Readings, Readings]
    resampling: Resampling

    def deltas(self, wants: Sequence[Want], progress: Progress | None) -> list[Delta]:
        """One delta for every want, in their order."""
        here = self._read(np.ones((self.readings[0].clusters, 1)))
        plan = shared_plan(self.readings, self.resampling)
        differences = {want: np.empty(plan.resamples) for want in wants}

        def work(rows: slice, weights: Floats) -> int:
            for want, (before, after) in self._read(weights).items():
                differences[want][rows] = _defined(after) - _defined(before)
            return int(rows.stop)

        for done in in_threads(work, plan.blocks()):
            if progress is not None:
                progress(done, plan.resamples)
        return [self._delta(want, *here[want], differences[want]) for want in wants]

    def _read(self, weights: Floats) -> dict[Want, tuple[Outcome, Outcome]]:
        """Both outcomes under each weighting; undefined for both where either does not reach a coverage."""
        find = [readings.curves(weights) for readings in self.readings]
        found: dict[Want, tuple[Outcome, Outcome]] = {}
        for want in self.readings[0].wants:
            curves = [make(want, None) for make in find]
            common = np.minimum(*(c.steps.predicted for c in curves)).astype(np.int64)
            curves = [replace(c, common=common) for c in curves]
            before, after = (outcome_of(want, c) for c in curves)
            if want[0].args.cut is not None:
                short = ~np.logical_and(*(reached(c, want[0].args) for c in curves))
                before, after = (Outcome(o.values, np.where(short, np.int8(1), o.flaws)) for o in (before, after))
            found[want] = (before, after)
        return found

    def _delta(self, want: Want, before: Outcome, after: Outcome, differences: Floats) -> Delta:
        definition, signal = want
        limits = percentile_limits(differences[None], self.resampling.level)
        sound = before.flaws[0] == 0 and after.flaws[0] == 0
        refused, reserved = self._unfair(definition)
        first, second = float(before.values[0]), float(after.values[0])
        low, high = float(limits.low[0]), float(limits.high[0])
        given = sound and not refused
        width = spread_out(low, high)
        tested = given and not reserved
        p = p_value(float(bootstrap_p(differences[None])[0]), second - first, width) if tested else None
        clusters = len(self.sides[0].cluster_ids)
        group = (("confidence", signal),) if signal is not None and self._several else ()
        return Delta(
            name=definition.name(SELECTIVE) + group_suffix(group),
            definition=definition.expanded,
            baseline=self.names[0],
            system=self.names[1],
            baseline_value=first,
            system_value=second,
            delta=second - first if given else None,
            direction=definition.measure.direction,
            n=len(self.sides[0]),
            n_clusters=clusters,
            system_n=len(self.sides[1]),
            system_n_clusters=clusters,
            ci=(low, high) if given and width else None,
            replicates_left_out=int(limits.left_out[0]),
            p=p,
            warnings=(*self._warnings(definition, limits, sound=sound, width=width), *refused, *reserved),
        )

    @property
    def _several(self) -> bool:
        return len({signal for _, signal in self.readings[0].wants if signal is not None}) > 1

    def _warnings(self, definition: Definition, limits: Limits, *, sound: bool, width: bool) -> list[str]:
        clusters, unit = len(self.sides[0].cluster_ids), unit_of(self.sides[0])
        said = [
            *cluster_warnings(clusters, unit),
            *left_out_warning(int(limits.left_out[0]), self.resampling.resamples),
        ]
        if not sound:
            said.append(self._out_of_reach(definition) or "undefined for at least one of the two")
        elif not width:
            said.append("no interval: every resample gives the same difference")
        return said

    def _out_of_reach(self, definition: Definition) -> str | None:
        cut = definition.args.cut
        if cut is None or cut.value is None:
            return None
        return out_of_reach(str(cut.value), self.names, self.sides)

    def _unfair(self, definition: Definition) -> tuple[list[str], list[str]]:
        """Why a difference is refused, or given without a test, when the two answer different shares of the items."""
        counts = [int(side.predicted.sum()) for side in self.sides]
        measure = definition.measure
        if counts[0] == counts[1] or measure.base == "Cmax" or definition.args.cut is not None:
            return [], []
        shares = " and ".join(f"{count / len(side):.4g}" for count, side in zip(counts, self.sides, strict=True))
        if measure.base == "MAE":
            return [
                f"{REFUSED}the two answer different shares of the items ({shares}), and the one that answers less leaves "
                "out harder items; compare MAE at a coverage that both reach, or areas up to the common coverage"
            ], []
        return [], [f"{UNTESTED}the areas end at different coverages ({shares}); compare them at C=common"]


def shared_plan(readings: tuple[Readings, Readings], resampling: Resampling) -> ResamplingPlan:
    """One plan for both, in blocks that the larger of the two can hold."""
    plans = [each.plan(resampling) for each in readings]
    return min(plans, key=lambda plan: plan.block or 0)


def _defined(outcome: Outcome) -> Floats:
    values: Floats = np.where(outcome.flaws > 0, np.nan, outcome.values)
    return values


def _family(definition: Definition) -> str:
    """What p values are corrected over: mean losses at fixed coverages, areas up to them, and everything else."""
    cut = definition.args.cut
    if cut is None or cut.value is None:
        return "measures"
    return "coverage" if cut.kind == "coverage" else "truncated"


def _validity(coverage: str, names: tuple[str, str], sides: Sides) -> dict[str, object]:
    reason = out_of_reach(coverage, names, sides)
    return {"coverage": float(coverage), "valid": reason is None, "reason": reason}


def out_of_reach(coverage: str, names: tuple[str, str], sides: Sides) -> str | None:
    """Who does not reach a coverage, in words; None if both do."""
    short = []
    for name, side in zip(names, sides, strict=True):
        count = int(side.predicted.sum())
        if count < counts_to_reach(Decimal(coverage), np.array([len(side)]))[0]:
            short.append(f"{name} reaches only {count / len(side):.4g}")
    return "; ".join(short) or None


def _bounds(deltas: Sequence[Delta], resamples: int, alpha: float) -> list[str]:
    """Say where the number of resamples bounds what can be significant."""
    said = []
    for family in dict.fromkeys(delta.family for delta in deltas):
        per_pair = [d for d in deltas if d.family == family and d.p is not None and d.system == deltas[0].system]
        least = 2 / (resamples + 1) * len(per_pair)
        if least > alpha:
            said.append(
                f"with {resamples:,} resamples and {len(per_pair)} tests in the family '{family}' the smallest corrected p is "
                f"{min(least, 1):.3g}, so nothing in it can be significant at {alpha:g}: take more resamples or fewer measures"
            )
    return said
