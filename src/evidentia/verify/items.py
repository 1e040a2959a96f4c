"""The items of a selective result as plain arrays, and what the formulas of selective prediction take of a definition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.results.catalogue import Definition
from evidentia.verify.folder import ResultFolder, as_numbers, unquoted

FIXED = frozenset({"cluster_id", "item", "pred", "gt"})


@dataclass(frozen=True, eq=False)
class ItemRows:
    """Rows of a run in the order of its file; NaN is an abstention, or a signal that a row lacks."""

    clusters: tuple[str, ...]  # in the order of the draws
    owner: Ints  # the place of each row's cluster
    names: tuple[str, ...]
    pred: Floats
    gt: Floats
    signals: Mapping[str, Floats]
    item_max: float | None  # the largest possible error

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def held(self) -> Bools:
        """Which items are predicted."""
        return ~np.isnan(self.pred)

    @property
    def predicted(self) -> int:
        """How many items are predicted."""
        return int(np.count_nonzero(self.held))

    def rows(self, rows: Ints, clusters: tuple[str, ...]) -> ItemRows:
        """Some of the rows, over these clusters."""
        place = {name: at for at, name in enumerate(clusters)}
        owner = np.array([place.get(name, -1) for name in self.clusters], np.int64)[self.owner[rows]]
        signals = {name: values[rows] for name, values in self.signals.items()}
        names = tuple(self.names[at] for at in rows)
        return ItemRows(clusters, owner, names, self.pred[rows], self.gt[rows], signals, self.item_max)

    def of(self, clusters: Collection[str]) -> ItemRows:
        """The rows of these clusters."""
        kept = np.array([name in clusters for name in self.clusters], np.bool_)
        shared = as_numbers({name for name in self.clusters if name in clusters})
        return self.rows(np.flatnonzero(kept[self.owner]), shared)

    def repeated(self, times: Ints) -> ItemRows:
        """Every row as often as its cluster is drawn, copies side by side."""
        return self.rows(np.repeat(np.arange(len(self)), times[self.owner]), self.clusters)

    def has(self, signal: str) -> bool:
        """Whether every predicted item has a value of this confidence."""
        return signal in self.signals and not np.isnan(self.signals[signal][self.held]).any()

    def losses(self, loss: str) -> Floats:
        """How wrong each predicted item is."""
        error: Floats = self.pred[self.held] - self.gt[self.held]
        if loss == "squared":
            return np.square(error)
        if loss == "zero_one":
            return np.where(error == 0, 0.0, 1.0)
        error = np.abs(error)
        return error / self.item_max if loss == "abs_norm" and self.item_max is not None else error


def read_items(folder: ResultFolder, name: str) -> ItemRows:
    """The items of a run."""
    rows, largest = folder.rows(name), folder.manifest["options"]["item_max"]
    clusters = as_numbers({row["cluster_id"] for row in rows})
    place = {cluster: at for at, cluster in enumerate(clusters)}

    def column(key: str) -> Floats:
        return np.array([float(row[key] or "nan") for row in rows], np.float64)

    return ItemRows(
        clusters,
        np.array([place[row["cluster_id"]] for row in rows], np.int64),
        tuple(unquoted(row["item"]) for row in rows),
        column("pred"),
        column("gt"),
        {unquoted(key): column(key) for key in (rows[0] if rows else ()) if key not in FIXED},
        None if largest is None else float(largest),
    )


@dataclass(frozen=True)
class CurveReading:
    """What is read off the curve of a confidence: an area or a height, of which losses, and up to where."""

    base: str
    ties: str | None
    order: str | None
    loss: str
    kind: str | None = None  # C or coverage
    cut: Decimal | None = None  # None with a kind is the common coverage

    @classmethod
    def of(cls, definition: Definition) -> CurveReading:
        """The choices of a definition."""
        args = definition.args
        cut = args.cut
        value = None if cut is None or cut.value is None else Decimal(cut.value)
        loss = args.get("loss") or "abs"
        return cls(
            definition.measure.base, args.get("ties"), args.get("order"), loss, None if cut is None else cut.kind, value
        )

    @property
    def common(self) -> bool:
        """Whether it ends where the first of two systems stops answering."""
        return self.kind is not None and self.cut is None

    @property
    def ordered(self) -> bool:
        """Whether the confidence matters."""
        plain = self.base == "Cmax" or (self.base == "MAE" and self.kind is None)
        return not plain and self.order != "oracle"


@cache
def steps_within(cut: Decimal, total: int) -> tuple[int, float, int]:
    """Whole items within a coverage, the part of the next one, and how many it takes to reach it.

    A number that is the float of some k / N means k.
    """
    share = Fraction(cut)
    nearest = round(share * total)
    items = Fraction(nearest) if float(Fraction(nearest, total)) == float(share) else share * total
    return int(items), float(items - int(items)), int(-(-items // 1))
