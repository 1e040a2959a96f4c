"""`evidentia selective`: judge a predictor that may abstain, alone or against another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from evidentia.cli import options
from evidentia.cli.evaluate import command_line, save_and_show
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar
from evidentia.errors import InputError, typed


def selective(
    run: Annotated[Path, argument("A PHQ-8 run (JSON), or a table: cluster_id, item, pred, gt, confidence.")],
    seed: Annotated[int, option("--seed", "Seed of the resamples; there is no default.")],
    out: options.Out = None,
    mode: Annotated[str | None, option("--mode", "Which experiment of the file.")] = None,
    against: Annotated[Path | None, option("--against OTHER", "A second run; differences are RUN minus OTHER.")] = None,
    against_mode: Annotated[
        str | None, option("--against-mode", "Which experiment of the second run; without --against, of the same file.")
    ] = None,
    confidence: Annotated[
        list[str] | None, option("--confidence SIGNAL", "Rank by this signal. Repeatable; 'all' ranks all of them.")
    ] = None,
    coverage: Annotated[list[str] | None, option("--coverage LIST", "Coverages to match: 0.1,0.2,...")] = None,
    loss: Annotated[
        str | None, option("--loss", "One loss for all measures: abs, abs_norm, zero_one or squared.")
    ] = None,
    item_max: Annotated[
        float | None, option("--item-max", "Largest possible error of an item of a table, for abs_norm.")
    ] = None,
    measures: Annotated[
        list[str] | None, option("--measures NAMES", "Only these, for example AURC,MAE@coverage=0.5.")
    ] = None,
    mapping: options.Mapped = None,
    delimiter: options.Delimiter = ",",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    resamples: Annotated[
        int, option("--resamples", "Bootstrap resamples of participants; 0 turns intervals off.")
    ] = 10_000,
    ci: options.Level = 0.95,
    ci_method: Annotated[str, option("--ci-method", "percentile or bca.")] = "percentile",
    bootstrap: options.Bootstrap = "auto",
    alpha: options.Alpha = 0.05,
    on_mismatch: Annotated[
        str, option("--on-mismatch", "Other participants in one run: 'error', or 'intersect' to compare the shared.")
    ] = "error",
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
            ci_method=options.choice("--ci-method", ci_method, options.AREA_INTERVALS),
            bootstrap=options.choice("--bootstrap", bootstrap, options.BOOTSTRAPS),
            alpha=alpha,
            on_mismatch=options.choice("--on-mismatch", on_mismatch, options.MISMATCHES),
            command=command_line(sys.argv[1:]),
            report=False if no_report else None,
            progress=progress,
        )
    save_and_show(evaluation, out, force=force, as_json=as_json, quiet=quiet, everything=bool(measures))


def _lists(**lists: list[str] | None) -> dict[str, Any]:
    """The options that are lists, None where they were left out; one that names nothing is a mistake."""
    listed = {name: options.listed(values) or None for name, values in lists.items()}
    for name, values in lists.items():
        if values and not listed[name]:
            raise InputError(f"--{name} names nothing. Leave it out for the usual ones.")
    return listed
