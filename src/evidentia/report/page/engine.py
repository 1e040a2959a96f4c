"""The drawing engine in a process of its own: its start holds Python for a third of a second, and the page is made meanwhile."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from threading import Lock

NO_SIGNAL: int = getattr(
    socket, "MSG_NOSIGNAL", 0
)  # a process that is gone is an error here, not the end of the command


class Engine:
    """A process that turns one Vega-Lite specification after the other into SVG; it ends with the process that started it."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", str(Path(__file__).with_name("drawing_process.py"))]
        self._socket, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                command, stdin=other.fileno(), stdout=other.fileno(), stderr=subprocess.DEVNULL
            )
        self._answers = self._socket.makefile("r", encoding="utf-8", newline="\n")
        self._owner, self._lock = os.getpid(), Lock()

    def svg(self, drawing: str) -> str | None:
        """The picture of a specification, which is a line of JSON; None where the process is gone, or was started before a fork."""
        if os.getpid() != self._owner:
            return None
        with self._lock:
            try:
                self._socket.sendall(drawing.encode() + b"\n", NO_SIGNAL)
                answer = self._answers.readline()
            except OSError:
                return None
        return str(json.loads(answer)) if answer.endswith("\n") else None

    def stop(self) -> None:
        """End the process that this one started."""
        if os.getpid() == self._owner:
            self._process.kill()
            self._process.wait()


@cache
def engine() -> Engine | None:
    """The engine of this process, started on the first call; None where no other process can be started."""
    try:
        started = Engine() if sys.executable else None
    except OSError:
        return None
    if started is not None:
        atexit.register(started.stop)
    return started
