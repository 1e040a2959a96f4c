"""Intervals in a process of their own, beside the other checks of a large result: those keep Python busy, these arithmetic."""

from __future__ import annotations

import gc
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


@contextmanager
def intervals_beside(folder: ResultFolder, checks: Checks | None) -> Iterator[Future[Tally] | None]:
    """The comparisons of all intervals, made in a process that has begun; None where that does not pay.

    The process knows the measures that come with ``checks``, and no others.
    """
    if checks is None or (os.cpu_count() or 1) < 2 or _values(folder) < VALUES:
        yield None
        return
    workers = Workers()
    with ThreadPoolExecutor(1, initializer=block_signals) as waiting:
        try:
            yield waiting.submit(workers.run, check_there, (folder, checks))
        finally:
            workers.stop()


def _values(folder: ResultFolder) -> int:
    """How many replicate values there are."""
    entries, resamples = folder.summary.get("measures"), folder.summary.get("resamples")
    return len(entries) * resamples if isinstance(entries, dict) and isinstance(resamples, int) else 0


def check_there(work: tuple[ResultFolder, Checks]) -> Tally:
    """In the process: the intervals of a result, from its files."""
    gc.disable()  # the process ends with its answer
    folder, tally = work[0], Tally()
    check_intervals(folder, read_study(folder), tally)
    return tally


def check_here(
    begun: Future[Tally] | None, folder: ResultFolder, study: Study, tally: Tally, progress: Progress | None
) -> None:
    """Take over what a process found. Only that everything is as it should be counts, else the check is made here."""
    try:
        made = Tally() if begun is None else begun.result()
    except Exception:  # whatever ended it, it was not the result that is checked
        made = Tally()
    if made.comparisons and not made.mismatches:
        tally.comparisons += made.comparisons
    else:
        check_intervals(folder, study, tally, progress)
