"""`evidentia run`: train, run and judge the whole pipeline under nested cross-validation."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evidentia.cli.evaluate import show
from evidentia.cli.progress import progress_bar
from evidentia.errors import InputError, OutputError

Workers = Annotated[
    int | None, typer.Option("--workers", help="Folds at a time; default: the configuration's, else one per core.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped; gives the same bytes.")]


def run(
    config: Annotated[Path | None, typer.Argument(help="The configuration, a TOML file.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="OUT", help="Folder for everything.")] = None,
    resume: Resume = False,
    workers: Workers = None,
    resamples: Annotated[
        int, typer.Option("--resamples", help="Bootstrap resamples of posts; 0 turns intervals off.")
    ] = 10_000,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not recompute the result.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Draw no page and no figures.")] = False,
    init: Annotated[
        Path | None, typer.Option("--init", metavar="FILE", help="Write a configuration with every default, and stop.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Train the pipeline of a configuration fold by fold, write its run, then evaluate, verify and report.

    Exit codes: 0 done, 1 a check or the verification failed, 2 bad input. Research software, not a medical device.
    """
    if init is not None:
        _write_default(init)
        return
    if config is None or out is None:
        raise InputError(
            "Give a configuration and a folder: evidentia run CONFIG -o OUT. --init FILE writes a configuration."
        )
    from evidentia import running
    from evidentia.pipeline.config import read_config

    judging = running.Judging(
        resamples, not no_verify, False if no_report else None, f"evidentia run {config.name} -o OUT"
    )
    settings, bar, note = read_config(config), partial(progress_bar, quiet=quiet), partial(_note, quiet=quiet)
    if resume and (passed := running.finished(settings, out)) is not None:
        _show_finished(out, passed=passed, quiet=quiet)
        return
    try:
        judged = running.run(settings, out, resume=resume, workers=workers, judging=judging, bar=bar, note=note)
    except KeyboardInterrupt:
        note("stopped. What was done is kept: continue with --resume.")
        raise typer.Exit(130) from None
    show_judged(judged, quiet=quiet)


def _note(words: str, *, quiet: bool) -> None:
    if not quiet:
        print(f"evidentia: {words}", file=sys.stderr)


def _show_finished(out: Path, *, passed: bool, quiet: bool) -> None:
    if not quiet:
        said = "" if passed else ", and a check or its verification failed"
        print(f"{out.resolve().name} is finished already{said}: nothing was changed.")
    if not passed:
        raise typer.Exit(1)


def show_judged(judged: object, *, quiet: bool) -> None:
    """Print the figures, what verification found and where the page is; exit 1 where something failed."""
    from evidentia.running import Judged

    assert isinstance(judged, Judged)
    show(judged.evaluation, judged.folder, as_json=False, quiet=quiet)
    found = judged.verification
    if found is not None and not quiet:
        words = "everything matches" if found.passed else f"{len(found.mismatches):,} MISMATCHES"
        print(f"verified by a second implementation: {found.comparisons:,} comparisons, {words}")
    page = judged.folder / "report.html"
    if page.exists() and not quiet:
        print(f"report: {page}")
    if not judged.passed:
        raise typer.Exit(1)


def _write_default(path: Path) -> None:
    from evidentia.pipeline.config_text import default_config_text
    from evidentia.pipeline.store import write_file

    if path.exists():
        raise OutputError(f"{path.name} exists. Choose another file.")
    write_file(path, default_config_text().encode())
    print(path)
