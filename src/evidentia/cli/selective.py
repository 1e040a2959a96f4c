"""`evidentia selective`: judge a predictor that may abstain, alone or against another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evidentia.cli import options
from evidentia.cli.compare import policy
from evidentia.cli.evaluate import command_line
from evidentia.cli.progress import progress_bar
from evidentia.cli.source import interval_method
from evidentia.errors import InputError


def selective(
    run: Annotated[
        Path, typer.Argument(help="A PHQ-8 run (JSON), or a table: cluster_id, item, pred, gt, confidence.")
    ],
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resamples; there is no default.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="OUT", help="Folder for the result.")] = None,
    mode: Annotated[str | None, typer.Option("--mode", help="Which experiment of the file.")] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="OTHER", help="A second run; differences are RUN minus OTHER.")
    ] = None,
    against_mode: Annotated[
        str | None,
        typer.Option("--against-mode", help="Which experiment of the second run; without --against, of the same file."),
    ] = None,
    confidence: Annotated[
        list[str] | None,
        typer.Option(
            "--confidence", metavar="SIGNAL", help="Rank by this signal. Repeatable; 'all' ranks all of them."
        ),
    ] = None,
    coverage: Annotated[
        list[str] | None, typer.Option("--coverage", metavar="LIST", help="Coverages to match: 0.1,0.2,...")
    ] = None,
    loss: Annotated[
        str | None, typer.Option("--loss", help="One loss for all measures: abs, abs_norm, zero_one or squared.")
    ] = None,
    item_max: Annotated[
        float | None, typer.Option("--item-max", help="Largest possible error of an item of a table, for abs_norm.")
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", metavar="NAMES", help="Only these, for example AURC,MAE@coverage=0.5."),
    ] = None,
    mapping: options.Mapped = None,
    delimiter: options.Delimiter = ",",
    resamples: Annotated[
        int, typer.Option("--resamples", help="Bootstrap resamples of participants; 0 turns intervals off.")
    ] = 10_000,
    ci: Annotated[float, typer.Option("--ci", help="Level of the intervals.")] = 0.95,
    ci_method: Annotated[str, typer.Option("--ci-method", help="percentile or bca.")] = "percentile",
    alpha: Annotated[float, typer.Option("--alpha", help="Largest corrected p that counts as a difference.")] = 0.05,
    on_mismatch: Annotated[
        str,
        typer.Option(
            "--on-mismatch", help="Other participants in one run: 'error', or 'intersect' to compare the shared."
        ),
    ] = "error",
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is an earlier result.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Evaluate a predictor that may abstain: risk-coverage areas, matched coverage, and paired differences."""
    from evidentia import selective as library
    from evidentia.report.selective_console import print_selective
    from evidentia.tables import read_items
    from evidentia.workflow import may_write

    if out is not None:
        may_write(out, force=force)
    columns = options.mapping_of(mapping)
    lists = {"confidence": confidence, "coverage": coverage, "measures": measures}
    listed = {name: options.listed(values) or None for name, values in lists.items()}
    for name, values in lists.items():
        if values and not listed[name]:
            raise InputError(f"--{name} names nothing. Leave it out for the usual ones.")

    def read(path: Path, chosen: str | None) -> object:
        return read_items(path, mode=chosen, item_max=item_max, mapping=columns or None, delimiter=delimiter)

    other = against or (run if against_mode is not None else None)
    with progress_bar("resampling", quiet=quiet or as_json) as progress:
        evaluation = library.evaluate(
            read(run, mode),
            against=None if other is None else read(other, against_mode),
            confidence=listed["confidence"],
            coverage=listed["coverage"],
            loss=loss,
            measures=listed["measures"],
            resamples=resamples,
            seed=seed,
            ci=ci,
            ci_method=interval_method(ci_method),
            alpha=alpha,
            on_mismatch=policy(on_mismatch),
            command=command_line(sys.argv[1:]),
            progress=progress,
        )
    if out is not None:
        evaluation.save(out, force=force)
    if as_json:
        sys.stdout.write(evaluation.to_json())
    elif not quiet:
        print_selective(evaluation, out, everything=bool(measures))
    if not evaluation.passed:
        raise typer.Exit(1)
