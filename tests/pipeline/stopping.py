"""Start the command as a user does, and stop it as nobody should: by SIGKILL or Ctrl-C, in the middle of anything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from builders.pipelines import small_corpus
from cli.command import without_progress

CHEAP = """
[corpus]
path = "{corpus}"
[protocol]
folds = 2
seed = {seed}
[run]
workers = 1
[reranker]
learners = ["words"]
model = "logistic"
[gate]
model = "logistic"
"""
STEPS = 3 * 5  # two folds and the model for use: words, bm25, retriever, reranker, gate
LONG = 900.0  # nothing here is about speed
TIMED = {"manifest.json", "run.log"}  # what holds times


def cheap(folder: Path, *, seed: int = 8) -> Path:
    """A configuration that trains within seconds, and its corpus."""
    path = folder / "pipeline.toml"
    small_corpus(folder / "corpus", criteria=4)
    path.write_text(CHEAP.format(corpus=folder / "corpus", seed=seed), encoding="utf-8")
    return path


@dataclass
class Started:
    """A command that runs in a process group of its own."""

    process: subprocess.Popen[bytes]
    said: Path

    def wait(self) -> int:
        """The exit code."""
        return self.process.wait(LONG)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    @property
    def words(self) -> str:
        """All that it and its workers have printed, but for the stages that are done."""
        return without_progress(self.said.read_text(encoding="utf-8"))

    def children(self) -> list[int]:
        """Its workers, and what helps them."""
        return [pid for pid, parent in _parents() if parent == self.process.pid]

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the parent alone, or to everybody as a terminal does."""
        (os.killpg if group else os.kill)(self.process.pid, number)


