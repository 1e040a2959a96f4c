"""Intervals in a process of their own, beside the other checks of a large result: those keep Python busy, these arithmetic."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from evidentia.results.estimate import Finding
from evidentia.verify.draws import Progress
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import check_intervals
from evidentia.verify.study import Study, read_study
from evidentia.verify.tally import Tally
from evidentia.workers import Workers, block_signals

VALUES = 4_000_000  # replicate values; fewer are there before a process has started
Checks = Callable[[Path], Sequence[Finding]]
Intervals = Callable[[Study, Tally, Progress | None], None]


@contextmanager
def intervals_beside(folder: ResultFolder, checks: Checks | None) -> Iterator[Intervals]:
    """What checks the intervals of a result: it waits for a process that has begun here, or does the work itself.

    The process knows the measures of the module of ``checks`` and no others, and nobody sees it fail. So only a result in
    which it finds everything as it should be counts; else the check is made again here.
    """

    def check(study: Study, tally: Tally, progress: Progress | None) -> None:
        found = None if future is None else _answer(future)
        if found is None or found.mismatches:
            check_intervals(folder, study, tally, progress)
        else:
            tally.comparisons += found.comparisons

    future: Future[Tally] | None = None
    if checks is None or (os.cpu_count() or 1) < 2 or _values(folder) < VALUES:
        yield check
        return
    workers = Workers()
    with ThreadPoolExecutor(1, initializer=block_signals) as waiting:
        try:
            future = waiting.submit(workers.run, check_there, (folder, checks))
            yield check
        finally:
            workers.stop()


def _values(folder: ResultFolder) -> int:
    """How many replicate values there are."""
    entries, resamples = folder.summary.get("measures"), folder.summary.get("resamples")
    return len(entries) * resamples if isinstance(entries, dict) and isinstance(resamples, int) else 0


def _answer(future: Future[Tally]) -> Tally | None:
    try:
        return future.result()
    except Exception:
        return None


def check_there(work: tuple[ResultFolder, Checks]) -> Tally:
    """In the process: the intervals of a result, from its files."""
    folder, tally = work[0], Tally()
    check_intervals(folder, read_study(folder), tally)
    return tally
