"""The three-state gate: what is skipped, what needs a careful look, what raises an alert, and what that costs."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.measures.core import Additive, Statistic, ratio_of_sums
from evidentia.measures.family import Family
from evidentia.measures.populations import (
    ALERTS,
    ALL,
    POSITIVES,
    POSTS_WITH_ALERT,
    POSTS_WITH_EVIDENCE,
    skipped,
)
from evidentia.results.measure import Args, Parameter
from evidentia.tables.queries import POS, STATES, Queries

UNIT = Parameter("unit", ("query", "post"), "query")
SOURCE = "triage with two thresholds, as defined here"
PER_POST = "a post counts once, because the queries of one post are not independent trials"


def _columns(queries: Queries, args: Args) -> Floats:
    assert queries.state is not None
    state, label = queries.state, queries.label
    each = [state == code for code in range(len(STATES))]
    return np.column_stack(
        [*each, label & skipped(queries), label, label & (state == POS), np.ones(len(queries))]
    ).astype(float)


STATE_COUNTS = Statistic("states", _columns)
PARTS = {
    "NegRate": ("queries in state NEG", "queries"),
    "UncertainRate": ("queries in state UNCERTAIN", "queries"),
    "PosRate": ("queries in state POS", "queries"),
    "AlertsPer1000": ("1000 x queries in state POS", "queries"),
    "ScreeningFNPer1000": ("1000 x queries with evidence in state NEG", "queries"),
    "ScreeningSensitivity": ("queries with evidence not in state NEG", "queries with evidence"),
    "AlertPrecision": ("queries with evidence in state POS", "queries in state POS"),
}
MISSED, WITH_EVIDENCE, RIGHT_ALERTS, TOTAL = range(3, 7)


def _post_columns(queries: Queries, args: Args) -> Floats:
    """Per post: has evidence and none skipped; has evidence; alerts and all right; alerts."""
    assert queries.state is not None
    _, at = np.unique(queries.post, return_inverse=True)
    posts = int(at.max(initial=-1)) + 1

    def some(mask: Bools) -> Bools:
        return np.bincount(at[mask], minlength=posts) > 0

    evidence, alert = some(queries.label), some(queries.state == POS)
    missed = some(queries.label & skipped(queries))
    wrong = some(~queries.label & (queries.state == POS))
    return np.column_stack([evidence & ~missed, evidence, alert & ~wrong, alert]).astype(float)


POST_COUNTS = Statistic("states by post", _post_columns, unit="post")
family = Family(
    "gate",
    requires=("state",),
    bounds=(0.0, 1.0),
    reference=SOURCE,
    groups=frozenset({"fold", "criterion", "slice"}),  # within one state these figures are constants
)
rates = family.with_common(
    population=ALL,
    direction="neither",
    reasons=("no queries",),
    groups=frozenset({"fold", "criterion", "slice", "has_evidence"}),
)


@rates.ratio(
    "NegRate",
    STATE_COUNTS,
    parts=PARTS["NegRate"],
    proportion=True,
    label="Share of queries skipped (NEG)",
    formula="n(NEG) / N, NEG where prob < tau_neg",
    meaning="The share of queries that nobody has to look at.",
)
def _neg_rate(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., 0], sums[..., TOTAL]


@rates.ratio(
    "UncertainRate",
    STATE_COUNTS,
    parts=PARTS["UncertainRate"],
    proportion=True,
    label="Share of queries that need a careful look (UNCERTAIN)",
    formula="n(UNCERTAIN) / N, UNCERTAIN where tau_neg <= prob < tau_pos",
    meaning="The share of queries where the system does not commit itself.",
)
def _uncertain_rate(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., 1], sums[..., TOTAL]


@rates.ratio(
    "PosRate",
    STATE_COUNTS,
    parts=PARTS["PosRate"],
    proportion=True,
    label="Share of queries that raise an alert (POS)",
    formula="n(POS) / N, POS where prob >= tau_pos",
    meaning="The share of queries that raise a high-confidence alert.",
)
def _pos_rate(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., 2], sums[..., TOTAL]


@rates.ratio(
    "AlertsPer1000",
    STATE_COUNTS,
    parts=PARTS["AlertsPer1000"],
    proportion=True,
    bounds=(0.0, 1000.0),
    label="Alerts per 1,000 queries",
    formula="1000 n(POS) / N",
    meaning="The alert load: fewer alerts mean less to review.",
)
def _alerts(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return 1000 * sums[..., 2], sums[..., TOTAL]


@family.ratio(
    "ScreeningFNPer1000",
    STATE_COUNTS,
    parts=PARTS["ScreeningFNPer1000"],
    proportion=True,
    label="Evidence skipped per 1,000 queries",
    population=ALL,
    direction="lower",
    bounds=(0.0, 1000.0),
    reasons=("no queries",),
    formula="1000 n(evidence and NEG) / N",
    meaning="How many queries with evidence the screening skips, per 1,000 queries of any kind; "
    "a target of its own, not the same as a sensitivity.",
)
def _missed(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return 1000 * sums[..., MISSED], sums[..., TOTAL]


def _screened(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., WITH_EVIDENCE] - sums[..., MISSED], sums[..., WITH_EVIDENCE]


def _right_alerts(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., RIGHT_ALERTS], sums[..., 2]


def _by_post(good: int, all_of_them: int, parts: tuple[str, str]) -> Additive:
    def fraction(sums: Floats, args: Args) -> tuple[Floats, Floats]:
        return sums[..., good], sums[..., all_of_them]

    return ratio_of_sums(POST_COUNTS, fraction, parts=parts, proportion=True)


family.ratio(
    "ScreeningSensitivity",
    STATE_COUNTS,
    parts=PARTS["ScreeningSensitivity"],
    proportion=True,
    label="Screening sensitivity",
    params=(UNIT,),
    variants={("unit", "post"): _by_post(0, 1, ("posts with evidence, none of it skipped", "posts with evidence"))},
    population=lambda args: POSTS_WITH_EVIDENCE if args["unit"] == "post" else POSITIVES,
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=("no evidence in the population",),
    formula="n(evidence and not NEG) / n(evidence); unit=post: posts with evidence, none of it skipped / posts with evidence",
    meaning="The share of the evidence that the screening does not skip; what is skipped is seen by nobody.",
    choices={"unit=query": "every query counts", "unit=post": PER_POST},
)(_screened)

family.ratio(
    "AlertPrecision",
    STATE_COUNTS,
    parts=PARTS["AlertPrecision"],
    proportion=True,
    label="Alert precision",
    params=(UNIT,),
    variants={("unit", "post"): _by_post(2, 3, ("posts whose alerts are all right", "posts with an alert"))},
    population=lambda args: POSTS_WITH_ALERT if args["unit"] == "post" else ALERTS,
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=("no alerts",),
    formula="n(evidence and POS) / n(POS); unit=post: posts whose alerts are all right / posts with an alert",
    meaning="The share of alerts that are right; the rest is false alarm.",
    choices={"unit=query": "every alert counts", "unit=post": PER_POST},
)(_right_alerts)
