"""`evidentia report`: draw the report of a result again, without computing anything."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import option
from evidentia.cli.progress import progress_bar
from evidentia.errors import InputError


def report(
    out: options.ResultFolder,
    formats: Annotated[
        list[str] | None, option("--format LIST", "html, svg, png, pdf, csv, latex, md; default html,svg,png,csv.")
    ] = None,
    show_ids: Annotated[
        bool, option("--show-ids", "Post ids as they are; by default the page shows keyed hashes.")
    ] = False,
    include_text: Annotated[
        Path | None, option("--include-text FILE", "Sentences (sent_uid, text) for the error browser.")
    ] = None,
    title: Annotated[
        str | None, option("--title TEXT", "What stands above it; by default the name of the file.")
    ] = None,
    open_it: Annotated[bool, option("--open", "Open the page in a browser.")] = False,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    quiet: options.Quiet = False,
) -> None:
    """Draw the report of a result: one page that needs no network, figures, LaTeX, Markdown."""
    from evidentia.report.page.record import FILES, PAGE
    from evidentia.report.page.texts import read_texts
    from evidentia.report.page.write import USUAL, write_report

    asked = tuple(options.listed(formats) or USUAL)
    if "latex" in asked and "png" not in asked:
        asked = (*asked, "png")  # the document shows these figures
    texts = None if include_text is None else read_texts(include_text)
    with progress_bar("drawing", quiet=quiet):
        write_report(out, formats=asked, show_ids=show_ids, texts=texts, title=title)
    if not quiet:
        print(f"the report is in {out}: {', '.join(dict.fromkeys(FILES[name] for name in asked))}")
    if open_it and not (out / PAGE).is_file():
        raise InputError(f"There is no {PAGE} to open. Draw it with --format html.")
    if open_it:
        webbrowser.open((out / PAGE).resolve().as_uri())
