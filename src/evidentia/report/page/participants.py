"""The items of a selective result as a page carries them: participants under pseudonyms, and no raw id in any note.

A pseudonym starts with the participant's place in the sorted ids of the run (those that only the other run has come after
them), so that the draws of the bootstrap can be made again from the page. A participant who failed has no items, hence no
place; notes that name one get a hash without a place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.report.page.content import Content
from evidentia.report.page.pseudonyms import hashed, in_order, key_of, pseudonyms
from evidentia.results import loads
from evidentia.tables.cells import QUOTED

ITEM_FILES = ("items.csv", "against_items.csv")
FIRST = re.compile(r"(?<=first: )(?:'([^'\n]*)'|\"([^\"\n]*)\"|([0-9.+-]+))")  # how a message names somebody
NAMED = re.compile(r"'([^'\n]{1,200})'")
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Participants:
    """What stands for every participant; empty where ids are shown."""

    names: Mapping[str, str]
    key: bytes

    def items(self, tables: Mapping[str, Columns]) -> dict[str, Columns]:
        """The items with pseudonyms in place of ids."""
        return {
            role: columns | {"cluster_id": [self.names[cluster] for cluster in columns["cluster_id"]]}
            for role, columns in tables.items()
        }

    def note(self, words: str) -> str:
        """A note without raw ids: pseudonyms, and hashes for those who have no items."""

        def hidden(match: re.Match[str]) -> str:
            name = next(part for part in match.groups() if part is not None)
            return f"'{self.names.get(name) or 'x-' + hashed(name, self.key)}'"

        words = FIRST.sub(hidden, words)
        return NAMED.sub(lambda match: f"'{self.names.get(match[1], match[1])}'", words)

    def summary(self, text: str) -> str:
        """The summary with its notes rewritten, and otherwise to the letter."""
        for words in dict.fromkeys(_notes(loads(text))):
            text = text.replace(_quoted(words), _quoted(self.note(words)))
        return text

    def manifest(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest with the notes about its inputs rewritten."""
        inputs = [_rewritten(entry, self.note) for entry in manifest.get("inputs", ())]
        return {**manifest, "inputs": inputs}


def with_items(content: Content, folder: Path) -> Content:
    """The content with its items, and with pseudonyms unless ids are shown."""
    tables = _item_tables(folder)
    if content.ids == "shown":
        return replace(content, items=tables)
    hidden = _participants(folder, tables)
    return replace(
        content,
        items=hidden.items(tables),
        summary=hidden.summary(content.summary),
        manifest=hidden.manifest(content.manifest),
    )


def _item_tables(folder: Path) -> dict[str, Columns]:
    """The items of the run, and of the one it is compared with, as text by column."""
    tables: dict[str, Columns] = {}
    for name in ITEM_FILES:
        if (folder / name).is_file():
            frame = pl.read_csv(folder / name, infer_schema=False)
            plain = frame.with_columns(pl.all().fill_null("").str.replace(QUOTED.pattern, "$1"))
            tables[name.removesuffix(".csv")] = {
                QUOTED.sub(r"\1", column): plain[column].to_list() for column in plain.columns
            }
    return tables


def _participants(folder: Path, tables: Mapping[str, Columns]) -> Participants:
    """Pseudonyms for everybody in the items."""
    key = key_of(folder, ITEM_FILES[0])
    ids = in_order(*(columns["cluster_id"] for columns in tables.values()))
    return Participants(pseudonyms(ids, key), key)


def _notes(summary: Mapping[str, Any]) -> list[str]:
    """Everything in a summary that may name a participant."""
    compared = summary.get("comparison") or {}
    messages = [str(check["message"]) for check in summary.get("checks", ())]
    return [*summary.get("notes", ()), *compared.get("notes", ()), *messages]


def _quoted(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


def _rewritten(entry: Mapping[str, Any], note: Callable[[str], str]) -> dict[str, Any]:
    return dict(entry) | ({"notes": [note(words) for words in entry["notes"]]} if "notes" in entry else {})
