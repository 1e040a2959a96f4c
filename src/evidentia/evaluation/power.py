"""How many posts a target needs, from a run's own rate and its own clustering."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from evidentia.errors import InputError, UnknownNameError, typed
from evidentia.evaluation.cluster_sums import per_cluster
from evidentia.evaluation.plan import unmet, with_tuned_decisions
from evidentia.measures import Definition, profile_named, resolve
from evidentia.measures.core import Additive
from evidentia.stats.power import Certificate, certificate, certifies, posts_for_power
from evidentia.tables import Run

_TARGET = re.compile(r"\s*(?P<name>.+?)\s*>=\s*(?P<value>0?\.\d+|\d+(?:\.\d+)?\s*%)\s*")


@dataclass(frozen=True)
class Observed:
    """What a run shows about a share: units, misses, posts, and how much clustering inflates its variance."""

    units: int
    misses: int
    posts: int
    rate: float
    design_effect: float
    certified_now: bool
    posts_needed: int | None  # for the wanted power at the observed rate; None where the rate is not above the target


@dataclass(frozen=True)
class PowerReport:
    """A target, what certifying it takes, and where a run stands. ``units`` and ``posts`` say what counts, in words."""

    name: str
    units: str
    posts: str
    certificate: Certificate
    power: float
    observed: Observed | None


def power_report(
    target: str, *, run: Run | None = None, confidence: float = 0.95, power: float = 0.8, profile: str = "contract"
) -> PowerReport:
    """How many posts are needed to show ``target``, for example "ScreeningSensitivity>=0.995", with a confidence."""
    found = _TARGET.fullmatch(target)
    if found is None:
        raise InputError(f"{typed(target)} is not a target. Write for example 'ScreeningSensitivity>=0.995'.")
    text = found["value"]
    share = float(text.rstrip("% ")) / 100 if "%" in text else float(text)
    if not 0 < share < 1 or not 0 < confidence < 1 or not 0 < power < 1:
        raise InputError("Target, confidence and power must lie between 0 and 1.")
    request = resolve(found["name"], profile_named(profile))
    if request.group:
        raise InputError("A target speaks about the whole run; leave the group out.")
    definition = request.definition
    kind = definition.kind
    if not isinstance(kind, Additive) or not kind.proportion or definition.measure.direction != "higher":
        raise UnknownNameError(
            f"{typed(found['name'])} is not a share that should be high, so it cannot be certified this way."
        )
    needs = certificate(share, confidence)
    observed = None if run is None else _observed(run, definition, kind, needs, power)
    words = definition.population.words.removeprefix("all ")
    return PowerReport(definition.name(profile_named(profile)), words, _posts(words), needs, power, observed)


def _posts(units: str) -> str:
    """The posts that such units come from: a post without any of them says nothing about the share.

    >>> _posts("queries with evidence"), _posts("queries in state POS"), _posts("queries")
    ('posts with evidence', 'posts with queries in state POS', 'posts')
    """
    if units.startswith("posts") or units == "queries":
        return units.replace("queries", "posts")
    return "posts with evidence" if units == "queries with evidence" else f"posts with {units}"


def _observed(run: Run, definition: Definition, kind: Additive, needs: Certificate, power: float) -> Observed:
    reason = unmet(definition, run)
    if reason is not None:
        raise InputError(f"{definition.measure.base}: {reason}.")
    assert kind.fraction is not None
    run, _ = with_tuned_decisions(run, (definition,))
    good, everything = kind.fraction(per_cluster(run.queries, kind.statistic, definition.args), definition.args)
    there = everything > 0
    units, hits, posts = float(everything.sum()), float(good.sum()), int(there.sum())
    if not units:
        raise InputError(f"{definition.measure.base} has nothing to count in this run.")
    rate, size = hits / units, units / posts
    effect = _design_effect(good[there], everything[there], rate, size)
    misses = math.ceil((units - hits) / effect)
    trials = math.floor(units / effect)
    alone = posts_for_power(rate, needs.target, needs.confidence, power)
    needed = None if alone is None else math.ceil(alone * effect / size)
    return Observed(
        int(units),
        int(units - hits),
        posts,
        rate,
        effect,
        certifies(trials, misses, needs.target, needs.confidence),
        needed,
    )


def _design_effect(
    good: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    everything: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    rate: float,
    size: float,
) -> float:
    """Variance of the ratio over posts, relative to independent units; the worst case where the run shows no variance."""
    if np.all(everything == 1):
        return 1.0
    if rate in {0.0, 1.0} or len(good) < 2:
        return size
    spread = float(np.sum((good - rate * everything) ** 2)) * len(good) / (len(good) - 1)
    return max(1.0, spread / (rate * (1 - rate) * float(everything.sum())))
