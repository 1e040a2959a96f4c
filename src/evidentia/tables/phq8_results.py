"""The results of a PHQ-8 run, one per participant: checked, and counted where something is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidentia.errors import shown
from evidentia.tables.document import Faults, Kind
from evidentia.tables.items import EVIDENCE_COUNTS, LONGEST_SIGNAL, RESERVED, TOTAL_EVIDENCE, names_a_signal
from evidentia.tables.order import without_zeros

PHQ8_ITEMS = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")
HIGHEST_SCORE = 3
_LONGEST_ID = 200
_PREDICTED, _TRUTH, _SIGNALS = "predicted_items", "ground_truth_items", "item_signals"

_NOT_AN_OBJECT = Kind("SHAPE", "result", "other than an object", "Write one object per participant.")
_ID = Kind(
    "PARTICIPANT_ID",
    "result",
    "without a usable participant_id",
    "It is a whole number, or a text of one short line without white space around it.",
)
_TWICE = Kind(
    "DUPLICATE_PARTICIPANT", "result", "repeating a participant", "Keep one result; 300 and '300' are the same."
)
_ZEROS = Kind(
    "LEADING_ZEROS",
    "result",
    "whose participant_id differs from another only by zeros before its number",
    "Write the ids alike if they are one person, and differently if they are two.",
)
_SUCCESS = Kind("SUCCESS", "result", "whose success is not true or false", "Write true or false for every participant.")
_NO_OBJECT = {
    _PREDICTED: Kind(
        "MISSING_PREDICTIONS",
        "successful participant",
        f"without {_PREDICTED}",
        "Give an object with all 8 items (null = abstained), or write success false.",
    ),
    _TRUTH: Kind(
        "MISSING_TRUTH",
        "successful participant",
        f"without {_TRUTH}",
        "Give an object with the scores of all 8 items; without them nothing can be judged.",
    ),
    _SIGNALS: Kind("SHAPE", "successful participant", f"whose {_SIGNALS} is not an object", "Give all 8 items in it."),
}
_MISSING_ITEMS = Kind(
    "MISSING_ITEM", "item", "missing from the results", f"Every result names all of {', '.join(PHQ8_ITEMS)}."
)
_UNKNOWN_ITEM = Kind("UNKNOWN_ITEM", "item name", "not of the PHQ-8", f"The items are {', '.join(PHQ8_ITEMS)}.")
_SCORE = Kind("SCORE", "score", "other than 0, 1, 2 or 3", "Write a whole number; in predicted_items null = abstained.")
_NO_TRUTH = Kind("MISSING_TRUTH", "item", f"whose score in {_TRUTH} is null", "Every item needs its true score.")
_SIGNALS_MISSING = Kind(
    "MISSING_SIGNALS",
    "successful participant",
    f"without {_SIGNALS}, which others have",
    "Give every successful participant the signals of all 8 items, or none.",
)
_ITEM_SIGNALS = Kind(
    "SHAPE", "item", f"whose {_SIGNALS} are not an object", "Write an object of signals for every item."
)
_COUNT = Kind("EVIDENCE_COUNT", "evidence count", "other than a whole number of 0 or more", "Count the quotes again.")
_SIGNAL = Kind(
    "WRONG_TYPE", "signal", "other than a number, where others of the name are numbers", "Write a number or null."
)
_INFINITE = Kind("CONFIDENCE_NOT_FINITE", "signal", "without a finite value", "Write a finite number or null.")
_RESERVED = Kind(
    "SIGNAL_NAME", "signal", "under a name that stands for evidence counts", "Give the signal another name."
)
_UNUSABLE_NAME = Kind(
    "SIGNAL_NAME",
    "signal",
    "under a name that cannot be used",
    f"Write at most {LONGEST_SIGNAL} characters on one line, and none of {', '.join(sorted(RESERVED))}.",
)


@dataclass(frozen=True, eq=False)
class Participant:
    """One result. Scores are in the order of PHQ8_ITEMS, NaN where abstained; a failed participant has none."""

    id: str
    success: bool
    pred: tuple[float, ...] = ()
    gt: tuple[float, ...] = ()
    signals: tuple[Mapping[str, object], ...] | None = None

    def where(self, item: int) -> str:
        """The place of an item, for a message."""
        return f"participant {shown(self.id)}, item {PHQ8_ITEMS[item]}"


def read_participants(results: Sequence[object], faults: Faults) -> list[Participant]:
    """Every result that can be told from the others; the list is to be used only if there are no faults."""
    numbered = {
        number: participant
        for number, result in enumerate(results, 1)
        if (participant := _participant(result, f"result {number}", faults)) is not None
    }
    read = list(numbered.values())
    _tell_apart(numbered, faults)
    with_signals = [participant for participant in read if participant.signals is not None]
    for participant in read if with_signals else ():
        if participant.success and participant.signals is None:
            faults.add(_SIGNALS_MISSING, f"participant {shown(participant.id)}")
    return read


def _tell_apart(numbered: Mapping[int, Participant], faults: Faults) -> None:
    """Nobody may be there twice, also not as 007 and as 7."""
    seen: set[str] = set()
    written: dict[str, str] = {}
    for number, participant in numbered.items():
        if participant.id in seen:
            faults.add(_TWICE, f"participant {shown(participant.id)}")
        elif written.setdefault(without_zeros(participant.id), participant.id) != participant.id:
            faults.add(_ZEROS, f"result {number}")
        seen.add(participant.id)


def _participant(result: object, place: str, faults: Faults) -> Participant | None:
    if not isinstance(result, Mapping):
        faults.add(_NOT_AN_OBJECT, place)
        return None
    name = label(result.get("participant_id"))
    if name is None:
        faults.add(_ID, place)
        return None
    where = f"participant {shown(name)}"
    success = result.get("success")
    if not isinstance(success, bool):
        faults.add(_SUCCESS, where)
        return None
    if not success:
        return Participant(name, success)
    pred, gt = (_scores(result, key, where, faults) for key in (_PREDICTED, _TRUTH))
    return Participant(name, success, pred, gt, _signals(result, where, faults))


def label(value: object) -> str | None:
    """An id or a mode as text, if it is a whole number or a short line without white space around it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**_LONGEST_ID else None
    if not isinstance(value, str) or not value or value != value.strip():
        return None
    return value if len(value) <= _LONGEST_ID and value.isprintable() else None


