"""The words of reports, from `words.toml`: titles, sentences and labels."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def _sections() -> dict[str, dict[str, Any]]:
    return tomllib.loads(resources.files("evidentia.report").joinpath("words.toml").read_text(encoding="utf-8"))


def wording(section: str) -> dict[str, Any]:
    """The words of a section, in their order."""
    return _sections()[section]
