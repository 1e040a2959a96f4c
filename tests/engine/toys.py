"""Work for other processes, in which some of them die. It imports little: every process that starts imports it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from evidentia.errors import InputError, Problem


def square(number: int) -> int:
    return number * number


def refuses(number: int) -> None:
    raise InputError(Problem("ODD", f"{number} is odd."))


def dies_once(marker: Path, work: Callable[[Any], Any], task: Any) -> Any:
    """The first process that gets here is killed."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return work(task)
    os.kill(os.getpid(), signal.SIGKILL)


def dies_over(fatal: int, number: int) -> int:
    """Whoever gets one of the tasks is killed."""
    if number == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def waits_once(marker: Path, work: Callable[[Any], Any], task: Any) -> Any:
    """The first process that gets here says its number and stops until somebody lets it go on."""
    try:
        with marker.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return work(task)
    os.kill(os.getpid(), signal.SIGSTOP)
    return work(task)


class Harmed:
    """An executor whose first worker comes to harm over its first task."""

    def __init__(self, executor: Any, harm: Callable[[Path, Callable[[Any], Any], Any], Any], marker: Path) -> None:
        self.executor, self.workers = executor, executor.workers
        self.harm = partial(harm, marker)

    def map(self, work: Callable[[Any], Any], tasks: Any) -> Any:
        return self.executor.map(partial(self.harm, work), tasks)
