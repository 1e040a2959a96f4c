"""Two predictors that may abstain, compared fairly: the same participants, the same draws, and only coverages that both reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.errors import InputError, counted, shown
from evidentia.evaluation.cluster_sums import defined
from evidentia.evaluation.compare_answers import AnswerPair
from evidentia.evaluation.compute import Cell
from evidentia.evaluation.deltas import UNDEFINED, Contrast, DeltaBuilder, OnMismatch, judged, refuse_settings
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.items import (
    ALL,
    ItemComputation,
    RiskCurves,
    plan_for_items,
    read,
    signals_for,
    unit_of,
    wants_for,
)
from evidentia.evaluation.plan import Key, Want
from evidentia.evaluation.questionnaire import is_by_item
from evidentia.measures import Definition, resolve
from evidentia.measures.core import Outcome, Selective, Tallied
from evidentia.measures.selective import reached
from evidentia.results import Delta, SelectiveComparison
from evidentia.results.profiles import COVERAGES, SELECTIVE
from evidentia.results.sample_size import cluster_warnings, left_out_warning
from evidentia.results.selective import (
    Answered,
    never_significant,
    out_of_reach,
    refused_answers,
    refused_mean,
    untested_area,
)
from evidentia.stats.coverage import counts_to_reach
from evidentia.stats.intervals import percentile_limits
from evidentia.stats.resampling import Progress, over_replicates
from evidentia.stats.testing import bootstrap_p
from evidentia.tables.items import Items
from evidentia.tables.order import without_zeros

FAMILIES = ("measures", "coverage", "truncated", "questionnaire", "items")
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
    refuse_settings(resampling, alpha)
    sides, notes = aligned((baseline, system), names, on_mismatch)
    for side, name in zip(sides, names, strict=True):
        if not side.predicted.any():
            raise InputError(f"{name} abstains on every item, so the two have no coverage in common to be compared at.")
    grid = COVERAGES if coverage is None else tuple(f"{c}" for c in coverage)
    pair = ItemPair.of(sides, names, resampling, shared_signals(sides, confidence), loss=loss, grid=grid)
    builder = DeltaBuilder(SELECTIVE, *names, resampling)
    families: Mapping[str, list[Delta]] = {family: [] for family in FAMILIES}
    for contrast in pair.contrasts(progress):
        families[_family(contrast)] += builder.deltas(contrast)
    deltas = tuple(delta for family, own in families.items() for delta in judged(own, family, alpha))
    return SelectiveComparison(
        baseline=names[0],
        system=names[1],
        seed=resampling.seed,
        resamples=resampling.resamples,
        alpha=alpha,
        participants=len(sides[0].cluster_ids),
        items=len(sides[0]),
        baseline_predicted=pair.answered[0].predicted,
        system_predicted=pair.answered[1].predicted,
        coverages=tuple(pair.validity(c) for c in grid),
        deltas=deltas,
        notes=(*notes, *_bounds(deltas, resampling.resamples, alpha)),
    )


def aligned(runs: Sides, names: tuple[str, str], on_mismatch: OnMismatch) -> tuple[Sides, tuple[str, ...]]:
    """Both runs over the same participants; those that only one has are an error, or left out if that was asked for."""
    first, second = runs
    notes = []
    _same_spelling(runs, names)
    for run, other, name in ((first, second, names[0]), (second, first, names[1])):
        there = set(other.cluster_ids)
        extra = [cluster for cluster in run.cluster_ids if cluster not in there]
        if extra and on_mismatch == "error":
            raise InputError(
                f"{name} has {counted(len(extra), unit_of(run))} that the other run lacks or failed on (first: "
                f"{shown(extra[0])}). Only the same people can be compared: run both on the same ones, or compare those that both "
                "have with --on-mismatch intersect."
            )
        if extra:
            notes.append(f"{name}: {counted(len(extra), unit_of(second))} that the other run lacks are left out")
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
    if first.questionnaire and second.questionnaire and first.questionnaire.items != second.questionnaire.items:
        raise InputError(f"{names[0]} and {names[1]} score their items in different ranges or directions.")


def shared_signals(sides: Sides, confidence: Sequence[str] | None) -> tuple[str, ...]:
    """The confidences that both runs can be ordered by."""
    signals, _ = signals_for(sides[0], confidence)
    if confidence and ALL in confidence:
        return tuple(name for name in signals if name in signals_for(sides[1], confidence)[0])
    if not confidence:
        return tuple(name for name in signals if name in sides[1].signals) or signals
    return signals


def compared_definitions(
    sides: Sides, signals: Sequence[str], loss: str | None, grid: Sequence[str]
) -> tuple[Definition, ...]:
    """The areas up to the common coverage, and what a run alone reports."""
    plans = [plan_for_items(side, confidence=signals, loss=loss, coverage=grid) for side in sides]
    first, second = (
        [d for d, g in plan.wants if isinstance(d.kind, Selective) and not is_by_item(g)] for plan in plans
    )
    shared = dict.fromkeys(d for d in first if d in second)
    usual = [loss] if loss else ["abs", "abs_norm"] if sides[0].item_max is not None else ["abs"]
    common = [
        resolve(f"{base}(ties={ties},loss={of})@C=common", SELECTIVE).definition
        for base, of in (("AURC", usual[0]), ("AUGRC", usual[-1]))
        for ties in ("step", "plateau")
    ]
    return (*common, *shared)


@dataclass(frozen=True, eq=False)
class ItemPair:
    """A baseline and a system over the same participants, read on the same draws."""

    wants: Sequence[Want]
    computed: tuple[ItemComputation, ItemComputation]
    answered: tuple[Answered, Answered]
    resampling: Resampling
    answers: AnswerPair | None

    @classmethod
    def of(
        cls,
        sides: Sides,
        names: tuple[str, str],
        resampling: Resampling,
        signals: Sequence[str],
        *,
        loss: str | None,
        grid: Sequence[str],
    ) -> ItemPair:
        """Prepare both runs for everything that is compared."""
        wants = wants_for(compared_definitions(sides, signals, loss, grid), signals)
        first, second = (ItemComputation(side, wants, signals) for side in sides)
        before, after = (
            Answered(name, int(side.predicted.sum()), len(side)) for name, side in zip(names, sides, strict=True)
        )
        answers = AnswerPair.of(sides, names, signals, loss)
        return cls(wants, (first, second), (before, after), resampling, answers)

    def contrasts(self, progress: Progress | None = None) -> Iterator[Contrast]:
        """Both values of every want, and limits and p of their differences in every draw."""
        run = self.computed[0]
        points = self.outcomes(np.ones((run.clusters, 1)))
        plan = min((each.plan(self.resampling) for each in self.computed), key=lambda plan: plan.block or 0)
        differences = over_replicates(self.differences, plan, progress)
        for definition, grouping in self.wants:
            key = (definition, grouping.columns)
            limits = percentile_limits(differences[key], self.resampling.level)
            size = len(grouping)
            first, second = (
                Cell(
                    Outcome(outcome.values[:, 0], outcome.flaws[:, 0]),
                    n=np.full(size, len(run.items)),
                    clusters=np.full(size, run.clusters),
                    details=({},) * size,
                )
                for outcome in points[key]
            )
            refused, untested = self._unfair(definition)
            yield Contrast(
                definition,
                grouping,
                (first, second),
                limits,
                bootstrap_p(differences[key]),
                [self._warnings(int(left_out)) for left_out in limits.left_out],
                undefined=self._out_of_reach(definition) or UNDEFINED,
                refused=refused,
                untested=untested,
            )
        if self.answers is not None:
            yield from self.answers.contrasts(differences, self.resampling)

    def differences(self, weights: Floats) -> dict[Key, Floats]:
        """System minus baseline under each weighting; NaN where either is undefined."""
        curves = {key: defined(after) - defined(before) for key, (before, after) in self.outcomes(weights).items()}
        return curves | ({} if self.answers is None else self.answers.differences(weights))

    def outcomes(self, weights: Floats) -> dict[Key, tuple[Outcome, Outcome]]:
        """Both outcomes (groups x weightings); undefined for both where either does not reach a coverage."""
        curves = [each.curves(weights) for each in self.computed]
        outcomes = {}
        for definition, grouping in self.wants:
            pairs = [_both(curves, definition, signal) for signal in self.computed[0].signals_of(grouping)]
            before, after = (
                Outcome(np.stack([o.values for o in side]), np.stack([o.flaws for o in side]))
                for side in zip(*pairs, strict=True)
            )
            outcomes[definition, grouping.columns] = before, after
        return outcomes

    def _warnings(self, left_out: int) -> list[str]:
        run = self.computed[1]
        return [
            *cluster_warnings(run.clusters, unit_of(run.items)),
            *left_out_warning(left_out, self.resampling.resamples),
        ]

    def _out_of_reach(self, definition: Definition) -> str | None:
        cut = definition.args.cut
        return None if cut is None or cut.value is None else self.short_of(str(cut.value))

    def short_of(self, coverage: str) -> str | None:
        """Who does not reach a coverage, in words; None if both do."""
        needed = counts_to_reach(Decimal(coverage), np.array([self.answered[0].items]))[0]
        return out_of_reach(int(needed), self.answered)

    def validity(self, coverage: str) -> dict[str, object]:
        """Whether the two can be compared at a coverage, and if not why."""
        reason = self.short_of(coverage)
        return {"coverage": float(coverage), "valid": reason is None, "reason": reason}

    def _unfair(self, definition: Definition) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Why a difference is refused, or given without a test, when the two answer different shares of the items."""
        same = self.answered[0].predicted == self.answered[1].predicted
        base = definition.measure.base
        if same and base == "MAE" and definition.args.cut is None and self.answers is not None:
            return () if self.answers.same_items else (refused_answers(self.answered),), ()
        if same or base == "Cmax" or definition.args.cut is not None:
            return (), ()
        return ((refused_mean(self.answered),), ()) if base == "MAE" else ((), (untested_area(self.answered),))


