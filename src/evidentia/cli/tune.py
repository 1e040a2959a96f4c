"""`evidentia tune`: thresholds and calibrators from TUNE rows, with the posts they were tuned on."""

from __future__ import annotations

import sys
from dataclasses import dataclass
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
    run: Annotated[Path, argument("A table with TUNE rows (a split column), or the folder of `evidentia run`.")],
    out: Annotated[Path, option("-o --out FILE", "File for the thresholds, JSON.")],
    rule: Annotated[
        str | None, option("--rule", "fpr=0.05 (the default), max-f1, max-mcc, youden or fixed=0.5: one threshold.")
    ] = None,
    three_state: Annotated[
        bool, option("--three-state", "tau_neg and tau_pos: least work within the targets.")
    ] = False,
    targets: Annotated[
        list[str] | None,
        option(
            "--targets LIST", "What counts most first: 'ScreeningSensitivity>=0.98,AlertsPer1000<=20,NegRate>=0.8'."
        ),
    ] = None,
    certify: Annotated[
        bool, option("--certify", "With a guarantee about posts, where there are enough of them.")
    ] = False,
    delta: Annotated[float, option("--delta", "Risk of each certificate.")] = 0.05,
    calibrate: Annotated[
        str | None, option("--calibrate", f"{', '.join(CALIBRATORS)}; default: none, or what the folder's run did.")
    ] = None,
    cross_fit: Annotated[
        bool, option("--cross-fit", "Without TUNE rows: choose each fold's thresholds on the other folds.")
    ] = False,
    seed: Annotated[
        int | None, option("--seed", "Seed of the inner folds of posts; default: 7, or that of the folder's run.")
    ] = None,
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

    Of the folder of a run also those of its model for use, for `evidentia predict RUN POSTS --thresholds FILE`.
    Targets that cannot be met on TUNE are no error: the nearest point is taken, and what it misses is said and written.
    """
    from evidentia import protocol
    from evidentia.pipeline.retuning import is_finished_run, read_finished_run
    from evidentia.report.tuning_console import print_tuning

    asked = Asked(rule, three_state, options.listed(targets), certify, delta, calibrate, cross_fit, seed)
    usual = asked.usual()
    protocol.ensure_tuning_writable(out, force=force)
    if is_finished_run(run):
        if rows or mapping or list_sep or cross_fit:
            raise InputError("--tune, --map, --list-sep and --cross-fit do not apply to the folder of a run.")
        finished = read_finished_run(run)
        usual = finished.choices
        tuning = finished.tune(asked.choices(usual))
        if finished.final is None and not quiet:
            print(
                "evidentia: the run kept no TUNE rows of a model for use: these thresholds are for its folds.",
                file=sys.stderr,
            )
    else:
        choices = asked.choices(usual)
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
        print_tuning(tuning, out, defaults=protocol.unnamed_targets(asked.targets, usual=usual.targets))


@dataclass(frozen=True)
class Asked:
    """What the options say, before it is known what they leave to the run."""

    rule: str | None
    three_state: bool
    targets: tuple[str, ...]
    certify: bool
    delta: float
    calibrate: str | None
    cross_fit: bool
    seed: int | None

    def __post_init__(self) -> None:
        if self.three_state and self.rule is not None:
            raise InputError("--rule chooses one threshold and --three-state two. Give one of them.")
        if self.calibrate is not None and self.calibrate not in CALIBRATORS:
            raise InputError(
                f"There is no calibrator {typed(self.calibrate)}. Choose one of: {', '.join(CALIBRATORS)}."
            )

    def usual(self) -> Choices:
        """The choices for a table where the options name none."""
        from evidentia.protocol import Choices, parse_rule

        return Choices(None if self.three_state else parse_rule("fpr=0.05"))

    def choices(self, usual: Choices) -> Choices:
        """The choices that the options stand for; options that say nothing about each other are refused."""
        from evidentia.protocol import Choices, parse_rule, parse_targets

        single = usual.rule if self.rule is None else parse_rule(self.rule)
        single = None if self.three_state else single
        if single is not None and (self.targets or self.certify):
            raise InputError("--targets and --certify are about a three-state gate. Add --three-state.")
        return Choices(
            single,
            parse_targets(self.targets, usual=usual.targets),
            self.certify,
            self.delta,
            usual.calibrate if self.calibrate is None else self.calibrate,
            usual.seed if self.seed is None else self.seed,
            self.cross_fit,
        )