def begin(config: Path, out: Path, *words: object, env: dict[str, str] | None = None) -> Started:
    """Start `evidentia run CONFIG -o OUT WORDS...`."""
    handle, said = tempfile.mkstemp(dir=config.parent, prefix="said.")
    command = [sys.executable, "-m", "evidentia.cli.main", "run", str(config), "-o", str(out), *map(str, words)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
    finally:
        os.close(handle)
    return Started(process, Path(said))


def kill(started: Started) -> bool:
    """SIGKILL the parent alone; its workers must follow. False where it had ended already."""
    children = started.children()
    landed = started.alive
    started.signal(signal.SIGKILL)
    started.wait()
    assert gone(children), "workers outlive their parent"
    return landed


def gone(pids: Sequence[int], *, within: float = 60.0) -> bool:
    """Whether all of these processes end in time; one that nobody has buried yet has ended."""
    return until_true(lambda: all(_state(pid) in {"Z", "X", None} for pid in pids), within=within)


def until_true(ready: Callable[[], bool], *, within: float = LONG) -> bool:
    """Wait for something; False where it does not come in time."""
    limit = time.monotonic() + within
    while not ready():
        if time.monotonic() > limit:
            return False
        time.sleep(0.002)
    return True


def until(ready: Callable[[], bool], started: Started, *, within: float = LONG) -> bool:
    """Wait for something that a command does; False where the command ended before."""
    limit = time.monotonic() + within
    while not ready():
        if not started.alive:
            return ready()
        assert time.monotonic() < limit, "the command takes too long"
        time.sleep(0.002)
    return True


def checkpoints(out: Path) -> int:
    """How many steps are kept."""
    return sum(1 for path in out.glob("work/*/*") if not path.name.startswith("."))


def outcome(out: Path) -> dict[str, bytes]:
    """Every file of a run, also hidden ones; without those that hold a time, and the hash of such a one."""
    files = {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    files = {name: content for name, content in files.items() if Path(name).name not in TIMED}
    verified = files.get("result/verification.json")
    if verified is not None:
        document = json.loads(verified)
        del document["manifest_sha256"]
        files["result/verification.json"] = json.dumps(document).encode()
    return files


def same(one: Path, other: Path, *, verified: bool = True) -> None:
    """Two runs have the same files with the same bytes; the first may have gone without a verification."""
    first, second = outcome(one), outcome(other)
    if not verified:
        second.pop("result/verification.json")
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    wanted = {"per_query.parquet", "tune.parquet", "candidates.parquet", "thresholds.json", "tuned.json"}
    assert wanted | {"result/summary.json", "models/final/pipeline.json"} <= set(first)


@dataclass(frozen=True)
class Moment:
    """When to kill: some time after a sign, at the latest at the next one."""

    phase: str
    sign: Callable[[], bool]
    delay: float
    latest: Callable[[], bool]
    verify: bool = False


class Signs:
    """What a run shows of itself on the disk; only what has changed since it was started counts."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.before = {path: _mark(path) for path in (out, *out.rglob("*"))}

    def new(self, name: str) -> Callable[[], bool]:
        """A file or folder was written."""
        path = self.out / name
        return lambda: _mark(path) not in {None, self.before.get(path)}

    def writing(self) -> bool:
        """The result is being written."""
        return any(path.name not in {p.name for p in self.before} for path in self.out.glob(".result.*"))

    def trained(self, number: int) -> Callable[[], bool]:
        """So many steps are kept."""
        return lambda: checkpoints(self.out) >= number


def moments(
    random: np.random.Generator, whole: Path, *, steps: int, trainings: int
) -> Iterator[Callable[[Signs], Moment]]:
    """Moments over all phases of a run, in the order in which a run that is continued can meet them."""
    evaluating = _mark(whole / "result")[1] - _mark(whole / "models/final")[1]  # type: ignore[index]
    seconds = max(evaluating / 1e9, 0.1)
    yield lambda s: Moment("opening", s.new("work"), float(random.uniform(0, 0.02)), s.trained(1))
    for number in sorted(random.choice(np.arange(1, steps - 1), trainings, replace=False).tolist()):
        yield lambda s, n=number: Moment("training", s.trained(n), float(random.uniform(0, 0.5)), s.trained(n + 2))
    for name in ("tune.parquet", "models/fold-1", "models/final"):
        yield lambda s, n=name: Moment("deciding", s.new(n), float(random.uniform(0, 0.03)), s.writing)
    for _ in range(2):
        yield lambda s: Moment("evaluating", s.new("models/final"), float(random.uniform(0.05, seconds)), s.writing)
    for most in (0.02, 0.2):
        yield lambda s, m=most: Moment("writing", s.writing, float(random.uniform(0, m)), s.new("result"))
    after = float(random.uniform(0, 1.0))
    yield lambda s: Moment("verifying", s.new("result"), after, s.new("result/verification.json"), verify=True)
    yield lambda s: Moment("removing", s.new("manifest.json"), 0.0, s.new("manifest.json"), verify=True)


def kill_often(config: Path, out: Path, whole: Path, *words: object, steps: int, often: bool, seed: int) -> list[str]:
    """Kill a run once in some phases, or often in all of them, each time continued; then let it finish.

    Returns the phases in which kills landed.
    """
    random, landed, left = np.random.default_rng(seed), [], {"training", "evaluating", "verifying"}
    for planned in moments(random, whole, steps=steps, trainings=4 if often else 1):
        moment = planned(Signs(out))
        if moment.phase not in left and not often:
            continue
        left.discard(moment.phase)
        workers = 2 if moment.phase in {"opening", "training"} else 1
        more = () if moment.verify else ("--no-verify",)
        started = begin(config, out, "--resume", "--workers", workers, *words, *more)
        until(moment.sign, started)
        limit = time.monotonic() + moment.delay
        until(lambda at=limit, m=moment: time.monotonic() >= at or m.latest(), started)  # type: ignore[misc]
        if kill(started):
            landed.append(moment.phase)
        assert "Traceback" not in started.words  # a worker whose parent is gone says nothing
    last = begin(config, out, "--resume", *words)
    assert last.wait() == 0, last.words
    return landed


def _mark(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _parents() -> Iterator[tuple[int, int]]:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            yield int(path.name), int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue


def _state(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return None
