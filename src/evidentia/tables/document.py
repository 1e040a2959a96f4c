"""One JSON document, read strictly, and a count of what is wrong inside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evidentia.errors import InputError, Problem, counted, shown
from evidentia.tables import damage
from evidentia.tables.files import Content
from evidentia.tables.kinds import Kind as Kind  # noqa: PLC0414 - readers of other documents take it from here
from evidentia.tables.kinds import problem


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
    if repeated:
        keys = counted(len(repeated), "key")
        problems.append(problem("REPEATED_KEY", name=content.name, keys=keys, key=shown(repeated[0])))
    if problems:
        raise InputError(*problems)
    return document


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
        return [kind.problem(self.name, len(places), places[0]) for kind, places in self.places.items()]

    def refuse(self) -> None:
        """Raise everything that was noted as one InputError; nothing happens if there is nothing."""
        if self.places:
            raise InputError(*self.problems)
