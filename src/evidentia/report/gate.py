"""The publication gate on one screen, and as a Markdown checklist with the reporting items that the run can answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evidentia.checks.drops import DropJudgement
from evidentia.checks.gate import Condition, Gate
from evidentia.checks.targets import Judgement
from evidentia.report.console import DISCLAIMER, number_table
from evidentia.report.reporting_items import reporting_items
from evidentia.report.show import fixed
from evidentia.report.write import markdown_text
from evidentia.results import Delta, Estimate, Finding

CHECKLIST_TITLE = "# Publication gate: "
COLOURS = {"met": "green", "not met": "red", "not decidable": "yellow"}


def print_gate(gate: Gate) -> None:
    """Targets, conditions, what did not pass, and the verdict."""
    console = Console(highlight=False)
    if gate.targets:
        console.print(_targets(gate.targets))
    elif not gate.drops:
        console.print("No targets: name them with --target, for example --target 'AUGRC<=0.1'.")
    if gate.drops:
        console.print(_drops(gate.drops))
    for condition in gate.conditions:
        mark = "[green]yes[/]" if condition.holds else "[bold red]no [/]"
        console.print(f"{mark} {condition.title}: {escape(condition.message)}")
    for finding in gate.checks:
        if finding.status in {"failed", "warning"}:
            console.print(f"    {finding.code} {finding.status}: {escape(finding.message)}", soft_wrap=True)
    console.print(_verdict(gate))
    console.print(DISCLAIMER)


def print_findings(findings: Iterable[Finding]) -> None:
    """One line per check, whatever it says."""
    console = Console(highlight=False)
    for finding in findings:
        colour = {"passed": "green", "failed": "bold red", "warning": "yellow"}.get(finding.status, "dim")
        words = f"{finding.code} {escape(finding.title)}: [{colour}]{finding.status}[/], {escape(finding.message)}"
        console.print(words, soft_wrap=True)


def _targets(judgements: tuple[Judgement, ...]) -> Table:
    table = number_table("target", "value", "interval")
    table.add_column("verdict")
    for judgement in judgements:
        words = judgement.decision + (f" ({judgement.reason})" if judgement.reason else "")
        colour = COLOURS[judgement.decision]
        row = (str(judgement.target), _value(judgement.estimate), _interval(judgement.estimate), words)
        table.add_row(*(escape(cell) for cell in row[:3]), f"[{colour}]{escape(words)}[/]")
    return table


def _drops(judgements: tuple[DropJudgement, ...]) -> Table:
    table = number_table(f"against {escape(judgements[0].baseline)}", "difference", "interval", "drops at most")
    table.add_column("verdict")
    for judgement in judgements:
        delta, drop = judgement.delta, judgement.drop
        row = (drop.name, *_difference(delta), f"{drop.most:g}")
        words = judgement.decision + (f" ({judgement.reason})" if judgement.reason else "")
        table.add_row(*map(escape, row), f"[{COLOURS[judgement.decision]}]{escape(words)}[/]")
    return table


def _difference(delta: Delta | None) -> tuple[str, str]:
    """A paired difference and its interval."""
    if delta is None or delta.delta is None:
        return "none", "none"
    limits = "none" if delta.ci is None else f"{fixed(delta.ci[0], sign='+')} to {fixed(delta.ci[1], sign='+')}"
    return fixed(delta.delta, sign="+"), limits


def _verdict(gate: Gate) -> str:
    met = gate.decisions.count("met")
    held = sum(condition.holds for condition in gate.conditions)
    words = "[bold green]The gate is open[/]" if gate.open else "[bold red]The gate is closed[/]"
    return f"{words}: {met} of {len(gate.decisions)} targets met, {held} of {len(gate.conditions)} conditions hold."


def gate_markdown(gate: Gate) -> str:
    """A checklist that can stand beside a paper: nothing of the queries is in it but counts and ids of measures."""
    parts = [
        f"{CHECKLIST_TITLE}{markdown_text(gate.name)}",
        "The gate is open." if gate.open else "The gate is closed.",
        "Research software, not a medical device.",
        "## Targets",
        "\n".join(_target_line(judgement) for judgement in gate.targets)
        or ("" if gate.drops else "- [ ] no target was named"),
        *_drop_lines(gate.drops),
        "## Conditions",
        "\n".join(_condition_line(condition) for condition in gate.conditions),
        "## Checks",
        "| code | check | status | what was looked at |\n|---|---|---|---|\n"
        + "\n".join(_check_row(finding) for finding in gate.checks),
        "## Reporting items (TRIPOD+AI, by item number)",
        "What the run itself can say is filled in; whether it answers the item is for the authors to tick.",
        "\n".join(
            f"- [ ] **{item.number}** {item.topic}: {markdown_text(item.answer or 'for the authors')}"
            for item in reporting_items(gate.evaluation, gate.manifest)
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _target_line(judgement: Judgement) -> str:
    estimate = judgement.estimate
    seen = "" if estimate is None else f" ({_value(estimate)}, interval {_interval(estimate)}, n = {estimate.n:,})"
    reason = f": {judgement.reason}" if judgement.reason else ""
    mark = "x" if judgement.decision == "met" else " "
    return f"- [{mark}] {markdown_text(str(judgement.target))}{seen}: **{judgement.decision}**{markdown_text(reason)}"


def _drop_lines(judgements: tuple[DropJudgement, ...]) -> Iterator[str]:
    """What must not be worse than in a baseline."""
    if judgements:
        yield f"## Against {markdown_text(judgements[0].baseline)}"
        yield "\n".join(map(_drop_line, judgements))


def _drop_line(judgement: DropJudgement) -> str:
    difference, limits = _difference(judgement.delta)
    reason = f": {judgement.reason}" if judgement.reason else ""
    mark = "x" if judgement.decision == "met" else " "
    words = f"(difference {difference}, interval {limits}): **{judgement.decision}**{markdown_text(reason)}"
    return f"- [{mark}] {markdown_text(str(judgement.drop))} {words}"


def _condition_line(condition: Condition) -> str:
    return f"- [{'x' if condition.holds else ' '}] {condition.title}: {markdown_text(condition.message)}"


def _check_row(finding: Finding) -> str:
    return f"| {finding.code} | {finding.title} | {finding.status} | {markdown_text(finding.message)} |"


def _value(estimate: Estimate | None) -> str:
    return "none" if estimate is None else fixed(estimate.value)


def _interval(estimate: Estimate | None) -> str:
    if estimate is None or estimate.ci is None:
        return "none"
    return f"{fixed(estimate.ci[0])} to {fixed(estimate.ci[1])}"
