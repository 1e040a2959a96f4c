"""What the operating-point explorer starts from. Its values at other thresholds come from the figures' tables."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from evidentia.report.page.content import Content

FIGURES = ("operating_screening", "operating_alerts")
NUMBERS = {
    "sensitivity": "ScreeningSensitivity",
    "alert_precision": "AlertPrecision",
    "fn_per_1000": "ScreeningFNPer1000",
    "alerts_per_1000": "AlertsPer1000",
    "neg_rate": "NegRate",
}
MOST_MARKS = 50
Spread = Literal["one", "fold", "query"]


@dataclass(frozen=True)
class Deployed:
    """The run as it is: what summary.json says of it, and its queries by state."""

    numbers: Mapping[str, Mapping[str, Any]]
    skipped: int
    missed: int
    alerts: int
    right: int


@dataclass(frozen=True)
class Explorer:
    """Where the explorer starts: the run's size, what it is deployed with, and how to choose thresholds properly.

    ``tau_neg`` and ``tau_pos`` are the distinct deployed thresholds; ``spread`` says among what they differ.
    ``deployed`` is None for a run without the gate's states or numbers.
    """

    queries: int
    positives: int
    level: float
    tau_neg: tuple[float, ...]
    tau_pos: tuple[float, ...]
    spread: Spread
    folds: int
    deployed: Deployed | None
    command: str
    tunable: bool

    @property
    def start(self) -> dict[str, Any]:
        """Plain content for the page's script."""
        return asdict(self)

    @property
    def prevalence(self) -> float:
        """The run's own share of queries with evidence."""
        return self.positives / self.queries

    @property
    def mixed(self) -> bool:
        """There are queries with and without evidence; only then can another prevalence be looked at."""
        return 0 < self.positives < self.queries


def explorer_of(content: Content) -> Explorer | None:
    """The explorer of a result; None where it has no values at other thresholds, or no query."""
    dataset = content.numbers["dataset"]
    if not dataset["queries"] or not all((table := content.figure(name)) and table.rows for name in FIGURES):
        return None
    return Explorer(
        queries=dataset["queries"],
        positives=dataset["positives"],
        level=content.numbers["interval"]["level"],
        tau_neg=_distinct(content, "tau_neg"),
        tau_pos=_distinct(content, "tau_pos"),
        spread=_spread(content.queries),
        folds=len(set(content.queries.get("fold", ()))),
        deployed=_deployed(content),
        command=tune_command(content.manifest),
        tunable=any(content.tune.values()),
    )


def tune_command(manifest: Mapping[str, Any]) -> str:
    """The command that chooses thresholds on the TUNE rows of the same file, ready for a shell.

    >>> tune_command({"inputs": [{"role": "run", "name": "my run.csv"}]})
    "evidentia tune 'my run.csv' --three-state -o thresholds.json"
    """
    run = next((entry.get("name") for entry in manifest["inputs"] if entry.get("role") == "run"), None)
    name = "RUN" if run in {None, "<dataframe>", "<stdin>"} else str(run)
    reading = (manifest.get("options") or {}).get("reading") or {}
    words = ["evidentia", "tune", f"./{name}" if name.startswith("-") else name, "--three-state"]
    for ours, theirs in (reading.get("map") or {}).items():
        words += ["--map", f"{ours}={theirs}"]
    if reading.get("delimiter", ",") != ",":
        words += ["--delimiter", reading["delimiter"]]
    for option, key, usual in (("--list-sep", "list_sep", None), ("--uids", "uids", "run")):
        if reading.get(key, usual) != usual:
            words += [option, reading[key]]
    return shlex.join([*words, "-o", "thresholds.json"])


def _distinct(content: Content, column: str) -> tuple[float, ...]:
    """The thresholds in a column, ascending; none where there are too many to be settings."""
    values = {float(cell) for cell in content.queries.get(column, ()) if cell}
    return tuple(sorted(values)) if len(values) <= MOST_MARKS else ()


def _spread(queries: Mapping[str, list[Any]]) -> Spread:
    """Whether all queries have the same thresholds, all of a fold, or neither."""
    if not {"tau_neg", "tau_pos"} <= set(queries):
        return "one"
    pairs = list(zip(queries["tau_neg"], queries["tau_pos"], strict=True))
    if len(set(pairs)) <= 1:
        return "one"
    folds = queries.get("fold", [])
    return "fold" if folds and len(set(zip(folds, pairs, strict=True))) == len(set(folds)) else "query"


def _deployed(content: Content) -> Deployed | None:
    measures, queries = content.numbers["measures"], content.queries
    if not all(name in measures for name in NUMBERS.values()) or "state" not in queries:
        return None
    counts = Counter(zip(queries["state"], queries["has_evidence"], strict=True))
    missed, right = counts["NEG", "true"], counts["POS", "true"]
    return Deployed(
        numbers={name: _number(measure, measures[measure]) for name, measure in NUMBERS.items()},
        skipped=missed + counts["NEG", "false"],
        missed=missed,
        alerts=right + counts["POS", "false"],
        right=right,
    )


def _number(measure: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    low, high = entry["ci"] or (None, None)
    return {"of": measure, "value": entry["value"], "low": low, "high": high, "flaw": entry["degenerate"]}
