"""The page of a course of batches: what raised an alarm, every signal over time, and what is promised."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from importlib.metadata import version

from evidentia.monitoring import BatchReport, Course, SignalResult
from evidentia.report.page.figure import Figure, draw, table_of
from evidentia.report.page.images import images
from evidentia.report.page.render import page_environment, page_source

COLUMNS = (
    *("batch", "name", "signal", "criterion", "kind", "n", "n_reference", "value", "reference", "effect", "margin"),
    *("margins", "p", "p_holm", "alarm"),
)
Row = tuple[str | int | float | None, ...]


def signal_rows(course: Course) -> list[Row]:
    """A row per batch and signal: the numbers behind the page."""
    return [_row(at, batch, result) for at, batch in enumerate(course.batches, 1) for result in batch.results]


def _row(at: int, batch: BatchReport, result: SignalResult) -> Row:
    margins = None if result.effect is None or not result.margin else result.effect / result.margin
    about = (
        at,
        batch.name,
        result.signal,
        result.criterion,
        result.kind,
        result.n,
        result.n_reference,
        result.value,
        result.reference,
    )
    return (*about, result.effect, result.margin, margins, result.p, result.p_holm, int(result.alarm))


def course_figures(course: Course) -> tuple[Figure, ...]:
    """Signals of whole posts as lines, those of criteria as a map."""
    rows = [row for row in signal_rows(course) if row[COLUMNS.index("effect")] is not None]
    whole, own = ([row for row in rows if (row[3] is None) == is_whole] for is_whole in (True, False))
    posts = draw("monitor_posts", table_of(COLUMNS, whole), panels=_distinct(whole, 2))
    criteria = draw("monitor_criteria", table_of(COLUMNS, own), panels=_distinct(own, 2), criteria=_distinct(own, 3))
    return tuple(figure for figure in (posts, criteria) if figure is not None)


def _distinct(rows: Iterable[Row], column: int) -> list[object]:
    return list(dict.fromkeys(row[column] for row in rows))


def monitor_page(course: Course) -> str:
    """The page, complete in itself: no script, and the figures as pictures."""
    figures = course_figures(course)
    drawn = images(figures, {"svg"})
    shown = [
        {
            "title": figure.title,
            "caption": figure.caption,
            "data": f"data:image/svg+xml;base64,{base64.b64encode(drawn[f'{figure.name}.svg']).decode()}",
        }
        for figure in figures
    ]
    template = page_environment().get_template("monitor.html")
    return template.render(
        course=course,
        settings=course.settings,
        figures=shown,
        style=page_source("style.css"),
        version=version("evidentia"),
    )
