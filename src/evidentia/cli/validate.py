"""`evidentia validate`: read and check, and list every problem."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evidentia.cli import options
from evidentia.cli.source import problems_of
from evidentia.errors import counted


def validate(
    run: Annotated[Path | None, typer.Argument(help="The run: CSV, Parquet or JSONL, also gzipped.")] = None,
    candidates: options.CandidatesFile = None,
    mapping: options.Mapped = None,
    card: options.Card = None,
    qrels: options.Qrels = None,
    trec_run: options.TrecRun = None,
    delimiter: options.Delimiter = ",",
) -> None:
    """Read a run and list every problem found, not just the first; nothing is written."""
    problems = problems_of(
        run,
        candidates=candidates,
        mapping=mapping,
        delimiter=delimiter,
        card=card,
        qrels=qrels,
        trec_run=trec_run,
    )
    for problem in problems:
        print(f"{problem.code}: {problem.message}", file=sys.stderr)
    if problems:
        print(f"evidentia: {counted(len(problems), 'problem')} found.", file=sys.stderr)
        raise typer.Exit(2)
    print("No problems found.")
