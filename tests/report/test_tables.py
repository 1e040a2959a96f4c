"""The tables hold the numbers of the summary, all of them unrounded, and nothing else."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from builders.runs import Files, Saved, evaluated
from cli.points import point_estimates

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def paper(split_files: Files, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    return evaluated(split_files, tmp_path_factory.mktemp("paper") / "out", profile="paper")


@pytest.fixture(params=["contract", "e2e", "paper"])
def result(request: pytest.FixtureRequest, saved: Saved, split_saved: Saved, paper: Saved) -> Saved:
    return {"contract": saved, "e2e": split_saved, "paper": paper}[request.param]


def rows_of(result: Saved, name: str) -> Rows:
    with (result.folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(cell: str) -> float | None:
    return None if cell == "" else float(cell)


def test_the_measures_table_equals_the_summary(result: Saved) -> None:
    measures = result.summary["measures"]
    rows = rows_of(result, "measures")
    assert [row["measure"] for row in rows] == [name for name in measures if "[" not in name]
    for row in rows:
        entry = measures[row["measure"]]
        for key in ("value", "fold_mean", "fold_std", "folds_used", "n", "n_clusters"):
            assert number(row[key]) == entry[key], (row["measure"], key)
        for key in ("population", "definition", "meaning"):
            assert row[key] == entry[key]
        assert row["degenerate"] == (entry["degenerate"] or "")
        assert row["ci_low"] == row["ci_high"] == ""


def test_the_folds_table_equals_the_summary(result: Saved) -> None:
    measures = result.summary["measures"]
    rows = rows_of(result, "folds")
    assert len(rows) > 80
    for row in rows:
        for fold in range(5):
            same_cell(row[f"fold {fold}"], measures[f"{row['measure']}[fold={fold}]"])
        entry = measures[row["measure"]]
        assert number(row["mean"]) == entry["fold_mean"]
        assert number(row["std"]) == entry["fold_std"]
        assert number(row["folds_used"]) == entry["folds_used"]


@pytest.mark.parametrize(
    ("table", "column", "groups"),
    [
        ("criteria", "criterion", ["A.1", "A.2", "A.3", "A.4", "all"]),
        ("states", "state", ["NEG", "UNCERTAIN", "POS", "all"]),
        ("evidence", "has_evidence", ["0", "1", "all"]),
        ("slice_1", "subreddit", None),
    ],
)
def test_a_table_by_groups_equals_the_summary(table: str, column: str, groups: list[str] | None, result: Saved) -> None:
    measures = result.summary["measures"]
    rows = rows_of(result, table)
    if groups is not None:
        assert [row[column] for row in rows] == groups
    compared = 0
    for row in rows:
        group = row.pop(column)
        assert row.pop("population")
        assert row.pop("meaning")
        for name, cell in row.items():
            same_cell(cell, measures[name if group == "all" else f"{name}[{column}={group}]"])
            compared += 1
    assert compared >= 3


def test_the_confusion_table_equals_the_summary_and_adds_up(result: Saved) -> None:
    measures = result.summary["measures"]
    rows = rows_of(result, "confusion")
    assert [row["operating point"] for row in rows] == ["t=0.5", "t=gate", "t=returned"]
    for row in rows:
        point = row.pop("operating point")
        assert row.pop("population")
        assert row.pop("meaning")
        assert sum(float(row[cell]) for cell in ("TP", "FP", "FN", "TN")) == 240
        for name, cell in row.items():
            same_cell(cell, measures[f"{name}({point})"])


def test_the_reliability_table_counts_every_query_and_gives_the_error(result: Saved) -> None:
    rows = rows_of(result, "reliability")
    assert sum(int(row["n"]) for row in rows) == 240
    gaps = [
        int(row["n"]) * abs(float(row["mean_prob"]) - float(row["positive_share"])) for row in rows if int(row["n"])
    ]
    assert sum(gaps) / 240 == pytest.approx(result.summary["measures"]["ECE"]["value"], abs=1e-12)


def test_the_table_of_other_definitions_equals_the_summary(result: Saved) -> None:
    rows = rows_of(result, "other_definitions")
    others = result.summary["other_definitions"]
    assert len(rows) == len(others) > 0
    for row, other in zip(rows, others, strict=True):
        assert row["name"] == other["name"]
        assert float(row["other value"]) == other["value"]
        assert float(row["value here"]) == result.summary["measures"][other["name"]]["value"]
        assert row["other definition"] == other["definition"]
        assert row["profiles"].split(", ") == other["profiles"]


def test_every_csv_has_its_latex_twin_with_as_many_rows(result: Saved) -> None:
    tables = result.folder / "tables"
    names = sorted(path.stem for path in tables.glob("*.csv"))
    assert names == sorted(path.stem for path in tables.glob("*.tex"))
    for name in names:
        text = (tables / f"{name}.tex").read_text(encoding="utf-8")
        rows = len(rows_of(result, name))
        body, _, notes = text.partition("\\bottomrule")
        assert body.count(r"\\" + "\n") == rows + 1, name  # the head has one too
        assert notes.count("textsuperscript") == len(set(re.findall(r"textsuperscript\{(\d+)\}", body))), name
        assert text.count("\\begin{tabular}") == text.count("\\end{tabular}") == 1


def test_counts_read_as_counts_in_latex(saved: Saved) -> None:
    text = (saved.folder / "tables" / "measures.tex").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("Queries")]
    assert line.split(" & ")[1] == "240"


def test_the_criteria_of_a_profile_with_a_cut_mrr_show_it(paper: Saved) -> None:
    assert "MRR@10" in rows_of(paper, "criteria")[0]


def same_cell(cell: str, entry: dict) -> None:
    """An undefined value is left blank; any other stands there to the last digit."""
    assert number(cell) == (None if entry["degenerate"] else entry["value"])


def test_tables_without_a_row_are_not_written(tmp_path: Path) -> None:
    import polars as pl

    import evidentia

    frame = pl.DataFrame({"post_id": ["p"], "criterion_id": ["A"], "gold_sent_uids": ["s"], "ranked_sent_uids": ["s"]})
    point_estimates(evidentia.read_run(frame)).save(tmp_path / "out")
    written = {path.stem for path in (tmp_path / "out" / "tables").iterdir()}
    assert "measures" in written
    assert not {"folds", "states", "confusion", "reliability"} & written
