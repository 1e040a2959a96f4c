"""From a TOML file to a configuration: keys are read one by one, and every problem is kept instead of the first alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from evidentia.errors import InputError, Problem, shown
from evidentia.pipeline.config.conflicts import clashes
from evidentia.pipeline.config.document import Config
from evidentia.pipeline.config.kinds import TYPE, RefusedError, described, suggestion
from evidentia.pipeline.config.tables import Setting, settings_of, subtables
from evidentia.tables.files import read_content
from evidentia.tables.limits import parse_toml

UNKNOWN, MISSED, CONFLICT, NOT_TOML = "CONFIG_UNKNOWN_KEY", "CONFIG_MISSING", "CONFIG_CONFLICT", "CONFIG_TOML"
_PLACEHOLDER = "unset"
_TWICE = re.compile(r"Cannot (overwrite|declare|mutate|redefine)|Duplicate")
_HARMLESS = re.compile(r"[\w '\[\]=/\\-]{1,60}", re.ASCII)  # a reason that quotes no more than a character of the file


def read_config(path: str | Path) -> Config:
    """Read a TOML file; whatever is wrong with it comes as one InputError."""
    path = Path(path)
    content = read_content(path)
    text = content.text().decode() if content.data.strip() else ""
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise InputError(_not_toml(path.name, text, error)) from None
    return parse_config(document, base=path.parent, name=path.name)


def parse_config(content: Mapping[str, Any], *, base: Path, name: str = "configuration") -> Config:
    """Check a configuration. ``base`` is the folder that its paths start from; they need not exist yet.

    >>> parse_config({"corpus": {"path": "synthetic"}}, base=Path()).retriever.kind
    ('words', 'bm25')
    """
    reader = _TableReader(name)
    config = Config(**reader.tables(content), base=base)
    for table, keys, message in clashes(config, frozenset(reader.present)):
        if not reader.faulty.intersection(key if "." in key else f"{table}.{key}" for key in keys.split()):
            reader.add(CONFLICT, f"[{table}] {message}")
    if reader.problems:
        raise InputError(*reader.problems)
    return config


def all_tables(within: type = Config, place: str = "") -> dict[str, type[Any]]:
    """Every table by its full name, each before the tables within it."""
    tables: dict[str, type[Any]] = {}
    for name, table in subtables(within).items():
        tables |= {f"{place}{name}": table, **all_tables(table, f"{place}{name}.")}
    return tables


@dataclass(eq=False)
class _TableReader:
    """Notes what is wrong, at which keys, and which keys were given at all; keys are called ``table.key``."""

    name: str
    problems: list[Problem] = field(default_factory=list)
    faulty: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)

    def tables(self, content: object) -> dict[str, Any]:
        """The tables of a configuration."""
        known = subtables(Config)
        if not isinstance(content, Mapping):
            self.add(TYPE, f"must be tables of settings, not {described(content)}.")
            content = {}
        for key, value in content.items():
            if key not in known:
                complaint = "there is no table [{}]" if isinstance(value, Mapping) else "{} stands outside the tables"
                bare = shown(key).strip("'")
                self.add(UNKNOWN, f"{complaint.format(bare)}. {_hint(str(key), list(known), '[{}]')}")
        return {name: self._table(table, content.get(name), name) for name, table in known.items()}

    def _table(self, table: type[Any], content: object, place: str) -> Any:
        settings, inner = dict(settings_of(table)), subtables(table)
        if content is not None and not isinstance(content, Mapping):
            self.add(TYPE, f"[{place}] must be a table, not {described(content)}.")
            self.faulty.update(f"{place}.{key}" for key in settings)
        members = content if isinstance(content, Mapping) else {}
        known = [*settings, *inner]
        for key in members:
            if key not in known:
                self.add(UNKNOWN, f"[{place}] has no key {shown(key)}. {_hint(str(key), known)}")
        read = {key: self._value(setting, members.get(key), place, key) for key, setting in settings.items()}
        values = {key: value for key, value in read.items() if value is not None}
        for each in fields(table):
            if each.name in settings and each.default is MISSING and each.name not in values:
                self._require(place, each.name, settings[each.name])
                values[each.name] = _PLACEHOLDER
        values |= {key: self._table(within, members.get(key), f"{place}.{key}") for key, within in inner.items()}
        return table(**values)

    def _value(self, setting: Setting, value: object, table: str, key: str) -> Any:
        """The value in its one form; None where it is left out or refused."""
        if value is None:
            return None
        self.present.add(f"{table}.{key}")
        try:
            return setting.kind.read(value)
        except RefusedError as refusal:
            self.faulty.add(f"{table}.{key}")
            wanted, actual = refusal.wanted or setting.kind.words, refusal.actual or described(value)
            self.add(refusal.code, f"[{table}] {key} must be {wanted}, not {actual}. {refusal.hint}".rstrip())
            return None

    def _require(self, place: str, key: str, setting: Setting) -> None:
        if f"{place}.{key}" not in self.faulty:
            self.faulty.add(f"{place}.{key}")
            self.add(MISSED, f"[{place}] {key} is missing. {setting.meaning}.")

    def add(self, code: str, message: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(code, f"{self.name}: {message}"))


def _hint(key: str, known: list[str], form: str = "{}") -> str:
    """What may have been meant: a key of another table, a similar one of this, else all that there are."""
    homes = [f"[{place}]" for place, table in all_tables().items() if key in dict(settings_of(table))]
    if homes:
        return f"It is a key of {' and '.join(homes)}."
    return suggestion(key, known, form) or f"There are: {', '.join(known)}."


def _not_toml(name: str, text: str, error: ValueError) -> Problem:
    """Name the line; of the reason only what holds nothing of the file."""
    reason, _, behind = str(error).partition(" (at ")
    place = re.match(r"line \d+, column \d+", behind)
    where = place[0] if place else f"line {text.count(chr(10)) + 1}, the last" if behind else "some line"
    if isinstance(error, tomllib.TOMLDecodeError):  # else our own words
        if _TWICE.match(reason):
            reason = "a key or a table is given twice"
        elif not _HARMLESS.fullmatch(reason):
            reason = "something that does not belong there"
    why = reason[:1].lower() + reason[1:]
    return Problem(NOT_TOML, f"{name}: not TOML ({where}: {why}). Texts stand in quotes, tables in [brackets].")
