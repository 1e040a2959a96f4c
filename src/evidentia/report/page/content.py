"""Everything that a page shows and carries. A page is a function of its content, and the content travels in the page.

It is carried as strict JSON, compressed, as text that cannot end a script element.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

from evidentia.errors import InputError
from evidentia.report.tables import Table
from evidentia.results import dumps, loads
from evidentia.tables.limits import gunzip

PageKind = Literal["evaluation", "selective", "comparison"]
MARK = '<script type="application/octet-stream" id="evidentia-content">'
LEVEL = 6  # three times as fast as 9, and 4 % larger
_CARRIED = re.compile(re.escape(MARK) + r"([A-Za-z0-9+/=\s]*)</script>")


@dataclass(frozen=True)
class Content:
    """A result as a page has it: its numbers, tables, figure data and queries, and whether ids are shown.

    ``summary`` is the text of ``summary.json`` (or ``comparison.json``), so that the page can hand it out unchanged.
    ``queries`` and ``tune`` hold columns of text as in ``per_query.csv``, with pseudonyms unless ``ids`` is "shown".
    """

    kind: PageKind
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
    title: str | None = None

    @property
    def heading(self) -> str:
        """The title that somebody gave, else the name of the file."""
        return self.title or self.name

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


def pack(content: Content) -> str:
    """The content as base64 of gzip, the same text for the same content (gzip would keep the time)."""
    text = dumps(content.to_dict(), indent=None)  # indented, it would be written by Python's slow encoder
    return base64.b64encode(gzip.compress(text.encode(), LEVEL, mtime=0)).decode("ascii")


def unpack(page: str) -> Content:
    """The content that a page carries."""
    match = _CARRIED.search(page)
    if match is None:
        raise InputError("This page carries no result: it is not a report that Evidentia wrote.")
    try:
        return Content.from_dict(loads(gunzip("report.html", base64.b64decode(match[1])).decode()))
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise InputError(f"The result that this page carries cannot be read ({type(error).__name__}).") from None
