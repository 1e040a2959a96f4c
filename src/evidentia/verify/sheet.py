"""A table as it must have been written, compared cell by cell with its CSV file and its LaTeX twin."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from evidentia.results.headings import heading
from evidentia.verify.folder import ResultFolder, unquoted
from evidentia.verify.tally import Tally

Cell = str | int | float | None
ONLY_IN_CSV = frozenset({"definition", "warnings"})
ABOUT = ("population", "meaning")
ESCAPES = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{letter: f"{{{letter}}}" for letter in "[*"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"},
}
NUDGE = 1e-11  # a value that rounds differently a nudge away may be written either way


@dataclass(frozen=True)
class Sheet:
    """A table: its path without the ending, its header, its rows."""

    path: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def check_csv(folder: ResultFolder, sheet: Sheet, tally: Tally) -> None:
    """Compare every header and every cell."""
    where = f"{sheet.path}.csv"
    if not folder.has(where):
        tally.exact(f"{where}: rows", "no file", len(sheet.rows))
        return
    written = read_cells(folder.path / where)
    tally.exact(f"{where}: header", [unquoted(cell) for cell in written[0]], list(sheet.columns))
    tally.exact(f"{where}: rows", len(written) - 1, len(sheet.rows))
    for number, (texts, row) in enumerate(zip(written[1:], sheet.rows, strict=False), 1):
        tally.exact(f"{where}: row {number}: cells", len(texts), len(row))
        for column, text, cell in zip(sheet.columns, texts, row, strict=False):
            compare_text(f"{where}: row {number}: {column}", text, cell, tally)


def check_sheets(folder: ResultFolder, sheets: Iterable[Sheet], tally: Tally) -> list[str]:
    """Compare sheets with their files, and tables also with their LaTeX twins; returns the files that there must be."""
    files = []
    for sheet in sheets:
        check_csv(folder, sheet, tally)
        files.append(f"{sheet.path}.csv")
        if sheet.path.startswith("tables/"):
            check_latex(folder, sheet, tally)
            files.append(f"{sheet.path}.tex")
    return files


def read_cells(path: Path) -> list[list[str]]:
    """The raw cells of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True)) or [[]]


def compare_text(where: str, text: str, cell: Cell, tally: Tally) -> None:
    """Compare a written cell with what it must say; an empty one says that there is no value."""
    if isinstance(cell, float) and text:
        try:
            tally.number(where, float(text), cell)
        except ValueError:
            tally.exact(where, text, repr(cell))
    else:
        tally.exact(where, unquoted(text), "" if cell is None else str(cell))


def check_latex(folder: ResultFolder, sheet: Sheet, tally: Tally) -> None:
    """Compare the LaTeX twin: its columns, its labels, its rounded values, and the words below it."""
    if folder.carried:
        return
    where = f"{sheet.path}.tex"
    lines = (folder.path / where).read_text(encoding="utf-8").split("\n")
    about = [] if sheet.columns[0] in ABOUT else [at for at, name in enumerate(sheet.columns) if name in ABOUT]
    below = {at for at in about if len({row[at] for row in sheet.rows}) == 1}
    kept = [at for at, column in enumerate(sheet.columns) if column not in ONLY_IN_CSV and at not in below]
    marks, notes = _marks(sheet, len(kept))
    start = rf"\multicolumn{{{len(kept)}}}{{p{{\linewidth}}}}"
    about_lines = [f"{start}{{{escaped(f'{sheet.columns[at]}: {sheet.rows[0][at]}')}}} \\\\" for at in sorted(below)]
    align = "".join("p{5cm}" if sheet.columns[at] in ABOUT else "r" for at in kept[1:])
    before = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{align}}}",
        "\\toprule",
        " & ".join(escaped(heading(sheet.columns[at]) if at else sheet.columns[at]) for at in kept) + r" \\",
        "\\midrule",
    ]
    after = ["\\bottomrule", *about_lines, *notes, "\\end{tabular}", ""]
    tally.exact(f"{where}: lines", len(lines), len(before) + len(sheet.rows) + len(after))
    tally.exact(f"{where}: head", lines[: len(before)], before)
    tally.exact(f"{where}: foot", lines[len(before) + len(sheet.rows) :], after)
    for number, (line, row, mark) in enumerate(zip(lines[len(before) :], sheet.rows, marks, strict=False), 1):
        cells = [_named(row[at]) if sheet.columns[at] in ("measure", "name") else row[at] for at in kept]
        cells = [
            _chance(cell) if sheet.columns[at] in ("p", "p_holm") else cell
            for at, cell in zip(kept, cells, strict=True)
        ]
        _check_row(f"{where}: row {number}", line, cells, mark, tally)


def _named(cell: Cell) -> Cell:
    """A measure as a table for readers calls it."""
    return heading(cell) if isinstance(cell, str) else cell


def _chance(cell: Cell) -> Cell:
    """A p value that four decimals would show as none, or nearly, is said to be below the least of them."""
    return "<0.0001" if isinstance(cell, float) and cell < 0.0001 else cell


def _check_row(where: str, line: str, row: Sequence[Cell], mark: str, tally: Tally) -> None:
    texts = line.removesuffix(r" \\").split(" & ")
    tally.exact(f"{where}: cells", len(texts), len(row))
    for at, (text, cell) in enumerate(zip(texts, row, strict=False), 1):
        ways = [way + (mark if at == 1 else "") for way in _ways(cell)]
        tally.exact(f"{where}: cell {at}", text, text if text in ways else ways[0])


def _ways(cell: Cell) -> list[str]:
    """How a cell may be written; more than one way only where rounding hangs by a thread."""
    if cell is None or isinstance(cell, str):
        return ["--" if cell is None else escaped(cell)]
    if isinstance(cell, int):
        return [f"{cell:,}"]
    return [_rounded(value) for value in (cell, cell - NUDGE, cell + NUDGE)]


def _rounded(value: float) -> str:
    """Whole numbers above one as they are, two decimals from ten on, else four; halves go away from zero."""
    if value == int(value) and abs(value) > 1:
        return f"{int(value):,}"
    scale = 100 if abs(value) >= 10 else 10_000
    count = int(abs(Fraction(value)) * scale + Fraction(1, 2))
    digits = len(str(scale)) - 1
    whole, rest = divmod(count, scale)
    return f"{'-' if value < 0 else ''}{whole:,}.{rest:0{digits}d}"


def _marks(sheet: Sheet, width: int) -> tuple[list[str], list[str]]:
    """The mark of every row with a warning, and the lines that explain the marks."""
    if "warnings" not in sheet.columns:
        return [""] * len(sheet.rows), []
    texts = [str(row[sheet.columns.index("warnings")]) for row in sheet.rows]
    distinct = [words for words in dict.fromkeys(texts) if words]
    marks = {words: rf"\textsuperscript{{{number}}}" for number, words in enumerate(distinct, 1)}
    start = rf"\multicolumn{{{width}}}{{p{{\linewidth}}}}"
    notes = [f"{start}{{{marks[words]} {escaped(words)}}} \\\\" for words in distinct]
    return [marks.get(words, "") for words in texts], notes


def escaped(text: str) -> str:
    """Text as LaTeX shows it.

    >>> escaped("A_1 & 5%")
    'A\\\\_1 \\\\& 5\\\\%'
    """
    return "".join(ESCAPES.get(letter, letter) for letter in re.sub(r"[\x00-\x1f\x7f]", " ", text))
