"""Everything that a page shows and carries. A page is a function of its content, and the content travels in the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

from evidentia.report.tables import Table
from evidentia.results import loads

Kind = Literal["evaluation", "selective", "comparison"]


@dataclass(frozen=True)
class Content:
    """A result as a page has it: its numbers, tables, figure data and queries, and whether ids are shown.

    ``summary`` is the text of ``summary.json`` (or ``comparison.json``), so that the page can hand it out unchanged.
    ``queries`` and ``tune`` hold columns of text as in ``per_query.csv``, with pseudonyms unless ``ids`` is "shown".
    """

    kind: Kind
    name: str
    summary: str
    manifest: Mapping[str, Any]
    verification: Mapping[str, Any] | None = None
    tables: tuple[Table, ...] = ()
    figures: tuple[Table, ...] = ()
    queries: Mapping[str, list[Any]] = field(default_factory=dict)
    tune: Mapping[str, list[Any]] = field(default_factory=dict)
    items: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    thresholds: Mapping[str, Any] | None = None
    errors: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ids: Literal["hashed", "shown"] = "hashed"

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The summary, parsed."""
        content = loads(self.summary)
        assert isinstance(content, dict)
        return content

    def table(self, name: str) -> Table | None:
        """A table of the result, if it has it."""
        return next((table for table in self.tables if table.name == name), None)

    def figure(self, name: str) -> Table | None:
        """The data of a figure, if the result has it."""
        return next((table for table in self.figures if table.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain content for JSON; it shares what it holds with this."""
        plain = {part.name: getattr(self, part.name) for part in fields(self)}
        return plain | {name: [vars(table) for table in plain[name]] for name in ("tables", "figures")}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Content:
        """What `to_dict` gave."""
        kept = dict(content)
        for name in ("tables", "figures"):
            kept[name] = tuple(
                Table(t["name"], t["title"], tuple(t["columns"]), tuple(tuple(row) for row in t["rows"]))
                for t in content[name]
            )
        return cls(**kept)
