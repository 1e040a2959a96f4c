"""The configuration for people: a file to start from, and the reference page. Both are made from the tables themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from evidentia.pipeline.config.document import Config
from evidentia.pipeline.config.fields import Setting, Several
from evidentia.pipeline.config.models import settings_of
from evidentia.pipeline.config.reader import subtables
from evidentia.pipeline.config.tables import SYNTHETIC


def default_config_text() -> str:
    """A TOML file with every key at its default; keys that are left out by default stand in comments.

    >>> default_config_text().splitlines()[4]
    '[corpus]  # What is read.'
    """
    lines = [
        "# The configuration of a pipeline. Every key is here with its default: keep what you change, delete the rest.",
        "# Paths start from the folder of this file.",
    ]
    for place, table in all_tables():
        lines += ["", "", f"[{place}]  # {_about(table)}"]
        lines += [line for key, setting in settings_of(table) for line in _lines(table, key, setting)]
    return "\n".join(lines) + "\n"


def config_reference() -> str:
    """Every key as tables in Markdown, for docs/pipeline-config.md."""
    blocks = []
    for place, table in all_tables():
        rows = [_row(table, key, setting) for key, setting in settings_of(table)]
        head = ["| key | default | takes | |", "|---|---|---|---|"]
        blocks.append("\n".join([f"## `[{place}]`", "", _about(table), "", *head, *rows]))
    return "\n\n".join(blocks) + "\n"


def all_tables() -> Iterator[tuple[str, type[Any]]]:
    """Every table by its full name, each before the tables within it."""
    for name, table in subtables(Config).items():
        yield name, table
        yield from ((f"{name}.{inner}", within) for inner, within in subtables(table).items())


def _about(table: type[Any]) -> str:
    return " ".join((table.__doc__ or "").split())


def _lines(table: type[Any], key: str, setting: Setting) -> list[str]:
    default = _default(table, key)
    line = f"# {key} = {_toml(setting.example, setting)}" if default is None else f"{key} = {_toml(default, setting)}"
    return ["", f"# {setting.meaning}. Takes {setting.kind.words}.", line]


def _row(table: type[Any], key: str, setting: Setting) -> str:
    default = _default(table, key)
    required = all(each.name != key or each.default is not each.default_factory for each in fields(table))
    shown = f"`{_toml(default, setting)}`" if default is not None else ""
    cells = (f"`{key}`", shown if required else "required", setting.kind.words, setting.meaning)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _default(table: type[Any], key: str) -> Any:
    """The default of a key; the one key that has none reads as the synthetic corpus."""
    return getattr(table, key, SYNTHETIC)


def _toml(value: Any, setting: Setting) -> str:
    """A value as TOML has it."""
    if isinstance(value, tuple | list):
        if isinstance(setting.kind, Several) and setting.kind.lone and len(value) == 1:
            return _toml(value[0], setting)
        return f"[{', '.join(_toml(each, setting) for each in value)}]"
    return json.dumps(value)  # texts, numbers and truth values are written alike in both
