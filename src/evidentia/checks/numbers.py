"""Checks of the numbers themselves: invariants that hold whatever the data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evidentia.checks.registry import Verdict, check, looked_at, not_applicable, skipped, warned
from evidentia.checks.subject import Row, Subject
from evidentia.evaluation.plan import grouping_by
from evidentia.measures import PROFILES, Profile, resolve
from evidentia.results import Estimate, Evaluation
from evidentia.results.names import group_suffix
from evidentia.results.profiles import SELECTIVE
from evidentia.tables import Run

MEAN_TOLERANCE = 1e-9
GROUP_TABLES = re.compile(r"criteria|states|evidence|slice_\d+")
COLUMNS = {"criteria": "criterion", "states": "state", "evidence": "has_evidence"}
_CELL = re.compile(r"TP(?P<rest>\((?:t=[^()]*|tuned)\).*)", re.DOTALL)


@check("SUM001", title="Confusion tables add up")
def confusion_sums(subject: Subject) -> Verdict:
    """The four cells add up to the queries, also of each class; sensitivity and specificity agree to the last digit."""
    measures = subject.evaluation.measures
    tables = [rest for name in measures if (rest := _table_of(name, measures)) is not None]
    counts = {} if subject.run is None else class_counts(subject.run)
    wrong = [rest for rest in tables if not _adds_up(rest, measures, counts)]
    aside = f", first {wrong[0]}" if wrong else ""
    return looked_at(len(tables), "confusion table", wrong=len(wrong), fault="do not add up", aside=aside)


def _table_of(name: str, measures: Mapping[str, Estimate]) -> str | None:
    """The operating point and group of a confusion table whose four cells are all there."""
    match = _CELL.fullmatch(name)
    whole = match is not None and all(f"{cell}{match['rest']}" in measures for cell in ("FP", "FN", "TN"))
    return match["rest"] if match is not None and whole else None


def _adds_up(rest: str, measures: Mapping[str, Estimate], counts: Mapping[str, tuple[int, int]]) -> bool:
    tp, fp, fn, tn = (measures[f"{cell}{rest}"].value for cell in ("TP", "FP", "FN", "TN"))
    n = measures[f"TP{rest}"].n
    positives, negatives = counts.get(_group(rest), (tp + fn, tn + fp))
    if rest.startswith("(tuned)"):  # folds that cannot be tuned are left out
        positives, negatives = min(positives, tp + fn), min(negatives, tn + fp)
    rates = (("Sensitivity", tp, fn), ("Specificity", tn, fp))
    same = (_is_share(measures.get(f"{name}{rest}"), hit, miss) for name, hit, miss in rates)
    return tp + fp + fn + tn == n and tp + fn == positives and tn + fp == negatives and all(same)


def _is_share(rate: Estimate | None, hit: float, miss: float) -> bool:
    return rate is None or rate.degenerate is not None or (hit + miss > 0 and rate.value == hit / (hit + miss))


def _group(name: str) -> str:
    bracket = name.find("[")
    return name[bracket:] if bracket >= 0 else ""


def class_counts(run: Run) -> dict[str, tuple[int, int]]:
    """How many queries with and without evidence there are, overall and in every group of one column."""
    label = run.queries.label
    counts = {"": (int(label.sum()), int((~label).sum()))}
    for column in ("fold", "criterion", "state", "has_evidence", *run.queries.slices):
        grouping = grouping_by(run.queries, column)
        if grouping is None or grouping.codes is None:
            continue
        yes, no = (np.bincount(grouping.codes[of], minlength=len(grouping)) for of in (label, ~label))
        for at, group in enumerate(grouping.groups):
            counts[group_suffix(group)] = int(yes[at]), int(no[at])
    return counts


@check("RANGE001", title="Values are finite and within their ranges")
def ranges(subject: Subject) -> Verdict:
    """Every value, interval and other definition is finite and within the range of its measure."""
    looked, wrong = 0, []
    for name, definition, values in _all_values(subject.evaluation):
        bounds = _bounds(definition)
        looked += len(values)
        wrong += [name for value in values if not _inside(value, bounds)]
    if not looked:
        return Verdict("failed", "no value was computed")
    aside = f", first {wrong[0]}" if wrong else ""
    return looked_at(looked, "value", wrong=len(wrong), fault="are out of range", aside=aside)


def _all_values(evaluation: Evaluation) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    for name, estimate in evaluation.measures.items():
        undefined = math.isnan(estimate.value) and estimate.degenerate is not None
        yield name, estimate.definition, (() if undefined else (estimate.value,)) + (estimate.ci or ())
    for other in evaluation.other_definitions:
        yield other.name, other.definition, (other.value,)


def profile_of(evaluation: Evaluation) -> Profile:
    """The profile under which a result was made."""
    return {**PROFILES, SELECTIVE.name: SELECTIVE}[evaluation.profile]


@lru_cache(maxsize=4096)
def _bounds(definition: str) -> tuple[float | None, float | None]:
    written_out = PROFILES["contract"]  # a definition leaves no choice to a profile
    return resolve(definition, written_out).definition.measure.bounds


def _inside(value: float, bounds: tuple[float | None, float | None]) -> bool:
    low, high = bounds
    return math.isfinite(value) and (low is None or value >= low) and (high is None or value <= high)


@check("NAME001", title="Every name means its definition")
def names(subject: Subject) -> Verdict:
    """A name, read under the result's profile, is the definition that is written beside the number."""
    profile, known = profile_of(subject.evaluation), dict[str, str]()
    wrong = []
    for name, estimate in subject.evaluation.measures.items():
        plain = name.partition("[")[0]
        if plain not in known:
            known[plain] = resolve(plain, profile).definition.expanded
        if known[plain] != estimate.definition:
            wrong.append(name)
    aside = f", first {wrong[0]}" if wrong else ""
    return looked_at(len(subject.evaluation), "name", wrong=len(wrong), fault="mean another definition", aside=aside)


