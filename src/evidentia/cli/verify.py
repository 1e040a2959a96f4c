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
    from evidentia.verify.course import Verification

SHOWN = 20  # mismatches on the screen; all of them are in verification.json


def verify(
    out: Annotated[
        Path, argument("A folder of a result, run, comparison or ablation, or a report.html alone.", metavar="OUT")
    ],
    inputs: Annotated[
        Path | None, option("--inputs DIR", "Also compare the input files in DIR with their hashes.")
    ] = None,
    run: Annotated[
        Path | None,
        option("--run PATH", "The Parquet file or folder of queries that a result of tables was made from."),
    ] = None,
    candidates: Annotated[Path | None, option("--candidates PATH", "The same for its candidates.")] = None,
    sample: Annotated[
        int, option("--sample N", "Posts of such a result whose candidates are held against gold and rankings.")
    ] = 1_000,
    scratch: options.Scratch = None,
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
            places = {"run": run, "candidates": candidates}
            verification = verify_result(
                out,
                inputs=inputs,
                texts=include_text,
                read_only=read_only,
                redraw=redraw,
                tables={role: place for role, place in places.items() if place is not None},
                sample=sample,
                scratch=scratch,
                progress=progress,
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
    for part in verification.in_part:
        print(f"in part: {part}")
    wrong = counted(len(verification.mismatches), "mismatch", "mismatches")
    print(f"{counted(verification.comparisons, 'comparison')}, {wrong}, {seconds:.1f} s. {verification.verdict}")
