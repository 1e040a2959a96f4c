"""Which measures a comparison is about: those that somebody names, else those that the results were made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evidentia.errors import InputError, counted
from evidentia.evaluation.files import RunSource
from evidentia.measures import Profile, profile_named, resolve


@dataclass(frozen=True)
class MeasureChoice:
    """Measures as names under a profile; where they were ``asked`` for, each that cannot be compared is told."""

    profile: Profile
    names: tuple[str, ...]
    asked: bool = False
    notes: tuple[str, ...] = ()


def choose(results: Sequence[RunSource], *, profile: str | None, measures: Sequence[str] | None) -> MeasureChoice:
    """The given profile and measures, else those of the results; where results differ, the measures that all have."""
    chosen = profile_named(profile or _shared_profile(results))
    if measures is not None:
        return MeasureChoice(chosen, tuple(measures), asked=True)
    return _inherited(results, chosen) if results else MeasureChoice(chosen, chosen.names())


def _shared_profile(results: Sequence[RunSource]) -> str:
    profiles = [result.profile for result in results]
    if len(set(profiles)) > 1:
        raise InputError(
            f"The results were made under different profiles ({', '.join(profiles)}). Name one with --profile."
        )
    return profiles[0] if profiles else "contract"


def _inherited(results: Sequence[RunSource], profile: Profile) -> MeasureChoice:
    asked = [{name: resolve(name, profile) for name in result.names(profile)} for result in results]
    of_groups = dict.fromkeys(name for names in asked for name, request in names.items() if request.group)
    reported = [{r.definition: name for name, r in names.items() if not r.group} for names in asked]
    shared = [name for definition, name in reported[0].items() if all(definition in other for other in reported)]
    if not shared:
        raise InputError("The results have no measure in common that can be compared. Name some with --measures.")
    notes = [f"not compared, because they are of single groups: {', '.join(of_groups)}"] if of_groups else []
    left_out = len(set().union(*reported)) - len(shared)
    if left_out:
        notes.insert(0, _difference(results, len(shared), left_out))
    explicit = any(result.options.get("measures") is not None for result in results)
    return MeasureChoice(profile, tuple(shared), explicit, tuple(notes))


def _difference(results: Sequence[RunSource], shared: int, left_out: int) -> str:
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
