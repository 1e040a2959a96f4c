"""A figure: a Vega-Lite drawing of a table, and the words below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.report.tables import Table, Value

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
Spec = dict[str, Any]
_INHERITED = frozenset(
    (
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString"),
        *("valueOf", "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
    )
)


@dataclass(frozen=True)
class Figure:
    """A drawing without its data, and the table that it draws; a wide one takes a row of the page."""

    name: str
    title: str
    caption: str
    table: Table
    spec: Mapping[str, Any]
    wide: bool = False

    def drawn(self, config: Mapping[str, Any]) -> Spec:
        """The whole specification, with its data."""
        drawing = {"$schema": SCHEMA, "data": {"values": records(self.table)}, "config": dict(config), **self.spec}
        whole: Spec = _own_names(drawing)
        return whole


def _own_names(part: Any) -> Any:
    """The same with other texts where JavaScript's objects have a member of that name: Vega looks labels up in such objects.

    The no-break space behind it cannot be seen.

    >>> _own_names({"domain": ["constructor", "plain"]})
    {'domain': ['constructor\\xa0', 'plain']}
    """
    if isinstance(part, Mapping):
        return {key: _own_names(inner) for key, inner in part.items()}
    if isinstance(part, list | tuple):
        return [_own_names(inner) for inner in part]
    return f"{part}\N{NO-BREAK SPACE}" if isinstance(part, str) and part in _INHERITED else part


def records(table: Table) -> list[dict[str, Value]]:
    """The rows of a table by column, under names that Vega cannot take for a path (it splits at dots and brackets)."""
    names = [_own_names(field(column)) for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def field(column: str) -> str:
    """A column's name as a field of Vega-Lite.

    >>> field("fold 0.5[a]")
    'fold 0_5_a_'
    """
    return "".join("_" if letter in ".[]\\'\"" else letter for letter in column)


def x(name: str, title: str, **more: Any) -> Spec:
    """A quantitative axis."""
    return {"field": name, "type": "quantitative", "title": title, **more}


def tooltip(*columns: tuple[str, str], digits: str = ".4f") -> list[Spec]:
    """What hovering shows: quantitative unless the column is marked with ``:n``; counts with ``:c``."""
    fields: list[Spec] = []
    for column, title in columns:
        name, _, kind = column.partition(":")
        if kind == "n":
            fields.append({"field": name, "type": "nominal", "title": title})
        else:
            fields.append(
                {"field": name, "type": "quantitative", "title": title, "format": "," if kind == "c" else digits}
            )
    return fields


def drawn_as(kind: str, encoding: Spec, **look: Any) -> Spec:
    """A layer: a kind of mark, what it encodes, and how it looks."""
    return {"mark": {"type": kind, **look}, "encoding": encoding}


def touchable(encoding: Spec, *, clip: bool = False) -> Spec:
    """Unseen dots along a line, so that one need not hit the line itself to read it off.

    Where the scale ends before the data they must be clipped: a drawing makes room for all its dots, seen or not.
    """
    return drawn_as("point", encoding, opacity=0, size=80, **({"clip": True} if clip else {}))


def table_of(name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> Table:
    """A table from any rows."""
    return Table(name, title, tuple(columns), tuple(tuple(row) for row in rows))
