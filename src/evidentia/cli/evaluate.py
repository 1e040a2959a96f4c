"""`evidentia evaluate`: every number of a profile for a run on disk."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evidentia.cli import options
from evidentia.cli.progress import progress_bar
from evidentia.cli.source import group_columns, interval_method, read_source
from evidentia.errors import InputError

if TYPE_CHECKING:
    from evidentia.results import Evaluation


def evaluate(
    run: Annotated[Path | None, typer.Argument(help="The run: CSV, Parquet or JSONL, also gzipped.")] = None,
    candidates: options.CandidatesFile = None,
    tune: options.TuneFile = None,
    mapping: options.Mapped = None,
    profile: options.ProfileName = "contract",
    dual: Annotated[
        bool, typer.Option("--dual", help="Ranking measures over all queries beside the positives.")
    ] = False,
    measures: Annotated[
        list[str] | None, typer.Option("--measures", metavar="NAMES", help="Only these, for example AUROC,nDCG@10.")
    ] = None,
    by: options.By = None,
    card: options.Card = None,
    thresholds: Annotated[
        Path | None,
        typer.Option("--thresholds", metavar="FILE", help="Apply what `evidentia tune` chose, fold by fold."),
    ] = None,
    k: Annotated[
        list[str] | None, typer.Option("--k", metavar="LIST", help="Depths of ranking measures: 1,5,10.")
    ] = None,
    qrels: options.Qrels = None,
    trec_run: options.TrecRun = None,
    ties: options.Ties = "input",
    delimiter: options.Delimiter = ",",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    allow_disjoint: options.AllowDisjoint = False,
    resamples: Annotated[
        int, typer.Option("--resamples", help="Bootstrap resamples of posts; 0 turns intervals off.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resamples.")] = 7,
    ci: Annotated[float, typer.Option("--ci", help="Level of the intervals.")] = 0.95,
    ci_method: Annotated[
        str, typer.Option("--ci-method", help="auto (the best for each measure), percentile or bca.")
    ] = "auto",
    stratify: Annotated[bool, typer.Option("--stratify", help="Resample within folds.")] = False,
    no_report: options.NoReport = False,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is an earlier result.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="OUT", help="Folder for the result.")] = None,
) -> None:
    """Evaluate a run: every measure, under a named definition, with folds and groups.

    Exit codes: 0 done, 1 a check failed (everything is written and marked), 2 bad input.
    """
    from evidentia import workflow
    from evidentia.measures import profile_named

    if out is not None:
        workflow.ensure_writable(out, force=force)
    profile_named(profile)  # a wrong name should not cost the reading of a large run
    named = options.listed(measures)
    if measures and not named:
        raise InputError("--measures names nothing. Leave it out for all measures of the profile.")
    source = read_source(
        run,
        candidates=candidates,
        tune=tune,
        mapping=mapping,
        delimiter=delimiter,
        card=card,
        by=[*options.listed(by), *group_columns(named)],
        qrels=qrels,
        trec_run=trec_run,
        ties=ties,
        allow_disjoint=allow_disjoint,
    )
    with progress_bar("resampling", quiet=quiet or as_json) as progress:
        evaluation = workflow.evaluate(
            source,
            profile=profile,
            measures=named or None,
            by=options.listed(by),
            k=options.depths(k),
            dual=dual,
            thresholds=thresholds,
            resamples=resamples,
            seed=seed,
            ci=ci,
            ci_method=interval_method(ci_method),
            stratify=stratify,
            command=command_line(sys.argv[1:]),
            reading={
                "map": options.mapping_of(mapping),
                "delimiter": delimiter,
                "ties": ties,
                "card": card and Path(card).name,
            },
            report=False if no_report else None,
            progress=progress,
        )
    if out is not None:
        with progress_bar("writing", quiet=quiet or as_json):
            evaluation.save(out, force=force)
    show(evaluation, out, as_json=as_json, quiet=quiet, named=bool(named))
    if not evaluation.passed:
        raise typer.Exit(1)


def show(evaluation: Evaluation, out: Path | None, *, as_json: bool, quiet: bool, named: bool = False) -> None:
    """Print the result for a person, or as JSON for a program."""
    from evidentia.report.console import print_summary

    if as_json:
        sys.stdout.write(evaluation.to_json())
    elif not quiet:
        print_summary(evaluation, out, everything=named)


def command_line(arguments: list[str]) -> str:
    """The command as it was given, with file names only and OUT for the folder: no path of a machine.

    >>> command_line(["evaluate", "run.csv", "-o", "/tmp/x", "--by", "w/m"])
    'evidentia evaluate run.csv -o OUT --by w/m'
    """
    words: list[str] = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if before in {"-o", "--out"}:
            words.append("OUT")
        elif argument.startswith("--out="):
            words.append("--out=OUT")
        elif argument.startswith("-o") and not argument.startswith("--") and argument != "-o":
            words.append("-oOUT")
        else:
            option, equals, value = argument.partition("=")
            attached = argument.startswith("--") and equals
            words.append(f"{option}={_file_name(value)}" if attached else _file_name(argument))
    return " ".join(["evidentia", *(shlex.quote(word) for word in words)])


def _file_name(word: str) -> str:
    """The name of what exists; anything else is not a path."""
    try:
        return Path(word).name if word and Path(word).exists() else word
    except OSError:  # too long to be a path
        return word
