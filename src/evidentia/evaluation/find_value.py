"""Where does this number come from? Every reading of a measure's name on a run, those that give the number first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from types import MappingProxyType

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.errors import InputError, UnknownNameError, typed
from evidentia.evaluation.compute import Computation, compute
from evidentia.evaluation.estimates import reason_of
from evidentia.evaluation.foreign import FOREIGN
from evidentia.evaluation.plan import (
    Grouping,
    grouping_by,
    grouping_of,
    groupings_of,
    unmet,
    with_tuned_decisions,
)
from evidentia.measures import MEASURES, PROFILES, Definition, Profile, kernels, resolve
from evidentia.measures.core import Additive, Macro
from evidentia.results.names import Cut, group_suffix
from evidentia.tables import Run
from evidentia.tables.queries import Candidates

DEPTHS = ("1", "3", "5", "10", "15", "20", "50", "100", "ALL")
TRIED = {"bins": ("5", "10", "15", "20", "25", "50", "100"), "t": tuple(f"{i / 20:g}" for i in range(1, 20))}
RANKED = "ranked by the candidates' scores"
TREC_EVAL = "equal scores by sentence id, descending, scores as 32-bit floats (trec_eval)"
USUAL = (RANKED, TREC_EVAL)  # the rules that most numbers stem from
WORST, BEST = "equal scores: evidence last", "equal scores: evidence first"
FILLED = "every query; one without evidence scores 1"
LONGEST = 40  # digits of a number that somebody printed
FLOAT32 = 1e-6  # the error of tools that add up in single precision
CLOSEST = 5


@dataclass(frozen=True)
class GivenNumber:
    """A number as somebody printed it: its value, and how far another may be off and still print so."""

    value: float
    tolerance: float

    @classmethod
    def read(cls, text: str) -> GivenNumber:
        """The number of a text; a percent sign divides by 100.

        >>> GivenNumber.read("62.66%")
        GivenNumber(value=0.6266, tolerance=5.05e-05)
        """
        plain = text.strip().removesuffix("%").strip()
        try:
            number = Decimal(plain)
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite() or abs(number.adjusted()) > LONGEST or len(plain) > LONGEST:
            raise InputError(f"--value {typed(text)} is not a number. Write it as it was printed, for example 0.6266.")
        unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
        scale = 100 if text.strip().endswith("%") else 1
        return cls(float(number / scale), max(float(unit / scale) * 0.505, FLOAT32))

    def agrees(self, value: float) -> bool:
        """Whether a value prints as this number."""
        return abs(value - self.value) <= self.tolerance


@dataclass(frozen=True)
class NumberReading:
    """One way to read the name: a definition, what is other than asked in words, and what it gives."""

    definition: str
    changes: tuple[str, ...]
    effort: int  # how far it is from what was asked
    value: float
    n: int | None = None  # units of its population
    degenerate: str | None = None  # why the value is a convention


@dataclass(frozen=True)
class ValueSearch:
    """What was tried for a number, the readings that give it by how little they change, then the nearest others."""

    name: str
    text: str
    given: GivenNumber
    asked: NumberReading | None
    agreeing: tuple[NumberReading, ...]
    nearest: tuple[NumberReading, ...]
    tried: int


def find_value(name: str, text: str, profile: Profile, runs: Mapping[str, Run]) -> ValueSearch:
    """Find the readings of a name that give a number.

    ``runs`` are the same data in several ways, by what is special about each; the first, without words, is as it was read.
    """
    given, request = GivenNumber.read(text), resolve(name, profile)
    if given.value > 1 and request.definition.measure.bounds[1] == 1.0 and "%" not in text:
        text = f"{text.strip()}%"  # nothing else can be meant
        given = GivenNumber.read(text)
    group = request.group
    readings: dict[tuple[str, tuple[str, ...]], NumberReading] = {}
    for words, run in _variants(runs):
        place = _Variant(run, request.definition, group, words)
        for reading in place.readings(profile):
            readings.setdefault((reading.definition, reading.changes), reading)
    asked = next((r for r in readings.values() if r.effort == 0), None)
    distinct = _by_value(readings.values())
    agreeing = [r for r in distinct if given.agrees(r.value)]
    if not agreeing:
        agreeing = list(_by_some_order(readings.values(), given))
    others = sorted(
        (r for r in distinct if not given.agrees(r.value)), key=lambda r: (abs(r.value - given.value), r.effort)
    )
    shown_name = request.definition.name(profile) + group_suffix(group)
    agreeing.sort(key=lambda r: (r.effort, abs(r.value - given.value)))
    return ValueSearch(shown_name, text, given, asked, tuple(agreeing), tuple(others[:CLOSEST]), len(readings))


def _by_some_order(readings: Iterable[NumberReading], given: GivenNumber) -> Iterator[NumberReading]:
    """What lies between the two extreme orders of equal scores; tools that sort without a rule print such numbers."""
    ends: dict[tuple[str, tuple[str, ...]], dict[str, NumberReading]] = {}
    for reading in readings:
        for rule in {WORST, BEST} & {part for words in reading.changes for part in words.split(", ", 1)}:
            rest = tuple(words for words in reading.changes if rule not in words)
            ends.setdefault((reading.definition, rest), {})[rule] = reading
    for (definition, rest), pair in ends.items():
        if len(pair) == 2 and pair[WORST].value <= given.value <= pair[BEST].value:
            words = f"some order of equal scores: they give {pair[WORST].value:.6g} to {pair[BEST].value:.6g}"
            yield NumberReading(definition, (words, *rest), pair[WORST].effort + 1, given.value)


def _by_value(readings: Iterable[NumberReading]) -> list[NumberReading]:
    """Of readings with the same value the one that changes least."""
    kept: dict[float, NumberReading] = {}
    for reading in sorted(readings, key=lambda r: r.effort):
        kept.setdefault(float(f"{reading.value:.12g}"), reading)
    return list(kept.values())


def _variants(runs: Mapping[str, Run]) -> Iterator[tuple[str, Run]]:
    """The runs, and parts of them and other orders of their candidates."""
    for words, run in runs.items():
        yield words, run
        queries = run.queries
        if queries.n_ranked is not None and not queries.n_ranked.all():
            yield _both(words, "only queries with a ranking"), _part(run, queries.n_ranked > 0)
        if queries.gate is not None:
            yield _both(words, "only queries that the gate answers yes"), _part(run, queries.gate)
        if queries.prob is not None:
            plain = replace(queries, gate=queries.prob >= 0.5)
            yield _both(words, "the gate is prob >= 0.5"), replace(run, queries=plain)
        if run.tune is not None:
            yield _both(words, "the TUNE rows"), replace(run, queries=run.tune, tune=None)
        if queries.candidates is not None and run.candidates is not None and queries.n_gold is not None:
            for order, pool in _orders(queries.candidates, run.candidates["sent_uid"].to_numpy()):
                ranks = kernels.gold_ranks(pool.score, pool.is_gold, pool.offsets)
                sizes = np.diff(pool.offsets)
                yield _both(words, order), replace(run, queries=replace(queries, gold_ranks=ranks, n_ranked=sizes))


def _both(first: str, second: str) -> str:
    return f"{first}, {second}" if first else second


def _part(run: Run, rows: Bools) -> Run:
    return replace(run, queries=run.queries.take(np.flatnonzero(rows)))


def _orders(pool: Candidates, uids: np.ndarray[tuple[int], np.dtype[np.object_]]) -> Iterator[tuple[str, Candidates]]:
    """The candidates ranked by score, with every usual rule for equal scores."""
    yield RANKED, pool
    owner = np.repeat(np.arange(len(pool.offsets) - 1), np.diff(pool.offsets))
    _, code = np.unique(uids.astype(str), return_inverse=True)
    single = replace(pool, score=pool.score.astype(np.float32).astype(np.float64))
    rules = {
        TREC_EVAL: (single, -code),
        "equal scores by sentence id, ascending": (pool, code),
        WORST: (single, pool.is_gold),
        BEST: (single, ~pool.is_gold),
    }
    for words, (scored, rule) in rules.items():
        order = np.lexsort((rule, -scored.score, owner))
        yield words, replace(scored, score=scored.score[order], is_gold=scored.is_gold[order], node_prob=None)


@dataclass(frozen=True, eq=False)
class _Variant:
    """One variant of the run, in which every definition is read in every group and as every mean of groups."""

    run: Run
    asked: Definition
    group: tuple[tuple[str, str], ...]
    words: str  # what is special about this variant

    def readings(self, profile: Profile) -> Iterator[NumberReading]:
        """Every reading of the name here."""
        definitions = {d: change for d, change in self._definitions(profile).items() if unmet(d, self.run) is None}
        if not definitions or not len(self.run.queries):
            return
        run, thresholds = with_tuned_decisions(self.run, definitions)
        wants = [(d, grouping) for d in definitions for grouping in self._groupings(d)]
        computation = compute(run.queries, wants, thresholds=thresholds)
        start = 0 if not self.words else 1 if self.words.endswith(USUAL) else 2
        first = (self.words,) if self.words else ()
        for definition, grouping in wants:
            name, (effort, words) = definition.name(profile), definitions[definition]
            cell = computation.cell(definition, grouping)
            for more, cost, group, value in self._values(computation, definition, grouping):
                kept = (word for word in words if more != (FILLED,) or word != definition.measure.choices["pop=all"])
                at = grouping.groups.index(group) if group in grouping.groups else None
                n = None if at is None else int(cell.n[at])
                reason = None if at is None else reason_of(definition, int(cell.outcome.flaws[at]))
                changes = (*first, *kept, *more)
                yield NumberReading(name + group_suffix(group), changes, start + effort + cost, value, n, reason)
        yield from self._foreign(profile, start, first)

    def _definitions(self, profile: Profile) -> dict[Definition, tuple[int, tuple[str, ...]]]:
        """The asked definition, others of its name, other depths, other measures: with the effort and the words of the change."""
        asked = self.asked
        chosen: dict[Definition, tuple[int, tuple[str, ...]]] = {asked: (0, ())}
        for definition in (*_choices(asked, TRIED), *_same_base(asked)):
            words = _differences(asked, definition)
            chosen.setdefault(definition, (max(1, len(words)), words))
        if self.words:
            return chosen
        for definition, (effort, words) in list(chosen.items()):
            for depth in DEPTHS if definition.measure.cut == "k" else ():
                chosen.setdefault(_at_depth(definition, depth), (effort + 2, (*words, f"K = {depth}")))
        for definition in _neighbours(asked, profile):
            words = (definition.measure.label, *_differences(asked, definition))
            chosen.setdefault(definition, (3 + len(words), words))
        return chosen

    @cached_property
    def _by_column(self) -> dict[str, Grouping]:
        columns = ("fold", "criterion", "state", *self.run.queries.slices)
        return {c: g for c in columns if (g := grouping_by(self.run.queries, c)) is not None}

    def _groupings(self, definition: Definition) -> list[Grouping]:
        if self.group:
            try:
                return [grouping_of(self.group, self.run)]
            except InputError:
                if not self.words:  # the run as it was read has no such group
                    raise
                return []  # a part of it may lack one
        by = tuple(self.run.queries.slices)
        return groupings_of(definition, self._by_column, by, self.run)

    def _values(
        self, computation: Computation, definition: Definition, grouping: Grouping
    ) -> Iterator[tuple[tuple[str, ...], int, tuple[tuple[str, str], ...], float]]:
        """The values of a definition over a grouping: what changes, its effort, the group, the value."""
        cell = computation.cell(definition, grouping)
        values, defined = cell.outcome.values, cell.outcome.flaws == 0
        if self.group:
            yield (), 0, self.group, float(values[grouping.groups.index(self.group)])
            return
        if not grouping.columns:
            yield (), 0, (), float(values[0])
            yield from self._other_means(computation, definition)
            return
        column = grouping.columns[0]
        for group, value, sound in zip(grouping.groups, values, defined, strict=True):
            if sound:
                yield (f"only {column} {dict(group)[column]}",), 3, group, float(value)
        if column != "state" and defined.any() and not isinstance(definition.kind, Macro):
            yield (f"mean over the values of each {column}",), 1, (), float(values[defined].mean())

    def _other_means(
        self, computation: Computation, definition: Definition
    ) -> Iterator[tuple[tuple[str, ...], int, tuple[()], float]]:
        """Means of per-query values that weigh them otherwise: queries without evidence as 1, or post by post."""
        behind = computation.per_query(definition) if isinstance(definition.kind, Additive) else None
        if behind is None or not behind.counted.any():
            return
        queries = self.run.queries
        values, rows = behind.values[behind.counted], np.flatnonzero(behind.counted)
        if definition.args.get("pop") == "all":
            filled = np.where(queries.label[rows], values, 1.0)
            yield (FILLED,), 1, (), float(filled.mean())
        posts, at = np.unique(queries.post[rows], return_inverse=True)
        if len(posts) < len(rows):
            yield ("mean over posts of the mean of their queries",), 1, (), _mean_of_means(at, values, len(posts))

    def _foreign(self, profile: Profile, effort: int, words: tuple[str, ...]) -> Iterator[NumberReading]:
        if self.group or isinstance(self.asked.kind, Macro):
            return
        queries, name = self.run.queries, self.asked.name(profile)
        asked = [
            self.asked,
            *(d for d in _choices(self.asked, TRIED) if d.args.get("bins") != self.asked.args.get("bins")),
        ]
        for formula in FOREIGN:
            for definition in asked if formula.base == self.asked.measure.base else ():
                values = formula.values(queries, definition)
                if values is None:
                    continue
                other = _differences(self.asked, definition)
                if isinstance(values, float):
                    yield NumberReading(name, (*words, *other, formula.words), effort + len(other) + 1, values)
                elif queries.label.any():
                    with_evidence, over_all = float(values[queries.label].mean()), float(values.mean())
                    yield NumberReading(name, (*words, formula.words), effort + 1, with_evidence)
                    yield NumberReading(name, (*words, formula.words, "over all queries"), effort + 2, over_all)


def _mean_of_means(owner: np.ndarray[tuple[int], np.dtype[np.int64]], values: Floats, count: int) -> float:
    return float((np.bincount(owner, values, count) / np.bincount(owner, minlength=count)).mean())


def _choices(asked: Definition, tried: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> list[Definition]:
    """The definition with every other combination of its choices; ``tried`` are further values of parameters."""
    combined = [asked]
    for parameter in asked.measure.params:
        values = [v for v in dict.fromkeys((*parameter.values, *tried.get(parameter.name, ()))) if parameter.accepts(v)]
        combined = [definition.with_params(**{parameter.name: value}) for definition in combined for value in values]
    return [definition for definition in dict.fromkeys(combined) if definition != asked]


def _same_base(asked: Definition) -> Iterator[Definition]:
    """What the profiles report under the same base name."""
    for profile in PROFILES.values():
        for name in profile.names():
            definition = resolve(name, profile).definition
            if definition.measure.base == asked.measure.base and definition.measure.cut in {None, "FPR"}:
                yield definition


def _neighbours(asked: Definition, profile: Profile) -> Iterator[Definition]:
    """Other measures of the family at the same place."""
    for measure in MEASURES:
        if (
            measure.family != asked.measure.family
            or measure.cut != asked.measure.cut
            or measure.base == asked.measure.base
        ):
            continue
        known = [f"{p.name}={value}" for p in measure.params if (value := asked.args.get(p.name)) and not p.bare]
        with suppress(UnknownNameError):
            params = f"({','.join(known)})" if known else ""
            definition = resolve(
                measure.base + params + (f"@{asked.args.cut}" if asked.args.cut else ""), profile
            ).definition
            yield from (definition, *_choices(definition))


def _differences(asked: Definition, other: Definition) -> tuple[str, ...]:
    """The choices of a definition that the asked one does not make, in words."""
    words, moot = other.measure.choices, other.measure.without_effect(other.args.params)
    pairs = [(n, v) for n, v in other.args.params.items() if asked.args.get(n) != v and n not in moot]
    cut = [f"@{other.args.cut}"] if other.args.cut != asked.args.cut and other.args.cut is not None else []
    return (*(words.get(f"{name}={value}", f"{name}={value}") for name, value in pairs), *cut)


def _at_depth(definition: Definition, depth: str) -> Definition:
    """The same definition at another rank."""
    cut = Cut("k", None if depth == "ALL" else Decimal(depth))
    return Definition(definition.measure, replace(definition.args, cut=cut))
