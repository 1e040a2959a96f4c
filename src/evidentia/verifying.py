"""Verify a folder as a closed world: every number made again, every drawing drawn again, every other file named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from evidentia.checks import check_again
from evidentia.errors import InputError
from evidentia.report.page.differences import text_differences
from evidentia.report.page.engine import engine
from evidentia.report.page.redraw import ComparedReport, check_claim, compare_report, draw_again, restate
from evidentia.report.page.texts import read_texts
from evidentia.results import loads
from evidentia.results.ablation import Ablation
from evidentia.verify.ablation import open_ablation
from evidentia.verify.course import CheckCount, Verification
from evidentia.verify.files import contents, is_drawn, is_plain
from evidentia.verify.run import Progress, check_earlier, verify_folder
from evidentia.verify.streamed.check import SAMPLE, Sources
from evidentia.verify.tally import Mismatch

REPORT = "report"
ABLATION, MARKDOWN = "ablation.json", "ablation.md"
INSIDE_A_RUN = "result"
verify_numbers = partial(verify_folder, checks=check_again)


def verify_result(
    path: str | Path,
    *,
    inputs: str | Path | None = None,
    texts: str | Path | None = None,
    read_only: bool = False,
    redraw: bool = False,
    tables: Mapping[str, str | Path] | None = None,
    sample: int = SAMPLE,
    scratch: str | Path | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Recompute everything in a result folder, draw its report again, compare, and write ``verification.json``.

    Parameters
    ----------
    path : path
        Result folder of ``evaluate``, ``run``, ``selective``, ``compare`` or ``ablate``.
    inputs : path, default=None
        Folder with the input files, to compare their hashes too.
    texts : path, default=None
        File of sentences that the page was written with.
    read_only : bool, default=False
        Whether to write nothing.
    redraw : bool, default=False
        Whether to replace drawings that cannot be compared because another version drew them.
    tables : mapping of str to path, default=None
        Of a result of ``evaluate_tables``, the files or folders that it was made from: "run" and "candidates". Without them
        it is verified in part.
    sample : int, default=1000
        Number of posts whose candidates are held against gold and rankings, where the result is one of tables.
    scratch : path, default=None
        Folder for temporary files; None takes that of the system.
    progress : callable, default=None
        Called with the number of steps done and of all steps.

    Returns
    -------
    Verification
        Comparisons and mismatches; ``passed`` is the verdict.

    Raises
    ------
    InputError
        If the folder is not a result or cannot be read, or ``read_only`` and ``redraw`` are both given.
    OutputError
        If ``verification.json`` cannot be written.

    Notes
    -----
    Zero comparisons fail. A check that fails on a broken file is a mismatch.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from evidentia import evaluate
    >>> columns = {"post_id": [1, 2], "criterion_id": ["A", "A"], "has_evidence": [1, 0], "prob": [0.9, 0.2]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     evaluate(pl.DataFrame(columns), measures="AUROC", resamples=0, report=False).save(f"{folder}/out")
    ...     verify_result(f"{folder}/out").passed
    True
    """
    if read_only and redraw:
        raise InputError("Nothing can be redrawn read-only. Leave one of the two out.")
    folder = result_of(Path(path))
    sentences = None if texts is None else read_texts(Path(texts))
    if sample < 0:
        raise InputError(f"The sample has {sample} posts. Give 0 or more.")
    places = {role: Path(place) for role, place in (tables or {}).items()}
    sources = Sources(places, sample, None if scratch is None else Path(scratch))
    if any((folder / "figures").glob("*.svg")):
        engine()  # starts while the numbers are made again
    compared: list[ComparedReport] = []
    verification = verify_numbers(
        folder,
        progress,
        inputs=None if inputs is None else Path(inputs),
        sources=sources,
        meanwhile=lambda sound: compared.append(_report_of(folder, sentences, sound=sound)),
    )
    if not is_plain(folder):
        report = ComparedReport()  # nothing is read through a link or from a device
    elif (folder / ABLATION).is_file():
        verification, report = _with_parts(verification, folder, progress), _ablation_report(folder)
    else:
        report = compared[0] if compared else _report_of(folder, sentences, sound=verification.passed)
    if redraw and report.not_compared:
        draw_again(folder, report)
        report = _report_of(folder, sentences, sound=verification.passed)
    verification = _with_report(verification, report)
    earlier = (
        _check_earlier(folder, verification, report, read_only=read_only, redraw=redraw) if verification.passed else ()
    )
    if not read_only and not earlier:
        verification.save(folder)
        restate(folder, report, passed=verification.passed)
    return (
        _joined(verification, CheckCount("earlier verification", len(earlier), len(earlier)), earlier)
        if earlier
        else verification
    )


