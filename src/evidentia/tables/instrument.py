"""Which questionnaire a run is about: what its metadata say, or PHQ-8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidentia.errors import InputError, shown
from evidentia.results.questionnaire import PHQ8, AskedItem, Questionnaire
from evidentia.tables.kinds import refuse

MOST_ITEMS, MOST_SCORES, LONGEST = 200, 101, 200
_WHERE = "run_metadata.instrument"
_LAYOUT = 'An instrument is {"name", "title", "items": [{"id", "low", "high", "reversed"}], "cuts": [whole numbers that rise]}.'


def questionnaire_of(name: str, document: Any) -> Questionnaire:
    """The questionnaire of a run; without ``run_metadata.instrument`` it is PHQ-8."""
    metadata = document.get("run_metadata")
    content = metadata.get("instrument") if isinstance(metadata, Mapping) else None
    if content is None:
        return PHQ8
    if not isinstance(content, Mapping):
        raise _wrong(name, "is not an object")
    listed = content.get("items")
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_ITEMS:
        raise _wrong(name, f"lacks items, 1 to {MOST_ITEMS} of them")
    items = tuple(_item(name, number, entry) for number, entry in enumerate(listed, 1))
    repeated = next((item.id for item in items if [other.id for other in items].count(item.id) > 1), None)
    if repeated is not None:
        raise _wrong(name, f"has several items with the id {shown(repeated)}")
    own = _line(name, "name", content.get("name"))
    return Questionnaire(own, _line(name, "title", content.get("title", own)), items, _cuts(name, content, items))


def _wrong(name: str, fault: str) -> InputError:
    return refuse("INSTRUMENT", f"{name}: {_WHERE} {fault}. {_LAYOUT}")


def _line(name: str, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or not value.isprintable():
        raise _wrong(name, f"has no usable {key}: it must be a text of one short line")
    return value


def _item(name: str, number: int, entry: object) -> AskedItem:
    if not isinstance(entry, Mapping):
        raise _wrong(name, f"has an item {number} that is not an object")
    own = _line(name, f"id of item {number}", entry.get("id"))
    low: Any = entry.get("low")
    high: Any = entry.get("high")
    turned = entry.get("reversed", False)
    if own != own.strip() or not isinstance(turned, bool):
        raise _wrong(name, f"has an item {number} with a wrong id or reversed")
    if not (_is_whole(low) and _is_whole(high) and low < high < low + MOST_SCORES):
        raise _wrong(name, f"has an item {number} whose low and high are not whole numbers, low below high")
    return AskedItem(own, low, high, turned)


def _cuts(name: str, content: Mapping[str, Any], items: tuple[AskedItem, ...]) -> tuple[int, ...]:
    cuts = content.get("cuts", [])
    if not isinstance(cuts, list) or not all(map(_is_whole, cuts)) or cuts != sorted(set(cuts)):
        raise _wrong(name, "has cuts that are not whole numbers that rise")
    low, high = sum(item.low for item in items), sum(item.high for item in items)
    if any(not low < cut <= high for cut in cuts):
        raise _wrong(name, f"has a cut outside of the total, which lies between {low} and {high}")
    return tuple(cuts)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 10**6


def name_in_words(questionnaire: Questionnaire) -> str:
    """What a questionnaire is called in messages."""
    return "the PHQ-8" if questionnaire.name == PHQ8.name else f"the instrument {shown(questionnaire.name)}"


def scores_in_words(item: AskedItem) -> str:
    """The scores of an item, for a message.

    >>> scores_in_words(AskedItem("a", 0, 3)), scores_in_words(AskedItem("a", 1, 9))
    ('0, 1, 2 or 3', 'a whole number from 1 to 9')
    """
    scores = [str(score) for score in range(item.low, item.high + 1)]
    if len(scores) > 5:
        return f"a whole number from {item.low} to {item.high}"
    return f"{', '.join(scores[:-1])} or {scores[-1]}"
