"""The example that docs/selective.md works by hand is what the program gives."""

from __future__ import annotations

import io
import re
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from evidentia import selective

PAGE = Path(__file__).resolve().parents[2] / "docs" / "selective.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not beside the tests")
SAID = {
    "Cmax": "4/5",
    "AURC": "11/20",
    "nAURC": "11/16",
    "AUGRC(loss=abs)": "8/25",
    "AUGRC": "8/75",
    "AURC(order=oracle)": "13/60",
    "eAURC": "1/3",
    "AURC(ties=plateau)": "3/8",
    "MAE@coverage=0.5": "1",
    "AURC@C=0.5": "3/10",
}


def test_the_numbers_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = re.search(r"```\n(cluster_id.*?)```", text, re.DOTALL)[1]  # type: ignore[index]
    frame = pl.read_csv(io.StringIO(table))
    result = selective.evaluate(frame, seed=1, resamples=0, item_max=3, coverage=["0.5", "0.9"])
    for name, value in SAID.items():
        assert result[name].value == pytest.approx(float(Fraction(value)), abs=1e-12), name
        assert value in text, name
    assert result["MAE@coverage=0.9"].degenerate is not None
    ties = {"best": 9 / 20, "expected": 1 / 2, "worst": 11 / 20, "tied_items": 2}
    assert result["AURC"].details["tie_sensitivity"] == pytest.approx(ties)
    losses, confidence = [0, 2, 1, float("nan"), 0], [5, 4, 4, 0, 1]
    assert selective.aurc(losses, confidence) == pytest.approx(0.55)
    assert selective.risk_at_coverage(losses, confidence, 0.5) == 1.0
