"""`evidentia tune`: thresholds and calibrators from TUNE rows, with the posts they were tuned on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.source import read_source
from evidentia.errors import InputError, typed

if TYPE_CHECKING:
    from evidentia.protocol import Choices

CALIBRATORS = ("auto", "none", "temperature", "platt", "beta", "isotonic")


def tune(
    run: Annotated[Path, argument("A run with TUNE rows (a split column).")],
    out: Annotated[Path, option("-o --out FILE", "File for the thresholds, JSON.")],
    rule: Annotated[
        str | None, option("--rule", "fpr=0.05 (the default), max-f1, max-mcc, youden or fixed=0.5: one threshold.")
    ] = None,
    three_state: Annotated[
        bool, option("--three-state", "tau_neg and tau_pos: least work within the targets.")
    ] = False,
    targets: Annotated[
        list[str] | None, option("--targets LIST", "For example 'ScreeningSensitivity>=0.98,AlertPrecision>=0.8'.")
    ] = None,
    certify: Annotated[
        bool, option("--certify", "With a guarantee about posts, where there are enough of them.")
    ] = False,
    delta: Annotated[float, option("--delta", "Risk of each certificate.")] = 0.05,
    calibrate: Annotated[str, option("--calibrate", f"{', '.join(CALIBRATORS)}.")] = "none",
    seed: Annotated[int, option("--seed", "Seed of the inner folds of posts.")] = 7,
    rows: options.TuneFile = None,
    mapping: options.RunMapped = None,
    delimiter: options.Delimiter = ",",
    list_sep: options.ListSep = None,
    uids: options.Uids = "run",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    force: Annotated[bool, option("--force", "Replace FILE if it holds earlier thresholds.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose thresholds on the TUNE rows of every fold, for `evidentia evaluate RUN --thresholds FILE`.

    Targets that cannot be met on TUNE are no error: the nearest point is taken, and what it misses is said and written.
    """
    from evidentia import protocol
    from evidentia.report.tuning_console import print_tuning

    choices = _choices(rule, three_state, options.listed(targets), certify, delta, calibrate, seed)
    protocol.ensure_tuning_writable(out, force=force)
    source = read_source(
        run,
        tune=rows,
        mapping=mapping,
        delimiter=delimiter,
        list_sep=list_sep,
        uids=uids,
        allow_disjoint=True,
        quiet=quiet,
    )
    tuning = protocol.tune(source, choices)
    protocol.write_tuning(out, tuning, force=force)
    if not quiet:
        print_tuning(tuning, out, defaults=protocol.unnamed_targets(options.listed(targets)))


def _choices(
    rule: str | None,
    three_state: bool,
    targets: tuple[str, ...],
    certify: bool,
    delta: float,
    calibrate: str,
    seed: int,
) -> Choices:
    """The choices that the options stand for; options that say nothing about each other are refused."""
    from evidentia.protocol import Choices, parse_rule, parse_targets

    if three_state and rule is not None:
        raise InputError("--rule chooses one threshold and --three-state two. Give one of them.")
    if not three_state and (targets or certify):
        raise InputError("--targets and --certify are about a three-state gate. Add --three-state.")
    if calibrate not in CALIBRATORS:
        raise InputError(f"There is no calibrator {typed(calibrate)}. Choose one of: {', '.join(CALIBRATORS)}.")
    single = None if three_state else parse_rule(rule or "fpr=0.05")
    return Choices(single, parse_targets(targets), certify, delta, calibrate, seed)
