"""What each profile means by a bare name, and which numbers it reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evidentia.verify.catalogue import Defaults, Definition, define

CELLS = ("TP", "TN", "FP", "FN")
RATES = ("Sensitivity", "Specificity", "FPR", "FNR", "Precision", "NPV", "F1", "MCC", "BalancedAccuracy")
CELLS_AND_RATES = (*CELLS, *RATES)
AT_TUNED = ("TPR", "FPR", "Precision", "F1", "MCC")


@dataclass(frozen=True)
class Profile:
    """The choices of a profile."""

    defaults: Defaults
    ddof: int = 1
    depths: tuple[str, ...] = ("1", "3", "5", "10", "20")
    budgets: tuple[str, ...] = ("3%", "5%", "10%")
    both_populations: bool = False
    mrr_is_cut: bool = False
    macro_f1: str = "criterion"

    def definitions(self, depths: Iterable[str] | None, *, dual: bool) -> list[Definition]:
        """Everything that is reported, in order, each definition once."""
        ks = self.depths if depths is None else tuple(depths)
        names = [
            *("Queries", "Positives", "PositiveRate", *self._detection()),
            *("ECE", "ECE(debiased)", "Brier", "LogLoss", "CalibrationSlope", "CalibrationIntercept"),
            *(f"NetBenefit@t={t}" for t in ("0.05", "0.1", "0.2", "0.5")),
            *(name for pop in self._populations(dual) for name in self._ranking(ks, pop)),
            *("SelectedK", "SelectedK(given=gate)", "EvidenceRecall", "EvidencePrecision"),
            *("EvidenceRecall(pool=micro)", "EvidenceRecall(pool=micro,given=gate)"),
            *("NegRate", "UncertainRate", "PosRate", "ScreeningSensitivity", "ScreeningFNPer1000", "AlertPrecision"),
            *("AlertsPer1000", "ScreeningSensitivity(unit=post)", "AlertPrecision(unit=post)"),
            *(f"{name}(t=returned)" for name in CELLS_AND_RATES),
            *("ExactMatch", "HammingScore", "HammingLoss", "F1(avg=micro)", "F1(avg=post)", "F1(avg=post,empty=1)"),
            *("F1(avg=criterion)", "F1(avg=post_weighted)", "F1(avg=label_weighted)"),
            *self._per_criterion("10" in ks),
            *(("EvidenceRecall(pool=mean)",) if ("EvidenceRecall", "pool") in self.defaults else ()),
        ]
        return list({d.expanded: d for d in (define(name, self.defaults) for name in names)}.values())

    def _detection(self) -> list[str]:
        return [
            *("AUROC", "AUPRC"),
            *(f"TPR(same)@FPR={budget}" for budget in self.budgets),
            *(f"{name}(tuned)@FPR={budget}" for budget in self.budgets for name in AT_TUNED),
            *(f"{name}(t={point})" for point in ("0.5", "gate") for name in CELLS_AND_RATES),
            *(f"{area}(level={level})" for level in ("candidate", "query") for area in ("AUROC", "AUPRC")),
        ]

    def _populations(self, dual: bool) -> tuple[str, ...]:
        return ("positives", "all") if dual or self.both_populations else ("positives",)

    def _ranking(self, ks: tuple[str, ...], pop: str) -> list[str]:
        cut = [f"{name}(pop={pop})@{k}" for name in ("Recall", "Precision", "HitRate", "MAP", "nDCG") for k in ks]
        return cut + ([f"MRR(pop={pop})@{k}" for k in ks] if self.mrr_is_cut else [f"MRR(pop={pop})"])

    def _per_criterion(self, at_ten: bool) -> list[str]:
        areas = ["AUROC(avg=criterion)", "AUPRC(avg=criterion)"]
        rates = ["Sensitivity(t=gate,avg=criterion)", "Precision(t=gate,avg=criterion)"]
        ranks = ["Recall(avg=criterion)@10", "nDCG(avg=criterion)@10"] if at_ten else []
        if not self.mrr_is_cut:
            return [*areas, *rates, *ranks, "MRR(avg=criterion)"]
        return [*areas, *rates, *ranks, *(["MRR(avg=criterion)@10"] if at_ten else [])]


PROFILES = {
    "contract": Profile({}, budgets=("1%", "3%", "5%", "10%"), macro_f1="post"),
    "e2e": Profile(
        {
            ("MAP", "norm"): "found",
            ("EvidenceRecall", "pool"): "micro",
            ("SelectedK", "closed"): "zero",
            ("TPR", "threshold"): "tuned",
        }
    ),
    "paper": Profile(
        {
            ("MAP", "norm"): "min_eff",
            ("Precision", "depth"): "k_eff",
            ("AUROC", "level"): "candidate",
            ("AUPRC", "level"): "candidate",
        },
        depths=("1", "3", "5", "10", "ALL"),
        both_populations=True,
        mrr_is_cut=True,
    ),
    "audit": Profile(
        {("MAP", "norm"): "min", ("EvidenceRecall", "pop"): "all", ("EvidencePrecision", "pop"): "all"},
        ddof=0,
        mrr_is_cut=True,
    ),
}
