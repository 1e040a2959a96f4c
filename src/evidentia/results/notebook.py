"""Results in a notebook and a paper: a small table with everything escaped, a pandas frame, LaTeX and Markdown."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidentia.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MOST = 24  # rows of a screen; the page and the files have all


def notebook_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, left_out: int = 0) -> str:
    """An HTML table with a caption; numbers are rounded, nothing in a cell can become markup.

    >>> notebook_table("c", ["a"], [["<b>"], [0.12345]]).count("&lt;b&gt;")
    1
    """
    kept = list(rows)
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in kept[:MOST])
    left_out += max(0, len(kept) - MOST)
    more = f"<p>and {left_out:,} more</p>" if left_out else ""
    top = f"<caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.4f}</td>'
    if isinstance(value, int):
        return f'<td style="text-align:right">{value:,}</td>'
    return f"<td>{'' if value is None else html.escape(str(value))}</td>"


@singledispatch
def printed_as(result: object, form: str, **how: object) -> str:
    """The table of a result in a form; whoever draws tables registers how."""
    raise InputError("There is no table of this for a paper.")


@dataclass(frozen=True)
class Picture:
    """A figure that shows itself in a notebook."""

    name: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write it as an SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")


@singledispatch
def drawing_of(result: object, name: str) -> Picture:
    """A figure of a result by its name; whoever draws figures registers how."""
    raise InputError("There are no figures of this.")


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """A frame of pandas, which is no dependency."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            "to_pandas needs pandas: pip install pandas. Or take the polars frame of to_frame()."
        ) from None
    columns: dict[str, Any] = frame.to_dict(as_series=False)
    return pd.DataFrame(columns)
