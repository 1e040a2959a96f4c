"""The results of a questionnaire run, one per participant: checked, and counted where something is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidentia.errors import shown
from evidentia.results.questionnaire import PHQ8, AskedItem, Questionnaire
from evidentia.tables.document import Faults
from evidentia.tables.instrument import name_in_words, scores_in_words
from evidentia.tables.items import EVIDENCE_COUNTS, LONGEST_SIGNAL, RESERVED, TOTAL_EVIDENCE, names_a_signal
from evidentia.tables.kinds import kind
from evidentia.tables.order import without_zeros

PHQ8_ITEMS = PHQ8.item_ids
HIGHEST_SCORE = PHQ8.items[0].high
_MOST_NAMED = 12  # items that a message lists
_LONGEST_ID = 200
_PREDICTED, _TRUTH, _SIGNALS = "predicted_items", "ground_truth_items", "item_signals"


@dataclass(frozen=True, eq=False)
class Participant:
    """One result. Scores are in the order of the items, NaN where abstained; a failed participant has none."""

    id: str
    success: bool
    pred: tuple[float, ...] = ()
    gt: tuple[float, ...] = ()
    signals: tuple[Mapping[str, object], ...] | None = None

    def where(self, item: str) -> str:
        """The place of an item, for a message."""
        return f"participant {shown(self.id)}, item {item}"


@dataclass(frozen=True, eq=False)
class Form:
    """The questionnaire that every result must answer, and where faults are noted."""

    asked: Questionnaire
    faults: Faults

    def fault(self, key: str, place: str, **words: object) -> None:
        """Note a fault, in words of the questionnaire."""
        names = ", ".join(self.asked.item_ids[:_MOST_NAMED])
        more = len(self.asked.items) - _MOST_NAMED
        known = {
            "count": len(self.asked.items),
            "items": f"{names} and {more} more" if more > 0 else names,
            "questionnaire": name_in_words(self.asked),
        }
        self.faults.add(kind(key, **known, **words), place)


def read_participants(results: Sequence[object], form: Form) -> list[Participant]:
    """Every result that can be told from the others; the list is to be used only if there are no faults."""
    numbered = {
        number: participant
        for number, result in enumerate(results, 1)
        if (participant := _participant(result, f"result {number}", form)) is not None
    }
    read = list(numbered.values())
    _tell_apart(numbered, form.faults)
    with_signals = [participant for participant in read if participant.signals is not None]
    for participant in read if with_signals else ():
        if participant.success and participant.signals is None:
            form.fault("MISSING_SIGNALS", f"participant {shown(participant.id)}")
    return read


def _tell_apart(numbered: Mapping[int, Participant], faults: Faults) -> None:
    """Nobody may be there twice, also not as 007 and as 7."""
    seen: set[str] = set()
    written: dict[str, str] = {}
    for number, participant in numbered.items():
        if participant.id in seen:
            faults.add(kind("DUPLICATE_PARTICIPANT"), f"participant {shown(participant.id)}")
        elif written.setdefault(without_zeros(participant.id), participant.id) != participant.id:
            faults.add(kind("LEADING_ZEROS"), f"result {number}")
        seen.add(participant.id)


def _participant(result: object, place: str, form: Form) -> Participant | None:
    faults = form.faults
    if not isinstance(result, Mapping):
        faults.add(kind("PHQ8_RESULT"), place)
        return None
    name = label(result.get("participant_id"))
    if name is None:
        faults.add(kind("PARTICIPANT_ID"), place)
        return None
    where = f"participant {shown(name)}"
    success = result.get("success")
    if not isinstance(success, bool):
        faults.add(kind("SUCCESS"), where)
        return None
    if not success:
        return Participant(name, success)
    pred, gt = (_scores(result, key, where, form) for key in (_PREDICTED, _TRUTH))
    return Participant(name, success, pred, gt, _signals(result, where, form))


def label(value: object) -> str | None:
    """An id or a mode as text, if it is a whole number or a short line without white space around it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**_LONGEST_ID else None
    if not isinstance(value, str) or not value or value != value.strip():
        return None
    return value if len(value) <= _LONGEST_ID and value.isprintable() else None


