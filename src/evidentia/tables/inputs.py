"""The inputs of a run on their way in: loaded once, then renamed and typed as a reading says."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from evidentia.errors import InputError, Problem, shown
from evidentia.tables.card import DatasetCard, load_card
from evidentia.tables.columns import CANDIDATES, PER_QUERY, Typed, renamed, typed
from evidentia.tables.files import Loaded, load
from evidentia.tables.guess import Guess, guesses
from evidentia.tables.kinds import problem, refuse
from evidentia.tables.lists import checked_separator
from evidentia.tables.long import LONG, is_long, queries_and_candidates
from evidentia.tables.run import Source
from evidentia.tables.separators import recognised

AUTO: Literal["auto"] = "auto"
RUN, POST = "run", "post"  # what a uid is unique in
_KEY = ("post_id", "criterion_id")
_LABELS = ("gold_sent_uids", "has_evidence")
_CANDIDATE = (*_KEY, "sent_uid", "score")
_ALL = {**PER_QUERY, **CANDIDATES}


@dataclass(frozen=True)
class Reading:
    """How a run is read where it is not written as the formats say. A ``list_sep`` of None is to be recognised."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    candidates_mapping: Mapping[str, str] = field(default_factory=dict)
    list_sep: str | None = None
    uids: str = RUN
    is_auto: bool = False

    def __post_init__(self) -> None:
        checked_separator(self.list_sep)
        if self.uids not in (RUN, POST):
            raise refuse("UIDS", f"uids is {shown(self.uids)}; it must be 'run' or 'post': what a uid is unique in.")

    @property
    def options(self) -> list[str]:
        """The options of the command, each ready for a shell."""
        words = [map_option(self.mapping)] if self.mapping else []
        words += [f"--list-sep {shlex.quote(self.list_sep)}"] if self.list_sep else []
        return words + ([f"--uids {self.uids}"] if self.uids != RUN else [])

    @property
    def words(self) -> str:
        """The options of the command, and in Python."""
        python = [f"mapping={dict(self.mapping)}"] if self.mapping else []
        python += [f"list_sep={self.list_sep!r}"] if self.list_sep else []
        python += [f"uids={self.uids!r}"] if self.uids != RUN else []
        return f"{' '.join(self.options)} (in Python evidentia.read_run(..., {', '.join(python)}))"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not said by the person who reads, and what becomes of uids."""
        taken = taken_from(self.mapping) or "none"
        taken += f"; of the candidates: {taken_from(self.candidates_mapping)}" if self.candidates_mapping else ""
        notes = [f"columns that were certain by name and content: {taken}."] if self.is_auto else []
        if self.uids == POST:
            notes.append("uids are unique within their post only, so the post id was put in front of each.")
        return tuple(notes)


def taken_from(mapping: Mapping[str, str]) -> str:
    """Each canonical name and the column that it is read from.

    >>> taken_from({"post_id": "doc", "prob": "p"})
    'post_id from doc, prob from p'
    """
    return ", ".join(f"{name} from {column}" for name, column in mapping.items())


def map_option(mapping: Mapping[str, str]) -> str:
    """One --map with all names, ready for a shell.

    >>> map_option({"post_id": "doc", "prob": "P yes"})
    "--map 'post_id=doc,prob=P yes'"
    """
    return f"--map {shlex.quote(','.join(f'{name}={column}' for name, column in mapping.items()))}"


def as_mapping(proposed: Sequence[Guess]) -> dict[str, str]:
    """Guesses as a mapping."""
    return {guess.canonical: guess.column for guess in proposed}


@dataclass(frozen=True, eq=False)
class Given:
    """The tables as they were loaded; what could not be is a problem."""

    run: Loaded | None
    candidates: Loaded | None
    tune: Loaded | None
    card: DatasetCard | None
    sources: tuple[Source, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The tables under canonical names and types."""

    run: Typed
    pool: Typed | None
    tune: Typed | None
    card: DatasetCard | None
    sources: tuple[Source, ...]
    reading: Reading

    @property
    def tables(self) -> list[Typed]:
        """The tables that were given."""
        return [table for table in (self.run, self.pool, self.tune) if table is not None]


def load_inputs(tables: Mapping[str, object], card: DatasetCard | str | Path | None, delimiter: str) -> Given:
    """Load every table that is not None, by its role, and the card; what was wrong is kept for the end."""
    loaded: dict[str, Loaded] = {}
    problems: list[Problem] = []
    for role, source in tables.items():
        try:
            if source is not None or role == "run":
                loaded[role] = load(source, delimiter=delimiter)
        except InputError as error:
            problems.extend(error.problems)
    try:
        card = load_card(card) if isinstance(card, str | Path) else card
    except InputError as error:
        problems.extend(error.problems)
        card = None
    sources = tuple(Source(role, table.name, table.sha256, table.frame.height) for role, table in loaded.items())
    run, pool, tune = (loaded.get(role) for role in ("run", "candidates", "tune"))
    return Given(run, pool, tune, card, sources, tuple(problems))


