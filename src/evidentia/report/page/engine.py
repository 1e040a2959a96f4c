"""The drawing engine in a process of its own: its start holds Python for a third of a second, and the page is made meanwhile."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from threading import Lock


class Engine:
    """A process that turns one Vega-Lite specification after the other into SVG; it ends with the process that started it."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", str(Path(__file__).with_name("drawing_process.py"))]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, text=True, encoding="utf-8")
        self._owner, self._lock = os.getpid(), Lock()

    def svg(self, drawing: str) -> str | None:
        """The picture of a specification, which is a line of JSON; None where the process is gone, or was started before a fork."""
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        if os.getpid() != self._owner:
            return None
        with self._lock:
            try:
                pipe_in.write(drawing + "\n")
                pipe_in.flush()
                answer = pipe_out.readline()
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
