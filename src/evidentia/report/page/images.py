"""Figures as SVG and PNG files, drawn by the same specification as in the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evidentia.report.page.figure import Figure
from evidentia.report.page.theme import config

WIDTH = 520
FILE_FONT = "DejaVu Sans, Noto Sans, sans-serif"


def write_images(figures: Iterable[Figure], folder: Path, *, formats: Iterable[str] = ("svg", "png")) -> None:
    """Write every figure in every format; light colours, on white."""
    import vl_convert

    folder.mkdir(exist_ok=True)
    for figure in figures:
        drawing = _sized(figure.drawn(config(font=FILE_FONT) | {"background": "white"})) | {"padding": 12}
        if "svg" in formats:
            (folder / f"{figure.name}.svg").write_text(vl_convert.vegalite_to_svg(drawing), encoding="utf-8")
        if "png" in formats:
            (folder / f"{figure.name}.png").write_bytes(vl_convert.vegalite_to_png(drawing, scale=2))


def _sized(drawing: Mapping[str, Any]) -> dict[str, Any]:
    """A page gives a figure its width; a file has none to give."""
    return {**drawing, "width": WIDTH} if drawing.get("width") == "container" else dict(drawing)
