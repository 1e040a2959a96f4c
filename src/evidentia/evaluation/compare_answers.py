"""Two predictors that answer one questionnaire: errors and agreement over what both answer, shares over everybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evidentia.array_types import Floats
from evidentia.evaluation.compute import Cell
from evidentia.evaluation.deltas import Contrast
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.items import ItemComputation, plan_for_items, unit_of
from evidentia.evaluation.plan import Key, Want
from evidentia.evaluation.questionnaire import is_by_item
from evidentia.measures import Definition
from evidentia.measures.core import Tallied
from evidentia.measures.questionnaire import COMPLETE
from evidentia.measures.selective import PREDICTED
from evidentia.results.questionnaire import Questionnaire
from evidentia.results.sample_size import cluster_warnings, left_out_warning
from evidentia.results.selective import Answered, answered_by_both
from evidentia.stats.intervals import percentile_limits
from evidentia.stats.testing import bootstrap_p
from evidentia.tables.items import Items

Both = tuple[ItemComputation, ItemComputation]


@dataclass(frozen=True, eq=False)
class AnswerPair:
    """What is compared of two runs of a questionnaire: ``whole`` as they are, ``shared`` with what both answer only."""

    wants: tuple[Want, ...]
    names: tuple[str, str]
    whole: Both
    shared: Both

    @classmethod
    def of(
        cls, sides: tuple[Items, Items], names: tuple[str, str], signals: Sequence[str], loss: str | None
    ) -> AnswerPair | None:
        """Prepare both runs; None where the system is of no questionnaire or the baseline does not fit its own."""
        asked = sides[1].questionnaire
        if asked is None or not _fits(sides[0], asked):
            return None
        first, second = (replace(side, questionnaire=asked) for side in sides)
        plan = plan_for_items(second, confidence=signals, loss=loss)
        wants = tuple(
            (d, g) for d, g in plan.wants if _is_compared(d) and (isinstance(d.kind, Tallied) or is_by_item(g))
        )
        paired = [(d, g) for d, g in wants if _is_paired(d)]
        shared = (_answered_by(first, second), _answered_by(second, first))
        whole = (ItemComputation(first, wants, ()), ItemComputation(second, wants, ()))
        return cls(
            wants, names, whole, (ItemComputation(shared[0], paired, ()), ItemComputation(shared[1], paired, ()))
        )

    @property
    def same_items(self) -> bool:
        """Whether both answer the very same items."""
        first, second = (side.items.predicted for side in self.whole)
        return bool((first == second).all())

    def differences(self, weights: Floats) -> dict[Key, Floats]:
        """System minus baseline under each weighting; NaN where either is undefined."""
        shared, whole = ([side.values(weights) for side in sides] for sides in (self.shared, self.whole))
        values = [{**plain, **paired} for plain, paired in zip(whole, shared, strict=True)]
        return {key: values[1][key] - values[0][key] for key in values[0]}

    def contrasts(self, differences: Mapping[Key, Floats], resampling: Resampling) -> Iterator[Contrast]:
        """Both values of every want, and limits and p of their differences."""
        for definition, grouping in self.wants:
            drawn = differences[definition, grouping.columns]
            limits = percentile_limits(drawn, resampling.level)
            whole = [side.cell(definition, grouping) for side in self.whole]
            first, second = (
                [side.cell(definition, grouping) for side in self.shared] if _is_paired(definition) else whole
            )
            warnings = [
                [
                    *self._both(definition, first, whole, at),
                    *cluster_warnings(int(first.clusters[at]), unit_of(self.whole[1].items)),
                    *left_out_warning(left_out, resampling.resamples),
                ]
                for at, left_out in enumerate(limits.left_out.tolist())
            ]
            yield Contrast(definition, grouping, (first, second), limits, bootstrap_p(drawn), warnings)

    def _both(self, definition: Definition, shared: Cell, whole: Sequence[Cell], at: int) -> Iterator[str]:
        """What both answer, and each alone."""
        if _is_paired(definition):
            assert shared.totals is not None
            total = int(shared.totals[at])
            sides = [Answered(name, int(cell.n[at]), total) for name, cell in zip(self.names, whole, strict=True)]
            yield from answered_by_both(sides, int(shared.n[at]), definition.population.unit)


def _is_compared(definition: Definition) -> bool:
    """Not the upper bounds: undecided participants count for the system there, so that whoever abstains more would win."""
    return definition.args.get("bound") != "high"


def _is_paired(definition: Definition) -> bool:
    """Whether a measure is about answers, so that only those to what both answer can be compared."""
    return definition.population in (PREDICTED, COMPLETE)


def _answered_by(items: Items, other: Items) -> Items:
    return replace(items, pred=np.where(other.predicted, items.pred, np.nan))


def _fits(items: Items, asked: Questionnaire) -> bool:
    """Whether all answers are scores of the questionnaire; those of a table need not be."""
    answers = replace(items, questionnaire=asked).answers
    scores = np.where(answers.held, answers.pred, answers.low)
    return bool(((scores >= answers.low) & (scores <= answers.high) & (scores == np.rint(scores))).all())
