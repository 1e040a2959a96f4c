"""`evidentia table`: a table for a paper, of one result or of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar


def table(
    results: Annotated[list[Path], argument("Results of `evidentia evaluate` or `run`; the first is the baseline.")],
    out: Annotated[Path, option("-o --out OUT", "File (.tex, .md, .csv, .html, .xlsx), or folder for several.")],
    rows: Annotated[
        list[str] | None, option("--rows NAMES", "Measures, for example AUROC,nDCG@10; default the main ones.")
    ] = None,
    columns: Annotated[
        str | None, option("--columns", "systems, criteria or folds; default systems, criteria for one result.")
    ] = None,
    formats: Annotated[
        list[str] | None, option("--format LIST", "latex, md, csv, html, xlsx; default that of the ending, or latex.")
    ] = None,
    names: Annotated[list[str] | None, option("--names NAMES", "What to call the results, in their order.")] = None,
    resamples: Annotated[int, option("--resamples", "Bootstrap resamples of posts, for the tests.")] = 10_000,
    seed: options.SampleSeed = 7,
    alpha: options.Alpha = 0.05,
    force: Annotated[bool, option("--force", "Replace files of these names.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a table for a paper: values with intervals, the best in bold, marks of significance, notes.

    Exit codes: 0 done, 2 bad input.
    """
    from evidentia import workflow
    from evidentia.report.paper import COLUMNS
    from evidentia.report.paper_formats import files_for, write_paper

    files = files_for(out, options.listed(formats), force=force)
    with progress_bar("resampling", quiet=quiet) as progress:
        paper_table = workflow.tabulate(
            [options.result_of(folder) for folder in results],
            rows=options.listed(rows),
            columns=None if columns is None else options.choice("--columns", columns, COLUMNS),
            names=None if names is None else options.listed(names),
            resamples=resamples,
            seed=seed,
            alpha=alpha,
            progress=progress,
        )
    write_paper(paper_table, files)
    if not quiet:
        print(f"the table is in {', '.join(str(path) for path in files.values())}")
