"""`evidentia compare`: paired differences on the same queries and the same resamples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.evaluate import command_line
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar


def compare(
    results: Annotated[list[Path], argument("Results of `evidentia evaluate` or `run`; the first is the baseline.")],
    measures: Annotated[
        list[str] | None,
        option("--measures NAMES", "For example AUROC,nDCG@10, or all that the results report; default the main ones."),
    ] = None,
    profile: Annotated[str | None, option("--profile", "Which definitions; default that of the results.")] = None,
    resamples: Annotated[int | None, option("--resamples", "Bootstrap resamples of posts; default 10,000.")] = None,
    seed: Annotated[int | None, option("--seed", "Seed of the resamples; default 7.")] = None,
    ci: options.Level = 0.95,
    bootstrap: options.Bootstrap = "auto",
    alpha: options.Alpha = 0.05,
    on_mismatch: Annotated[
        str, option("--on-mismatch", "Other queries in one result: 'error', or 'intersect' to compare what is shared.")
    ] = "error",
    successive: Annotated[
        bool, option("--successive", "Compare each result with the one before it, as the steps of an ablation.")
    ] = False,
    fail_on: Annotated[str | None, option("--fail-on loss", "Exit with 1 where a system loses a measure.")] = None,
    no_report: options.NoReport = False,
    force: options.Force = False,
    as_json: Annotated[bool, option("--json", "Print only the comparison, as JSON.")] = False,
    quiet: options.Quiet = False,
    out: Annotated[Path | None, option("-o --out OUT", "Folder for the comparison.")] = None,
) -> None:
    """Compare results: deltas with intervals, corrected p values and a verdict per measure and criterion.

    Exit codes: 0 done, 1 a loss (with --fail-on loss; everything is written), 2 bad input.
    """
    from evidentia import workflow
    from evidentia.report.console import print_comparison
    from evidentia.results import dumps_by_line

    verdict = None if fail_on is None else options.choice("--fail-on", fail_on, ("loss",))
    with progress_bar("resampling", quiet=quiet or as_json) as progress:
        comparison = workflow.compare(
            *map(options.result_of, results),
            measures=options.listed(measures) or None,
            profile=profile,
            resamples=resamples,
            seed=seed,
            ci=ci,
            bootstrap=options.choice("--bootstrap", bootstrap, options.BOOTSTRAPS),
            alpha=alpha,
            on_mismatch=options.choice("--on-mismatch", on_mismatch, options.MISMATCHES),
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
    options.exit_unless(verdict is None or all(delta.verdict != verdict for delta in comparison.deltas))
