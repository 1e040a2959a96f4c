"""Figures as SVG and PNG files, drawn by the same specification as in the page."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from evidentia.report.page.figure import Figure
from evidentia.report.page.theme import config

WIDTH = 520
FILE_FONT = "DejaVu Sans, Noto Sans, sans-serif"
_NUMBERED = re.compile(r'(<(?:clipPath|linearGradient|radialGradient|pattern) id="|url\(#)([a-z_]+?)(\d+)(?="|\))')


def images(figures: Iterable[Figure], formats: Collection[str]) -> dict[str, bytes]:
    """Every figure as a file, by its name; light colours, on white."""
    if not {"svg", "png"} & set(formats):
        return {}
    files: dict[str, bytes] = {}
    for figure in figures:
        drawing = _sized(figure.drawn(config(font=FILE_FONT) | {"background": "white"})) | {"padding": 12}
        svg = _svg(json.dumps(drawing))
        if "svg" in formats:
            files[f"{figure.name}.svg"] = svg.encode()
        if "png" in formats:
            files[f"{figure.name}.png"] = _png(svg)
    return files


@lru_cache(maxsize=64)  # a result that is evaluated and then verified draws its figures once
def _svg(drawing: str) -> str:
    import vl_convert

    svg = renumbered(vl_convert.vegalite_to_svg(json.loads(drawing)))  # given as text, it would round numbers
    assert "<text" in svg, "a figure was not drawn: Vega failed, and its picture is empty"
    return svg


@lru_cache(maxsize=64)
def _png(svg: str) -> bytes:
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg, scale=2))


def renumbered(svg: str) -> str:
    """A drawing whose own ids count from 1: Vega goes on counting where the drawing before in this process ended.

    >>> renumbered('<clipPath id="clip7"/><g clip-path="url(#clip7)"/><text>clip7</text>')
    '<clipPath id="clip1"/><g clip-path="url(#clip1)"/><text>clip7</text>'
    """
    seen: dict[str, int] = {}

    def again(match: re.Match[str]) -> str:
        before, kind, number = match.groups()
        return f"{before}{kind}{seen.setdefault(kind + number, len(seen) + 1)}"

    return _NUMBERED.sub(again, svg)


def _sized(drawing: Mapping[str, Any]) -> dict[str, Any]:
    """A page gives a figure its width; a file has none to give."""
    return {**drawing, "width": WIDTH} if drawing.get("width") == "container" else dict(drawing)
