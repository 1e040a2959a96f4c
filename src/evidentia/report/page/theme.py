"""Colours and type of the figures: safe for colour-blind eyes (Okabe and Ito), on white and on black."""

from __future__ import annotations

from typing import Any

COLOURS = {
    **{"BLUE": "#0072b2", "ORANGE": "#e69f00", "GREEN": "#009e73", "VERMILLION": "#d55e00"},
    **{"PURPLE": "#cc79a7", "SKY": "#56b4e9", "GREY": "#8795a5"},
}
BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, GREY = COLOURS.values()
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"


def config(*, ink: str = "#1f2933", faint: str = "#d9e0e7", font: str = FONT) -> dict[str, Any]:
    """The configuration of every figure; the page makes it anew with the colours of its mode."""
    text = {"labelColor": ink, "titleColor": ink, "labelFont": font, "titleFont": font}
    return {
        "background": None,
        "font": font,
        "axis": text
        | {"gridColor": faint, "domainColor": faint, "tickColor": faint, "labelFontSize": 11, "titleFontSize": 12}
        | {"titleFontWeight": 500, "titlePadding": 8},
        "legend": text | {"labelFontSize": 11, "titleFontSize": 11, "orient": "top", "title": None, "labelLimit": 220},
        "header": text | {"labelFontSize": 12, "titleFontSize": 12, "labelFontWeight": 600},
        "title": {"color": ink, "font": font, "fontSize": 13, "anchor": "start"},
        "view": {"stroke": None},
        "text": {"color": ink, "font": font},
        "range": {"category": [*COLOURS.values()]},
    }
