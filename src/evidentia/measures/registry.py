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
    """Add the measures of a family to the catalogue.

    Parameters
    ----------
    family : Family
        A family with its measures defined.

    Raises
    ------
    ValueError
        If a measure of that name, cut and required parameters exists.

    Examples
    --------
    >>> from evidentia.measures import ranking
    >>> register(ranking.family)
    Traceback (most recent call last):
    ValueError: Recall is a measure already (upper and lower case are the same). Choose another name.
    """
    catalogue.register(family.measures)


for module in FAMILIES:
    register(module.family)
