"""Results on the terminal: short, well set, and plain text in a pipe."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evidentia.errors import counted
from evidentia.report.show import chance, fixed, shown
from evidentia.report.tables import tables_of
from evidentia.results import Comparison, Delta, Estimate, Evaluation, SelectiveComparison, pairs
from evidentia.results.profiles import HEADLINE
from evidentia.results.selective import PAIRED, REFUSED, UNTESTED

ROOMY = 100  # columns from which on a screen also shows what a number speaks of
MOST = 40  # rows of named measures and their groups on a screen
MOST_MARKS = 5  # degenerate numbers that are named
MOST_NAMES = 3  # measures that are named where one reason holds for many
MOST_WITH_LIMITS = 2  # confidences whose intervals fit beside their values
DISCLAIMER = "[dim]Research software, not a medical device.[/]"


def print_result(
    evaluation: Evaluation, out: Path | None, *, everything: bool = False, verified: str | None = None
) -> None:
    """The main numbers, what was not computed, what to be careful with, and where the files are.

    ``everything`` shows all numbers that were asked for by name.
    """
    console = Console(highlight=False)
    if evaluation.profile == "selective":
        _print_items(console, evaluation, everything)
        other = "" if evaluation.comparison is None else "against_items.csv, "
        files = f"items.csv, {other}tables, figures"
    else:
        _print_queries(console, evaluation, everything)
        files = "per_query.csv, tables"
    _print_findings(console, evaluation)
    if evaluation.profile != "selective":
        statuses = Counter(check.status for check in evaluation.checks)
        checks = ", ".join(f"{count} {status}" for status, count in statuses.items())
        line = f"{len(evaluation):,} numbers; checks: {checks}"
        command = "" if out is None else f" (evidentia verify {escape(str(out))})"
        console.print(line if verified else f"{line}; not yet verified{command}", soft_wrap=True)
    if verified:
        console.print(verified, soft_wrap=True)
    if out is not None:
        print_place(console, out, f"summary.json, {files}, manifest.json")
    console.print(DISCLAIMER)


def _print_queries(console: Console, evaluation: Evaluation, everything: bool) -> None:
    data = evaluation.dataset
    console.print(
        f"[bold]{counted(data['queries'], 'query', 'queries')}[/] from {counted(data['posts'], 'post')}, "
        f"[bold]{data['positives']:,}[/] with evidence; profile [bold]{evaluation.profile}[/]"
    )
    chosen, left = _chosen(evaluation, everything=everything)
    columns: Columns = {"over folds": _folds, "n": lambda estimate: f"{estimate.n:,}"}
    if console.width >= ROOMY:  # what numbers speak of is said where there is room, and never at their cost
        columns["of"] = lambda estimate: estimate.population
    console.print(_estimate_table(evaluation, chosen, lambda estimate: estimate.name, columns))
    if any("t=alert" in estimate.name for estimate in chosen):
        console.print("[dim]t=gate: UNCERTAIN or POS, meant to miss little; t=alert: POS alone, against the rest[/]")
    if left:
        console.print(f"[dim]{left:,} more in summary.json[/]")
    if evaluation.not_computed:
        console.print("[bold]Not computed[/] [dim](names in summary.json)[/]")
        console.print(_not_computed_table(evaluation))
    _print_marks(console, evaluation)
    _print_losses(console, evaluation)


def _chosen(evaluation: Evaluation, *, everything: bool) -> tuple[list[Estimate], int]:
    """The estimates to show, and how many of those that were asked for are left out."""
    headline = [evaluation.measures[name] for name in HEADLINE if name in evaluation.measures]
    if headline and not everything:
        return headline, 0
    overall = evaluation.overall()
    every = [*overall, *(e for e in evaluation.measures.values() if e.group)]
    most = max(MOST, len(overall))
    return every[:most], len(every[most:])


def _not_computed_table(evaluation: Evaluation) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="yellow", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for gap in evaluation.not_computed:
        table.add_row(gap.family, f"{len(gap.measures)}", gap.reason)
    return table


def _print_marks(console: Console, evaluation: Evaluation) -> None:
    marked = [estimate for estimate in evaluation.measures.values() if estimate.degenerate]
    named = [estimate for estimate in marked if not estimate.group][:MOST_MARKS]
    for estimate in named:
        console.print(f"[yellow]degenerate[/] {escape(estimate.name)} = {estimate.value:g}: {estimate.degenerate}")
    if rest := len(marked) - len(named):
        more = f"{rest:,} more, in groups or minor measures; each says why in summary.json"
        console.print(f"[yellow]degenerate[/] {more}")


def _print_losses(console: Console, evaluation: Evaluation) -> None:
    """Which stage to mend first."""
    attribution = evaluation.attribution
    if attribution is None or not attribution.losses.missed:
        return
    lost = attribution.losses
    stages = {"retriever cut": lost.retriever, "gate": lost.gate, "K": lost.k, "ranking": lost.ranking}
    counts = ", ".join(f"{stage} {count:,}" for stage, count in stages.items())
    gold, alerts = counted(lost.gold, "gold sentence"), counted(lost.false_alerts, "false alert")
    console.print(f"{lost.missed:,} of {gold} missed: {counts}; {alerts}")


def _print_items(console: Console, evaluation: Evaluation, everything: bool) -> None:
    """Who was judged, the areas by each confidence, matched coverage, and the paired differences.

    Areas up to a coverage are many, so they are shown only where they were named.
    """
    data = evaluation.dataset
    mode = f", mode [bold]{escape(str(data['mode']))}[/]" if data["mode"] else ""
    failed = f", {data['failed']} failed and left out" if data["failed"] else ""
    plural = "" if data["participants"] == 1 else "s"
    console.print(
        f"[bold]{data['participants']:,}[/] {data['unit']}{plural}{failed}; N = [bold]{data['items']:,}[/] items, "
        f"{data['predicted']:,} predicted{mode}; loss in the units of the score unless the name says otherwise"
    )
    for signal in (None, *data["signals"]):
        title = "" if signal is None else f"\n[bold]Ordered by {escape(signal)}[/]"
        _print_table(console, title, _areas(evaluation, signal, everything))
    _print_table(console, "\n[bold]Item by item[/]", _by_item(evaluation))
    _print_table(console, "\n[bold]Totals[/]", _totals(evaluation))
    _print_table(console, "\n[bold]Mean loss at matched coverage[/]", _coverages(evaluation))
    ranks = next((table.rows for table in tables_of(evaluation) if table.name == "signals"), ())
    ranked = ", ".join(f"{row[0]}. {escape(str(row[1]))} ({shown(row[3])})" for row in ranks if row[0] is not None)
    if ranked and len(data["signals"]) > 1:
        console.print(f"\nConfidences by excess AURC, best first: {ranked}")
    _print_item_marks(console, evaluation)
    if evaluation.comparison is not None:
        _print_item_comparison(console, evaluation.comparison, str(data["unit"]))


def _print_table(console: Console, title: str, table: Table) -> None:
    if table.row_count:
        if title:
            console.print(title)
        console.print(table)


def _areas(evaluation: Evaluation, signal: str | None, everything: bool) -> Table:
    """Step areas with their plateau twins, of one confidence; without one, what no confidence changes."""
    candidates = [
        e
        for e in evaluation.measures.values()
        if (everything or "coverage" not in e.details) and not e.group_of("item") and "Total" not in e.measure
    ]
    twins = {e.details.get("plateau") for e in candidates}
    chosen = [
        e
        for e in candidates
        if e.details.get("confidence") == signal and e.name not in twins and "@coverage=" not in e.measure
    ]

    def plateau(estimate: Estimate) -> str:
        twin = evaluation.measures.get(str(estimate.details.get("plateau")))
        return "" if twin is None else _value(twin)

    def ties(estimate: Estimate) -> str:
        spread = estimate.details.get("tie_sensitivity")
        return "" if spread is None else f"{fixed(spread['best'])} to {fixed(spread['worst'])}"

    columns: Columns = {"plateau": plateau, "ties: best to worst": ties}
    return _estimate_table(evaluation, chosen, lambda estimate: estimate.measure, columns)


def _by_item(evaluation: Evaluation) -> Table:
    """A row per item: how many of its instances are answered, and each measure with its interval."""
    own = [e for e in evaluation.measures.values() if e.group_of("item")]
    estimates = {(e.group_of("item"), e.measure): e for e in own}
    names = [name for name in dict.fromkeys(e.measure for e in own) if name != "Cmax"]
    table = number_table("item", "answered", *(head for name in names for head in (escape(name), "interval")))
    people = evaluation.dataset["participants"]
    for item in dict.fromkeys(e.group_of("item") for e in own):
        row = [estimates[item, name] for name in names if (item, name) in estimates]
        answered = f"{row[0].n:,}/{people:,}" if row else _value(estimates[item, "Cmax"])
        table.add_row(escape(str(item)), answered, *(cell for e in row for cell in (_value(e), _limits(e))))
    return table


def _totals(evaluation: Evaluation) -> Table:
    """The total's error, and at every cut-off how many are decided and between which bounds the shares lie."""
    chosen = [e for e in evaluation.measures.values() if e.measure.startswith("Total")]

    def undecided(estimate: Estimate) -> str:
        count = estimate.details.get("undecided")
        return "" if count is None else f"{count:,} undecided"

    columns: Columns = {"n": lambda estimate: f"{estimate.n:,}", "": undecided}
    return _estimate_table(evaluation, chosen, lambda estimate: estimate.measure, columns)


