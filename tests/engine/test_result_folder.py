"""What `evaluate` writes of tables in blocks, and what other commands say to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from cli.command import contents, evidentia, refused
from engine.made import MEASURES, Here, Made, in_parts
from evidentia.engine.executors import LocalProcesses
from evidentia.errors import InputError
from evidentia.evaluation.load import load_result
from evidentia.results import loads

WRITTEN = {
    *("summary.json", "manifest.json", "figures/roc.csv", "figures/pr.csv", "figures/roc_points.csv"),
    *("figures/reliability.csv", "tables/measures.csv", "tables/folds.csv", "tables/criteria.csv"),
}
NEEDS_ROWS = {
    "report": ("report", "OUT"),
    "compare": ("compare", "OUT", "RUN", "-o", "NEW"),
    "table": ("table", "OUT", "-o", "NEW"),
    "explain": ("explain", "AUROC", "OUT"),
}


@pytest.fixture(scope="module")
def result(run: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of tables, evaluated into another."""
    folder = tmp_path_factory.mktemp("result")
    queries = in_parts(run.per_query, folder / "queries" / "a=1", [30])
    given = ("--candidates", run.files[1], "--measures", ",".join(MEASURES), "--workers", 1)
    with patch.object(LocalProcesses, "map", lambda self, work, tasks: Here().map(work, tasks)):
        ran = evidentia("evaluate", queries.parent, *given, "-o", folder / "out")
    assert (ran.code, ran.err) == (0, ""), ran
    assert "72 queries from 24 posts" in ran.out
    return folder / "out"


def test_numbers_and_hashes_are_there_and_no_rows(result: Path, run: Made) -> None:
    written = contents(result)
    assert written.keys() >= WRITTEN
    assert not [name for name in written if "per_query" in name or name.endswith((".parquet", ".html"))]
    posts = set(run.per_query["post_id"])
    assert not [name for name, content in written.items() if any(post.encode() in content for post in posts)]
    manifest = loads(written["manifest.json"].decode())
    assert manifest["schema"] == "evidentia.tables-manifest/2"
    others = {name: hashlib.sha256(content).hexdigest() for name, content in written.items() if name != "manifest.json"}
    assert manifest["files"] == others


def test_the_manifest_says_what_was_read_and_how(result: Path, run: Made) -> None:
    manifest = loads((result / "manifest.json").read_text())
    inputs = [(each["role"], each["name"], each["rows"]) for each in manifest["inputs"]]
    assert inputs == [
        ("run", "a=1/part-000.parquet", 30),
        ("run", "a=1/part-001.parquet", 42),
        ("candidates", "candidates.parquet", 1497),
    ]
    assert manifest["inputs"][2]["sha256"] == hashlib.sha256(run.files[1].read_bytes()).hexdigest()
    assert manifest["engine"] == {"name": "local", "memory": 2_000_000_000, "workers": 1}
    assert str(result.parent) not in (result / "manifest.json").read_text()


@pytest.mark.parametrize("command", NEEDS_ROWS)
def test_commands_that_need_the_rows_say_so_in_one_sentence(
    command: str, result: Path, run: Made, tmp_path: Path
) -> None:
    before = contents(result)
    places = {"OUT": result, "RUN": run.files[0], "NEW": tmp_path / "new"}
    ran = evidentia(*(places.get(word, word) for word in NEEDS_ROWS[command]))
    refused(ran, "out was read block by block, and its rows are not in the folder", "without --memory")
    assert len(ran.err.splitlines()) == 1
    assert contents(result) == before
    assert list(tmp_path.iterdir()) == []


def test_python_is_told_in_its_own_words(result: Path) -> None:
    with pytest.raises(InputError, match=r"evaluate files in memory, with evaluate\.$"):
        load_result(result)


def test_the_result_may_be_replaced(result: Path, run: Made) -> None:
    here = patch.object(LocalProcesses, "map", lambda self, work, tasks: Here().map(work, tasks))
    words = ("evaluate", run.files[0], "--memory", "2GB", "--measures", "MRR,nDCG@10", "-q", "-o", result)
    with here:
        refused(evidentia(*words), "out exists", "--force")
        assert evidentia(*words, "--force").code == 0
    assert "nDCG@10" in loads((result / "summary.json").read_text())["measures"]
