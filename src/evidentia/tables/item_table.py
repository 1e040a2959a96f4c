"""Read item instances of a predictor that may abstain: a PHQ-8 run, or a table of any other predictor."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

import numpy as np
import polars as pl

from evidentia.errors import InputError, Problem, counted, shown
from evidentia.results.questionnaire import PHQ8
from evidentia.tables.cells import NUMBER, TEXT, holds_numbers, unquoted
from evidentia.tables.checks import infinite, missing_ids
from evidentia.tables.columns import Typed, typed
from evidentia.tables.files import Loaded, load
from evidentia.tables.items import Items, names_a_signal
from evidentia.tables.kinds import refuse
from evidentia.tables.labels import item_label_problems
from evidentia.tables.limits import unpacking
from evidentia.tables.order import by_number
from evidentia.tables.phq8 import read_phq8
from evidentia.tables.run import Source
from evidentia.tables.table import ROW, Table, codes

_ITEMS = {"cluster_id": TEXT, "item": TEXT, "pred": NUMBER, "gt": NUMBER, "confidence": NUMBER}
_KEY = ("cluster_id", "item")
_LARGEST = 1e100  # squares of larger scores, summed, would not be numbers any more


def read_items(
    source: object,
    *,
    mode: str | None = None,
    item_max: float | None = None,
    mapping: Mapping[str, str] | None = None,
    delimiter: str = ",",
    max_bytes: int | None = None,
) -> Items:
    """Read and check the items of a predictor that may abstain.

    Parameters
    ----------
    source : path, mapping or data frame
        A JSON file (gzip too), or the mapping parsed from it, is a run of PHQ-8 or of the questionnaire in its metadata. A CSV,
        TSV, Parquet or JSONL file (gzip too) or a data frame has one row per item: ``cluster_id``, ``item``, ``pred`` (empty
        where it abstained), ``gt`` and ``confidence``; every other column of numbers is a further signal.
    mode : str, default=None
        Experiment of a questionnaire file; needed where it has several.
    item_max : float, default=None
        Largest possible error of an item, for normalised losses. Questionnaires have their own.
    mapping : mapping of str to str, default=None
        Canonical column name to column name in a table.
    delimiter : str, default=","
        Delimiter of CSV files.
    max_bytes : int, default=None
        Largest unpacked size of a gzip file; None means 1,000,000,000.

    Returns
    -------
    Items
        The items, sorted by cluster and item.

    Raises
    ------
    InputError
        If the source is not a valid run. It holds all problems that one pass can find.

    Notes
    -----
    ``confidence`` may be missing where there is another signal, and empty where ``pred`` is.

    Examples
    --------
    >>> import polars as pl
    >>> row = {"cluster_id": [2, 1], "item": ["a", "a"], "pred": [None, 3], "gt": [1, 2], "confidence": [None, 0.5]}
    >>> items = read_items(pl.DataFrame(row))
    >>> items.cluster_ids, items.pred.tolist()
    (('1', '2'), [3.0, nan])
    """
    if isinstance(source, Mapping) or _is_json(source):
        if mapping:
            raise refuse("MAPPING", "A PHQ-8 run has no columns to map. Leave the mapping out.")
        with unpacking(max_bytes):
            items = read_phq8(source if isinstance(source, Mapping) else Path(source), mode=mode)
        _refuse_other_max(items, item_max)
        return items
    if mode is not None:
        raise refuse("MODE", f"mode is {shown(mode)}, but a table has no modes. Leave mode out.")
    with unpacking(max_bytes):
        loaded = load(source, delimiter=delimiter)
    return _read_table(loaded, mapping, _checked_max(item_max))


def _is_json(source: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(source, str | os.PathLike) and str(source).lower().removesuffix(".gz").endswith(".json")


def _refuse_other_max(items: Items, item_max: float | None) -> None:
    """The largest error of a questionnaire follows from its ranges."""
    asked = items.questionnaire
    if item_max is None or asked is None or item_max == asked.item_max:
        return
    own = "PHQ-8 items" if asked.name == PHQ8.name else f"items of {shown(asked.name)}"
    first = asked.items[0]
    scored = f"scored from {first.low} to {first.high}" if asked.one_range else "scored in ranges of their own"
    raise refuse("ITEM_MAX", f"item_max is {shown(item_max)}, but {own} are {scored}. Leave it out.")


def _checked_max(item_max: float | None) -> float | None:
    if item_max is not None and not (math.isfinite(item_max) and item_max > 0):
        message = f"item_max is {shown(item_max)}. Give the largest possible error of an item, a number above 0."
        raise refuse("ITEM_MAX", message)
    return item_max


def _read_table(loaded: Loaded, mapping: Mapping[str, str] | None, item_max: float | None) -> Items:
    if "experiments" in loaded.frame.columns:
        raise refuse(
            "NOT_A_TABLE", f"{loaded.name}: this looks like a PHQ-8 run. Name the file .json to read it as one."
        )
    loaded = _unquoted_names(loaded)
    taken = {*_ITEMS, ROW, *(mapping or {}).values()}
    numbers = [c.name for c in loaded.frame.iter_columns() if c.name not in taken and holds_numbers(c)]
    further = [name for name in numbers if names_a_signal(name)]
    sure = "confidence" in loaded.frame.columns or "confidence" in (mapping or {})
    needed = tuple(name for name in _ITEMS if name != "confidence" or sure or not further)
    read = typed(loaded, _ITEMS | dict.fromkeys(further, NUMBER), mapping, needed)
    signals = (*(("confidence",) if sure else ()), *further)
    if problems := [*read.problems, *_problems(read.table, signals, item_max)]:
        raise InputError(*problems)
    return _built(loaded, read, signals, item_max, _passed_over(loaded.name, len(numbers) - len(further)))


def _unquoted_names(loaded: Loaded) -> Loaded:
    """Names of columns as they were before a result folder quoted them against spreadsheets."""
    if not loaded.delimited:
        return loaded
    names = unquoted(pl.Series(loaded.frame.columns, dtype=pl.String)).to_list()
    fresh = dict(zip(loaded.frame.columns, names, strict=True))
    return loaded if len({*names}) < len(names) else replace(loaded, frame=loaded.frame.rename(fresh))


def _passed_over(name: str, count: int) -> tuple[str, ...]:
    if not count:
        return ()
    return (f"{name}: {counted(count, 'column')} of numbers passed over, whose name is empty or cannot be a signal's.",)


def _problems(table: Table, signals: Sequence[str], item_max: float | None) -> list[Problem]:
    pred, confidence = pl.col("pred"), pl.col("confidence")
    again = pl.struct(_KEY).is_first_distinct().not_() & pl.all_horizontal(pl.col(_KEY).is_not_null())
    lacking = (confidence.is_null() | confidence.is_nan()) & pred.is_not_null()
    error = (pred - pl.col("gt")).abs()
    return [
        *missing_ids(table, _KEY),
        *item_label_problems(table),
        *table.problem("DUPLICATE_ITEM", again),
        *table.problem("PRED_NOT_FINITE", pred.is_finite().not_(), "pred"),
        *table.problem("GT_NOT_FINITE", infinite("gt"), "gt"),
        *(problem for name in ("pred", "gt") for problem in _too_large(table, name)),
        *(
            problem
            for name in signals
            for problem in table.problem("CONFIDENCE_NOT_FINITE", pl.col(name).is_infinite(), name, signal=shown(name))
        ),
        *table.problem("MISSING_CONFIDENCE", lacking),
        *([] if item_max is None else _beyond(table, error, item_max)),
    ]


def _too_large(table: Table, name: str) -> list[Problem]:
    bad = pl.col(name).is_finite() & (pl.col(name).abs() > _LARGEST)
    return table.problem("SCORE_TOO_LARGE", bad, name, column=name, largest=_LARGEST)


def _beyond(table: Table, error: pl.Expr, item_max: float) -> list[Problem]:
    return table.problem("ITEM_MAX", error.is_finite() & (error > item_max), "pred", item_max=shown(item_max))


def _built(
    loaded: Loaded, read: Typed, signals: Sequence[str], item_max: float | None, notes: tuple[str, ...]
) -> Items:
    frame = read.table.frame
    cluster_ids = by_number(frame["cluster_id"].unique())
    cluster = codes(frame["cluster_id"], cluster_ids)
    item = codes(frame["item"], by_number(frame["item"].unique()))
    order = np.lexsort((item, cluster))
    frame = frame[order]
    return Items(
        name="items" if loaded.sha256 is None else loaded.name,
        cluster=cluster[order],
        cluster_ids=cluster_ids,
        item=tuple(frame["item"]),
        pred=frame["pred"].to_numpy(),
        gt=frame["gt"].to_numpy(),
        signals={name: frame[name].to_numpy() for name in signals},
        item_max=item_max,
        sources=(Source("items", loaded.name, loaded.sha256, frame.height),),
        notes=(*read.notes, *notes),
    )
