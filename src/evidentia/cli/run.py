"""`evidentia run`: train, run and judge the whole pipeline under nested cross-validation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar
from evidentia.errors import InputError, OutputError

if TYPE_CHECKING:
    from evidentia.running import Judged

Workers = Annotated[
    int | None, option("--workers", "Folds at a time; default: the configuration's, else one per core.")
]
Resume = Annotated[bool, option("--resume", "Continue a run that was stopped; gives the same bytes.")]


def run(
    config: Annotated[Path | None, argument("The configuration, a TOML file.")] = None,
    out: Annotated[Path | None, option("-o --out OUT", "Folder for everything.")] = None,
    resume: Resume = False,
    reuse: Annotated[
        Path | None,
        option("--reuse RUN", "Take the steps that a change of the configuration leaves alone from this run."),
    ] = None,
    workers: Workers = None,
    resamples: options.Resamples = 10_000,
    no_verify: Annotated[bool, option("--no-verify", "Do not recompute the result.")] = False,
    no_report: Annotated[bool, option("--no-report", "Draw no page and no figures.")] = False,
    init: Annotated[Path | None, option("--init FILE", "Write a configuration with every default, and stop.")] = None,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    quiet: options.Quiet = False,
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
    settings, bar, tell = read_config(config), partial(progress_bar, quiet=quiet), partial(note, quiet=quiet)
    if resume and (passed := running.finished(settings, out)) is not None:
        show_finished(out, passed=passed, quiet=quiet)
        return
    with stoppable("continue with --resume.", quiet=quiet):
        judged = running.run(
            settings, out, resume=resume, reuse=reuse, workers=workers, judging=judging, bar=bar, note=tell
        )
    show_judged(judged, quiet=quiet)


def note(words: str, *, quiet: bool) -> None:
    """Say something that is no result."""
    if not quiet:
        print(f"evidentia: {words}", file=sys.stderr)


@contextmanager
def stoppable(how: str, *, quiet: bool) -> Iterator[None]:
    """Ctrl-C ends the command with 130, and says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        note(f"stopped. What was done is kept: {how}", quiet=quiet)
        raise typer.Exit(130) from None


def show_finished(out: Path, *, passed: bool, quiet: bool) -> None:
    """Say that there is nothing to do; exit 1 where what is there has failed."""
    if not quiet:
        failure = "" if passed else ", and a check or its verification failed"
        print(f"{out.resolve().name} is finished already{failure}: nothing was changed.")
    options.exit_unless(passed)


def show_judged(judged: Judged, *, quiet: bool) -> None:
    """Print the figures, what verification found and where the page is; exit 1 where something failed."""
    from evidentia.oneliner import verdict_lines
    from evidentia.report.console import print_result

    page = judged.folder / "report.html"
    if page.exists() and not quiet:
        print(f"report: {page}")
    if not quiet:
        print_result(judged.evaluation, judged.folder, verified=judged.verified)
        for line in verdict_lines(judged.against) if judged.against is not None else ():
            print(line)
        if judged.model_sha256 is not None:
            print(f"model SHA-256 (for evidentia predict --sha256): {judged.model_sha256}")
    options.exit_unless(judged.passed)


def _write_default(path: Path) -> None:
    from evidentia.pipeline.config.text import default_config_text
    from evidentia.pipeline.store import write_file

    if path.exists():
        raise OutputError(f"{path.name} exists. Choose another file.")
    write_file(path, default_config_text().encode(), remedy="Choose another file.")
    print(f"{path}: let [corpus] path name your corpus, then evidentia run {path} -o OUT")
