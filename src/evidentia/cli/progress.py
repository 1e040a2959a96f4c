"""A progress bar on a terminal, and none in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evidentia.pipeline.progress import Progress


@contextmanager
def progress_bar(words: str, *, quiet: bool) -> Iterator[Progress | None]:
    """Yield a function that takes (done, total), and what to show beside, or None where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=None)

        def show(done: int, total: int, beside: str | None = None, /) -> None:
            shown = words if beside is None else f"{words}: {beside}"
            bar.update(task, completed=done, total=total, description=shown)

        yield show
