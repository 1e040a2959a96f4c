"""`evidentia verify`: recompute a result from its own files with code that shares nothing with the evaluation."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evidentia.cli.progress import progress_bar
from evidentia.errors import counted

if TYPE_CHECKING:
    from evidentia.verify.run import Verification

SHOWN = 20  # mismatches on the screen; all of them are in verification.json


def verify(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="A folder of a result, run, comparison or ablation, or a report.html alone.",
        ),
    ],
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", metavar="DIR", help="Also compare the input files in DIR with their hashes."),
    ] = None,
    include_text: Annotated[
        Path | None,
        typer.Option("--include-text", metavar="FILE", help="The sentences that `report --include-text` was given."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Write nothing, not even verification.json.")] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Replace drawings that cannot be compared: other versions drew them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the verification, as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Recompute every number, table and figure of a folder, draw its report again, and compare; an unknown file is a failure.

    Writes verification.json into OUT, unless --read-only; of a report alone it writes nothing. Exit codes: 0 everything
    matches, 1 a mismatch, an unknown file or nothing compared, 2 not a result.
    """
    from evidentia.verifying import verify_result

    start = time.perf_counter()
    if out.is_file():
        _verify_page(out, as_json=as_json, quiet=quiet)
        return
    with progress_bar("verifying", quiet=quiet or as_json) as progress:
        found = verify_result(
            out, inputs=inputs, texts=include_text, read_only=read_only, redraw=redraw, progress=progress
        )
    seconds = time.perf_counter() - start
    if as_json:
        sys.stdout.write(found.to_json())
    elif not quiet:
        show(found, seconds, written=not read_only)
    if not found.passed:
        raise typer.Exit(1)


def _verify_page(page: Path, *, as_json: bool, quiet: bool) -> None:
    """A report alone, with nothing else at hand; nothing is written."""
    from evidentia.report.page.verification import verify_page

    start = time.perf_counter()
    with progress_bar("verifying", quiet=quiet or as_json) as progress:
        made = verify_page(page, progress)
    if as_json:
        sys.stdout.write(made.found.to_json())
    elif not quiet:
        show(made.found, time.perf_counter() - start)
        for what in made.left_out:
            print(f"not in the page, so not verified: {what}")
    if not made.found.passed:
        raise typer.Exit(1)


def show(found: Verification, seconds: float, *, written: bool = False) -> None:
    """Print what was compared, what does not match, and how long it took."""
    width = max(len(check.name) for check in found.checks)
    for check in found.checks:
        wrong = f"  {counted(check.mismatches, 'mismatch', 'mismatches')}" if check.mismatches else ""
        print(f"{check.name:<{width}} {check.comparisons:>12,}{wrong}")
    for mismatch in found.mismatches[:SHOWN]:
        print(f"{mismatch.where}\n  reported   {mismatch.reported}\n  recomputed {mismatch.recomputed}")
    if len(found.mismatches) > SHOWN:
        where = " in verification.json" if written else ": --json lists all"
        print(f"and {len(found.mismatches) - SHOWN:,} more{where}")
    verdict = "Everything matches." if found.passed else "This result does not verify."
    wrong = counted(len(found.mismatches), "mismatch", "mismatches")
    print(f"{counted(found.comparisons, 'comparison')}, {wrong}, {seconds:.1f} s. {verdict}")
