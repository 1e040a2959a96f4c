"""The result of comparing systems on the same queries and the same resamples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from evidentia.results.notebook import notebook_table, printed_as, to_pandas
from evidentia.results.profiles import HEADLINE

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

COMPARISON_SCHEMA = "evidentia.comparison/1"
Verdict = Literal["win", "loss", "differs", "tie", "undefined"]
Design = Literal["against first", "successive"]
Named = TypeVar("Named")


@dataclass(frozen=True)
class Delta:
    """One measure's difference between a system and the baseline, with its interval and both p values.

    ``verdict`` speaks of the system: it wins where it is better than the baseline and the corrected p is small enough.
    ``n`` and ``n_clusters`` count what the baseline's value rests on; for the system they differ where the population
    depends on what a system says, such as its alerts.
    """

    name: str
    definition: str
    baseline: str
    system: str
    baseline_value: float
    system_value: float
    delta: float | None
    direction: str
    n: int
    n_clusters: int
    system_n: int
    system_n_clusters: int
    ci: tuple[float, float] | None = None
    replicates_left_out: int = 0
    p: float | None = None
    p_holm: float | None = None
    verdict: Verdict = "tie"
    family: str = "measures"
    warnings: tuple[str, ...] = ()

    @property
    def test(self) -> str:
        """Equal for deltas that are one test: their ratio to the width of the interval, the t statistic, agrees."""
        if self.ci is None or not self.delta:
            return self.name
        return f"{abs(self.delta) / (self.ci[1] - self.ci[0]):.9e} over {self.n_clusters}"

    def to_dict(self) -> dict[str, Any]:
        """Plain content for JSON."""
        values = {
            name: None if math.isnan(value := getattr(self, name)) else value
            for name in ("baseline_value", "system_value")
        }
        lists = {"ci": None if self.ci is None else list(self.ci), "warnings": list(self.warnings)}
        return asdict(self) | values | lists


def pairs(systems: Sequence[Named], design: Design) -> tuple[tuple[Named, Named], ...]:
    """What is compared with what: (baseline, system), in the order of the systems.

    >>> pairs("abc", "against first"), pairs("abc", "successive")
    ((('a', 'b'), ('a', 'c')), (('a', 'b'), ('b', 'c')))
    """
    first, *others = systems
    baselines = systems[:-1] if design == "successive" else [first] * len(others)
    return tuple(zip(baselines, others, strict=True))


@dataclass(frozen=True, repr=False)
class Comparison:
    """Every delta of every system against the first one, or against the one before it, on one resampling plan."""

    profile: str
    systems: tuple[str, ...]
    seed: int
    resamples: int
    alpha: float
    queries: int
    posts: int
    deltas: tuple[Delta, ...]
    notes: tuple[str, ...] = ()
    interval: Mapping[str, Any] = field(default_factory=dict)
    design: Design = "against first"

    def __getitem__(self, name: str) -> Delta:
        matching = [delta for delta in self.deltas if delta.name == name]
        if not matching:
            raise KeyError(name)
        return matching[0]

    def tests(self, system: str, family: str = "measures") -> int:
        """For how many tests the p values of a family are corrected; what is one test counts once."""
        return len({d.test for d in self.deltas if (d.system, d.family) == (system, family) and d.p is not None})

    def to_dict(self) -> dict[str, Any]:
        """The content of ``comparison.json``."""
        content = {key: value for key, value in asdict(self).items() if key != "deltas"}
        lists = {"systems": list(self.systems), "notes": list(self.notes), "interval": dict(self.interval)}
        return {"schema": COMPARISON_SCHEMA} | content | lists | {"deltas": [delta.to_dict() for delta in self.deltas]}

    def __repr__(self) -> str:
        sizes = f"{self.queries:,} queries from {self.posts:,} posts, profile {self.profile}"
        return (
            "\n".join([f"<Comparison of {len(self.systems)} systems on {sizes}", *map(self._verdicts, self._pairs())])
            + ">"
        )

    def _pairs(self) -> tuple[tuple[str, str], ...]:
        return pairs(self.systems, self.design)

    def _verdicts(self, pair: tuple[str, str]) -> str:
        """What came out for one pair, in a line."""
        baseline, system = pair
        verdicts = Counter(d.verdict for d in self.deltas if (d.system, d.family) == (system, "measures"))
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        return f"  {system} against {baseline}: {counts or 'nothing compared'} (Holm, {self.tests(system)})"

    def _repr_html_(self) -> str:
        """The main differences over the whole run, for a notebook."""
        deltas = [d for d in self.deltas if d.family == "measures"]
        main = [d for d in deltas if d.name in HEADLINE] or deltas
        rows = [
            (d.name, d.system, d.baseline_value, d.system_value, d.delta, *(d.ci or (None, None)), d.p_holm, d.verdict)
            for d in main
        ]
        columns = ("measure", "system", "baseline", "value", "difference", "from", "to", "corrected p", "verdict")
        return notebook_table(repr(self).strip("<>"), columns, rows, left_out=len(deltas) - len(main))

    def to_frame(self) -> pl.DataFrame:
        """One row per delta, as a polars frame."""
        import polars as pl

        rows = [delta.to_dict() for delta in self.deltas]
        for row in rows:
            row["ci_low"], row["ci_high"] = row.pop("ci") or (None, None)
            row["warnings"] = "; ".join(row["warnings"])
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_pandas(self) -> pd.DataFrame:
        """One row per delta, as a pandas frame."""
        return to_pandas(self.to_frame())

    def to_latex(self) -> str:
        """The differences over the whole run as a table for a paper; it needs booktabs and graphicx."""
        return printed_as(self, "latex")

    def to_markdown(self) -> str:
        """The differences over the whole run as a Markdown table."""
        return printed_as(self, "md")
