"""A worker whose parent is gone says nothing; one that has its work says what goes wrong."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evidentia import workers
from evidentia.errors import InputError, OutputError, WorkerError
from evidentia.workers import Workers

from .stopping import _parents, gone, until_true

PARENT = """
import threading, time
from evidentia.workers import Workers, block_signals

def start():
    block_signals()
    while True:
        Workers().run(len, b"x" * 50_000_000)

for _ in range(3):
    threading.Thread(target=start, daemon=True).start()
time.sleep(600)
"""


def boot(work: bytes, parent: int) -> subprocess.CompletedProcess[bytes]:
    code = workers._BOOT.format(path=sys.path, parent=parent)
    return subprocess.run([sys.executable, "-c", code], input=work, capture_output=True, check=False)


def test_a_worker_that_is_not_told_all_of_its_work_says_nothing() -> None:
    work = pickle.dumps((print, "x" * 200))
    whole = b"%d\n" % len(work) + work
    for cut in (0, 1, 2, 3, 4, 5, len(whole) // 2, len(whole) - 1):
        ended = boot(whole[:cut], os.getpid())
        assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b""), cut
    ended = boot(whole, os.getpid())
    assert pickle.loads(ended.stdout) == (None, None, None)
    assert ended.stderr == b"x" * 200 + b"\n"  # what a library prints does not get into the answer


def test_a_worker_does_one_piece_after_the_other() -> None:
    pieces = [pickle.dumps((print, word)) for word in ("one", "two")]
    whole = b"".join(b"%d\n" % len(piece) + piece for piece in pieces)
    ended = boot(whole, os.getpid())
    assert ended.returncode == 0
    assert ended.stderr == b"one\ntwo\n"
    assert ended.stdout == pickle.dumps((None, None, None)) * 2


def test_a_process_is_asked_again() -> None:
    same = Workers()
    same.run(remember, "x")
    same.run(expect, "x")
    with pytest.raises(WorkerError, match="AssertionError"):
        same.run(expect, "y")
    same.run(expect, "x")  # also after an error
    same.stop()


def test_a_worker_whose_parent_is_gone_does_not_begin() -> None:
    work = pickle.dumps((print, "begun"))
    ended = boot(b"%d\n" % len(work) + work, 1 if os.getpid() != 1 else 2)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
@pytest.mark.sample(every=3)
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0])
def test_a_parent_killed_while_it_starts_workers_leaves_no_word_and_no_worker(delay: float, tmp_path: Path) -> None:
    with (tmp_path / "words").open("wb") as words:
        parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=words, stderr=words)
    try:
        assert until_true(lambda: any(above == parent.pid for _, above in _parents()))
        time.sleep(delay)
        children = [pid for pid, above in _parents() if above == parent.pid]
    finally:
        parent.kill()
        parent.wait()
    assert gone(children)
    assert (tmp_path / "words").read_text() == ""


def remember(word: str) -> None:
    os.environ["EVIDENTIA_TEST_WORD"] = word


def expect(word: str) -> None:
    assert os.environ["EVIDENTIA_TEST_WORD"] == word


def refuse(words: str) -> None:
    raise InputError(words)


def stumble(words: str) -> None:
    raise KeyError(words)


def unsendable(words: str) -> object:
    return lambda: words


def end(code: int) -> None:
    os._exit(code)


def test_what_goes_wrong_in_a_worker_is_raised() -> None:
    with pytest.raises(InputError, match=r"^Too few posts\.$"):
        Workers().run(refuse, "Too few posts.")
    with pytest.raises(WorkerError, match=r"^KeyError in test_workers\.py, line \d+$"):
        Workers().run(stumble, "I have not slept")
    with pytest.raises(WorkerError, match=r"in workers\.py"):
        Workers().run(unsendable, "I have not slept")
    with pytest.raises(OutputError, match="A worker was killed"):
        Workers().run(end, 9)


def test_a_worker_that_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(OutputError, match=r"Cannot start a worker: No such file or directory\. Try fewer --workers\."):
        Workers().run(print, "x")


def test_stopped_workers_are_not_started_again() -> None:
    stopped = Workers()
    stopped.stop()
    with pytest.raises(OutputError, match="stopped"):
        stopped.run(print, "x")
