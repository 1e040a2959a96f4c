"""`evidentia table`: the same words in every format, the best in bold, marks with their correction, nothing of a user's run."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

import evidentia as package
from cli.command import contents, evidentia, refused
from evidentia.report.paper_formats import FORMATS
from evidentia.results.headings import heading
from evidentia.results.profiles import PROFILES, questionnaire_names, selective_names

ROWS = "AUROC,nDCG@10,F1(t=gate)"
PREAMBLE = r"\documentclass{article}\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx}"


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())["measures"]


def cells(path: Path) -> list[list[str]]:
    """The lines of a table that was written as CSV."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def as_printed(entry: dict) -> str:
    """A value with its interval, rounded by hand to three decimals."""
    text = f"{entry['value']:.3f}"
    return text if entry["ci"] is None else f"{text} [{entry['ci'][0]:.3f}, {entry['ci'][1]:.3f}]"


def plain(text: str) -> str:
    """A cell of any format without its markup."""
    text = re.sub(r"\\textbf\{([^}]*)\}|\\textsuperscript\{([^}]*)\}", r"\1\2", text.replace("{*}", "*"))
    text = re.sub(r"<[^>]+>", "", html.unescape(text)).replace("{[}", "[").replace("$-$", "-").replace("**", "")
    return re.sub(r"\\(.)", r"\1", text).strip()


def test_criteria_down_the_page_where_they_are_many_and_measures_few(results: Path, tmp_path: Path) -> None:
    ran = evidentia("table", results / "plain", "--rows", ROWS, "--format", "csv", "-o", tmp_path / "new")
    assert (ran.code, ran.err) == (0, "")
    lines = cells(tmp_path / "new" / "table.csv")
    assert lines[0] == ["Criterion", "AUROC ↑", "nDCG@10 ↑", "F1 (gate) ↑"]
    assert [line[0] for line in lines[1:]] == ["A.1", "A.2", "A.3", "A.4", "all (pooled)"]
    measures = summary(results / "plain")
    assert lines[2][1] == as_printed(measures["AUROC[criterion=A.2]"])
    assert lines[5][1:] == [as_printed(measures[name]) for name in ("AUROC", "nDCG@10", "F1(t=gate)")]


def test_measures_down_the_page_where_that_fits_a_line(results: Path, tmp_path: Path) -> None:
    names = ("--rows", "Positives,TP(t=gate)", "--columns", "criteria")
    assert evidentia("table", results / "plain", *names, "-o", tmp_path / "t.csv").code == 0
    assert cells(tmp_path / "t.csv")[0] == ["Measure", "A.1", "A.2", "A.3", "A.4", "all (pooled)"]
    counts = [str(int(summary(results / "plain")[f"Positives[criterion=A.{i}]"]["value"])) for i in range(1, 5)]
    assert cells(tmp_path / "t.csv")[1][:5] == ["With evidence", *counts]


def test_the_same_words_in_every_format(results: Path, tmp_path: Path) -> None:
    folders = (results / "plain", results / "better_5%")
    ran = evidentia("table", *folders, "--rows", ROWS, "--format", "latex,md,csv,html,xlsx", "-o", tmp_path)
    assert ran.code == 0, ran
    expected = cells(tmp_path / "table.csv")
    markdown = [line for line in (tmp_path / "table.md").read_text().splitlines() if line.startswith("|")]
    assert [[plain(cell) for cell in line.split(" | ")] for line in [markdown[0], *markdown[2:]]] == [
        [f"| {first}", *middle, f"{last} |"] for first, *middle, last in expected
    ]
    page = re.findall("<tr>.*?</tr>", (tmp_path / "table.html").read_text())
    assert [[plain(cell) for cell in re.findall("<t[hd]>.*?</t[hd]>", row)] for row in page] == expected
    latex = (tmp_path / "table.tex").read_text().replace(r"$\uparrow$", "↑")
    body = [line for line in latex.splitlines() if " & " in line]
    assert [[plain(cell) for cell in line.removesuffix(r" \\").split(" & ")] for line in body] == expected
    frame = sheet(tmp_path / "table.xlsx")
    assert frame[: len(expected)] == expected


