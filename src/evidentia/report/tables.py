"""The tables of a report: every number with its population, size and meaning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from evidentia.report.wording import wording
from evidentia.results import Delta, Estimate, Evaluation, KRegret, Losses
from evidentia.results.selective_layout import selective_layouts

Value = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A titled table; cells are unrounded, and whoever shows them decides how many digits to show."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


TITLES = wording("tables")
CRITERION_MEASURES = (
    *("Queries", "Positives", "PositiveRate", "AUROC", "AUPRC", "Sensitivity(t=gate)", "Precision(t=gate)"),
    *("Recall@10", "nDCG@10", "MRR", "MRR@10", "EvidenceRecall"),
)
STATE_MEASURES = ("Queries", "Positives", "PositiveRate", "SelectedK", "EvidenceRecall", "EvidencePrecision")
ABOUT = ("population", "meaning")  # which queries a number is over, and what it means
CELLS = ("TP", "FP", "FN", "TN")
RATES = ("Sensitivity", "Specificity", "FPR", "FNR", "Precision", "NPV", "F1", "MCC", "BalancedAccuracy")


def tables_of(evaluation: Evaluation) -> tuple[Table, ...]:
    """Every table that the result can fill."""
    if evaluation.profile == "selective":
        layouts = selective_layouts(evaluation.to_dict())
        deltas = () if evaluation.comparison is None else evaluation.comparison.deltas
        tables = (*(Table(t.name, t.title, t.columns, t.rows) for t in layouts), *delta_tables(deltas))
    else:
        tables = _query_tables(evaluation)
    return tuple(table for table in tables if table.rows)


def _query_tables(evaluation: Evaluation) -> tuple[Table, ...]:
    slices = [column for column in _columns(evaluation) if column not in {"fold", "criterion", "state", "has_evidence"}]
    return (
        measures_table(evaluation),
        folds_table(evaluation),
        _by_group(evaluation, "criterion", "criteria", CRITERION_MEASURES),
        _by_group(evaluation, "state", "states", STATE_MEASURES),
        _by_group(evaluation, "has_evidence", "evidence", ("SelectedK", "NegRate", "PosRate")),
        *(_by_group(evaluation, column, f"slice_{i}", CRITERION_MEASURES) for i, column in enumerate(slices, 1)),
        confusion_table(evaluation),
        reliability_table(evaluation),
        others_table(evaluation),
        attribution_table(evaluation),
        dynamic_k_table(evaluation),
    )


def delta_tables(deltas: Sequence[Delta]) -> tuple[Table, ...]:
    """The deltas of a comparison, a table for each family."""
    families = ("measures", "criteria", "coverage", "truncated", "questionnaire", "items")
    tables = [_delta_table(family, [d for d in deltas if d.family == family]) for family in families]
    return tuple(table for table in tables if table.rows)


def _delta_table(family: str, deltas: Sequence[Delta]) -> Table:
    """One row per delta, with everything said about it."""
    columns = (
        *("measure", "baseline", "system", "baseline value", "system value", "delta", "ci_low", "ci_high"),
        *("p", "p_holm", "verdict", "n", "n_clusters", "system_n", "system_n_clusters"),
        *("replicates_left_out", "warnings", "definition"),
    )
    rows = tuple(
        (
            *(d.name, d.baseline, d.system, known(d.baseline_value), known(d.system_value), d.delta, d.ci and d.ci[0]),
            *(d.ci and d.ci[1], d.p, d.p_holm, d.verdict, d.n, d.n_clusters, d.system_n, d.system_n_clusters),
            *(d.replicates_left_out, "; ".join(d.warnings), d.definition),
        )
        for d in deltas
    )
    return _titled(f"deltas_{family}", columns, rows)


def _titled(name: str, columns: Sequence[str], rows: Sequence[tuple[Value, ...]]) -> Table:
    return Table(name, TITLES[name], tuple(columns), tuple(rows))


def known(value: float) -> float | None:
    """A value, or None where there is none."""
    return None if math.isnan(value) else value


def measures_table(evaluation: Evaluation) -> Table:
    """Every measure over the whole run."""
    columns = (
        *("measure", "value", "ci_low", "ci_high", "fold_mean", "fold_std", "folds_used"),
        *("population", "n", "n_clusters", "degenerate", "warnings", "definition", "meaning"),
    )
    rows = tuple(
        (
            *(e.name, e.value, e.ci and e.ci[0], e.ci and e.ci[1], e.fold_mean, e.fold_std, e.folds_used),
            *(e.population, e.n, e.n_clusters, e.degenerate, "; ".join(e.warnings), e.definition, e.meaning),
        )
        for e in evaluation.overall()
    )
    return _titled("measures", columns, rows)


def folds_table(evaluation: Evaluation) -> Table:
    """Every measure in every fold; an undefined fold is left blank."""
    folds = _index(evaluation, "fold")
    columns = ("measure", *(f"fold {fold}" for fold in folds), "mean", "std", "folds_used", *ABOUT)
    rows = tuple(
        (
            overall.name,
            *(_cell(values.get(overall.name)) for values in folds.values()),
            *(overall.fold_mean, overall.fold_std, overall.folds_used, overall.population, overall.meaning),
        )
        for overall in (evaluation.overall() if folds else ())
        if overall.folds_used is not None
    )
    return _titled("folds", columns, rows)


def confusion_table(evaluation: Evaluation) -> Table:
    """The confusion table and its rates at every operating point."""
    points = ("0.5", "gate", "returned")
    names = (*CELLS, *RATES)
    rows = tuple(
        (
            f"t={point}",
            *(_cell(evaluation.measures.get(f"{name}(t={point})")) for name in names),
            *_about({name: evaluation.measures.get(f"{name}(t={point})") for name in names}),
        )
        for point in points
        if f"TP(t={point})" in evaluation.measures
    )
    return _titled("confusion", ("operating point", *names, *ABOUT), rows)


def reliability_table(evaluation: Evaluation) -> Table:
    """Stated probability against observed frequency, bin by bin."""
    ece = evaluation.measures.get("ECE")
    bins = [] if ece is None else ece.details["bins"]
    columns = ("low", "high", "n", "mean_prob", "positive_share")
    return _titled("reliability", columns, tuple(tuple(row[column] for column in columns) for row in bins))


def others_table(evaluation: Evaluation) -> Table:
    """The same names under other profiles' definitions, where the value differs."""
    columns = ("name", "value here", "other value", "profiles", "other definition")
    rows = tuple(
        (o.name, evaluation.measures[o.name].value, o.value, ", ".join(o.profiles), o.definition)
        for o in evaluation.other_definitions
    )
    return _titled("other_definitions", columns, rows)


