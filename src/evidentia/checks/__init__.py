"""Coded checks: what must hold for a result, each with a code, and the proof that it looked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidentia.checks import attribution, data, folder, leakage, numbers, reporting, selective
from evidentia.checks.folder import read_subject, subject_in_memory
from evidentia.checks.registry import CHECKS, Check
from evidentia.checks.subject import Subject
from evidentia.results import Evaluation, Finding
from evidentia.tables import Items, Run

__all__ = [
    "CHECKS",
    "Check",
    "Subject",
    "check_again",
    "check_folder",
    "check_items",
    "check_result",
    "check_run",
    "check_subject",
    "read_subject",
]
MODULES = (attribution, data, folder, leakage, numbers, reporting, selective)  # importing them registers their checks
OF_ROWS = frozenset({"BASE001", "DEPTH001", "DYNK001", "KPIN001", "LOSS001", "POINT001", "POP001"})  # no `run_check`
BEFORE_MEASURING = ("CARD001", "GATE001")  # what reading a run does not refuse, and measuring it does not change


def check_result(
    evaluation: Evaluation, run: Run | None = None, *, applied: Mapping[str, Any] | None = None
) -> tuple[Finding, ...]:
    """Every check that a result in memory can have, in the order of their codes.

    ``applied`` are the thresholds that were tuned before and given to the evaluation, as written.
    """
    return check_subject(Subject(evaluation, run, applied=applied))


def check_items(evaluation: Evaluation, items: Items) -> tuple[Finding, ...]:
    """The checks of a predictor that may abstain, in the order of their codes."""
    return _check_items(Subject(evaluation, items=items))


def _check_items(subject: Subject) -> tuple[Finding, ...]:
    return tuple(CHECKS[code](subject) for code in sorted(CHECKS) if CHECKS[code].about == "items")


def check_again(path: Path) -> tuple[Finding, ...]:
    """The checks that a written result must list: its evaluation made them, and they come out the same."""
    subject = subject_in_memory(path)
    return _check_items(subject) if subject.of_items else check_subject(subject)


def check_folder(path: Path) -> tuple[Finding, ...]:
    """Every check of a written result, in the order of their codes."""
    return check_subject(read_subject(path))


def check_subject(subject: Subject) -> tuple[Finding, ...]:
    """Every check that applies to what is there, in the order of their codes."""
    written = subject.folder is not None
    codes = sorted(
        code
        for code, check in CHECKS.items()
        if (written or check.scope == "result") and (subject.of_items or check.about == "any")
    )
    findings = tuple(CHECKS[code](subject) for code in codes)
    return tuple(map(_without_rows, findings)) if subject.rows_are_elsewhere else findings


def _without_rows(finding: Finding) -> Finding:
    """A check of rows that are not there was not made, whatever it would say of a run that has none."""
    if finding.code not in OF_ROWS or finding.status != "not applicable":
        return finding
    return replace(finding, status="skipped", message="the rows that it looks at are not in the folder")


def check_run(run: Run) -> tuple[Finding, ...]:
    """The checks of a run that nothing was measured on yet."""
    return tuple(CHECKS[code](Subject(run=run)) for code in BEFORE_MEASURING)
