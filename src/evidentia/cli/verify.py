"""`evidentia verify`: recompute a result from its own files with code that shares nothing with the evaluation."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar
from evidentia.errors import counted

if TYPE_CHECKING:
    from evidentia.verify.run import Verification

SHOWN = 20  # mismatches on the screen; all of them are in verification.json


def verify(
    out: Annotated[
        Path, argument("A folder of a result, run, comparison or ablation, or a report.html alone.", metavar="OUT")
    ],
    inputs: Annotated[
        Path | None, option("--inputs DIR", "Also compare the input files in DIR with their hashes.")
    ] = None,
    include_text: Annotated[
        Path | None, option("--include-text FILE", "The sentences that `report --include-text` was given.")
    ] = None,
    read_only: Annotated[bool, option("--read-only", "Write nothing, not even verification.json.")] = False,
    redraw: Annotated[
        bool, option("--redraw", "Replace drawings that cannot be compared: other versions drew them.")
    ] = False,
    as_json: Annotated[bool, option("--json", "Print only the verification, as JSON.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Recompute every number, table and figure of a folder, draw its report again, and compare; an unknown file is a failure.

    Writes verification.json into OUT, unless --read-only; of a report alone it writes nothing. Exit codes: 0 everything
    matches, 1 a mismatch, an unknown file or nothing compared, 2 not a result.
    """
    from evidentia.report.page.verification import verify_page
    from evidentia.verifying import verify_result

    start = time.perf_counter()
    left_out: tuple[str, ...] = ()
    with progress_bar("verifying", quiet=quiet or as_json) as progress:
        if out.is_file():  # a report alone, with nothing else at hand
            page = verify_page(out, progress)
            verification, left_out = page.verification, page.left_out
        else:
            verification = verify_result(
                out, inputs=inputs, texts=include_text, read_only=read_only, redraw=redraw, progress=progress
            )
    if as_json:
        sys.stdout.write(verification.to_json())
    elif not quiet:
        show(verification, time.perf_counter() - start, written=not read_only and not out.is_file())
        for part in left_out:
            print(f"not in the page, so not verified: {part}")
    options.exit_unless(verification.passed)


def show(verification: Verification, seconds: float, *, written: bool = False) -> None:
    """Print what was compared, what does not match, and how long it took."""
    width = max(len(check.name) for check in verification.checks)
    for check in verification.checks:
        wrong = f"  {counted(check.mismatches, 'mismatch', 'mismatches')}" if check.mismatches else ""
        print(f"{check.name:<{width}} {check.comparisons:>12,}{wrong}")
    for mismatch in verification.mismatches[:SHOWN]:
        print(f"{mismatch.where}\n  reported   {mismatch.reported}\n  recomputed {mismatch.recomputed}")
    if len(verification.mismatches) > SHOWN:
        where = " in verification.json" if written else ": --json lists all"
        print(f"and {len(verification.mismatches) - SHOWN:,} more{where}")
    verdict = "Everything matches." if verification.passed else "This result does not verify."
    wrong = counted(len(verification.mismatches), "mismatch", "mismatches")
    print(f"{counted(verification.comparisons, 'comparison')}, {wrong}, {seconds:.1f} s. {verdict}")
