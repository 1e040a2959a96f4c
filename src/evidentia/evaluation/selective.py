"""From the items of a predictor that may abstain to every measure of its risk-coverage curves, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.errors import InputError
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.replicates import Progress
from evidentia.measures.core import Args, Outcome, Selective
from evidentia.measures.profiles import COVERAGES, SELECTIVE, selective_names
from evidentia.measures.registry import Definition, resolve
from evidentia.measures.selective import LOSSES
from evidentia.results import NotComputed
from evidentia.stats.resampling import LeaveOneOut, Plan, ResamplingPlan
from evidentia.stats.risk_coverage import Curves, Ranking, oracle, ranking
from evidentia.stats.threads import in_threads
from evidentia.tables.items import Items

BLOCK_CELLS = 1 << 21  # items times replicates in work at once
ALL = "all"
Want = tuple[Definition, str | None]  # a definition, and the signal that orders the items; None where none does


@dataclass(frozen=True)
class Task:
    """What is to be computed: measures by signal, the signals, and what this run cannot have."""

    wants: tuple[Want, ...]
    signals: tuple[str, ...]
    gaps: tuple[NotComputed, ...]
    notes: tuple[str, ...] = ()


def task_for(
    items: Items,
    *,
    confidence: Sequence[str] | None = None,
    loss: str | None = None,
    coverage: Iterable[object] | None = None,
    measures: Sequence[str] | None = None,
) -> Task:
    """Resolve what was asked for against what the run has."""
    if loss is not None and loss not in LOSSES:
        raise InputError(f"There is no loss of that name. Losses are: {', '.join(LOSSES)}.")
    if loss == "abs_norm" and items.item_max is None:
        raise InputError("The loss abs_norm divides by the largest possible error of an item: give it with --item-max.")
    signals, notes = signals_for(items, confidence)
    grid = COVERAGES if coverage is None else tuple(f"{c}" for c in coverage)
    names = tuple(measures) if measures is not None else selective_names(grid, loss)
    requests = [resolve(name, SELECTIVE) for name in names]
    if any(request.group for request in requests):
        raise InputError("Name measures without groups; the confidences are chosen apart.")
    definitions = tuple(dict.fromkeys(request.definition for request in requests))
    foreign = [d for d in definitions if not isinstance(d.kind, Selective)]
    if foreign:
        raise InputError(f"{foreign[0].name(SELECTIVE)} is not a measure of selective prediction.")
    gaps = [(d, reason) for d in definitions if (reason := _lacking(d, items))]
    wanted = [d for d in definitions if d not in {gap for gap, _ in gaps}]
    if not wanted:
        raise InputError(f"Nothing of what was asked for can be computed on this run: {gaps[0][1]}.")
    wants = tuple((d, signal) for d in wanted for signal in (signals if ordered(d) else (None,)))
    return Task(wants, signals, _gathered(gaps), notes)


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


def _lacking(definition: Definition, items: Items) -> str | None:
    if definition.args.cut is not None and definition.args.cut.value is None:
        return "needs a second run (--against)"
    if definition.args.get("loss") == "abs_norm" and items.item_max is None:
        return "needs the largest possible score (--item-max), or another --loss"
    return None


def _gathered(gaps: Sequence[tuple[Definition, str]]) -> tuple[NotComputed, ...]:
    reasons = dict.fromkeys(reason for _, reason in gaps)
    return tuple(
        NotComputed("selective", reason, tuple(d.name(SELECTIVE) for d, why in gaps if why == reason))
        for reason in reasons
    )


class Readings:
    """One run's orders, prepared once for each signal and loss, and read under any weighting of its participants."""

    def __init__(self, items: Items, wants: Sequence[Want]) -> None:
        self.wants = wants
        self.clusters = len(items.cluster_ids)
        self.sizes = np.bincount(items.cluster, minlength=self.clusters).astype(float)
        rows = np.flatnonzero(items.predicted)
        self.predicted = len(rows)
        self.item_max = items.item_max
        cluster = items.cluster[rows]
        losses = {kernel_of(d.args): _losses(items, kernel_of(d.args))[rows] for d, _ in wants}
        self.best: dict[str, Ranking] = {name: oracle(cluster, loss) for name, loss in losses.items()}
        self.orders: dict[tuple[str, str], Ranking] = {
            (signal, kernel_of(d.args)): ranking(items.confidence(signal)[rows], cluster, losses[kernel_of(d.args)])
            for d, signal in wants
            if signal is not None
        }

    def curves(self, weights: Floats) -> Callable[[Want, Ints | None], Curves]:
        """A function from a want to its curves under these weightings; what wants share is made once."""
        total = np.rint(self.sizes @ weights).astype(np.int64)
        best = {name: order.under(weights) for name, order in self.best.items()}
        steps = {key: order.under(weights) for key, order in self.orders.items()}

        def find(want: Want, common: Ints | None = None) -> Curves:
            definition, signal = want
            kernel = kernel_of(definition.args)
            chosen = best[kernel] if signal is None else steps[signal, kernel]
            return Curves(chosen, best[kernel], total, self._scale(definition.args), common)

        return find

    def read(self, weights: Floats) -> dict[Want, Outcome]:
        """The outcome of every want under every weighting."""
        find = self.curves(weights)
        return {want: outcome_of(want, find(want, None)) for want in self.wants}

    def points(self) -> dict[Want, Outcome]:
        """The values of the run itself."""
        return self.read(np.ones((self.clusters, 1)))

    def run(self, plan: Plan, progress: Progress | None = None) -> dict[Want, Floats]:
        """Replicate values of every want; NaN where a replicate is undefined."""
        values = {want: np.empty(plan.resamples) for want in self.wants}

        def work(rows: slice, weights: Floats) -> int:
            for want, outcome in self.read(weights).items():
                values[want][rows] = np.where(outcome.flaws > 0, np.nan, outcome.values)
            return int(rows.stop)

        for done in in_threads(work, plan.blocks()):
            if progress is not None:
                progress(done, plan.resamples)
        return values

    def plan(self, resampling: Resampling) -> ResamplingPlan:
        """The draws over the participants, in blocks that bound memory."""
        return ResamplingPlan(self.clusters, resampling.resamples, resampling.seed, None, self._block(resampling))

    def left_out(self) -> LeaveOneOut:
        """The jackknife over the participants."""
        return LeaveOneOut(self.clusters)

    def _block(self, resampling: Resampling) -> int:
        return resampling.block or max(8, min(1024, BLOCK_CELLS // max(self.predicted, 1)))

    def _scale(self, args: Args) -> float:
        if args.get("loss") != "abs_norm":
            return 1.0
        assert self.item_max is not None
        return 1.0 / self.item_max


def outcome_of(want: Want, curves: Curves) -> Outcome:
    """A definition's outcome on its curves."""
    kind = want[0].kind
    assert isinstance(kind, Selective)
    return kind.read(curves, want[0].args)


def kernel_of(args: Args) -> str:
    """Losses that differ by a factor share their curves."""
    loss = args.get("loss") or "abs"
    return "abs" if loss == "abs_norm" else loss


def _losses(items: Items, kernel: str) -> Floats:
    error = items.pred - items.gt
    made: Mapping[str, Callable[[], Floats]] = {
        "abs": partial(np.abs, error),
        "squared": partial(np.square, error),
        "zero_one": lambda: np.where(error == 0, 0.0, 1.0),
    }
    return made[kernel]()
