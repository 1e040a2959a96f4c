"""The canonical columns: their names, how foreign names map to them, and what is kept of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import polars as pl

from evidentia.errors import InputError, Problem, counted, shown
from evidentia.tables.cells import COUNT, FLAG, NUMBER, TEXT, UIDS, convert, unquoted
from evidentia.tables.files import Loaded
from evidentia.tables.kinds import problem
from evidentia.tables.lists import is_printed
from evidentia.tables.table import ROW, Table

PER_QUERY: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("post_id", "criterion_id", "fold", "split"), TEXT),
        **{"has_evidence": FLAG, "prob": NUMBER, "detection_score": NUMBER},
        **dict.fromkeys(("tau", "tau_neg", "tau_pos"), NUMBER),
        **dict.fromkeys(("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"), UIDS),
        **{"state": TEXT, "n_candidates": COUNT},
    }
)
CANDIDATES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("post_id", "criterion_id", "sent_uid"), TEXT),
        **{"score": NUMBER, "is_gold": FLAG},
        **dict.fromkeys(("retriever_score", "reranker_score", "graph_score", "node_prob"), NUMBER),
        **dict.fromkeys(("fold", "split"), TEXT),
    }
)
UID_COLUMNS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")


@dataclass(frozen=True, eq=False)
class Typed:
    """A table with typed columns, and what was wrong or worth a note on the way.

    ``columns`` names all that the file had; the table holds only the canonical ones and those to slice by. ``joined`` names
    the columns of uids whose cells are texts that may join several.
    """

    table: Table
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    joined: tuple[str, ...] = ()


def typed(
    loaded: Loaded,
    kinds: Mapping[str, str],
    mapping: Mapping[str, str] | None,
    required: tuple[str, ...],
    by: Sequence[str] = (),
    *,
    one_of: tuple[str, ...] = (),
    list_sep: str | None = None,
) -> Typed:
    """Rename, require and convert the columns. A column with cells of a wrong type is a problem and dropped.

    An optional column without a single value is taken as absent, and a note says so. A criterion_id that is empty
    in every row is the one nameless criterion of a table that has no criteria. Further columns may hold text, so
    they stay behind unless ``by`` names them.
    """
    own_names = loaded.frame.columns
    loaded, notes = renamed(loaded, kinds, mapping or {})
    frame, notes = loaded.frame, [*loaded.notes, *notes]
    _require(loaded.name, frame, required, one_of, own_names)
    if loaded.delimited:
        frame = frame.rename(_quoted_slices(frame.columns, by))
        texts = [column for column, kind in kinds.items() if kind in (TEXT, UIDS)]
        frame = frame.with_columns(unquoted(frame[c]) for c in {*texts, *by} if c in frame.columns)
    kept = frame.select(column for column in frame.columns if column in kinds or (column in by and column != ROW))
    table = Table(loaded.name, kept.with_row_index(ROW), loaded.place)
    problems, columns = _converted(table, kinds, list_sep)
    empty = [c.name for c in columns if c.name not in required and kinds.get(c.name) != UIDS and _is_empty(c)]
    notes += [f"{loaded.name}: the column {name} is empty and was taken as absent." for name in empty]
    good = [c for c in columns if c.name not in empty]
    lost = {*_to_convert(kept, kinds)} - {c.name for c in good}
    converted = kept.drop(lost).with_columns(good)
    problems += _unknown_slices(loaded.name, {**frame.drop(lost).schema, **converted.schema}, by)
    table = replace(table, frame=converted.with_row_index(ROW))
    cells = [kept[c] for c in UID_COLUMNS if c in converted.columns and not kept.schema[c].is_nested()]
    printed = [c.name for c in cells if c.dtype == pl.String and is_printed(c).any()]
    notes += [f"{loaded.name}: the cells of {name} are read as printed lists." for name in printed]
    joined = tuple(c.name for c in cells if c.name not in printed)
    return Typed(table, tuple(problems), tuple(notes), tuple(own_names), joined)


def _quoted_slices(columns: Sequence[str], by: Sequence[str]) -> dict[str, str]:
    """Columns to slice by that a result folder has under a quoted name, as spreadsheets would run the plain one.

    >>> _quoted_slices(["'=site", "'tis"], ["=site", "tis"])
    {"'=site": '=site'}
    """
    plain = unquoted(pl.Series(columns, dtype=pl.String)).to_list()
    named = zip(columns, plain, strict=True)
    return {quoted: name for quoted, name in named if quoted != name and name in by and name not in columns}


def _converted(table: Table, kinds: Mapping[str, str], list_sep: str | None) -> tuple[list[Problem], list[pl.Series]]:
    problems: list[Problem] = []
    columns: list[pl.Series] = []
    for name in _to_convert(table.frame, kinds):
        series, faults = convert(table, name, kinds.get(name, TEXT), list_sep)
        problems += faults
        if faults and name in ("post_id", "criterion_id", "sent_uid"):
            raise InputError(*problems)
        if name == "criterion_id" and _is_empty(series):
            series = series.fill_null("")
        if not faults:
            columns.append(series)
    return problems, columns


def _is_empty(series: pl.Series) -> bool:
    return series.null_count() == len(series)


def _to_convert(frame: pl.DataFrame, kinds: Mapping[str, str]) -> list[str]:
    """The canonical columns, and slices of a type that does not simply print as a label."""
    odd = (pl.Binary, pl.Duration, pl.Object)
    slices = [name for name, dtype in frame.schema.items() if name not in kinds and dtype in odd]
    return [*(name for name in kinds if name in frame.columns), *slices]


def _unknown_slices(name: str, schema: Mapping[str, pl.DataType], by: Sequence[str]) -> list[Problem]:
    there = [column for column, dtype in schema.items() if not dtype.is_nested() and column != ROW]
    missing = [column for column in by if column not in there]
    if not missing:
        return []
    listed, columns = ", ".join(map(shown, there)), counted(len(there), "column")
    lacking = ", ".join(map(shown, missing))
    return [problem("UNKNOWN_SLICE", name=name, missing=lacking, columns=columns, listed=listed)]


def renamed(loaded: Loaded, kinds: Mapping[str, str], mapping: Mapping[str, str]) -> tuple[Loaded, list[str]]:
    """The file with its columns under the canonical names that are mapped to them, and notes."""
    there = loaded.frame.columns
    listed = ", ".join(map(shown, there)) or "none"
    file, columns, targets = loaded.name, counted(len(there), "column"), list(mapping.values())
    problems = []
    for name, column in mapping.items():
        words = {"name": file, "canonical": name, "column": shown(column), "columns": columns, "listed": listed}
        if name not in kinds:
            problems.append(problem("MAPPING_NAME", **words | {"canonical": shown(name)}, known=", ".join(kinds)))
        elif column not in there:
            problems.append(problem("UNKNOWN_COLUMN", **words))
    for column in sorted({column for column in targets if targets.count(column) > 1}):
        names = ", ".join(name for name, target in mapping.items() if target == column)
        problems.append(problem("MAPPING_CONFLICT", name=file, column=shown(column), names=names))
    if problems:
        raise InputError(*problems)
    hidden = [name for name in mapping if name in there and name not in mapping.values()]
    notes = [f"{loaded.name}: its own column {n} was not used, because {mapping[n]} is mapped to it." for n in hidden]
    frame = loaded.frame.drop(hidden).rename({column: name for name, column in mapping.items()})
    return replace(loaded, frame=frame), notes


def _require(
    name: str, frame: pl.DataFrame, required: tuple[str, ...], one_of: tuple[str, ...], own_names: Sequence[str]
) -> None:
    missing = [column for column in required if column not in frame.columns]
    if one_of and not {*one_of} & {*frame.columns}:
        missing.append(f"{' or '.join(one_of)} (one of them is needed)")
    if missing:
        raise InputError(missing_column(name, ", ".join(missing), own_names))


def missing_column(name: str, missing: str, there: Sequence[str]) -> Problem:
    """Say which column a table lacks, and which it has."""
    hint = " Is the delimiter right?" if len(there) == 1 else ""
    if hint and ";" in there[0]:
        hint += " It may be --delimiter ';' (in Python delimiter=';')."
    columns, listed = counted(len(there), "column"), ", ".join(map(shown, there))
    return problem("MISSING_COLUMN", name=name, missing=missing, columns=columns, listed=listed, hint=hint)
