"""What a selective result must say in words: what a number means, and the reservations that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evidentia.results.sample_size import cluster_warnings, left_out_warning
from evidentia.verify.selective_reference import Measure, Ordered, steps_within

COMPARABLE = "The same area over one range of coverages, which makes systems that abstain differently comparable."
FULL = "Error averaged over every willingness to answer, from the surest item on; 0 is perfect. It grows with coverage, so compare"
JOINT = "Like AURC with the joint risk (coverage x risk) in place of the risk, so that one confident error is not counted at"
SHARE = (
    "The mean error of the most confident share of all items; systems may be compared at one coverage that both reach."
)
HARD = "Falls when a system abstains on hard items: never compare it between systems of different coverage."
COST = "What the confidence costs against a perfect one with the same predictions"
TEXTS: dict[tuple[str, str | None], tuple[str, str]] = {
    ("Cmax", None): ("Coverage: the share of items that are predicted", "How much the system answers at all."),
    ("MAE", None): ("Mean loss of what was predicted", HARD),
    ("MAE", "coverage"): ("Mean loss at a coverage", SHARE),
    ("AURC", None): ("Area under the risk-coverage curve", f"{FULL} systems only at a common coverage."),
    ("nAURC", None): ("Normalised AURC", "The mean risk over the coverages that the system reaches."),
    ("eAURC", None): ("Excess AURC", f"{COST}; 0 says that it ranks perfectly."),
    ("AURC", "C"): ("AURC up to a coverage", COMPARABLE),
    ("AUGRC", None): ("Area under the generalised risk-coverage curve", f"{JOINT} every coverage again."),
    ("nAUGRC", None): ("Normalised AUGRC", "The mean joint risk over the coverages that the system reaches."),
    ("eAUGRC", None): ("Excess AUGRC", f"{COST}, as joint risk."),
    ("AUGRC", "C"): ("AUGRC up to a coverage", COMPARABLE),
}
CONVENTION = "the value is a convention, not a measurement"
SAME = "every resample gives the same value"


@dataclass(frozen=True)
class Interval:
    """Limits with their method, left-out replicates, and what is to be said about them."""

    limits: tuple[float, float] | None
    method: str | None
    left_out: int
    reason: str | None = None

    def words(self, clusters: int, unit: str, resamples: int) -> list[str]:
        """Every reservation that an interval carries."""
        said = [*cluster_warnings(clusters, unit), *left_out_warning(self.left_out, resamples)]
        if self.reason is not None:
            said.append(f"{'interval' if self.limits else 'no interval'}: {self.reason}")
        return said


def flaw_of(measure: Measure) -> str:
    """Why a value is a convention rather than a measurement."""
    if measure.kind == "coverage":
        return "the system does not reach this coverage"
    return "no item is predicted: everything is abstained"


def ends_early(measure: Measure, data: Ordered) -> list[str]:
    """A word about a truncated area that cannot go as far as it should."""
    reached = len(data.losses) / data.total
    if measure.kind != "C" or measure.cut in {None, "common"} or float(str(measure.cut)) <= reached:
        return []
    return [f"Cmax is {reached:.4g}: the area ends there, before the coverage that was asked for"]


def out_of_reach(cut: str, names: Sequence[str], sides: Sequence[Ordered]) -> str | None:
    """Who does not reach a coverage; None if both do."""
    short = [
        f"{name} reaches only {len(side.losses) / side.total:.4g}"
        for name, side in zip(names, sides, strict=True)
        if len(side.losses) < steps_within(cut, side.total)[2]
    ]
    return "; ".join(short) or None


def unfair(measure: Measure, sides: Sequence[Ordered]) -> tuple[list[str], list[str]]:
    """Why a difference is refused, or is not tested, where the two answer different shares of the items."""
    if len(sides[0].losses) == len(sides[1].losses) or measure.base == "Cmax" or measure.cut is not None:
        return [], []
    shares = " and ".join(f"{len(side.losses) / side.total:.4g}" for side in sides)
    if measure.base != "MAE":
        return [], [f"not tested: the areas end at different coverages ({shares}); compare them at C=common"]
    return [
        f"not compared: the two answer different shares of the items ({shares}), and the one that answers less leaves out harder "
        "items; compare MAE at a coverage that both reach, or areas up to the common coverage"
    ], []


def bound_words(resamples: int, alpha: float, family: str, tests: int) -> list[str]:
    """A word where the number of resamples keeps every corrected p above alpha."""
    least = 2 * tests / (resamples + 1)
    if least <= alpha:
        return []
    return [
        f"with {resamples:,} resamples and {tests} tests in the family '{family}' the smallest corrected p is "
        f"{min(least, 1):.3g}, so nothing in it can be significant at {alpha:g}: take more resamples or fewer measures"
    ]
