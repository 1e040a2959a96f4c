"""One JSON document, read strictly, and a count of what is wrong inside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evidentia.errors import InputError, Problem, counted, shown
from evidentia.tables import damage
from evidentia.tables.files import Content


def read_document(content: Content) -> Any:
    """The document of a file; repeated keys, NaN and Infinity are refused, which Python would let pass."""
    text = content.text().decode()
    constants: list[str] = []
    repeated: list[str] = []

    def members(pairs: Sequence[tuple[str, object]]) -> Mapping[str, object]:
        together = dict(pairs)
        if len(together) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(key for key in together if keys.count(key) > 1)
        return together

    try:
        document = json.loads(text, object_pairs_hook=members, parse_constant=constants.append)
    except (ValueError, RecursionError) as error:
        raise InputError(damage.broken_json(content.name, error)) from None
    problems = [damage.constants_in_json(content.name, text, len(constants))] if constants else []
    problems += [_repeated(content.name, repeated)] if repeated else []
    if problems:
        raise InputError(*problems)
    return document


def _repeated(name: str, keys: Sequence[str]) -> Problem:
    message = f"{name}: {counted(len(keys), 'key')} given twice in the same object (first: {shown(keys[0])})."
    return Problem("DUPLICATE_KEY", f"{message} Keep one value for every key.")


@dataclass(frozen=True)
class Kind:
    """One kind of fault: its code, what has it, what is wrong, and what to do."""

    code: str
    unit: str
    what: str
    remedy: str


@dataclass(frozen=True, eq=False)
class Faults:
    """Counts the faults of a document by kind, and keeps the first place of each."""

    name: str
    places: dict[Kind, list[str]] = field(default_factory=dict)

    def add(self, kind: Kind, place: str) -> None:
        """Note one fault."""
        self.places.setdefault(kind, []).append(place)

    @property
    def problems(self) -> list[Problem]:
        """One problem for every kind that was noted."""
        return [self._problem(kind, places) for kind, places in self.places.items()]

    def refuse(self) -> None:
        """Raise everything that was noted as one InputError; nothing happens if there is nothing."""
        if self.places:
            raise InputError(*self.problems)

    def _problem(self, kind: Kind, places: Sequence[str]) -> Problem:
        message = f"{self.name}: {counted(len(places), kind.unit)} {kind.what} (first: {places[0]})."
        return Problem(kind.code, f"{message} {kind.remedy}")
