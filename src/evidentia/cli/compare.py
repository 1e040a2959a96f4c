"""`evidentia compare`: paired differences on the same queries and the same resamples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from evidentia.cli import options
from evidentia.cli.evaluate import command_line
from evidentia.cli.progress import progress_bar
from evidentia.errors import InputError


def compare(
    results: Annotated[
        list[Path], typer.Argument(help="Results of `evidentia evaluate` or `run`; the first is the baseline.")
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures", metavar="NAMES", help="Only these, for example AUROC,nDCG@10; default those of the results."
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Which definitions; default that of the results.")
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", help="Bootstrap resamples of posts.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resamples.")] = 7,
    ci: Annotated[float, typer.Option("--ci", help="Level of the intervals.")] = 0.95,
    alpha: Annotated[float, typer.Option("--alpha", help="Largest corrected p that counts as a difference.")] = 0.05,
    on_mismatch: Annotated[
        str,
        typer.Option(
            "--on-mismatch", help="Other queries in one result: 'error', or 'intersect' to compare what is shared."
        ),
    ] = "error",
    successive: Annotated[
        bool,
        typer.Option("--successive", help="Compare each result with the one before it, as the steps of an ablation."),
    ] = False,
    no_report: options.NoReport = False,
    force: options.Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the comparison, as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="OUT", help="Folder for the comparison.")] = None,
) -> None:
    """Compare results: deltas with intervals, corrected p values and a verdict per measure and criterion."""
    from evidentia import workflow
    from evidentia.report.console import print_comparison
    from evidentia.results import dumps_by_line

    with progress_bar("resampling", quiet=quiet or as_json) as progress:
        comparison = workflow.compare(
            *map(options.result_of, results),
            measures=options.listed(measures) or None,
            profile=profile,
            resamples=resamples,
            seed=seed,
            ci=ci,
            alpha=alpha,
            on_mismatch=policy(on_mismatch),
            successive=successive,
            out=out,
            force=force,
            command=command_line(sys.argv[1:]),
            report=False if no_report else None,
            progress=progress,
        )
    if as_json:
        sys.stdout.write(dumps_by_line(comparison.to_dict(), ("deltas",)))
    elif not quiet:
        print_comparison(comparison, out)


def policy(name: str) -> Literal["error", "intersect"]:
    """What to do when the runs do not hold the same."""
    if name == "error":
        return "error"
    if name == "intersect":
        return "intersect"
    raise InputError("--on-mismatch must be error or intersect.")
