"""What is wrong with a table in many files is named with its file and row group or row; nothing is written, and no copy is left."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pyarrow.parquet as pq
import pytest

from cli.command import Ran, evidentia, evidentia_apart, refused
from engine.made import MEASURES, Here, Made, blocks_of, in_parts
from evidentia.engine.executors import LocalProcesses

Change = Callable[[pl.DataFrame], pl.DataFrame]
BAD = "part-006.parquet"  # file 7 of 8


@pytest.fixture
def here() -> Iterator[None]:
    """Blocks are read in this process, and are small."""
    with patch.object(LocalProcesses, "map", lambda self, work, tasks: Here().map(work, tasks)), blocks_of(300):
        yield


@pytest.fixture(scope="module")
def written(run: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both tables in 8 files each, of which candidates have several row groups."""
    folder = tmp_path_factory.mktemp("written")
    for name, frame, group in (("queries", run.per_query, None), ("candidates", run.candidates, 10)):
        in_parts(frame, folder / name, even_cuts(frame, 8), group=group)
    return folder


def even_cuts(frame: pl.DataFrame, files: int) -> list[int]:
    return [frame.height * part // files for part in range(1, files)]


@pytest.fixture
def tables(written: Path, tmp_path: Path) -> Path:
    """A copy of both tables, to be spoilt."""
    shutil.copytree(written, tmp_path / "in")
    return tmp_path


def evaluated(tables: Path, *words: object, run: Callable[..., Ran] = evidentia) -> Ran:
    """Evaluate both tables; whatever comes of it, nothing but the tables and an empty scratch folder is there after it."""
    (tables / "scratch").mkdir()
    names, queries, pool = ",".join(MEASURES), tables / "in" / "queries", tables / "in" / "candidates"
    given = ("--measures", names, "--scratch", tables / "scratch", "--workers", 1, "-o", tables / "out", "-q")
    candidates = () if "--candidates" in words else ("--candidates", pool)
    ran = run("evaluate", queries, *candidates, *given, *words)
    assert sorted(path.name for path in tables.iterdir()) == ["in", "scratch"]
    assert list((tables / "scratch").iterdir()) == []
    return ran


def changed(tables: Path, table: str, change: Change, name: str = BAD) -> None:
    """Write one file of a table anew."""
    path = tables / "in" / table / name
    change(pl.read_parquet(path)).write_parquet(path, row_group_size=10)


def first_row(column: str, value: object) -> Change:
    """Put a value into the first row of a column."""
    return lambda frame: frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )


def test_a_file_that_was_cut_short(tables: Path, here: None) -> None:
    path = tables / "in" / "candidates" / BAD
    path.write_bytes(path.read_bytes()[:-100])
    refused(evaluated(tables), f"{BAD} is not a whole Parquet file")


def test_files_that_are_empty_or_of_another_kind(tables: Path, here: None) -> None:
    (tables / "in" / "queries" / "part-003.parquet").write_bytes(b"")
    (tables / "in" / "queries" / "part-007.parquet").write_text("post_id,criterion_id\n")
    refused(evaluated(tables), "part-003.parquet is not a whole", "part-007.parquet is not a whole")


@pytest.mark.parametrize(("table", "column"), [("queries", "prob"), ("candidates", "score")])
def test_a_row_group_whose_bytes_are_damaged(table: str, column: str, tables: Path, here: None) -> None:
    path = tables / "in" / table / BAD
    content = bytearray(path.read_bytes())
    group = pq.read_metadata(path).row_group(0)
    chunk = next(chunk for chunk in map(group.column, range(group.num_columns)) if chunk.path_in_schema == column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)
    refused(evaluated(tables), f"{BAD} cannot be read", f"of {BAD} (row group ", "damaged")


def test_a_column_of_another_type_in_file_37_of_40(tables: Path, run: Made, here: None) -> None:
    in_parts(run.per_query, tables / "in" / "queries", even_cuts(run.per_query, 40))
    as_text = pl.col("prob").cast(pl.String)
    changed(tables, "queries", lambda frame: frame.with_columns(as_text), "part-036.parquet")
    refused(evaluated(tables), "part-036.parquet 'prob' is String, not Float64", "part-000.parquet")


def test_a_column_that_one_file_lacks(tables: Path, here: None) -> None:
    changed(tables, "candidates", lambda frame: frame.drop("score"))
    refused(evaluated(tables), f"{BAD} lacks 'score'")


def test_a_column_that_one_file_has_too(tables: Path, here: None) -> None:
    changed(tables, "candidates", lambda frame: frame.with_columns(text=pl.lit("x")))
    refused(evaluated(tables), f"{BAD} has 'text' too")


def test_a_column_that_all_files_lack(tables: Path, here: None) -> None:
    for path in (tables / "in" / "queries").iterdir():
        changed(tables, "queries", lambda frame: frame.drop("criterion_id"), path.name)
    refused(evaluated(tables), "criterion_id", "--map")


def test_a_post_in_two_folds(tables: Path, run: Made, here: None) -> None:
    other = 1 - pl.read_parquet(tables / "in" / "queries" / BAD)["fold"][0]
    changed(tables, "queries", first_row("fold", other))
    refused(evaluated(tables), "fold", BAD)


def test_a_query_twice_in_different_files(tables: Path, here: None) -> None:
    again = pl.read_parquet(tables / "in" / "queries" / "part-002.parquet").head(1)
    changed(tables, "queries", lambda frame: pl.concat([frame, again]))
    refused(evaluated(tables), f"row 10 of {BAD} (row group 1)", "repeating")


