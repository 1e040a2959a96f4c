"""A selective result on the screen: who was judged, areas, matched coverage, and the paired differences."""

from __future__ import annotations

import math
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from evidentia.errors import counted
from evidentia.report.console import delta_grid, level_words, number_table, print_findings, print_place
from evidentia.report.selective_tables import at_coverages, signals_table
from evidentia.report.show import fixed, shown
from evidentia.results import Delta, Estimate, Evaluation, SelectiveComparison
from evidentia.results.selective import REFUSED, UNTESTED

MOST_WITH_LIMITS = 2  # confidences whose intervals fit beside their values
MOST_NAMES = 3  # measures that are named where one reason holds for many


def print_selective(evaluation: Evaluation, out: Path | None, *, everything: bool = False) -> None:
    """Who was judged, the areas with intervals, matched coverage, and the paired differences.

    ``everything`` shows areas up to a coverage too, which are many unless the measures were named.
    """
    console, data = Console(highlight=False), evaluation.dataset
    unit, mode = data["unit"], f", mode [bold]{escape(str(data['mode']))}[/]" if data["mode"] else ""
    failed = f", {data['failed']} failed and left out" if data["failed"] else ""
    plural = "" if data["participants"] == 1 else "s"
    console.print(
        f"[bold]{data['participants']:,}[/] {unit}{plural}{failed}; N = [bold]{data['items']:,}[/] items, "
        f"{data['predicted']:,} predicted{mode}; loss in the units of the score unless the name says otherwise"
    )
    _print_grid(console, "", _areas(evaluation, None, everything))
    for signal in data["signals"]:
        _print_grid(console, f"\n[bold]Ordered by {escape(signal)}[/]", _areas(evaluation, signal, everything))
    _print_grid(console, "\n[bold]Mean loss at matched coverage[/]", _coverage_grid(evaluation))
    _print_signals(console, evaluation)
    _print_marks(console, evaluation)
    if evaluation.comparison is not None:
        _print_comparison(console, evaluation.comparison, str(unit))
    print_findings(console, evaluation)
    if out is not None:
        items = "items.csv" if evaluation.comparison is None else "items.csv, against_items.csv"
        print_place(console, out, f"summary.json, {items}, tables, figures, manifest.json")
    console.print("[dim]Research software, not a medical device.[/]")


def _print_grid(console: Console, title: str, grid: Grid) -> None:
    if grid.row_count:
        if title:
            console.print(title)
        console.print(grid)


def _areas(evaluation: Evaluation, signal: str | None, everything: bool) -> Grid:
    """Step areas with their plateau twins, of one confidence; without one, what no confidence changes."""
    grid = number_table("measure", "value", level_words(evaluation), "plateau", "ties: best to worst" if signal else "")
    shown = [e for e in evaluation.measures.values() if everything or "coverage" not in e.details]
    beside = {e.details.get("plateau") for e in shown}
    for e in shown:
        twin = evaluation.measures.get(str(e.details.get("plateau")))
        if e.details.get("confidence") != signal or e.name in beside or "@coverage=" in e.measure:
            continue
        ties = e.details.get("tie_sensitivity")
        spread = "" if ties is None else f"{fixed(ties['best'])} to {fixed(ties['worst'])}"
        grid.add_row(escape(e.measure), _number(e), _limits(e.ci), "" if twin is None else _number(twin), spread)
    return grid


def _coverage_grid(evaluation: Evaluation) -> Grid:
    signals = list(evaluation.dataset["signals"])
    with_limits = len(signals) <= MOST_WITH_LIMITS
    heads = [head for signal in signals for head in (escape(signal), *(["interval"] if with_limits else []))]
    grid = number_table("coverage", *heads)
    estimates = {(e.details["coverage"], e.details["confidence"]): e for e in at_coverages(evaluation)}
    for coverage in dict.fromkeys(coverage for coverage, _ in estimates):
        row = [estimates[coverage, signal] for signal in signals]
        cells = [cell for e in row for cell in (_number(e), *([_limits(e.ci)] if with_limits else []))]
        grid.add_row(f"{coverage:g}", *cells)
    return grid


