"""What was tuned, on the screen: the choice of every fold, on how many posts, and what was missed or could not be certified."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evidentia.errors import counted
from evidentia.protocol import FoldTuning, PostCertificate, Tuning
from evidentia.report.show import fixed


def print_tuning(tuning: Tuning, out: Path, *, defaults: Collection[str] = ()) -> None:
    """The thresholds of every fold, then everything that a reader must know before using them.

    ``defaults`` are the targets that nobody named.
    """
    console = Console(highlight=False)
    queries = sum(fold.queries for fold in tuning.folds)
    console.print(
        f"Tuned on [bold]{queries:,}[/] TUNE queries in {counted(len(tuning.folds), 'fold')}; "
        f"rule [bold]{tuning.choices['rule']}[/] on {tuning.score}, calibrator {tuning.choices['calibrate']}; "
        "ties go to the larger threshold"
    )
    three = tuning.folds[0].three_state is not None
    if three:
        console.print(escape(_targets(tuning, defaults)), soft_wrap=True)
    console.print(_three_state_table(tuning) if three else _threshold_table(tuning))
    for fold in tuning.folds:
        for line in _warnings(fold):
            console.print(f"[yellow]fold {escape(str(fold.fold or '-'))}[/] {escape(line)}", soft_wrap=True)
    console.print(f"written to {escape(str(out))}; use it with `evidentia evaluate RUN --thresholds`", soft_wrap=True)


def _targets(tuning: Tuning, defaults: Collection[str]) -> str:
    """What the gate was asked to reach, and which of it is only the default; targets per post are for certificates."""
    known = {n: v for n, v in tuning.choices["targets"].items() if tuning.choices["certify"] or "unit=post" not in n}
    named = [f"{name}{value:g}" for name, value in known.items() if name not in defaults]
    usual = [f"{name}{value:g}" for name, value in known.items() if name in defaults]
    parts = [*([", ".join(named)] if named else []), *([f"by default {', '.join(usual)}"] if usual else [])]
    return f"targets: {'; '.join(parts)}"


def _threshold_table(tuning: Tuning) -> Table:
    table = _table("tau", "TPR", "FPR", "prec.", "F1", "MCC")
    for fold in tuning.folds:
        assert fold.threshold is not None
        threshold = fold.threshold
        figures = [threshold.metrics.get(name) for name in ("TPR", "FPR", "Precision", "F1", "MCC")]
        tau = _short(threshold.value) if threshold.value is not None else escape(str(threshold.reason))
        table.add_row(*_about(fold), tau, *map(_rate, figures))
    return table


def _three_state_table(tuning: Tuning) -> Table:
    figures = ("ScreeningSensitivity", "ScreeningFNPer1000", "AlertPrecision", "Workload")
    table = _table("tau_neg", "tau_pos", "sens.", "FN/1000", "prec.", "work")
    for fold in tuning.folds:
        assert fold.three_state is not None
        three_state = fold.three_state
        taus = (
            _marked(three_state.tau_neg, three_state.certificates[:1]),
            _marked(three_state.tau_pos, three_state.certificates[1:]),
        )
        table.add_row(*_about(fold), *taus, *(_rate(three_state.metrics.get(name)) for name in figures))
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for head in ("fold", "posts", "pos.", "calibrator", *heads):
        table.add_column(head, justify="left" if head in {"fold", "calibrator"} else "right", no_wrap=True)
    return table


def _about(fold: FoldTuning) -> tuple[str, ...]:
    chosen = "-" if fold.calibrator is None else fold.calibrator.method
    return escape(str(fold.fold or "-")), f"{len(fold.posts):,}", f"{fold.positives:,}", chosen


def _short(value: float | None) -> str:
    return "-" if value is None else fixed(value)


def _rate(value: float | None) -> str:
    return "-" if value is None else fixed(value, 3)


def _marked(tau: float | None, certificates: tuple[PostCertificate, ...]) -> str:
    """A threshold; a star says that it is certified."""
    return _short(tau) + ("*" if certificates and certificates[0].value is not None else "")


def _warnings(fold: FoldTuning) -> list[str]:
    lines = [] if fold.reason is None else [fold.reason]
    if fold.calibrator is not None and fold.calibrator.reason is not None:
        lines.append(f"not calibrated: {fold.calibrator.reason}")
    if fold.three_state is None:
        return lines
    for outcome in fold.three_state.outcomes:
        if outcome.missed_by:
            miss = f"{outcome.name}{outcome.target:g} is missed on TUNE by {outcome.missed_by:.4g}"
            lines.append(f"{miss} (reached {outcome.reached:.4g}); the nearest point was taken")
    return [*lines, *map(_certificate_line, fold.three_state.certificates)]


def _certificate_line(certificate: PostCertificate) -> str:
    target = f"{certificate.name} >= {certificate.target:g} at confidence {1 - certificate.delta:g}"
    if certificate.value is None:
        return f"cannot certify {target}: {certificate.reason}. The threshold is tuned, not certified"
    fault = "with skipped evidence" if certificate.name.startswith("Screening") else "with a wrong alert"
    seen = f"{certificate.misses} of {certificate.posts:,} posts {fault}, lower bound {fixed(certificate.bound)}"
    return f"certified (*) {target}: {seen}"
