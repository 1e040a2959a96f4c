"""Work in other processes: a worker says nothing before it has work, does one piece after the other, and never outlives us."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, TypeVar

from evidentia.errors import EvidentiaError, OutputError, WorkerError, place_of

Answer = TypeVar("Answer")
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_LOOK_EVERY = 1.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
RESUME = "What was done is kept: continue with --resume, perhaps with fewer --workers."
# Only the standard library until all of the work has come: a parent that was killed meanwhile is no error of ours to print.
_BOOT = """
import os, sys
size = sys.stdin.buffer.readline()
work = sys.stdin.buffer.read(int(size or 0))
if not size or len(work) != int(size):
    os._exit(1)
sys.path[:] = {path!r}
from evidentia.workers import serve
serve(work, parent={parent})
"""


class Workers:
    """Processes that do pieces of work, as many as threads ask at a time.

    A thread must have called ``block_signals`` before it asks. ``advice`` says what to do where one was killed.
    """

    def __init__(self, advice: str = RESUME) -> None:
        self._advice = advice
        self._running: set[subprocess.Popen[bytes]] = set()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """What a function returns in another process; raises what went wrong there, if anything did."""
        work = pickle.dumps((function, argument))
        process = self._free()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b"%d\n" % len(work) + work)
            process.stdin.flush()
            error, trace, value = pickle.load(process.stdout)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            with suppress(OSError):  # else what is left unsent is sent when nobody expects it
                process.stdin.close()
            raise OutputError(f"A worker was killed (not enough memory?). {self._advice}") from None
        self._idle.append(process)
        if error is not None:
            raise error from (None if trace is None else RuntimeError(trace))  # shown where EVIDENTIA_DEBUG asks for it
        return value

    def _free(self) -> subprocess.Popen[bytes]:
        """A process without work, a new one if need be."""
        boot = _BOOT.format(path=sys.path, parent=os.getpid())
        flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        # one thread each: more of them than cores would wait for each other, busily
        env = {**os.environ, **dict.fromkeys(_THREADS, "1")}
        with self._lock:
            if self._stopped:
                raise OutputError("The workers were stopped.")
            if self._idle:
                return self._idle.pop()
            try:
                process = subprocess.Popen(
                    [sys.executable, *flags, "-c", boot], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
                )
            except OSError as error:
                raise OutputError(f"Cannot start a worker: {error.strerror}. Try fewer --workers.") from None
            self._running.add(process)
        return process

    def stop(self) -> None:
        """Kill all workers, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.kill()
            for process in self._running:
                process.wait()


def in_processes(
    function: Callable[[Any], None],
    work: Iterable[Any],
    *,
    workers: int,
    look: Callable[[], None],
    advice: str = RESUME,
) -> None:
    """Call a function in a process for each piece of work, some at a time, with a look every now and then."""
    started = Workers(advice)
    with ThreadPoolExecutor(workers, initializer=block_signals) as threads:
        try:
            waiting = {threads.submit(started.run, function, piece) for piece in work}
            while waiting:
                done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                look()
        finally:  # after an error, or the keyboard, nobody needs what the others are doing
            started.stop()
            threads.shutdown(cancel_futures=True)


def side_by_side(tasks: Sequence[Callable[[], Answer]], threads: int) -> list[Answer]:
    """The answers of some tasks, in threads that wait for nothing but numbers; one thread is this one."""
    if min(threads, len(tasks)) <= 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(threads, initializer=block_signals) as pool:
        return list(pool.map(lambda task: task(), tasks))


def block_signals() -> None:
    """Keep Ctrl-C from this thread and from what it starts: the main thread hears it, and then ends the others.

    Nor does a broken pipe end everything, as the one to a worker that was killed does.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGPIPE})


def serve(work: bytes, *, parent: int) -> None:
    """In a worker: do the work and what comes after it, and answer on what was standard output.

    What is printed goes to standard error from now on.
    """
    end_with(parent)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while work:
        try:
            answers.write(_answer(work))
            answers.flush()
        except OSError:  # nobody listens any more
            os._exit(1)
        work = b""  # it is not held while the next one comes
        work = sys.stdin.buffer.read(int(sys.stdin.buffer.readline() or 0))


def _answer(work: bytes) -> bytes:
    """Do a piece of work. A bug goes back as its kind and place: an exception's words may hold text, or not travel."""
    try:
        function, argument = pickle.loads(work)
        return pickle.dumps((None, None, function(argument)))
    except (EvidentiaError, MemoryError) as error:
        return pickle.dumps((error, None, None))
    except Exception as error:
        return pickle.dumps((WorkerError(place_of(error)), traceback.format_exc(), None))


def end_with(parent: int) -> None:
    """End when the parent does, and leave the keyboard to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed while we were starting
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """Where the system does not tell: look whether the parent is still there."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os._exit(1)
