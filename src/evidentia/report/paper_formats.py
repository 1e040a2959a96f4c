"""A paper's table as LaTeX, Markdown, CSV, HTML and Excel: the same words in each, and nothing of a user's becomes markup."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from evidentia.errors import InputError, OutputError, counted, typed
from evidentia.evaluation.files import refuse_inside_results
from evidentia.report.paper import LINE, PaperCell, PaperTable, comparison_table, paper_table
from evidentia.report.show import NONE
from evidentia.report.tables import Table
from evidentia.report.write import csv_text, latex_text, markdown_text
from evidentia.results import Comparison, Evaluation
from evidentia.results.folder import replace_files
from evidentia.results.notebook import printed_as

STEM = "table"
_SYMBOLS = {
    "\N{UPWARDS ARROW}": r"$\uparrow$",
    "\N{DOWNWARDS ARROW}": r"$\downarrow$",
    "\N{DAGGER}": r"\dag{}",
    "±": r"$\pm$",
    NONE: "--",
}
_MINUS = re.compile(r"-(?=\d)")
_NO_LETTER = re.compile("[^\x20-\x7e\u00c0-\u00ff\N{UPWARDS ARROW}\N{DOWNWARDS ARROW}\N{DAGGER}±\N{EN DASH}]")


def latex(table: PaperTable) -> str:
    """A booktabs table; where lines would be too long intervals stand below their values, and what is still wide is shrunk."""
    stacked = table.width > LINE
    lines = [_latex_row(_latex(column) for column in table.columns), "\\midrule\n"]
    for first, cells in table.rows:
        lines.append(_latex_row([_latex(first), *(_latex_cell(cell, limits=not stacked) for cell in cells)]))
        if stacked and any(cell.limits for cell in cells):
            lines.append(_latex_row(["", *(rf"{{\scriptsize {_latex_number(cell.limits)}}}" for cell in cells)]))
    notes = "\n".join(_latex(note) + r"\par" for note in table.notes)
    align = "l" + ("c" if stacked else "r") * (len(table.columns) - 1)
    return (
        "% needs \\usepackage[T1]{fontenc} and \\usepackage{booktabs,graphicx}\n"
        f"\\begin{{table}}[t]\n\\centering\n\\caption{{{_latex(table.caption)}}}\n"
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{''.join(lines)}\\bottomrule\n\\end{{tabular}}}}\n"
        f"\\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\\footnotesize\n{notes}\n\\end{{minipage}}\n\\end{{table}}\n"
    )


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\\n"


def _latex(text: str) -> str:
    """Escaped; letters that a plain LaTeX lacks as their codes."""
    escaped = latex_text(_NO_LETTER.sub(lambda match: f"U+{ord(match[0]):04X}", text))
    for symbol, command in _SYMBOLS.items():
        escaped = escaped.replace(symbol, command)
    return escaped


def _latex_number(text: str) -> str:
    return _MINUS.sub("$-$", _latex(text))


def _latex_cell(cell: PaperCell, *, limits: bool) -> str:
    value = _latex_number(cell.value)
    marks = rf"\textsuperscript{{{_latex(cell.marks)}}}" if cell.marks else ""
    more = f" {_latex_number(cell.limits)}" if limits and cell.limits else ""
    return (rf"\textbf{{{value}}}" if cell.best else value) + marks + more


def markdown(table: PaperTable) -> str:
    """A Markdown table with its caption above and its notes below."""
    head = _markdown_row(map(markdown_text, table.columns)) + "|---" + "|---:" * (len(table.columns) - 1) + "|\n"
    rows = [_markdown_row([markdown_text(first), *map(_markdown_cell, cells)]) for first, cells in table.rows]
    notes = "".join(f"\n{markdown_text(note)}\n" for note in table.notes)
    return f"{markdown_text(table.caption)}\n\n{head}{''.join(rows)}{notes}"


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _markdown_cell(cell: PaperCell) -> str:
    text = markdown_text(cell.text)
    return f"**{cell.value}**{text[len(cell.value) :]}" if cell.best else text


def comma_separated(table: PaperTable) -> str:
    """The cells as they are printed, without notes; CSV has no bold type."""
    rows = tuple((first, *(cell.text for cell in cells)) for first, cells in table.rows)
    return csv_text(Table(STEM, table.caption, table.columns, rows))


def page(table: PaperTable) -> str:
    """A page of HTML with nothing but the table and its notes."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    body = "\n".join(
        f"<tr><th>{html.escape(first)}</th>{''.join(map(_html_cell, cells))}</tr>" for first, cells in table.rows
    )
    notes = "\n".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
    caption = html.escape(table.caption)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{caption}</title></head>\n<body>\n'
        f"<table>\n<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        f"{notes}\n</body>\n</html>\n"
    )


