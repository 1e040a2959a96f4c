"""Thresholds and targets on the screen: what was tuned, what was missed or could not be certified, and what certifying takes."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evidentia.errors import counted
from evidentia.evaluation.power import PowerReport
from evidentia.pipeline.plan import FINAL
from evidentia.protocol import FoldTuning, PostCertificate, Tuning
from evidentia.report.console import number_table
from evidentia.report.show import fixed

ONE_THRESHOLD = {"TPR": "TPR", "FPR": "FPR", "prec.": "Precision", "F1": "F1", "MCC": "MCC"}
THREE_STATES = {
    **{"sens.": "ScreeningSensitivity", "FN/1000": "ScreeningFNPer1000"},
    **{"prec.": "AlertPrecision", "work": "Workload"},
}


def print_tuning(tuning: Tuning, out: Path, *, defaults: Collection[str] = ()) -> None:
    """The thresholds of every fold, then everything that a reader must know before using them.

    ``defaults`` are the targets that nobody named.
    """
    console = Console(highlight=False)
    queries = sum(fold.tune_queries for fold in tuning.folds)
    origin = f"Tuned on [bold]{queries:,}[/] TUNE queries in {counted(len(tuning.folds), 'fold')}"
    if tuning.cross_fit:
        origin = (
            f"[bold]cross_fit[/]: each of {len(tuning.folds)} folds has what was chosen on the other folds, not on TUNE"
        )
    console.print(
        f"{origin}; rule [bold]{tuning.choices['rule']}[/] on {tuning.score}, calibrator {tuning.choices['calibrate']}; "
        "ties go to the larger threshold"
    )
    three = tuning.folds[0].three_state is not None
    if three:
        console.print(escape(_targets(tuning, defaults)), soft_wrap=True)
    console.print(_three_state_table(tuning) if three else _threshold_table(tuning))
    for fold in tuning.folds:
        for line in _warnings(fold, "other folds" if tuning.cross_fit else "TUNE"):
            console.print(f"[yellow]fold {escape(str(fold.fold or '-'))}[/] {escape(line)}", soft_wrap=True)
    uses = "`evidentia evaluate RUN --thresholds`"
    if any(fold.fold == FINAL for fold in tuning.folds):
        uses += " and `evidentia predict RUN POSTS --thresholds`"
    console.print(f"written to {escape(str(out))}; use it with {uses}", soft_wrap=True)


def _targets(tuning: Tuning, defaults: Collection[str]) -> str:
    """What the gate was asked to reach, and which of it is only the default; targets per post are for certificates."""
    known = {n: v for n, v in tuning.choices["targets"].items() if tuning.choices["certify"] or "unit=post" not in n}
    named = [f"{name}{value:g}" for name, value in known.items() if name not in defaults]
    usual = [f"{name}{value:g}" for name, value in known.items() if name in defaults]
    parts = [*([", ".join(named)] if named else []), *([f"by default {', '.join(usual)}"] if usual else [])]
    return f"targets: {'; '.join(parts)}"


def _threshold_table(tuning: Tuning) -> Table:
    table = _fold_table("tau", *ONE_THRESHOLD)
    for fold in tuning.folds:
        assert fold.threshold is not None
        threshold = fold.threshold
        tau = _short(threshold.value) if threshold.value is not None else escape(str(threshold.reason))
        table.add_row(*_about(fold), tau, *(_rate(threshold.metrics.get(name)) for name in ONE_THRESHOLD.values()))
    return table


def _three_state_table(tuning: Tuning) -> Table:
    table = _fold_table("tau_neg", "tau_pos", *THREE_STATES)
    for fold in tuning.folds:
        assert fold.three_state is not None
        gate = fold.three_state
        taus = _marked(gate.tau_neg, gate.certificates[:1]), _marked(gate.tau_pos, gate.certificates[1:])
        table.add_row(*_about(fold), *taus, *(_rate(gate.metrics.get(name)) for name in THREE_STATES.values()))
    return table


def _fold_table(*heads: str) -> Table:
    return number_table("fold", "posts", "pos.", "calibrator", *heads)


def _about(fold: FoldTuning) -> tuple[str, ...]:
    chosen = "-" if fold.calibrator is None else fold.calibrator.method
    return escape(str(fold.fold or "-")), f"{len(fold.posts):,}", f"{fold.tune_positives:,}", chosen


def _short(value: float | None) -> str:
    return "-" if value is None else fixed(value)


def _rate(value: float | None) -> str:
    return "-" if value is None else fixed(value, 3)


def _marked(tau: float | None, certificates: tuple[PostCertificate, ...]) -> str:
    """A threshold; a star says that it is certified."""
    return _short(tau) + ("*" if certificates and certificates[0].value is not None else "")


def _warnings(fold: FoldTuning, rows: str) -> list[str]:
    lines = [] if fold.reason is None else [fold.reason]
    if fold.calibrator is not None and fold.calibrator.reason is not None:
        lines.append(f"not calibrated: {fold.calibrator.reason}")
    if fold.three_state is None:
        return lines
    for outcome in fold.three_state.targets:
        if outcome.missed_by:
            miss = f"{outcome.name}{outcome.target:g} is missed on {rows} by {outcome.missed_by:.4g}"
            at = f"tau_neg {_short(fold.three_state.tau_neg)} and tau_pos {_short(fold.three_state.tau_pos)}"
            lines.append(f"{miss}: {outcome.reached:.4g} is reached, with {at}, the nearest that earlier targets allow")
    return [*lines, *map(_certificate_line, fold.three_state.certificates)]


def _certificate_line(certificate: PostCertificate) -> str:
    target = f"{certificate.name} >= {certificate.target:g} at confidence {1 - certificate.delta:g}"
    if certificate.value is None:
        return f"cannot certify {target}: {certificate.reason}. The threshold is tuned, not certified"
    fault = "with skipped evidence" if certificate.name.startswith("Screening") else "with a wrong alert"
    seen = f"{certificate.misses} of {certificate.posts:,} posts {fault}, lower bound {fixed(certificate.bound)}"
    return f"certified (*) {target}: {seen}"


def print_power(report: PowerReport) -> None:
    """What certifying a target takes, and where the run stands."""
    console, needs = Console(highlight=False), report.certificate
    console.print(
        f"To show [bold]{escape(report.name)} >= {needs.target:g}[/] with {100 * needs.confidence:g} % confidence, "
        f"[bold]{needs.without_a_miss:,}[/] independent {report.posts} without a single miss are needed."
    )
    rows = ", ".join(f"{posts:,} with {misses}" for misses, posts in needs.with_misses[1:])
    console.print(f"With misses: {rows}.")
    seen = report.observed
    if seen is None:
        return
    console.print(
        f"The run has {_of(seen.units, report.units)} from [bold]{_of(seen.posts, report.posts)}[/], "
        f"{counted(seen.misses, 'miss', 'misses')}, a share of {fixed(seen.rate)}; "
        f"clustering within posts inflates the variance {fixed(seen.design_effect, 2)} times."
    )
    verdict = "[bold green]is certified[/]" if seen.certified_now else "[bold]cannot be certified[/]"
    console.print(f"On this run the target {verdict} at that confidence.")
    if seen.posts_needed is None and seen.rate > needs.target:
        console.print("The observed share is so close to the target that no reasonable sample would certify it.")
    elif seen.posts_needed is None:
        console.print("The observed share is not above the target: no sample size would certify it.")
    else:
        console.print(
            f"A system of this share needs about {seen.posts_needed:,} {report.posts} "
            f"to be certified {100 * report.power:g} % of the time."
        )


def _of(count: int, words: str) -> str:
    """So many of something that is named in the plural.

    >>> _of(1, "queries with evidence"), _of(2, "posts")
    ('1 query with evidence', '2 posts')
    """
    many, space, more = words.partition(" ")
    return f"{counted(count, {'queries': 'query', 'posts': 'post'}.get(many, many), many)}{space}{more}"
