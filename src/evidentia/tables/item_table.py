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
from evidentia.tables.cells import NUMBER, TEXT, holds_numbers, unquoted
from evidentia.tables.checks import missing_ids, not_finite
from evidentia.tables.columns import Typed, typed
from evidentia.tables.damage import refuse
from evidentia.tables.files import Loaded, load
from evidentia.tables.items import Items, names_a_signal
from evidentia.tables.labels import item_label_problems
from evidentia.tables.limits import unpacking
from evidentia.tables.order import by_number
from evidentia.tables.phq8 import read_phq8
from evidentia.tables.phq8_results import HIGHEST_SCORE
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

    A JSON file (gzip too), or the mapping it was parsed to, is a PHQ-8 run; ``mode`` chooses one of its experiments.
    A CSV, TSV, Parquet or JSONL file (gzip too) or a data frame has one row per item: cluster_id, item, pred (empty
    where it abstained), gt and confidence; every further column of numbers is a further signal, and where there is one,
    confidence may be missing. ``item_max`` is the largest possible error, by which normalised losses are divided.
    ``mapping``, ``delimiter`` and ``max_bytes`` are those of read_run.

    >>> row = {"cluster_id": [2, 1], "item": ["a", "a"], "pred": [None, 3], "gt": [1, 2], "confidence": [None, 0.5]}
    >>> items = read_items(pl.DataFrame(row))
    >>> items.cluster_ids, items.pred.tolist()
    (('1', '2'), [3.0, nan])
    """
    if isinstance(source, Mapping) or _is_json(source):
        _refuse_for_phq8(item_max, mapping)
        with unpacking(max_bytes):
            return read_phq8(source if isinstance(source, Mapping) else Path(source), mode=mode)
    if mode is not None:
        raise refuse("MODE", f"mode is {shown(mode)}, but a table has no modes. Leave mode out.")
    with unpacking(max_bytes):
        loaded = load(source, delimiter=delimiter)
    return _read_table(loaded, mapping, _checked_max(item_max))


def _is_json(source: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(source, str | os.PathLike) and str(source).lower().removesuffix(".gz").endswith(".json")


def _refuse_for_phq8(item_max: float | None, mapping: Mapping[str, str] | None) -> None:
    if item_max is not None and item_max != HIGHEST_SCORE:
        message = f"item_max is {shown(item_max)}, but PHQ-8 items are scored from 0 to {HIGHEST_SCORE}. Leave it out."
        raise refuse("ITEM_MAX", message)
    if mapping:
        raise refuse("MAPPING", "A PHQ-8 run has no columns to map. Leave the mapping out.")


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
    return [
        *missing_ids(table, _KEY),
        *item_label_problems(table),
        *_duplicates(table),
        *_wrong_pred(table),
        *not_finite(table, "gt", "GT_NOT_FINITE"),
        *_too_large(table),
        *_wrong_confidence(table, signals),
        *_beyond(table, item_max),
    ]


def _duplicates(table: Table) -> list[Problem]:
    if not table.has(*_KEY):
        return []
    named = pl.all_horizontal(pl.col(_KEY).is_not_null())
    bad = table.rows(pl.struct(_KEY).is_first_distinct().not_() & named)
    fault = "repeating the cluster_id and item of an earlier row"
    return table.problem("DUPLICATE_ITEM", bad, fault, "Keep one row per item of a cluster.")


def _wrong_pred(table: Table) -> list[Problem]:
    if not table.has("pred"):
        return []
    bad = table.rows(pl.col("pred").is_finite().not_())
    remedy = "Write a finite number, or leave the cell empty where the predictor abstained."
    return table.problem("PRED_NOT_FINITE", bad, "whose pred is NaN or infinite", remedy, "pred")


def _too_large(table: Table) -> list[Problem]:
    problems: list[Problem] = []
    for name in (name for name in ("pred", "gt") if table.has(name)):
        bad = table.rows(pl.col(name).is_finite() & (pl.col(name).abs() > _LARGEST))
        remedy = "Write the scores on another scale."
        problems += table.problem("SCORE_TOO_LARGE", bad, f"whose {name} is beyond {_LARGEST:g}", remedy, name)
    return problems


def _wrong_confidence(table: Table, signals: Sequence[str]) -> list[Problem]:
    problems: list[Problem] = []
    for name in (name for name in signals if table.has(name)):
        bad = table.rows(pl.col(name).is_infinite())
        remedy = "Write a finite number; higher is more confident."
        problems += table.problem("CONFIDENCE_NOT_FINITE", bad, f"whose {shown(name)} is infinite", remedy, name)
    if not table.has("pred", "confidence"):
        return problems
    lacking = pl.col("confidence").is_null() | pl.col("confidence").is_nan()
    bad = table.rows(lacking & pl.col("pred").is_not_null())
    remedy = "Only a row without pred may lack a confidence: give every predicted row one."
    return problems + table.problem("MISSING_CONFIDENCE", bad, "with a pred but without a confidence", remedy)


def _beyond(table: Table, item_max: float | None) -> list[Problem]:
    if item_max is None or not table.has("pred", "gt"):
        return []
    error = (pl.col("pred") - pl.col("gt")).abs()
    bad = table.rows(error.is_finite() & (error > item_max))
    remedy = "item_max is the largest possible error: give a larger one, or correct the scores."
    return table.problem("ITEM_MAX", bad, f"whose error is more than item_max ({shown(item_max)})", remedy, "pred")


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
