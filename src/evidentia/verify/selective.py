"""Verify a selective result: its summary, built whole from its items, its tables, its curves and its comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from evidentia.array_types import Floats
from evidentia.results.catalogue import Definition
from evidentia.results.names import parse_name
from evidentia.results.profiles import SELECTIVE
from evidentia.results.selective import area_ends_early
from evidentia.results.selective_layout import BY_ITEM, CUT_OFFS, MATCHED, MEASURES, SIGNALS, TIES, confusion_columns
from evidentia.verify.deltas import delta_sheets
from evidentia.verify.draws import Progress
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import DrawnNumber, said_of_bootstrap
from evidentia.verify.items import CurveReading, ItemRows, read_items
from evidentia.verify.limits import percentile_limits
from evidentia.verify.questionnaire import ExpectedAnswers, name_of
from evidentia.verify.recipes import WholeBlock
from evidentia.verify.risk_coverage import JOINT, CurveRecipe, DrawnItems, Want, check_curve_loops, tie_range
from evidentia.verify.selective_comparison import check_selective_comparison
from evidentia.verify.selective_study import (
    ItemStudy,
    about_interval,
    convention,
    recipes_of,
    replicates,
    suffix_of,
    values_of,
)
from evidentia.verify.sheet import Cell, Sheet, check_sheets
from evidentia.verify.tally import Tally, compare

Entry = Mapping[str, Any]
BAND_GRID = tuple(repr(step / 50) for step in range(1, 51))
BAND_COLUMNS = (
    *("coverage", "risk", "risk_low", "risk_high", "joint_risk", "joint_risk_low", "joint_risk_high"),
    "left_out",
)


def check_selective(folder: ResultFolder, tally: Tally, progress: Progress | None = None) -> None:
    """Recompute everything that a selective result folder says."""
    study = ItemStudy(folder.manifest, read_items(folder, "items.csv"))
    study.interval.check("manifest.json: options", tally)
    recipes = recipes_of(study.wants, (study.items,))
    draws = study.draws(study.items)
    values = replicates({**recipes, **band_recipes(study.items, study.drawn)}, draws, progress)
    check_curve_loops(recipes, draws, values, tally)
    without = replicates(recipes, study.left_out) if values and study.interval.method == "bca" else {}
    answers = ExpectedAnswers.of(study)
    answers.check_loops(tally)
    expected = ExpectedItems(study, values, without, answers).summary()
    reported = {key: value for key, value in folder.summary.items() if key not in {"comparison", "checks"}}
    compare("summary.json", reported, expected, tally)
    keys = [*expected, "checks", *(["comparison"] if "comparison" in folder.summary else [])]
    tally.exact("summary.json: keys", sorted(folder.summary), sorted(keys))
    sheets = curve_sheets(study, ItemCurves(study.items, study.drawn, values))
    sheets += [answers.totals_sheet()] if answers.has_totals else []
    compared = "against_items" in {str(source["role"]) for source in folder.manifest["inputs"]}
    if "comparison" in folder.summary and compared:
        other = read_items(folder, "against_items.csv")
        check_selective_comparison(folder, study, other, tally, progress)
        curves = other_curves(study, other, progress)
        tally.exact("comparison has curves of the other run", bool(curves.signals), bool(study.drawn))
        sheets += curve_sheets(study, curves)
    files = ["summary.json", "items.csv", *(["against_items.csv"] if compared else [])]
    files += check_sheets(folder, [*selective_tables(folder.summary), *sheets], tally)
    if not folder.carried:
        tally.exact("summary.json comparison", "comparison" in folder.summary, compared)
        tally.exact("manifest.json files", sorted(folder.manifest["files"]), sorted(files))
        tally.exact("manifest.json profile", folder.manifest["profile"], "selective")


@dataclass(frozen=True, eq=False)
class ExpectedItems:
    """Every entry of a summary; ``values`` and ``without`` are those of the draws and of the jackknife, if there are any."""

    study: ItemStudy
    values: Mapping[Want, Floats]
    without: Mapping[Want, Floats]
    answers: ExpectedAnswers

    def summary(self) -> dict[str, Any]:
        """The whole content but the comparison."""
        study, how = self.study, self.study.interval
        gaps: dict[tuple[str, str], list[str]] = {}
        for definition in study.asked:
            reason = study.lacking(definition)
            if reason is not None:
                gaps.setdefault((definition.measure.family, reason), []).append(definition.name(SELECTIVE))
        return {
            **{"schema": "evidentia.summary/1", "profile": "selective", "seed": how.seed, "resamples": how.resamples},
            "interval": {
                **{"level": how.level, "method": how.method, "stratified_by_fold": False},
                **said_of_bootstrap(study.options),
            },
            "dataset": self._dataset(),
            "measures": self._entries(),
            "not_computed": [{"family": of, "reason": why, "measures": names} for (of, why), names in gaps.items()],
            "other_definitions": [],
            "notes": self._notes(),
        }

    def _entries(self) -> dict[str, Any]:
        """Every number in the order in which it was asked for; those of single items come last."""
        study, entries = self.study, dict[str, Any]()
        for definition in study.asked:
            for want, own in study.wants.items():
                if own == definition:
                    entries[own.name(SELECTIVE) + suffix_of(want[1], study.signals)] = self.entry(want, own)
            if (definition, None) in self.answers.recipes:
                entries[name_of((definition, None))] = self.answers.entry((definition, None))
        items = [asked for asked in self.answers.recipes if asked[1] is not None]
        return entries | {name_of(asked): self.answers.entry(asked) for asked in items}

    def _dataset(self) -> dict[str, Any]:
        items, study = self.study.items, self.study
        return {
            **{"mode": study.options["mode"], "unit": study.unit, "participants": len(items.clusters)},
            "failed": next(source["failed"] for source in study.manifest["inputs"] if source["role"] == "items"),
            **{"items": len(items), "predicted": items.predicted, "item_max": items.item_max},
            **({"instrument": study.options["instrument"]} if "instrument" in study.options else {}),
            "signals": study.signals,
        }

    def _notes(self) -> list[str]:
        """What reading noticed, and signals that were asked for with all the others but cannot be used."""
        study = self.study
        notes = [note for source in study.manifest["inputs"] if source["role"] == "items" for note in source["notes"]]
        left = [name for name in study.items.signals if name not in study.signals]
        every = "all" in (study.options["confidence"] or ())
        return [*notes, *(f"the signal {name} is left out: predicted items lack it" for name in left if every)]

    @cached_property
    def _points(self) -> dict[Want, float]:
        return values_of(recipes_of(self.study.wants, (self.study.items,)))

    def entry(self, want: Want, definition: Definition) -> dict[str, Any]:
        """Everything about one number."""
        items, reading, measure = self.study.items, CurveReading.of(definition), definition.measure
        value = self._points[want]
        alone, abstained = reading.base == "MAE" and reading.kind is None, len(items) - items.predicted
        early = area_ends_early(float(reading.cut), items.predicted / len(items)) if reading.cut else ()
        interval, warnings = self._interval(want, reading, value)
        return {
            "value": convention(reading) if isnan(value) else value,
            "definition": want[0],
            **interval,
            **dict.fromkeys(("distribution", "fold_mean", "fold_std", "folds_used")),
            "n": items.predicted if alone else len(items),
            "n_clusters": len(items.clusters),
            "population": definition.population.words,
            "left_out": {definition.population.left_out: abstained} if alone and abstained else {},
            "degenerate": measure.reasons[0] if isnan(value) else None,
            "warnings": [*(early if reading.kind == "C" else ()), *warnings],
            **{"direction": measure.direction, "family": "selective", "label": measure.label},
            "meaning": measure.meaning,
            "details": self._details(definition, reading, want[1]),
        }

    def _details(self, definition: Definition, reading: CurveReading, signal: str | None) -> dict[str, Any]:
        details: dict[str, Any] = {} if signal is None else {"confidence": signal}
        if reading.cut is not None:
            details["coverage"] = float(reading.cut)
        if reading.ties == "step":
            twin = definition.with_params(ties="plateau").name(SELECTIVE)
            details["plateau"] = twin + suffix_of(signal, self.study.signals)
            if signal is not None and reading.kind is None and reading.base in {"AURC", "AUGRC"}:
                once = WholeBlock(np.ones((len(self.study.items.clusters), 1)))
                lists = DrawnItems(self.study.items, once).own(signal, reading.loss)
                best, expected, worst, tied = tie_range(lists, "AUGRC" in reading.base)
                details["tie_sensitivity"] = {"best": best, "expected": expected, "worst": worst, "tied_items": tied}
        return details

    def _interval(self, want: Want, reading: CurveReading, value: float) -> tuple[dict[str, Any], list[str]]:
        """What an entry says about its interval, and the warnings about it."""
        study = self.study
        drawn = DrawnNumber(value, self.values[want], self.without.get(want)) if study.interval.resamples else None
        return about_interval(study, drawn, len(study.items.clusters), proportion=reading.base == "Cmax")


def selective_tables(summary: Mapping[str, Any]) -> list[Sheet]:
    """The tables that have a row. Headings are shared with the writer; rows, cells and ranks are not."""
    every = list(summary["measures"].items())
    named = [pair for pair in every if item_of(pair[0]) is None]
    matched = [pair for pair in named if "coverage" in pair[1]["details"] and pair[0].startswith("MAE")]
    tied = [pair for pair in named if "tie_sensitivity" in pair[1]["details"]]
    steps = [pair for pair in named if pair[0].startswith("eAURC") and "ties=step" in pair[1]["definition"]]
    ranked = sorted((pair for pair in steps if not pair[1]["degenerate"]), key=lambda pair: float(pair[1]["value"]))
    signals = [*enumerate(ranked, 1), *((None, pair) for pair in steps if pair[1]["degenerate"])]
    comparison = summary.get("comparison") or {"coverages": (), "deltas": ()}
    coverages = ((c["coverage"], "yes" if c["valid"] else "no", c["reason"]) for c in comparison["coverages"])
    sheets = [
        Sheet("tables/measures", MEASURES, tuple(_row(MEASURES, *pair) for pair in named)),
        Sheet("tables/matched_coverage", MATCHED, tuple(_row(MATCHED, *pair) for pair in matched)),
        Sheet("tables/tie_sensitivity", TIES, tuple(_row(TIES, *pair) for pair in tied)),
        Sheet("tables/signals", SIGNALS, tuple((rank, *_row(SIGNALS[1:], *pair)) for rank, pair in signals)),
        *questionnaire_sheets(summary["dataset"].get("instrument"), every),
        Sheet("tables/coverages", ("coverage", "valid", "reason"), tuple(coverages)),
        *delta_sheets(comparison["deltas"]),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def item_of(name: str) -> str | None:
    """The item that a number is about."""
    return dict(parse_name(name).group).get("item")


def questionnaire_sheets(instrument: Mapping[str, Any] | None, named: Sequence[tuple[str, Entry]]) -> list[Sheet]:
    """Numbers item by item, the confusion matrices, and the cut-offs."""
    if instrument is None:
        return []
    by_item = [(item, *pair) for item in instrument["items"] for pair in named if item_of(pair[0]) == item["id"]]
    columns, cells = confusion_columns(instrument), list[tuple[Cell, ...]]()
    for item, _, entry in by_item:
        for at, counts in enumerate(entry["details"].get("confusion", ())):
            before, after = item["low"] - int(columns[2].split()[-1]), len(columns) - 3 - len(counts)
            missing = after + 1 - before
            cells.append((item["id"], item["low"] + at, *[None] * before, *counts[:-1], *[None] * missing, counts[-1]))
    cut = [pair for pair in named if "cut" in pair[1]["details"]]
    return [
        Sheet(
            "tables/by_item",
            BY_ITEM,
            tuple((item["id"], *_row(BY_ITEM[1:], name, entry)) for item, name, entry in by_item),
        ),
        Sheet("tables/confusion", columns, tuple(cells)),
        Sheet("tables/cut_offs", CUT_OFFS, tuple(_row(CUT_OFFS, *pair) for pair in cut)),
    ]


def _row(columns: Sequence[str], name: str, entry: Entry) -> tuple[Any, ...]:
    """What a table says of a number."""
    low, high = entry["ci"] or (None, None)
    details = entry["details"]
    ties = details.get("tie_sensitivity", {})
    special = {
        **{"measure": name.split("[", maxsplit=1)[0], "ci_low": low, "ci_high": high},
        **{"warnings": "; ".join(entry["warnings"]), "in the given order": entry["value"]},
        **{key: details.get(key) for key in ("confidence", "coverage", "cut", "above", "below", "undecided")},
        **{key: ties.get(key) for key in ("best", "expected", "worst", "tied_items")},
    }
    return tuple(special[column] if column in special else entry[column] for column in columns)


@dataclass(frozen=True, eq=False)
class ItemCurves:
    """What the risk-coverage curves of a run must show; ``values`` are its band readings in every draw."""

    items: ItemRows
    signals: Sequence[str]
    values: Mapping[Want, Floats]
    prefix: str = ""  # how the files of the other run begin

    def steps(self, signal: str) -> dict[str, tuple[float, ...]]:
        """Coverage, risk and joint risk after every item, surest first."""
        order = np.argsort(-self.items.signals[signal][self.items.held], kind="stable")
        lost = np.cumsum(self.items.losses("abs")[order])
        taken, total, largest = np.arange(1, len(lost) + 1), len(self.items), self.items.item_max
        columns = {"coverage": taken / total, "risk": lost / taken, "joint_risk": lost / total}
        if largest is not None:
            columns |= {"risk_norm": lost / taken / largest, "joint_risk_norm": lost / total / largest}
        return {name: tuple(column.tolist()) for name, column in columns.items()}

    def bands(self, signal: str, level: float) -> tuple[tuple[Cell, ...], ...]:
        """Risk and joint risk with their limits at every coverage of the grid, and how many draws do not reach it."""
        points = values_of(band_recipes(self.items, [signal]))
        rows: list[tuple[Cell, ...]] = []
        for coverage in BAND_GRID:
            cells: list[Cell] = [float(coverage)]
            for base in ("MAE", JOINT):
                want = (f"{base}@{coverage}", signal)
                point, drawn = points[want], self.values[want]
                cells += [None if isnan(point) else point, *(percentile_limits(drawn, level) or (None, None))]
            rows.append((*cells, float(np.count_nonzero(np.isnan(drawn)))))
        return tuple(rows)


def curve_sheets(study: ItemStudy, curves: ItemCurves) -> list[Sheet]:
    """Every step of every risk-coverage curve, and its bands."""
    sheets: list[Sheet] = []
    for place, signal in enumerate(study.drawn, 1):
        if signal not in curves.signals:
            continue
        path, stem = f"figures/{curves.prefix}risk_coverage", f"{place}_{re.sub(r'[^A-Za-z0-9]+', '_', signal)[:40]}"
        steps = curves.steps(signal)
        sheets.append(Sheet(f"{path}_{stem}", tuple(steps), tuple(zip(*steps.values(), strict=True))))
        if study.interval.resamples and curves.items.predicted:
            sheets.append(Sheet(f"{path}_band_{stem}", BAND_COLUMNS, curves.bands(signal, study.interval.level)))
    return sheets


def other_curves(study: ItemStudy, other: ItemRows, progress: Progress | None = None) -> ItemCurves:
    """The curves of the run that a result is compared with, over the participants that both have."""
    shared = other.of(study.items.clusters)
    signals = [signal for signal in study.drawn if shared.has(signal)]
    values = replicates(band_recipes(shared, signals), study.draws(shared), progress)
    return ItemCurves(shared, signals, values, "against_")


def band_recipes(items: ItemRows, signals: Sequence[str]) -> dict[Want, CurveRecipe]:
    """Risk and joint risk at every coverage of the grid."""
    return {
        (f"{base}@{coverage}", signal): CurveRecipe(
            (items,), CurveReading(base, None, None, "abs", "coverage", Decimal(coverage)), signal
        )
        for signal in signals
        for coverage in BAND_GRID
        for base in ("MAE", JOINT)
    }
