"""`evidentia gate`: may this result be published by its own rules?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from evidentia.cli import options
from evidentia.cli.options import option
from evidentia.cli.progress import progress_bar
from evidentia.errors import InputError, OutputError

if TYPE_CHECKING:
    from evidentia.checks.drops import DropJudgement


def gate(
    out: options.ResultFolder,
    target: Annotated[
        list[str] | None, option("--target TARGET", "For example 'AUROC>=0.85'; default: those of the contract.")
    ] = None,
    against: Annotated[
        Path | None, option("--against BASELINE", "A result that this one must not fall behind.")
    ] = None,
    max_drop: Annotated[
        list[str] | None, option("--max-drop LIST", "How far, for example 'AUROC:0.01,Brier:0.005'.")
    ] = None,
    resamples: Annotated[
        int | None, option("--resamples", "Bootstrap resamples of posts, for --against; default 10,000.")
    ] = None,
    seed: Annotated[int | None, option("--seed", "Seed of the resamples; default 7.")] = None,
    card: options.Card = None,
    markdown: Annotated[Path | None, option("--markdown FILE", "Also write a checklist with reporting items.")] = None,
    junit: Annotated[Path | None, option("--junit FILE", "Also write JUnit XML, which every CI shows.")] = None,
    trust: Annotated[
        bool,
        option("--trust-verification", "Believe the verification.json of OUT and BASELINE instead of verifying now."),
    ] = False,
    accept_sampled: Annotated[
        bool, option("--accept-sampled", "Accept a result of tables that could be verified in part only.")
    ] = False,
    as_json: Annotated[bool, option("--json", "Print only the verdicts, as JSON.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Verify the result, decide every target by its interval, and ask for checks, tuned thresholds and intervals.

    Exit codes: 0 all met and everything passed, 1 otherwise, 2 not a result folder or a malformed target.
    """
    from evidentia.checks.gate import Recomputed, judge_folder
    from evidentia.report.gate import gate_markdown, print_gate
    from evidentia.report.gate_files import gate_document, gate_junit
    from evidentia.results import dumps
    from evidentia.tables import load_card
    from evidentia.verifying import verify_result

    def recompute(folder: Path) -> Recomputed:
        with progress_bar("verifying", quiet=quiet or as_json) as progress:
            verification = verify_result(folder, read_only=True, progress=progress)
        return Recomputed(verification.comparisons, len(verification.mismatches), verification.in_part)

    _refuse_places(markdown, junit)
    known = None if card is None else load_card(card)
    baseline = None if against is None else options.result_of(against)
    drops = _drops(out, baseline, options.listed(max_drop), resamples, seed, quiet=quiet or as_json)
    verdict = judge_folder(
        out,
        options.listed(target),
        card=known,
        drops=drops,
        against=baseline,
        recompute=None if trust else recompute,
        accept_sampled=accept_sampled,
    )
    if markdown is not None:
        _write(markdown, gate_markdown(verdict).encode())
    if junit is not None:
        _write(junit, gate_junit(verdict))
    if as_json:
        sys.stdout.write(dumps(gate_document(verdict)))
    elif not quiet:
        print_gate(verdict)
    options.exit_unless(verdict.open)


def _refuse_places(markdown: Path | None, junit: Path | None) -> None:
    """Refuse to write over anything but what an earlier gate wrote there, as a CI does on each run."""
    from evidentia.evaluation.files import refuse_inside_results
    from evidentia.report.gate import CHECKLIST_TITLE
    from evidentia.report.gate_files import JUNIT_START

    if markdown is not None and junit is not None and markdown.resolve() == junit.resolve():
        raise InputError(f"--markdown and --junit are both {markdown.name}. Name two files.")
    for option_name, file, start in (
        ("--markdown", markdown, CHECKLIST_TITLE.encode()),
        ("--junit", junit, JUNIT_START),
    ):
        if file is None:
            continue
        refuse_inside_results(file)
        if not _is_replaceable(file, start):
            raise OutputError(
                f"{file.name} exists and was not written by {option_name} of an earlier gate. Name another file."
            )


def _is_replaceable(file: Path, start: bytes) -> bool:
    """Whether nothing would be lost: there is no such file, an empty one, or one that starts like those of this kind."""
    try:
        if not file.exists():
            return True
        content = file.read_bytes() if file.is_file() else b"no file"
        return not content or content.startswith(start)
    except OSError as error:
        raise OutputError(f"Cannot write {file.name}: {error.strerror}.") from None


def _drops(
    out: Path, against: Path | None, asked: tuple[str, ...], resamples: int | None, seed: int | None, *, quiet: bool
) -> tuple[DropJudgement, ...]:
    """How the result does against a baseline, where that was asked."""
    from evidentia import workflow
    from evidentia.checks.drops import judge_drops, parse_drop

    drops = [parse_drop(text) for text in asked]
    if against is None and not drops:
        return ()
    if against is None or not drops:
        raise InputError(
            "--against and --max-drop belong together: a baseline result, and how far behind it is too far, "
            "for example --against released --max-drop 'AUROC:0.01'."
        )
    with progress_bar("resampling", quiet=quiet) as progress:
        comparison = workflow.compare(
            against,
            out,
            measures=[drop.name for drop in drops],
            resamples=resamples,
            seed=seed,
            progress=progress,
        )
    return judge_drops(drops, comparison)


def _write(file: Path, content: bytes) -> None:
    from evidentia.results.folder import replace_file

    try:
        replace_file(file, content)
    except OSError as error:
        raise OutputError(f"Cannot write {file.name}: {error.strerror}.") from None
