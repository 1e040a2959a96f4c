"""JSON Lines, one object after the other, and the fields in them; what is wrong is counted and never quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.errors import shown
from evidentia.tables.damage import json_lines
from evidentia.tables.document import Faults, Kind
from evidentia.tables.files import Content

LOSES_RECORDS = {"BROKEN_JSON", "DUPLICATE_KEY"}  # codes after which nobody knows what else the file holds
LONGEST = {"post_id": 200, "criterion_id": 80, "sent_uid": 240}
_MOST_WORDS = {"criterion_id": 5}
_ORDINARY = re.compile(r"[\w.:#@/+-]{1,64}", re.ASCII)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BROKEN = Kind("BROKEN_JSON", "line", "that cannot be read as a JSON object", "Write one object per line.")
_REPEATED = Kind("DUPLICATE_KEY", "line", "giving a key twice in one object", "Keep one value for every key.")


@dataclass(frozen=True)
class Record:
    """One object of a file and the line that it stands on, or one in memory (``unit`` "post") and its number from 1."""

    line: int
    members: Mapping[str, Any]
    unit: str = "line"

    @property
    def place(self) -> str:
        """Where it is, for a message."""
        return f"{self.unit} {self.line}"


def read_records(content: Content, faults: Faults) -> Iterator[Record]:
    """The objects of a JSON Lines file; lines that are none are noted as faults."""
    return decoded(json_lines(content.text()), faults)


def decoded(lines: Iterable[tuple[int, bytes]], faults: Faults) -> Iterator[Record]:
    """The objects of numbered lines; lines that are none are noted as faults."""
    decoder = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_refuse_constant)
    for number, line in lines:
        try:
            members = decoder.decode(line.decode())
        except _RepeatedKeyError as error:
            faults.add(_REPEATED, f"line {number}, {error}")
        except (ValueError, RecursionError):
            faults.add(_BROKEN, f"line {number}, not JSON")
        else:
            if isinstance(members, dict):
                yield Record(number, members)
            else:
                faults.add(_BROKEN, f"line {number}, not an object")


def read_id(members: Mapping[str, Any], key: str, unit: str, place: str, faults: Faults) -> str | None:
    """An id that can be printed and joined to others; None, and a fault, where it is not one. Whole numbers are ids."""
    value = members.get(key)
    if value is None or value == "":
        faults.add(Kind("MISSING_ID", unit, f"without a {key}", f"Give every one a {key}."), place)
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        faults.add(wrong_type(unit, key, "a text"), place)
        return None
    name = str(value)
    if not _ORDINARY.fullmatch(name) and (kind := _unfit(name, key, unit)):
        faults.add(kind, place)
        return None
    return name


def read_text(members: Mapping[str, Any], key: str, unit: str, place: str, faults: Faults) -> str | None:
    """A text that is not blank; None, and a fault, where it is not one."""
    value = members.get(key)
    if value is None:
        faults.add(Kind("MISSING_KEY", unit, f"without {key}", f"Give every one a {key}."), place)
    elif not isinstance(value, str):
        faults.add(wrong_type(unit, key, "a text"), place)
    elif not value.strip():
        faults.add(Kind("EMPTY_TEXT", unit, f"whose {key} is empty or blank", "Leave them out, or write them."), place)
    elif has_surrogate(value):
        faults.add(broken_text(unit, key), place)
    else:
        return value
    return None


def wrong_type(unit: str, key: str, wanted: str) -> Kind:
    """The fault of a value that has another type."""
    return Kind("WRONG_TYPE", unit, f"whose {key} is not {wanted}", f"Write {wanted}.")


def broken_text(unit: str, key: str) -> Kind:
    """The fault of a text that holds half of a character."""
    return Kind(
        "BROKEN_TEXT", unit, f"whose {key} holds half a character (a lone surrogate)", "Write it again as UTF-8."
    )


def has_surrogate(text: str) -> bool:
    """Whether a text cannot be written as UTF-8, as after an escape like ``\\ud83d`` that was cut in two."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def unread_keys(name: str, seen: set[str], known: Sequence[str]) -> tuple[str, ...]:
    """A note about keys that nothing here reads, in case one of them is a slip of the pen."""
    others = sorted(seen.difference(known))
    if not others:
        return ()
    return (f"{name}: keys that are not read: {', '.join(map(shown, others[:5]))}{', ...' if others[5:] else ''}.",)


def _unfit(name: str, key: str, unit: str) -> Kind | None:
    """What keeps a text from being an id, if anything does."""
    if name != name.strip():
        return Kind("PADDED_ID", unit, f"with white space before or after the {key}", "Remove it.")
    if has_surrogate(name):
        return broken_text(unit, key)
    most = _MOST_WORDS.get(key)
    if len(name) > LONGEST[key] or _CONTROL.search(name) or (most and len(name.split()) > most):
        words = f"{most} words and " if most else ""
        limit = f"at most {words}{LONGEST[key]} characters on one line"
        return Kind("TEXT_AS_LABEL", unit, f"whose {key} looks like a text", f"Ids are printed: use {limit}.")
    if key == "sent_uid" and "|" in name:
        return Kind("BAR_IN_UID", unit, "with a | inside the sent_uid", "Use another character: | joins uids.")
    return None


class _RepeatedKeyError(ValueError):
    """A key that comes twice; Python would keep the last and say nothing."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    together = dict(pairs)
    if len(together) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(shown(next(key for key in together if keys.count(key) > 1)))
    return together


def _refuse_constant(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
