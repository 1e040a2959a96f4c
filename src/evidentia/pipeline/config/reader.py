"""Reads tables key by key into their dataclasses, and keeps every problem instead of stopping at the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, get_type_hints

from evidentia.errors import Problem, shown
from evidentia.pipeline.config.fields import TYPE, RefusedError, Setting, described, suggestion
from evidentia.pipeline.config.models import settings_of

UNKNOWN, MISSED = "CONFIG_UNKNOWN_KEY", "CONFIG_MISSING"
_PLACEHOLDER = "unset"


@dataclass(eq=False)
class Reader:
    """Notes what is wrong, at which keys, and which keys were given at all; keys are called ``table.key``."""

    name: str
    problems: list[Problem] = field(default_factory=list)
    faulty: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    homes: dict[str, list[str]] = field(default_factory=dict)

    def tables(self, made_of: type, content: object) -> dict[str, Any]:
        """The tables of a configuration, which is a dataclass of them."""
        known = subtables(made_of)
        self.homes = _homes(known, "")
        if not isinstance(content, Mapping):
            self._add(TYPE, f"must be tables of settings, not {described(content)}.")
            content = {}
        for key, value in content.items():
            if key not in known:
                complaint = "there is no table [{}]" if isinstance(value, Mapping) else "{} stands outside the tables"
                self._add(UNKNOWN, f"{complaint.format(_bare(key))}. {self._hint(str(key), list(known), '[{}]')}")
        return {name: self._table(table, content.get(name), name) for name, table in known.items()}

    def _table(self, made_of: type[Any], content: object, place: str) -> Any:
        if content is None:
            content = {}
        if not isinstance(content, Mapping):
            self._add(TYPE, f"[{place}] must be a table, not {described(content)}.")
            self.faulty.update(f"{place}.{key}" for key, _ in settings_of(made_of))
            content = {}
        settings, inner = dict(settings_of(made_of)), subtables(made_of)
        known = [*settings, *inner]
        for key in content:
            if key not in known:
                self._add(UNKNOWN, f"[{place}] has no key {shown(key)}. {self._hint(str(key), known)}")
        read = {key: self._value(setting, content.get(key), f"{place}.{key}") for key, setting in settings.items()}
        values = {key: value for key, value in read.items() if value is not None}
        for each in fields(made_of):
            if each.default is MISSING and each.name in settings and each.name not in values:
                self._missed(place, each.name, settings[each.name])
                values[each.name] = _PLACEHOLDER
        for key, table in inner.items():
            values[key] = self._table(table, content.get(key), f"{place}.{key}")
        return made_of(**values)

    def _value(self, setting: Setting, value: object, key: str) -> Any:
        """The value in its one form; None where it is left out or refused."""
        if value is None:
            return None
        self.given.add(key)
        try:
            return setting.kind.read(value)
        except RefusedError as refusal:
            table, _, name = key.rpartition(".")
            self.faulty.add(key)
            hint = f" {refusal.hint}" if refusal.hint else ""
            self._add(refusal.code, f"[{table}] {name} must be {refusal.wanted}, not {refusal.found}.{hint}")
            return None

    def _missed(self, place: str, key: str, setting: Setting) -> None:
        if f"{place}.{key}" not in self.faulty:
            self.faulty.add(f"{place}.{key}")
            self._add(MISSED, f"[{place}] {key} is missing. {setting.meaning}.")

    def _hint(self, key: str, known: list[str], form: str = "{}") -> str:
        """What may have been meant: a key of another table, a similar one of this, else all that there are."""
        if key in self.homes:
            return f"It is a key of {' and '.join(self.homes[key])}."
        return suggestion(key, known, form) or f"There are: {', '.join(known)}."

    def _add(self, code: str, message: str) -> None:
        self.problems.append(Problem(code, f"{self.name}: {message}"))


def subtables(made_of: type) -> dict[str, type[Any]]:
    """The tables within a dataclass, by name."""
    hints = get_type_hints(made_of)
    return {each.name: hints[each.name] for each in fields(made_of) if is_dataclass(hints[each.name])}


def _homes(tables: Mapping[str, type[Any]], before: str) -> dict[str, list[str]]:
    """The tables in which each key can be."""
    homes: dict[str, list[str]] = {}
    for name, table in tables.items():
        for key, _ in settings_of(table):
            homes.setdefault(key, []).append(f"[{before}{name}]")
        for key, places in _homes(subtables(table), f"{before}{name}.").items():
            homes.setdefault(key, []).extend(places)
    return homes


def _bare(key: object) -> str:
    """A key without quotes, where it may be shown."""
    text = shown(key)
    return text.strip("'")
