"""Questionnaires: items with their ranges and labels, and totals with cut-offs, read from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from evidentia.errors import InputError, Problem, counted, shown, typed

SHIPPED = ("phq8", "gad7")
MOST_SCORES = 101
MOST_ITEMS = 200
LARGEST_FILE = 1 << 20
_TEXTS = ("name", "title", "source", "stem")
_SHARED = ("min", "max", "labels", "direction")
_KEYS = {*_TEXTS, *_SHARED, "period", "days", "total", "item"}
_ITEM_KEYS = {"id", "question", "keywords", "abilities", "examples", *_SHARED}
DIRECTIONS = ("forward", "reversed")


@dataclass(frozen=True)
class Item:
    """One question: scores from ``low`` to ``high``; a reversed item enters the total as low + high - score.

    ``keywords`` name the problem itself, ``abilities`` what fails when it is there (sleep, appetite).
    """

    id: str
    question: str
    low: int
    high: int
    labels: tuple[str, ...] = ()
    reversed: bool = False
    keywords: tuple[str, ...] = ()
    abilities: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    def takes(self, score: object) -> bool:
        """Whether a value is a score of this item."""
        return isinstance(score, int) and not isinstance(score, bool) and self.low <= score <= self.high


@dataclass(frozen=True)
class Instrument:
    """A questionnaire. ``days`` are the fewest days of each score within ``period``, where scores say how often."""

    name: str
    title: str
    items: tuple[Item, ...]
    stem: str = ""
    source: str = ""
    period: int | None = None
    days: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The ids of the items, in their order."""
        return tuple(item.id for item in self.items)

    def item(self, name: str) -> Item:
        """The item of an id."""
        return next(item for item in self.items if item.id == name)

    def score_of_days(self, days: float) -> int:
        """The score that a number of days stands for."""
        return self.items[0].low + sum(days >= fewest for fewest in self.days[1:])

    def to_dict(self) -> dict[str, Any]:
        """What a run file keeps: items with their ranges, and cut-offs."""
        items = [{key: value for key, value in asdict(item).items() if key in _KEPT} for item in self.items]
        return {"name": self.name, "title": self.title, "items": items, "cuts": list(self.cuts)}


_KEPT = ("id", "low", "high", "reversed")


def load_instrument(source: str | Path) -> Instrument:
    """Read an instrument that ships (``phq8``, ``gad7``) or a TOML file of your own.

    Examples
    --------
    >>> phq8 = load_instrument("phq8")
    >>> phq8.item_ids[:3], phq8.items[0].high, phq8.score_of_days(7), phq8.cuts
    (('NoInterest', 'Depressed', 'Sleep'), 3, 2, (5, 10, 15, 20))
    """
    if str(source) in SHIPPED:
        text = (files("evidentia.assessment") / "instruments" / f"{source}.toml").read_text(encoding="utf-8")
        return _instrument(f"{source}.toml", tomllib.loads(text))
    path = Path(source)
    return _instrument(path.name, _document(path))


