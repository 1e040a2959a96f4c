"""Questionnaires within a run of items: what is computed item by item, and what adds up over participants."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from evidentia.array_types import Floats
from evidentia.errors import UnknownNameError
from evidentia.evaluation.compute import Cell
from evidentia.evaluation.plan import Group, Grouping, Want
from evidentia.measures import Definition
from evidentia.measures.core import Outcome, Tallied
from evidentia.measures.questionnaire import total_limits, true_totals
from evidentia.results.curve import Curve
from evidentia.results.measure import NEEDS
from evidentia.results.names import group_suffix
from evidentia.results.questionnaire import Questionnaire
from evidentia.tables.answers import Answers

ITEM = "item"
TOTALS = "totals"  # a figure
TOTALS_COLUMNS = ("truth", "low", "high", "participants")
OWN_RANGES = "needs items of one range; it is reported item by item"


def by_item(asked: Questionnaire) -> Grouping:
    """The grouping by item, in the order of the questionnaire."""
    codes = np.arange(len(asked.items))
    return Grouping((ITEM,), codes, tuple(((ITEM, own),) for own in asked.item_ids))


def is_by_item(grouping: Grouping) -> bool:
    """Whether the groups are items."""
    return grouping.columns == (ITEM,)


def lacking(definition: Definition, asked: Questionnaire | None) -> str | None:
    """Why a measure of questionnaires cannot be computed over a whole run, or None if it can."""
    if not isinstance(definition.kind, Tallied):
        return None
    if asked is None:
        return NEEDS["questionnaire"]
    pooled = ITEM in definition.measure.groups
    return OWN_RANGES if pooled and not asked.one_range else None


def item_wants(definitions: Iterable[Definition], asked: Questionnaire | None) -> list[Want]:
    """The definitions that are reported item by item."""
    if asked is None:
        return []
    return [(d, by_item(asked)) for d in definitions if ITEM in d.measure.groups]


def refuse_unknown_item(definition: Definition, group: Group, asked: Questionnaire | None) -> None:
    """Refuse a group that is no item of the questionnaire, or a measure that has no value for one."""
    known = () if asked is None else by_item(asked).groups
    if group not in known or ITEM not in definition.measure.groups:
        raise UnknownNameError(f"The run has no group {group_suffix(group)} of {definition.expanded}.")


def totals_of(answers: Answers) -> Curve:
    """How many participants have each true total, with which lowest and highest possible predicted one."""
    grid = np.stack([true_totals(answers), *total_limits(answers)])
    distinct, counts = np.unique(grid, axis=1, return_counts=True)
    columns = (*distinct.tolist(), counts.astype(np.float64).tolist())
    return Curve(TOTALS, "Totals", dict(zip(TOTALS_COLUMNS, map(tuple, columns), strict=True)))


class TallyTable:
    """The columns of a definition for all items together, or for every item apart."""

    def __init__(self, answers: Answers, definition: Definition, grouping: Grouping) -> None:
        assert isinstance(definition.kind, Tallied)
        self.kind, self.args, self.population = definition.kind, definition.args, definition.population
        self.parts = [answers.item(at) for at in range(len(answers.items))] if is_by_item(grouping) else [answers]
        self.columns = [self.kind.columns(part, self.args) for part in self.parts]

    def outcomes(self, weights: Floats) -> Outcome:
        """The values under every weighting: groups x weightings."""
        outcomes = [
            self.kind.finish(weights.T @ columns, part, self.args)
            for part, columns in zip(self.parts, self.columns, strict=True)
        ]
        return Outcome(np.stack([o.values for o in outcomes]), np.stack([o.flaws for o in outcomes]))

    def cell(self) -> Cell:
        """The values of the run itself, with sizes and details."""
        people = len(self.columns[0])
        outcome = self.outcomes(np.ones((people, 1)))
        sums = [columns.sum(axis=0) for columns in self.columns]
        n = np.array([int(self.kind.size(own, self.args)) for own in sums])
        whole = self.population.unit == "participant"
        return Cell(
            Outcome(outcome.values[:, 0], outcome.flaws[:, 0]),
            n=n,
            clusters=n if whole else np.full(len(n), people),
            details=tuple(self._details(own, part) for own, part in zip(sums, self.parts, strict=True)),
            totals=np.array([people if whole else part.gt.size for part in self.parts]),
        )

    def _details(self, sums: Floats, part: Answers) -> dict[str, object]:
        return {} if self.kind.details is None else self.kind.details(sums, part, self.args)
