"""Small results to verify, and edits of them: every edit also renews the hash in the manifest, so that bytes give nothing away."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evidentia
from evidentia.synth import synthetic_run, write_run

Content = dict[str, Any]


def small_run(folder: Path, *, posts: int = 30, criteria: int = 3, positives: int = 14, **options: Any) -> Path:
    """Write a small synthetic run with TUNE rows, and say where."""
    write_run(
        synthetic_run(seed=7, posts=posts, criteria=criteria, positives=positives, splits=True), folder, **options
    )
    return folder


def evaluated(run: Path, out: Path, **options: Any) -> Path:
    """Evaluate a run on disk with everything it has, without intervals unless asked for."""
    by = ("subreddit",)
    read = evidentia.read_run(run / "per_query.csv", candidates=run / "candidates.csv", by=by)
    evidentia.evaluate(read, by=by, **{"resamples": 0, **options}).save(out)
    return out


FEW = ("AUROC", "nDCG@10", "ECE", "ScreeningSensitivity")


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with few measures, for tests of what does not depend on which."""
    home = tmp_path_factory.mktemp("few")
    return evaluated(small_run(home / "run"), home / "out", measures=FEW)


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with everything in it but intervals."""
    home = tmp_path_factory.mktemp("verified")
    return evaluated(small_run(home / "run"), home / "out")


@dataclass(frozen=True)
class Copy:
    """A copy of a result that may be edited."""

    folder: Path

    def summary(self, edit: Callable[[Content], object]) -> None:
        self.json("summary.json", edit)

    def measure(self, name: str, **changes: object) -> None:
        self.summary(lambda content: content["measures"][name].update(changes))

    def manifest(self, edit: Callable[[Content], object]) -> None:
        self.json("manifest.json", edit)

    def json(self, name: str, edit: Callable[[Content], object]) -> None:
        path = self.folder / name
        before = path.read_text(encoding="utf-8")
        content = json.loads(before)
        edit(content)
        after = json.dumps(content, ensure_ascii=False)
        assert after != json.dumps(json.loads(before), ensure_ascii=False), "the edit must change something"
        path.write_text(after, encoding="utf-8")
        self.renew(name)

    def cell(self, name: str, row: int, column: str, edit: Callable[[str], str]) -> None:
        """Edit a cell of a CSV file; row 0 is the header."""
        path = self.folder / name
        with path.open(encoding="utf-8", newline="") as file:
            cells = list(csv.reader(file))
        at = cells[0].index(column)
        before = cells[row][at]
        cells[row][at] = edit(before)
        assert cells[row][at] != before, "the edit must change something"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(cells)
        self.renew(name)

    def text(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        before = path.read_text(encoding="utf-8")
        assert old in before
        path.write_text(before.replace(old, new, 1), encoding="utf-8")
        self.renew(name)

    def parquet(self, name: str, edit: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        frame = pl.read_parquet(self.folder / name)
        edited = edit(frame)
        assert not edited.equals(frame), "the edit must change something"
        edited.write_parquet(self.folder / name)
        self.renew(name)

    def renew(self, name: str) -> None:
        """Write the new hash of a file into the manifest."""
        path = self.folder / "manifest.json"
        if name == "manifest.json":
            return
        content = json.loads(path.read_text(encoding="utf-8"))
        content["files"][name] = hashlib.sha256((self.folder / name).read_bytes()).hexdigest()
        path.write_text(json.dumps(content), encoding="utf-8")


def copied(result: Path, folder: Path) -> Copy:
    """Copy a result for editing."""
    shutil.copytree(result, folder)
    return Copy(folder)