def _document(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        known = f"An instrument is one of {', '.join(SHIPPED)}, or a TOML file."
        raise InputError(f"{typed(str(path))}: cannot be read ({error.strerror}). {known}") from None
    if len(content) > LARGEST_FILE:
        raise InputError(f"{path.name}: {len(content):,} bytes; an instrument has at most {LARGEST_FILE:,}.")
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        place = str(error).rpartition("(")[2].rstrip(")") if isinstance(error, tomllib.TOMLDecodeError) else "UTF-8"
        raise InputError(f"{path.name}: not TOML ({place}). See docs/assess.md for an example.") from None


class _Problems:
    """Collects everything that is wrong with an instrument."""

    def __init__(self, name: str) -> None:
        self.name, self.listed = name, list[Problem]()

    def add(self, message: str) -> None:
        self.listed.append(Problem("INSTRUMENT", f"{self.name}: {message}"))


def _instrument(name: str, document: Mapping[str, Any]) -> Instrument:
    problems = _Problems(name)
    for key in document.keys() - _KEYS:
        problems.add(f"unknown key {shown(key)}. Keys are {', '.join(sorted(_KEYS))}.")
    listed = document.get("item")
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_ITEMS:
        raise InputError(*problems.listed, f"{name}: an instrument has 1 to {MOST_ITEMS} [[item]] tables.")
    items = [_item(number, entry, document, problems) for number, entry in enumerate(listed, 1)]
    ids = [item.id for item in items]
    for repeated in sorted({own for own in ids if ids.count(own) > 1}):
        problems.add(f"{ids.count(repeated)} items have the id {shown(repeated)}. Give each an id of its own.")
    days = _days(document, items, problems)
    instrument = Instrument(
        name=_text(document, "name", problems),
        title=str(document.get("title") or document.get("name") or ""),
        items=tuple(items),
        stem=str(document.get("stem", "")),
        source=str(document.get("source", "")),
        period=document.get("period"),
        days=days,
        cuts=_cuts(document, items, problems),
    )
    if problems.listed:
        raise InputError(*problems.listed)
    return instrument


def _text(table: Mapping[str, Any], key: str, problems: _Problems, where: str = "") -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        problems.add(f"{where}{key} is missing or not a text. Write it.")
        return ""
    return value


def _item(number: int, entry: Any, document: Mapping[str, Any], problems: _Problems) -> Item:
    where = f"item {number}: "
    if not isinstance(entry, Mapping):
        raise InputError(f"{problems.name}: {where}not a table. Write [[item]] and its keys.")
    for key in entry.keys() - _ITEM_KEYS:
        problems.add(f"{where}unknown key {shown(key)}. Keys are {', '.join(sorted(_ITEM_KEYS))}.")
    merged = {key: document[key] for key in _SHARED if key in document} | dict(entry)
    low, high = _range(merged, where, problems)
    labels = _texts(merged, "labels", where, problems)
    if labels and len(labels) != high - low + 1:
        problems.add(f"{where}{counted(len(labels), 'label')} for {high - low + 1} scores. Write one for each.")
    if merged.get("direction", "forward") not in DIRECTIONS:
        problems.add(f"{where}direction is one of {', '.join(DIRECTIONS)}.")
    return Item(
        id=_id(merged, where, problems),
        question=_text(merged, "question", problems, where),
        low=low,
        high=high,
        labels=labels,
        reversed=merged.get("direction") == "reversed",
        keywords=tuple(word.lower() for word in _texts(merged, "keywords", where, problems)),
        abilities=tuple(word.lower() for word in _texts(merged, "abilities", where, problems)),
        examples=_texts(merged, "examples", where, problems),
    )


def _range(table: Mapping[str, Any], where: str, problems: _Problems) -> tuple[int, int]:
    low, high = table.get("min"), table.get("max")
    if (
        isinstance(low, int)
        and isinstance(high, int)
        and _is_whole(low)
        and _is_whole(high)
        and low < high < low + MOST_SCORES
    ):
        return low, high
    problems.add(f"{where}min and max must be whole numbers with min below max, at most {MOST_SCORES} scores.")
    return 0, 1


def _id(table: Mapping[str, Any], where: str, problems: _Problems) -> str:
    own = _text(table, "id", problems, where)
    if own and (len(own) > 80 or not own.isprintable() or own != own.strip() or own == "participant_id"):
        problems.add(f"{where}the id must be a short name of one line, and not participant_id.")
    return own


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(table: Mapping[str, Any], key: str, where: str, problems: _Problems) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() for text in value):
        problems.add(f"{where}{key} must be a list of texts.")
        return ()
    return tuple(value)


def _days(document: Mapping[str, Any], items: Sequence[Item], problems: _Problems) -> tuple[int, ...]:
    """The fewest days of each score; every item must then have the same range."""
    days, period = document.get("days"), document.get("period")
    if period is not None and not (_is_whole(period) and period > 0):
        problems.add("period must be a whole number of days.")
    if days is None:
        return ()
    scores = {(item.low, item.high) for item in items}
    ascending = isinstance(days, list) and all(map(_is_whole, days)) and days == sorted(set(days))
    if not ascending or len(scores) != 1 or len(days) != items[0].high - items[0].low + 1 or period is None:
        problems.add("days must rise, one for each score, with the same range for all items and a period.")
        return ()
    return tuple(days)


def _cuts(document: Mapping[str, Any], items: Sequence[Item], problems: _Problems) -> tuple[int, ...]:
    total = document.get("total", {})
    cuts = total.get("cuts", []) if isinstance(total, Mapping) else None
    if not isinstance(cuts, list) or not all(map(_is_whole, cuts)) or cuts != sorted(set(cuts)):
        problems.add("[total] cuts must be whole numbers that rise.")
        return ()
    low, high = sum(item.low for item in items), sum(item.high for item in items)
    if any(not low < cut <= high for cut in cuts):
        problems.add(f"[total] cuts must lie above {low} and not above {high}, the range of the total.")
    return tuple(cuts)
