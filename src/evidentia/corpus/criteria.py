"""criteria.jsonl: what every post is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidentia.corpus.posts import Criterion
from evidentia.corpus.records import LOSES_RECORDS, read_id, read_records, read_text, unread_keys, wrong_type
from evidentia.errors import Problem, shown
from evidentia.tables.document import Faults, Kind
from evidentia.tables.files import Content

_KEYS = ("criterion_id", "text", "prototypes")
_TWICE = Kind("DUPLICATE_CRITERION", "criterion line", "whose criterion_id an earlier one has", "Keep one of them.")


@dataclass(frozen=True, eq=False)
class Criteria:
    """The criteria of a file; ``ids`` also holds those that something is wrong with.

    ``known`` says whether an id that is not among them does not exist.
    """

    criteria: tuple[Criterion, ...]
    ids: Mapping[str, int]
    known: bool
    problems: list[Problem]
    notes: tuple[str, ...]


def parse_criteria(content: Content) -> Criteria:
    """Read and check the criteria of a file."""
    faults = Faults(content.name)
    ids: dict[str, int] = {}
    criteria: list[Criterion] = []
    keys: set[str] = set()
    lost = False
    for record in read_records(content, faults):
        keys.update(record.members)
        place = f"line {record.line}"
        name = read_id(record.members, "criterion_id", "criterion line", place, faults)
        if name in ids:
            faults.add(_TWICE, f"{place}, criterion {shown(name)}")
            continue
        criteria.append(_criterion(record.members, name or "", place, faults))
        lost = lost or name is None
        if name is not None:
            ids[name] = len(ids)
    known = not lost and LOSES_RECORDS.isdisjoint(problem.code for problem in faults.problems)
    return Criteria(tuple(criteria), ids, known, faults.problems, unread_keys(content.name, keys, _KEYS))


def _criterion(members: Mapping[str, Any], name: str, place: str, faults: Faults) -> Criterion:
    place = f"{place}, criterion {shown(name)}" if name else place
    text = read_text(members, "text", "criterion line", place, faults) or ""
    entries = members.get("prototypes")
    if entries is not None and not isinstance(entries, list):
        faults.add(wrong_type("criterion line", "prototypes", "a list of texts"), place)
        entries = None
    prototypes = (read_text({"prototype": entry}, "prototype", "entry", place, faults) for entry in entries or ())
    return Criterion(name, text, tuple(prototype for prototype in prototypes if prototype is not None))
