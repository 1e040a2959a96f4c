"""Selective prediction: how much error a predictor that may abstain makes at each coverage, most confident items first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.measures.core import Outcome, Selective
from evidentia.measures.family import Family
from evidentia.results.measure import Args, Parameter, Population
from evidentia.stats.coverage import counts_to_reach, counts_within
from evidentia.stats.risk_coverage import Curves, Plateaus, Steps, best_plateaus

LOSSES = ("abs", "abs_norm", "zero_one", "squared")
RAW = Parameter("loss", LOSSES, "abs")
NORMALISED = Parameter("loss", LOSSES, "abs_norm")
TIES = Parameter("ties", ("step", "plateau"), "step")
ORDER = Parameter("order", ("confidence", "oracle"), "confidence")
NOTHING = "no item is predicted: everything is abstained"
GEIFMAN = "Geifman, Uziel, El-Yaniv, Bias-reduced uncertainty estimation for deep neural classifiers, ICLR (2019)"
TRAUB = "Traub et al., Overcoming common flaws in the evaluation of selective classification systems, NeurIPS (2024)"
LOSS_CHOICES = {
    "loss=abs": "|pred - gt|",
    "loss=abs_norm": "|pred - gt| over the largest possible score, so that 1 is the worst",
    "loss=zero_one": "1 where pred and gt differ",
    "loss=squared": "(pred - gt) squared",
}
TIES_CHOICES = {
    "ties=step": "items one by one: confidence, then participant, then item; an area is a sum of steps",
    "ties=plateau": "one point per distinct confidence and straight lines between them, so that the order of ties is moot",
}
ORDER_CHOICES = {
    "order=confidence": "most confident items first",
    "order=oracle": "the smallest area that any confidence could reach with the same predictions",
}
COMMON_CHOICE = {"C=common": "in a comparison: the smaller of both Cmax, in every resample"}
COMPARABLE = "The same area over one range of coverages, which makes systems that abstain differently comparable."
ITEMS = Population("all items, abstained ones too", "", lambda queries, args: None, unit="item")
PREDICTED = Population("predicted items", "abstained items", lambda queries, args: None, unit="item")
Area = Literal["risks", "joint"]

family = Family(
    "selective",
    population=ITEMS,
    requires=("items",),
    direction="lower",
    bounds=(0.0, None),
    groups=frozenset({"confidence"}),
    reasons=(NOTHING,),
)


def _shape(curves: Curves, args: Args) -> Steps | Plateaus:
    return curves.steps.plateaus if args["ties"] == "plateau" else curves.steps


def _optimum(curves: Curves, args: Args, area: Area) -> Floats:
    """N (or N squared) times the smallest area with the same predictions."""
    best = curves.best
    if args["ties"] == "step":
        return best.whole(area)
    if area == "risks":
        return best_plateaus(best)
    return best.whole("joint") - best.whole("lost") / 2  # every item its own point: the joint risk bends upwards


def _area(curves: Curves, args: Args, area: Area) -> Floats:
    whole = _optimum(curves, args, area) if args.get("order") == "oracle" else _shape(curves, args).whole(area)
    return _per_item(whole, curves, area)


def _per_item(whole: Floats, curves: Curves, area: Area) -> Floats:
    total = np.maximum(curves.total, 1)
    shares: Floats = whole * curves.scale / (total if area == "risks" else total * total)
    return shares


def _marked(values: Floats, curves: Curves, *, convention: float = 0.0) -> Outcome:
    """Mark where nothing is predicted; the value there is the convention, NaN meaning that there is none."""
    empty = curves.steps.predicted == 0
    return Outcome(np.where(empty, convention, values), empty.astype(np.int8))


def _full(area: Area) -> Callable[[Curves, Args], Outcome]:
    return lambda curves, args: _marked(_area(curves, args, area), curves)


def _normalised(area: Area) -> Callable[[Curves, Args], Outcome]:
    def read(curves: Curves, args: Args) -> Outcome:
        coverage = np.maximum(curves.steps.predicted, 1) / np.maximum(curves.total, 1)
        return _marked(_area(curves, args, area) / coverage, curves, convention=np.nan)

    return read


def _excess(area: Area) -> Callable[[Curves, Args], Outcome]:
    def read(curves: Curves, args: Args) -> Outcome:
        gap = _shape(curves, args).whole(area) - _optimum(curves, args, area)
        return _marked(_per_item(np.maximum(gap, 0.0), curves, area), curves)  # below 0 by rounding only

    return read


def _truncated(area: Area) -> Callable[[Curves, Args], Outcome]:
    def read(curves: Curves, args: Args) -> Outcome:
        count, rest = _within(curves, args)
        shape = _shape(curves, args)
        to = shape.risks_to if area == "risks" else shape.joint_to
        return _marked(_per_item(to(count, rest), curves, area), curves)

    return read


def _within(curves: Curves, args: Args) -> tuple[Ints, Floats]:
    """How many items the cut takes: those of both systems, or those of the coverage, but never more than are predicted."""
    assert args.cut is not None
    predicted = curves.steps.predicted.astype(np.int64)
    if args.cut.value is None:
        assert curves.common is not None
        return np.minimum(curves.common, predicted), np.zeros(len(predicted))
    count, rest = counts_within(args.cut.value, curves.total)
    return np.minimum(count, predicted), np.where(count < predicted, rest, 0.0)


def reached(curves: Curves, args: Args) -> Bools:
    """Where as many items are predicted as the cut needs."""
    assert args.cut is not None
    predicted = curves.steps.predicted
    if args.cut.value is None:
        return predicted > 0 if curves.common is None else curves.common > 0
    # of no items at all every coverage is none, and still nothing is reached
    return (counts_to_reach(args.cut.value, curves.total) <= predicted) & (predicted > 0)


def _risk_at(curves: Curves, args: Args) -> Outcome:
    assert args.cut is not None
    assert args.cut.value is not None
    count = counts_to_reach(args.cut.value, curves.total)
    short = ~reached(curves, args)
    risk = curves.steps.mean_loss(np.where(short, 1, count)) * curves.scale
    return Outcome(np.where(short, np.nan, risk), short.astype(np.int8))


def _mean_loss(curves: Curves, args: Args) -> Outcome:
    predicted = curves.steps.predicted
    return _marked(curves.steps.whole("lost") * curves.scale / np.maximum(predicted, 1), curves, convention=np.nan)


def _cmax(curves: Curves, args: Args) -> Outcome:
    share = curves.steps.predicted / np.maximum(curves.total, 1)
    return Outcome(share, np.zeros(len(share), np.int8))


risk_areas = family.with_common(reference=GEIFMAN, choices={**TIES_CHOICES, **LOSS_CHOICES})
risk_areas.add(
    "AURC",
    Selective(_full("risks")),
    params=(ORDER, TIES, RAW),
    label="Area under the risk-coverage curve",
    formula="sum over k = 1..K of risk_k / N, with risk_k the mean loss of the k most confident items",
    meaning="Error averaged over every willingness to answer, from the surest item on; 0 is perfect. It grows with coverage, so "
    "compare systems only at a common coverage.",
    choices={**TIES_CHOICES, **LOSS_CHOICES, **ORDER_CHOICES},
    conventions={"all abstained": "0.0, marked: answering nothing is not the same as answering well"},
)
risk_areas.add(
    "nAURC",
    Selective(_normalised("risks")),
    params=(TIES, RAW),
    convention="null",
    label="Normalised AURC",
    formula="AURC / Cmax",
    meaning="The mean risk over the coverages that the system reaches.",
)
risk_areas.add(
    "eAURC",
    Selective(_excess("risks")),
    params=(TIES, RAW),
    label="Excess AURC",
    formula="AURC - AURC(order=oracle)",
    meaning="What the confidence costs against a perfect one with the same predictions; 0 says that it ranks perfectly.",
)
risk_areas.add(
    "AURC",
    Selective(_truncated("risks")),
    params=(TIES, RAW),
    cut="C",
    label="AURC up to a coverage",
    formula="sum of the first floor(C N) risks and the part of the next one that C covers, over N; C at most Cmax",
    meaning=COMPARABLE,
    choices={**TIES_CHOICES, **LOSS_CHOICES, **COMMON_CHOICE},
)

joint_areas = family.with_common(reference=TRAUB, choices={**TIES_CHOICES, **LOSS_CHOICES})
joint_areas.add(
    "AUGRC",
    Selective(_full("joint")),
    params=(ORDER, TIES, NORMALISED),
    label="Area under the generalised risk-coverage curve",
    formula="sum over k = 1..K of joint_k / N, with joint_k = (loss of the k most confident items) / N",
    meaning="Like AURC with the joint risk (coverage x risk) in place of the risk, so that one confident error is not counted at "
    "every coverage again.",
    choices={**TIES_CHOICES, **LOSS_CHOICES, **ORDER_CHOICES},
    conventions={"fd-shifts": "merges tied confidences and uses trapezoids, which is ties=plateau"},
)
joint_areas.add(
    "nAUGRC",
    Selective(_normalised("joint")),
    params=(TIES, NORMALISED),
    convention="null",
    label="Normalised AUGRC",
    formula="AUGRC / Cmax",
    meaning="The mean joint risk over the coverages that the system reaches.",
)
joint_areas.add(
    "eAUGRC",
    Selective(_excess("joint")),
    params=(TIES, NORMALISED),
    label="Excess AUGRC",
    formula="AUGRC - AUGRC(order=oracle)",
    meaning="What the confidence costs against a perfect one with the same predictions, as joint risk.",
)
joint_areas.add(
    "AUGRC",
    Selective(_truncated("joint")),
    params=(TIES, NORMALISED),
    cut="C",
    label="AUGRC up to a coverage",
    formula="sum of the first floor(C N) joint risks and the part of the next one that C covers, over N; C at most Cmax",
    meaning=COMPARABLE,
    choices={**TIES_CHOICES, **LOSS_CHOICES, **COMMON_CHOICE},
)

family.add(
    "MAE",
    Selective(_risk_at),
    params=(RAW,),
    cut="coverage",
    reasons=("the system does not reach this coverage",),
    convention="null",
    label="Mean loss at a coverage",
    formula="risk_k at k = ceil(coverage x N)",
    meaning="The mean error of the most confident share of all items; systems may be compared at one coverage that both reach.",
    reference=TRAUB,
    choices=LOSS_CHOICES,
)
family.add(
    "MAE",
    Selective(_mean_loss),
    params=(RAW,),
    population=PREDICTED,
    groups=frozenset({"item"}),
    convention="null",
    label="Mean loss of what was predicted",
    formula="mean loss of all predicted items",
    meaning="Falls when a system abstains on hard items: never compare it between systems of different coverage.",
    reference=TRAUB,
    choices=LOSS_CHOICES,
)
family.add(
    "Cmax",
    Selective(_cmax, proportion=True),
    direction="higher",
    bounds=(0.0, 1.0),
    groups=frozenset({"item"}),
    reasons=(),
    label="Coverage: the share of items that are predicted",
    formula="K / N",
    meaning="How much the system answers at all.",
    reference=GEIFMAN,
)
