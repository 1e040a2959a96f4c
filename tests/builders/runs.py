"""Small synthetic runs on disk, made once for every test session, and their results; other suites use them too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import evidentia
from cli.points import point_estimates
from evidentia.results import Evaluation, loads
from evidentia.synth import synthetic_run, write_run


@dataclass(frozen=True)
class Files:
    """A run on disk: `--posts 60 --criteria 4`, 240 queries of which 22 have evidence."""

    per_query: Path
    candidates: Path


@dataclass(frozen=True)
class Saved:
    """A result in memory and the folder it was saved to."""

    evaluation: Evaluation
    folder: Path

    @property
    def summary(self) -> dict:
        return loads((self.folder / "summary.json").read_text(encoding="utf-8"))

    @property
    def manifest(self) -> dict:
        return loads((self.folder / "manifest.json").read_text(encoding="utf-8"))


def make_files(folder: Path, *, splits: bool) -> Files:
    """Write the small run, with or without TRAIN and TUNE rows."""
    run = synthetic_run(seed=7, posts=60, criteria=4, positives=None, splits=splits)
    write_run(run, folder)
    return Files(folder / "per_query.csv", folder / "candidates.csv")


def evaluated(files: Files, folder: Path, **options: object) -> Saved:
    """Evaluate a run on disk with all its columns, and save the result."""
    run = evidentia.read_run(files.per_query, candidates=files.candidates, by=("subreddit",))
    result = point_estimates(run, by=("subreddit",), **options)
    result.save(folder)
    return Saved(result, folder)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return make_files(tmp_path_factory.mktemp("small"), splits=False)


@pytest.fixture(scope="session")
def split_files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return make_files(tmp_path_factory.mktemp("split"), splits=True)


@pytest.fixture(scope="session")
def saved(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    return evaluated(files, tmp_path_factory.mktemp("saved") / "out")


@pytest.fixture(scope="session")
def split_saved(split_files: Files, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    return evaluated(split_files, tmp_path_factory.mktemp("split_saved") / "out", profile="e2e", dual=True)