def attribution_table(evaluation: Evaluation) -> Table:
    """Which stage lost the gold sentences that were missed, and false alerts, by criterion."""
    attribution = evaluation.attribution
    losses = {} if attribution is None else {**attribution.losses_by_criterion, "all": attribution.losses}
    return _by_criterion("attribution", [part.name for part in fields(Losses)], losses)


def dynamic_k_table(evaluation: Evaluation) -> Table:
    """The chosen K against the best one, by criterion."""
    attribution = evaluation.attribution
    regrets: dict[str, KRegret] = {}
    if attribution is not None and attribution.regret is not None:
        regrets = {**attribution.regret_by_criterion, "all": attribution.regret}
    return _by_criterion("dynamic_k", [*(part.name for part in fields(KRegret)), "regret"], regrets)


def _by_criterion(name: str, columns: Sequence[str], records: Mapping[str, object]) -> Table:
    rows = [(criterion, *(getattr(record, column) for column in columns)) for criterion, record in records.items()]
    return _titled(name, ("criterion", *columns), rows)


def _by_group(evaluation: Evaluation, column: str, name: str, measures: Sequence[str]) -> Table:
    groups = _index(evaluation, column)
    if evaluation.asked_by_name:
        measures = list(dict.fromkeys(estimate.measure for estimate in evaluation.grouped(column)))
    present = {
        m: next(v[m] for v in groups.values() if m in v) for m in measures if any(m in v for v in groups.values())
    }
    about = _about(present)
    rows = tuple(
        (value, *(_cell(values.get(measure)) for measure in present), *about) for value, values in groups.items()
    )
    pooled = ("all", *(_cell(evaluation.measures.get(measure)) for measure in present), *about)
    return Table(name, TITLES.get(name, f"Per {column}"), (column, *present, *ABOUT), (*rows, pooled) if rows else ())


def _about(measures: Mapping[str, Estimate | None]) -> tuple[str, str]:
    """Which queries each measure is over, measures over the same ones together, and what each means."""
    over: dict[str, list[str]] = {}
    known = {name: estimate for name, estimate in measures.items() if estimate is not None}
    for name, estimate in known.items():
        over.setdefault(estimate.population, []).append(name)
    subsets = "; ".join(f"{', '.join(names)}: {population}" for population, names in over.items())
    return subsets, " ".join(f"{name}: {estimate.meaning}" for name, estimate in known.items())


def _columns(evaluation: Evaluation) -> list[str]:
    return list(dict.fromkeys(e.group[0][0] for e in evaluation.measures.values() if len(e.group) == 1))


def _index(evaluation: Evaluation, column: str) -> dict[str, dict[str, Estimate]]:
    """The estimates of one grouping column by its values and then by measure."""
    groups: dict[str, dict[str, Estimate]] = {}
    for estimate in evaluation.grouped(column):
        groups.setdefault(estimate.group[0][1], {})[estimate.measure] = estimate
    return groups


def _cell(estimate: Estimate | None) -> float | None:
    return None if estimate is None or estimate.degenerate is not None else estimate.value