def _check_earlier(
    folder: Path, verification: Verification, report: ComparedReport, *, read_only: bool, redraw: bool
) -> tuple[Mismatch, ...]:
    """What ``verification.json`` and the page tell of an earlier verification, of a folder that passes now."""
    wrong = check_earlier(folder, verification, replaceable=not read_only, redraw=redraw)
    claim = check_claim(folder, report, verification.comparisons, trusted=not wrong, replaceable=not read_only)
    return (*wrong, *claim)


def result_of(path: Path) -> Path:
    """The result that a folder stands for: its own, or the one inside the folder of `evidentia run`; a link is none."""
    inner = path / INSIDE_A_RUN
    if (path / "summary.json").exists() or not (inner / "summary.json").is_file():
        return path
    if inner.is_symlink():
        raise InputError(f"{path.resolve().name}/{INSIDE_A_RUN} is a link. Verify the folder that it leads to.")
    return inner


def _with_parts(verification: Verification, folder: Path, progress: Progress | None) -> Verification:
    """With the results and comparisons of an ablation, each verified by itself; nothing is written into them."""
    for name in open_ablation(folder).nested:
        part = folder / name
        try:
            made = verify_result(
                part, inputs=part.parent if part.name == INSIDE_A_RUN else None, read_only=True, progress=progress
            )
            wrong = tuple(replace(mismatch, where=f"{name}: {mismatch.where}") for mismatch in made.mismatches)
            verification = _joined(verification, CheckCount(name, made.comparisons, len(wrong)), wrong)
        except InputError as error:
            verification = _joined(verification, CheckCount(name, 1, 1), (Mismatch(name, str(error), None),))
    return verification


def _ablation_report(folder: Path) -> ComparedReport:
    """The Markdown of an ablation against what is drawn from its numbers now."""
    from evidentia.report.ablation import ablation_markdown

    try:
        versions = loads((folder / "manifest.json").read_bytes())["versions"]["evidentia"]
        drawn = ablation_markdown(Ablation.from_dict(loads((folder / ABLATION).read_bytes())))
        written = (folder / MARKDOWN).read_text(encoding="utf-8")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        words = f"cannot be drawn from these files: {type(error).__name__}"
        return ComparedReport(frozenset({MARKDOWN}), (Mismatch(MARKDOWN, "a file", words),))
    wrong = [] if written == drawn else text_differences(MARKDOWN, written, drawn)
    if versions != version("evidentia"):
        wrong = [Mismatch(MARKDOWN, f"drawn by Evidentia {versions}", "not compared")]
    return ComparedReport(frozenset({MARKDOWN}), tuple(wrong))


def _report_of(folder: Path, texts: Mapping[str, str] | None, *, sound: bool) -> ComparedReport:
    return compare_report(folder, [name for name in contents(folder)[0] if is_drawn(name)], sound=sound, texts=texts)


def _with_report(verification: Verification, report: ComparedReport) -> Verification:
    """One comparison for a report that is as it is drawn, whatever its formats; every difference counts."""
    if not report.files and not report.mismatches:
        return verification
    wrong = report.mismatches
    return _joined(verification, CheckCount(REPORT, max(1, len(wrong)), len(wrong)), wrong)


def _joined(verification: Verification, check: CheckCount, mismatches: tuple[Mismatch, ...]) -> Verification:
    return replace(
        verification, checks=(*verification.checks, check), mismatches=(*verification.mismatches, *mismatches)
    )
