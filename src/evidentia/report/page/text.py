"""The report as a LaTeX document and as a Markdown page: tables and figures with captions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evidentia.report.page.content import Content
from evidentia.report.page.figure import Figure
from evidentia.report.show import shown
from evidentia.report.tables import ABOUT, Table
from evidentia.report.write import latex, latex_text, shared_words

PREAMBLE = r"""% Compile in the folder of the result: pdflatex -output-directory ELSEWHERE report.tex
\documentclass[a4paper,10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{textcomp,booktabs,graphicx}
\usepackage[margin=2cm,landscape]{geometry}
\newsavebox{\result}
\newcommand{\fitted}{\resizebox{\ifdim\wd\result>\linewidth\linewidth\else\wd\result\fi}{!}{\usebox{\result}}}
\begin{document}
"""
LATIN = frozenset("äöüßéèáàâêîôûçñÄÖÜ±")
MOST_ROWS = 45  # rows of a table on one page
WIDE = {"definition", "warnings"}
MOST_WITH_WORDS = 12  # where every row has sentences of its own


def latex_document(content: Content, figures: Iterable[Figure]) -> str:
    """A document that compiles by itself in the result folder: every table in booktabs style, every figure with a caption."""
    parts = [PREAMBLE, rf"\section*{{{_safe(content.heading)}}}", "\n"]
    for table in content.tables:
        for piece in _pages(table):
            tabular = latex(_safe_table(piece))
            parts.append(
                f"\\begin{{table}}[p]\\centering\\caption{{{_safe(piece.title)}}}\n"
                f"\\begin{{lrbox}}{{\\result}}\n{tabular}\\end{{lrbox}}\\fitted\\end{{table}}\\clearpage\n"
            )
    parts += [_latex_figure(figure) for figure in figures]
    return "".join(parts) + "\\end{document}\n"


def _latex_figure(figure: Figure) -> str:
    size = r"width=\linewidth,height=.75\textheight,keepaspectratio"
    return (
        f"\\begin{{figure}}[p]\\centering\\includegraphics[{size}]{{figures/{figure.name}.png}}\n"
        f"\\caption{{{_safe(figure.title)}. {_safe(figure.caption)}}}\\end{{figure}}\\clearpage\n"
    )


def _pages(table: Table) -> list[Table]:
    """A long table in pieces that fit a page."""
    rows = table.rows
    wordy = any(column in ABOUT and column not in shared_words(table) for column in table.columns)
    most = MOST_WITH_WORDS if wordy else MOST_ROWS
    starts = range(0, len(rows), most)
    return [Table(table.name, _part(table.title, at), table.columns, rows[at : at + most]) for at in starts]


def _part(title: str, at: int) -> str:
    return title if at == 0 else f"{title} (continued)"


def _safe_table(table: Table) -> Table:
    """Cells without what a plain LaTeX has no letter for, and without what would not fit a page."""
    long = [4000 if column in ABOUT else 60 for column in table.columns]
    rows = tuple(
        tuple(_plain(cell, most) if isinstance(cell, str) else cell for cell, most in zip(row, long, strict=True))
        for row in table.rows
    )
    return Table(table.name, table.title, tuple(map(_plain, table.columns)), rows)


def _plain(text: str, most: int = 60) -> str:
    """Latin letters as they are, others as their code, long words cut: pdflatex has no letter for emoji."""
    kept = "".join(
        character if character.isascii() or character in LATIN else f"U+{ord(character):04X}"
        for character in text[:most]
    )
    return kept if len(text) <= most else f"{kept}..."


def _safe(text: str) -> str:
    return latex_text(_plain(text, most=400))


def markdown(content: Content) -> str:
    """Every table as Markdown; what came from a user's file cannot become markup."""
    parts = [f"# {_escaped(content.heading)}\n"]
    for table in content.tables:
        shared = shared_words(table)
        kept = [i for i, column in enumerate(table.columns) if column not in WIDE | shared.keys()]
        parts += [
            f"\n## {_escaped(table.title)}\n\n",
            _row([table.columns[i] for i in kept]),
            "|---" * len(kept) + "|\n",
        ]
        parts += [_row([shown(row[i]) for i in kept]) for row in table.rows]
        parts += [f"\n{_escaped(f'{name}: {words}')}\n" for name, words in shared.items()]
    parts.append("\nResearch software, not a medical device.\n")
    return "".join(parts)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |\n"


def _escaped(text: str) -> str:
    """Nothing that Markdown or the HTML in it would read as a command."""
    flat = re.sub(r"[\x00-\x1f\x7f]", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#!])", r"\\\1", flat)