def _both(curves: Sequence[RiskCurves], definition: Definition, signal: str | None) -> tuple[Outcome, Outcome]:
    predicted = [each.of(definition, signal).steps.predicted for each in curves]
    common = np.minimum(*predicted).astype(np.int64)
    sides = [each.of(definition, signal, common) for each in curves]
    before, after = (read(definition, side) for side in sides)
    if definition.args.cut is None:
        return before, after
    short = ~np.logical_and(*(reached(side, definition.args) for side in sides))
    return _marked(before, short), _marked(after, short)


def _marked(outcome: Outcome, short: Bools) -> Outcome:
    return Outcome(outcome.values, np.where(short, np.int8(1), outcome.flaws))


def _family(contrast: Contrast) -> str:
    """What p values are corrected over: questionnaires and their items, mean losses at coverages, areas up to them, the rest."""
    cut = contrast.definition.args.cut
    if is_by_item(contrast.grouping):
        return "items"
    if isinstance(contrast.definition.kind, Tallied):
        return "questionnaire"
    if cut is None or cut.value is None:
        return "measures"
    return "coverage" if cut.kind == "coverage" else "truncated"


def _bounds(deltas: Sequence[Delta], resamples: int, alpha: float) -> list[str]:
    """Say where the number of resamples bounds what can be significant."""
    tests = {f: sum(d.family == f and d.p is not None for d in deltas) for f in dict.fromkeys(d.family for d in deltas)}
    return [note for family, count in tests.items() for note in never_significant(family, count, resamples, alpha)]
