"""The plan of docs/scale.md for a billion queries on 50 machines, worked out from what `scale.py` measured on this one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evidentia.engine.blocks import MOST_RUNS
from evidentia.engine.evaluate import PER_QUERY_HERE, PER_ROW, PROCESS
from record import replaced

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
QUERIES, MACHINES, CORES = 1_000_000_000, 50, 16
NETWORK = 1.25e9  # bytes a second, 10 Gbit/s
BLOCK_ROWS = 1_000_000


@dataclass(frozen=True)
class Measured:
    """One evaluation: its size, its processor time, and the seconds of its phases."""

    queries: int
    candidates: int
    bytes: float
    cpu_seconds: float
    before: float
    blocks: float
    after: float
    bytes_sent: float
    number: float


def plan(measured: Measured) -> list[tuple[str, str, str]]:
    """Rows of the plan: what, how much, and how it follows.

    >>> rows = plan(Measured(1_000, 20_000, 1e6, 10.0, 0.1, 4.0, 0.2, 5e5, 3))
    >>> rows[0][:2], rows[3][:2]
    (('candidates', '20 billion'), ('read by each machine', '20.0 GB'))
    """
    times = QUERIES / measured.queries
    files, sent = measured.bytes * times, measured.bytes_sent * times
    work = measured.cpu_seconds * measured.blocks / (measured.before + measured.blocks + measured.after) * times
    here = (measured.before + measured.after) * times
    return [
        (
            "candidates",
            f"{measured.candidates * times / 1e9:,.0f} billion",
            f"{measured.candidates / measured.queries:.1f} a query",
        ),
        ("tables", f"{files / 1e9:,.0f} GB", f"{measured.bytes / measured.queries:,.0f} bytes a query, as Parquet"),
        ("workers", f"{MACHINES * CORES:,}", f"{MACHINES} machines with {CORES} cores, a process each"),
        ("read by each machine", f"{files / MACHINES / 1e9:,.1f} GB", "once, from storage that all of them see"),
        (
            "copied by the first machine",
            f"some {files / 1e9:,.0f} GB",
            f"tables of more than {MOST_RUNS:,} posts are dealt into buckets first",
        ),
        ("memory of a worker", f"{(PROCESS + PER_ROW * BLOCK_ROWS) / 1e9:.2f} GB", f"blocks of {BLOCK_ROWS:,} rows"),
        (
            "sent to the first machine",
            f"{sent / 1e9:,.0f} GB",
            f"{measured.bytes_sent / measured.queries:,.0f} bytes a query, onto its disk",
        ),
        ("time to send it", _time(sent / NETWORK), "10 Gbit/s into one machine"),
        (
            "memory of the first machine",
            f"{(PROCESS + PER_QUERY_HERE * QUERIES) / 1e9:,.0f} GB",
            f"{PER_QUERY_HERE} bytes a query",
        ),
        (
            "time of the blocks",
            _time(work / (MACHINES * CORES)),
            f"{work / 3600:,.0f} core hours at the rate measured here",
        ),
        (
            "time of the first machine",
            _time(here),
            "finding posts before, orders and estimates after; without the copy",
        ),
    ]


def write_plan(measured: Measured, how: str, page: Path = PAGE) -> None:
    """Put the plan between its marks on the page."""
    rows = "".join(f"| {what} | {much} | {why} |\n" for what, much, why in plan(measured))
    head = f"From `{how}`: {measured.queries:,} queries and {measured.candidates:,} candidates.\n\n"
    body = f"![Growth](images/scale.svg)\n\n{head}| a billion queries | | |\n| --- | ---: | --- |\n{rows}"
    page.write_text(replaced(page.read_text(encoding="utf-8"), "plan", body), encoding="utf-8")


def _time(seconds: float) -> str:
    return (
        f"{seconds / 3600:,.1f} h"
        if seconds >= 5400
        else f"{seconds / 60:,.0f} min"
        if seconds >= 90
        else f"{seconds:.0f} s"
    )
