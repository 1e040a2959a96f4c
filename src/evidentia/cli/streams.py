"""Standard output and error, whatever they lead to: a terminal without umlauts, a full disk, nothing at all."""

from __future__ import annotations

import codecs
import json
import os
import sys
import warnings
from contextlib import suppress
from typing import TextIO

from evidentia.errors import InputWarning

_usual = warnings.showwarning
ESCAPE = "evidentia.escape"


def prepare() -> None:
    """Write what an encoding lacks as \\uXXXX, as JSON does; and let a stream that is closed lead nowhere."""
    codecs.register_error(ESCAPE, _escaped)
    warnings.simplefilter("always", InputWarning)
    warnings.showwarning = _warn
    for name, handle in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:  # closed, as by >&-
            _lead_nowhere(handle)
            setattr(sys, name, open(handle, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - for as long as we run
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ESCAPE)


def complain(words: str) -> None:
    """Print an error, every line under our name."""
    with suppress(OSError):
        for line in words.splitlines():
            print(f"evidentia: {line}", file=sys.stderr)
        sys.stderr.flush()


def flushed(code: int, *, more: str = "") -> int:
    """The exit code once everything is printed, and ``more``: 2 where that cannot be."""
    try:
        sys.stdout.write(more)
        sys.stdout.flush()
    except OSError as error:
        if code != 2:
            complain(f"Standard output cannot be written: {error.strerror}. What was written to files is there.")
        _lead_nowhere(1)  # what is left goes there when Python ends
        return 2
    return code


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show our own warnings as a sentence, and those of others as they are."""
    if issubclass(category, InputWarning):
        complain(f"warning: {message}")
    else:
        _usual(message, category, filename, lineno, file, line)


def _lead_nowhere(handle: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != handle:
        os.dup2(nowhere, handle)
        os.close(nowhere)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
