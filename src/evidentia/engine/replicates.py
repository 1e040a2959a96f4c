"""Replicate values of a run of which only totals and narrow columns are left.

What adds up was weighed where its rows were. What needs an order over all queries or candidates is weighed here: every unit is
given the step of the sweep that it belongs to, and the weights of the units of a step are added, some replicates at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats, Ints
from evidentia.engine.columns import ColumnStore
from evidentia.engine.computation import SpilledComputation
from evidentia.engine.endings import CHUNK, CellScores, Remains
from evidentia.engine.kept import level_of
from evidentia.engine.reduction import Job
from evidentia.evaluation.cluster_sums import defined
from evidentia.evaluation.compute import macro_parts
from evidentia.evaluation.plan import Grouping, Key, Want
from evidentia.evaluation.replicates import Replicated, mean_over_criteria
from evidentia.measures import Definition
from evidentia.measures.core import Additive, Fit, Macro, Score, Sweep
from evidentia.stats.exact import powers_above, split
from evidentia.stats.poisson import Words, poisson_weights, scale_to
from evidentia.stats.sweeps import Counts

AT_ONCE = 16  # replicates whose weights are in memory at once
CELLS = 1 << 22  # numbers of a sweep in work at once
POSTS = 1 << 14  # posts whose fits are added up at once
Weighed = NDArray[np.float32]
Stretch = tuple[Ints, Ints, Ints]


@dataclass
class SpilledReplicates:
    """The replicate values of every definition of a plan."""

    computation: SpilledComputation
    remains: Remains
    job: Job
    keys: Words

    def each(self, wants: Sequence[Want]) -> Iterator[Replicated]:
        """The replicate values of each wanted pair; sums of absolute gaps have their gaps beside."""
        values: dict[Key, Floats] = {}
        bases = [self._base(each) for each in wants if isinstance(each[0].kind, Macro)]
        plain = {(d, g.columns): (d, g) for d, g in [*wants, *bases] if not isinstance(d.kind, Macro)}.values()
        values |= self._swept([each for each in plain if isinstance(each[0].kind, Sweep)])
        for definition, grouping in plain:
            key = (definition, grouping.columns)
            if isinstance(definition.kind, Fit):
                values[key] = self._fitted(definition.kind, grouping)
            elif isinstance(definition.kind, Additive):
                values[key] = self._added(definition, definition.kind, grouping)
        for definition, grouping in wants:
            kind = definition.kind
            if isinstance(kind, Macro):
                values[definition, grouping.columns] = self._macro(definition, grouping, values)
            of_want = values[definition, grouping.columns]
            of_want[..., self._weights == 0] = np.nan
            gaps = None
            if isinstance(kind, Additive) and kind.gaps is not None:
                gaps = kind.gaps(self._sums(kind, definition, grouping), definition.args)
            yield Replicated(definition, grouping, of_want, gaps=gaps)

    @cached_property
    def _weights(self) -> Floats:
        """What the weights of all posts add up to in every replicate."""
        return self.computation.totals.counts["weights",].astype(np.float64)

    def _base(self, want: Want) -> Want:
        definition, grouping = want
        assert isinstance(definition.kind, Macro)
        base, criteria = macro_parts(self.computation.queries, definition, definition.kind)
        return base, grouping.crossed(criteria)

    def _sums(self, kind: Additive, definition: Definition, grouping: Grouping) -> Floats:
        statistic = kind.statistic.key(definition.args)
        return self.computation.totals.sums["replicates", statistic, grouping.columns].total()

    def _added(self, definition: Definition, kind: Additive, grouping: Grouping) -> Floats:
        sums = self._sums(kind, definition, grouping)
        if kind.sized:
            sums = sums * scale_to(len(self.keys), self._weights)[:, None]
        return defined(kind.finish(sums, definition.args))

    def _macro(self, definition: Definition, grouping: Grouping, values: dict[Key, Floats]) -> Floats:
        assert isinstance(definition.kind, Macro)
        base, crossed = self._base((definition, grouping))
        criteria = len(crossed) // len(grouping)
        own = values[base, crossed.columns].reshape(len(grouping), criteria, -1)
        heavy = None
        if definition.kind.weighted:
            heavy = self.computation.totals.counts["positives", crossed.columns].astype(np.float64)
        return mean_over_criteria(own, heavy)

    def _parts(self, size: int = AT_ONCE) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
        """The weights of all posts, some replicates at a time."""
        for start in range(0, self.job.resamples, size):
            rows = slice(start, min(start + size, self.job.resamples))
            yield rows, poisson_weights(self.keys, self.job.seed, range(rows.start, rows.stop))

    def _fitted(self, kind: Fit, grouping: Grouping) -> Floats:
        """One Newton step of every group in every replicate."""
        scores, groups = self.remains.scores("query", grouping.columns)
        members = [np.flatnonzero(groups == code) for code in range(len(grouping))]
        scored = [(code, kind.score(*scores.labelled(cells))) for code, cells in enumerate(members)]
        fitted = [(code, score) for code, score in scored if score is not None]
        parts = [_Scored(scores, members[code], score) for code, score in fitted]
        rows = np.full((len(grouping), self.job.resamples), np.nan)
        for (code, score), sums in zip(fitted, self._weighed(parts), strict=True):
            rows[code] = kind.step(score.at, sums[None])[0]
        return rows

    def _weighed(self, parts: Sequence[_Scored]) -> Sequence[Floats]:
        """Weighted sums of what the queries of every part add: replicates x columns each."""
        if not parts:
            return ()
        posts = self.remains.store.lengths(("posts",))
        largest = [np.abs(part.block(at)[0]).max(axis=0, initial=0.0) for part in parts for at in range(len(posts))]
        bounds = powers_above(np.max(largest, axis=0))
        totals = np.zeros((2, len(parts), self.job.resamples, len(bounds)))
        for block, before in enumerate(np.cumsum([0, *posts[:-1]]).tolist()):
            rows = [part.block(block) for part in parts]
            for start in range(0, posts[block], POSTS):
                keys = self.keys[before + start : before + min(start + POSTS, posts[block])]
                weights = poisson_weights(keys, self.job.seed, range(self.job.resamples))
                heavy = weights.T.astype(np.float64)
                for at, (columns, of_post) in enumerate(rows):
                    first, last = np.searchsorted(of_post, [start, start + POSTS])
                    own = of_post[first:last] - start
                    for which, exact in enumerate(split(columns[first:last], bounds)):
                        by_post = [np.bincount(own, column, minlength=len(keys)) for column in exact.T]
                        totals[which, at] += heavy @ np.stack(by_post, axis=1)
        summed: Floats = totals[0] + totals[1]
        return list(summed)

    def _swept(self, wants: Sequence[Want]) -> dict[Key, Floats]:
        """The values of sweeps; those over the same units in the same groups share their steps."""
        shared: dict[tuple[str, tuple[str, ...]], list[Want]] = {}
        for definition, grouping in wants:
            level = level_of(definition.args)
            shared.setdefault((level, grouping.columns), []).append((definition, grouping))
        prepared = [(members, self._steps(level, members[0][1])) for (level, _), members in shared.items()]
        values = {(d, g.columns): np.empty((len(g), self.job.resamples)) for d, g in wants}
        for rows, weights in self._parts():
            heavy = weights.astype(np.float32)  # whole numbers, of which no step adds up so many that they would round
            for members, groups in prepared:
                for at, steps in enumerate(groups):
                    of_group = steps.values([definition for definition, _ in members], heavy)
                    for (definition, grouping), part in zip(members, of_group, strict=True):
                        values[definition, grouping.columns][at, rows] = part
        return values

    def _steps(self, level: str, grouping: Grouping) -> list[_WeightedSteps]:
        """The steps of every group."""
        name = ("steps", level, *grouping.columns)
        units = (self._units(level, grouping, code) for code in range(len(grouping)))
        return [_WeightedSteps(each, self.remains.store, (*name, at)) for at, each in enumerate(units)]

    def _units(self, level: str, grouping: Grouping, code: int) -> _Units:
        """The positives and the others of a group."""
        scores, groups = self.remains.scores(level, grouping.columns)
        members = np.flatnonzero(groups == code)
        gold = [scores.with_posts("gold", int(cell)) for cell in members]
        others = (part for cell in members for part in scores.chunks_with_posts("other", int(cell)))
        joined = [np.concatenate([each[i] for each in gold]) for i in range(2)]
        return _Units(joined[0], joined[1], others)


@dataclass(frozen=True, eq=False)
class _Scored:
    """A fit of a group, and where its queries are."""

    scores: CellScores
    members: Ints
    score: Score

    def block(self, block: int) -> tuple[Floats, Ints]:
        """What the queries of a block add, and their posts there, post by post."""
        prob, label, posts = self.scores.by_post(block, self.members)
        return self.score.columns(prob, label), posts


@dataclass(frozen=True, eq=False)
class _Units:
    """The positives of a sweep with their posts, and the other units part by part."""

    scores: Floats
    posts: Ints
    others: Iterable[tuple[Floats, Ints]]


class _WeightedSteps:
    """The steps of a sweep for any weighting of the posts; a step is a score that positives have, highest first.

    The other units are on the disk, part by part: their posts in the order of their steps, and where each step starts.
    """

    def __init__(self, units: _Units, store: ColumnStore, name: tuple[object, ...]) -> None:
        ascending, place = np.unique(units.scores, return_inverse=True)
        self.size, self.store, self.name = len(ascending), store, name
        self.positives = _by_step(self.size - 1 - place, units.posts)
        for scores, posts in units.others:
            for at in range(0, len(scores), CHUNK):
                step = _step_of(ascending, scores[at : at + CHUNK])
                for part, column in zip(
                    ("posts", "starts", "steps"), _by_step(step, posts[at : at + CHUNK]), strict=True
                ):
                    store.append((*name, part), column)

    def values(self, definitions: Sequence[Definition], weights: NDArray[np.float32]) -> list[Floats]:
        """The values of definitions in the replicates of these weights (posts x replicates)."""
        gained = np.zeros((self.size + 1, weights.shape[1]), np.float32)
        passed = np.zeros((2 * self.size + 2, weights.shape[1]), np.float32)
        _add(self.positives, weights, gained)
        if (*self.name, "posts") in self.store:
            columns = (self.store.parts((*self.name, part)) for part in ("posts", "starts", "steps"))
            for stretch in zip(*columns, strict=True):
                _add(stretch, weights, passed)
        width = max(1, min(weights.shape[1], CELLS // (self.size + 1)))
        slices = [(slice(at, at + width),) for at in range(0, weights.shape[1], width)]
        parts = [self._finished(definitions, gained[:, of], passed[0::2, of], passed[1::2, of]) for (of,) in slices]
        return [np.concatenate([part[at] for part in parts]) for at in range(len(definitions))]

    def _finished(
        self, definitions: Sequence[Definition], gained: Weighed, above: Weighed, tied: Weighed
    ) -> list[Floats]:
        steps, beside = gained.astype(np.float64), tied.astype(np.float64)
        passed = above + beside
        counts = Counts(_running(steps), _running(passed), steps, passed, beside)
        values = []
        for definition in definitions:
            assert isinstance(definition.kind, Sweep)
            values.append(defined(definition.kind.finish(counts, definition.args)))
        return values


def _running(steps: Floats) -> Floats:
    """Running sums down the rows, from zero on."""
    return np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])


def _step_of(ascending: Floats, scores: Floats) -> Ints:
    """Twice the step that each unit is passed in, and one more where it has the score of the step."""
    reached = np.searchsorted(ascending, scores, side="right")
    tied = np.zeros(len(scores), np.bool_)
    some = reached > 0
    tied[some] = ascending[reached[some] - 1] == scores[some]
    step: Ints = 2 * (len(ascending) - reached) + tied
    return step


def _by_step(step: Ints, posts: Ints) -> Stretch:
    """Posts in the order of their steps, where each step starts (and the last ends), and which steps occur."""
    order = np.argsort(step, kind="stable")
    step = step[order]
    starts = np.flatnonzero(np.append(True, step[1:] != step[:-1])[: len(step)])
    return posts[order].astype(np.int32), np.append(starts, len(step)).astype(np.int32), step[starts].astype(np.int32)


def _add(stretch: Stretch, weights: NDArray[np.float32], totals: NDArray[np.float32]) -> None:
    """Add the weights of units to their steps."""
    from scipy.sparse import csr_array

    posts, starts, steps = stretch
    if len(steps):
        matrix = csr_array((np.ones(len(posts), np.float32), posts, starts), shape=(len(steps), len(weights)))
        totals[steps] += matrix @ weights