def _coverages(evaluation: Evaluation) -> Table:
    """The mean loss at every coverage, a column for each confidence, with intervals where they are few."""
    signals = list(evaluation.dataset["signals"])
    limits = ["interval"] if len(signals) <= MOST_WITH_LIMITS else []
    table = number_table("coverage", *(head for signal in signals for head in (escape(signal), *limits)))
    at = [e for e in evaluation.measures.values() if "@coverage=" in e.measure]
    estimates = {(e.details["coverage"], e.details["confidence"]): e for e in at}
    for coverage in dict.fromkeys(coverage for coverage, _ in estimates):
        row = [estimates[coverage, signal] for signal in signals]
        cells = [cell for e in row for cell in (_value(e), *([_limits(e)] if limits else []))]
        table.add_row(f"{coverage:g}", *cells)
    return table


def _print_item_marks(console: Console, evaluation: Evaluation) -> None:
    marked = [e for e in evaluation.measures.values() if e.degenerate]
    unreached = [e for e in marked if math.isnan(e.value) and "@coverage=" in e.measure]
    by_reason: dict[str | None, list[str]] = {}
    for e in marked:
        if e not in unreached:
            by_reason.setdefault(e.degenerate, []).append(e.name)
    for reason, names in by_reason.items():
        more = f" and {counted(len(names) - 1, 'more number')}" if len(names) > 1 else ""
        console.print(f"[yellow]degenerate[/] {escape(names[0])}{more}: {reason}; marked *, and never a win")
    if unreached:
        console.print(f"[dim]coverages that are not reached have no value ({len(unreached)} numbers)[/]")
    for gap in evaluation.not_computed:
        listed = ", ".join(gap.measures[:MOST_NAMES]) + (" ..." if len(gap.measures) > MOST_NAMES else "")
        console.print(f"[yellow]not computed[/] {escape(listed)}: {escape(gap.reason)}")
    whole = [e for e in evaluation.measures.values() if not e.measure.startswith("Total")]  # theirs stand beside them
    for warning in dict.fromkeys(w for e in whole for w in e.warnings if w.startswith("rests on")):
        console.print(f"[yellow]small sample[/] {escape(warning)}")