def test_a_candidate_of_no_query(tables: Path, here: None) -> None:
    changed(tables, "candidates", first_row("criterion_id", "A.99"))
    refused(evaluated(tables), BAD, "row 1")


def test_a_candidate_of_no_post(tables: Path, here: None) -> None:
    changed(tables, "candidates", first_row("post_id", "p-unknown"))
    refused(evaluated(tables), BAD, "row 1")


def test_marks_that_contradict_gold(tables: Path, here: None) -> None:
    changed(tables, "candidates", lambda frame: frame.with_columns(is_gold=1 - pl.col("is_gold")))
    refused(evaluated(tables), BAD, "is_gold")


def test_tune_rows(tables: Path, here: None) -> None:
    for path in (tables / "in" / "queries").iterdir():
        changed(tables, "queries", lambda frame: frame.with_columns(split=pl.lit("EVAL")), path.name)
    tuned = (1 - pl.col("fold")).alias("fold"), pl.lit("TUNE").alias("split")
    changed(tables, "queries", lambda frame: pl.concat([frame, frame.with_columns(tuned)]))
    refused(evaluated(tables), "TUNE rows", BAD)


@pytest.mark.parametrize("value", [float("nan"), *(pytest.param(each, marks=pytest.mark.slow) for each in (1.5, None))])
def test_a_probability_that_is_none(value: float | None, tables: Path, here: None) -> None:
    changed(tables, "queries", first_row("prob", value))
    refused(evaluated(tables), "prob", BAD, "row 1")


def test_a_score_that_is_no_number(tables: Path, here: None) -> None:
    changed(tables, "candidates", first_row("score", float("nan")))
    refused(evaluated(tables), "score", BAD, "row 1")


@pytest.mark.parametrize("column", ["prob", "state"])
def test_a_column_that_is_empty_in_some_files(column: str, tables: Path, here: None) -> None:
    """A block that has nothing in a column would be one without the column."""
    for path in sorted((tables / "in" / "queries").iterdir())[4:]:
        empty = pl.lit(None, pl.Float64 if column == "prob" else pl.String).alias(column)
        changed(tables, "queries", lambda frame, empty=empty: frame.with_columns(empty), path.name)
    refused(evaluated(tables), column)


def test_posts_without_candidates(tables: Path, here: None) -> None:
    for part in range(5, 8):
        (tables / "in" / "candidates" / f"part-{part:03}.parquet").unlink()
    refused(evaluated(tables), "candidate")


def test_scattered_tables_leave_no_copy(tables: Path, run: Made, here: None) -> None:
    for path in (tables / "in" / "queries").iterdir():
        path.unlink()
    in_parts(
        first_row("prob", float("nan"))(run.per_query.reverse().sort("criterion_id")), tables / "in" / "queries", [30]
    )
    refused(evaluated(tables), "prob", "row 1 of part-000.parquet (row group 1)")


def test_a_file_that_is_gone_when_it_is_to_be_read(tables: Path, here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: object, work: Any, tasks: Any) -> Any:
        (tables / "in" / "queries" / BAD).unlink(missing_ok=True)
        return map(work, tasks)

    monkeypatch.setattr(LocalProcesses, "map", gone)
    refused(evaluated(tables), f"{BAD} was there and is not, or a worker does not see it")


def test_a_folder_without_parquet(tables: Path, here: None) -> None:
    (tables / "in" / "empty").mkdir()
    refused(evaluated(tables, "--candidates", tables / "in" / "empty"), "empty holds no Parquet file")


@pytest.mark.slow
def test_problems_of_a_block_in_a_process_of_its_own(tables: Path) -> None:
    changed(tables, "queries", first_row("prob", 1.5))
    refused(evaluated(tables, run=evidentia_apart), "prob", BAD, "row 1")


def test_a_uid_of_posts_in_two_blocks(tables: Path, run: Made, here: None) -> None:
    uids = run.candidates["sent_uid"].unique(maintain_order=True)
    swap = {uids[-1]: uids[0]}
    for table in ("queries", "candidates"):
        for path in sorted((tables / "in" / table).iterdir()):
            frame = pl.read_parquet(path)
            lists = [c for c, kind in frame.schema.items() if kind == pl.List(pl.String)]
            new = [pl.col(c).list.eval(pl.element().replace(swap)) for c in lists]
            new += [pl.col("sent_uid").replace(swap)] if "sent_uid" in frame.columns else []
            changed(tables, table, lambda frame, new=new: frame.with_columns(new), path.name)  # type: ignore[misc]
    refused(evaluated(tables), "1 uid also appear", "another block", "--uids post")


def test_gold_that_no_ranking_names(tables: Path, here: None) -> None:
    other = pl.col("gold_sent_uids").list.eval(pl.element() + "x")
    for path in (tables / "in" / "queries").iterdir():
        changed(tables, "queries", lambda frame: frame.with_columns(other), path.name)
    ran = evidentia(
        "evaluate", tables / "in" / "queries", "--measures", "nDCG@10", "--workers", 1, "-o", tables / "out", "-q"
    )
    refused(ran, "gold uids occurs in the ranking of its query", "--list-sep", "--allow-disjoint")
    ran = evidentia(
        "evaluate", tables / "in" / "queries", "--measures", "nDCG@10", "--allow-disjoint", "--resamples", 0, "-q"
    )
    assert ran.code == 0


def test_the_folder_that_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    refused(evidentia("evaluate", ".", "--candidates", ".."), "evidentia: empty holds no Parquet file")
