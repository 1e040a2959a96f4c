"""Items of a predictor that may abstain: which measures of its risk-coverage curves there are, and their values.

A confidence that orders the items is a grouping: its groups hold the same items in different orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError
from evidentia.evaluation.cluster_sums import defined
from evidentia.evaluation.compute import Cell
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.plan import OVERALL, Group, Grouping, Key, MeasurePlan, Want
from evidentia.evaluation.questionnaire import (
    OWN_RANGES,
    TOTALS,
    TallyTable,
    is_by_item,
    item_wants,
    lacking,
    refuse_unknown_item,
)
from evidentia.evaluation.replicates import Replicated
from evidentia.measures import Definition, Request, resolve
from evidentia.measures.core import Outcome, Selective, Tallied
from evidentia.measures.selective import LOSSES
from evidentia.results import Distribution
from evidentia.results.measure import Args
from evidentia.results.names import group_suffix
from evidentia.results.profiles import COVERAGES, SELECTIVE, questionnaire_names, selective_names
from evidentia.results.sample_size import cluster_warnings
from evidentia.results.selective import area_ends_early
from evidentia.stats.resampling import BootstrapPlan, LeaveOneOut, Progress, over_replicates
from evidentia.stats.risk_coverage import Curves, Ranking, oracle, ranking, within_ties
from evidentia.tables.items import PHQ8_ROLE, Items

BLOCK_CELLS = 1 << 21  # items times replicates in work at once
ALL = "all"


@dataclass(frozen=True)
class ItemPlan(MeasurePlan):
    """What is computed on items, and the confidences that order them."""

    signals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def plan_for_items(
    items: Items,
    *,
    confidence: Sequence[str] | None = None,
    loss: str | None = None,
    coverage: Iterable[object] | None = None,
    measures: Sequence[str] | None = None,
) -> ItemPlan:
    """Resolve what was asked for against what the run has."""
    if loss is not None and loss not in LOSSES:
        raise InputError(f"There is no loss of that name. Losses are: {', '.join(LOSSES)}.")
    if loss == "abs_norm" and items.item_max is None:
        raise InputError("The loss abs_norm divides by the largest possible error of an item: give it with --item-max.")
    signals, notes = signals_for(items, confidence)
    requests = _requests(measures if measures is not None else _usual(items, loss, coverage))
    plain = tuple(dict.fromkeys(request.definition for request in requests if not request.group))
    impossible = {d: reason for d in plain if (reason := _lacking(d, items))}
    by_item = item_wants((d for d in plain if impossible.get(d) in {None, OWN_RANGES}), items.questionnaire)
    named, only = _named_items(requests, items, by_item)
    wants = (*wants_for((d for d in plain if d not in impossible), signals), *by_item, *named)
    if not wants:
        raise InputError(
            f"Nothing of what was asked for can be computed on this run: {next(iter(impossible.values()))}."
        )
    curves = {"risk_coverage"} if any(ordered(d) for d, _ in wants) else set()
    curves |= {TOTALS} if any(d.population.unit == "participant" for d, _ in wants) else set()
    return ItemPlan(wants, tuple(impossible.items()), only, frozenset(curves), signals=signals, notes=notes)


def _usual(items: Items, loss: str | None, coverage: Iterable[object] | None) -> tuple[str, ...]:
    """What is reported without asking."""
    names = selective_names(COVERAGES if coverage is None else (f"{c}" for c in coverage), loss)
    asked = items.questionnaire
    return names if asked is None else (*names, *questionnaire_names(asked.cuts, loss))


def _named_items(
    requests: Sequence[Request], items: Items, known: Sequence[Want]
) -> tuple[list[Want], dict[Key, frozenset[Group]]]:
    """The items that were asked for by name, of measures that are not reported for all of them."""
    groups: dict[Definition, frozenset[Group]] = {}
    for request in requests:
        if request.group:
            refuse_unknown_item(request.definition, request.group, items.questionnaire)
            if _lacking(request.definition, items) not in {None, OWN_RANGES}:
                raise InputError(f"{request.definition.expanded} {_lacking(request.definition, items)}.")
            groups[request.definition] = groups.get(request.definition, frozenset()) | {request.group}
    wants = item_wants((d for d in groups if d not in {own for own, _ in known}), items.questionnaire)
    return wants, {(d, grouping.columns): groups[d] for d, grouping in wants}


def _requests(names: Iterable[str]) -> tuple[Request, ...]:
    requests = tuple(dict.fromkeys(resolve(name, SELECTIVE) for name in names))
    if any(column != "item" for request in requests for column, _ in request.group):
        raise InputError("Name measures without groups; the confidences are chosen apart.")
    foreign = [r.definition for r in requests if not isinstance(r.definition.kind, Selective | Tallied)]
    if foreign:
        raise InputError(f"{foreign[0].name(SELECTIVE)} is not a measure of selective prediction.")
    return requests


def signals_for(items: Items, confidence: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The confidences to rank by: those named, all that every predicted item has, or the usual ones; and what to say."""
    if confidence and ALL in confidence:
        usable = tuple(name for name, values in items.signals.items() if not np.isnan(values[items.predicted]).any())
        left = [name for name in items.signals if name not in usable]
        if not usable:
            raise InputError(f"{items.name}: no signal has a value for every predicted item.")
        return usable, tuple(f"the signal {name} is left out: predicted items lack it" for name in left)
    if confidence:
        named = tuple(dict.fromkeys(confidence))
    else:
        usual = ("confidence",) if "confidence" in items.signals else ("llm", "total_evidence")
        named = tuple(name for name in usual if name in items.signals) or usual  # newer files lack some counts
    for name in named:
        items.confidence(name)
    return named, ()