def reading_of(
    mapping: Mapping[str, str] | str | None,
    candidates_mapping: Mapping[str, str] | None,
    list_sep: str | None,
    uids: str,
) -> Reading:
    """The reading that the arguments of ``read_run`` describe; a mapping that is "auto" is still to be resolved."""
    if isinstance(mapping, str) and mapping != AUTO:
        message = f"mapping is {shown(mapping)}; it must be 'auto', or canonical names with their columns."
        raise refuse("MAPPING", message)
    own = {} if isinstance(mapping, str) else dict(mapping or {})
    return Reading(own, dict(candidates_mapping or {}), list_sep, uids, mapping == AUTO)


def with_certain(reading: Reading, given: Given) -> Reading:
    """The reading with every guess that is certain."""
    run, pool = (
        as_mapping([guess for guess in guessed(loaded, role) if guess.certain])
        for loaded, role in ((given.run, "run"), (given.candidates, "candidates"))
    )
    return replace(reading, mapping=run, candidates_mapping=pool | dict(reading.candidates_mapping))


def guessed(loaded: Loaded | None, role: str) -> tuple[Guess, ...]:
    """What the columns of a table may be, beyond those under their canonical names."""
    if loaded is None:
        return ()
    if role == "candidates":
        return guesses(loaded.frame, tuple(CANDIDATES), _CANDIDATE)
    return guesses(loaded.frame, tuple(_ALL), _KEY)


def type_inputs(given: Given, reading: Reading, by: Sequence[str], *, recognise: bool) -> Inputs:
    """Rename, require and convert the columns of all tables; every problem at once."""
    problems = list(given.problems)
    run = pool = tune = None
    with _collecting(problems):
        run, pool = _typed_run(given, reading, by)
    with _collecting(problems):
        if given.candidates is not None:
            pool = typed(given.candidates, CANDIDATES, _for_candidates(given, reading), _CANDIDATE)
    with _collecting(problems):
        if given.tune is not None:
            there, mapping = given.tune.frame.columns, _for_run(given, reading).items()
            own = {n: c for n, c in mapping if c in there or n not in there}
            tune = typed(given.tune, PER_QUERY, own, _KEY, list_sep=reading.list_sep)
    if run is None or problems:
        raise InputError(*problems)
    if recognise and reading.list_sep is None:
        run = recognised(run, None if pool is None else pool.table.frame["sent_uid"].drop_nulls().unique())
        tune = None if tune is None else recognised(tune, None)
    sources = given.sources
    if pool is not None and given.candidates is None:  # both are in one file
        first, *others = sources
        parts = (("run", run), ("candidates", pool))
        sources = (*(replace(first, role=role, rows=part.table.frame.height) for role, part in parts), *others)
    return Inputs(run, pool, tune, given.card, sources, reading)


@contextmanager
def _collecting(problems: list[Problem]) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        problems.extend(error.problems)


def _typed_run(given: Given, reading: Reading, by: Sequence[str]) -> tuple[Typed | None, Typed | None]:
    """The run, and its candidates where it has one row per sentence."""
    if given.run is None:
        return None, None
    loaded, notes = renamed(given.run, _ALL, _for_run(given, reading))
    if not is_long(loaded.frame):
        one_of = _LABELS if given.candidates is None else ()
        run = typed(loaded, PER_QUERY, {}, _KEY, by, one_of=one_of, list_sep=reading.list_sep)
        return replace(run, notes=(*notes, *run.notes, *_hints(loaded, PER_QUERY))), None
    if given.candidates is not None:
        raise InputError(problem("TWO_POOLS", name=loaded.name))
    run, pool = queries_and_candidates(typed(loaded, LONG, {}, (*_CANDIDATE, "is_gold"), by))
    notes.append(f"{loaded.name}: a row is a sentence of a query; sentences are ranked by descending score.")
    return replace(run, notes=(*notes, *run.notes, *_hints(loaded, LONG))), pool


def _for_candidates(given: Given, reading: Reading) -> dict[str, str]:
    """The mapping of the candidates: their own, and what of the run's they lack and have."""
    if given.candidates is None:
        return {}
    there = given.candidates.frame.columns
    shared = {n: c for n, c in reading.mapping.items() if n in CANDIDATES and n not in there and c in there}
    return shared | dict(reading.candidates_mapping)


def _for_run(given: Given, reading: Reading) -> dict[str, str]:
    """The mapping of the run, without what only the candidates have."""
    taken = _for_candidates(given, reading)
    there = () if given.run is None else given.run.frame.columns
    return {n: c for n, c in reading.mapping.items() if n not in taken or (n in PER_QUERY and c in there)}


def _hints(loaded: Loaded, kinds: Collection[str]) -> list[str]:
    """Optional columns that seem to be there under other names, and how to map them."""
    there = {*loaded.frame.columns}
    needless = {"has_evidence"} if {"gold_sent_uids", "is_gold"} & there else set[str]()
    needless |= {"detection_score"} if "prob" in there else set()
    hints = guesses(loaded.frame, [name for name in kinds if name not in needless])
    if not hints:
        return []
    columns = ", no ".join(f"{hint.canonical}, but one called {hint.column}" for hint in hints)
    return [f"{loaded.name}: there is no column {columns}. If it is that, add {map_option(as_mapping(hints))}."]
