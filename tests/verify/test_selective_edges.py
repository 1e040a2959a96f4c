"""Selective results at the edges are found again to the last word: nothing answered, nothing varies, nothing shared."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evidentia import selective
from evidentia.verifying import verify_numbers


def table(seed: int, *, abstained: float = 0.3, clusters: int = 12, perfect: bool = False) -> pl.DataFrame:
    """Clusters of different sizes with the same truths for every seed; some cells lack the second signal."""
    truth, chance = random.Random(0), random.Random(seed)
    rows = [
        {
            "cluster_id": f"c{cluster}",
            "item": f"i{item}",
            "gt": 1.0 if perfect else round(5 * truth.random(), 2),
            "pred": None if chance.random() < abstained else 1.0 if perfect else round(5 * chance.random(), 2),
            "confidence": chance.randrange(4),
            "other": None if chance.random() < 0.1 else round(chance.random(), 1),
        }
        for cluster in range(clusters)
        for item in range(1 + cluster * 7 % 5)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


PARTLY = table(2, abstained=0.5).filter(pl.col("cluster_id") != "c3")
NAMED = ["augrc(loss=abs)", "AUGRC", "AURC@C=common", "mae@coverage=50%", "Cmax"]
CASES: dict[str, tuple[pl.DataFrame, dict[str, Any]]] = {
    "nothing is answered": (table(1, abstained=1.1), {}),
    "nothing is answered, no resamples": (table(1, abstained=1.1), {"resamples": 0}),
    "hardly anything is answered": (table(4, abstained=0.93), {}),
    "everything is answered": (table(1, abstained=0.0), {"item_max": 5.0}),
    "every answer is right": (table(1, abstained=0.0, perfect=True), {"item_max": 5.0, "ci_method": "bca"}),
    "one cluster": (table(1, clusters=1, abstained=0.0), {}),
    "a coverage with an exponent": (table(1), {"coverage": ["0.00001", "0.3"]}),
    "a run against itself": (table(1), {"against": table(1), "item_max": 5.0, "names": ("x", "y")}),
    "signals that one lacks": (table(1), {"against": table(2), "confidence": "all", "loss": "squared"}),
    "clusters that one lacks": (table(1), {"against": PARTLY, "on_mismatch": "intersect", "alpha": 0.1, "ci": 0.9}),
    "a quiet run against another": (table(1, abstained=0.9), {"against": table(2)}),
    "measures by any name": (table(1), {"measures": NAMED}),
}


@pytest.mark.sample(every=2)
@pytest.mark.parametrize(("frame", "options"), CASES.values(), ids=CASES)
def test_an_edge_is_found_again(tmp_path: Path, frame: pl.DataFrame, options: dict[str, Any]) -> None:
    selective.evaluate(frame, **({"seed": 3, "resamples": 60} | options)).save(tmp_path / "out")
    found = verify_numbers(tmp_path / "out")
    assert found.mismatches == ()
    assert found.comparisons > 500