def ordered(definition: Definition) -> bool:
    """Whether the confidence matters to a definition."""
    return "confidence" in definition.measure.groups and definition.args.get("order") != "oracle"


def by_signal(signals: Sequence[str]) -> Grouping:
    """The grouping by confidence; a single one is not named."""
    groups = tuple((("confidence", signal),) for signal in signals) if len(signals) > 1 else ((),)
    return Grouping(("confidence",), None, groups)


def wants_for(definitions: Iterable[Definition], signals: Sequence[str]) -> tuple[Want, ...]:
    """Definitions with the groupings that they are reported for."""
    grouping = by_signal(signals)
    return tuple((d, grouping if ordered(d) else OVERALL) for d in definitions)


def _lacking(definition: Definition, items: Items) -> str | None:
    if definition.args.cut is not None and definition.args.cut.value is None:
        return "needs a second run (--against)"
    reason = lacking(definition, items.questionnaire)
    if reason is None and definition.args.get("loss") == "abs_norm" and items.item_max is None:
        return "needs the largest possible score (--item-max), or another --loss"
    return reason


def unit_of(items: Items) -> str:
    """What a cluster is called."""
    return "participant" if any(source.role == PHQ8_ROLE for source in items.sources) else "cluster"


class ItemComputation:
    """One run's orders, prepared once for each signal and loss, and read under any weighting of its participants."""

    def __init__(self, items: Items, wants: Sequence[Want], signals: Sequence[str]) -> None:
        self.items, self.wants, self.signals = items, wants, tuple(signals)
        self.clusters = len(items.cluster_ids)
        self.sizes = np.bincount(items.cluster, minlength=self.clusters).astype(float)
        rows = np.flatnonzero(items.predicted)
        cluster = items.cluster[rows]
        whole = [(d, g) for d, g in wants if isinstance(d.kind, Selective) and not is_by_item(g)]
        losses = {kernel: _losses(items, kernel)[rows] for kernel in {kernel_of(d.args) for d, _ in whole}}
        self.best: dict[str, Ranking] = {name: oracle(cluster, loss) for name, loss in losses.items()}
        self.orders: dict[tuple[str, str], Ranking] = {
            (signal, kernel_of(d.args)): ranking(items.confidence(signal)[rows], cluster, losses[kernel_of(d.args)])
            for d, grouping in whole
            for signal in self.signals_of(grouping)
            if signal is not None
        }
        self.tallies = {
            (d, g.columns): TallyTable(items.answers, d, g) for d, g in wants if isinstance(d.kind, Tallied)
        }
        self.parts = self._parts([d for d, g in wants if is_by_item(g) and isinstance(d.kind, Selective)])
        self._cells: dict[Key, Cell] = {}

    def _parts(self, definitions: Sequence[Definition]) -> tuple[ItemComputation, ...]:
        """The same run item by item, for what its curves say of every item."""
        asked = self.items.questionnaire
        if not definitions or asked is None:
            return ()
        wants = [(d, OVERALL) for d in definitions]
        rows = np.arange(len(self.items)).reshape(-1, len(asked.items))
        return tuple(ItemComputation(self.items.take(own), wants, ()) for own in rows.T)

    def signals_of(self, grouping: Grouping) -> tuple[str | None, ...]:
        """The confidence behind every group; None where none orders the items."""
        return self.signals if grouping.columns else (None,)

    def curves(self, weights: Floats) -> RiskCurves:
        """The curves under these weightings (clusters x weightings)."""
        return RiskCurves(self, weights)

    def values(self, weights: Floats) -> dict[Key, Floats]:
        """Every wanted value under every weighting (groups x weightings); NaN where it is undefined."""
        curves, parts = self.curves(weights), [part.curves(weights) for part in self.parts]
        return {(d, g.columns): self._values(d, g, weights, curves, parts) for d, g in self.wants}

    def _values(
        self, definition: Definition, grouping: Grouping, weights: Floats, curves: RiskCurves, parts: list[RiskCurves]
    ) -> Floats:
        if isinstance(definition.kind, Tallied):
            return defined(self.tallies[definition, grouping.columns].outcomes(weights))
        if is_by_item(grouping):
            return np.stack([defined(part.outcome(definition, None)) for part in parts])
        return np.stack([defined(curves.outcome(definition, signal)) for signal in self.signals_of(grouping)])

    def cell(self, definition: Definition, grouping: Grouping) -> Cell:
        """The values of the run itself."""
        if not self._cells:
            curves = self.curves(np.ones((self.clusters, 1)))
            self._cells = {(d, g.columns): self._cell(curves, d, g) for d, g in self.wants}
        return self._cells[definition, grouping.columns]

    def _cell(self, curves: RiskCurves, definition: Definition, grouping: Grouping) -> Cell:
        if isinstance(definition.kind, Tallied):
            return self.tallies[definition, grouping.columns].cell()
        if is_by_item(grouping):
            return _joined([part.cell(definition, OVERALL) for part in self.parts])
        signals, total = self.signals_of(grouping), len(self.items)
        n = int(self.items.predicted.sum()) if definition.population.left_out else total
        outcomes = [curves.outcome(definition, signal) for signal in signals]
        pairs = zip(signals, grouping.groups, strict=True)
        return Cell(
            Outcome(np.concatenate([o.values for o in outcomes]), np.concatenate([o.flaws for o in outcomes])),
            n=np.full(len(signals), n),
            clusters=np.full(len(signals), self.clusters),
            details=tuple(self._details(definition, signal, group_suffix(group)) for signal, group in pairs),
            totals=np.full(len(signals), total),
        )

    def _details(self, definition: Definition, signal: str | None, suffix: str) -> dict[str, object]:
        """Which confidence orders the items, at which coverage, and for a step area its plateau twin and what ties do to it."""
        args = definition.args
        details: dict[str, object] = {} if signal is None else {"confidence": signal}
        if args.cut is not None and args.cut.value is not None:
            details["coverage"] = float(args.cut.value)
        if args.get("ties") == "step":
            details["plateau"] = definition.with_params(ties="plateau").name(SELECTIVE) + suffix
            if signal is not None and args.cut is None and definition.measure.base in {"AURC", "AUGRC"}:
                details["tie_sensitivity"] = self.tie_sensitivity(definition, signal)
        return details

    def tie_sensitivity(self, definition: Definition, signal: str) -> dict[str, float]:
        """The area with tied items in the best order, in expectation over orders, and in the worst."""
        ranked, ones = self.orders[signal, kernel_of(definition.args)], np.ones((self.clusters, 1))
        curves = self.curves(ones).of(definition, signal)
        best, expected, worst = (
            float(read(definition, replace_steps(curves, order, ones)).values[0]) for order in within_ties(ranked)
        )
        runs = np.diff(np.concatenate([[-1], ranked.ends]))
        return {"best": best, "expected": expected, "worst": worst, "tied_items": int(runs[runs > 1].sum())}

    def effective(self, definition: Definition, grouping: Grouping) -> Floats:
        """The number of participants: they weigh alike."""
        return np.full(len(grouping), float(self.clusters))

    def distributions(self, definition: Definition, grouping: Grouping) -> list[Distribution | None]:
        """No measure of items is a mean of values per query."""
        return [None] * len(grouping)

    def reservations(self, definition: Definition, grouping: Grouping, index: int) -> tuple[str, ...]:
        """A truncated area that cannot go as far as it should."""
        cut = definition.args.cut
        if cut is None or cut.kind != "C" or cut.value is None:
            return ()
        return tuple(area_ends_early(float(cut.value), self.items.predicted.mean() if len(self.items) else 0.0))

    def sample_warnings(
        self, definition: Definition, grouping: Grouping, index: int, method: str, level: float
    ) -> Iterator[str]:
        """Warn of an interval that rests on few participants."""
        return cluster_warnings(int(self.cell(definition, grouping).clusters[index]), unit_of(self.items))

    def replicate(
        self, plan: BootstrapPlan, progress: Progress | None = None, *, jackknife: bool = False
    ) -> Iterator[Replicated]:
        """The replicate values of every wanted pair."""
        values = over_replicates(self.values, plan, progress)
        without = over_replicates(self.values, LeaveOneOut(self.clusters)) if jackknife else {}
        for definition, grouping in self.wants:
            key = (definition, grouping.columns)
            yield Replicated(definition, grouping, values[key], without.get(key))

    def plan(self, resampling: Resampling) -> BootstrapPlan:
        """The draws over the participants, in blocks that bound memory."""
        return plan_over(self.items, resampling)