def _print_findings(console: Console, evaluation: Evaluation) -> None:
    """The notes of a result, and the checks that failed or warn."""
    _print_notes(console, evaluation.notes)
    for check in evaluation.checks:
        if check.status in {"failed", "warning"}:
            words = "[bold red]check failed[/]" if check.status == "failed" else "[yellow]check warns[/]"
            console.print(f"{words} {check.code} {escape(check.title)}: {escape(check.message)}")


def _print_notes(console: Console, notes: Iterable[str]) -> None:
    for note in notes:
        console.print(f"[yellow]note[/] {escape(note)}")


def print_place(console: Console, out: Path, files: str) -> None:
    """Where the files are, and the page that one would open first."""
    console.print(f"written to {escape(str(out))}: {files}", soft_wrap=True)
    if (out / "report.html").is_file():
        console.print(f"[bold]open[/] {escape(str(out / 'report.html'))}", soft_wrap=True)


Columns = dict[str, Callable[[Estimate], str]]
WORDS = frozenset({"of", "verdict", "calibrator"})  # columns of words, which stand to the left


def number_table(first: str, *others: str, gap: int = 2) -> Table:
    """An empty table of numbers: names to the left, numbers to the right, nothing wrapped."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    for at, column in enumerate((first, *others)):
        table.add_column(column, justify="left" if at == 0 or column in WORDS else "right", no_wrap=True)
    return table


def _estimate_table(
    evaluation: Evaluation, estimates: Sequence[Estimate], name: Callable[[Estimate], str], further: Columns
) -> Table:
    """Numbers with their intervals and further columns; a column without a single cell is left out."""
    columns: Columns = {"value": _value}
    if any(estimate.ci for estimate in evaluation.measures.values()):
        columns[f"{100 * evaluation.interval.get('level', 0):g} % interval"] = _limits
    columns |= {head: cell for head, cell in further.items() if any(map(cell, estimates))}
    table = number_table("measure", *columns)
    for estimate in estimates:
        table.add_row(escape(name(estimate)), *(cell(estimate) for cell in columns.values()))
    return table


def _value(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "-"
    return f"{shown(estimate.value)} *" if estimate.degenerate else shown(estimate.value)


def _limits(estimate: Estimate) -> str:
    if estimate.ci is None:
        return "" if math.isnan(estimate.value) else "none"
    exact = " exact" if estimate.ci_method == "clopper-pearson" else ""
    return f"{_short(estimate.ci[0])} to {_short(estimate.ci[1])}{exact}"


def _folds(estimate: Estimate) -> str:
    if estimate.fold_mean is None:
        return ""
    spread = "" if estimate.fold_std is None else f" ± {_short(estimate.fold_std)}"
    return f"{_short(estimate.fold_mean)}{spread}"


def _short(value: float, sign: str = "") -> str:
    """Few enough digits that a row fits into 80 columns."""
    return fixed(value, 4 if abs(value) < 10 else 2, sign)


def _print_item_comparison(console: Console, comparison: SelectiveComparison, unit: str) -> None:
    """Two runs of items: their coverages, the paired differences by confidence, and what was not compared."""
    first, second = escape(comparison.baseline), escape(comparison.system)
    console.print(
        f"\n[bold]{second}[/] (B) minus [bold]{first}[/] (A): the same {counted(comparison.participants, unit)} and draws"
    )
    counts = (comparison.baseline_predicted, comparison.system_predicted)
    cmax = [count / comparison.items for count in counts]
    console.print(
        f"Cmax {fixed(cmax[0])} ({first}) and {fixed(cmax[1])} ({second}); common coverage {fixed(comparison.common_coverage)}"
    )
    shown_deltas = [d for d in comparison.deltas if d.p is not None and "plateau" not in d.name and _on_screen(d)]
    for signal in dict.fromkeys(d.name.partition("[")[2] for d in shown_deltas):
        if signal:
            console.print(f"[bold]{escape(signal.rstrip(']'))}[/]")
        console.print(_delta_table([d for d in shown_deltas if d.name.partition("[")[2] == signal]))
    for kind, reason in _refusals(comparison):
        console.print(f"[yellow]{kind}[/] {escape(reason)}")
    _print_notes(console, comparison.notes)


def _on_screen(delta: Delta) -> bool:
    """Areas over all common coverages, the mean loss at each one, answers and what is decided; the rest is in the tables."""
    if delta.family == "questionnaire":
        return "bound=" not in delta.name
    return delta.family in {"measures", "coverage"}


def _refusals(comparison: SelectiveComparison) -> list[tuple[str, str]]:
    """What is not compared or not tested, or only in part, and why, each said once."""
    words = [(d.name, w) for d in comparison.deltas for w in d.warnings]
    refused = [("not compared", f"{n}: {w.removeprefix(REFUSED)}") for n, w in words if w.startswith(REFUSED)]
    untested = [("not tested", f"full areas: {w.removeprefix(UNTESTED)}") for _, w in words if w.startswith(UNTESTED)]
    reasons = dict.fromkeys(row["reason"] for row in comparison.coverages if not row["valid"])
    where = {
        reason: [f"{row['coverage']:g}" for row in comparison.coverages if row["reason"] == reason]
        for reason in reasons
    }
    invalid = [("not compared", f"at coverage {', '.join(those)}: {reason}") for reason, those in where.items()]
    paired = [("compared", f"{n}: {w}") for n, w in words if w.startswith(PAIRED) and "[" not in n]
    return [*refused, *untested[:1], *invalid, *paired]


def print_comparison(comparison: Comparison, out: Path | None) -> None:
    """The headline deltas of every system against its baseline, and how many measures were won and lost."""
    console = Console(highlight=False)
    console.print(
        f"[bold]{counted(comparison.queries, 'query', 'queries')}[/] from {counted(comparison.posts, 'post')}; "
        f"profile [bold]{comparison.profile}[/]; {comparison.resamples:,} resamples, seed {comparison.seed}"
    )
    for baseline, system in pairs(comparison.systems, comparison.design):
        mine = [delta for delta in comparison.deltas if delta.system == system]
        base = [delta for delta in mine if delta.family == "measures"]
        shown_ones = [delta for delta in base if delta.name in HEADLINE] or base[:MOST]
        console.print(f"\n[bold]{escape(system)}[/] against {escape(baseline)}")
        console.print(_tested_table(shown_ones, comparison.tests(system)))
        if len(base) > len(shown_ones) == MOST:
            console.print(f"[dim]{len(base) - MOST:,} more in comparison.json[/]")
        _print_delta_notes(console, shown_ones, mine)
        for family, words in (("measures", "measures"), ("criteria", "per-criterion figures")):
            verdicts = Counter(delta.verdict for delta in mine if delta.family == family)
            counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
            if counts:
                page = ", and the page" if out is not None and (out / "report.html").is_file() else ""
                where = "" if family == "measures" or out is None else f" (tables/deltas_criteria.csv{page})"
                console.print(f"{words}: {counts}{where}")
    _print_notes(console, comparison.notes)
    if out is not None:
        print_place(console, out, "comparison.json, tables, manifest.json")


def _tested_table(deltas: Sequence[Delta], tests: int) -> Table:
    """Both values, the difference with its interval, and the verdict after its p, corrected for so many tests."""
    table = number_table("measure", "baseline", "value", "delta", "interval", gap=1)
    table.add_column(f"p (Holm, {tests})", no_wrap=True)
    for d in deltas:
        values = (_short(d.baseline_value), _short(d.system_value), *_change(d))
        verdict = f"{d.verdict} *" if d.warnings else d.verdict
        table.add_row(escape(d.name), *values, f"{_corrected(d):>6} {verdict}")
    return table


def _delta_table(deltas: Sequence[Delta]) -> Table:
    """The values of A and B with their difference, interval and verdict."""
    table = number_table("measure", "A", "B", "B - A", "interval", "p", "verdict")
    for d in deltas:
        values = (_short(d.baseline_value), _short(d.system_value), *_change(d))
        table.add_row(escape(d.name.partition("[")[0]), *values, _corrected(d), d.verdict)
    return table


def _change(delta: Delta) -> tuple[str, str]:
    """A difference and its interval."""
    ci = delta.ci
    limits = "none" if ci is None else f"{_short(ci[0], '+')} to {_short(ci[1], '+')}"
    return "" if delta.delta is None else _short(delta.delta, "+"), limits


def _corrected(delta: Delta) -> str:
    return "" if delta.p_holm is None else chance(delta.p_holm, 3)


def _print_delta_notes(console: Console, displayed: Sequence[Delta], every: Sequence[Delta]) -> None:
    """What the marks mean, each warning once with the measures it is about; and where the two populations differ."""
    about: dict[str, list[str]] = {}
    for delta in displayed:
        for warning in delta.warnings:
            about.setdefault(warning, []).append(delta.name)
    for warning, names in about.items():
        subject = "all of these" if len(names) == len(displayed) > 1 else ", ".join(names)
        console.print(f"[yellow]*[/] {escape(subject)}: {escape(warning)}")
    more = sum(bool(delta.warnings) for delta in every) - sum(bool(delta.warnings) for delta in displayed)
    if more:
        console.print(f"[yellow]*[/] {more:,} more warnings, per criterion or in minor measures: see comparison.json")
    sizes = [f"{escape(d.name)} {d.system_n:,} against {d.n:,}" for d in displayed if d.system_n != d.n]
    if sizes:
        console.print(f"n of the two: {', '.join(sizes)}")
