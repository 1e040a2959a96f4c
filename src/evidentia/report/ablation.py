"""An ablation as files and on a terminal: a row per configuration, with what each stage gained over the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evidentia.errors import OutputError
from evidentia.report.show import fixed
from evidentia.report.tables import Table
from evidentia.report.write import csv_text
from evidentia.results import Estimate, dumps
from evidentia.results.ablation import Ablation, Gain, Row
from evidentia.results.folder import replace_file

ALWAYS = ("nDCG@10", "AUROC", "AUPRC", "Recall@10")
LATER = ("EvidenceRecall", "SelectedK(given=gate)", "AlertPrecision")
LOWER_IS_BETTER = ("Brier",)
WITHOUT_SIDE = ("SelectedK(given=gate)",)  # more sentences are neither better nor worse
NONE = "n/a"
WIDE = 132  # columns that no row is broken in


def write_ablation(ablation: Ablation, out: Path) -> None:
    """Write ablation.json, ablation.csv, ablation.md, gamma_sweep.csv and threshold_grid.csv, each whole or not at all."""
    contents = {
        "ablation.json": dumps(ablation.to_dict()),
        "ablation.csv": csv_text(_long(ablation.rows)),
        "ablation.md": ablation_markdown(ablation),
        "gamma_sweep.csv": csv_text(_table("gamma_sweep", ablation.gamma)),
        "threshold_grid.csv": csv_text(_table("threshold_grid", ablation.grid)),
    }
    for name, text in contents.items():
        try:
            replace_file(out / name, text.encode())
        except OSError as error:
            raise OutputError(f"Cannot write {name}: {error.strerror}. Continue with --resume.") from None


def _long(rows: Iterable[Row]) -> Table:
    """A line for every figure of every configuration."""
    columns = (
        *("configuration", "measure", "value", "ci_low", "ci_high", "fold_mean", "fold_std", "seed_std"),
        *("delta", "delta_low", "delta_high", "n"),
    )
    lines = [
        (
            *(row.name, name, figure.value, *(figure.ci or (None, None)), figure.fold_mean, figure.fold_std),
            *(row.spread.get(name), *_limits(row.deltas.get(name)), figure.n),
        )
        for row in rows
        for name, figure in row.figures.items()
    ]
    return Table("ablation", "What each stage adds", columns, tuple(lines))


def _limits(gain: Gain | None) -> tuple[float | None, float | None, float | None]:
    if gain is None:
        return None, None, None
    return gain[0], *(gain[1] or (None, None))


def _table(name: str, points: Sequence[Mapping[str, Any]]) -> Table:
    columns = tuple(points[0]) if points else ()
    return Table(name, name.replace("_", " "), columns, tuple(tuple(point.values()) for point in points))


def ablation_markdown(ablation: Ablation) -> str:
    """The tables that go into a document: figures, gains, and the sweep over gamma."""
    head = ["configuration", *ALWAYS, *LATER]
    parts = [
        "Pooled out-of-fold values with 95 % cluster-bootstrap intervals; below each, mean ± std over the folds.",
        _grid(head, [[row.name, *(_figure(row, name) for name in head[1:])] for row in ablation.rows]),
    ]
    gained = [row for row in ablation.rows if row.deltas]
    if gained:
        parts.append("What each stage gained over the configuration before it (paired, same resamples):")
        parts.append(_grid(head, [[row.name, *(_gain(row, name) for name in head[1:])] for row in gained]))
    if ablation.gamma:
        parts.append("Dynamic K of the whole pipeline at other gammas (gamma itself is chosen on TUNE):")
        points = [[_plain(value) for value in point.values()] for point in ablation.gamma]
        parts.append(_grid(list(ablation.gamma[0]), points))
    if len(ablation.seeds) > 1:
        parts.append(f"Seeds {', '.join(map(str, ablation.seeds))}: the spread over them stands behind ±s.")
    return "\n\n".join(parts) + "\n"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |" for cells in lines)


def _figure(row: Row, name: str) -> str:
    figure = row.figures.get(name)
    if figure is None:
        return NONE
    seeds = f" ±s {fixed(row.spread[name])}" if name in row.spread else ""
    return f"{_value(figure)}{_folds(figure)}{seeds}"


def _value(estimate: Estimate) -> str:
    if estimate.ci is None:
        return fixed(estimate.value)
    return f"{fixed(estimate.value)} [{fixed(estimate.ci[0])}, {fixed(estimate.ci[1])}]"


def _folds(estimate: Estimate) -> str:
    if estimate.fold_mean is None or estimate.fold_std is None:
        return ""
    return f"<br>{fixed(estimate.fold_mean)} ± {fixed(estimate.fold_std)}"


def _gain(row: Row, name: str) -> str:
    gain = row.deltas.get(name)
    if gain is None:
        return NONE
    delta, limits = gain
    if limits is None:
        return fixed(delta, sign="+")
    return f"{fixed(delta, sign='+')} [{fixed(limits[0], sign='+')}, {fixed(limits[1], sign='+')}]{_mark(name, gain)}"


def _mark(name: str, gain: Gain) -> str:
    """Whether the stage earned its place in this figure: nothing where it did."""
    limits = gain[1]
    if limits is None or name in WITHOUT_SIDE:
        return ""
    low, high = (-limits[1], -limits[0]) if name in LOWER_IS_BETTER else limits
    return " worse" if high < 0 else " no gain shown" if low <= 0 else ""


def _plain(value: Any) -> str:
    return NONE if value is None else fixed(value).rstrip("0").rstrip(".")


def print_ablation(ablation: Ablation, out: Path) -> None:
    """Print the figures of every configuration and what it gained."""
    from rich.console import Console

    from evidentia.report.console import number_table, print_place

    columns = (*ALWAYS, *LATER)
    table = number_table("configuration", *columns)
    for row in ablation.rows:
        table.add_row(row.name, *(_short(row.figures.get(name)) for name in columns))
        if row.deltas:
            table.add_row("  gained", *(_short_gain(row, name) for name in columns), style="dim")
    console = Console(width=max(Console().width, WIDE) if not Console().is_terminal else None)
    console.print(table)
    files = "ablation.json, ablation.csv, ablation.md, steps"
    if any(row.deltas for row in ablation.rows):
        console.print("Gains are paired, with 95 % intervals in ablation.csv; * where the interval excludes zero.")
        files += ", comparison-*"
    if ablation.verified is not None:
        console.print(f"The whole pipeline was {ablation.verified}.")
    for folder in ablation.failed:
        console.print(
            f"FAILED: a check or the verification of {folder}/result; see its report, or `evidentia verify` it."
        )
    print_place(console, out, files)
    console.print("Research software, not a medical device.")


def _short(estimate: Estimate | None) -> str:
    return NONE if estimate is None else fixed(estimate.value)


def _short_gain(row: Row, name: str) -> str:
    gain = row.deltas.get(name)
    if gain is None:
        return ""
    sure = gain[1] is not None and (gain[1][0] > 0 or gain[1][1] < 0)
    return f"{fixed(gain[0], sign='+')}{'*' if sure else ' '}"
