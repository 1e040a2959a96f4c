"""The families of measures, registered in the order in which they are listed."""

from __future__ import annotations

from evidentia.measures import (
    calibration,
    confusion,
    counts,
    detection,
    extraction,
    gate,
    multilabel,
    questionnaire,
    ranking,
    selective,
)
from evidentia.measures.family import Family
from evidentia.results import catalogue

FAMILIES = (counts, detection, confusion, calibration, ranking, extraction, gate, multilabel, selective, questionnaire)


def register(family: Family) -> None:
    """Make the measures of one more family known, under their names."""
    catalogue.register(family.measures)


for module in FAMILIES:
    register(module.family)
