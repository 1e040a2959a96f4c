"""`report.json`: how each format of a report was drawn, so that it can be drawn again and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evidentia.errors import InputError
from evidentia.report.page.content import Content
from evidentia.results import dumps, loads

RECORD = "report.json"
SCHEMA = "evidentia.report/1"
PAGE = "report.html"
TITLED = frozenset({"html", "latex", "md"})
FILES = {
    "html": PAGE,
    "svg": "figures",
    "png": "figures",
    "pdf": "figures",
    "csv": "figures",
    "latex": "report.tex",
    "md": "report.md",
}


@dataclass(frozen=True)
class Drawing:
    """The versions that drew a format, whether ids are shown, the hash of the sentences that were included, and the title.

    ``ids`` is None where the format shows none, ``texts`` where it holds no sentence, and ``title`` where nobody gave one.
    """

    evidentia: str
    vl_convert: str
    ids: str | None
    texts: str | None
    title: str | None = None

    @property
    def is_current(self) -> bool:
        """Whether the versions of now drew it."""
        return (self.evidentia, self.vl_convert) == versions()


def versions() -> tuple[str, str]:
    """The versions that decide how a report looks."""
    return version("evidentia"), version("vl-convert-python")


def drawing(name: str, content: Content) -> Drawing:
    """What is recorded of a format that is drawn now: the page alone has sentences and always ids."""
    is_page = name == "html"
    sliced = (content.manifest.get("options") or {}).get("slices", ())
    ids = content.ids if content.kind != "comparison" and (is_page or "post_id" in sliced) else None
    texts = texts_sha256(content.texts) if is_page and content.texts else None
    return Drawing(*versions(), ids, texts, content.title if name in TITLED else None)


def texts_sha256(texts: Mapping[str, Any]) -> str:
    """The hash of the sentences that a page carries."""
    return hashlib.sha256(dumps(texts, indent=None).encode()).hexdigest()


def record_text(record: Mapping[str, Drawing]) -> str:
    """The content of ``report.json``."""
    formats = {name: asdict(record[name]) for name in sorted(record)}
    plain = {n: {k: v for k, v in entry.items() if k != "title" or v is not None} for n, entry in formats.items()}
    return dumps({"schema": SCHEMA, "formats": plain})


def read_record(folder: Path) -> dict[str, Drawing]:
    """How the formats of a folder were drawn; an InputError where that is not recorded as it should be."""
    try:
        text = (folder / RECORD).read_text(encoding="utf-8")
        formats = loads(text)["formats"]
        record = {str(name): Drawing(**entry) for name, entry in formats.items()}
        plain = record.keys() <= FILES.keys() and all(_is_plain(entry) for entry in record.values())
        if plain and record_text(record) == text:
            return record
    except OSError:
        raise InputError(f"there is no {RECORD} that says how it was drawn") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise InputError(f"{RECORD} is not one that Evidentia wrote")


def _is_plain(entry: Drawing) -> bool:
    words = [getattr(entry, field.name) for field in fields(Drawing)]
    return entry.ids in {"hashed", "shown", None} and all(isinstance(word, str) for word in words if word is not None)


def format_of(name: str) -> str | None:
    """The format that a file of a report belongs to.

    >>> format_of("figures/roc.svg"), format_of("figures/drawn/roc.csv"), format_of("report.tex")
    ('svg', 'csv', 'latex')
    """
    if name.startswith("figures/"):
        return name.rpartition(".")[2]
    return next((kind for kind, file in FILES.items() if file == name), None)


def formats_present(names: Iterable[str]) -> tuple[str, ...]:
    """The formats of the report files that are there."""
    return tuple(dict.fromkeys(kind for name in sorted(names) if (kind := format_of(name)) is not None))
