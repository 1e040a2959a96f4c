"""Results on the terminal: short, well set, and plain text in a pipe."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evidentia.errors import counted
from evidentia.evaluation.explain import DefinitionReading, Explanation
from evidentia.evaluation.power import PowerReport
from evidentia.measures import pattern
from evidentia.report.reference import needs_of
from evidentia.report.show import fixed, shown
from evidentia.results import Comparison, Delta, Estimate, Evaluation, pairs
from evidentia.results.measure import Measure

ROOMY = 100  # columns from which on a screen also shows what a number speaks of
MOST = 40  # rows of named measures and their groups on a screen
HEADLINE = (
    "AUROC",
    "AUPRC",
    "TPR@FPR=5%",
    "ECE",
    "Brier",
    "F1(t=gate)",
    "MCC(t=gate)",
    "Recall@10",
    "nDCG@10",
    "MAP@10",
    "MRR",
    "MRR@10",
    "SelectedK",
    "EvidenceRecall",
    "EvidencePrecision",
    "ScreeningSensitivity",
    "ScreeningFNPer1000",
    "AlertPrecision",
    "AlertsPer1000",
    "ExactMatch",
)

UNVERIFIED = "not yet verified (evidentia verify OUT)"


def print_summary(
    evaluation: Evaluation, out: Path | None, *, everything: bool = False, verified: str | None = None
) -> None:
    """Headline numbers, what was not computed, what to be careful with, and where the files are."""
    console = Console(highlight=False)
    data = evaluation.dataset
    console.print(
        f"[bold]{counted(data['queries'], 'query', 'queries')}[/] from {counted(data['posts'], 'post')}, "
        f"[bold]{data['positives']:,}[/] with evidence; profile [bold]{evaluation.profile}[/]"
    )
    chosen, left = _chosen(evaluation, everything=everything)
    console.print(_headline(evaluation, chosen, width=console.width))
    if left:
        console.print(f"[dim]{left:,} more in summary.json[/]")
    if evaluation.not_computed:
        console.print("[bold]Not computed[/] [dim](names in summary.json)[/]")
        console.print(_gaps(evaluation))
    _print_marks(console, evaluation)
    _print_losses(console, evaluation)
    print_findings(console, evaluation)
    statuses = Counter(check.status for check in evaluation.checks)
    checks = ", ".join(f"{count} {status}" for status, count in statuses.items())
    line = f"{len(evaluation):,} numbers; checks: {checks}"
    console.print(line if verified else f"{line}; {UNVERIFIED}")
    if verified:
        console.print(verified, soft_wrap=True)
    if out is not None:
        print_place(console, out, "summary.json, per_query.csv, tables, manifest.json")
    console.print("[dim]Research software, not a medical device.[/]")


def print_findings(console: Console, evaluation: Evaluation) -> None:
    """The notes of a result, and the checks that failed or warn."""
    for note in evaluation.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    for check in evaluation.checks:
        if check.status in {"failed", "warning"}:
            words = "[bold red]check failed[/]" if check.status == "failed" else "[yellow]check warns[/]"
            console.print(f"{words} {check.code} {escape(check.title)}: {escape(check.message)}")


def number_table(first: str, *others: str) -> Table:
    """An empty table of numbers: names to the left, numbers to the right, nothing wrapped."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for column in others:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def print_place(console: Console, out: Path, files: str) -> None:
    """Where the files are, and the page that one would open first."""
    console.print(f"written to {escape(str(out))}: {files}", soft_wrap=True)
    if (out / "report.html").is_file():
        console.print(f"[bold]open[/] {escape(str(out / 'report.html'))}", soft_wrap=True)


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


def _chosen(evaluation: Evaluation, *, everything: bool) -> tuple[list[Estimate], int]:
    """The estimates to show, and how many of those that were asked for are left out."""
    headline = [evaluation.measures[name] for name in HEADLINE if name in evaluation.measures]
    if headline and not everything:
        return headline, 0
    overall = evaluation.overall()
    every = [*overall, *(e for e in evaluation.measures.values() if e.group)]
    most = max(MOST, len(overall))
    return every[:most], len(every[most:])


def _headline(evaluation: Evaluation, chosen: Sequence[Estimate], *, width: int) -> Table:
    """The main numbers; what they speak of is said where the screen has room for it, and never at the numbers' cost."""
    folds = evaluation.dataset["folds"] is not None
    limits = any(estimate.ci for estimate in evaluation.measures.values())
    spreads = [*([level_words(evaluation)] if limits else []), *(["over folds"] if folds else [])]
    table = number_table("measure", "value", *spreads, "n")
    roomy = width >= ROOMY
    if roomy:
        table.add_column("of", no_wrap=True)
    for estimate in chosen:
        spread = [*([_limits(estimate)] if limits else []), *([_folds(estimate)] if folds else [])]
        of = [estimate.population] if roomy else []
        table.add_row(escape(estimate.name), _value(estimate), *spread, f"{estimate.n:,}", *of)
    return table


