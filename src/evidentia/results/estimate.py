"""One number with everything that a reader needs to believe it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Status = Literal["passed", "failed", "warning", "not applicable", "skipped"]


@dataclass(frozen=True)
class Distribution:
    """Spread of the per-query values behind a mean; the last four are set for counts of sentences."""

    std: float | None
    median: float
    p25: float
    p75: float
    p90: float | None = None
    min: float | None = None
    max: float | None = None
    histogram: Mapping[str, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain content for JSON, without what does not apply."""
        content = {"std": self.std, "median": self.median, "p25": self.p25, "p75": self.p75}
        if self.histogram is None:
            return content
        return content | {
            "p90": self.p90,
            "min": self.min,
            "max": self.max,
            "histogram": dict(self.histogram),
        }


@dataclass(frozen=True)
class Estimate:
    """The value of a measure on one population, with its definition, sample size, interval and warnings.

    Attributes
    ----------
    name : str
        Canonical name, with the group in brackets.
    value : float
        The value; NaN (null in JSON) where even a convention is missing.
    definition : str
        The name with every choice written out.
    family : str
        Family of the measure.
    label : str
        Title of the measure.
    n : int
        Number of units (queries, posts, candidates, items or participants) that the value rests on.
    n_clusters : int
        Number of clusters (posts or participants) among them.
    population : str
        The units that count.
    direction : {"higher", "lower", "neither"}
        Which values are better.
    meaning : str
        One sentence on how to read the value.
    group : tuple of (str, str)
        Columns and values of the group; empty for the whole run.
    ci : tuple of (float, float) or None
        Limits of the interval.
    ci_method : str or None
        Kind of interval.
    replicates_left_out : int or None
        Number of resamples in which the measure is undefined.
    distribution : Distribution or None
        Spread of the per-query values of a mean.
    fold_mean : float or None
        Mean over folds.
    fold_std : float or None
        Standard deviation over folds.
    folds_used : int or None
        Number of folds in which the measure is defined.
    left_out : mapping of str to int
        Number of units outside the population, by kind.
    degenerate : str or None
        Why the value is a convention rather than a measurement; None means that it is a measurement.
    warnings : tuple of str
        What limits the value or its interval.
    details : mapping
        Further numbers, such as the bins of a calibration error.

    Examples
    --------
    >>> import evidentia, polars as pl
    >>> table = pl.DataFrame({"post_id": [1, 2], "criterion_id": ["A", "A"], "has_evidence": [1, 1], "prob": [0.9, 0.2]})
    >>> estimate = evidentia.evaluate(table, measures="AUROC", resamples=0)["AUROC"]
    >>> estimate.value, estimate.n, estimate.degenerate
    (0.5, 2, 'no queries without evidence')
    """

    name: str
    value: float
    definition: str
    family: str
    label: str
    n: int
    n_clusters: int
    population: str
    direction: str
    meaning: str
    group: tuple[tuple[str, str], ...] = ()
    ci: tuple[float, float] | None = None
    ci_method: str | None = None
    replicates_left_out: int | None = None
    distribution: Distribution | None = None
    fold_mean: float | None = None
    fold_std: float | None = None
    folds_used: int | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    degenerate: str | None = None
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("left_out", "details"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def measure(self) -> str:
        """The name without its group."""
        return self.name.partition("[")[0]

    def group_of(self, column: str) -> str | None:
        """The value of one column in the group of this estimate.

        Parameters
        ----------
        column : str
            Name of the column.

        Returns
        -------
        str or None
            The value; None where the estimate is not grouped by it.
        """
        return dict(self.group).get(column)

    def to_dict(self) -> dict[str, Any]:
        """The entry in ``summary.json``."""
        return {
            "value": None if math.isnan(self.value) else self.value,
            "definition": self.definition,
            "ci": None if self.ci is None else list(self.ci),
            "ci_method": self.ci_method,
            "replicates_left_out": self.replicates_left_out,
            "distribution": None if self.distribution is None else self.distribution.to_dict(),
            "fold_mean": self.fold_mean,
            "fold_std": self.fold_std,
            "folds_used": self.folds_used,
            "n": self.n,
            "n_clusters": self.n_clusters,
            "population": self.population,
            "left_out": dict(self.left_out),
            "degenerate": self.degenerate,
            "warnings": list(self.warnings),
            "direction": self.direction,
            "family": self.family,
            "label": self.label,
            "meaning": self.meaning,
            "details": dict(self.details),
        }


@dataclass(frozen=True)
class NotComputed:
    """Measures that this run cannot have, and what it would need."""

    family: str
    reason: str
    measures: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain content for JSON."""
        return asdict(self) | {"measures": list(self.measures)}


@dataclass(frozen=True)
class OtherDefinition:
    """The same name under another profile's definition, where the value differs."""

    name: str
    profiles: tuple[str, ...]
    definition: str
    value: float
    degenerate: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain content for JSON."""
        return asdict(self) | {"profiles": list(self.profiles)}


@dataclass(frozen=True)
class Finding:
    """What a coded check found, and on how much it looked: ``looked`` counts the things that were compared.

    A warning does not fail a result; it is something that a reader must know.
    """

    code: str
    title: str
    status: Status
    message: str
    looked: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain content for JSON."""
        return {key: value for key, value in asdict(self).items() if value is not None}
