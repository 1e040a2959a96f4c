"""The same names under the other profiles: what they mean there, and what they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidentia.results.catalogue import Definition, resolve
from evidentia.results.profiles import PROFILES
from evidentia.verify.expected import unmet
from evidentia.verify.plan import Recomputed
from evidentia.verify.points import Points
from evidentia.verify.tally import TOLERANCE, Tally


@dataclass(frozen=True)
class Other:
    """What a reported name would have been elsewhere."""

    name: str
    definition: Definition
    profiles: tuple[str, ...]
    outcome: Recomputed


def other_definitions(points: Points) -> list[Other]:
    """Every other meaning of the names over the whole run, whether or not its value differs."""
    return points.study.once("others", lambda: _others(points))


def _others(points: Points) -> list[Other]:
    meant: dict[tuple[str, str], tuple[Definition, list[str]]] = {}
    for name, entry in points.expected.entries.items():
        for label, profile in PROFILES.items():
            if entry.group or profile == points.profile:
                continue
            other = resolve(name, profile).definition
            if other != entry.definition and unmet(points.study, other) is None:
                meant.setdefault((name, other.expanded), (other, []))[1].append(label)
    return [
        Other(name, definition, tuple(profiles), points.planner.number(definition, ()))
        for (name, _), (definition, profiles) in meant.items()
    ]


def check_others(summary: Mapping[str, Any], points: Points, tally: Tally) -> None:
    """Every other meaning is listed where its value differs, with that value, and nothing else is."""
    listed = {(entry["name"], entry["definition"]): entry for entry in summary["other_definitions"]}
    tally.exact("summary.json: other_definitions: entries", len(listed), len(summary["other_definitions"]))
    known = {(other.name, other.definition.expanded): other for other in other_definitions(points)}
    for key in listed.keys() - known.keys():
        tally.exact(f"summary.json: other_definitions: {key[0]}: definition", key[1], None)
    for (name, expanded), other in known.items():
        where, reported = f"summary.json: other_definitions: {name}", listed.get((name, expanded))
        here = points.value(name)
        if reported is not None:
            tally.number(f"{where}: value", reported["value"], other.outcome.value)
            tally.exact(f"{where}: degenerate", reported["degenerate"], other.outcome.flaw)
            tally.exact(f"{where}: profiles", reported["profiles"], list(other.profiles))
        elif here is None or abs(here - other.outcome.value) > TOLERANCE:
            tally.exact(where, None, expanded)
