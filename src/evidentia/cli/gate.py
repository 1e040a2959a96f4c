"""`evidentia gate`: may this result be published by its own rules?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import option
from evidentia.cli.progress import progress_bar
from evidentia.errors import OutputError


def gate(
    out: options.ResultFolder,
    target: Annotated[
        list[str] | None, option("--target TARGET", "For example 'AUROC>=0.85'; default: those of the contract.")
    ] = None,
    card: options.Card = None,
    markdown: Annotated[Path | None, option("--markdown FILE", "Also write a checklist with reporting items.")] = None,
    trust: Annotated[
        bool, option("--trust-verification", "Believe the verification.json in OUT instead of verifying now.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Verify the result, decide every target by its interval, and ask for checks, tuned thresholds and intervals.

    Exit codes: 0 all met and everything passed, 1 otherwise, 2 not a result folder or a malformed target.
    """
    from evidentia.checks.gate import Recomputed, judge_folder
    from evidentia.report.gate import gate_markdown, print_gate
    from evidentia.results.folder import replace_file
    from evidentia.tables import load_card
    from evidentia.verifying import verify_result

    def recompute() -> Recomputed:
        with progress_bar("verifying", quiet=quiet) as progress:
            verification = verify_result(out, read_only=True, progress=progress)
        return Recomputed(verification.comparisons, len(verification.mismatches))

    if markdown is not None and markdown.resolve().is_relative_to(out.resolve()):
        raise OutputError("The checklist belongs beside the result, not into its folder: its files are hashed.")
    known = None if card is None else load_card(card)
    verdict = judge_folder(out, options.listed(target), card=known, recompute=None if trust else recompute)
    if markdown is not None:
        try:
            replace_file(markdown, gate_markdown(verdict).encode())
        except OSError as error:
            raise OutputError(f"Cannot write {markdown.name}: {error.strerror}.") from None
    if not quiet:
        print_gate(verdict)
    options.exit_unless(verdict.open)
