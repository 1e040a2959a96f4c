"""One small hierarchy of errors; every message says what, where, how many, and what to do."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import PurePath

_ID = re.compile(r"[\w.:#@/+-]{1,64}", re.ASCII)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input: a stable code, and a sentence for the person who has to fix it."""

    code: str
    message: str


class EvidentiaError(Exception):
    """Base of every error that Evidentia raises on purpose.

    Examples
    --------
    >>> issubclass(InputError, EvidentiaError), issubclass(OutputError, EvidentiaError)
    (True, True)
    """


class InputError(EvidentiaError):
    """The input or an option cannot be used; holds every problem found, not only the first.

    Parameters
    ----------
    *problems : Problem or str
        The problems; a str gets the code "INPUT".

    Attributes
    ----------
    problems : tuple of Problem
        Each with a stable ``code`` and a ``message``.

    Examples
    --------
    >>> InputError("k must be above 0.").problems
    (Problem(code='INPUT', message='k must be above 0.'),)
    """

    def __init__(self, *problems: Problem | str) -> None:
        self.problems = tuple(p if isinstance(p, Problem) else Problem("INPUT", p) for p in problems)
        super().__init__("\n".join(problem.message for problem in self.problems))


class UnknownNameError(InputError):
    """A measure, parameter, profile or column of that name does not exist; the message lists those that do.

    Parameters
    ----------
    *problems : Problem or str
        As in ``InputError``.

    Examples
    --------
    >>> import evidentia
    >>> try:
    ...     evidentia.resolve_name("AUROC@10")
    ... except UnknownNameError as error:
    ...     print(str(error).partition(".")[0])
    'AUROC@10' does not name one definition of AUROC
    """


class InputWarning(UserWarning):
    """The input can be read, and is probably not what was meant."""


class OutputError(EvidentiaError):
    """The result cannot be written to its folder; nothing was changed.

    Examples
    --------
    >>> str(OutputError("out exists already."))
    'out exists already.'
    """


class ServerError(EvidentiaError):
    """A server that was asked for vectors or scores did not answer as it should; what it said before is in the cache."""


class WorkerError(Exception):
    """A bug of ours, met in another process: what and where, and never what was being read."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(place)


_COMMAND: ContextVar[bool] = ContextVar("_COMMAND", default=False)


@contextmanager
def in_a_command() -> Iterator[None]:
    """Let messages name options as the command has them."""
    token = _COMMAND.set(True)
    try:
        yield
    finally:
        _COMMAND.reset(token)


def spelled(command: str, python: str) -> str:
    """Words about an option: those for a command inside of one, else those for Python.

    >>> spelled("--force", "force=True")
    'force=True'
    """
    return command if _COMMAND.get() else python


def place_of(error: BaseException) -> str:
    """The kind of an unexpected error and where it was raised; its words may hold a post's text.

    >>> place_of(KeyError("I have not slept in days"))
    'KeyError'
    """
    if isinstance(error, WorkerError):
        return error.place
    where = traceback.extract_tb(error.__traceback__)[-1:]
    return type(error).__name__ + "".join(f" in {PurePath(at.filename).name}, line {at.lineno}" for at in where)


def shown(value: object) -> str:
    """Print a value from a user's file only when it is a number or a short id.

    A mis-mapped column may hold a post's text, and text must not reach a message or a log.

    >>> shown(1.5), shown("s_12_3")
    ('1.5', "'s_12_3'")
    >>> shown("I have not slept in days")
    '<24 characters, not shown>'
    """
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    text = str(value)
    if _ID.fullmatch(text):
        return repr(text)
    return f"<{len(text)} characters, not shown>"


def typed(text: str) -> str:
    """Print what a person typed, which is theirs and not from a file; long words are cut.

    >>> typed("F1(t=high)")
    "'F1(t=high)'"
    """
    return repr(text if len(text) <= 80 else text[:77] + "...")


def counted(count: int, unit: str, many: str | None = None) -> str:
    """Say how many there are of something.

    >>> counted(1, "row"), counted(1234, "row"), counted(2, "query", "queries")
    ('1 row', '1,234 rows', '2 queries')
    """
    return f"{count:,} {unit if count == 1 else many or unit + 's'}"
