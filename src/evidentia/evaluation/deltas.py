"""Paired differences of any two systems: from limits and p of replicate differences to judged deltas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evidentia.array_types import Floats
from evidentia.errors import InputError
from evidentia.evaluation.compute import Cell
from evidentia.evaluation.intervals import Resampling, spread_out
from evidentia.evaluation.plan import Grouping
from evidentia.measures import Definition, Profile
from evidentia.results import Delta
from evidentia.results.names import group_suffix
from evidentia.results.sample_size import no_interval_of_difference
from evidentia.stats.intervals import Limits, standard_errors, t_quantile
from evidentia.stats.testing import holm, t_test

OnMismatch = Literal["error", "intersect"]
UNDEFINED = "undefined for at least one of the two"


@dataclass(frozen=True, eq=False)
class Contrast:
    """A definition in both systems, group by group: the two cells, and limits and p of the replicate differences.

    ``warnings`` are those of every group. Where a difference is ``refused`` it is not given, and where it is ``untested`` it
    has no p value; both hold the reasons.
    """

    definition: Definition
    grouping: Grouping
    cells: tuple[Cell, Cell]
    limits: Limits
    p: Floats
    warnings: Sequence[Sequence[str]]
    undefined: str = UNDEFINED
    refused: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeltaBuilder:
    """Puts contrasts of a baseline and a system into deltas."""

    profile: Profile
    baseline: str
    system: str
    resampling: Resampling

    def deltas(self, contrast: Contrast) -> list[Delta]:
        """One delta for every group."""
        return [self._delta(contrast, i) for i in range(len(contrast.grouping))]

    def _delta(self, contrast: Contrast, i: int) -> Delta:
        definition, (first, second), limits = contrast.definition, contrast.cells, contrast.limits
        before, after = float(first.outcome.values[i]), float(second.outcome.values[i])
        low, high = float(limits.low[i]), float(limits.high[i])
        sound = first.outcome.flaws[i] == 0 and second.outcome.flaws[i] == 0
        comparable, width = sound and not contrast.refused, spread_out(low, high)
        tested = comparable and not contrast.untested
        return Delta(
            name=definition.name(self.profile) + group_suffix(contrast.grouping.groups[i]),
            definition=definition.expanded,
            baseline=self.baseline,
            system=self.system,
            baseline_value=before,
            system_value=after,
            delta=after - before if comparable else None,
            direction=definition.measure.direction,
            n=int(first.n[i]),
            n_clusters=int(first.clusters[i]),
            system_n=int(second.n[i]),
            system_n_clusters=int(second.clusters[i]),
            ci=(low, high) if comparable and width else None,
            replicates_left_out=int(limits.left_out[i]),
            p=_p_value(float(contrast.p[i]), after - before, width) if tested else None,
            warnings=(*self._warnings(contrast, i, sound=sound, width=width), *contrast.refused, *contrast.untested),
        )

    def _warnings(self, contrast: Contrast, i: int, *, sound: bool, width: bool) -> Iterator[str]:
        yield from contrast.warnings[i]
        if not sound:
            yield contrast.undefined
        elif not width:
            unknown = bool(np.isnan(contrast.limits.low[i]))
            yield no_interval_of_difference(
                int(contrast.limits.left_out[i]), self.resampling.resamples, unknown=unknown
            )


def t_limits(cells: tuple[Cell, Cell], differences: Floats, effective: Floats, level: float) -> tuple[Limits, Floats]:
    """Limits and p of every group by Student's t, from the differences in every replicate (groups x replicates)."""
    deltas, errors = cells[1].outcome.values - cells[0].outcome.values, standard_errors(differences, effective)
    reach = errors * t_quantile(effective, level)
    limits = Limits(deltas - reach, deltas + reach, np.isnan(differences).sum(axis=1))
    return limits, t_test(deltas, errors, effective)


def reserved_for(reservations: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What values do not cover; a name stands before words that hold for one of the two systems only."""
    for words in dict.fromkeys(word for own in reservations.values() for word in own):
        names = [name for name, own in reservations.items() if words in own]
        yield words if len(names) == len(reservations) else f"{names[0]}: {words}"


def few(resamples: int) -> list[str]:
    """A word where standard errors rest on few resamples."""
    if resamples >= 200:
        return []
    return [f"{resamples:,} resamples give rough standard errors: take 1,000 or more for p values to quote"]


def refuse_names(systems: Sequence[str]) -> None:
    """Refuse fewer than two systems, and two of one name."""
    if len(systems) < 2:
        raise InputError("A comparison needs at least two results.")
    if len({*systems}) < len(systems):
        raise InputError("Two of the results have the same name. Rename one of the folders.")


def refuse_settings(resampling: Resampling, alpha: float) -> None:
    """Refuse a comparison without resamples, or with an impossible level."""
    if not 0 < alpha < 1:
        raise InputError("alpha must lie between 0 and 1, for example 0.05.")
    if not resampling.resamples:
        raise InputError("A comparison needs resamples: its intervals and p values are made of them.")


def judged(deltas: Sequence[Delta], family: str, alpha: float, *, once: bool = False) -> list[Delta]:
    """The deltas of one family with p values corrected for each other (Holm), and a verdict for each.

    With ``once``, measures that are one and the same test, as a rate and its complement are, count once.
    """
    tested = {delta.test if once else i: delta.p for i, delta in enumerate(deltas) if delta.p is not None}
    corrected = dict(zip(tested, holm(np.array(list(tested.values()), float)), strict=True)) if tested else {}
    verdicts = []
    for i, delta in enumerate(deltas):
        p = float(corrected[delta.test if once else i]) if delta.p is not None else None
        verdict = "undefined" if p is None else _verdict(delta, p, alpha)
        verdicts.append(replace(delta, family=family, p_holm=p, verdict=verdict))
    return verdicts


def _verdict(delta: Delta, p: float, alpha: float) -> Literal["win", "loss", "differs", "tie"]:
    if p > alpha or not delta.delta:
        return "tie"
    if delta.direction == "neither":
        return "differs"
    return "win" if (delta.delta > 0) == (delta.direction == "higher") else "loss"


def _p_value(p: float, delta: float, width: bool) -> float | None:
    """Where every resample gives one and the same difference there is nothing to test, unless that difference is none."""
    if np.isnan(p):
        return None
    return p if width else (1.0 if delta == 0 else None)
