"""A run that is stopped and continued is the run that was never stopped, byte for byte."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from evidentia.pipeline.lock import acquire_lock

from .conftest import Whole
from .stopping import STEPS, begin, checkpoints, gone, kill, kill_often, same, until

ALONE, TOGETHER = (("--workers", workers, "--no-verify") for workers in (1, 2))
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")


@linux
@pytest.mark.parametrize("often", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["once", "often"])
def test_killed_over_and_over(often: bool, whole: Whole, tmp_path: Path) -> None:
    config = Path(shutil.copy(whole.config, tmp_path))
    landed = kill_often(config, tmp_path / "out", whole.out, *whole.words, steps=STEPS, often=often, seed=11)
    same(tmp_path / "out", whole.out)
    counts = Counter(landed)
    assert counts["training"] >= (3 if often else 1), counts
    assert counts["evaluating"] >= 1
    assert counts["verifying"] == 1
    if often:
        assert len(landed) >= 10
        assert counts["deciding"] >= 2
        assert counts["writing"] >= 1


@linux
@pytest.mark.sample(every=2)
@pytest.mark.parametrize("everybody", [True, False])
def test_the_keyboard_stops_everybody_and_the_run_goes_on_later(everybody: bool, whole: Whole, tmp_path: Path) -> None:
    config, out = Path(shutil.copy(whole.config, tmp_path)), tmp_path / "out"
    started = begin(config, out, *TOGETHER, *whole.words)
    if everybody:  # while the workers are being started
        assert until(lambda: len(started.children()) >= 2, started)
    else:
        assert until(lambda: checkpoints(out) >= 2, started)
    children = started.children()
    started.signal(signal.SIGINT, group=everybody)
    assert started.wait() == 130
    assert gone(children)
    assert started.words == "evidentia: stopped. What was done is kept: continue with --resume.\n"
    again = begin(config, out, "--resume", *ALONE, *whole.words)
    assert again.wait() == 0, again.words
    same(out, whole.out, verified=False)


@pytest.mark.slow
@linux
def test_a_second_command_is_kept_out_while_the_first_one_lives(whole: Whole, tmp_path: Path) -> None:
    config, out = Path(shutil.copy(whole.config, tmp_path)), tmp_path / "out"
    first = begin(config, out, *TOGETHER, *whole.words)
    assert until(lambda: checkpoints(out) >= 1, first)
    first.signal(signal.SIGSTOP, group=True)
    before = sorted(out.rglob("*"))
    second = begin(config, out, "--resume", *TOGETHER, *whole.words)
    assert second.wait() == 2
    process = first.process.pid
    assert second.words == (
        f"evidentia: out is being written by another command (process {process}). "
        "Wait for it, or choose another folder with -o.\n"
    )
    assert sorted(out.rglob("*")) == before
    first.signal(signal.SIGCONT, group=True)
    assert kill(first)
    acquire_lock(out / "work" / "lock").release()  # it went with its holder


@pytest.mark.slow
@linux
def test_damaged_steps_are_done_again(whole: Whole, tmp_path: Path) -> None:
    config, out = Path(shutil.copy(whole.config, tmp_path)), tmp_path / "out"
    started = begin(config, out, *ALONE, *whole.words)
    assert until(lambda: checkpoints(out) >= 6, started)
    kill(started)
    kept = sorted(path for path in out.glob("work/*/*") if not path.name.startswith("."))
    scores, model, lost = kept[0] / "scores.safetensors", kept[1] / "model.json", kept[2] / "model.safetensors"
    os.truncate(scores, scores.stat().st_size - 8)
    os.truncate(model, model.stat().st_size // 2)
    lost.unlink()
    again = begin(config, out, "--resume", *ALONE, *whole.words)
    assert again.wait() == 0, again.words
    for step in kept[:3]:
        assert f"evidentia: work/{step.parent.name}/{step.name} is damaged and is done again.\n" in again.words
    assert again.words.count("is damaged") == 3
    same(out, whole.out, verified=False)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that holds some steps of the run, which take about 480 kB together, and not all."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        shutil.which("mount") is None
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("a disk of its own cannot be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def grow(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_said_and_with_more_room_the_run_goes_on(whole: Whole, small_disk: Path, tmp_path: Path) -> None:
    config, out = Path(shutil.copy(whole.config, tmp_path)), small_disk / "out"
    first = begin(config, out, *ALONE, *whole.words)
    assert first.wait() == 2
    kept = checkpoints(out)
    assert 1 <= kept < STEPS
    assert first.words.startswith("evidentia: Cannot write ")
    assert first.words.endswith(
        ": No space left on device. What was done is kept: make room (or the folder writable), then continue with --resume.\n"
    )
    assert first.words.count("\n") == 1
    grow(small_disk, "32m")
    filler = small_disk / "filler"
    second = begin(config, out, "--resume", *ALONE, *whole.words)
    assert until((out / "steps/final/gate").exists, second)
    filler.write_bytes(b"0" * (os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_bsize - 100_000))
    assert second.wait() == 2
    assert second.words == "evidentia: Writing result failed: No space left on device. Nothing was changed.\n"
    assert checkpoints(out) == STEPS
    assert [path.name for path in out.rglob(".*")] == []
    filler.unlink()
    third = begin(config, out, "--resume", *ALONE, *whole.words)
    assert third.wait() == 0, third.words
    same(out, whole.out, verified=False)


@linux
@pytest.mark.slow
def test_files_that_may_not_grow_are_said_and_without_the_limit_the_run_goes_on(whole: Whole, tmp_path: Path) -> None:
    config, out = Path(shutil.copy(whole.config, tmp_path)), tmp_path / "out"

    first = begin(config, out, *TOGETHER, *whole.words)
    resource.prlimit(first.process.pid, resource.RLIMIT_FSIZE, (55_000, 55_000))  # a model of the graph does not fit
    assert first.wait() == 2
    assert "evidentia: Cannot write " in first.words
    assert "File too large. What was done is kept" in first.words
    assert first.words.count("\n") == 1
    assert checkpoints(out) >= 1
    again = begin(config, out, "--resume", *ALONE, *whole.words)
    assert again.wait() == 0, again.words
    same(out, whole.out, verified=False)


@pytest.mark.slow
def test_the_number_of_workers_changes_no_byte(whole: Whole, tmp_path: Path) -> None:
    config = Path(shutil.copy(whole.config, tmp_path))
    together = begin(config, tmp_path / "out", *TOGETHER, *whole.words)
    assert together.wait() == 0, together.words
    same(tmp_path / "out", whole.out, verified=False)
