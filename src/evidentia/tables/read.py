"""Read a run: load, map, type, check everything in one pass, and build."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.errors import InputError, InputWarning, Problem
from evidentia.tables.build import build, canonical_order, completed, fold_labels, written
from evidentia.tables.candidates import Pool, align, derive, gather, marked, pool_problems, uid_in_two_posts
from evidentia.tables.card import DatasetCard
from evidentia.tables.checks import key_problems, missing_pairs, row_problems, uid_problems
from evidentia.tables.columns import CANDIDATES, PER_QUERY, Typed, missing_column
from evidentia.tables.inputs import POST, Given, Inputs, Reading, load_inputs, reading_of, type_inputs, with_certain
from evidentia.tables.labels import label_problems
from evidentia.tables.limits import unpacking
from evidentia.tables.lists import BAR
from evidentia.tables.mend import mended
from evidentia.tables.overlap import overlap
from evidentia.tables.queries import Candidates, Queries
from evidentia.tables.run import Run
from evidentia.tables.split import Split, between_parts, split_rows
from evidentia.tables.table import Table
from evidentia.tables.uids import coded, qualified

_FOLLOWS_FROM_SEPARATOR = (
    *("SELECTED_NOT_RANKED", "GOLD_NOT_CANDIDATE", "RANKING_LEAVES_POST", "IS_GOLD_CONTRADICTION", "UID_IN_TWO_POSTS"),
)


def read_run(
    source: object,
    *,
    candidates: object = None,
    tune: object = None,
    mapping: Mapping[str, str] | Literal["auto"] | None = None,
    candidates_mapping: Mapping[str, str] | None = None,
    delimiter: str = ",",
    list_sep: str | None = None,
    uids: Literal["run", "post"] = "run",
    card: DatasetCard | str | Path | None = None,
    by: Sequence[str] = (),
    max_bytes: int | None = None,
    allow_disjoint: bool = False,
) -> Run:
    """Read and check a run.

    Parameters
    ----------
    source : path, data frame, mapping or sequence
        Table with one row per query: a CSV, TSV, Parquet, JSONL, JSON or Excel file (gzip too), "-" for standard input, a polars,
        pandas or Arrow table, a dict of columns or a list of dicts. It needs ``post_id`` and ``criterion_id``, and
        ``gold_sent_uids`` or ``has_evidence``. With one row per sentence it has ``sent_uid``, ``score`` and ``is_gold`` instead.
    candidates : path or data frame, default=None
        Table with one row per query and candidate: ``post_id``, ``criterion_id``, ``sent_uid``, ``score``.
    tune : path or data frame, default=None
        The TUNE rows, where they are in a table of their own.
    mapping : mapping of str to str or "auto", default=None
        Canonical column name to column name in ``source`` and ``tune``, and in ``candidates`` what they lack otherwise. "auto"
        takes the columns that are certain by name and content; ``notes`` and ``reading`` of the run say which.
    candidates_mapping : mapping of str to str, default=None
        The same for ``candidates`` alone.
    delimiter : str, default=","
        Delimiter of CSV files.
    list_sep : str, default=None
        What separates the uids of a cell: a character, "space", or "json" for printed lists. None means ``|``, and what is
        recognised with certainty; ``notes`` say so.
    uids : {"run", "post"}, default="run"
        What a uid is unique in. With "post" the post id is put in front of each.
    card : DatasetCard, path or str, default=None
        Dataset card, its TOML file, or the name of one that ships.
    by : str or sequence of str, default=()
        Further columns to keep, to group by.
    max_bytes : int, default=None
        Largest unpacked size of a gzip file; None means 1,000,000,000.
    allow_disjoint : bool, default=False
        Whether to accept a run in which no gold uid occurs in any ranking. It is an InputWarning otherwise, and an InputError
        where uids seem to be joined by another character than ``|``.

    Returns
    -------
    Run
        The checked run, its queries sorted by post and criterion.

    Raises
    ------
    InputError
        If the tables are not a valid run. It holds all problems that one pass can find.

    Examples
    --------
    >>> import polars as pl
    >>> run = read_run(pl.DataFrame({"post_id": [1], "criterion_id": ["A.1"], "gold_sent_uids": ["s1|s2"]}))
    >>> len(run), run.queries.n_gold.tolist()
    (1, [2])
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    reading = reading_of(mapping, candidates_mapping, list_sep, uids)
    with unpacking(max_bytes):
        given = load_inputs({"run": source, "candidates": candidates, "tune": tune}, card, delimiter)
    reading = with_certain(reading, given) if reading.is_auto else reading
    try:
        run, overlap_warnings = _read(given, reading, by, allow_disjoint)
    except InputError as error:
        attempt = partial(_problems_under, given, by, allow_disjoint)
        raise InputError(*mended(error.problems, given, reading, attempt)) from None
    for words in overlap_warnings:
        warnings.warn(words, InputWarning, stacklevel=2)
    return run


