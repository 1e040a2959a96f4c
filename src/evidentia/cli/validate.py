"""`evidentia validate`: read and check, and list every problem."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from evidentia.cli import options
from evidentia.cli.source import failed_checks, problems_of, refuse
from evidentia.errors import InputWarning, counted


def validate(
    run: Annotated[Path | None, typer.Argument(help="The run: CSV, Parquet or JSONL, also gzipped.")] = None,
    candidates: options.CandidatesFile = None,
    mapping: options.Mapped = None,
    card: options.Card = None,
    qrels: options.Qrels = None,
    trec_run: options.TrecRun = None,
    delimiter: options.Delimiter = ",",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    allow_disjoint: options.AllowDisjoint = False,
) -> None:
    """Read a run and list every problem found, not just the first; nothing is written.

    Exit codes: 0 fine, 1 readable but a check fails (counts of the card, skipped queries that return sentences), 2 bad input.
    """
    with warnings.catch_warnings(record=True) as caught:
        problems = problems_of(
            run,
            candidates=candidates,
            mapping=mapping,
            delimiter=delimiter,
            card=card,
            qrels=qrels,
            trec_run=trec_run,
            allow_disjoint=allow_disjoint,
        )
    refuse(problems)
    warned = [str(warning.message) for warning in caught if issubclass(warning.category, InputWarning)]
    for words in warned:
        print(f"warning: {words}", file=sys.stderr)
    run_checks = failed_checks(run, candidates=candidates, mapping=mapping, delimiter=delimiter, card=card)
    for check in run_checks:
        print(f"{check.code}: {check.message}", file=sys.stderr)
    if run_checks:
        print(f"evidentia: {counted(len(run_checks), 'check')} failed; the run can be evaluated.", file=sys.stderr)
        raise typer.Exit(1)
    print(f"No errors found, {counted(len(warned), 'warning')}." if warned else "No problems found.")
