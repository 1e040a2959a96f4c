"""Twins of the counts."""

from __future__ import annotations

from evidentia.array_types import Bools
from evidentia.results.measure import Args
from evidentia.verify.study import Study
from evidentia.verify.twins import COUNT, Column, SumTwin, TwinFamily, first

family = TwinFamily("counts", dict.fromkeys(("Queries", "Positives"), COUNT))
family.add("Queries", SumTwin(columns=lambda study, args: [study.everyone], finish=first, count=True))
family.add("Positives", SumTwin(columns=lambda study, args: [study.label], finish=first, count=True))


@family.share("PositiveRate")
def positive_rate(study: Study, args: Args) -> tuple[Column, Bools]:
    """Queries with evidence, among all."""
    return study.label, study.everyone
