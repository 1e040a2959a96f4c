"""The same input gives the same bytes, whatever the order of its rows, and a result can be computed from its own files."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import polars as pl
import pytest

import evidentia
from builders.runs import Files, Saved, evaluated
from cli.command import contents, evidentia_apart
from cli.points import point_estimates


def test_the_same_input_gives_the_same_bytes(files: Files, saved: Saved, tmp_path: Path) -> None:
    again = evaluated(files, tmp_path / "again")
    first, second = contents(saved.folder), contents(again.folder)
    first.pop("manifest.json")
    second.pop("manifest.json")
    assert len(first) > 15
    assert first == second


def test_another_process_gives_the_same_bytes(files: Files, saved: Saved, tmp_path: Path) -> None:
    words = ("evaluate", files.per_query, "--candidates", files.candidates, "--by", "subreddit", "-o", tmp_path / "out")
    assert evidentia_apart(*words, "--quiet", env={"PYTHONHASHSEED": "1", "POLARS_MAX_THREADS": "2"}).code == 0
    first, second = contents(saved.folder), contents(tmp_path / "out")
    assert {name for name in first if first[name] != second[name]} == {"manifest.json"}


def test_the_manifest_differs_in_time_only(files: Files, saved: Saved, tmp_path: Path) -> None:
    first, second = saved.manifest, evaluated(files, tmp_path / "again").manifest
    del first["time"], second["time"]
    assert first == second


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_the_rows_does_not_change_a_byte(
    seed: int, split_files: Files, split_saved: Saved, tmp_path: Path
) -> None:
    """Candidates are shuffled too: the ranking is given, so that their order carries no meaning."""
    shuffled = []
    for source in (split_files.per_query, split_files.candidates):
        head, *rows = source.read_text().splitlines(keepends=True)
        random.Random(seed).shuffle(rows)
        shuffled.append(tmp_path / source.name)
        shuffled[-1].write_text("".join([head, *rows]))
    again = evaluated(Files(*shuffled), tmp_path / "out", profile="e2e", dual=True)
    first, second = contents(split_saved.folder), contents(again.folder)
    assert second["summary.json"] == first["summary.json"]
    assert second["per_query.csv"] == first["per_query.csv"]
    assert {name for name in first if name.startswith("tables/") and first[name] != second[name]} == set()


def test_the_written_queries_give_the_same_numbers(files: Files, saved: Saved) -> None:
    written = saved.folder / "per_query.csv"
    run = evidentia.read_run(written, candidates=saved.folder / "candidates.parquet", by=("subreddit",))
    again = point_estimates(run, by=("subreddit",))
    assert again.to_dict() == saved.evaluation.to_dict()


def test_the_written_queries_and_tune_rows_give_the_same_numbers(split_saved: Saved) -> None:
    kept = {part: split_saved.folder / f"{part}.parquet" for part in ("tune", "candidates")}
    run = evidentia.read_run(split_saved.folder / "per_query.csv", **kept, by=("subreddit",))
    again = point_estimates(run, by=("subreddit",), profile="e2e", dual=True)
    first, second = split_saved.evaluation.to_dict(), again.to_dict()
    assert second["measures"] == first["measures"]
    assert again.thresholds == split_saved.evaluation.thresholds


def test_the_per_query_values_average_to_the_reported_ones(saved: Saved) -> None:
    written = pl.read_csv(saved.folder / "per_query.csv")
    compared = 0
    for name, estimate in saved.evaluation.measures.items():
        if name in written.columns and written[name].dtype == pl.Float64:
            values = written[name].drop_nulls()
            assert len(values) == estimate.n, name
            assert values.mean() == pytest.approx(estimate.value, abs=1e-12), name
            compared += 1
    assert compared > 25


FORMULAS = pl.DataFrame(
    {
        "post_id": ["=cmd|' /C calc'!A0".replace("|", ""), "+p2", "p3"],
        "criterion_id": ["@A", "@A", "@A"],
        "gold_sent_uids": ["=s1", "", "c|=d"],
        "ranked_sent_uids": ["b1|=s1", "-b2", "=d|c"],
        "selected_sent_uids": ["=s1", "", "c"],
        "prob": [0.9, 0.2, 0.7],
        "site": ["=1+1", "x", "x"],
    }
)


def test_cells_that_a_spreadsheet_would_run_are_quoted(tmp_path: Path) -> None:
    run = evidentia.read_run(FORMULAS, by=("site",))
    point_estimates(run, by=("site",)).save(tmp_path / "out")
    checked = 0
    for path in [tmp_path / "out" / "per_query.csv", *(tmp_path / "out" / "tables").glob("*.csv")]:
        with path.open(encoding="utf-8", newline="") as file:
            for cell in (cell for row in csv.reader(file) for cell in row):
                assert not cell.startswith(("=", "+", "@", "\t", "\r")), (path.name, cell)
                assert not cell.startswith("-") or float(cell) < 0, (path.name, cell)
                checked += cell.startswith("'")
    assert checked > 8


def test_quoted_cells_read_back_as_they_were(tmp_path: Path) -> None:
    first = point_estimates(evidentia.read_run(FORMULAS))
    first.save(tmp_path / "out")
    run = evidentia.read_run(tmp_path / "out" / "per_query.csv")
    assert set(run.queries.post_ids) == set(FORMULAS["post_id"])
    assert point_estimates(run).to_dict() == first.to_dict()
