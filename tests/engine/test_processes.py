"""Processes of this machine: any number of them comes to the same, and one that dies is replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli.command import evidentia, evidentia_apart, refused
from engine.made import MEASURES, Made, in_blocks, in_parts, numbers, same
from engine.toys import Harmed, dies_once, dies_over, refuses, square
from evidentia.engine.executors import LocalProcesses, executor_named
from evidentia.errors import EvidentiaError, InputError
from evidentia.results import loads


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_worker_that_is_killed_is_replaced_and_the_result_is_the_same(
    workers: int, run: Made, tmp_path: Path
) -> None:
    executor = Harmed(LocalProcesses(workers), dies_once, tmp_path / "died")
    same(in_blocks(*run.files, executor=executor, scratch=tmp_path), run.expected)
    assert [path.name for path in tmp_path.iterdir()] == ["died"]


def test_a_task_that_kills_every_worker_is_an_error() -> None:
    with pytest.raises(EvidentiaError, match=r"A worker died 3 times over block 2 of 3, perhaps .* Give less --memory"):
        list(LocalProcesses(1).map(partial(dies_over, 5), [4, 5, 6]))


def test_a_pipe_to_a_worker_that_died_does_not_end_the_command() -> None:
    """The command ends where its reader goes away, as `| head` does; a worker that goes away is no reader."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with executor_named("local", 1):
            reader, writer = os.pipe()
            os.close(reader)
            with pytest.raises(BrokenPipeError):
                os.write(writer, b"x")
            os.close(writer)
        assert signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGPIPE, before)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_results_come_in_the_order_of_tasks(workers: int) -> None:
    assert list(LocalProcesses(workers).map(square, range(20))) == [number**2 for number in range(20)]


def test_workers_that_die_again_and_again_leave_nothing(
    run: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, work: Any, tasks: Sequence[Any]) -> Iterator[Any]:
        yield from map(work, tasks[:1] if len(tasks) > 1 else [])
        raise BrokenProcessPool

    monkeypatch.setattr(LocalProcesses, "_pooled", broken)
    queries = in_parts(run.per_query.sample(fraction=1, shuffle=True, seed=1), tmp_path / "queries", [20])
    (tmp_path / "scratch").mkdir()
    given = ("--scratch", tmp_path / "scratch", "-o", tmp_path / "out", "-q")
    refused(evidentia("evaluate", queries, "--memory", "1GB", *given), "died 3 times", "--memory", "--workers")
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "part-000.parquet",
        "part-001.parquet",
        "queries",
        "scratch",
    ]


def test_an_interruption_leaves_nothing(run: Made, tmp_path: Path) -> None:
    class Interrupted:
        workers = 1

        def map(self, work: Any, tasks: Sequence[Any]) -> Iterator[Any]:
            yield work(tasks[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_blocks(*run.files, executor=Interrupted(), scratch=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--memory", "much"), ["--memory much is no size"]),
        (("--memory", "100MB"), ["too little for", "--workers"]),
        (("--engine", "spark"), ["no engine 'spark'", "local, dask"]),
        (("--workers", "0"), ["cannot be 0 workers", "1 or more"]),
        (("--workers=-2",), ["cannot be -2 workers"]),
        (("--memory", "1GB", "--stratify"), ["--stratify", "in memory"]),
        (("--memory", "1GB", "--ties", "trec"), ["--ties", "in memory"]),
        (("--memory", "1GB", "--resamples", "5000"), ["at most 2,000 resamples"]),
    ],
)
def test_options_that_cannot_be(words: tuple[str, ...], parts: list[str], run: Made, tmp_path: Path) -> None:
    refused(evidentia("evaluate", run.files[0], "-o", tmp_path / "out", *words), *parts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_says_the_same_with_any_number_of_workers(run: Made, tmp_path: Path) -> None:
    summaries = []
    for workers in (1, 2):
        out = tmp_path / f"out-{workers}"
        given = ("--measures", ",".join(MEASURES), "--workers", workers, "--memory", "2GB", "-q", "-o", out)
        ran = evidentia_apart("evaluate", run.files[0], "--candidates", run.files[1], *given)
        assert (ran.code, ran.out, ran.err) == (0, "", "")
        summaries.append((out / "summary.json").read_bytes())
    assert summaries[0] == summaries[1]
    measures = loads(summaries[0].decode())["measures"]
    assert {f"measures {name}" for name in measures} <= numbers(run.expected).keys()


def test_a_problem_of_a_process_keeps_its_code() -> None:
    with pytest.raises(InputError) as caught:
        list(LocalProcesses(1).map(refuses, [1]))
    assert [problem.code for problem in caught.value.problems] == ["ODD"]
