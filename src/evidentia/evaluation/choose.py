"""Which measures a comparison is about: those that somebody names, else the main ones that the results were made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evidentia.errors import InputError, counted, spelled
from evidentia.measures import Definition, Profile, profile_named, resolve
from evidentia.results.profiles import COMPARED_PER_CRITERION

COUNTED = "they count what all results share"


class AskedResult(Protocol):
    """A result, as far as it says what it was asked for."""

    @property
    def profile(self) -> str:
        """The profile that it was made with."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that it was made with."""

    def names(self, profile: Profile) -> tuple[str, ...]:
        """Its measures, as names to be read under a profile."""


@dataclass(frozen=True)
class MeasureChoice:
    """Measures as names under a profile; where they were ``asked`` for, each that cannot be compared is told."""

    profile: Profile
    names: tuple[str, ...]
    asked: bool = False
    notes: tuple[str, ...] = ()

    def definitions(self) -> dict[str, Definition]:
        """The definitions by name; none may be asked for in single groups."""
        requests = {name: resolve(name, self.profile) for name in self.names}
        if any(request.group for request in requests.values()):
            raise InputError(
                f"A comparison takes measures without groups. Per criterion it adds, by itself, "
                f"{', '.join(COMPARED_PER_CRITERION)}, where they are compared over all queries."
            )
        return {name: request.definition for name, request in requests.items()}


def not_compared(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    """A note for each reason that measures are not compared for."""
    return [f"not compared, because {reason}: {', '.join(names)}" for reason, names in reasons.items() if names]


def choose(
    results: Sequence[AskedResult], *, profile: str | None, measures: Sequence[str] | None, every: bool = False
) -> MeasureChoice:
    """The given profile and measures, else the main ones of the results, or ``every`` one; those that all results have."""
    chosen = profile_named(profile or _shared_profile(results))
    if measures is not None:
        return MeasureChoice(chosen, tuple(measures), asked=True)
    explicit = any(result.options.get("measures") is not None for result in results)
    main = None if every or explicit else _main(chosen, [result.options.get("k") for result in results])
    if results:
        return _inherited(results, chosen, main, explicit=explicit)
    names = [name for name in chosen.names() if main is None or resolve(name, chosen).definition in main]
    return MeasureChoice(chosen, tuple(names))


def _main(profile: Profile, ks: Sequence[Sequence[str] | None]) -> frozenset[Definition]:
    return frozenset(resolve(name, profile).definition for name in profile.compared(*ks))


def _shared_profile(results: Sequence[AskedResult]) -> str:
    profiles = [result.profile for result in results]
    if len(set(profiles)) > 1:
        raise InputError(
            f"The results were made under different profiles ({', '.join(profiles)}). "
            f"Name one with {spelled('--profile', 'profile')}."
        )
    return profiles[0] if profiles else "contract"


def _inherited(
    results: Sequence[AskedResult], profile: Profile, main: frozenset[Definition] | None, *, explicit: bool
) -> MeasureChoice:
    asked = [{name: resolve(name, profile) for name in result.names(profile)} for result in results]
    if main is not None:
        asked = [{name: r for name, r in names.items() if r.definition in main} for names in asked]
    of_groups = dict.fromkeys(name for names in asked for name, request in names.items() if request.group)
    reported = [{r.definition: name for name, r in names.items() if not r.group} for names in asked]
    shared = [name for definition, name in reported[0].items() if all(definition in other for other in reported)]
    if not shared:
        raise InputError(
            f"The results have no measure in common that can be compared. Name some with {spelled('--measures', 'measures')}."
        )
    notes = [f"not compared, because they are of single groups: {', '.join(of_groups)}"] if of_groups else []
    left_out = len(set().union(*reported)) - len(shared)
    if left_out:
        notes.insert(0, _difference(results, len(shared), left_out))
    return MeasureChoice(profile, tuple(shared), explicit, tuple(notes))


def _difference(results: Sequence[AskedResult], shared: int, left_out: int) -> str:
    first = results[0].options
    differing = [
        f"--{option}"
        for option in ("measures", "k", "dual")
        if any(result.options.get(option) != first.get(option) for result in results)
    ]
    return (
        f"the results were made with different {' and '.join(differing)}: {counted(shared, 'measure')} that all of them "
        f"report are compared, {left_out:,} that only some report are left out"
    )
