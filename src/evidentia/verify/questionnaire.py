"""Questionnaires, computed again: error and agreement by item, and totals between what abstained items could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.results.catalogue import Definition
from evidentia.results.names import group_suffix
from evidentia.results.profiles import SELECTIVE
from evidentia.results.questionnaire import AskedItem
from evidentia.verify.draws import Draws
from evidentia.verify.intervals import DrawnNumber
from evidentia.verify.items import ItemRows
from evidentia.verify.plan import LOOPS
from evidentia.verify.recipes import MeanOf, Recipe, Sums, on_all, over
from evidentia.verify.selective_study import ItemAsked, ItemStudy, about_interval, replicates
from evidentia.verify.sheet import Sheet
from evidentia.verify.tally import Tally

Cells = dict[str, tuple[int | None, int]]  # answer and truth by item
Scores = Sequence[tuple[AskedItem, int | None, int]]


class AnswerSheet:
    """What each participant answered to every item, and the truth; None is an abstention."""

    def __init__(self, items: Sequence[AskedItem], people: Sequence[Cells]) -> None:
        self.items, self.people = tuple(items), people

    @classmethod
    def of(cls, asked: Sequence[AskedItem], rows: ItemRows) -> AnswerSheet:
        """The rows of a run, gathered by participant."""
        people: list[Cells] = [{} for _ in rows.clusters]
        for owner, name, pred, gt in zip(rows.owner.tolist(), rows.names, rows.pred, rows.gt, strict=True):
            people[owner][name] = (None if isnan(pred) else int(pred), int(gt))
        return cls(asked, people)

    def __len__(self) -> int:
        return len(self.people)

    def repeated(self, times: Ints) -> AnswerSheet:
        """Every participant as often as drawn."""
        return AnswerSheet(
            self.items, [own for own, count in zip(self.people, times, strict=True) for _ in range(count)]
        )

    def beside(self, other: AnswerSheet) -> AnswerSheet:
        """Only the answers to what the other one answers too."""
        people: list[Cells] = []
        for own, theirs in zip(self.people, other.people, strict=True):
            people.append(
                {item: cell if theirs[item][0] is not None else (None, cell[1]) for item, cell in own.items()}
            )
        return AnswerSheet(self.items, people)

    def scores(self, item: str | None) -> list[Scores]:
        """Per participant: every item, or one, with its answer and its truth."""
        asked = [own for own in self.items if item in {None, own.id}]
        return [[(own, *cells[own.id]) for own in asked] for cells in self.people]

    @cached_property
    def totals(self) -> list[tuple[int, int, int, bool]]:
        """Per participant: the lowest and the highest possible total, the true one, and whether everything is answered."""
        return [_total(scores) for scores in self.scores(None)]


def _total(scores: Scores) -> tuple[int, int, int, bool]:
    low = high = truth = 0
    for item, answer, gt in scores:
        around = item.low + item.high
        truth += around - gt if item.reversed else gt
        if answer is None:
            low, high = low + item.low, high + item.high
        else:
            own = around - answer if item.reversed else answer
            low, high = low + own, high + own
    return low, high, truth, all(answer is not None for _, answer, _ in scores)


@dataclass(frozen=True, eq=False)
class Part:
    """A number to compute: its definition, the item that it is about, and whose answers."""

    definition: Definition
    item: str | None
    sheet: AnswerSheet
    item_max: float | None

    @property
    def base(self) -> str:
        """The name of the measure without its choices."""
        return self.definition.measure.base

    @cached_property
    def rows(self) -> list[Scores]:
        """Per participant: the answers that it is about."""
        return self.sheet.scores(self.item)

    @property
    def answered(self) -> list[tuple[int, int]]:
        """Every answer with its truth."""
        return [(answer, gt) for row in self.rows for _, answer, gt in row if answer is not None]

    def loss(self, answer: int, gt: int) -> float:
        """How wrong an answer is."""
        chosen = self.definition.args.get("loss")
        if chosen == "zero_one":
            return float(answer != gt)
        if chosen == "squared":
            return float((answer - gt) ** 2)
        return abs(answer - gt) / (self.item_max or 1.0) if chosen == "abs_norm" else float(abs(answer - gt))

    @property
    def cut(self) -> int:
        """The cut-off of the total."""
        cut = self.definition.args.cut
        assert cut is not None
        assert cut.value is not None
        return int(cut.value)

    def recipe(self) -> Recipe:
        """How the number follows from sums over participants."""
        if self.definition.args.get("avg") == "item":
            parts = [Part(self.definition, own.id, self.sheet, self.item_max) for own in self.sheet.items]
            return MeanOf(tuple(_mean_loss(part) for part in parts))
        return TWINS[self.base](self)


def _ratio(pairs: Sequence[tuple[float, float]]) -> Sums:
    """The first sum over the second."""
    return Sums(np.array(pairs, np.float64).reshape(-1, 2).T.copy(), lambda sums: over(sums[0], sums[1]))


def _mean_loss(part: Part) -> Sums:
    pairs = []
    for row in part.rows:
        losses = [part.loss(answer, gt) for _, answer, gt in row if answer is not None]
        pairs.append((sum(losses), float(len(losses))))
    return _ratio(pairs)


def _coverage(part: Part) -> Sums:
    return _ratio([(float(sum(answer is not None for _, answer, _ in row)), float(len(row))) for row in part.rows])


def _kappa(part: Part) -> Sums:
    """Weights of the disagreements, and how often each score was answered and was true, for the table under chance."""
    low, high = part.rows[0][0][0].low, part.rows[0][0][0].high
    size = high - low + 1
    weight = np.square(np.subtract.outer(np.arange(size), np.arange(size)) / (size - 1))
    columns = np.zeros((1 + 2 * size, len(part.rows)))
    for at, row in enumerate(part.rows):
        for _, answer, gt in row:
            if answer is not None:
                columns[0, at] += weight[answer - low, gt - low]
                columns[1 + answer - low, at] += 1
                columns[1 + size + gt - low, at] += 1

    def finish(sums: Floats) -> Floats:
        answers, truths = sums[1 : 1 + size], sums[1 + size :]
        n = answers.sum(axis=0)
        chance = over(np.einsum("ir,ij,jr->r", answers, weight, truths), n)
        return 1.0 - over(sums[0], np.nan_to_num(chance))

    return Sums(columns, finish)


def _total_error(part: Part) -> Sums:
    return _ratio(
        [(float(abs(low - truth)), 1.0) if whole else (0.0, 0.0) for low, _, truth, whole in part.sheet.totals]
    )


def _decided(part: Part) -> Sums:
    return _ratio([(float(low >= part.cut or high < part.cut), 1.0) for low, high, _, _ in part.sheet.totals])


def _sensitivity(part: Part) -> Sums:
    place = 0 if part.definition.args["bound"] == "low" else 1  # undecided: the low end is below, the high end above
    return _ratio([(float(t[place] >= part.cut), 1.0) if t[2] >= part.cut else (0.0, 0.0) for t in part.sheet.totals])


def _specificity(part: Part) -> Sums:
    place = 1 if part.definition.args["bound"] == "low" else 0
    return _ratio([(float(t[place] < part.cut), 1.0) if t[2] < part.cut else (0.0, 0.0) for t in part.sheet.totals])


TWINS: Mapping[str, Callable[[Part], Sums]] = {
    "MAE": _mean_loss,
    "Cmax": _coverage,
    "WeightedKappa": _kappa,
    "TotalMAE": _total_error,
    "TotalDecided": _decided,
    "TotalSensitivity": _sensitivity,
    "TotalSpecificity": _specificity,
}
SHARES = ("Cmax", "TotalDecided", "TotalSensitivity", "TotalSpecificity")


def name_of(asked: ItemAsked) -> str:
    """What a number is called in a summary."""
    definition, item = asked
    return definition.name(SELECTIVE) + ("" if item is None else group_suffix((("item", item),)))


@dataclass(frozen=True, eq=False)
class ExpectedAnswers:
    """Every entry of a summary about a questionnaire."""

    study: ItemStudy
    sheet: AnswerSheet

    @classmethod
    def of(cls, study: ItemStudy) -> ExpectedAnswers:
        """What the items of a study say; nothing where they are of no questionnaire."""
        asked = () if study.questionnaire is None else study.questionnaire.items
        return cls(study, AnswerSheet.of(asked, study.items))

    def part(self, asked: ItemAsked, sheet: AnswerSheet | None = None) -> Part:
        """A number, of these answers or of others."""
        return Part(*asked, sheet or self.sheet, self.study.items.item_max)

    @cached_property
    def recipes(self) -> dict[ItemAsked, Recipe]:
        """How every number is computed."""
        return {asked: self.part(asked).recipe() for asked in self.study.answers_asked}

    @cached_property
    def _draws(self) -> Draws:
        return self.study.draws(self.study.items)

    @cached_property
    def drawn(self) -> dict[ItemAsked, Floats]:
        """Every number in every draw."""
        return replicates(self.recipes, self._draws)

    @cached_property
    def _without(self) -> dict[ItemAsked, Floats]:
        wanted = self.drawn and self.study.interval.method == "bca"
        return replicates(self.recipes, self.study.left_out) if wanted else {}

    @cached_property
    def _points(self) -> dict[ItemAsked, float]:
        values = on_all(list(self.recipes.values()), len(self.sheet)).tolist() if self.recipes else []
        return dict(zip(self.recipes, values, strict=True))

    def check_loops(self, tally: Tally) -> None:
        """Some replicates again, with the drawn participants written out."""
        for replicate in self._draws.first(LOOPS) if self.recipes else ():
            times = np.bincount(self._draws.picks(replicate), minlength=self._draws.posts)
            sheet = self.sheet.repeated(times)
            again = on_all([self.part(asked, sheet).recipe() for asked in self.recipes], len(sheet))
            for asked, value in zip(self.recipes, again.tolist(), strict=True):
                where = f"{asked[0].expanded}: replicate {replicate}, by a plain loop"
                drawn = float(self.drawn[asked][replicate])
                tally.number(where, None if isnan(drawn) else drawn, value)

    @property
    def has_totals(self) -> bool:
        """Whether any number is about totals."""
        return any(definition.measure.base.startswith("Total") for definition, _ in self.recipes)

    def totals_sheet(self) -> Sheet:
        """How many participants have each true total, with which lowest and highest possible one."""
        people = Counter((truth, low, high) for low, high, truth, _ in self.sheet.totals)
        return Sheet("figures/totals", TOTALS, tuple((*map(float, key), float(people[key])) for key in sorted(people)))

    def entry(self, asked: ItemAsked) -> dict[str, Any]:
        """Everything about one number."""
        part, value = self.part(asked), self._points[asked]
        measure = part.definition.measure
        n, whole = sizes_of(part)
        clusters = n if part.base.startswith("Total") else len(self.sheet)
        drawn = DrawnNumber(value, self.drawn[asked], self._without.get(asked)) if self.drawn else None
        interval, warnings = about_interval(self.study, drawn, clusters, proportion=part.base in SHARES)
        reason = 1 if part.base == "WeightedKappa" and n else 0
        left_out = part.definition.population.left_out
        return {
            "value": None if isnan(value) else value,
            "definition": part.definition.expanded,
            **interval,
            **dict.fromkeys(("distribution", "fold_mean", "fold_std", "folds_used")),
            **{"n": n, "n_clusters": clusters, "population": part.definition.population.words},
            "left_out": {left_out: whole - n} if left_out and whole > n else {},
            "degenerate": measure.reasons[reason] if isnan(value) else None,
            "warnings": warnings,
            **{"direction": measure.direction, "family": measure.family, "label": measure.label},
            "meaning": measure.meaning,
            "details": _details(part),
        }


TOTALS = ("truth", "low", "high", "participants")


def sizes_of(part: Part) -> tuple[int, int]:
    """How many units a number is over, and how many there are."""
    totals = part.sheet.totals if part.base.startswith("Total") else []
    if part.base == "TotalMAE":
        return sum(whole for *_, whole in totals), len(totals)
    if part.base == "TotalSensitivity":
        return sum(truth >= part.cut for _, _, truth, _ in totals), len(totals)
    if part.base == "TotalSpecificity":
        return sum(truth < part.cut for _, _, truth, _ in totals), len(totals)
    if part.base == "TotalDecided":
        return len(totals), len(totals)
    cells = sum(len(row) for row in part.rows)
    return (cells if part.base == "Cmax" else len(part.answered)), cells


def _details(part: Part) -> dict[str, Any]:
    if part.base == "MAE" and part.item is None:
        return {"items": len({item.id for row in part.rows for item, answer, _ in row if answer is not None})}
    if part.base == "WeightedKappa" and len(part.rows[0]) == 1:
        return {"confusion": _confusion(part)}
    if part.base == "TotalDecided":
        above = sum(low >= part.cut for low, *_ in part.sheet.totals)
        below = sum(high < part.cut for _, high, *_ in part.sheet.totals)
        undecided = sum(low < part.cut <= high for low, high, *_ in part.sheet.totals)
        return {"cut": part.cut, "above": above, "below": below, "undecided": undecided}
    return {"cut": part.cut} if part.base.startswith("Total") and part.base != "TotalMAE" else {}


def _confusion(part: Part) -> list[list[int]]:
    """True scores by answers, the abstained ones last."""
    (item, _, _), *_ = part.rows[0]
    scores = range(item.low, item.high + 1)
    pairs = Counter((gt, answer) for row in part.rows for _, answer, gt in row)
    return [[pairs[gt, answer] for answer in (*scores, None)] for gt in scores]