@check("SAME001", title="One definition has one value wherever it stands")
def same_everywhere(subject: Subject) -> Verdict:
    """The same definition on the same group has the same value in the summary, its tables and other definitions."""
    by_number: dict[tuple[str, str], NumberPlace] = {}
    looked, wrong = 0, []
    for place in places(subject):
        first = by_number.setdefault((place.definition, place.group), place)
        if first is place:
            continue
        looked += 1
        if not place.agrees_with(first):
            wrong.append(f"{place.where} says {place.value}, {first.where} {first.value}")
    aside = f", first: {wrong[0]}" if wrong else ""
    many = "numbers that stand in two places"
    return looked_at(looked, "number that stands in two places", many, wrong=len(wrong), fault="differ", aside=aside)


@check("ROWS001", title="Only evaluation rows are measured, and all of them")
def only_evaluation_rows(subject: Subject) -> Verdict:
    """The result counts the EVAL queries of the run, no more and no fewer, with their labels."""
    run, reported = subject.run, subject.evaluation.dataset
    if subject.problems:
        return skipped(f"the queries cannot be read: {subject.problems[0].message}")
    if run is None:
        return not_applicable("the result is not about queries")
    other = int((run.frame["split"] != "EVAL").sum()) if "split" in run.frame.columns else 0
    counts = {"queries": len(run), "positives": int(run.queries.label.sum()), "posts": len(run.queries.post_ids)}
    differ = [f"{name}: said {reported.get(name)}, found {n}" for name, n in counts.items() if reported.get(name) != n]
    wrong = other + len(differ)
    aside = f" ({'; '.join(differ)})" if differ else ""
    return looked_at(len(run), "row", wrong=wrong, fault="rows or counts are not those of EVAL", aside=aside)


@check("INT001", title="Every measurement has its interval")
def intervals(subject: Subject) -> Verdict:
    """Every number that is a measurement has an interval in the right order, or says why it has none."""
    if not subject.evaluation.resamples:
        return skipped("no resamples were drawn, so there are no intervals")
    estimates = [e for e in subject.evaluation.measures.values() if e.degenerate is None]
    lacking = [e.name for e in estimates if e.ci is None and not any("no interval" in w for w in e.warnings)]
    reversed_ = [e.name for e in estimates if e.ci is not None and not e.ci[0] <= e.ci[1]]
    if lacking and not reversed_:
        return warned(len(estimates), f"{len(lacking):,} numbers have no interval and no reason, first {lacking[0]}")
    fault = f"have an interval that ends before it begins (first {reversed_[0]})" if reversed_ else ""
    return looked_at(len(estimates), "measurement", wrong=len(reversed_), fault=fault)


