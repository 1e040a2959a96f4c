"""`evidentia validate`: read and check, and list every problem."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from evidentia.cli import options
from evidentia.cli.options import argument
from evidentia.cli.source import read_source, refuse
from evidentia.errors import InputError, InputWarning, counted


def validate(
    run: Annotated[Path | None, argument("The run: CSV, Parquet, JSONL, JSON or Excel; - is standard input.")] = None,
    candidates: options.CandidatesFile = None,
    mapping: options.RunMapped = None,
    card: options.Card = None,
    qrels: options.Qrels = None,
    trec_run: options.TrecRun = None,
    delimiter: options.Delimiter = ",",
    list_sep: options.ListSep = None,
    uids: options.Uids = "run",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    allow_disjoint: options.AllowDisjoint = False,
) -> None:
    """Read a run and list every problem found, not just the first; nothing is written.

    Exit codes: 0 fine, 1 readable but a check fails (counts of the card, skipped queries that return sentences), 2 bad input.
    """
    from evidentia.checks import check_run

    with warnings.catch_warnings(record=True) as caught:
        try:
            source = read_source(
                run,
                candidates=candidates,
                mapping=mapping,
                delimiter=delimiter,
                list_sep=list_sep,
                uids=uids,
                card=card,
                qrels=qrels,
                trec_run=trec_run,
                allow_disjoint=allow_disjoint,
            )
        except InputError as error:
            refuse(error.problems)
            raise
    warned = [str(warning.message) for warning in caught if issubclass(warning.category, InputWarning)]
    for words in warned:
        print(f"warning: {words}", file=sys.stderr)
    for note in source.notes:
        if note not in warned:
            print(f"note: {note}", file=sys.stderr)
    failed = [finding for finding in check_run(source) if finding.status == "failed"] if run is not None else []
    for finding in failed:
        print(f"{finding.code}: {finding.message}", file=sys.stderr)
    if failed:
        print(f"evidentia: {counted(len(failed), 'check')} failed; the run can be evaluated.", file=sys.stderr)
        raise typer.Exit(1)
    print(f"No errors found, {counted(len(warned), 'warning')}." if warned else "No problems found.")