def level_words(evaluation: Evaluation) -> str:
    """The head of a column of intervals."""
    return f"{100 * evaluation.interval.get('level', 0):g} % interval"


def _gaps(evaluation: Evaluation) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="yellow", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for gap in evaluation.not_computed:
        table.add_row(gap.family, f"{len(gap.measures)}", gap.reason)
    return table


def _print_marks(console: Console, evaluation: Evaluation) -> None:
    marked = [estimate for estimate in evaluation.measures.values() if estimate.degenerate]
    overall = [estimate for estimate in marked if not estimate.group]
    for estimate in overall[:5]:
        console.print(f"[yellow]degenerate[/] {escape(estimate.name)} = {estimate.value:g}: {estimate.degenerate}")
    if len(marked) > len(overall[:5]):
        rest = len(marked) - len(overall[:5])
        console.print(
            f"[yellow]degenerate[/] {rest:,} more, in groups or minor measures; each says why in summary.json"
        )


def _value(estimate: Estimate) -> str:
    digits = shown(estimate.value)
    return f"{digits} *" if estimate.degenerate else digits


def _limits(estimate: Estimate) -> str:
    if estimate.ci is None:
        return "none"
    exact = " exact" if estimate.ci_method == "clopper-pearson" else ""
    return f"{_short(estimate.ci[0])} to {_short(estimate.ci[1])}{exact}"


def _folds(estimate: Estimate) -> str:
    if estimate.fold_mean is None:
        return ""
    spread = "" if estimate.fold_std is None else f" ± {_short(estimate.fold_std)}"
    return f"{_short(estimate.fold_mean)}{spread}"


def print_measures(measures: Sequence[Measure]) -> None:
    """The registry, family by family."""
    console = Console(highlight=False)
    for family in dict.fromkeys(measure.family for measure in measures):
        table = Table(
            title=family, title_justify="left", title_style="bold", box=None, pad_edge=False, show_header=False
        )
        table.add_column(overflow="fold", ratio=2)
        table.add_column(ratio=2)
        table.add_column(style="dim", no_wrap=True)
        for measure in measures:
            if measure.family == family:
                better = {"higher": "higher is better", "lower": "lower is better", "neither": ""}[measure.direction]
                table.add_row(escape(_broken(pattern(measure))), escape(measure.label), better)
        console.print(table)
        console.print()


def _broken(name: str, width: int = 40) -> str:
    """A long name on several lines, broken where a parameter ends.

    >>> _broken("F1(avg=micro|post|criterion|post_weighted,empty=0|1)").splitlines()
    ['F1(avg=micro|post|criterion|post_weighted,', '   empty=0|1)']
    """
    base, bracket, rest = name.partition("(")
    lines = [base + bracket]
    for part in re.split("(?<=,)", rest):
        if len(lines[-1]) + len(part) <= width or lines[-1] == base + bracket:
            lines[-1] += part
        else:
            lines.append(" " * len(base + bracket) + part)
    return "\n".join(lines)


def print_explanation(explanation: Explanation) -> None:
    """A measure in words and formula, how its definitions differ and, where there is a run, what each gives on it."""
    console, measure = Console(highlight=False), explanation.definition.measure
    console.print(f"[bold]{escape(explanation.name)}[/]  {escape(measure.label)}")
    console.print(f"{escape(measure.meaning)}\n")
    facts = {
        "definition": explanation.definition.expanded,
        "formula": measure.formula,
        "population": explanation.definition.population.words,
        "better": {"higher": "higher", "lower": "lower", "neither": "neither: read it as it is"}[measure.direction],
        "range": f"{_bound(measure.bounds[0], '-')} to {_bound(measure.bounds[1], '')}",
        "undefined": "; ".join(measure.reasons) + f": reported as {measure.convention} and marked"
        if measure.reasons
        else "never",
        "needs": needs_of(measure, explanation.definition.args) or "labels only",
        "reference": measure.reference,
    }
    _pairs(console, facts)
    _pairs(console, measure.choices, "Choices")
    _pairs(console, measure.conventions, "Elsewhere")
    console.print("[bold]Definitions[/]")
    for reading in explanation.readings:
        who = f"  [dim]profile {', '.join(reading.profiles)}[/]" if reading.profiles else ""
        console.print(f"  {escape(reading.definition)}{who}", soft_wrap=True)
        for line in _reading_lines(reading):
            console.print(f"      {escape(line)}", soft_wrap=True)


def _reading_lines(reading: DefinitionReading) -> list[str]:
    lines = []
    if reading.numerator is not None and reading.denominator is not None:
        (top_words, top), (bottom_words, bottom) = reading.numerator, reading.denominator
        lines.append(f"{top_words} {top:,.10g} / {bottom_words} {bottom:,.10g}")
    if reading.value is not None:
        lines.append(f"= {reading.value:.10g} over {reading.n:,} {reading.population}")
    if reading.mark is not None:
        lines.append(f"({reading.mark})")
    return lines