@dataclass(frozen=True)
class NumberPlace:
    """A number where it stands. None is a blank cell: the number is undefined there, or not shown."""

    where: str
    definition: str
    group: str
    value: float | None
    tolerance: float = 0.0

    def agrees_with(self, other: NumberPlace) -> bool:
        """Whether both say the same; a blank agrees with a blank only."""
        if self.value is None or other.value is None:
            return self.value is other.value
        return abs(self.value - other.value) <= max(self.tolerance, other.tolerance)


def places(subject: Subject) -> Iterator[NumberPlace]:
    """The summary first, so that every other place is compared with it."""
    evaluation = subject.evaluation
    for estimate in evaluation.measures.values():
        yield _place("summary.json", estimate, estimate.value)
    for other in evaluation.other_definitions:
        yield NumberPlace(f"other definition of {other.name}", other.definition, "", other.value)
    yield from _per_query_means(evaluation)
    yield from _fold_means(evaluation)
    if subject.folder is not None:
        for table, rows in subject.folder.tables.items():
            yield from _cells(table, rows, evaluation)


def _place(where: str, estimate: Estimate, value: float | None, tolerance: float = 0.0, part: str = "") -> NumberPlace:
    known = None if value is None or math.isnan(value) else value
    group = group_suffix(estimate.group) + part
    return NumberPlace(f"{where} {estimate.name}", estimate.definition, group, known, tolerance)


def _per_query_means(evaluation: Evaluation) -> Iterator[NumberPlace]:
    """A mean of per-query values is the mean of the values that are written per query."""
    for name, (values, counted) in evaluation.per_query.items():
        estimate = evaluation.measures.get(name)
        if estimate is not None and estimate.degenerate is None and counted.any():
            yield _place("mean of per_query", estimate, float(values[counted].mean()), MEAN_TOLERANCE)


def _fold_means(evaluation: Evaluation) -> Iterator[NumberPlace]:
    """The mean over folds is the mean of the folds that are written."""
    folds: dict[str, list[float]] = {}
    for estimate in evaluation.grouped("fold"):
        if estimate.degenerate is None:
            folds.setdefault(estimate.measure, []).append(estimate.value)
    for name, values in folds.items():
        overall = evaluation.measures.get(name)
        if overall is not None and overall.fold_mean is not None and overall.folds_used == len(values):
            yield _place("fold_mean", overall, overall.fold_mean, part=" over folds")
            yield _place("folds", overall, sum(values) / len(values), MEAN_TOLERANCE, " over folds")


def _cells(table: str, rows: Sequence[Row], evaluation: Evaluation) -> Iterator[NumberPlace]:
    """The cells of a written table that are numbers of the summary."""
    for at, row in enumerate(rows):
        for column, cell in row.items():
            name = _name_of(table, row, column, last=at == len(rows) - 1)
            estimate = evaluation.measures.get(name) if name else None
            if estimate is None:
                continue
            value = estimate.value if _blank_is_right(cell, estimate) else _number(cell)
            yield _place(f"tables/{table}.csv", estimate, value)


def _blank_is_right(cell: str, estimate: Estimate) -> bool:
    return cell == "" and (estimate.degenerate is not None or math.isnan(estimate.value))


def _name_of(table: str, row: Row, column: str, *, last: bool) -> str | None:
    first = next(iter(row))
    key = row[first]
    if column in {"population", "meaning"}:
        return None
    if table == "measures":
        return key if column == "value" else None
    if table == "folds":
        return f"{key}{group_suffix((('fold', column[5:]),))}" if column.startswith("fold ") else None
    if table == "confusion":
        return f"{column}({key})"
    if GROUP_TABLES.fullmatch(table) and column != first:
        return column if last and key == "all" else f"{column}{group_suffix(((COLUMNS.get(table, first), key),))}"
    return None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