def _print_signals(console: Console, evaluation: Evaluation) -> None:
    if len(evaluation.dataset["signals"]) < 2:
        return
    rows = [row for row in signals_table(evaluation).rows if row[0] is not None]
    ranked = ", ".join(f"{row[0]}. {escape(str(row[1]))} ({shown(row[3])})" for row in rows)
    if ranked:
        console.print(f"\nConfidences by excess AURC, best first: {ranked}")


def _print_marks(console: Console, evaluation: Evaluation) -> None:
    marked = [e for e in evaluation.measures.values() if e.degenerate]
    unreached = [e for e in marked if math.isnan(e.value) and "@coverage=" in e.measure]
    for reason in dict.fromkeys(e.degenerate for e in marked if e not in unreached):
        those = [e for e in marked if e.degenerate == reason and e not in unreached]
        more = f" and {counted(len(those) - 1, 'more number')}" if len(those) > 1 else ""
        console.print(f"[yellow]degenerate[/] {escape(those[0].name)}{more}: {reason}; marked *, and never a win")
    if unreached:
        console.print(f"[dim]coverages that are not reached have no value ({len(unreached)} numbers)[/]")
    for gap in evaluation.not_computed:
        names = ", ".join(gap.measures[:MOST_NAMES]) + (" ..." if len(gap.measures) > MOST_NAMES else "")
        console.print(f"[yellow]not computed[/] {escape(names)}: {escape(gap.reason)}")
    warned = dict.fromkeys(w for e in evaluation.measures.values() for w in e.warnings if w.startswith("rests on"))
    for warning in warned:
        console.print(f"[yellow]small sample[/] {escape(warning)}")


def _print_comparison(console: Console, comparison: SelectiveComparison, unit: str) -> None:
    first, second = escape(comparison.baseline), escape(comparison.system)
    console.print(
        f"\n[bold]{second}[/] (B) minus [bold]{first}[/] (A): the same {counted(comparison.participants, unit)} and draws"
    )
    counts = (comparison.baseline_predicted, comparison.system_predicted)
    cmax = [count / comparison.items for count in counts]
    console.print(
        f"Cmax {fixed(cmax[0])} ({first}) and {fixed(cmax[1])} ({second}); common coverage {fixed(comparison.common_coverage)}"
    )
    shown_deltas = [d for d in comparison.deltas if d.p is not None and "plateau" not in d.name and _headline(d)]
    for signal in dict.fromkeys(d.name.partition("[")[2] for d in shown_deltas):
        if signal:
            console.print(f"[bold]{escape(signal.rstrip(']'))}[/]")
        console.print(delta_grid([d for d in shown_deltas if d.name.partition("[")[2] == signal], both=True))
    for what, why in _refusals(comparison):
        console.print(f"[yellow]{what}[/] {escape(why)}")
    for note in comparison.notes:
        console.print(f"[yellow]note[/] {escape(note)}")


def _headline(delta: Delta) -> bool:
    """Areas over all common coverages, and the mean loss at each one; the rest is in the tables."""
    return delta.family == "measures" or delta.name.startswith("MAE")


def _refusals(comparison: SelectiveComparison) -> list[tuple[str, str]]:
    """What is not compared or not tested, and why, each said once."""
    words = [(d.name, w) for d in comparison.deltas for w in d.warnings]
    refused = [("not compared", f"{n}: {w.removeprefix(REFUSED)}") for n, w in words if w.startswith(REFUSED)]
    untested = [("not tested", f"full areas: {w.removeprefix(UNTESTED)}") for _, w in words if w.startswith(UNTESTED)]
    reasons = dict.fromkeys(row["reason"] for row in comparison.coverages if not row["valid"])
    where = {
        reason: [f"{row['coverage']:g}" for row in comparison.coverages if row["reason"] == reason]
        for reason in reasons
    }
    invalid = [("not compared", f"at coverage {', '.join(those)}: {reason}") for reason, those in where.items()]
    return [*refused, *untested[:1], *invalid]


def _number(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "-"
    return f"{fixed(estimate.value)} *" if estimate.degenerate else fixed(estimate.value)


def _limits(limits: tuple[float, float] | None) -> str:
    return "" if limits is None else f"{fixed(limits[0])} to {fixed(limits[1])}"
