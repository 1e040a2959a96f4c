"""Reporting items of TRIPOD+AI (Collins et al., BMJ 2024;385:e078378), in our own words, answered from a result.

The numbers are those of the published checklist; the wording of the items is ours and no substitute for reading them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evidentia.errors import counted
from evidentia.report.show import fixed
from evidentia.report.wording import wording
from evidentia.results import Evaluation

Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class ReportingItem:
    """A reporting item, and what the run says about it; None leaves it to the authors."""

    number: str
    topic: str
    answer: str | None


def reporting_items(evaluation: Evaluation, manifest: Manifest) -> tuple[ReportingItem, ...]:
    """Every item in the order of the checklist."""
    answers = {number: answer(evaluation, manifest) for number, answer in ANSWERS.items()}
    return tuple(
        ReportingItem(number, topic, answers.get(number)) for number, topic in wording("reporting_items").items()
    )


def _size(evaluation: Evaluation, manifest: Manifest) -> str | None:
    data = evaluation.dataset
    if "queries" in data:
        queries, posts = counted(data["queries"], "query", "queries"), counted(data["posts"], "post")
        return f"{queries} from {posts}, {data['positives']:,} with evidence"
    return ", ".join(f"{value:,} {key}" for key, value in data.items() if type(value) is int) or None


def _left_out(evaluation: Evaluation, manifest: Manifest) -> str | None:
    left = evaluation.dataset.get("left_out") or {}
    listed = "; ".join(f"{count:,} {reason}" for reason, count in left.items())
    return "nothing was imputed: missing values are refused" + (f"; not evaluated: {listed}" if listed else "")


def _data_use(evaluation: Evaluation, manifest: Manifest) -> str | None:
    folds = evaluation.dataset.get("folds")
    if not folds:
        return None
    tuned = "thresholds tuned on posts apart from those judged" if evaluation.thresholds else "no thresholds tuned here"
    return f"{folds} outer folds, disjoint in posts; every number from evaluation rows; {tuned}"


def _measures(evaluation: Evaluation, manifest: Manifest) -> str | None:
    families = ", ".join(sorted({estimate.family for estimate in evaluation.overall()}))
    return f"{len(evaluation.overall()):,} measures under profile {evaluation.profile} ({families}); curves: {_curves(evaluation)}"


def _curves(evaluation: Evaluation) -> str:
    return ", ".join(curve.name for curve in evaluation.curves) or "none"


def _imbalance(evaluation: Evaluation, manifest: Manifest) -> str | None:
    data = evaluation.dataset
    if not data.get("queries"):
        return None
    return (
        f"{data['positives'] / data['queries']:.2%} of the queries have evidence; nothing was reweighted in evaluation"
    )


def _fairness(evaluation: Evaluation, manifest: Manifest) -> str | None:
    by = (manifest.get("options") or {}).get("by") or []
    return f"every measure per {', '.join(map(str, by))}" if by else None


def _output(evaluation: Evaluation, manifest: Manifest) -> str | None:
    states = "ScreeningSensitivity" in evaluation.measures
    count = len(evaluation.thresholds)
    if "ECE" not in evaluation.measures:
        return None
    gate = "with a three-state gate" if states else "with a yes or no"
    return f"a probability per query, {gate}; {count} thresholds recorded with the posts they were tuned on"


def _software(evaluation: Evaluation, manifest: Manifest) -> str | None:
    version, command = manifest.get("evidentia"), manifest.get("command")
    if version is None:
        return None
    ran = f"; {command}" if command else ""
    weighed = " with Poisson weights" if evaluation.interval.get("bootstrap") == "poisson" else ""
    return (
        f"evaluated with Evidentia {version}, seed {evaluation.seed}, {evaluation.resamples:,} resamples{weighed}{ran}"
    )


def _inputs(evaluation: Evaluation, manifest: Manifest) -> str | None:
    inputs = manifest.get("inputs") or []
    listed = ", ".join(
        f"{entry['name']} (SHA-256 {str(entry['sha256'])[:12]}...)" for entry in inputs if entry.get("sha256")
    )
    return f"inputs by hash: {listed}" if listed else None


def _events(evaluation: Evaluation, manifest: Manifest) -> str | None:
    positives = {e.group[0][1]: e.value for e in evaluation.grouped("fold") if e.measure == "Positives"}
    listed = ", ".join(f"{fold}: {count:,.0f}" for fold, count in positives.items())
    return f"queries with evidence per fold: {listed}" if listed else None


def _performance(evaluation: Evaluation, manifest: Manifest) -> str | None:
    names = ("AUROC", "AUPRC", "ECE", "EvidenceRecall", "ScreeningSensitivity")
    estimates = [evaluation.measures[name] for name in names if name in evaluation.measures]
    listed = "; ".join(
        f"{e.name} {fixed(e.value)} ({fixed(e.ci[0])} to {fixed(e.ci[1])})" for e in estimates if e.ci is not None
    )
    return f"{listed}; all others in tables/measures.csv" if listed else None


def _heterogeneity(evaluation: Evaluation, manifest: Manifest) -> str | None:
    auroc = evaluation.measures.get("AUROC")
    if auroc is None or auroc.fold_std is None or auroc.fold_mean is None:
        return None
    criteria = len({e.group for e in evaluation.grouped("criterion")})
    spread = f"{fixed(auroc.fold_mean)} ± {fixed(auroc.fold_std)}"
    return f"AUROC over {auroc.folds_used} folds {spread}; figures for {criteria} criteria"


ANSWERS: dict[str, Callable[[Evaluation, Manifest], str | None]] = {
    "10": _size,
    "11": _left_out,
    "12a": _data_use,
    "12e": _measures,
    "13": _imbalance,
    "14": _fairness,
    "15": _output,
    "18e": _inputs,
    "18f": _software,
    "20": _size,
    "21": _events,
    "23a": _performance,
    "23b": _heterogeneity,
}
