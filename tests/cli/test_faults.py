"""Full disks, names that cannot be, output that nobody takes, commands that are killed or meet: refused in clear words."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from glob import glob
from pathlib import Path

import pytest

from builders.runs import Files, Saved
from evidentia.results.folder import replace_file
from evidentia.verifying import verify_numbers

from .command import PLAIN, contents, evidentia, program, refused

LONG = "x" * 300
QUICK = ("--resamples", "0", "--quiet")
linux = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full and locks of folders")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a disk of its own cannot be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path, *, room: int) -> None:
    (disk / "filler").write_bytes(b"")
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
    (disk / "filler").write_bytes(b"0" * (free - room))


def writers(files: Files, saved: Saved, disk: Path) -> dict[str, tuple[object, ...]]:
    """Every command that writes, with a place on the disk."""
    return {
        "evaluate": ("evaluate", files.per_query, "-o", disk / "out", *QUICK),
        "compare": ("compare", saved.folder, saved.folder, "--resamples", 10, "-o", disk / "out"),
        "tune": ("tune", files.per_query, "-o", disk / "thresholds.json", "--force"),
        "gate": ("gate", saved.folder, "--target", "AUROC>=0", "--markdown", disk / "gate.md", "--trust-verification"),
        "synth": ("synth", "-o", disk / "out", "--posts", 60, "--trec"),
        "synth parquet": ("synth", "-o", disk / "out", "--posts", 60, "--format", "parquet"),
        "synth jsonl": ("synth", "-o", disk / "out", "--posts", 60, "--format", "jsonl"),
        "synth corpus": ("synth", "--kind", "corpus", "-o", disk / "out", "--posts", 60),
        "synth phq8": ("synth", "--kind", "phq8", "-o", disk / "out"),
        "run --init": ("run", "--init", disk / "pipeline.toml"),
    }


NAMES = list(writers(Files(Path(), Path()), Saved(None, Path()), Path()))  # type: ignore[arg-type]


@pytest.mark.sample(every=9)
@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_is_said_and_nothing_is_left(
    name: str, files: Files, split_files: Files, saved: Saved, disk: Path
) -> None:
    words = writers(split_files if name == "tune" else files, saved, disk)[name]
    for room in (0, 4096, 16384):
        fill(disk, room=room)
        ran = evidentia(*words)
        if room == 0 or ran.code == 2:
            refused(ran, "No space left on device")
            assert [path.name for path in disk.iterdir()] == ["filler"]
        (disk / "filler").unlink()
        if ran.code != 2:
            break
    else:
        assert evidentia(*words).code in {0, 1}


def test_what_is_on_a_full_disk_stays(files: Files, disk: Path) -> None:
    words = ("synth", "-o", disk / "out", "--posts", 60)
    assert evidentia(*words).code == 0
    before = contents(disk / "out")
    fill(disk, room=8192)
    refused(evidentia(*words, "--seed", 8, "--force"), "Cannot write into out: No space left on device.")
    assert contents(disk / "out") == before


@pytest.mark.slow
def test_a_report_that_found_no_room_does_not_stop_the_next(saved: Saved, disk: Path) -> None:
    out = Path(shutil.copytree(saved.folder, disk / "out"))
    for room in (0, 4096):
        fill(disk, room=room)
        refused(evidentia("report", out, "--quiet"), "No space left on device")
        assert [path.name for path in out.rglob("*") if path.is_file() and not path.stat().st_size] == []
        assert list(out.rglob(".*")) == []
    (disk / "filler").unlink()
    (out / "report.key").write_bytes(b"")  # as earlier versions left it
    assert evidentia("report", out, "--quiet").code == 0
    assert len((out / "report.key").read_text()) == 65
    assert (out / "report.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["evaluate", "compare", "tune", "gate", "synth", "synth corpus", "synth phq8"])
def test_a_name_of_three_hundred_characters_is_refused(
    name: str, files: Files, split_files: Files, saved: Saved, tmp_path: Path
) -> None:
    words = writers(split_files if name == "tune" else files, saved, tmp_path)[name]
    places = {tmp_path / place for place in ("out", "thresholds.json", "gate.md")}
    long = [tmp_path / LONG if word in places else word for word in words]
    refused(evidentia(*long), "xxx", "File name too long")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("verify", LONG), ("report", LONG), ("gate", LONG), ("compare", LONG, LONG), ("corpus", "stats", LONG)]
)
def test_a_long_name_of_what_is_read_is_refused(words: tuple[str, ...]) -> None:
    refused(evidentia(*words), "xxx", "File name too long")


@pytest.mark.slow
def test_a_name_as_long_as_can_be_is_written(files: Files, tmp_path: Path) -> None:
    for name in ("x" * 255, "ä" * 127):
        for more in ((), ("--force",)):
            ran = evidentia("evaluate", files.per_query, "-o", tmp_path / name, *QUICK, *more)
            assert ran.code in {0, 1}, ran
    assert sorted(len(path.name) for path in tmp_path.iterdir()) == [127, 255]


# what is printed


def printed(*words: object, stdout: str | int, **env: str) -> subprocess.CompletedProcess[bytes]:
    with open(stdout, "wb") if isinstance(stdout, str) else open(os.devnull, "wb") as place:
        return subprocess.run(
            [*program(), *map(str, words)],
            stdout=stdout if isinstance(stdout, int) else place,
            stderr=subprocess.PIPE,
            env={**os.environ, **PLAIN, **env},
            check=False,
        )


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "foreign.csv"
    path.write_text(
        "post_id,criterion_id,prob,has_evidence,grüppe\n1,Ä.1,0.9,1,日本\n2,Ä.1,0.2,0,ö\n", encoding="utf-8"
    )
    return path


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_an_encoding_lacks_is_escaped(encoding: str, foreign: Path) -> None:
    words = ("evaluate", foreign, "--by", "grüppe", "--resamples", 0)
    ran = printed(*words, stdout=subprocess.PIPE, PYTHONIOENCODING=encoding)
    assert (ran.returncode, ran.stderr) == (0, b"")
    ran = printed(*words, "--json", stdout=subprocess.PIPE, PYTHONIOENCODING=encoding)
    assert "AUROC[grüppe=日本]" in json.loads(ran.stdout.decode(encoding))["measures"]
    ran = printed("corpus", "stats", "nö日", stdout=subprocess.PIPE, PYTHONIOENCODING="ascii")
    assert ran.returncode == 2
    assert b"n\\u00f6\\u65e5" in ran.stderr


@pytest.mark.sample(every=3)
@linux
@pytest.mark.parametrize(
    "words", [("--help",), ("--version",), ("measures",), ("validate",), ("evaluate",), ("evaluate", "--json")]
)
def test_output_that_finds_no_room_is_said(words: tuple[str, ...], foreign: Path) -> None:
    more = (foreign,) if words[0] in {"validate", "evaluate"} else ()
    ran = printed(*words, *more, stdout="/dev/full")
    assert ran.returncode == 2
    assert ran.stderr == (
        b"evidentia: Standard output cannot be written: No space left on device. What was written to files is there.\n"
    )


@pytest.mark.slow
@linux
def test_output_that_is_closed_leads_nowhere(foreign: Path, tmp_path: Path) -> None:
    for closed, code in ((">&-", 0), (">&- 2>&-", 0), ("2>/dev/full", 0)):
        out = tmp_path / f"out{len(closed)}"
        command = f"exec {program()[-1]} evaluate {foreign} --json -o {out} --resamples 0 {closed}"
        ran = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
        assert (ran.returncode, ran.stderr) == (code, b"")
        assert (out / "summary.json").is_file()
    ran = subprocess.run(["sh", "-c", f"{program()[-1]} measures | head -n 1"], capture_output=True, check=False)
    assert ran.stderr == b""


# commands that are killed, and commands that meet


def started(files: Files, out: Path) -> subprocess.Popen[bytes]:
    """`evidentia evaluate` with a page, which takes a while to write."""
    env = {name: value for name, value in os.environ.items() if name != "EVIDENTIA_NO_REPORT"}
    words = [*program(), "evaluate", str(files.per_query), "-o", str(out), *QUICK]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)


def stopped_while_it_writes(files: Files, out: Path) -> subprocess.Popen[bytes]:
    """The command, stopped in the middle; begun again where it was faster than the signal."""
    for _ in range(20):
        command = started(files, out)
        until(lambda command=command: in_use(out.parent) or command.poll() is not None)
        if command.returncode is None:
            command.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, command.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # it may take its time to stop
            if in_use(out.parent):
                return command
            command.send_signal(signal.SIGCONT)
        command.communicate()
        shutil.rmtree(out)
    raise AssertionError("the command was never met while it wrote")


def partial(folder: Path) -> list[Path]:
    return list(folder.glob(".*.partial"))


def in_use(folder: Path) -> bool:
    """Whether files are being written: before the first of them, the place may not be locked yet."""
    return bool(glob(f"{folder}/.*.partial/*"))


def until(ready: Callable[[], object]) -> None:
    limit = time.monotonic() + 300
    while not ready():
        assert time.monotonic() < limit
        time.sleep(0.001)


def quick(files: Files, out: Path) -> None:
    assert evidentia("evaluate", files.per_query, "-o", out, *QUICK).code in {0, 1}


@linux
@pytest.mark.sample(every=2)
@pytest.mark.parametrize("name", ["out", "other"])
def test_what_a_killed_command_left_is_cleared_by_the_next(name: str, files: Files, tmp_path: Path) -> None:
    command = stopped_while_it_writes(files, tmp_path / "out")
    command.kill()
    command.wait()
    assert partial(tmp_path)
    quick(files, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.slow
@linux
def test_what_a_living_command_writes_is_left_alone_and_the_first_to_finish_wins(files: Files, tmp_path: Path) -> None:
    command = stopped_while_it_writes(files, tmp_path / "out")
    try:
        (writing,) = partial(tmp_path)
        quick(files, tmp_path / "out")
        assert partial(tmp_path) == [writing]
        result = contents(tmp_path / "out")
    finally:
        command.send_signal(signal.SIGCONT)
    _, words = command.communicate()
    assert command.returncode == 2
    assert words.decode() == (
        "evidentia: out was written by another command meanwhile, and stays as it is. "
        "Choose another folder with -o, or replace it with --force.\n"
    )
    assert contents(tmp_path / "out") == result
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
@linux
def test_of_commands_that_start_together_exactly_one_succeeds(files: Files, tmp_path: Path) -> None:
    commands = [started(files, tmp_path / "out") for _ in range(3)]
    said = [command.communicate()[1].decode() for command in commands]
    assert sorted(command.returncode for command in commands) == [0, 2, 2]
    assert all("out exists" in one or "out was written by another command" in one for one in said if one)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert verify_numbers(tmp_path / "out").passed


@linux
def test_a_result_that_was_being_replaced_is_put_back(files: Files, tmp_path: Path) -> None:
    """As a command leaves it that is killed between moving the old result away and the new one into its place."""
    quick(files, tmp_path / "out")
    before = contents(tmp_path / "out")
    old = tmp_path / ".out.old.abcdefgh.partial"
    old.mkdir(mode=0o700)
    (tmp_path / "out").rename(old / "out")
    quick(files, tmp_path / "other")
    assert contents(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


@pytest.mark.slow
@linux
def test_files_left_in_a_result_are_cleared_and_those_of_others_stay(saved: Saved, tmp_path: Path) -> None:
    out = Path(shutil.copytree(saved.folder, tmp_path / "out"))
    for name in (".report.html.abcdefgh.partial", "figures/.roc.svg.abc_ef12.partial"):
        (out / name).write_text("<")
    others = [tmp_path / name for name in (".film.partial", ".x.abcdefgh.partial", ".y.abcdefgh.partial")]
    others[0].write_text("mine")
    others[1].write_text("mine")
    others[2].mkdir(mode=0o755)
    assert evidentia("report", out, "--quiet").code == 0
    assert list(out.rglob(".*")) == []
    replace_file(tmp_path / "file", b"new")
    assert all(path.exists() for path in others)
