"""Ids from a user's file become text in every format: never a command, a formula, or a broken table."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from cli.points import point_estimates
from evidentia.report.write import csv_cell, latex_text
from evidentia.results import loads

NASTY = [
    "A & B",
    "50%",
    "a_b",
    "#1",
    "$x$",
    "{y}",
    "~",
    "^",
    "\\input{/etc/passwd}",
    "naïve 日本 ✓",
    '<b>|"q"',
    "[x]",
    "*",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result whose criteria and slices carry such names."""
    n = len(NASTY)
    frame = pl.DataFrame(
        {
            "post_id": [f"p{i}" for i in range(n) for _ in range(n)],
            "criterion_id": NASTY * n,
            "has_evidence": [int((i + j) % 3 == 0) for i in range(n) for j in range(n)],
            "prob": [((7 * i + 3 * j) % 10) / 10 for i in range(n) for j in range(n)],
            "site": [NASTY[i] for i in range(n) for _ in range(n)],
        }
    )
    out = tmp_path_factory.mktemp("nasty") / "out"
    point_estimates(evidentia.read_run(frame, by=("site",)), by=("site",)).save(out)
    return out


@pytest.mark.parametrize(("table", "column"), [("criteria", "criterion"), ("slice_1", "site")])
def test_the_csv_holds_the_ids_as_they_are(table: str, column: str, folder: Path) -> None:
    with (folder / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        assert {row[column] for row in csv.DictReader(file)} == {*NASTY, "all"}


def test_the_summary_names_every_group_so_that_it_can_be_asked_for(folder: Path) -> None:
    names = loads((folder / "summary.json").read_text(encoding="utf-8"))["measures"]
    run = evidentia.read_run(folder / "per_query.csv", by=("site",))
    for column in ("criterion", "site"):
        grouped = [name for name in names if name.startswith(f"AUROC[{column}=")]
        assert len(grouped) == len(NASTY)
        asked = point_estimates(run, measures=grouped)
        assert list(asked) == grouped
        assert [asked[name].value for name in grouped] == [names[name]["value"] for name in grouped]


def test_latex_has_no_bare_special_letter(folder: Path) -> None:
    escaped = re.compile(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textquotedbl)\{\}"
    )
    own_mark = re.compile(r"\\textsuperscript\{\d+\}")
    for path in (folder / "tables").glob("*.tex"):
        body = path.read_text(encoding="utf-8").split("\\toprule\n")[1].split("\\bottomrule")[0]
        for line in body.replace("\\midrule\n", "").splitlines():
            assert line.endswith(r" \\")
            text = re.sub(
                r"\\[&%$#_{}]",
                "",
                escaped.sub("", own_mark.sub("", line).removesuffix(r" \\").replace("{[}", "").replace("{*}", "")),
            )
            assert not set(text) & set("\\%$#_{}~^"), (path.name, line)


def test_latex_rows_have_as_many_cells_as_columns(folder: Path) -> None:
    for path in (folder / "tables").glob("*.tex"):
        text = path.read_text(encoding="utf-8")
        columns = len(re.search(r"\\begin\{tabular\}\{(\S+)\}\n", text)[1].replace("p{5cm}", "p"))  # type: ignore[index]
        rows = [line for line in text.split("\\bottomrule")[0].splitlines() if line.endswith(r"\\")]
        assert len(rows) > 1
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {columns}, path.name


def test_a_latex_row_does_not_begin_with_what_the_row_before_takes_for_its_option(folder: Path) -> None:
    r"""After \\ and \midrule LaTeX looks for [length] and *, also on the next line."""
    text = (folder / "tables" / "criteria.tex").read_text(encoding="utf-8")
    assert not [line for line in text.splitlines() if line.startswith(("[", "*"))]


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("A & B", r"A \& B"),
        ("50%", r"50\%"),
        ("a_b", r"a\_b"),
        ("#1", r"\#1"),
        ("$x$", r"\$x\$"),
        ("{y}", r"\{y\}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("\\", r"\textbackslash{}"),
        ("two\nlines\ttab", "two lines tab"),
        ("日本", "日本"),
    ],
)
def test_latex_text(text: str, latex: str) -> None:
    assert latex_text(text) == latex


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "'=", "''+"])
def test_what_a_spreadsheet_would_run_gets_one_more_quote(start: str) -> None:
    assert csv_cell(f"{start}cmd") == f"'{start}cmd"


@pytest.mark.parametrize("value", ["A.1", "it's", "'quoted'", "", "a=b", -0.5, 3, None])
def test_other_cells_are_left_alone(value: str | float | None) -> None:
    assert csv_cell(value) == value


def test_the_screen_shows_brackets_as_brackets(tmp_path: Path) -> None:
    run = tmp_path / "[red]run.csv"
    run.write_text("post_id,criterion_id,has_evidence,tau\np1,[bold]A[/bold],1,\n")
    ran = command("evaluate", run, "--measures", 'Queries[criterion="[bold]A[/bold]"]', "-o", tmp_path / "[out]")
    assert ran.code == 0
    assert "[red]run.csv: the column tau is empty" in ran.out
    assert '[criterion="[bold]A[/bold]"]' in ran.out
    assert f"{tmp_path / '[out]'}: summary.json" in ran.out
