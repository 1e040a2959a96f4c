"""What two systems differ by, computed anew: values, draws, limits, p, Holm's correction, verdicts, tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from evidentia.array_types import Floats
from evidentia.results.catalogue import Definition
from evidentia.results.names import group_suffix
from evidentia.results.profiles import Profile
from evidentia.results.sample_size import Sample, comparison_warnings, left_out_warning, no_interval_of_difference
from evidentia.verify.draws import Draws, Progress, counter, draws_of
from evidentia.verify.limits import Pair, deviate, spread_of, spread_out
from evidentia.verify.plan import Planned, Planner, RecomputedNumber, check_loops
from evidentia.verify.points import Entry, undefined_criteria, untuned_folds
from evidentia.verify.recipes import Sums, replicated
from evidentia.verify.sheet import Sheet
from evidentia.verify.study import Group, Study
from evidentia.verify.tally import Tally

NONE = 1e-12  # a difference that is no larger comes from rounding
Want = tuple[Definition, Group]
FAMILIES = ("measures", "criteria", "coverage", "truncated", "questionnaire", "items")
COLUMNS = {  # heading of the table, and the key of the entry
    **{"measure": "name", "baseline": "baseline", "system": "system", "baseline value": "baseline_value"},
    **{"system value": "system_value", "delta": "delta", "ci_low": "ci_low", "ci_high": "ci_high", "p": "p"},
    **{"p_holm": "p_holm", "verdict": "verdict", "n": "n", "n_clusters": "n_clusters", "system_n": "system_n"},
    **{"system_n_clusters": "system_n_clusters", "replicates_left_out": "replicates_left_out"},
    **{"warnings": "warnings", "definition": "definition"},
}


class SideValue(NamedTuple):
    """A number of one of two systems, and what it rests on."""

    name: str
    value: float | None
    n: int
    clusters: int


def delta_entry(
    name: str, definition: Definition, family: str, baseline: SideValue, system: SideValue, *, delta: float | None
) -> dict[str, Any]:
    """A difference that nobody has judged yet: without interval, p, warnings."""
    return {
        **{"name": name, "definition": definition.expanded, "baseline": baseline.name, "system": system.name},
        **{"baseline_value": baseline.value, "system_value": system.value, "delta": delta},
        "direction": definition.measure.direction,
        **{"n": baseline.n, "n_clusters": baseline.clusters},
        **{"system_n": system.n, "system_n_clusters": system.clusters},
        **{"ci": None, "replicates_left_out": 0, "p": None, "p_holm": None, "verdict": "undefined", "family": family},
        "warnings": [],
    }


def judged(
    entry: dict[str, Any], limits: Pair | None, *, left_out: int, p: float | None, warnings: Sequence[str]
) -> dict[str, Any]:
    """A difference with its interval, its p and what is to be said about them."""
    ci = None if limits is None else list(limits)
    return entry | {"ci": ci, "replicates_left_out": left_out, "p": p, "warnings": list(warnings)}


def correct(deltas: Sequence[dict[str, Any]], alpha: float, test_of: Callable[[dict[str, Any]], str]) -> int:
    """Put Holm's correction and the verdict into every tested delta; returns how many different tests there are."""
    tests: dict[str, list[dict[str, Any]]] = {}
    for delta in deltas:
        if delta["p"] is not None:
            tests.setdefault(test_of(delta), []).append(delta)
    highest = 0.0
    for place, same in enumerate(sorted(tests.values(), key=lambda mine: float(mine[-1]["p"]))):
        highest = max(highest, min(1.0, same[-1]["p"] * (len(tests) - place)))
        for delta in same:
            delta["p_holm"], delta["verdict"] = highest, _verdict(delta, highest, alpha)
    return len(tests)


def _verdict(delta: Mapping[str, Any], p: float, alpha: float) -> str:
    if p > alpha or not delta["delta"]:
        return "tie"
    if delta["direction"] == "neither":
        return "differs"
    return "win" if (delta["delta"] > 0) == (delta["direction"] == "higher") else "loss"


