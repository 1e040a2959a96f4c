"""The configuration for people: a file to start from, and the reference page. Both are made from the tables themselves."""

from __future__ import annotations

import json
from typing import Any

from evidentia.pipeline.config.reader import all_tables
from evidentia.pipeline.config.tables import SYNTHETIC, Setting, settings_of


def default_config_text() -> str:
    """A TOML file with every key at its default; keys that are left out by default stand in comments.

    >>> default_config_text().splitlines()[4]
    '[corpus]  # What is read.'
    """
    lines = [
        "# The configuration of a pipeline. Every key is here with its default: keep what you change, delete the rest.",
        "# Paths start from the folder of this file.",
    ]
    for place, table in all_tables().items():
        lines += ["", "", f"[{place}]  # {_about(table)}"]
        for key, setting in settings_of(table):
            default = getattr(table, key, SYNTHETIC)  # the one key that has none
            line = f"{key} = {_toml(setting.example if default is None else default, setting)}"
            comment = f"# {setting.meaning}. Takes {setting.kind.words}."
            lines += ["", comment, f"# {line}" if default is None else line]
    return "\n".join(lines) + "\n"


def config_reference() -> str:
    """Every key as tables in Markdown, for docs/pipeline-config.md."""
    blocks = []
    for place, table in all_tables().items():
        rows = [_row(key, getattr(table, key, "required"), setting) for key, setting in settings_of(table)]
        head = ["| key | default | takes | |", "|---|---|---|---|"]
        blocks.append("\n".join([f"## `[{place}]`", "", _about(table), "", *head, *rows]))
    return "\n\n".join(blocks) + "\n"


def _about(table: type[Any]) -> str:
    return " ".join((table.__doc__ or "").split())


def _row(key: str, default: Any, setting: Setting) -> str:
    shown = default if default == "required" else f"`{_toml(default, setting)}`" if default is not None else ""
    cells = (f"`{key}`", shown, setting.kind.words, setting.meaning)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _toml(value: Any, setting: Setting) -> str:
    """A value as TOML has it."""
    if isinstance(value, tuple | list):
        if setting.kind.lone and len(value) == 1:
            return _toml(value[0], setting)
        return f"[{', '.join(_toml(each, setting) for each in value)}]"
    return json.dumps(value)  # texts, numbers and truth values are written alike in both
