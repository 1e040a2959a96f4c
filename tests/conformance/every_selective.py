"""Every selective definition with every combination of its choices, and tables of items on which all can be computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from every_definition import SELECTIVE_ONES

from evidentia.array_types import Floats, Ints
from evidentia.evaluation.items import ItemComputation, wants_for
from evidentia.evaluation.items import read as read_curves
from evidentia.measures import Definition
from evidentia.measures.core import Outcome
from evidentia.tables import Items, read_items

BY_NAME: dict[str, Definition] = {d.expanded: d for d in SELECTIVE_ONES}
EXPANDED = tuple(BY_NAME)
ALONE = tuple(name for name in EXPANDED if "common" not in name)  # those that need no second run
SIGNALS = ("confidence",)
WANTS = wants_for(SELECTIVE_ONES, SIGNALS)
ITEM_MAX = 4.0


@dataclass(frozen=True)
class Tables:
    """The rows of a predictor and of another one over the same items, with which it has a coverage in common."""

    own: pl.DataFrame
    other: pl.DataFrame

    def each(self, *columns: pl.Expr) -> Tables:
        """The same change of both."""
        return Tables(self.own.with_columns(columns), self.other.with_columns(columns))

    def kept(self, rows: pl.Expr) -> Tables:
        """Only these rows of both."""
        return Tables(self.own.filter(rows), self.other.filter(rows))


def read(frame: pl.DataFrame) -> Items:
    return read_items(frame, item_max=ITEM_MAX)


@cache
def mixed() -> Tables:
    """30 clusters of 1 to 8 items. Scores are real numbers, confidences few values; a third of the items is abstained.

    The ids are numbers that strings would sort in another way, and cluster 9 has no prediction at all.
    """
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 9, 30)
    cluster = np.repeat(np.arange(5, 35), sizes)
    item = np.concatenate([np.arange(size) for size in sizes])
    gt = rng.integers(0, 4, len(cluster)).astype(float)

    def rows(abstained: float) -> pl.DataFrame:
        error = np.round(rng.normal(0, 1, len(gt)), 1).clip(-4, 4) * (rng.random(len(gt)) < 0.7)
        frame = pl.DataFrame(
            {
                "cluster_id": cluster,
                "item": item,
                "pred": gt + error,
                "gt": gt,
                "confidence": rng.integers(0, 5, len(gt)) / 4,
            }
        )
        gone = pl.Series(rng.random(len(gt)) < abstained) | (pl.col("cluster_id") == 9)
        return frame.with_columns(pred=pl.when(gone).then(None).otherwise(pl.col("pred")))

    return Tables(rows(0.33), rows(0.45))


def outcomes(tables: Tables, weights: Floats | None = None) -> dict[str, Outcome]:
    """What every definition says under each weighting (clusters x weightings; without: the run as it is)."""
    own, other = read(tables.own), read(tables.other)
    held = np.ones((len(own.cluster_ids), 1)) if weights is None else weights
    common = np.minimum(_predicted(own, held), _predicted(other, held))
    run = ItemComputation(own, WANTS, SIGNALS)
    curves = run.curves(held)
    return {d.expanded: read_curves(d, curves.of(d, run.signals_of(g)[0], common)) for d, g in WANTS}


def _predicted(items: Items, weights: Floats) -> Ints:
    counts = np.bincount(items.cluster[items.predicted], minlength=len(items.cluster_ids))
    return np.rint(counts @ weights).astype(np.int64)


def same_bits(left: Outcome, right: Outcome) -> bool:
    return left.values.tobytes() == right.values.tobytes() and left.flaws.tobytes() == right.flaws.tobytes()


def repeated(tables: Tables, times: dict[str, int]) -> Tables:
    """Every item of a cluster as often as the cluster counts, its copies side by side in the order of the items."""

    def copies(frame: pl.DataFrame) -> pl.DataFrame:
        parts = []
        for copy in range(max(times.values())):
            held = pl.col("cluster_id").cast(pl.String).is_in([name for name, count in times.items() if count > copy])
            parts.append(frame.filter(held).with_columns(pl.col("item") * 100 + copy))
        return pl.concat(parts)

    return Tables(copies(tables.own), copies(tables.other))