def _html_cell(cell: PaperCell) -> str:
    value = f"<b>{cell.value}</b>" if cell.best else cell.value
    return f"<td>{value}{html.escape(cell.text[len(cell.value) :])}</td>"


def workbook(table: PaperTable) -> bytes:
    """One sheet of an Excel file; every cell is text, so nothing in it is run."""
    try:
        from xlsxwriter import Workbook
    except ImportError:
        raise InputError("Excel files need an extra: pip install 'evidentia[xlsx]'. Or ask for --format csv.") from None
    buffer = io.BytesIO()
    book = Workbook(buffer, {"in_memory": True})
    book.set_properties({"created": datetime(2000, 1, 1)})  # the same bytes for the same table
    sheet, bold = book.add_worksheet("Table"), book.add_format({"bold": True})
    lines = [[(column, True) for column in table.columns]]
    lines += [[(first, False), *((cell.text, cell.best) for cell in cells)] for first, cells in table.rows]
    lines += [[(words, False)] for words in ("", table.caption, *table.notes)]
    for row, line in enumerate(lines):
        for column, (text, best) in enumerate(line):
            sheet.write_string(row, column, text, bold if best else None)
    book.close()
    return buffer.getvalue()


FORMATS: Mapping[str, tuple[str, Callable[[PaperTable], str | bytes]]] = {
    "latex": (".tex", latex),
    "md": (".md", markdown),
    "csv": (".csv", comma_separated),
    "html": (".html", page),
    "xlsx": (".xlsx", workbook),
}


def files_for(out: Path, formats: Iterable[str], *, force: bool) -> dict[str, Path]:
    """The file of every format: ``out`` itself where its ending says a format, else files in the folder ``out``."""
    asked = tuple(dict.fromkeys(formats))
    if wrong := [name for name in asked if name not in FORMATS]:
        raise InputError(f"There is no format {typed(wrong[0])}. Formats are: {', '.join(FORMATS)}.")
    by_ending = {ending: name for name, (ending, _) in FORMATS.items()}
    own = by_ending.get(out.suffix.lower())
    if own is not None and asked not in {(), (own,)}:
        raise InputError(f"{out.name} is one file, and not of --format {','.join(asked)}. Name a folder for several.")
    if own is None and out.suffix and not out.is_dir():
        raise InputError(
            f"{out.name} has no ending of a table. Endings are: {', '.join(by_ending)}; a folder has none."
        )
    files = {own: out} if own else {name: out / f"{STEM}{FORMATS[name][0]}" for name in asked or ("latex",)}
    refuse_inside_results(out)
    there = [path.name for path in files.values() if path.exists()]
    if there and not force:
        more = "" if len(there) == 1 else f" (and {counted(len(there) - 1, 'more file')})"
        raise OutputError(f"{there[0]} exists{more}. Choose another place with -o, or replace it with --force.")
    return files


def write_paper(table: PaperTable, files: Mapping[str, Path]) -> None:
    """Write the table in every format; all files, or none."""
    rendered = {name: FORMATS[name][1](table) for name in files}
    contents = {files[name].name: c.encode() if isinstance(c, str) else c for name, c in rendered.items()}
    folder = next(iter(files.values())).parent
    try:
        replace_files(folder, contents)
    except OSError as error:
        raise OutputError(
            f"Cannot write into {folder.resolve().name}: {error.strerror}. Choose another place."
        ) from None


@printed_as.register
def _(result: Evaluation, form: str, **how: object) -> str:
    name = "Value" if how.get("columns") == "systems" else ""  # one in memory has none of its own
    table = paper_table({name: result}, **how)  # type: ignore[arg-type]
    return str(FORMATS[form][1](table))


@printed_as.register
def _(result: Comparison, form: str, **how: object) -> str:
    return str(FORMATS[form][1](comparison_table(result)))
