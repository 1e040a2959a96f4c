"""A questionnaire as runs and results hold it: items with their ranges, and cut-offs of the total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class AskedItem:
    """An item scored from ``low`` to ``high``; a reversed one enters the total as low + high - score."""

    id: str
    low: int
    high: int
    reversed: bool = False


@dataclass(frozen=True)
class Questionnaire:
    """The items in their order, and the cut-offs of their total."""

    name: str
    title: str
    items: tuple[AskedItem, ...]
    cuts: tuple[int, ...] = ()

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Questionnaire:
        """Read what ``to_dict`` wrote."""
        items = tuple(AskedItem(**item) for item in content["items"])
        return cls(content["name"], content["title"], items, tuple(content["cuts"]))

    @cached_property
    def item_ids(self) -> tuple[str, ...]:
        """The ids of the items, in their order."""
        return tuple(item.id for item in self.items)

    @property
    def one_range(self) -> bool:
        """Whether all items have the same range of scores."""
        return len({(item.low, item.high) for item in self.items}) == 1

    @property
    def item_max(self) -> float | None:
        """The largest possible error of an item; None where items differ in it."""
        widths = {item.high - item.low for item in self.items}
        return float(widths.pop()) if len(widths) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """What a run file and a result keep."""
        return {
            "name": self.name,
            "title": self.title,
            "items": [asdict(item) for item in self.items],
            "cuts": list(self.cuts),
        }


_PHQ8_ITEMS = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")
PHQ8 = Questionnaire(
    "phq8",
    "Patient Health Questionnaire, eight items",
    tuple(AskedItem(own, 0, 3) for own in _PHQ8_ITEMS),
    (5, 10, 15, 20),
)
