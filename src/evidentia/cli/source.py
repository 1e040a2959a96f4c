"""Reading what a command was pointed at: a run table, or TREC files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evidentia.cli import options
from evidentia.errors import InputError, Problem, counted

if TYPE_CHECKING:
    from evidentia.tables import Run


def refuse(problems: Sequence[Problem]) -> None:
    """Print every problem and stop with 2; nothing where there is none."""
    for problem in problems:
        print(f"{problem.code}: {problem.message}", file=sys.stderr)
    if problems:
        print(f"evidentia: {counted(len(problems), 'problem')} found.", file=sys.stderr)
        raise typer.Exit(2)


def read_source(
    run: Path | None,
    *,
    candidates: Path | None = None,
    tune: Path | None = None,
    mapping: list[str] | None = None,
    delimiter: str = ",",
    list_sep: str | None = None,
    uids: str = "run",
    card: str | None = None,
    by: list[str] | None = None,
    qrels: Path | None = None,
    trec_run: Path | None = None,
    ties: str = "input",
    allow_disjoint: bool = False,
    quiet: bool = False,
) -> Run:
    """The run that the arguments name; an error says which combination is meant."""
    from evidentia.tables import load_card, read_run, read_trec

    if run is not None and (qrels is not None or trec_run is not None):
        raise InputError("Give either a run table or --qrels with --run, not both.")
    order = options.choice("--ties", ties, options.TIES)
    if run is not None and order != "input":
        raise InputError(
            "--ties applies to TREC files only; a table's rankings are read in the order they are written."
        )
    if run is not None:
        is_auto = options.listed(mapping) == ("auto",)
        source = read_run(
            run,
            candidates=candidates,
            tune=tune,
            mapping="auto" if is_auto else options.mapping_of(mapping),
            delimiter=delimiter,
            list_sep=list_sep,
            uids=options.choice("--uids", uids, options.UIDS),
            card=None if card is None else load_card(card),
            by=options.listed(by),
            allow_disjoint=allow_disjoint,
        )
        if is_auto and not quiet:
            print(f"evidentia: {source.notes[0]}", file=sys.stderr)
        return source
    if qrels is None or trec_run is None:
        raise InputError("Give a run table, or --qrels FILE together with --run FILE.")
    if by or mapping or candidates or tune or card or list_sep or uids != "run":
        raise InputError("--map, --by, --candidates, --tune, --card, --list-sep and --uids do not apply to TREC files.")
    return read_trec(qrels, trec_run, ties=order, allow_disjoint=allow_disjoint)


def group_columns(names: Sequence[str]) -> list[str]:
    """The columns that measure names ask for in their groups, beyond those that every run has."""
    from evidentia.measures import parse_name

    standard = {"fold", "criterion", "state", "has_evidence"}
    groups = (parse_name(name).group for name in names if "[" in name)
    return [column for group in groups for column, _ in group if column not in standard]
