"""The report of a result folder as files: the page, its figures, a LaTeX document, a Markdown page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from polars.exceptions import PolarsError

from evidentia.errors import EvidentiaError, InputError, OutputError, typed
from evidentia.report.page.content import Content, Kind
from evidentia.report.page.figure import Figure
from evidentia.report.page.images import images
from evidentia.report.page.pack import unpack
from evidentia.report.page.pseudonyms import write_key
from evidentia.report.page.read import read_content, verification_of
from evidentia.report.page.render import figures_of, render
from evidentia.report.page.text import latex_document, markdown
from evidentia.report.write import csv_text
from evidentia.results.folder import clear_leftovers, replace_file

PAGE = "report.html"
DATA: dict[Kind, str] = {
    "evaluation": "per_query.csv",
    "selective": "items.csv",
}  # what the key of pseudonyms is made of
BROKEN = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError, EvidentiaError, PolarsError)
UNREADABLE = (
    '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Evidentia</title>\n'
    "<h1>This result does not verify</h1>\n<p>Files of it are damaged, so that no report can be drawn from them. "
    "<code>verification.json</code> beside this page says what does not match. Evaluate the run again.</p></html>\n"
)
FILES = {"html": PAGE, "svg": "figures", "png": "figures", "csv": "figures", "latex": "report.tex", "md": "report.md"}
FORMATS = tuple(FILES)
USUAL = ("html", "svg", "png", "csv")
AT_ONCE = ("html", "svg", "csv")  # what is drawn with every result


def write_report(
    folder: Path,
    *,
    formats: Collection[str] = USUAL,
    show_ids: bool = False,
    texts: Mapping[str, str] | None = None,
) -> list[str]:
    """Draw the report of a result folder and write it there; returns the files that are new or other than before."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise InputError(f"{typed(unknown[0])} is not a format of a report. There are {', '.join(FORMATS)}.")
    content = read_content(folder, show_ids=show_ids, texts=texts)
    if content.ids == "hashed" and content.kind in DATA:
        write_key(folder, DATA[content.kind])
    return _written(folder, files_of(content, formats))


def refresh_report(folder: Path) -> list[str]:
    """Draw what is there again, after a verification: ids and texts as the page has them; returns what changed."""
    page = folder / PAGE
    if not page.is_file():
        return []
    try:
        before = unpack(page.read_text(encoding="utf-8"))
    except (InputError, OSError, UnicodeDecodeError):
        before = None
    try:
        content = read_content(folder, show_ids=before is not None and before.ids == "shown")
        files = files_of(content if before is None else replace(content, texts=before.texts), _as_before(folder))
    except BROKEN:
        said = verification_of(folder)
        if said is not None and not said["mismatches"]:
            raise  # the files are sound, so the fault is ours and nothing to say of the result
        files = {PAGE: UNREADABLE.encode()}  # the old page may say that it was verified
    return _written(folder, files)


def _as_before(folder: Path) -> tuple[str, ...]:
    if not any(folder.glob("figures/*.svg")):
        return ("html",)
    return USUAL if any(folder.glob("figures/*.png")) else AT_ONCE


def files_of(content: Content, formats: Collection[str]) -> dict[str, bytes]:
    """Every file of a report in these formats, by its name in the result folder."""
    figures = figures_of(content)
    made: dict[str, bytes] = {}
    if "html" in formats:
        made[PAGE] = render(content).encode()
    if "csv" in formats:
        made |= {f"figures/drawn/{f.name}.csv": csv_text(f.table).encode() for f in figures if _own(f, content)}
    made |= {f"figures/{name}": data for name, data in images(figures, formats).items()}
    if "latex" in formats:
        made["report.tex"] = latex_document(content, figures).encode()
    if "md" in formats:
        made["report.md"] = markdown(content).encode()
    return made


def _own(figure: Figure, content: Content) -> bool:
    """Whether the table of a figure is not among the result's own files already."""
    return content.figure(figure.name) is None


def _written(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write what differs, each file whole or not at all."""
    clear_leftovers(folder)
    changed = []
    for name, data in files.items():
        path = folder / name
        try:
            if path.is_file() and path.read_bytes() == data:
                continue
            replace_file(path, data)
        except OSError as error:
            raise OutputError(f"Writing {name} failed: {error.strerror}.") from None
        changed.append(name)
    return changed
