"""Colours and type of the figures: safe for colour-blind eyes (Okabe and Ito), on white and on black."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, GREY = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8795a5"),
)
STATES = {"NEG": "#9fb0c3", "UNCERTAIN": ORANGE, "POS": GREEN}
STAGES = {"retriever cut": PURPLE, "gate": ORANGE, "K": BLUE, "ranking": VERMILLION}
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
        "range": {"category": [BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, GREY]},
    }