def _problems_under(given: Given, by: Sequence[str], allow_disjoint: bool, reading: Reading) -> tuple[Problem, ...]:
    try:
        _read(given, reading, by, allow_disjoint)
    except InputError as error:
        return error.problems
    return ()


def _read(given: Given, reading: Reading, by: Sequence[str], allow_disjoint: bool) -> tuple[Run, tuple[str, ...]]:
    """The run under a reading, and what to warn of."""
    inputs = type_inputs(given, reading, by, recognise=not allow_disjoint)
    problems = [problem for table in inputs.tables for problem in table.problems]
    checked = _check(inputs, problems, by)
    check_overlap = not allow_disjoint and all(problem.code in _FOLLOWS_FROM_SEPARATOR for problem in problems)
    overlap_warnings = _overlaps(checked, problems, reading.list_sep or BAR) if check_overlap else ()
    if problems:
        raise InputError(*problems)
    return _build_run(inputs, checked, by, overlap_warnings), overlap_warnings


def validate_run(source: object, **options: Any) -> tuple[Problem, ...]:
    """List every problem of a run without raising.

    Parameters
    ----------
    source : path or data frame
        The table, as in ``read_run``.
    **options : object
        The other arguments of ``read_run``.

    Returns
    -------
    tuple of Problem
        Each with a ``code`` and a ``message``; empty if the run is valid.

    Notes
    -----
    Warnings of ``read_run`` are issued here too.

    Examples
    --------
    >>> import polars as pl
    >>> [problem.code for problem in validate_run(pl.DataFrame({"post_id": [1], "criterion_id": ["A.1"]}))]
    ['MISSING_COLUMN']
    """
    try:
        read_run(source, **options)
    except InputError as error:
        return error.problems
    return ()


@dataclass(frozen=True, eq=False)
class _Checked:
    split: Split  # with coded uids
    pool: Pool | None
    uid: Ints  # the codes of the candidates' uids


def _check(inputs: Inputs, problems: list[Problem], by: Sequence[str]) -> _Checked:
    """Collect the problems of all rows; what is returned may be used only if there are none."""
    table = inputs.run.table
    problems += label_problems(table, by)
    split = _with_tune(split_rows(table, PER_QUERY), inputs.tune)
    problems += split.problems
    pool = None
    if inputs.pool is not None:
        problems += label_problems(inputs.pool.table)
        candidates = split_rows(inputs.pool.table, CANDIDATES)
        problems += candidates.problems
        pool = align(candidates.eval, split.eval)
        split = replace(split, eval=derive(split.eval, pool))
    problems += _no_labels(inputs, split, pool)
    for part in (split.eval, split.tune):
        problems += row_problems(part)
    problems += key_problems(split.train)
    problems += between_parts(split)
    if inputs.card is not None:
        problems += missing_pairs(split.eval, inputs.card)
    within_post = inputs.reading.uids == POST
    if within_post:  # ids of posts become parts of uids
        problems += table.problem("BAR_IN_UID", pl.col("post_id").str.contains("|", literal=True), place="the post_id")
    parts, uid = coded(
        [split.eval, split.tune, split.train], pool.table.frame if pool else None, within_post=within_post
    )
    for part in parts[:2]:
        problems += uid_problems(part)
    if pool is not None:
        problems += pool_problems(pool, uid, parts[0])
    # without its post no uid is in place, and without criteria a post is a topic: topics share documents
    placed = not any(problem.code == "MISSING_ID" for problem in problems)
    if placed and not table.frame["criterion_id"].eq("").all():
        problems += uid_in_two_posts(parts, pool.table if pool else None, uid, within_post=within_post)
    return _Checked(replace(split, eval=parts[0], tune=parts[1], train=parts[2]), pool, uid)


def _overlaps(checked: _Checked, problems: list[Problem], list_sep: str) -> tuple[str, ...]:
    """Warnings where gold and rankings have nothing in common; problems where uids are joined by another character."""
    candidates = None if checked.pool is None else checked.pool.table.frame["sent_uid"]
    met = [overlap(part, candidates, list_sep=list_sep) for part in (checked.split.eval, checked.split.tune)]
    if joined := [problem for part_overlap in met for problem in part_overlap.problems]:
        problems[:] = joined  # the others follow from it
    return met[0].warnings


