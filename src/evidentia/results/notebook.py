"""Results in a notebook: a small table, with everything escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

MOST = 60  # rows in a notebook; the page and the files have all


def notebook_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table with a caption; numbers are rounded, nothing in a cell can become markup.

    >>> notebook_table("c", ["a"], [["<b>"], [0.12345]]).count("&lt;b&gt;")
    1
    """
    kept = list(rows)
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in kept[:MOST])
    more = f"<p>and {len(kept) - MOST:,} more</p>" if len(kept) > MOST else ""
    top = f"<caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.4f}</td>'
    if isinstance(value, int):
        return f'<td style="text-align:right">{value:,}</td>'
    return f"<td>{'' if value is None else html.escape(str(value))}</td>"