def _scores(result: Mapping[str, object], key: str, where: str, form: Form) -> tuple[float, ...]:
    scores = _items(result, key, where, form)
    return tuple(
        _score(scores[item.id], item, f"{where}, item {item.id}", key, form) if item.id in scores else math.nan
        for item in form.asked.items
    )


def _items(result: Mapping[str, object], key: str, where: str, form: Form) -> Mapping[str, object]:
    """What a result says about each item under one key; empty, with a fault, if it says nothing."""
    items = result.get(key)
    if not isinstance(items, Mapping):
        form.fault(f"NO_{key}", where)
        return {}
    wanted = form.asked.item_ids
    missing = [item for item in wanted if item not in items]
    for item in missing:
        form.fault("MISSING_ITEM", f"{where} lacks {len(missing)} of {len(wanted)} in {key}, item {item}")
    for name in items:
        if name not in wanted:
            form.fault("UNKNOWN_ITEM", f"{where}, {shown(name)} in {key}")
    return items


def _score(value: object, item: AskedItem, where: str, key: str, form: Form) -> float:
    if value is None:
        if key == _TRUTH:
            form.fault("MISSING_TRUTH", where)
        return math.nan
    scores = range(item.low, item.high + 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in scores:
        form.fault("SCORE", f"{where}, {shown(value)} in {key}", scores=scores_in_words(item))
        return math.nan
    return float(value)


def _signals(result: Mapping[str, object], where: str, form: Form) -> tuple[Mapping[str, object], ...] | None:
    if result.get(_SIGNALS) is None:
        return None
    items = _items(result, _SIGNALS, where, form)
    read: list[Mapping[str, object]] = []
    for item in form.asked.item_ids:
        own = items.get(item, {})
        if not isinstance(own, Mapping):
            form.fault("ITEM_SIGNALS", f"{where}, item {item}")
            own = {}
        read.append(own)
    return tuple(read)


def read_signals(participants: Sequence[Participant], form: Form) -> dict[str, list[float]]:
    """The numeric signals by name, participant by participant and item by item; NaN where there is none.

    A name that never has a number (a text, a flag, only nulls) is not a signal. The evidence counts go by their
    short names, and their sum is total_evidence.
    """
    faults = form.faults
    cells = [
        (p.where(item), own)
        for p in participants
        for item, own in zip(form.asked.item_ids, p.signals or (), strict=p.signals is not None)
    ]
    signals: dict[str, list[float]] = {}
    for name in dict.fromkeys(name for _, own in cells for name in own):
        values = [(where, own.get(name)) for where, own in cells]
        if name in EVIDENCE_COUNTS.values() or any(_number(value) is not None for _, value in values):
            signals[name] = [_value(name, value, where, faults) for where, value in values]
    for name in (name for name in (*EVIDENCE_COUNTS, TOTAL_EVIDENCE) if name in signals):
        faults.add(kind("EVIDENCE_NAME"), shown(name))
    for name in (name for name in signals if not names_a_signal(name)):
        faults.add(kind("SIGNAL_NAME", longest=LONGEST_SIGNAL, reserved=", ".join(sorted(RESERVED))), shown(name))
    return _with_evidence(signals)


def _with_evidence(signals: Mapping[str, list[float]]) -> dict[str, list[float]]:
    counts = {short: signals[key] for short, key in EVIDENCE_COUNTS.items() if key in signals}
    if len(counts) == len(EVIDENCE_COUNTS):
        counts[TOTAL_EVIDENCE] = [sum(both) for both in zip(*counts.values(), strict=True)]
    return counts | {name: values for name, values in signals.items() if name not in EVIDENCE_COUNTS.values()}


def _value(name: str, value: object, where: str, faults: Faults) -> float:
    if value is None:
        return math.nan
    number = _number(value)
    if name in EVIDENCE_COUNTS.values():
        fine, fault = number is not None and number >= 0 and number.is_integer(), "EVIDENCE_COUNT"
    elif number is None:
        fine, fault = False, "SIGNAL_TYPE"
    else:
        fine, fault = math.isfinite(number), "INFINITE_SIGNAL"
    if number is None or not fine:
        faults.add(kind(fault), f"{where}, {shown(name)} {shown(value)}")
        return math.nan
    return number


def _number(value: object) -> float | None:
    """A number as a float, infinite if it is too large for one; None if it is something else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