def _with_tune(split: Split, tune: Typed | None) -> Split:
    """Every row of the table that was given for it is a TUNE row; there may be no others."""
    if tune is None:
        return split
    table = replace(tune.table, part="TUNE")
    others = split.tune.problem("TUNE_TWICE", np.arange(split.tune.frame.height), tune=table.name)
    return replace(split, tune=table, problems=(*split.problems, *label_problems(table), *others))


def _no_labels(inputs: Inputs, split: Split, pool: Pool | None) -> list[Problem]:
    if any(table.problems for table in inputs.tables) or not split.eval.frame.height:
        return []  # the column may be there, and wrong
    name, columns = split.eval.name, inputs.run.columns
    problems = []
    if not any(split.eval.has(column) for column in ("gold_sent_uids", "has_evidence")):
        problems.append(missing_column(name, "gold_sent_uids or has_evidence (one of them is needed)", columns))
    elif split.tune.frame.height and not any(split.tune.has(c) for c in ("gold_sent_uids", "has_evidence")):
        there = (inputs.tune or inputs.run).columns
        problems.append(missing_column(split.tune.name, "gold_sent_uids or has_evidence for its TUNE rows", there))
    if (
        pool is not None
        and inputs.pool is not None
        and not pool.table.has("is_gold")
        and not split.eval.has("gold_sent_uids")
    ):
        columns_needed = f"is_gold (or gold_sent_uids in {name})"
        problems.append(missing_column(pool.table.name, columns_needed, inputs.pool.columns))
    return problems


def _build_run(inputs: Inputs, checked: _Checked, by: Sequence[str], overlap_warnings: tuple[str, ...]) -> Run:
    split = checked.split
    folds = fold_labels(split.eval)
    order = canonical_order(split.eval)
    evaluated, queries = _build_part(split.eval, order, folds, by)
    pool_arrays, pool_frame = _build_pool(checked, order)
    tune_frame, tune, orphans = _build_tune(split.tune, folds, by)
    left_out = {"TRAIN rows": split.train.frame.height, "TUNE rows of folds without EVAL rows": orphans}
    if inputs.reading.uids == POST:
        evaluated = qualified(evaluated)
        tune_frame, pool_frame = (None if f is None else qualified(f) for f in (tune_frame, pool_frame))
    return Run(
        queries=replace(queries, candidates=pool_arrays),
        frame=evaluated,
        tune=tune,
        tune_frame=tune_frame,
        candidates=pool_frame,
        mapping=MappingProxyType(dict(inputs.reading.mapping)),
        sources=inputs.sources,
        card=inputs.card,
        left_out=MappingProxyType({reason: n for reason, n in left_out.items() if n}),
        notes=(
            *inputs.reading.notes,
            *overlap_warnings,
            *inputs.run.notes,
            *split.notes,
            *(note for table in inputs.tables[1:] for note in table.notes),
        ),
    )


def _build_part(table: Table, order: Ints, folds: tuple[str, ...], by: Sequence[str]) -> tuple[pl.DataFrame, Queries]:
    ordered = table.take(order)
    ordered = replace(ordered, frame=completed(ordered))
    slices = [column for column in by if ordered.has(column)]
    return written(ordered.frame), build(ordered, folds=folds, by=slices)


def _build_tune(
    table: Table, folds: tuple[str, ...], by: Sequence[str]
) -> tuple[pl.DataFrame | None, Queries | None, int]:
    """The TUNE rows of folds that have EVAL rows, as frame and arrays, and how many rows were left out."""
    rows = np.arange(table.frame.height)
    if folds and table.has("fold"):
        rows = table.rows(pl.col("fold").is_in(folds))
    orphans = table.frame.height - len(rows)
    if not len(rows):
        return None, None, orphans
    table = table.take(rows)
    own_folds = folds if table.has("fold") else ()
    frame, queries = _build_part(table, canonical_order(table, own_folds), own_folds, by)
    return frame, queries, orphans


def _build_pool(checked: _Checked, order: Ints) -> tuple[Candidates | None, pl.DataFrame | None]:
    if checked.pool is None:
        return None, None
    arrays, frame = gather(marked(checked.pool, checked.uid, checked.split.eval), order)
    return arrays, written(frame)
