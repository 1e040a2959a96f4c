"""A curve as data: columns of equal length, ready to be drawn or tabulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Curve:
    """A named set of columns; None marks a point where a value is undefined."""

    name: str
    title: str
    columns: Mapping[str, tuple[float | None, ...]]

    def rows(self) -> list[tuple[float | None, ...]]:
        """The points, one after the other."""
        return list(zip(*self.columns.values(), strict=True))
