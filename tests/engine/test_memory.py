"""The memory that a command may take is what all of its processes have together, and the page says how it is shared out."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from cli.command import program
from engine.made import Made, in_blocks, in_parts, made
from evidentia.engine import blocks
from evidentia.engine import evaluate as engine
from evidentia.engine.evaluate import memory_of, rows_of_blocks
from evidentia.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def resident(process: int) -> int:
    """Bytes that a process and those that it started have."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        threads = os.listdir(f"/proc/{process}/task")
        children = [Path(f"/proc/{process}/task/{thread}/children").read_text().split() for thread in threads]
    except OSError:  # it has ended
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident(int(child)) for some in children for child in some)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
@pytest.mark.parametrize(("order", "memory"), [("ordered", 700), ("scattered", 700), ("ordered", 1000)])
def test_all_processes_together_stay_within_the_memory(order: str, memory: int, tmp_path: Path) -> None:
    """600,000 candidates, of which a process takes as many as the memory allows."""
    run = made(tmp_path, posts=3_000, criteria=10, positives=None)
    queries = run.per_query if order == "ordered" else run.per_query.sample(fraction=1, shuffle=True, seed=1)
    folder = in_parts(queries, tmp_path / "queries", range(0, queries.height, 4_000))
    workers = memory // 450
    words = ("--memory", f"{memory}MB", "--workers", workers, "--resamples", 0, "-q", "-o", tmp_path / "out")
    command = [*program(), "evaluate", folder, "--candidates", run.files[1], *words]
    peak = 0
    with subprocess.Popen(list(map(str, command))) as process:
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.01)
    assert process.returncode == 0
    assert 100e6 < peak < memory * 1e6


def test_blocks_share_what_processes_leave() -> None:
    assert rows_of_blocks(2_000_000_000, 2) == (2_000_000_000 - 3 * engine.PROCESS) // 2 // engine.PER_ROW
    assert rows_of_blocks(10**12, 1) == 2_000_000
    with pytest.raises(InputError, match=r"--memory 200 MB is too little for 1 worker: give 473 MB or more"):
        rows_of_blocks(200_000_000, 1)


@pytest.mark.parametrize(
    ("text", "size"), [("2GB", 2 * 10**9), ("1.5 g", 15 * 10**8), ("500MiB", 5 * 10**8), ("7", 7), ("3TB", 3 * 10**12)]
)
def test_sizes(text: str, size: int) -> None:
    assert memory_of(text) == size


@pytest.mark.parametrize("text", ["", "GB", "0GB", "-2GB", "2XB", "two", "1e9", "2 G B"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match="is no size"):
        memory_of(text)


def test_a_run_that_needs_more_is_refused_before_its_orders_are_made(
    run: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PER_QUERY_HERE", 10**9)
    with pytest.raises(
        InputError, match=r"72 queries need 72.2 GB for the orders over all of them, and --memory is 2.0 GB"
    ):
        in_blocks(*run.files)


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not beside the tests")
def test_the_page_says_what_the_program_does() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for words in (
        f"{engine.PROCESS / 1e6:.0f} MB",
        f"{engine.PER_ROW} bytes a row",
        f"{engine.PER_QUERY_HERE} bytes a query",
        f"{engine.PER_QUERY_WEIGHED} with resamples",
        f"at most {engine.MOST_RESAMPLES:,}",
        f"more than {blocks.MOST_RUNS:,} posts",
        "at most 2,000,000 rows",
    ):
        assert words in page, words
