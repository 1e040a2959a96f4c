"""A synthetic run larger than memory: folders of Parquet parts, each drawn from its own stream of random numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.array_types import Floats
from evidentia.errors import InputError, OutputError
from evidentia.results.folder import another_folder, replace_folder
from evidentia.synth.files import packed
from evidentia.synth.run import candidate_table, query_table, synthetic_arrays
from evidentia.synth.truth import Knobs, Stretch, whole_number_problems
from evidentia.workers import in_processes

MOST_IN_ONE_FILE = 20_000  # posts; a Parquet run of more is written in parts
PART_POSTS = 2_500  # 25,000 queries and 500,000 candidates: a row group each, in some 200 MB while they are drawn
FOLDERS = ("per_query", "candidates")
_AGAIN = "Nothing was written: try again with fewer --workers."


@dataclass(frozen=True)
class Division:
    """A run and its parts: stretches of whole posts, nearly of one size, with a fixed share of the evidence each."""

    knobs: Knobs
    parts: int

    @classmethod
    def of(cls, knobs: Knobs, part_posts: int) -> Division:
        """Parts of at least this many posts, and of one for every fold."""
        return cls(knobs, max(1, knobs.posts // max(part_posts, knobs.folds)))

    def settings(self, part: int) -> dict[str, Any]:
        """The settings of one part: its seed, its posts and its share of the queries with evidence."""
        whole, (start, stop) = self.knobs, self.bounds(part)
        positives = whole.count * stop // whole.posts - whole.count * start // whole.posts
        seed = int(np.random.SeedSequence([whole.seed, part]).generate_state(1, np.uint64)[0])
        return asdict(replace(whole, seed=seed, posts=stop - start, positives=positives))

    def bounds(self, part: int) -> tuple[int, int]:
        """The first post of a part, and the first behind it."""
        return part * self.knobs.posts // self.parts, (part + 1) * self.knobs.posts // self.parts

    def taus(self) -> tuple[Floats, Floats]:
        """The thresholds of every fold, for all parts: those that the first part is tuned to."""
        first = synthetic_arrays(stages=False, **self.settings(0))
        return first.tau_neg, first.tau_pos


@dataclass(frozen=True, eq=False)
class _Job:
    """Parts that one process draws."""

    division: Division
    parts: Sequence[int]
    taus: tuple[Floats, Floats]
    splits: bool
    folder: Path


def write_parts(
    folder: Path | str,
    *,
    part_posts: int = PART_POSTS,
    splits: bool = False,
    workers: int = 0,
    force: bool = False,
    look: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> list[Path]:
    """Draw a run of any size into ``per_query/part-00000.parquet``, ... and ``candidates/part-00000.parquet``, ...

    Every part holds whole posts in the order of their ids. The same arguments give the same bytes, whatever the number of
    ``workers`` (0: one for every core). ``look`` is told how many parts are there, of how many. The folder is there when all
    of it is; with ``force`` it replaces another run in parts. `Knobs` has the other settings.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     written = write_parts(home + "/big", seed=7, posts=20, positives=19, part_posts=10, workers=1)
    ...     [path.name for path in written], sorted(path.name for path in written[0].iterdir())
    (['per_query', 'candidates'], ['part-00000.parquet', 'part-00001.parquet'])
    """
    problems = whole_number_problems(part_posts=(part_posts, 1, None), workers=(workers, 0, None))
    if problems:
        raise InputError(*problems)
    division = Division.of(Knobs(**settings), part_posts)
    target = Path(folder)
    _refuse_to_replace(target, force=force)

    def fill(temporary: Path) -> None:
        _draw_all(division, temporary, splits=splits, workers=workers, look=look or _no_look)

    replace_folder(target, fill, force=force)
    return [target / name for name in FOLDERS]


def _no_look(done: int, total: int) -> None:
    """Nobody watches."""


def _refuse_to_replace(folder: Path, *, force: bool) -> None:
    there = sorted(os.listdir(folder)) if folder.is_dir() else []
    others = [name for name in there if name not in FOLDERS]
    if others:
        raise OutputError(
            f"{folder.name} holds other files ({others[0]}), and a run in parts takes a folder of its own. {another_folder()}."
        )
    if there and not force:
        raise OutputError(f"{folder.name} already holds {', '.join(there)}. {another_folder(replaceable=True)}.")


def _draw_all(
    division: Division, folder: Path, *, splits: bool, workers: int, look: Callable[[int, int], None]
) -> None:
    for name in FOLDERS:
        (folder / name).mkdir()
    workers = min(workers or os.cpu_count() or 1, division.parts)
    taus = division.taus()
    jobs = [_Job(division, range(at, division.parts, workers), taus, splits, folder) for at in range(workers)]

    def count() -> None:
        look(len(os.listdir(folder / FOLDERS[-1])), division.parts)

    if workers == 1:
        _draw(jobs[0], count)
    else:
        in_processes(_draw, jobs, workers=workers, look=count, advice=_AGAIN)


def _draw(job: _Job, look: Callable[[], None] | None = None) -> None:
    """Draw and write some parts, one after the other."""
    for part in job.parts:
        stretch = Stretch(job.division.bounds(part)[0], job.division.knobs.posts, *job.taus)
        arrays = synthetic_arrays(stretch=stretch, **job.division.settings(part))
        for name, table in zip(FOLDERS, (query_table, candidate_table), strict=True):
            _write(job.folder / name / f"part-{part:05d}.parquet", packed(table(arrays, splits=job.splits), "parquet"))
        if look is not None:
            look()


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OutputError(
            f"Cannot write {path.parent.name}/{path.name}: {error.strerror}. Nothing was kept: make room, or choose "
            "another folder."
        ) from None
