"""The files of a course of batches: numbers as JSON and CSV, and the page."""

from __future__ import annotations

from pathlib import Path

from evidentia.evaluation import write_folder
from evidentia.evaluation.files import write_monitor_manifest
from evidentia.monitoring import Course
from evidentia.report.page.monitor_page import COLUMNS, monitor_page, signal_rows
from evidentia.report.tables import Table
from evidentia.report.write import csv_text
from evidentia.results import dumps_by_line


def write_course(course: Course, folder: Path, *, force: bool = False, command: str | None = None) -> None:
    """Write monitor.json, signals.csv, report.html and the manifest, all or nothing."""

    def fill(temporary: Path) -> None:
        (temporary / "monitor.json").write_text(dumps_by_line(course.to_dict(), ("batches",)), encoding="utf-8")
        table = Table("signals", "Signals", COLUMNS, tuple(signal_rows(course)))
        (temporary / "signals.csv").write_text(csv_text(table), encoding="utf-8")
        (temporary / "report.html").write_text(monitor_page(course), encoding="utf-8")
        write_monitor_manifest(temporary, command=command, inputs=course.sources, model_sha256=course.model_sha256)

    write_folder(folder, fill, force=force)
