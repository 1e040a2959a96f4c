"""The report of a result folder as files: the page, its figures, a LaTeX document, a Markdown page."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from polars.exceptions import PolarsError

from evidentia.errors import EvidentiaError, InputError, OutputError, typed
from evidentia.report.page.content import Content, PageKind
from evidentia.report.page.engine import engine
from evidentia.report.page.figure import Figure
from evidentia.report.page.images import images
from evidentia.report.page.pseudonyms import write_key
from evidentia.report.page.read import read_content
from evidentia.report.page.record import FILES, PAGE, RECORD, Drawing, drawing, read_record, record_text
from evidentia.report.page.render import page_parts, render
from evidentia.report.page.text import latex_document, markdown
from evidentia.report.write import csv_text
from evidentia.results.folder import clear_leftovers, replace_file
from evidentia.tables import Run

DATA: dict[PageKind, str] = {"evaluation": "per_query.csv", "selective": "items.csv"}  # pseudonyms are made of it
BROKEN = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError, EvidentiaError, PolarsError)
LONGEST_TITLE = 200
USUAL = ("html", "svg", "png", "csv")
AT_ONCE = ("html", "svg", "csv")  # what is drawn with every result


def write_report(
    folder: Path,
    *,
    formats: Collection[str] = USUAL,
    show_ids: bool = False,
    texts: Mapping[str, str] | None = None,
    title: str | None = None,
    carried_texts: Mapping[str, Mapping[str, str]] | None = None,
    read: Run | None = None,
) -> list[str]:
    """Draw the report of a result folder, and record how; returns the files that are new or other than before.

    ``title`` stands above the page, the LaTeX document and the Markdown. ``texts`` are sentences by uid; ``carried_texts`` are
    those that an earlier page carried, as it names them. ``read`` is the run of the folder where it is at hand.
    """
    unknown = [name for name in formats if name not in FILES]
    if unknown:
        raise InputError(f"{typed(unknown[0])} is not a format of a report. There are {', '.join(FILES)}.")
    if title is not None and not (title.strip() and title.isprintable() and len(title) <= LONGEST_TITLE):
        raise InputError(f"A title is one line of 1 to {LONGEST_TITLE} letters, without control characters.")
    if "svg" in formats:
        engine()  # starts while the folder is read
    content = read_content(folder, show_ids=show_ids, texts=texts, title=title, read=read)
    if carried_texts is not None:
        content = replace(content, texts=carried_texts)
    if content.ids == "hashed" and content.kind in DATA:
        write_key(folder, DATA[content.kind])
    record = _recorded(folder) | {name: drawing(name, content) for name in formats}
    return _written(folder, files_of(content, formats) | {RECORD: record_text(record).encode()})


def _recorded(folder: Path) -> dict[str, Drawing]:
    """How other formats were drawn before; what is not recorded as it should be is recorded anew."""
    try:
        return read_record(folder)
    except InputError:
        return {}


def files_of(content: Content, formats: Collection[str]) -> dict[str, bytes]:
    """Every file of a report in these formats, by its name in the result folder."""
    page = page_parts(content)
    figures: tuple[Figure, ...] = page["figures"]
    files: dict[str, bytes] = {}
    with ThreadPoolExecutor(1) as drawing_thread:  # waits for the drawing engine while the page is made
        drawn = drawing_thread.submit(images, figures, formats)
        if "html" in formats:
            files[PAGE] = render(content, page).encode()
            _give_back()  # the drawing process is still growing
        if "csv" in formats:
            files |= {f"figures/drawn/{f.name}.csv": csv_text(f.table).encode() for f in figures if _own(f, content)}
        files |= {f"figures/{name}": data for name, data in drawn.result().items()}
    if "latex" in formats:
        files["report.tex"] = latex_document(content, figures).encode()
    if "md" in formats:
        files["report.md"] = markdown(content).encode()
    return files


def _give_back() -> None:
    """Give memory that is free back to the system, where its C library can do that."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


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
