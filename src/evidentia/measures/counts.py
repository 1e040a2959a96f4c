"""How much there is to measure: queries, positives, and their share. Every other number is read against these."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats
from evidentia.measures.core import Outcome, Statistic, sound
from evidentia.measures.family import Family
from evidentia.measures.populations import ALL
from evidentia.results.measure import Args
from evidentia.tables.queries import Queries

family = Family(
    "counts",
    population=ALL,
    requires=(),
    direction="neither",
    reference="plain counts",
)


def _columns(queries: Queries, args: Args) -> Floats:
    return np.column_stack([queries.label, np.ones(len(queries))]).astype(float)


COUNTS = Statistic("counts", _columns)


@family.sums(
    "Queries",
    COUNTS,
    sized=True,
    bounds=(0.0, None),
    label="Number of queries",
    formula="the number of (post, criterion) pairs",
    meaning="How many queries were evaluated.",
)
def _queries(sums: Floats, args: Args) -> Outcome:
    return sound(sums[..., 1])


@family.sums(
    "Positives",
    COUNTS,
    sized=True,
    bounds=(0.0, None),
    label="Number of queries with evidence",
    formula="the number of queries with at least one gold sentence",
    meaning="How many queries have evidence: the sample size of everything that speaks about evidence.",
)
def _positives(sums: Floats, args: Args) -> Outcome:
    return sound(sums[..., 0])


@family.ratio(
    "PositiveRate",
    COUNTS,
    parts=("queries with evidence", "queries"),
    proportion=True,
    bounds=(0.0, 1.0),
    reasons=("no queries",),
    label="Share of queries with evidence (prevalence)",
    formula="queries with evidence / queries",
    meaning="How common evidence is; precision and average precision are judged against it.",
)
def _positive_rate(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., 0], sums[..., 1]
