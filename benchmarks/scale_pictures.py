"""The growth of `scale.py` as a picture: time rises as the straight line of the first size does, memory stays below its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vl_convert

Point = tuple[int, float, float, float]  # candidates, seconds of ours, seconds of the floor, peak in MiB


def draw_growth(points: Sequence[Point], limit: float) -> str:
    """Two panels with logarithmic axes, as SVG.

    >>> draw_growth([(10, 1.0, 0.5, 300.0), (100, 9.0, 4.0, 310.0)], 1907.0)[:4]
    '<svg'
    """
    first, seconds = points[0][0], points[0][1]
    time = [
        row
        for n, ours, floor, _ in points
        for row in (
            {"candidates": n, "s": ours, "what": "evidentia evaluate"},
            {"candidates": n, "s": floor, "what": "scan and group-by of polars"},
            {"candidates": n, "s": seconds * n / first, "what": "linear from the first size"},
        )
    ]
    memory = [
        row
        for n, _, _, peak in points
        for row in (
            {"candidates": n, "MiB": peak, "what": "evidentia evaluate"},
            {"candidates": n, "MiB": limit, "what": "--memory"},
        )
    ]
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "hconcat": [_panel(time, "s", "seconds"), _panel(memory, "MiB", "peak memory of all processes, MiB")],
        "resolve": {"scale": {"color": "independent"}},
        "config": {"background": "white"},
    }
    return vl_convert.vegalite_to_svg(spec)


def _panel(values: list[dict[str, Any]], column: str, title: str) -> dict[str, Any]:
    log = {"type": "log"}
    return {
        "data": {"values": values},
        "width": 280,
        "height": 220,
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "candidates", "type": "quantitative", "scale": log, "axis": {"format": "~s"}},
            "y": {"field": column, "type": "quantitative", "scale": log, "title": title, "axis": {"format": "~g"}},
            "color": {
                "field": "what",
                "type": "nominal",
                "sort": None,
                "title": None,
                "legend": {"orient": "bottom", "columns": 1},
            },
        },
    }
