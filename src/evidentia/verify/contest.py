"""What two systems differ by, computed anew: values, draws, limits, p, Holm's correction, verdicts and reservations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evidentia.results.catalogue import Definition
from evidentia.results.names import group_suffix
from evidentia.results.profiles import Profile
from evidentia.results.sample_size import Sample, comparison_warnings, left_out_warning
from evidentia.verify.draws import Draws, Floats, Progress, counter, draws_of
from evidentia.verify.expected import Entry
from evidentia.verify.limits import deviate, spread_of, spread_out
from evidentia.verify.plan import Planned, Planner, Recomputed, looped, loops
from evidentia.verify.recipes import Sums, replicated
from evidentia.verify.study import Group, Study
from evidentia.verify.tally import Tally
from evidentia.verify.warnings import undefined_criteria, untuned_folds

NONE = 1e-12  # a difference that is no larger comes from rounding
Want = tuple[Definition, Group]


@dataclass(frozen=True)
class Terms:
    """What a comparison was asked for."""

    profile: Profile
    alpha: float
    level: float
    resamples: int
    seed: int


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
        return draws_of(self.study.queries, self.terms.resamples, self.terms.seed, stratified=False)

    @cached_property
    def _planner(self) -> Planner:
        return Planner(self.study)

    @cached_property
    def planned(self) -> dict[Want, Planned]:
        """How every number is replicated, and what it rests on."""
        return {want: self._planner.plan(*want) for want in self.wants}

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
        for at, planner in enumerate(loops(self.study, self.draws)):
            for definition in (definition for definition, group in self.wants if not group):
                drawn = float(values[definition, ()][at])
                where = f"{self.name}: {definition.expanded}: replicate {at}, by a plain loop"
                tally.number(where, None if np.isnan(drawn) else drawn, looped(planner, definition))

    def number(self, want: Want) -> Recomputed:
        """The number on all queries."""
        return self._planner.number(*want)

    def reservations(self, want: Want, number: Recomputed) -> list[str]:
        """What the number does not cover."""
        return [*undefined_criteria(number), *untuned_folds(self.study, Entry("", *want))]


@dataclass(frozen=True, eq=False)
class Contest:
    """A system against its baseline."""

    baseline: Side
    system: Side
    terms: Terms

    def deltas(self, differences: dict[Want, Floats], family: str, wants: Sequence[Want]) -> list[dict[str, Any]]:
        """The differences of one family, with corrected p values and verdicts."""
        compared = [self._delta(want, differences[want], family) for want in wants]
        tests: dict[str, list[dict[str, Any]]] = {}
        for delta in compared:
            if delta["p"] is not None:
                tests.setdefault(_test(delta), []).append(delta)
        highest = 0.0
        for place, same in enumerate(sorted(tests.values(), key=lambda mine: float(mine[-1]["p"]))):
            highest = max(highest, min(1.0, same[-1]["p"] * (len(tests) - place)))
            for delta in same:
                delta["p_holm"], delta["verdict"] = highest, _verdict(delta, highest, self.terms.alpha)
        return compared

    def _delta(self, want: Want, differences: Floats, family: str) -> dict[str, Any]:
        definition, group = want
        first, second = self.baseline.number(want), self.system.number(want)
        sound = first.flaw is None and second.flaw is None
        delta = second.value - first.value if sound else None
        posts = min(side.planned[want].sample.effective for side in (self.baseline, self.system))
        error = _error(differences, posts)
        limits = (
            None if error is None else _around(second.value - first.value, error * deviate(posts - 1, self.terms.level))
        )
        width = limits is not None and spread_out(*limits)
        return {
            "name": definition.name(self.terms.profile) + group_suffix(group),
            "definition": definition.expanded,
            **{"baseline": self.baseline.name, "system": self.system.name},
            **{"baseline_value": first.value, "system_value": second.value, "delta": delta},
            "direction": definition.measure.direction,
            **{"n": first.n, "n_clusters": first.clusters},
            **{"system_n": second.n, "system_n_clusters": second.clusters},
            "ci": list(limits) if limits is not None and width and sound else None,
            "replicates_left_out": int(np.count_nonzero(np.isnan(differences))),
            "p": None if delta is None or error is None else _p(delta, error, posts, width),
            **{"p_holm": None, "verdict": "undefined", "family": family},
            "warnings": [
                *self._words(want, (first, second), differences),
                *_no_interval(sound, limits, width, differences),
            ],
        }

    def _words(self, want: Want, numbers: tuple[Recomputed, Recomputed], differences: Floats) -> list[str]:
        plans = [side.planned[want] for side in (self.baseline, self.system)]
        sample = Sample(
            min(mine.clusters for mine in numbers),
            min(plan.sample.effective for plan in plans),
            plans[0].sample.positives,
            plans[0].sample.kind,
        )
        left_out = int(np.count_nonzero(np.isnan(differences)))
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


def _around(middle: float, reach: float) -> tuple[float, float]:
    return middle - reach, middle + reach


def _test(delta: dict[str, Any]) -> str:
    """The same for differences that are one test, as of a rate and its complement: the t statistic, up to its sign."""
    if delta["ci"] is None or not delta["delta"]:
        return str(delta["name"])
    low, high = delta["ci"]
    return f"{abs(delta['delta']) / (high - low):.9e} over {delta['n_clusters']}"


def _no_interval(sound: bool, limits: tuple[float, float] | None, width: bool, differences: Floats) -> list[str]:
    if not sound:
        return ["undefined for at least one of the two"]
    if width:
        return []
    if np.isnan(differences).all():
        return ["no interval: undefined in every resample"]
    why = "one post does not show chance" if limits is None else "every resample gives the same difference"
    return [f"no interval: {why}"]


def _p(delta: float, error: float, posts: float, width: bool) -> float | None:
    """Two-sided, by Student's t."""
    from scipy.special import betainc

    if not width or error <= NONE:
        return 1.0 if abs(delta) <= NONE else None
    free = posts - 1
    return float(betainc(free / 2, 0.5, free / (free + (delta / error) ** 2)))


def _verdict(delta: dict[str, Any], p: float, alpha: float) -> str:
    if p > alpha or not delta["delta"]:
        return "tie"
    if delta["direction"] == "neither":
        return "differs"
    return "win" if (delta["delta"] > 0) == (delta["direction"] == "higher") else "loss"