def _joined(cells: Sequence[Cell]) -> Cell:
    """The cells of one group each as the cell of all groups."""
    return Cell(
        Outcome(*(np.concatenate([getattr(c.outcome, part) for c in cells]) for part in ("values", "flaws"))),
        n=np.concatenate([c.n for c in cells]),
        clusters=np.concatenate([c.clusters for c in cells]),
        details=tuple(own for c in cells for own in c.details),
        totals=np.concatenate([c.totals for c in cells if c.totals is not None]),
    )


def plan_over(items: Items, resampling: Resampling) -> BootstrapPlan:
    """The draws over the participants of a run, in blocks that bound memory."""
    block = resampling.block or max(8, min(1024, BLOCK_CELLS // max(int(items.predicted.sum()), 1)))
    return resampling.plan_of(items.cluster_ids, block=block)


class RiskCurves:
    """A run's curves under some weightings; what definitions share is made once."""

    def __init__(self, run: ItemComputation, weights: Floats) -> None:
        self.run = run
        self.total = np.rint(run.sizes @ weights).astype(np.int64)
        self.best = {name: order.under(weights) for name, order in run.best.items()}
        self.steps = {key: order.under(weights) for key, order in run.orders.items()}

    def of(self, definition: Definition, signal: str | None, common: Ints | None = None) -> Curves:
        """The curves of a definition; ``common`` is how many items both systems of a comparison predict."""
        args = definition.args
        kernel, item_max = kernel_of(args), self.run.items.item_max
        chosen = self.best[kernel] if signal is None else self.steps[signal, kernel]
        scale = 1.0 if args.get("loss") != "abs_norm" or item_max is None else 1.0 / item_max
        return Curves(chosen, self.best[kernel], self.total, scale, common)

    def outcome(self, definition: Definition, signal: str | None) -> Outcome:
        """A definition's outcome under every weighting."""
        return read(definition, self.of(definition, signal))


def read(definition: Definition, curves: Curves) -> Outcome:
    """A definition's outcome on its curves."""
    assert isinstance(definition.kind, Selective)
    return definition.kind.read(curves, definition.args)


def replace_steps(curves: Curves, order: Ranking, weights: Floats) -> Curves:
    """The same curves with the items in another order."""
    return Curves(order.under(weights), curves.best, curves.total, curves.scale)


def kernel_of(args: Args) -> str:
    """Losses that differ by a factor share their curves."""
    loss = args.get("loss") or "abs"
    return "abs" if loss == "abs_norm" else loss


def _losses(items: Items, kernel: str) -> Floats:
    error = items.pred - items.gt
    if kernel == "zero_one":
        return np.where(error == 0, 0.0, 1.0)
    return np.square(error) if kernel == "squared" else np.abs(error)
