"""Checks of the attribution: nothing is lost twice, nothing is lost without a stage, and K is not stuck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from evidentia.checks.registry import Verdict, check, looked_at, not_applicable, warned
from evidentia.checks.subject import Row, Subject
from evidentia.evaluation.attribution import attribute
from evidentia.results import Attribution, KRegret, Losses

PINNED = 0.9


def _attribution(subject: Subject) -> Attribution | None:
    """The one of the result, or made anew from the queries of a folder."""
    if subject.evaluation.attribution is not None:
        return subject.evaluation.attribution
    return None if subject.run is None else attribute(subject.run)


@check("LOSS001", title="Every missed gold sentence is charged to one stage")
def losses_add_up(subject: Subject) -> Verdict:
    """Charges add up to what was missed, criteria to the whole, the whole to the run, and the table says the same."""
    attribution, run = _attribution(subject), subject.run
    if attribution is None or run is None or run.queries.n_gold is None or run.queries.n_selected_gold is None:
        return not_applicable("the run has no gold sentences with rankings and selections")
    parts = [*attribution.losses_by_criterion.values(), attribution.losses]
    wrong = sum(part.charged != part.missed for part in parts)
    wrong += sum(_total(part.name, attribution) != getattr(attribution.losses, part.name) for part in fields(Losses))
    wrong += attribution.losses.gold != int(run.queries.n_gold.sum())
    wrong += attribution.losses.returned != int(run.queries.n_selected_gold.sum())
    if subject.folder is not None:
        wrong += _differing_cells(subject.folder.tables, attribution)
    return looked_at(attribution.losses.gold, "gold sentence", wrong=wrong, fault="sums do not agree")


def _total(name: str, attribution: Attribution) -> int:
    return sum(getattr(losses, name) for losses in attribution.losses_by_criterion.values())


def _differing_cells(tables: Mapping[str, tuple[Row, ...]], attribution: Attribution) -> int:
    """How many rows of the two written tables say something else than the queries do."""
    losses = {**attribution.losses_by_criterion, "all": attribution.losses}
    regret = {} if attribution.regret is None else {**attribution.regret_by_criterion, "all": attribution.regret}
    wrong = 0
    for table, expected in (("attribution", losses), ("dynamic_k", regret)):
        written = [list(row.values()) for row in tables.get(table, ())]
        wanted = [_cells(name, part) for name, part in expected.items()]
        wrong += sum(cell != other for cell, other in zip(wanted, written, strict=False))
        wrong += abs(len(wanted) - len(written))
    return wrong


def _cells(name: str, part: Losses | KRegret) -> list[str]:
    values = [getattr(part, column.name) for column in fields(part)]
    return [name, *map(str, values), *([str(part.regret)] if isinstance(part, KRegret) else [])]


@check("KPIN001", title="K is not pinned at its cap or floor")
def k_is_not_pinned(subject: Subject) -> Verdict:
    """Where nine in ten selections have the smallest or the largest size, K is not dynamic, whatever gamma is."""
    attribution = _attribution(subject)
    if attribution is None or attribution.k.selections < 2:
        return not_applicable("there are no selections to compare")
    k = attribution.k
    if k.floor == k.cap:
        return warned(k.selections, f"all {k.selections:,} selections hold {k.cap} sentences: K is fixed, or pinned")
    if k.pinned >= PINNED:
        end, size = ("cap", k.cap) if k.at_cap >= k.at_floor else ("floor", k.floor)
        return warned(k.selections, f"{k.pinned:.1%} of {k.selections:,} selections are pinned at the {end} of {size}")
    return looked_at(k.selections, "selection", wrong=0, fault="", aside=f", of {k.floor} to {k.cap} sentences")