def sheet(path: Path) -> list[list[str]]:
    """The cells of an Excel file, all of them text."""
    with zipfile.ZipFile(path) as book:
        shared = book.read("xl/sharedStrings.xml").decode()
        xml = book.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in xml
    strings = [html.unescape(text) for text in re.findall(r"<t[^>]*>(.*?)</t>", shared)]
    rows = re.findall("<row .*?</row>", xml)
    return [[strings[int(i)] for i in re.findall(r't="s"><v>(\d+)</v>', row)] for row in rows]


def test_the_best_is_bold_and_marks_name_their_correction(results: Path, tmp_path: Path) -> None:
    folders = (results / "plain", results / "better_5%")
    assert evidentia("table", *folders, "--rows", "nDCG@10,Brier", "-o", tmp_path / "t.md").code == 0
    text = (tmp_path / "t.md").read_text()
    comparison = package.compare(*folders, measures="nDCG@10,Brier")
    for name in ("nDCG@10", "Brier"):
        mark = r"\*" if comparison[name].p_holm <= 0.05 else ""
        assert f"| **{summary(folders[1])[name]['value']:.3f}**{mark} \\[" in text
    assert comparison["nDCG@10"].p_holm <= 0.05
    assert text.count("**") == 4  # one cell a row
    assert "\\* Differs from plain: p at most 0.05, paired by post (10,000 bootstrap resamples, seed 7), " in text
    assert "corrected by Holm's method for 2 tests of each system." in text
    assert "↑ higher is better, ↓ lower is better." in text


