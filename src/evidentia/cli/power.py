"""`evidentia power`: how many posts a target needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.source import read_source


def power(
    target: Annotated[str, option("--target", "For example 'ScreeningSensitivity>=0.995'.")],
    run: Annotated[Path | None, argument("A run, for its own rate and clustering.")] = None,
    confidence: Annotated[float, option("--confidence", "Confidence of the certificate.")] = 0.95,
    wanted: Annotated[float, option("--power", "How likely the certificate should be obtained.")] = 0.8,
    profile: options.ProfileName = "contract",
    mapping: options.RunMapped = None,
    delimiter: options.Delimiter = ",",
    list_sep: options.ListSep = None,
    uids: options.Uids = "run",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
) -> None:
    """Say how many posts are needed to certify a target and, given a run, whether it can be certified on it."""
    from evidentia.evaluation.power import power_report
    from evidentia.report.tuning_console import print_power

    source = None
    if run is not None:
        source = read_source(
            run, mapping=mapping, delimiter=delimiter, list_sep=list_sep, uids=uids, allow_disjoint=True
        )
    print_power(power_report(target, run=source, confidence=confidence, power=wanted, profile=profile))
