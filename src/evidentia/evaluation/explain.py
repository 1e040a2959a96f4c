"""Why two papers disagree: a measure's definitions side by side and, given a run, what each of them gives on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from evidentia.evaluation.compute import Computation, compute
from evidentia.evaluation.estimates import reason_of
from evidentia.evaluation.plan import Grouping, grouping_of, unmet, with_tuned_decisions
from evidentia.measures import PROFILES, Definition, Profile, resolve
from evidentia.measures.core import Additive, Selective, Sweep, Tallied
from evidentia.results.names import group_suffix
from evidentia.results.profiles import SELECTIVE
from evidentia.tables import Run

HELD = {"t", "bins", "avg", "order"}  # choices that ask another question rather than define the same one differently


@dataclass(frozen=True)
class DefinitionReading:
    """One definition and, given a run, its value there with numerator and denominator."""

    definition: str
    profiles: tuple[str, ...]
    value: float | None = None
    numerator: tuple[str, float] | None = None
    denominator: tuple[str, float] | None = None
    n: int | None = None
    population: str = ""
    mark: str | None = None


@dataclass(frozen=True)
class Explanation:
    """A definition with everything the registry knows of it, and its siblings."""

    name: str
    definition: Definition
    readings: tuple[DefinitionReading, ...]


def explain_name(name: str, profile: Profile, run: Run | None = None) -> Explanation:
    """Everything about a measure; with a run, each of its definitions is computed on it, in the group that was named."""
    request = resolve(name, profile)
    asked = request.definition
    profiles: Iterable[Profile] = PROFILES.values()
    if isinstance(asked.kind, Selective | Tallied):
        profile, profiles = SELECTIVE, (SELECTIVE,)
    siblings = dict.fromkeys((asked, *(resolve(name, p).definition for p in profiles), *_siblings(asked)))
    meant = {d: tuple(p.name for p in profiles if resolve(name, p).definition == d) for d in siblings}
    shown_name = asked.name(profile) + group_suffix(request.group)
    if run is None:
        readings = tuple(DefinitionReading(d.expanded, who, population=d.population.words) for d, who in meant.items())
        return Explanation(shown_name, asked, readings)
    grouping = grouping_of(request.group, run)
    wants = tuple((d, grouping) for d in siblings if unmet(d, run) is None)
    run, _ = with_tuned_decisions(run, (definition for definition, _ in wants))
    place = _Place(run, compute(run.queries, wants), grouping, grouping.groups.index(request.group))
    return Explanation(shown_name, asked, tuple(place.reading(d, who) for d, who in meant.items()))


@dataclass(frozen=True)
class _Place:
    """Where definitions are read: a run, what was computed on it, and one of its groups."""

    run: Run
    computation: Computation
    grouping: Grouping
    index: int

    def reading(self, definition: Definition, profiles: tuple[str, ...]) -> DefinitionReading:
        reason = unmet(definition, self.run)
        if reason is not None:
            return DefinitionReading(definition.expanded, profiles, mark=reason, population=definition.population.words)
        cell = self.computation.cell(definition, self.grouping)
        fraction, kind = self.computation.fraction(definition, self.grouping, self.index), definition.kind
        top = bottom = None
        if fraction is not None and isinstance(kind, Additive | Sweep):
            top, bottom = (kind.parts[0], fraction[0]), (kind.parts[1], fraction[1])
        return DefinitionReading(
            definition.expanded,
            profiles,
            value=float(cell.outcome.values[self.index]),
            numerator=top,
            denominator=bottom,
            n=int(cell.n[self.index]),
            population=definition.population.words,
            mark=reason_of(definition, int(cell.outcome.flaws[self.index])),
        )


def _siblings(asked: Definition) -> list[Definition]:
    free = [parameter for parameter in asked.measure.params if parameter.name not in HELD]
    choices = product(*([(p.name, value) for value in p.values] for p in free))
    return [asked.with_params(**dict(choice)) for choice in choices]
