"""`evidentia selective`: judge a predictor that may abstain, alone or against another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evidentia.cli import options
from evidentia.cli.compare import policy
from evidentia.cli.evaluate import command_line
from evidentia.cli.progress import progress_bar
from evidentia.cli.source import selective_method
from evidentia.errors import InputError, typed

if TYPE_CHECKING:
    from evidentia.results import Evaluation


def selective(
    run: Annotated[
        Path, typer.Argument(help="A PHQ-8 run (JSON), or a table: cluster_id, item, pred, gt, confidence.")
    ],
    seed: options.Seed,
    out: options.Out = None,
    mode: options.Mode = None,
    against: options.Against = None,
    against_mode: options.AgainstMode = None,
    confidence: options.Confidences = None,
    coverage: options.Coverages = None,
    loss: options.Loss = None,
    item_max: options.ItemMax = None,
    measures: options.SelectiveMeasures = None,
    mapping: options.Mapped = None,
    delimiter: options.Delimiter = ",",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    resamples: options.ParticipantResamples = 10_000,
    ci: options.Level = 0.95,
    ci_method: options.IntervalMethod = "percentile",
    alpha: options.Alpha = 0.05,
    on_mismatch: options.OtherParticipants = "error",
    no_report: options.NoReport = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate a predictor that may abstain: risk-coverage areas, matched coverage, and paired differences."""
    from evidentia import selective as library
    from evidentia.tables import read_items
    from evidentia.workflow import ensure_writable

    if out is not None:
        ensure_writable(out, force=force)
    lists = _lists(confidence=confidence, coverage=coverage, measures=measures)
    columns = options.mapping_of(mapping) or None

    def read(path: Path, chosen: str | None) -> object:
        return read_items(path, mode=chosen, item_max=item_max, mapping=columns, delimiter=delimiter)

    other = against or (run if against_mode is not None else None)
    if other is not None and mode is not None and mode == against_mode and other.resolve() == run.resolve():
        raise InputError(
            f"--mode and --against-mode both name {typed(mode)} of {run.name}: a run would be compared with itself. "
            "Name another experiment with --against-mode."
        )
    with progress_bar("resampling", quiet=quiet or as_json) as progress:
        evaluation = library.evaluate(
            read(run, mode),
            against=None if other is None else read(other, against_mode),
            **lists,
            loss=loss,
            resamples=resamples,
            seed=seed,
            ci=ci,
            ci_method=selective_method(ci_method),
            alpha=alpha,
            on_mismatch=policy(on_mismatch),
            command=command_line(sys.argv[1:]),
            report=False if no_report else None,
            progress=progress,
        )
    if out is not None:
        with progress_bar("writing", quiet=quiet or as_json):
            evaluation.save(out, force=force)
    _say(evaluation, out, as_json=as_json, quiet=quiet, everything=bool(measures))


def _lists(**given: list[str] | None) -> dict[str, Any]:
    """The options that are lists, None where they were left out; one that names nothing is a mistake."""
    listed = {name: options.listed(values) or None for name, values in given.items()}
    for name, values in given.items():
        if values and not listed[name]:
            raise InputError(f"--{name} names nothing. Leave it out for the usual ones.")
    return listed


def _say(evaluation: Evaluation, out: Path | None, *, as_json: bool, quiet: bool, everything: bool) -> None:
    """Print the result as it was asked for; a check that failed fails the command."""
    from evidentia.report.selective_console import print_selective

    if as_json:
        sys.stdout.write(evaluation.to_json())
    elif not quiet:
        print_selective(evaluation, out, everything=everything)
    if not evaluation.passed:
        raise typer.Exit(1)
