"""A Dask cluster of processes on this machine, as somebody starts it by hand: a scheduler, and workers that find it by a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
WAIT = 60.0  # seconds until it must be there, also where the machine is busy


@dataclass(frozen=True)
class Cluster:
    """The address of the scheduler, and the processes of the workers."""

    address: str
    workers: tuple[subprocess.Popen[bytes], ...]


@contextmanager
def cluster(folder: Path, workers: int, *, lease: str | None = None) -> Iterator[Cluster]:
    """Start a scheduler and workers of a thread each, and end them; ``lease`` is how long a worker may be silent."""
    file = folder / "scheduler.json"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    env = (
        os.environ
        | {"PYTHONPATH": path}
        | ({} if lease is None else {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": lease})
    )
    local = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file))
    commands = [("scheduler", *local, "--port", "0")]
    more = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
    commands += [("worker", *local, *more, "--name", f"worker-{number}") for number in range(workers)]
    started = [_started(folder, env, *words) for words in commands]
    try:
        yield Cluster(_address(file, started[0]), tuple(started[1:]))
    finally:
        for process in reversed(started):
            _end(process)


def _started(folder: Path, env: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    with (folder / "cluster.log").open("ab") as log:
        command = [sys.executable, "-m", f"distributed.cli.dask_{words[0]}", *words[1:]]
        return subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=folder)


def _address(file: Path, scheduler: subprocess.Popen[bytes]) -> str:
    """What the scheduler writes once it listens."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end and scheduler.poll() is None:
        try:
            return str(json.loads(file.read_text())["address"]).removeprefix("tcp://")
        except (OSError, ValueError):
            time.sleep(0.05)
    raise TimeoutError(file.with_name("cluster.log").read_text())


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing is left to tidy up: the folder of the test goes anyway."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait(WAIT)
