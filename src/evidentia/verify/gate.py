"""Twins of the three-state gate, query by query and post by post."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evidentia.array_types import Bools
from evidentia.results.measure import Args
from evidentia.verify.study import Study
from evidentia.verify.twins import Column, TwinFamily

family = TwinFamily("gate", dict.fromkeys(("ScreeningFNPer1000", "AlertsPer1000"), (0.0, 1000.0)))
BY_POST = {"unit": "post"}


STATES = {"NegRate": "NEG", "UncertainRate": "UNCERTAIN", "PosRate": "POS"}


def _define_rate(base: str, state: str) -> None:
    @family.share(base)
    def rate(study: Study, args: Args) -> tuple[Column, Bools]:
        return study.state == state, study.everyone


for base, state in STATES.items():
    _define_rate(base, state)


@family.share("AlertsPer1000")
def alerts(study: Study, args: Args) -> tuple[Column, Bools]:
    """A thousand for every alert."""
    return np.where(study.state == "POS", 1000.0, 0.0), study.everyone


@family.share("ScreeningFNPer1000")
def skipped_evidence(study: Study, args: Args) -> tuple[Column, Bools]:
    """A thousand for every query with evidence that is skipped."""
    return np.where(study.label & (study.state == "NEG"), 1000.0, 0.0), study.everyone


@family.share("ScreeningSensitivity")
def screening(study: Study, args: Args) -> tuple[Column, Bools]:
    """Queries with evidence that are not skipped."""
    return study.label & (study.state != "NEG"), study.label


@family.share("AlertPrecision")
def alert_precision(study: Study, args: Args) -> tuple[Column, Bools]:
    """Alerts that are right."""
    alert = study.state == "POS"
    return study.label & alert, alert


@family.posts("ScreeningSensitivity", when=BY_POST, population=lambda study, args: study.label, proportion=True)
def screened_posts(study: Study, args: Args, rows: Bools) -> Sequence[Column]:
    """Posts with evidence of which none is skipped, among posts with evidence."""
    held = study.per_post(study.label, rows) > 0
    missed = study.per_post(study.label & (study.state == "NEG"), rows) > 0
    return held & ~missed, held


@family.posts("AlertPrecision", when=BY_POST, population=lambda study, args: study.state == "POS", proportion=True)
def right_posts(study: Study, args: Args, rows: Bools) -> Sequence[Column]:
    """Posts whose alerts are all right, among posts with an alert."""
    alert = study.state == "POS"
    alerting = study.per_post(alert, rows) > 0
    wrong = study.per_post(alert & ~study.label, rows) > 0
    return alerting & ~wrong, alerting