def _pairs(console: Console, pairs: Mapping[str, str], title: str = "") -> None:
    if not pairs:
        return
    table = Table(title=title, title_justify="left", title_style="bold", box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for key, words in pairs.items():
        table.add_row(escape(key), escape(words))
    console.print(table)
    console.print()


def _bound(bound: float | None, sign: str) -> str:
    return f"{sign}infinity" if bound is None else f"{bound:g}"


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
        console.print(delta_grid(shown_ones))
        if len(base) > len(shown_ones) == MOST:
            console.print(f"[dim]{len(base) - MOST:,} more in comparison.json[/]")
        _print_delta_notes(console, shown_ones, mine)
        for family, words in (("measures", "measures"), ("criteria", "per-criterion figures")):
            verdicts = Counter(delta.verdict for delta in mine if delta.family == family)
            counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
            if counts:
                console.print(f"{words}: {counts}")
    for note in comparison.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    if out is not None:
        print_place(console, out, "comparison.json, tables, manifest.json")


def delta_grid(deltas: Sequence[Delta], *, both: bool = False) -> Table:
    """Differences with intervals and verdicts; ``both`` shows the values of A and B, and marks no warnings."""
    table = number_table("measure", *(("A", "B", "B - A") if both else ("value", "delta")), "interval", "p")
    table.add_column("verdict", no_wrap=True)
    for d in deltas:
        limits = "none" if d.ci is None else f"{_short(d.ci[0], '+')} to {_short(d.ci[1], '+')}"
        p = "" if d.p_holm is None else "<0.001" if d.p_holm < 0.001 else fixed(d.p_holm, 3)
        change = "" if d.delta is None else _short(d.delta, "+")
        verdict = f"{d.verdict} *" if d.warnings and not both else d.verdict
        values = [_short(value) for value in ((d.baseline_value, d.system_value) if both else (d.system_value,))]
        name = d.name.partition("[")[0] if both else d.name
        table.add_row(escape(name), *values, change, limits, p, verdict)
    return table


def _short(value: float, sign: str = "") -> str:
    """Few enough digits that a row fits into 80 columns."""
    return fixed(value, 4 if abs(value) < 10 else 2, sign)


def _print_delta_notes(console: Console, shown: Sequence[Delta], every: Sequence[Delta]) -> None:
    """What the marks mean, each warning once with the measures it is about; and where the two populations differ."""
    about: dict[str, list[str]] = {}
    for delta in shown:
        for warning in delta.warnings:
            about.setdefault(warning, []).append(delta.name)
    for warning, names in about.items():
        subject = "all of these" if len(names) == len(shown) > 1 else ", ".join(names)
        console.print(f"[yellow]*[/] {escape(subject)}: {escape(warning)}")
    more = sum(bool(delta.warnings) for delta in every) - sum(bool(delta.warnings) for delta in shown)
    if more:
        console.print(
            f"[yellow]*[/] {more:,} more, per criterion or in minor measures; each says why in comparison.json"
        )
    sizes = [f"{escape(d.name)} {d.system_n:,} against {d.n:,}" for d in shown if d.system_n != d.n]
    if sizes:
        console.print(f"n of the two: {', '.join(sizes)}")


def print_power(report: PowerReport) -> None:
    """What certifying a target takes, and where the run stands."""
    console, needs = Console(highlight=False), report.certificate
    console.print(
        f"To show [bold]{escape(report.name)} >= {needs.target:g}[/] with {100 * needs.confidence:g} % confidence, "
        f"[bold]{needs.without_a_miss:,}[/] independent {report.posts} without a single miss are needed."
    )
    rows = ", ".join(f"{posts:,} with {misses}" for misses, posts in needs.with_misses[1:])
    console.print(f"With misses: {rows}.")
    seen = report.observed
    if seen is None:
        return
    console.print(
        f"The run has {_of(seen.units, report.units)} from [bold]{_of(seen.posts, report.posts)}[/], "
        f"{counted(seen.misses, 'miss', 'misses')}, a share of {fixed(seen.rate)}; "
        f"clustering within posts inflates the variance {fixed(seen.design_effect, 2)} times."
    )
    verdict = "[bold green]is certified[/]" if seen.certified_now else "[bold]cannot be certified[/]"
    console.print(f"On this run the target {verdict} at that confidence.")
    if seen.posts_needed is None and seen.rate > needs.target:
        console.print("The observed share is so close to the target that no reasonable sample would certify it.")
    elif seen.posts_needed is None:
        console.print("The observed share is not above the target: no sample size would certify it.")
    else:
        console.print(
            f"A system of this share needs about {seen.posts_needed:,} {report.posts} "
            f"to be certified {100 * report.power:g} % of the time."
        )


def _of(count: int, words: str) -> str:
    """So many of something that is named in the plural.

    >>> _of(1, "queries with evidence"), _of(2, "posts")
    ('1 query with evidence', '2 posts')
    """
    many, space, more = words.partition(" ")
    return f"{counted(count, {'queries': 'query', 'posts': 'post'}.get(many, many), many)}{space}{more}"
