"""A result becomes tables, figures, a page, LaTeX and console text; no statistics here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from evidentia.report import paper_formats  # noqa: F401 - registers how results are printed for a paper
from evidentia.report.tables import Table, tables_of
from evidentia.report.write import write_curves, write_delta_tables, write_system_curves, write_tables

__all__ = [
    "Table",
    "start_drawing",
    "tables_of",
    "wants_report",
    "write_curves",
    "write_delta_tables",
    "write_report",
    "write_system_curves",
    "write_tables",
]


def wants_report(asked: bool | None) -> bool:
    """Whether to draw a report: as asked, else unless the environment says EVIDENTIA_NO_REPORT."""
    return not os.environ.get("EVIDENTIA_NO_REPORT") if asked is None else asked


def start_drawing() -> None:
    """Start the drawing engine, which takes a third of a second, beside what is done before a report is written."""
    from evidentia.report.page.engine import engine

    engine()


def write_report(folder: Path, **how: Any) -> list[str]:
    """Draw the report of a result folder; templates and figures are loaded on use.

    Pictures of points take a second and more: `evidentia report` draws them.
    """
    from evidentia.report.page import write

    return write.write_report(folder, **{"formats": write.AT_ONCE, **how})