def test_equal_values_are_both_bold_and_measures_without_a_better_side_never(results: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(results / "plain", tmp_path / "copy")
    names = ("--rows", "AUROC,SelectedK", "--names", "A,B", "--resamples", "50")
    assert evidentia("table", results / "plain", copy, *names, "-o", tmp_path / "t.md").code == 0
    text = (tmp_path / "t.md").read_text()
    (auroc,) = [line for line in text.splitlines() if line.startswith("| AUROC")]
    (selected,) = [line for line in text.splitlines() if line.startswith("| Sentences selected")]
    assert (auroc.count("**"), selected.count("**"), "\\*" in auroc) == (4, 0, False)
    assert "50 resamples give rough standard errors".capitalize() in text


def test_a_criterion_that_is_called_all_keeps_its_number(results: Path) -> None:
    frame = pl.read_csv(results / "plain" / "per_query.csv").with_columns(
        pl.col("criterion_id").replace("A.2", "all (pooled)")
    )
    text = package.evaluate(frame, measures="AUROC", resamples=0).to_markdown(columns="criteria")
    own = summary(results / "plain")["AUROC[criterion=A.2]"]["value"]
    whole = summary(results / "plain")["AUROC"]["value"]
    head, line = (line for line in text.splitlines() if line.startswith(("| Measure", "| AUROC")))
    shown = dict(zip(head.split(" | ")[1:], line.split(" | ")[1:], strict=True))
    assert (shown["all (pooled)"], shown["every criterion |"]) == (f"{own:.3f}", f"{whole:.3f} |")


def test_counts_are_not_tested(results: Path, tmp_path: Path) -> None:
    words = ("--rows", "Positives", "--resamples", 200, "-o", tmp_path / "t.md")
    assert evidentia("table", results / "plain", results / "better_5%", *words).code == 0
    text = (tmp_path / "t.md").read_text()
    assert "Differs" not in text
    assert "Not compared, because they count what all results share: Positives." in text


def test_folds_have_their_mean_and_spread(results: Path, tmp_path: Path) -> None:
    names = ("--rows", "AUROC", "--columns", "folds")
    assert evidentia("table", results / "plain", *names, "-o", tmp_path / "t.csv").code == 0
    entry = summary(results / "plain")["AUROC"]
    turned = cells(tmp_path / "t.csv")
    assert turned[-1] == ["mean ± SD", f"{entry['fold_mean']:.3f} ± {entry['fold_std']:.3f}"]
    assert [line[0] for line in turned] == ["Fold", "0", "1", "2", "3", "4", "all (pooled)", "mean ± SD"]


def test_a_convention_is_marked_and_never_the_best() -> None:
    run = pl.DataFrame({"post_id": [1, 2], "criterion_id": ["A", "A"], "has_evidence": [1, 1], "prob": [0.9, 0.2]})
    text = package.evaluate(run, measures="AUROC", resamples=0).to_markdown()
    assert "| AUROC ↑ | 0.500† |" in text
    assert "† A convention, not a measurement: no queries without evidence." in text


@pytest.mark.parametrize("columns", ["systems", "criteria"])
def test_latex_compiles_with_any_name(columns: str, results: Path, tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex on this machine: install texlive-latex-recommended")
    odd = names = ["\\input{/etc/passwd} & 100% #1", "$x_1^2${a}~äß<b>|\N{GRINNING FACE} [*]"]
    frame = pl.read_csv(results / "plain" / "per_query.csv").with_columns(
        pl.col("criterion_id").replace({"A.1": names[0], "A.2": names[1]})
    )
    results_of = [package.evaluate(frame, resamples=20, report=False)]
    results_of[0].save(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    folders = [tmp_path / "a", tmp_path / "b"] if columns == "systems" else [tmp_path / "a"]
    called = ["--names", odd[0], "--names", odd[1]] if columns == "systems" else []
    ran = evidentia("table", *folders, *called, "--columns", columns, "--resamples", 50, "-o", tmp_path / "t.tex")
    assert ran.code == 0, ran
    (tmp_path / "d.tex").write_text(PREAMBLE + r"\begin{document}\input{t}\end{document}")
    words = [program, "-halt-on-error", "-interaction=nonstopmode", "d.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode("latin-1")[-1500:]
    assert "U+1F600" in (tmp_path / "t.tex").read_text()


def test_names_become_no_markup_and_no_formula(results: Path, tmp_path: Path) -> None:
    folders = (results / "plain", results / "better_5%")
    called = ("--names", "=1+1", "--names", "<script>|*x*", "--rows", "AUROC", "--resamples", 50)
    assert evidentia("table", *folders, *called, "--format", "csv,md,html,xlsx", "-o", tmp_path).code == 0
    head = cells(tmp_path / "table.csv")[0]
    assert "'=1+1" in head
    assert "<script>" not in (tmp_path / "table.html").read_text()
    assert "&lt;script&gt;\\|\\*x\\*" in (tmp_path / "table.md").read_text()
    assert "=1+1" in sheet(tmp_path / "table.xlsx")[0]


def test_the_same_bytes_again(results: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        words = ("--format", ",".join(FORMATS), "-o", tmp_path / name)
        assert evidentia("table", results / "plain", *words).code == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_result_folder_is_a_closed_world(results: Path) -> None:
    before = contents(results)
    for place in ("paper.tex", "tables/paper.tex", "."):
        ran = evidentia("table", results / "plain", "-o", results / "better_5%" / place)
        refused(ran, "belongs beside the result better_5%")
    assert contents(results) == before


def test_files_that_are_there_stay_without_force(results: Path, tmp_path: Path) -> None:
    (tmp_path / "table.md").write_text("mine")
    words = ("table", results / "plain", "--format", "md,csv", "-o", tmp_path)
    refused(evidentia(*words), "table.md exists. Choose another place with -o, or replace it with --force.")
    assert contents(tmp_path) == {"table.md": b"mine"}
    assert evidentia(*words, "--force").code == 0
    assert sorted(contents(tmp_path)) == ["table.csv", "table.md"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--rows", "Nonsense"], ["Unknown measure 'Nonsense'"]),
        (["--rows", "AUROC[criterion=A.1]"], ["rows are measures without groups"]),
        (["--rows", "TPR(tuned)@FPR=5%"], ["was not computed", "TUNE rows"]),
        (["--columns", "posts"], ["--columns must be systems, criteria or folds"]),
        (["--format", "pdf"], ["There is no format 'pdf'"]),
        (["--names", "A,B"], ["1 result but 2 names"]),
        (["--rows", "ExactMatch", "--columns", "criteria"], ["ExactMatch is not reported by criterion"]),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], parts: list[str], results: Path, tmp_path: Path) -> None:
    refused(evidentia("table", results / "plain", *words, "-o", tmp_path / "new"), *parts)
    assert not (tmp_path / "new").exists()


def test_columns_of_one_table_have_one_meaning(results: Path, tmp_path: Path) -> None:
    run = package.read_run(results / "plain" / "per_query.csv")
    package.evaluate(run, profile="audit", resamples=60, report=False).save(tmp_path / "audit")
    package.evaluate(run, resamples=60, ci=0.9, report=False).save(tmp_path / "narrow")
    out = ("-o", tmp_path / "t.tex")
    refused(evidentia("table", results / "plain", tmp_path / "audit", *out), "different profiles")
    refused(evidentia("table", results / "plain", tmp_path / "narrow", *out), "different levels of intervals")
    words = ("--columns", "criteria", *out)
    refused(evidentia("table", results / "plain", tmp_path / "audit", *words), "is about one result")


def test_what_is_no_result_of_evaluate_is_refused(results: Path, tmp_path: Path) -> None:
    package.compare(results / "plain", results / "better_5%", measures="AUROC", resamples=50, out=tmp_path / "c")
    refused(
        evidentia("table", tmp_path / "c", "-o", tmp_path / "t.tex"), "is not a result folder of `evidentia evaluate`"
    )
    items = tmp_path / "items.csv"
    rows = [f"p{i // 4},{i % 4},{i % 3},{i % 2},{i / 40}" for i in range(40)]
    items.write_text("\n".join(["cluster_id,item,pred,gt,confidence", *rows]) + "\n")
    words = ("--seed", 7, "--resamples", 20, "--no-report", "-o", tmp_path / "s", "--quiet")
    assert evidentia("selective", items, *words).code == 0
    refused(evidentia("table", tmp_path / "s", "-o", tmp_path / "t.tex"), "have no such table")


def test_excel_without_its_extra_says_what_to_install(results: Path, tmp_path: Path) -> None:
    with patch.dict(sys.modules, {"xlsxwriter": None}):
        ran = evidentia("table", results / "plain", "--format", "csv,xlsx", "-o", tmp_path / "new")
    refused(ran, "pip install 'evidentia[xlsx]'")
    assert not (tmp_path / "new").exists()


def test_different_measures_have_different_headings() -> None:
    for profile in PROFILES.values():
        names = set(profile.names(dual=True))
        assert len({heading(name) for name in names}) == len(names)
    names = {*selective_names(), *selective_names(loss="abs"), *questionnaire_names([5, 10])}
    assert len({heading(name) for name in names}) == len(names)


def test_a_result_in_memory_has_its_tables(results: Path) -> None:
    evaluation = package.evaluate(results / "plain" / "per_query.csv", resamples=0, report=False)
    assert f"AUROC $\\uparrow$ & {evaluation['AUROC'].value:.3f} \\\\" in evaluation.to_latex(["AUROC"])
    lines = evaluation.to_markdown(["AUROC"], columns="folds").splitlines()
    assert lines[0] == "Results, by fold (240 queries from 60 posts)"
    assert "| Measure | 0 | 1 | 2 | 3 | 4 | all (pooled) | mean ± SD |" in lines
    comparison = package.compare(results / "plain", results / "better_5%", measures="AUROC,Brier", resamples=300)
    text = comparison.to_markdown()
    delta = comparison["Brier"]
    assert "| Measure | plain | better\\_5% | Difference | p (Holm, 2) |" in text
    assert f"| Brier score ↓ | {delta.baseline_value:.3f} | {delta.system_value:.3f} | {delta.delta:+.3f} " in text
    assert "better\\_5\\%" in comparison.to_latex()


def test_pandas_frames_hold_what_polars_frames_hold(results: Path) -> None:
    evaluation = package.evaluate(results / "plain" / "per_query.csv", measures="AUROC,Brier", resamples=0)
    frame = evaluation.to_pandas()
    assert list(frame.columns) == evaluation.to_frame().columns
    assert frame["value"].tolist() == evaluation.to_frame()["value"].to_list()
    comparison = package.compare(results / "plain", results / "better_5%", measures="AUROC", resamples=50)
    assert comparison.to_pandas()["delta"].iloc[0] == comparison["AUROC"].delta
    with patch.dict(sys.modules, {"pandas": None}), pytest.raises(package.InputError, match="pip install pandas"):
        evaluation.to_pandas()


def test_a_mark_is_never_about_another_value_than_the_printed_one(results: Path, tmp_path: Path) -> None:
    turned = shutil.copytree(results / "plain", tmp_path / "turned")
    rows = pl.read_csv(turned / "per_query.csv", infer_schema=False).drop("state", "tau_neg", "tau_pos")
    rows.with_columns(prob=(1 - pl.col("prob").cast(float)).cast(str)).write_csv(turned / "per_query.csv")
    words = ("--rows", "AUROC", "--resamples", 50, "-o", tmp_path / "t.md")
    for order in ((turned, results / "better_5%"), (results / "better_5%", turned)):
        refused(evidentia("table", *order, *words), "turned: AUROC in summary.json is not what", "`evidentia verify`")
    assert not (tmp_path / "t.md").exists()


@pytest.mark.parametrize("name", ["report.docx", "report.pdf", "my.tables"])
def test_an_ending_that_no_table_has_is_refused(name: str, results: Path, tmp_path: Path) -> None:
    words = ("table", results / "plain", "--rows", "AUROC", "-o", tmp_path / name)
    refused(evidentia(*words), f"{name} has no ending of a table", ".tex, .md, .csv, .html, .xlsx")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / name).mkdir()  # who has such a folder means it
    assert evidentia(*words).code == 0
    assert (tmp_path / name / "table.tex").is_file()


@pytest.mark.parametrize("names", ["", ",", "one", "one,two,three"])
def test_names_are_as_many_as_results(names: str, results: Path, tmp_path: Path) -> None:
    words = ("--names", names, "--rows", "AUROC", "-o", tmp_path / "t.md")
    count = len(names.replace(",", " ").split())
    named = f"{count} name{'' if count == 1 else 's'}: give each a name, or none."
    refused(evidentia("table", results / "plain", results / "better_5%", *words), f"2 results but {named}")
    if count != 1:
        refused(evidentia("table", results / "plain", *words), f"1 result but {named}")
    assert list(tmp_path.iterdir()) == []


def test_no_name_becomes_mathematics_or_is_struck_out(results: Path, tmp_path: Path) -> None:
    words = ("--names", "$x$,~~old~~", "--rows", "AUROC", "--resamples", 50, "-o", tmp_path / "t.md")
    assert evidentia("table", results / "plain", results / "better_5%", *words).code == 0
    text = (tmp_path / "t.md").read_text()
    assert "\\$x\\$" in text
    assert "\\~\\~old\\~\\~" in text
    assert re.findall(r"(?<!\\)[$~]", text) == []
