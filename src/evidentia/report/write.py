"""Tables as CSV and LaTeX; what came from a user's file cannot become a formula or a command."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from evidentia.report.show import chance, shown
from evidentia.report.tables import ABOUT, Table, Value, delta_tables, tables_of
from evidentia.results import Comparison, Curve, Evaluation
from evidentia.results.headings import heading
from evidentia.tables.cells import defused

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",  # at the start of a row these two would be read as an option of the line break before it
    "*": "{*}",
}

_LONG = frozenset({"definition", "warnings"})  # these stay in the CSV
NAMES = frozenset({"measure", "name"})  # columns that name measures
P_VALUES = frozenset({"p", "p_holm"})


def write_tables(evaluation: Evaluation, folder: Path) -> None:
    """Write every table as CSV (unrounded) and as LaTeX (rounded, booktabs)."""
    for table in tables_of(evaluation):
        folder.mkdir(exist_ok=True)
        _write(table, folder)


def write_curves(evaluation: Evaluation, folder: Path) -> None:
    """Write the data of every figure as CSV."""
    if not evaluation.curves:
        return
    folder.mkdir()
    for curve in evaluation.curves:
        _write_csv(
            Table(curve.name, curve.title, tuple(curve.columns), tuple(curve.rows())), folder / f"{curve.name}.csv"
        )


def write_system_curves(curves: Mapping[str, Sequence[tuple[str, Curve]]], folder: Path) -> None:
    """Write the curves of several systems, one below the other, as CSV."""
    for name, drawn in curves.items():
        folder.mkdir(exist_ok=True)
        rows = [(system, *row) for system, curve in drawn for row in curve.rows()]
        _write_csv(Table(name, name, ("system", *drawn[0][1].columns), tuple(rows)), folder / f"{name}.csv")


def write_delta_tables(comparison: Comparison, folder: Path) -> None:
    """Write the deltas of a comparison, base measures and per criterion apart."""
    folder.mkdir()
    for table in delta_tables(comparison.deltas):
        _write(table, folder)


def _write(table: Table, folder: Path) -> None:
    _write_csv(table, folder / f"{table.name}.csv")
    (folder / f"{table.name}.tex").write_text(latex(table), encoding="utf-8")


def _write_csv(table: Table, path: Path) -> None:
    path.write_text(csv_text(table), encoding="utf-8", newline="")


def csv_text(table: Table) -> str:
    """A table as CSV, with formulas defused."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([csv_cell(column) for column in table.columns])
    writer.writerows([[csv_cell(cell) for cell in row] for row in table.rows])
    return buffer.getvalue()


def csv_cell(value: Value) -> Value:
    """A cell that a spreadsheet will not run.

    >>> csv_cell("=1+1"), csv_cell(-0.5), csv_cell("A.1")
    ("'=1+1", -0.5, 'A.1')
    """
    return defused(value) if isinstance(value, str) else value


def latex(table: Table) -> str:
    """A booktabs table; text is escaped, numbers are rounded to four decimals, definitions stay in the CSV.

    Warnings stand below the table, once each, under the number that marks the rows they are about. So do populations and
    meanings that are the same for all rows; others have a column.
    """
    shared = shared_words(table)
    kept = [i for i, column in enumerate(table.columns) if column not in _LONG | shared.keys()]
    marks, notes = _numbered_warnings(table, len(kept))
    notes = "".join(_note(f"{name}: {words}", len(kept)) for name, words in shared.items()) + notes
    head = " & ".join(latex_text(heading(table.columns[i]) if i else table.columns[i]) for i in kept)
    rows = [[_latex_cell(row[i], table.columns[i]) for i in kept] for row in table.rows]
    body = "\n".join(
        " & ".join([f"{first}{mark}", *rest]) + r" \\" for (first, *rest), mark in zip(rows, marks, strict=True)
    )
    align = "".join("l" if i == 0 else "p{5cm}" if table.columns[i] in ABOUT else "r" for i in kept)
    return (
        "% needs \\usepackage{booktabs}\n"
        f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\n\\bottomrule\n{notes}\\end{{tabular}}\n"
    )


def shared_words(table: Table) -> dict[str, str]:
    """The populations and meanings that are the same for all rows: they are told once, below a table."""
    if table.columns[0] in ABOUT:  # a column of the run's own is called so
        return {}
    columns = {name: {row[i] for row in table.rows} for i, name in enumerate(table.columns) if name in ABOUT}
    return {name: str(next(iter(words))) for name, words in columns.items() if len(words) == 1}


def _note(words: str, width: int) -> str:
    return rf"\multicolumn{{{width}}}{{p{{\linewidth}}}}{{{latex_text(words)}}} \\" + "\n"


def _numbered_warnings(table: Table, width: int) -> tuple[list[str], str]:
    """The mark of every row, empty where nothing is to be warned of, and the lines that say what the marks mean."""
    if "warnings" not in table.columns:
        return [""] * len(table.rows), ""
    warnings = [str(row[table.columns.index("warnings")]) for row in table.rows]
    marks = {"": ""}
    for words in warnings:
        marks.setdefault(words, rf"\textsuperscript{{{len(marks)}}}")
    start = rf"\multicolumn{{{width}}}{{p{{\linewidth}}}}"
    lines = [f"{start}{{{mark} {latex_text(words)}}} \\\\\n" for words, mark in marks.items() if words]
    return [marks[words] for words in warnings], "".join(lines)


def latex_text(text: str) -> str:
    """Escape what LaTeX would take for a command.

    >>> latex_text("A_1 & 5%")
    'A\\\\_1 \\\\& 5\\\\%'
    """
    return "".join(_LATEX.get(letter, letter) for letter in re.sub(r"[\x00-\x1f\x7f]", " ", text))


def markdown_text(words: str) -> str:
    """Words that cannot become Markdown or HTML: ids and names of folders come from users.

    >>> markdown_text("a_b <i>")
    'a\\\\_b &lt;i&gt;'
    """
    for letter in "\\`*_[]<>|#$~":
        words = words.replace(letter, {"<": "&lt;", ">": "&gt;"}.get(letter, f"\\{letter}"))
    return " ".join(words.split())


def _latex_cell(value: Value, column: str) -> str:
    if value is None:
        return "--"
    if isinstance(value, str):
        return latex_text(heading(value) if column in NAMES else value)
    return latex_text(chance(value)) if column in P_VALUES else shown(value)
