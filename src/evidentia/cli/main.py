"""The `evidentia` command. Heavy parts are loaded by the command that needs them, so that help answers at once."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import Annotated

import typer
from typer.main import get_command

import evidentia
from evidentia.cli import streams
from evidentia.cli.options import option
from evidentia.errors import EvidentiaError, in_a_command, place_of, typed

INTERNAL = 70  # neither a failed check (1) nor bad input (2)
COMMANDS = (
    *("evaluate", "selective", "compare", "validate", "run", "ablate", "predict", "monitor", "measures", "explain"),
    *("verify", "gate", "report", "table", "leakage", "leakcheck", "tune", "power", "synth", "demo"),
)
GROUPS = ("corpus", "assess")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"evidentia {evidentia.__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, option("--version", "Print the version and stop.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Every command has its own --help."""


def main() -> None:
    """Run the command: 0 done, 1 a check failed, 2 bad input or usage (a message, no traceback, nothing written)."""
    if hasattr(signal, "SIGPIPE"):  # when the reader goes away, as `| head` does, stop like other commands
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.environ.setdefault(
        "_RJEM_MALLOC_CONF", "dirty_decay_ms:0"
    )  # polars gives memory back: a fifth less for 3 % of time
    gc.set_threshold(50_000)  # most of what a command makes lives to its end: looking for garbage took 4 % of its time
    atexit.register(gc.freeze)  # the process ends: to look for garbage once more took 5 %
    streams.prepare()
    sys.exit(streams.flushed(_run()))


def application(name: str | None = None) -> typer.Typer:
    """The application with one of its commands, or with all."""
    app = typer.Typer(
        name="evidentia",
        help="Evaluate and verify systems that find evidence in text, say when there is none, and know how sure they are.\n\n"
        "Research software, not a medical device.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=root,
    )
    for command in (*COMMANDS, *GROUPS) if name is None else (name,):
        module = import_module(f"evidentia.cli.{command}")
        if command in GROUPS:
            app.add_typer(module.app, name=command)
        else:
            app.command()(getattr(module, command))
    return app


@cache
def _parser(name: str | None) -> Callable[[], object]:
    """The options of the commands, built once: those of all commands take a tenth of a second."""
    return get_command(application(name))


def _run() -> int:
    """The exit code."""
    try:
        first = next(iter(sys.argv[1:]), None)
        with in_a_command():
            _parser(first if first in (*COMMANDS, *GROUPS) else None)()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except EvidentiaError as error:
        streams.complain(str(error))
        return 2
    except MemoryError:
        streams.complain("not enough memory for this. Evaluate fewer measures or groups at once.")
        return INTERNAL
    except Exception as error:
        if os.environ.get("EVIDENTIA_DEBUG"):
            raise
        if isinstance(error, OSError) and error.strerror:  # of the disk, or of a name that cannot be one
            return _refused(error)
        # a bug of ours: say where, and never what was being read
        streams.complain(f"internal error, {place_of(error)}. EVIDENTIA_DEBUG=1 shows the traceback.")
        return INTERNAL
    return 0


def _refused(error: OSError) -> int:
    """Say what the system refused: to write what we print, or to use a file."""
    if not isinstance(error.filename, str | bytes):
        if streams.flushed(0, more="\n") == 0:
            streams.complain(f"{error.strerror}.")
        return 2
    parts = PurePath(os.fsdecode(error.filename)).parts or ("",)
    name = max(parts, key=len) if error.errno == errno.ENAMETOOLONG else parts[-1]
    streams.complain(f"{typed(name)}: {error.strerror}. Choose another name or folder.")
    return 2


if __name__ == "__main__":
    main()