def _scores(result: Mapping[str, object], key: str, where: str, faults: Faults) -> tuple[float, ...]:
    scores = _items(result, key, where, faults)
    return tuple(_score(scores[i], f"{where}, item {i}", key, faults) if i in scores else math.nan for i in PHQ8_ITEMS)


def _items(result: Mapping[str, object], key: str, where: str, faults: Faults) -> Mapping[str, object]:
    """What a result says about each item under one key; empty, with a fault, if it says nothing."""
    items = result.get(key)
    if not isinstance(items, Mapping):
        faults.add(_NO_OBJECT[key], where)
        return {}
    missing = [item for item in PHQ8_ITEMS if item not in items]
    for item in missing:
        faults.add(_MISSING_ITEMS, f"{where} lacks {len(missing)} of 8 in {key}, item {item}")
    for name in items:
        if name not in PHQ8_ITEMS:
            faults.add(_UNKNOWN_ITEM, f"{where}, {shown(name)} in {key}")
    return items


def _score(value: object, where: str, key: str, faults: Faults) -> float:
    if value is None:
        if key == _TRUTH:
            faults.add(_NO_TRUTH, where)
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(HIGHEST_SCORE + 1):
        faults.add(_SCORE, f"{where}, {shown(value)} in {key}")
        return math.nan
    return float(value)


def _signals(result: Mapping[str, object], where: str, faults: Faults) -> tuple[Mapping[str, object], ...] | None:
    if result.get(_SIGNALS) is None:
        return None
    items = _items(result, _SIGNALS, where, faults)
    read: list[Mapping[str, object]] = []
    for item in PHQ8_ITEMS:
        own = items.get(item, {})
        if not isinstance(own, Mapping):
            faults.add(_ITEM_SIGNALS, f"{where}, item {item}")
            own = {}
        read.append(own)
    return tuple(read)


def read_signals(participants: Sequence[Participant], faults: Faults) -> dict[str, list[float]]:
    """The numeric signals by name, participant by participant and item by item; NaN where there is none.

    A name that never has a number (a text, a flag, only nulls) is not a signal. The evidence counts go by their
    short names, and their sum is total_evidence.
    """
    cells = [(p.where(at), own) for p in participants for at, own in enumerate(p.signals or ())]
    signals: dict[str, list[float]] = {}
    for name in dict.fromkeys(name for _, own in cells for name in own):
        values = [(where, own.get(name)) for where, own in cells]
        if name in EVIDENCE_COUNTS.values() or any(_number(value) is not None for _, value in values):
            signals[name] = [_value(name, value, where, faults) for where, value in values]
    for name in (name for name in (*EVIDENCE_COUNTS, TOTAL_EVIDENCE) if name in signals):
        faults.add(_RESERVED, shown(name))
    for name in (name for name in signals if not names_a_signal(name)):
        faults.add(_UNUSABLE_NAME, shown(name))
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
        fine, kind = number is not None and number >= 0 and number.is_integer(), _COUNT
    elif number is None:
        fine, kind = False, _SIGNAL
    else:
        fine, kind = math.isfinite(number), _INFINITE
    if number is None or not fine:
        faults.add(kind, f"{where}, {shown(name)} {shown(value)}")
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
