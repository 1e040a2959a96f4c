"""Figures as files: the same bytes whenever they are drawn, and of a size that a page can hold."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

import evidentia
from builders.runs import Saved
from evidentia.report.page import read_content
from evidentia.report.page.images import _pdf, images
from evidentia.report.page.run_figures import decision, roc, run_figures


def test_a_figure_is_the_same_bytes_whatever_was_drawn_before(saved: Saved) -> None:
    figures = run_figures(read_content(saved.folder))
    first, again = images(figures, ["svg"]), images(reversed(figures), ["svg"])
    assert first == again
    assert len(first) > 5
    assert b'id="clip1"' in first["decision.svg"]


def test_both_formats_are_drawn_the_same_again(saved: Saved) -> None:
    content = read_content(saved.folder)
    some = [figure for figure in (decision(content), roc(content)) if figure is not None]
    assert images(some, ["svg", "png"]) == images(some, ["svg", "png"])


def test_where_acting_never_pays_the_decision_curve_still_fits_on_a_page(tmp_path: Path) -> None:
    """Without a positive the net benefit falls to -49.5 at 0.99; room for that would be a picture of a million rows."""
    names = ("post_id", "criterion_id", "gold_sent_uids", "prob")
    table = pl.DataFrame([("a", "A.1", "", 0.0), ("b", "A.1", "", 1.0)], names, orient="row")
    evidentia.evaluate(evidentia.read_run(table), resamples=0).save(tmp_path / "out")
    figure = decision(read_content(tmp_path / "out"))
    assert figure is not None
    sizes = re.search(rb'<svg[^>]* width="(\d+)" height="(\d+)"', images([figure], ["svg"])["decision.svg"])
    assert sizes is not None
    assert max(map(int, sizes.groups())) < 1000


def test_pdf_files_are_the_same_bytes_whenever_they_are_drawn(saved: Saved) -> None:
    """What has two typefaces has them in any order, as the library that draws it happens to hash them."""
    figures = [figure for figure in run_figures(read_content(saved.folder)) if figure.name in {"criteria", "roc"}]
    drawn = images(figures, ["pdf"])
    assert sorted(drawn) == ["criteria.pdf", "roc.pdf"]
    for _ in range(4):
        _pdf.cache_clear()
        assert images(figures, ["pdf"]) == drawn
    for name, data in drawn.items():
        entries = re.findall(rb"(\d{10}) 00000 n", data)
        places = [data[int(place) :].startswith(b"%d 0 obj\n" % number) for number, place in enumerate(entries, 1)]
        assert len(places) > 10, name
        assert all(places), name
