"""Tables that say which queries a number is over and what it means, and one number that has the same digits everywhere."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest

from cli.command import evidentia
from evidentia.report.show import fixed, rounded, shown
from evidentia.report.tables import Table
from evidentia.report.write import latex

NAMES = "AUROC,nDCG@10,F1(t=0.5),MCC(t=0.5)"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    assert evidentia("synth", "-o", home / "run", "--posts", "60", "--criteria", "4").code == 0
    for name, more in (("full", ()), ("named", ("--measures", NAMES))):
        ran = evidentia("evaluate", *files(home), "-o", home / name, "--no-report", *more)
        assert ran.code == 0, ran
    return home


def files(home: Path) -> tuple[object, ...]:
    return home / "run" / "per_query.csv", "--candidates", home / "run" / "candidates.csv"


def rows_of(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("table", ["criteria", "folds", "states", "confusion", "evidence"])
@pytest.mark.parametrize("which", ["full", "named"])
def test_every_table_says_which_queries_and_what_it_means(table: str, which: str, home: Path) -> None:
    if not (home / which / "tables" / f"{table}.csv").exists():
        assert (which, table) in {("named", "confusion"), ("named", "evidence")}
        return
    rows = rows_of(home / which, table)
    measures = json.loads((home / which / "summary.json").read_text())["measures"]
    tex = (home / which / "tables" / f"{table}.tex").read_text()
    for row in rows:
        assert row["population"]
        assert row["meaning"]
        if table == "folds":
            known = measures[row["measure"]]
            assert (row["population"], row["meaning"]) == (known["population"], known["meaning"])
        else:
            for name in (name for name in list(row)[1:-2] if name in measures):
                assert f"{name}: {measures[name]['meaning']}" in row["meaning"]
                over = next(
                    part for part in row["population"].split("; ") if part.endswith(measures[name]["population"])
                )
                assert name in over.rpartition(": ")[0].split(", ")
    assert rows[0]["population"].partition(";")[0].replace("%", r"\%") in tex
    assert rows[0]["meaning"].partition(".")[0].replace("%", r"\%") in tex


@pytest.mark.sample(every=15)
@pytest.mark.parametrize("column", ["population", "meaning"])
@pytest.mark.parametrize("table", ["criteria", "folds", "states", "confusion"])
@pytest.mark.parametrize("ending", ["csv", "tex"])
def test_the_second_implementation_checks_these_words(
    column: str, table: str, ending: str, home: Path, tmp_path: Path
) -> None:
    import shutil

    folder = Path(shutil.copytree(home / "full", tmp_path / "result"))
    path = folder / "tables" / f"{table}.{ending}"
    words = rows_of(folder, table)[0][column].partition(".")[0].partition(";")[0][:30]
    text = path.read_text()
    assert words in text
    path.write_text(text.replace(words, words.upper()))
    manifest = json.loads((folder / "manifest.json").read_text())
    from hashlib import sha256

    manifest["files"][f"tables/{table}.{ending}"] = sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    ran = evidentia("verify", folder)
    assert ran.code == 1
    assert f"tables/{table}.{ending}" in ran.out + ran.err


def test_measures_that_were_asked_for_are_in_every_table_of_groups(home: Path) -> None:
    for table, first in (("criteria", "criterion"), ("states", "state")):
        assert list(rows_of(home / "named", table)[0]) == [first, *NAMES.split(","), "population", "meaning"]
    summary = json.loads((home / "named" / "summary.json").read_text())["measures"]
    for row in rows_of(home / "named", "criteria")[:-1]:
        assert float(row["F1(t=0.5)"]) == summary[f"F1(t=0.5)[criterion={row['criterion']}]"]["value"]
    assert evidentia("verify", home / "named").code == 0
    assert "F1(t=0.5)" not in rows_of(home / "full", "criteria")[0]


def test_rows_that_do_not_fit_the_screen_are_counted(home: Path, tmp_path: Path) -> None:
    ran = evidentia("evaluate", *files(home), "-o", tmp_path / "r", "--no-report", "--measures", NAMES)
    measures = json.loads((tmp_path / "r" / "summary.json").read_text())["measures"]
    shown_rows = sum(line.split(" ")[0] in measures for line in ran.out.splitlines())
    assert len(measures) > shown_rows == 40
    assert f"{len(measures) - 40} more in summary.json" in ran.out
    few = evidentia("evaluate", *files(home), "-o", tmp_path / "f", "--no-report", "--measures", "Queries[fold=0]")
    assert "more in" not in few.out


HALVES = [0.78125, 0.03125, 0.00005, -0.78125, 12.125, 1234.125, 0.5, 2.0, 1.0, 1e-9, 123456.0, 1e18]


@pytest.mark.parametrize("value", HALVES)
def test_one_number_has_the_same_digits_in_every_form(value: float) -> None:
    table = Table("t", "T", ("name", "value"), (("a", value),))
    assert latex(table).splitlines()[5] == f"a & {shown(value)} \\\\"
    if abs(value) < 10:
        assert fixed(value) == str(rounded(value, 4))


def test_halves_go_away_from_zero_as_in_a_browser() -> None:
    assert (fixed(0.78125), fixed(-0.78125), fixed(0.78125, 2), shown(12.125)) == ("0.7813", "-0.7813", "0.78", "12.13")


def test_a_half_in_a_result_is_the_same_on_the_screen_in_markdown_and_in_latex(tmp_path: Path) -> None:
    """25 of 32 queries answered right: accuracy 0.78125."""
    answers = [1] * 25 + [0] * 7
    frame = pl.DataFrame(
        {
            "post_id": [f"p{at}" for at in range(32)],
            "criterion_id": ["A.1"] * 32,
            "has_evidence": [1] * 32,
            "prob": [0.9 if yes else 0.1 for yes in answers],
        }
    )
    frame.write_csv(tmp_path / "run.csv")
    words = ("--measures", "Sensitivity(t=0.5)", "-o", tmp_path / "r")
    ran = evidentia("evaluate", tmp_path / "run.csv", *words)
    assert ran.code == 0, ran
    evidentia("report", tmp_path / "r", "--format", "latex,md,html")
    for text in (
        ran.out,
        *((tmp_path / "r" / name).read_text() for name in ("report.md", "report.tex", "report.html")),
    ):
        assert "0.7813" in text
        assert "0.7812 " not in text
    assert evidentia("verify", tmp_path / "r").code == 0


def test_report_names_what_it_wrote(home: Path, tmp_path: Path) -> None:
    import shutil

    folder = Path(shutil.copytree(home / "named", tmp_path / "result"))
    for asked, told in (
        ("latex,md", "report.tex, report.md, figures"),
        ("md", "report.md"),
        ("html", "report.html"),
        ("csv,svg", "figures"),
    ):
        ran = evidentia("report", folder, "--format", asked)
        assert ran.out.strip() == f"the report is in {folder}: {told}"
        if asked == "latex,md":
            shown_ones = re.findall(r"\{(figures/\w+\.png)\}", (folder / "report.tex").read_text())
            assert shown_ones
            assert all((folder / name).is_file() for name in shown_ones)


def test_a_result_called_result_keeps_its_name_unless_a_run_made_it(home: Path, tmp_path: Path) -> None:
    import shutil

    for system in ("alice", "bob"):
        shutil.copytree(home / "named", tmp_path / system / "result")
    folders = [tmp_path / system / "result" for system in ("alice", "bob")]
    ran = evidentia("compare", *folders, "-o", tmp_path / "c", "--resamples", "20", "--no-report")
    assert ran.code == 0, ran
    comparison = (tmp_path / "c" / "comparison.json").read_text()
    assert "alice" not in comparison + ran.out
    assert json.loads(comparison)["systems"] == ["result", "result (2)"]
    (tmp_path / "bob" / "manifest.json").write_text('{"schema": "evidentia.run/1"}')
    evidentia("compare", *folders, "-o", tmp_path / "c", "--resamples", "20", "--no-report", "--force")
    assert json.loads((tmp_path / "c" / "comparison.json").read_text())["systems"] == ["result", "bob"]
