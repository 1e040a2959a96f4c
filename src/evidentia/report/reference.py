"""What the registry says of measures: as the reference in Markdown, and on the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evidentia.errors import counted
from evidentia.evaluation.explain import DefinitionReading, Explanation
from evidentia.evaluation.find_value import ValueSearch
from evidentia.measures import MEASURES, PROFILES, pattern
from evidentia.results.measure import Args, Measure
from evidentia.results.profiles import SELECTIVE

LISTED = 5
INTRO = """# Measures

Written from the registry by `evidentia measures --markdown`; do not edit by hand.

A name is `Name(parameter=value,...)@cut[group=value]`. A parameter that is left out takes the profile's choice, and every number
carries its definition with all choices written out. Any measure can be asked for in a group: `nDCG@10[criterion=A.1]`,
`AUROC[fold=3]`, `SelectedK[state=POS]`. Names of other tools are understood: `ndcg_cut_10`, `map@10`, `recall_5`, `P_10`.
A figure at an operating point whose name has no `t` is read at the gate: `F1` is `F1(t=gate)`.

The *gate* is the system's yes/no: state is not NEG; else prob >= tau; else prob >= 0.5. Thresholds are inclusive.

Measures of predictors that may abstain stand last, under [Selective](#selective) and [Questionnaire](#questionnaire);
`evidentia selective` computes them, and [selective.md](selective.md) works examples. Those of items can be asked for by item:
`MAE[item=Sleep]`, `WeightedKappa[item=Sleep]`.
"""


def measure_reference() -> str:
    """Every family and measure, with formula, population, edge cases and what other tools do, as Markdown."""
    families = dict.fromkeys(measure.family for measure in MEASURES)
    parts = [INTRO, _profiles()]
    for family in families:
        members = [measure for measure in MEASURES if measure.family == family]
        parts.append(f"## {family.capitalize()}\n\n" + "\n".join(_section(measure) for measure in members))
    return "\n".join(parts)


def _needs(measure: Measure, args: Args) -> str:
    """What an input must have, in words; empty where labels are enough."""
    words = {
        "items": "items of a predictor that may abstain (`evidentia selective`)",
        "questionnaire": "a run of a questionnaire",
    }
    return ", ".join(words.get(need, need) for need in measure.requires(args))


def _profiles() -> str:
    lines = [
        "## Profiles\n",
        "| profile | what it is | choices that differ from the default | std over folds | K |",
        "|---|---|---|---|---|",
    ]
    for profile in PROFILES.values():
        choices = "; ".join(f"{base}: {parameter}={value}" for (base, parameter), value in profile.defaults.items())
        extras = ["MRR cut at K"] if profile.cut_mrr else []
        extras += ["both populations side by side"] if profile.dual else []
        extras += [f"macro F1 is avg={profile.macro_f1}"]
        cells = (
            profile.name,
            profile.title,
            "; ".join(filter(None, [choices, *extras])),
            f"ddof {profile.ddof}",
            " ".join(profile.ks),
        )
        lines.append("| " + " | ".join(cells) + " |")
    losses = "AURC, nAURC, eAURC and MAE: loss=abs; AUGRC, nAUGRC and eAUGRC: loss=abs_norm"
    lines.append(f"| {SELECTIVE.name} | {SELECTIVE.title} | {losses} | none | none |")
    return "\n".join(lines) + "\n"


def _facts(measure: Measure, args: Args) -> dict[str, str]:
    """What can be said of a measure under some choices."""
    reasons = "; ".join(measure.reasons)
    return {
        "population": measure.population(args).words,
        "formula": measure.formula,
        "better": measure.direction,
        "range": " to ".join("unbounded" if bound is None else f"{bound:g}" for bound in measure.bounds),
        "undefined": f"{reasons} (reported as {measure.convention}, marked)" if reasons else "never",
        "needs": _needs(measure, args) or "labels",
        "reference": measure.reference,
    }


def _section(measure: Measure) -> str:
    facts = _facts(measure, Args({p.name: p.default or p.values[0] for p in measure.params}))
    facts["formula"] = f"`{facts['formula']}`"
    lines = [f"### `{pattern(measure)}`\n", f"{measure.label}. {measure.meaning}\n"]
    lines += [f"- {key.capitalize()}: {words}" for key, words in facts.items()]
    lines += [f"- `{choice}`: {words}" for choice, words in measure.choices.items()]
    lines += [f"- {tool}: {words}" for tool, words in measure.conventions.items()]
    return "\n".join(lines) + "\n"


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
    definition = {"definition": explanation.definition.expanded}
    _pairs(console, definition | _facts(measure, explanation.definition.args))
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
        lines.append(f"= {reading.value:.10g} (n = {reading.n:,}: {reading.population})")
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


def print_value_search(search: ValueSearch) -> None:
    """Which readings of a name give a number, those that change least first, and which are nearest otherwise."""
    console, given = Console(highlight=False), search.given
    asked = "cannot be computed on this run" if search.asked is None else f"is {search.asked.value:.10g}"
    if search.asked is not None and search.asked.degenerate is not None:
        asked += f" ({search.asked.degenerate})"
    console.print(f"[bold]{escape(search.name)}[/] {asked}; {search.text} was given.")
    console.print(f"{counted(search.tried, 'reading')} tried, {len(search.agreeing)} agree.\n")
    console.print(f"[bold]{'Agree, smallest change first' if search.agreeing else 'None agrees; the nearest'}[/]")
    for reading in search.agreeing[:LISTED] or search.nearest:
        size = "" if reading.n is None else f"  (n = {reading.n:,})"
        console.print(f"  {reading.value:<14.10g} {escape(reading.definition)}{size}", soft_wrap=True)
        reason = [] if reading.degenerate is None else [f"a convention, not a measurement: {reading.degenerate}"]
        for words in (*(reading.changes or ("as it was asked",)), *reason):
            console.print(f"                 {escape(words)}", soft_wrap=True)
    if len(search.agreeing) > LISTED:
        console.print(f"  and {len(search.agreeing) - LISTED:,} more")
    by_chance = 2 * given.tolerance * search.tried
    if search.agreeing and by_chance > 0.05:
        console.print(
            f"\nAbout {by_chance:,.1f} of so many readings would agree with any number of these digits by chance. "
            "Give more digits to be sure.",
            soft_wrap=True,
        )