def delta_sheets(deltas: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """The tables of differences that have a row."""
    families = {family: [delta for delta in deltas if delta["family"] == family] for family in FAMILIES}
    return [
        Sheet(f"tables/deltas_{family}", tuple(COLUMNS), tuple(map(_row, rows)))
        for family, rows in families.items()
        if rows
    ]


def _row(delta: Mapping[str, Any]) -> tuple[Any, ...]:
    low, high = delta["ci"] or (None, None)
    cells = {**delta, "ci_low": low, "ci_high": high, "warnings": "; ".join(delta["warnings"])}
    return tuple(cells[key] for key in COLUMNS.values())


@dataclass(frozen=True)
class Terms:
    """What a comparison was asked for."""

    profile: Profile
    alpha: float
    level: float
    resamples: int
    seed: int
    poisson: bool = False


@dataclass(frozen=True, eq=False)
class Side:
    """A system: its queries, in the order that all systems share, and every number that is compared in every draw."""

    name: str
    study: Study
    wants: tuple[Want, ...]
    terms: Terms

    @cached_property
    def draws(self) -> Draws:
        """The draws of posts, the same for every system."""
        return draws_of(self.study.queries, self.terms.resamples, self.terms.seed, poisson=self.terms.poisson)

    @cached_property
    def _planner(self) -> Planner:
        return Planner(self.study)

    @cached_property
    def planned(self) -> dict[Want, Planned]:
        """How every number is replicated, and what it rests on."""
        return {want: self._planner.plan(*want) for want in self.wants}

    def sample(self, want: Want) -> Sample:
        """What a number rests on."""
        return self.planned[want].sample

    def replicates(self, progress: Progress | None = None) -> dict[Want, Floats]:
        """The value of every number in every draw."""
        recipes = [planned.recipe for planned in self.planned.values()]
        report = counter(progress, self.draws.resamples)

        return dict(zip(self.wants, replicated(recipes, self.draws, report), strict=True))

    def post_sums(self, want: Want) -> Floats | None:
        """What every post adds to a number (columns x posts), where that is what the number is made of."""
        recipe = self.planned[want].recipe
        return recipe.columns if isinstance(recipe, Sums) and recipe.start is None else None

    def check_loop(self, values: dict[Want, Floats], tally: Tally) -> None:
        """A few draws again by a plain loop."""
        looped = {(f"{self.name}: {d.expanded}", d): drawn for (d, group), drawn in values.items() if not group}
        check_loops(self.study, self.draws, looped, tally)

    def number(self, want: Want) -> RecomputedNumber:
        """The number on all queries."""
        return self._planner.number(*want)

    def reservations(self, want: Want, number: RecomputedNumber) -> list[str]:
        """What the number does not cover."""
        return [*undefined_criteria(number), *untuned_folds(self.study, Entry("", *want))]


class Contestant(Protocol):
    """What differences are made of: a system with its numbers."""

    @property
    def name(self) -> str:
        """What the comparison calls it."""

    def sample(self, want: Want) -> Sample:
        """What a number rests on."""

    def number(self, want: Want) -> RecomputedNumber:
        """The number on all queries."""

    def reservations(self, want: Want, number: RecomputedNumber) -> list[str]:
        """What the number does not cover."""

    def post_sums(self, want: Want) -> Floats | None:
        """What every post adds to a number, where that is known."""


@dataclass(frozen=True, eq=False)
class Contest:
    """A system against its baseline."""

    baseline: Contestant
    system: Contestant
    terms: Terms

    def deltas(self, differences: dict[Want, Floats], family: str, wants: Sequence[Want]) -> list[dict[str, Any]]:
        """The differences of one family, with corrected p values and verdicts."""
        compared = [self._delta(want, differences[want], family) for want in wants]
        correct(compared, self.terms.alpha, _test)
        return compared

    def _delta(self, want: Want, differences: Floats, family: str) -> dict[str, Any]:
        first, second = self.baseline.number(want), self.system.number(want)
        sound = first.flaw is None and second.flaw is None
        delta = second.value - first.value
        posts = min(side.sample(want).effective for side in (self.baseline, self.system))
        error, left_out = _error(differences, posts), int(np.count_nonzero(np.isnan(differences)))
        reach = None if error is None else error * deviate(posts - 1, self.terms.level)
        limits = None if reach is None else (delta - reach, delta + reach)
        width = limits is not None and spread_out(*limits)
        absent = no_interval_of_difference(left_out, self.terms.resamples, unknown=limits is None)
        warnings = self._warnings(want, (first, second), left_out)
        if not width or not sound:
            warnings.append(absent if sound else "undefined for at least one of the two")
        entry = delta_entry(
            want[0].name(self.terms.profile) + group_suffix(want[1]),
            want[0],
            family,
            *(
                SideValue(side.name, number.value, number.n, number.clusters)
                for side, number in ((self.baseline, first), (self.system, second))
            ),
            delta=delta if sound else None,
        )
        p = None if error is None or not sound else _p(delta, error, posts, width)
        return judged(entry, limits if width and sound else None, left_out=left_out, p=p, warnings=warnings)

    def _warnings(self, want: Want, numbers: tuple[RecomputedNumber, RecomputedNumber], left_out: int) -> list[str]:
        samples = [side.sample(want) for side in (self.baseline, self.system)]
        sample = Sample(
            min(mine.clusters for mine in numbers),
            min(sample.effective for sample in samples),
            samples[0].positives,
            samples[0].kind,
        )
        spoken = {
            side.name: side.reservations(want, mine)
            for side, mine in zip((self.baseline, self.system), numbers, strict=True)
        }
        words = dict.fromkeys(word for mine in spoken.values() for word in mine)
        holders = {word: [name for name, mine in spoken.items() if word in mine] for word in words}
        return [
            *comparison_warnings(sample, self._differing(want)),
            *left_out_warning(left_out, self.terms.resamples),
            *(word if len(names) == len(spoken) else f"{names[0]}: {word}" for word, names in holders.items()),
        ]

    def _differing(self, want: Want) -> int | None:
        """In how many posts the two systems add different sums; None where the number is not made of sums."""
        mine, other = (side.post_sums(want) for side in (self.baseline, self.system))
        return None if mine is None or other is None else int((np.abs(mine - other) > 1e-9).any(axis=0).sum())


def _error(differences: Floats, posts: float) -> float | None:
    """The standard error of a difference; None where draws or posts are too few to show it."""
    held = differences[~np.isnan(differences)]
    return spread_of(held, posts) if len(held) > 1 and posts > 1 else None


def _test(delta: dict[str, Any]) -> str:
    """The same for differences that are one test, as of a rate and its complement: the t statistic, up to its sign."""
    if delta["ci"] is None or not delta["delta"]:
        return str(delta["name"])
    low, high = delta["ci"]
    return f"{abs(delta['delta']) / (high - low):.9e} over {delta['n_clusters']}"


def _p(delta: float, error: float, posts: float, width: bool) -> float | None:
    """Two-sided, by Student's t."""
    from scipy.special import betainc

    if not width or error <= NONE:
        return 1.0 if abs(delta) <= NONE else None
    free = posts - 1
    return float(betainc(free / 2, 0.5, free / (free + (delta / error) ** 2)))
