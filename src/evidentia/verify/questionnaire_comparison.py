"""The differences of two runs of a questionnaire, computed again: only answers to what both answer are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from evidentia.results.selective import Answered, answered_by_both
from evidentia.verify.deltas import SideValue, delta_entry
from evidentia.verify.draws import Draws
from evidentia.verify.items import ItemRows
from evidentia.verify.plan import LOOPS
from evidentia.verify.questionnaire import AnswerSheet, Part, name_of, sizes_of
from evidentia.verify.recipes import Difference, Recipe, on_all
from evidentia.verify.selective_study import ItemAsked, ItemStudy, judged_difference, replicates
from evidentia.verify.tally import Tally

ANSWERS = ("MAE", "WeightedKappa", "TotalMAE")  # of answers; everything else counts abstentions too
Sheets = tuple[AnswerSheet, AnswerSheet]


@dataclass(frozen=True, eq=False)
class AnswerContest:
    """A baseline and a run of a questionnaire, of the same participants."""

    study: ItemStudy
    sides: tuple[ItemRows, ItemRows]

    @cached_property
    def asked(self) -> list[ItemAsked]:
        """What is compared; nothing where one of the two answers something else than the questionnaire asks."""
        asked = self.study.usual.answers_asked if self._is_answered() else []
        return [(d, item) for d, item in asked if d.args.get("bound") != "high"]  # abstaining raises an upper bound

    def _is_answered(self) -> bool:
        asked, (other, own) = self.study.questionnaire, self.sides
        if asked is None or other.names != own.names or other.owner.tolist() != own.owner.tolist():
            return False
        scores = {item.id: range(item.low, item.high + 1) for item in asked.items}
        return all(isnan(pred) or pred in scores[name] for name, pred in zip(other.names, other.pred, strict=True))

    @cached_property
    def sheets(self) -> Sheets:
        """The answers of the baseline and of the run."""
        items = () if self.study.questionnaire is None else self.study.questionnaire.items
        first, second = (AnswerSheet.of(items, side) for side in self.sides)
        return first, second

    def _parts(self, asked: ItemAsked, sheets: Sheets) -> tuple[Part, Part]:
        first, second = sheets
        if asked[0].measure.base in ANSWERS:
            first, second = first.beside(second), second.beside(first)
        largest = self.study.items.item_max
        return Part(*asked, first, largest), Part(*asked, second, largest)

    def _recipes(self, sheets: Sheets) -> dict[ItemAsked, Recipe]:
        parts = {asked: self._parts(asked, sheets) for asked in self.asked}
        return {asked: Difference(second.recipe(), first.recipe()) for asked, (first, second) in parts.items()}

    @cached_property
    def _draws(self) -> Draws:
        return self.study.draws(self.sides[0])

    @cached_property
    def drawn(self) -> dict[ItemAsked, Any]:
        """Every difference in every draw."""
        return replicates(self._recipes(self.sheets), self._draws) if self.asked else {}

    def check_loops(self, tally: Tally) -> None:
        """Some replicates again, with the drawn participants written out."""
        for replicate in self._draws.first(LOOPS) if self.asked else ():
            times = np.bincount(self._draws.picks(replicate), minlength=self._draws.posts)
            first, second = (sheet.repeated(times) for sheet in self.sheets)
            again = on_all(list(self._recipes((first, second)).values()), len(first))
            for asked, value in zip(self.asked, again.tolist(), strict=True):
                drawn = float(self.drawn[asked][replicate])
                where = f"difference of {name_of(asked)}: replicate {replicate}, by a plain loop"
                tally.number(where, None if isnan(drawn) else drawn, value)

    def deltas(self) -> list[dict[str, Any]]:
        """Every difference, before p values are corrected."""
        return [self._delta(asked) for asked in self.asked]

    def _delta(self, asked: ItemAsked) -> dict[str, Any]:
        parts = self._parts(asked, self.sheets)
        values = [float(value) for value in on_all([part.recipe() for part in parts], len(self.sheets[0]))]
        shared, total = sizes_of(parts[0])
        clusters = shared if parts[0].base.startswith("Total") else len(self.sheets[0])
        sides = (
            SideValue(name, None if isnan(value) else value, shared, clusters)
            for name, value in zip(self.study.options["names"], values, strict=True)
        )
        family = "questionnaire" if asked[1] is None else "items"
        return judged_difference(
            self.study,
            delta_entry(name_of(asked), asked[0], family, *sides, delta=None),
            values[1] - values[0],
            self.drawn[asked],
            undefined="undefined for at least one of the two",
            first=self._both(asked, shared, total),
        )

    def _both(self, asked: ItemAsked, shared: int, total: int) -> Iterator[str]:
        """What is said where a difference rests on less than everything."""
        base = asked[0].measure.base
        alone = [sizes_of(Part(*asked, sheet, None))[0] for sheet in self.sheets]
        sides = [Answered(name, count, total) for name, count in zip(self.study.options["names"], alone, strict=True)]
        if base in ANSWERS:
            yield from answered_by_both(sides, shared, "participant" if base == "TotalMAE" else "item")
