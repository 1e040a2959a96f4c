"""From a number's definition and group to the recipe of its replicate values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evidentia.results.sample_size import Kind, Sample
from evidentia.verify import replicate_fits as fits
from evidentia.verify import replicate_posts as posts
from evidentia.verify.draws import Bools
from evidentia.verify.gaps import debiased_sums
from evidentia.verify.interval_arrays import Arrays
from evidentia.verify.interval_names import Defined, Group
from evidentia.verify.limits import effective_posts
from evidentia.verify.replicate_ranking import RANKED, ranking
from evidentia.verify.replicate_sums import PER_QUERY, Additive, bin_gaps, everyone, first_over_second
from evidentia.verify.replicate_sweeps import Sweep, reading, sweep_of
from evidentia.verify.replicate_table import MeanOf, Nothing, Recipe, Stepped, Summed, Table

FITS = {"CalibrationSlope": fits.slope, "CalibrationIntercept": fits.intercept}


@dataclass(frozen=True, eq=False)
class Planned:
    """How a number is replicated, from how many posts it comes, and whether it is a proportion.

    ``effective``: how many posts of one size would tell as much. ``gaps``: the parts of a sum of absolute gaps.
    """

    recipe: Recipe
    clusters: int
    positives: int
    proportion: bool
    effective: float
    gaps: tuple[Recipe, ...] = ()
    kind: Kind | None = None

    @property
    def sample(self) -> Sample:
        """What the number rests on."""
        return Sample(self.clusters, self.effective, self.positives, self.kind)


@dataclass(eq=False)
class Planner:
    """Plans numbers over one run; those that need the same sums or sweeps share them."""

    run: Arrays
    table: Table = field(default_factory=Table)
    _members: dict[Group, Bools] = field(default_factory=dict)
    _sweeps: dict[tuple[str, bytes], Sweep] = field(default_factory=dict)
    _last: tuple[Defined, Additive] | None = None

    def plan(self, what: Defined, group: Group) -> Planned:
        """Plan one number; a definition or group that does not exist is a KeyError."""
        rows = self._rows(group)
        population, proportion = self._population(what)
        clusters = self.run.clusters(rows & population)
        positives = int(np.count_nonzero(rows & self.run.label))
        effective = float(clusters) if posts.by_post(what) else self._effective(what, rows & population)
        recipe = self._recipe(what, rows)
        return Planned(recipe, clusters, positives, proportion, effective, self._gaps(what, rows), _kind(what))

    def _effective(self, what: Defined, rows: Bools) -> float:
        """Of a sweep, what its rarer class has; units are candidates where it runs over them."""
        if not _is_sweep(what) or what.over_criteria:
            return effective_posts(self.run.per_post(rows, rows))
        units = self.run.units[what.get("level", "query")]
        held = rows[units.owner]
        classes = (units.owner[held & units.label], units.owner[held & ~units.label])
        return min(effective_posts(np.bincount(self.run.post[owner]).astype(np.float64)) for owner in classes)

    def _gaps(self, what: Defined, rows: Bools) -> tuple[Recipe, ...]:
        """Every bin of a calibration error on its own, as a share of all queries."""
        if what.base != "ECE":
            return ()
        columns = [self.run.per_post(column, rows) for column in bin_gaps(self.run, what)]
        whole = self.run.per_post(everyone(self.run), rows)
        return tuple(Summed(self.table.add([column, whole]), first_over_second) for column in columns)

    def _rows(self, group: Group) -> Bools:
        if group not in self._members:
            self._members[group] = self.run.members(group)
        return self._members[group]

    def _recipe(self, what: Defined, rows: Bools) -> Recipe:
        if what.over_criteria:
            return self._macro(what, rows)
        if posts.by_post(what):
            top, bottom = posts.PER_POST[what.base](self.run, what, rows)
            return Summed(self.table.add([top, bottom]), first_over_second)
        if what.base in FITS:
            return self._fit(what, rows)
        if what.debiased:
            gaps = [self.run.per_post(column, rows) for column in bin_gaps(self.run, what)]
            sums, finish = debiased_sums(gaps, self.run.per_post(everyone(self.run), rows))
            return Summed(self.table.add(sums), finish)
        if _is_sweep(what):
            return reading(self._sweep(what.get("level", "query"), rows), what)
        additive = self._additive(what)
        columns = [self.run.per_post(column, rows) for column in additive.columns]
        return Summed(self.table.add(columns), additive.finish)

    def _macro(self, what: Defined, rows: Bools) -> Recipe:
        base = what.within_criterion()
        parts = tuple(self._recipe(base, rows & criterion) for criterion in self.run.criteria)
        if what.get("avg") != "label_weighted":
            return MeanOf(parts)
        weights = [self.run.per_post(self.run.label, rows & criterion) for criterion in self.run.criteria]
        return MeanOf(parts, self.table.add(weights))

    def _fit(self, what: Defined, rows: Bools) -> Recipe:
        fitted = FITS[what.base](self.run.prob[rows], self.run.label[rows]) if rows.any() else None
        if fitted is None:
            return Nothing()
        spread = [np.zeros(len(self.run)) for _ in fitted.columns]
        for whole, column in zip(spread, fitted.columns, strict=True):
            whole[rows] = column
        places = self.table.add([self.run.per_post(whole, rows) for whole in spread])
        return Stepped(places, fitted.finish, fitted.start)

    def _sweep(self, level: str, rows: Bools) -> Sweep:
        key = (level, np.packbits(rows).tobytes())
        if key not in self._sweeps:
            units = self.run.units[level]
            held = rows[units.owner]
            post = self.run.post[units.owner[held]]
            self._sweeps[key] = sweep_of(units.score[held], units.label[held], post, len(self.run.posts))
        return self._sweeps[key]

    def _additive(self, what: Defined) -> Additive:
        if self._last is None or self._last[0] != what:
            make = ranking if _is_ranking(what) else PER_QUERY[what.base]
            self._last = (what, make(self.run, what))
        return self._last[1]

    def _population(self, what: Defined) -> tuple[Bools, bool]:
        """The queries that a number speaks about, and whether it is a proportion of them."""
        if posts.by_post(what):
            return posts.population(self.run, what), what.base in posts.PROPORTIONS
        if what.base in FITS or _is_sweep(what):
            return everyone(self.run), False
        additive = self._additive(what)
        return additive.population, additive.proportion and not what.over_criteria


def _is_sweep(what: Defined) -> bool:
    return what.base in {"AUROC", "AUPRC"} or (what.base == "TPR" and not what.tuned)


def _kind(what: Defined) -> Kind | None:
    """The kind of number under which its intervals were simulated; calibration errors, fits and means over criteria were not."""
    if what.over_criteria or what.base in FITS or what.base == "ECE":
        return None
    return "sweep" if _is_sweep(what) else "sum"


def _is_ranking(what: Defined) -> bool:
    """Precision is one of a ranking where it has a depth, and one of yes and no elsewhere."""
    return what.base in RANKED and (what.base != "Precision" or "depth" in what.choices)


def batches(count: int, cells: int, width: int) -> Sequence[slice]:
    """Ranges of numbers whose replicate values, and columns, fit into so many cells."""
    size = max(1, cells // max(width, 1))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
