"""Verification takes from a definition which way is better, its unit, what it needs and its groups: they stand here once more.

Formulas, populations and bounds are written twice in the package itself. These four are data that both sides read, so a
mistake in them would be found by nobody else.
"""

from __future__ import annotations

import re

import pytest
from every_definition import QUESTIONNAIRE_ONES

from evidentia.measures import Definition, resolve
from evidentia.results.profiles import PROFILES

USUAL = {"slice", "criterion", "fold", "state"}
SELECTED = {"slice", "criterion", "fold", "state", "has_evidence"}
STATES = {"slice", "criterion", "fold", "has_evidence"}
GATE, POSTS = {"slice", "criterion", "fold"}, {"slice", "fold"}
LOWER = r"(FPR|FNR|FP|FN|ECE|Brier|LogLoss|HammingLoss|ScreeningFNPer1000)(\(.*|$)"
NEITHER = (
    r"(Queries|Positives|PositiveRate|Calibration\w+|SelectedK.*|NegRate|UncertainRate|PosRate|AlertsPer1000)(\(.*|$)"
)

# The first pattern that fits the expanded name: what it needs, its groups, its unit.
TABLE: list[tuple[str, set[str], set[str], str]] = [
    (r"Queries|Positives|PositiveRate", set(), USUAL, "query"),
    (r".*\(tuned\).*", {"tune"}, USUAL, "query"),
    (r".*level=candidate.*", {"candidates"}, USUAL, "candidate"),
    (r"(AUROC|AUPRC|TPR\(same\)).*", {"score"}, USUAL, "query"),
    (r"(F1\(avg=post.*|HammingLoss|HammingScore|ExactMatch)", {"gate", "complete"}, POSTS, "post"),
    (r"F1\(avg=\w+,empty=.*", {"gate", "complete"}, POSTS, "query"),
    (r"\w+\(t=gate.*", {"gate"}, USUAL, "query"),
    (r"\w+\(t=alert.*", {"state"}, USUAL, "query"),
    (r"\w+\(t=returned.*", {"selection"}, USUAL, "query"),
    (r"(\w+\(t=[0-9.]+.*|ECE.*|Brier|LogLoss|NetBenefit.*|Calibration\w+)", {"prob"}, USUAL, "query"),
    (r"(Recall|Precision|HitRate|MRR|MAP|nDCG)\(.*", {"ranking"}, USUAL, "query"),
    (r"SelectedK\(given=all,closed=counted\)", {"selection"}, SELECTED, "query"),
    (r"SelectedK.*", {"selection", "gate"}, SELECTED, "query"),
    (r"EvidenceRecall\(pool=micro.*|EvidenceRecall.*given=gate.*", {"gold", "selection", "gate"}, USUAL, "query"),
    (r"Evidence(Recall|Precision).*", {"gold", "selection"}, USUAL, "query"),
    (r"NegRate|UncertainRate|PosRate|AlertsPer1000", {"state"}, STATES, "query"),
    (r"(ScreeningSensitivity|AlertPrecision)\(unit=post\)", {"state"}, GATE, "post"),
    (r"(ScreeningSensitivity|AlertPrecision|ScreeningFNPer1000).*", {"state"}, GATE, "query"),
]


def reported() -> dict[str, Definition]:
    """Every definition that some profile reports, by its expanded name."""
    named = [resolve(name, profile).definition for profile in PROFILES.values() for name in profile.names()]
    return {d.expanded: d for d in named if d.measure.family != "selective"}


@pytest.mark.parametrize("name", reported())
def test_a_definition_says_what_is_expected_of_it(name: str) -> None:
    definition = reported()[name]
    needs, groups, unit = next(row[1:] for row in TABLE if re.fullmatch(row[0], name))
    assert set(definition.measure.requires(definition.args)) == needs
    assert set(definition.measure.groups) == groups
    assert definition.population.unit == unit
    direction = "lower" if re.fullmatch(LOWER, name) else "neither" if re.fullmatch(NEITHER, name) else "higher"
    assert definition.measure.direction == ("lower" if name.startswith("FPR(tuned)") else direction)


ANSWERS: list[tuple[str, str, set[str], str]] = [
    (r"MAE\(avg=item.*", "lower", set(), "item"),
    (r"WeightedKappa", "higher", {"item"}, "item"),
    (r"TotalMAE", "lower", set(), "participant"),
    (r"Total(Decided|Sensitivity|Specificity).*", "higher", set(), "participant"),
]


@pytest.mark.parametrize("definition", QUESTIONNAIRE_ONES, ids=lambda definition: definition.expanded)
def test_a_definition_of_a_questionnaire_says_what_is_expected_of_it(definition: Definition) -> None:
    direction, groups, unit = next(row[1:] for row in ANSWERS if re.fullmatch(row[0], definition.expanded))
    assert definition.measure.direction == direction
    assert set(definition.measure.groups) == groups
    assert definition.population.unit == unit
    assert set(definition.measure.requires(definition.args)) == {"items", "questionnaire"}
