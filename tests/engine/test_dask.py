"""A Dask cluster of processes: any number of workers comes to the same, also where one is killed or falls silent."""

from __future__ import annotations

import os
import signal
import socket
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli.command import evidentia, evidentia_apart, refused
from engine.cluster import cluster
from engine.made import MEASURES, Made, in_blocks, in_parts, made, same
from engine.toys import Harmed, dies_once, dies_over, waits_once
from evidentia.engine import executors
from evidentia.engine.executors import executor_named
from evidentia.errors import EvidentiaError
from evidentia.results import loads


def test_a_worker_that_is_killed_midway_changes_nothing(run: Made, tmp_path: Path) -> None:
    """A scheduler and two workers as processes of their own; the first to get a block is killed over it."""
    with cluster(tmp_path, 2) as dask, executor_named(f"dask:{dask.address}", 2) as executor:
        same(in_blocks(*run.files, executor=Harmed(executor, dies_once, tmp_path / "died")), run.expected)
        assert sorted(worker.poll() or 0 for worker in dask.workers) == [-signal.SIGKILL, 0]


@pytest.mark.slow
def test_a_worker_that_falls_silent_loses_its_block_when_its_lease_ends(run: Made, tmp_path: Path) -> None:
    """It is stopped over its first block, not killed: its connection stays, and only its heartbeats are missing."""
    with cluster(tmp_path, 2, lease="2s") as dask, executor_named(f"dask:{dask.address}", 2) as executor:
        same(in_blocks(*run.files, executor=Harmed(executor, waits_once, tmp_path / "stopped")), run.expected)
        stopped = int((tmp_path / "stopped").read_text())
        assert stopped in [worker.pid for worker in dask.workers]
        assert Path(f"/proc/{stopped}/stat").read_text().rpartition(")")[2].split()[0] == "T"  # it is stopped still
        os.kill(stopped, signal.SIGCONT)


@pytest.mark.slow
def test_any_number_of_workers_and_any_order_of_partitions(tmp_path: Path) -> None:
    run = made(tmp_path, posts=120, criteria=5, positives=60, folds=3)
    by_post = [table.partition_by("post_id", maintain_order=True) for table in (run.per_query, run.candidates)]
    for workers in (1, 2, 4):
        folder = tmp_path / str(workers)
        order = pl.Series(range(120)).sample(fraction=1, shuffle=True, seed=workers)
        for name, posts in zip(("queries", "candidates"), by_post, strict=True):
            rows = pl.concat([posts[place] for place in order])
            in_parts(rows, folder / name, range(0, rows.height, rows.height // 7))
        with cluster(folder, workers) as dask, executor_named(f"dask:{dask.address}", workers) as executor:
            assert executor.workers == workers
            found = in_blocks(folder / "queries", folder / "candidates", rows=900, executor=executor, resamples=20)
        same(found, in_blocks(*run.files, rows=10**6, resamples=20))
        same(in_blocks(*run.files), run.expected)


@pytest.mark.slow
def test_the_command_with_an_address_from_another_folder(run: Made, tmp_path: Path) -> None:
    """Workers stand in a folder of their own, and the tables are named from another."""
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster", 2) as dask:
        words = ("--measures", ",".join(MEASURES), "--engine", f"dask:{dask.address}", "-o", tmp_path / "out", "-q")
        queries, candidates = (path.name for path in run.files)
        ran = evidentia_apart("evaluate", queries, "--candidates", candidates, *words, cwd=run.folder)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert loads((tmp_path / "out" / "manifest.json").read_text())["engine"]["name"] == "dask"
    summary = loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["measures"] == loads(run.expected.to_json())["measures"]


@pytest.mark.slow
def test_a_cluster_of_this_machine(run: Made, tmp_path: Path) -> None:
    words = ("--measures", ",".join(MEASURES), "--engine", "dask", "--workers", 2, "-o", tmp_path / "out", "-q")
    ran = evidentia_apart("evaluate", run.files[0], "--candidates", run.files[1], *words)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    summary = loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["measures"] == loads(run.expected.to_json())["measures"]


@pytest.mark.slow
def test_a_block_that_kills_every_worker_is_an_error(tmp_path: Path) -> None:
    with cluster(tmp_path, 5) as dask, executor_named(f"dask:{dask.address}") as executor:
        work = _Fatal(2)
        with pytest.raises(EvidentiaError, match="workers died over one block again and again"):
            list(executor.map(work, [1, 2, 3]))


class _Fatal:
    """Kills whoever gets one of the tasks."""

    def __init__(self, fatal: int) -> None:
        self.fatal = fatal

    def __call__(self, task: int) -> int:
        return dies_over(self.fatal, task)


@pytest.mark.slow
def test_problems_of_a_block_are_told_as_elsewhere(run: Made, tmp_path: Path) -> None:
    wrong = run.per_query.with_columns(prob=pl.lit(1.5))
    queries = in_parts(wrong, tmp_path / "queries", [40])
    with cluster(tmp_path, 1) as dask:
        ran = evidentia_apart("evaluate", queries, "--engine", f"dask:{dask.address}", "-o", tmp_path / "out", "-q")
    refused(ran, "prob", "row 1 of part-000.parquet (row group 1)")
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_is_not_there(run: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "PATIENCE", 0.2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    ran = evidentia("evaluate", run.files[0], "--engine", f"dask:{address}", "-o", tmp_path / "out")
    refused(ran, f"no Dask scheduler at {address}", "dask:HOST:PORT")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_scheduler_without_workers(run: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "PATIENCE", 5)
    with cluster(tmp_path, 0) as dask:
        ran = evidentia("evaluate", run.files[0], "--engine", f"dask:{dask.address}", "-o", tmp_path / "out")
    refused(ran, f"scheduler at {dask.address} has not got 1 worker", "dask worker")


def test_without_the_extra(run: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        if name == "distributed":
            raise ModuleNotFoundError(name)
        return import_module(name)

    monkeypatch.setattr(executors, "import_module", missing)
    ran = evidentia("evaluate", run.files[0], "--engine", "dask", "-o", tmp_path / "out")
    refused(ran, "--engine dask needs the distributed extra", "pip install 'evidentia[distributed]'")
    assert list(tmp_path.iterdir()) == []
