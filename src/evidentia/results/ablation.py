"""The configurations of an ablation beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidentia.results.estimate import Estimate

ABLATION_SCHEMA = "evidentia.ablation/1"
Gain = tuple[float, tuple[float, float] | None]


@dataclass(frozen=True, eq=False)
class Row:
    """One configuration: its figures, what each gained over the configuration before, and the spread over seeds."""

    name: str
    folder: str
    figures: Mapping[str, Estimate]
    deltas: Mapping[str, Gain]
    spread: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        figures = {
            name: {
                "value": figure.value,
                "ci": None if figure.ci is None else list(figure.ci),
                "fold_mean": figure.fold_mean,
                "fold_std": figure.fold_std,
                "n": figure.n,
                "seed_std": self.spread.get(name),
            }
            for name, figure in self.figures.items()
        }
        deltas = {name: {"delta": delta, "ci": ci and list(ci)} for name, (delta, ci) in self.deltas.items()}
        return {"configuration": self.name, "folder": self.folder, "figures": figures, "deltas": deltas}


@dataclass(frozen=True, eq=False)
class Ablation:
    """All configurations, and what the two policies of the last one would do at other settings."""

    rows: tuple[Row, ...]
    gamma: tuple[Mapping[str, Any], ...]
    grid: tuple[Mapping[str, Any], ...]
    seeds: tuple[int, ...]
    seconds: Mapping[str, float]
    verified: str | None
    failed: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every check of every configuration and the verification of the last passed."""
        return not self.failed

    def to_dict(self) -> dict[str, Any]:
        """The content of ``ablation.json``."""
        return {
            "schema": ABLATION_SCHEMA,
            "seeds": list(self.seeds),
            "configurations": [row.to_dict() for row in self.rows],
            "gamma_sweep": [dict(point) for point in self.gamma],
            "threshold_grid": [dict(point) for point in self.grid],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Ablation:
        """What ``to_dict`` gave, with as much of every figure as it keeps."""
        return cls(
            rows=tuple(_row(row) for row in content["configurations"]),
            gamma=tuple(content["gamma_sweep"]),
            grid=tuple(content["threshold_grid"]),
            seeds=tuple(content["seeds"]),
            seconds={},
            verified=None,
            failed=(),
        )


def _row(content: Mapping[str, Any]) -> Row:
    figures = content["figures"]
    return Row(
        content["configuration"],
        content["folder"],
        {name: _estimate(name, entry) for name, entry in figures.items()},
        {name: (entry["delta"], entry["ci"] and tuple(entry["ci"])) for name, entry in content["deltas"].items()},
        {name: entry["seed_std"] for name, entry in figures.items() if entry["seed_std"] is not None},
    )


def _estimate(name: str, entry: Mapping[str, Any]) -> Estimate:
    return Estimate(
        name=name,
        value=entry["value"],
        **dict.fromkeys(("definition", "family", "label", "population", "direction", "meaning"), ""),  # type: ignore[arg-type]
        n=entry["n"],
        n_clusters=0,
        ci=entry["ci"] and tuple(entry["ci"]),
        fold_mean=entry["fold_mean"],
        fold_std=entry["fold_std"],
    )
