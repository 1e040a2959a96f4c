"""Profiles: each fixes every choice on which the definitions in use differ, so that one name has one meaning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evidentia.errors import UnknownNameError, shown

CONFUSION = (
    *("TP", "TN", "FP", "FN", "Sensitivity", "Specificity", "FPR", "FNR"),
    *("Precision", "NPV", "F1", "MCC", "BalancedAccuracy"),
)
PER_CRITERION = ("AUROC", "AUPRC", "Sensitivity(t=gate)", "Precision(t=gate)", "Recall@10", "nDCG@10")
COMPARED_PER_CRITERION = (*PER_CRITERION, "F1(t=gate)", "MRR", "MRR@10")
BUDGETS = ("3%", "5%", "10%")
HEADLINE = (  # what is shown first
    *("AUROC", "AUPRC", "TPR@FPR=5%", "ECE", "Brier", "F1(t=gate)", "MCC(t=gate)", "F1(t=alert)", "MCC(t=alert)"),
    *("Recall@10", "nDCG@10", "MAP@10"),
    *("MRR", "MRR@10", "SelectedK", "EvidenceRecall", "EvidencePrecision", "ScreeningSensitivity"),
    *("ScreeningFNPer1000", "AlertPrecision", "AlertsPer1000", "ExactMatch"),
)


_ONCE_MORE = ("ScreeningFNPer1000", "F1(t=alert)", "MCC(t=alert)")  # what sensitivity and alert precision say already
COMPARED = tuple(name for name in HEADLINE if name not in _ONCE_MORE)
COMPARED_BY_DEFAULT = "headline"  # says in a manifest that nobody named measures; null has always meant all


@dataclass(frozen=True)
class Profile:
    """The choices of one source document. ``defaults`` says what a name means when it leaves a parameter out."""

    name: str
    title: str
    ddof: int
    macro_f1: str
    defaults: Mapping[tuple[str, str], str] = field(default_factory=dict)
    ks: tuple[str, ...] = ("1", "3", "5", "10", "20")
    budgets: tuple[str, ...] = BUDGETS
    dual: bool = False
    cut_mrr: bool = False
    extra: tuple[str, ...] = ()

    def names(self, *, ks: Iterable[str] | None = None, dual: bool = False) -> tuple[str, ...]:
        """The measures that this profile reports, as names to be read under it."""
        depths = tuple(ks) if ks is not None else self.ks
        return (
            *("Queries", "Positives", "PositiveRate"),
            *self._detection(),
            *("ECE", "ECE(debiased)", "Brier", "LogLoss", "CalibrationSlope", "CalibrationIntercept"),
            *(f"NetBenefit@t={t}" for t in ("0.05", "0.1", "0.2", "0.5")),
            *self._ranking(depths, dual=dual or self.dual),
            *("SelectedK", "SelectedK(given=gate)", "EvidenceRecall", "EvidencePrecision"),
            *("EvidenceRecall(pool=micro)", "EvidenceRecall(pool=micro,given=gate)"),
            *("NegRate", "UncertainRate", "PosRate", "ScreeningSensitivity", "ScreeningFNPer1000"),
            *(
                "AlertPrecision",
                "AlertsPer1000",
                "ScreeningSensitivity(unit=post)",
                "AlertPrecision(unit=post)",
            ),
            *(f"{name}(t=returned)" for name in CONFUSION),
            *(
                "ExactMatch",
                "HammingScore",
                "HammingLoss",
                "F1(avg=micro)",
                "F1(avg=post)",
                "F1(avg=post,empty=1)",
            ),
            *("F1(avg=criterion)", "F1(avg=post_weighted)", "F1(avg=label_weighted)"),
            *(_averaged(name) for name in self._per_criterion() if name[-2:] != "10" or "10" in depths),
            *self.extra,
        )

    def compared(self, *ks: Sequence[str] | None) -> tuple[str, ...]:
        """The main measures, each question once; rankings are cut at 10, or else at the largest depth that all ``ks`` have."""
        depths = [set(map(str, own or self.ks)) for own in ks or (None,)]
        shared = set.intersection(*depths) or set.union(*depths)
        depth = "10" if "10" in shared else max(shared, key=lambda k: (int(k) if k.isdecimal() else math.inf, k))
        return tuple(name.replace("@10", f"@{depth}") for name in COMPARED)

    def _per_criterion(self) -> tuple[str, ...]:
        return (*PER_CRITERION, "MRR@10" if self.cut_mrr else "MRR")

    def _detection(self) -> tuple[str, ...]:
        return (
            *("AUROC", "AUPRC"),
            *(f"TPR(same)@FPR={budget}" for budget in self.budgets),
            *(
                f"{name}(tuned)@FPR={budget}"
                for budget in self.budgets
                for name in ("TPR", "FPR", "Precision", "F1", "MCC")
            ),
            *(f"{name}(t={point})" for point in ("0.5", "gate") for name in CONFUSION),
            *("F1(t=alert)", "MCC(t=alert)"),
            *("AUROC(level=candidate)", "AUPRC(level=candidate)", "AUROC(level=query)", "AUPRC(level=query)"),
        )

    def _ranking(self, depths: tuple[str, ...], *, dual: bool) -> tuple[str, ...]:
        populations = ("", "(pop=all)") if dual else ("",)
        return tuple(
            f"{name}{population}{cut}"
            for population in populations
            for name, cuts in (
                *((name, depths) for name in ("Recall", "Precision", "HitRate", "MAP", "nDCG")),
                ("MRR", depths if self.cut_mrr else (None,)),
            )
            for cut in ("" if k is None else f"@{k}" for k in cuts)
        )


def _averaged(name: str) -> str:
    """The mean over criteria of a measure, as a name."""
    if "(" in name:
        return name.replace(")", ",avg=criterion)")
    base, at, cut = name.partition("@")
    return f"{base}(avg=criterion){at}{cut}"


_POP_ALL = {("EvidenceRecall", "pop"): "all", ("EvidencePrecision", "pop"): "all"}
PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            "contract",
            "The evaluation contract of the evidence pipeline (the default)",
            ddof=1,
            macro_f1="post",
            budgets=("1%", *BUDGETS),
        ),
        Profile(
            "e2e",
            "Nested cross-validation: thresholds from TUNE, pooled evidence recall",
            ddof=1,
            macro_f1="criterion",
            defaults={
                ("MAP", "norm"): "found",
                ("EvidenceRecall", "pool"): "micro",
                ("SelectedK", "closed"): "zero",
                ("TPR", "threshold"): "tuned",
            },
            extra=("EvidenceRecall(pool=mean)",),
        ),
        Profile(
            "paper",
            "The paper's ranking metrics: effective K, both populations side by side, candidate-level AUROC",
            ddof=1,
            macro_f1="criterion",
            defaults={
                ("MAP", "norm"): "min_eff",
                ("Precision", "depth"): "k_eff",
                ("AUROC", "level"): "candidate",
                ("AUPRC", "level"): "candidate",
            },
            ks=("1", "3", "5", "10", "ALL"),
            dual=True,
            cut_mrr=True,
        ),
        Profile(
            "audit",
            "The independent audit: MAP over min(gold, K), extraction over all queries, population std over folds",
            ddof=0,
            macro_f1="criterion",
            defaults={("MAP", "norm"): "min", **_POP_ALL},
            cut_mrr=True,
        ),
    )
}


SELECTIVE = Profile(
    "selective",
    "Predictors that may abstain: areas under risk-coverage curves, matched coverage",
    ddof=1,
    macro_f1="post",
)
AREAS = ("AURC", "nAURC", "eAURC", "AUGRC", "nAUGRC", "eAUGRC")
COVERAGES = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")


def selective_names(coverages: Iterable[str] = COVERAGES, loss: str | None = None) -> tuple[str, ...]:
    """The measures of a selective run: step areas with their plateau twins, and everything at each coverage."""
    grid = tuple(coverages)
    chosen = [f"loss={loss}"] if loss else []
    both: tuple[list[str], ...] = ([], ["ties=plateau"])
    return (
        *("Cmax", _with("MAE", chosen)),
        *(_with(name, [*ties, *chosen]) for name in AREAS for ties in both),
        *(_with(name, ["order=oracle", *ties, *chosen]) for name in ("AURC", "AUGRC") for ties in both),
        *(() if loss else ("AUGRC(loss=abs)", "AUGRC(ties=plateau,loss=abs)")),
        *(f"{_with('MAE', chosen)}@coverage={c}" for c in grid),
        *(f"{_with(name, [*ties, *chosen])}@C={c}" for name in ("AURC", "AUGRC") for ties in both for c in grid),
    )


def questionnaire_names(cuts: Iterable[int], loss: str | None = None) -> tuple[str, ...]:
    """The further measures of a questionnaire: by item, agreement, and totals at every cut-off."""
    chosen = [f"loss={loss}"] if loss else []
    return (
        *(_with("MAE", ["avg=item", *chosen]), "WeightedKappa", "TotalMAE"),
        *(name for cut in cuts for name in (f"TotalDecided@cut={cut}", *_bounded(cut))),
    )


def _bounded(cut: int) -> tuple[str, ...]:
    return tuple(
        f"{base}(bound={bound})@cut={cut}"
        for base in ("TotalSensitivity", "TotalSpecificity")
        for bound in ("low", "high")
    )


def _with(base: str, params: list[str]) -> str:
    return f"{base}({','.join(params)})" if params else base


def profile_named(name: str, *, of_items: bool = False) -> Profile:
    """The profile of that name.

    Parameters
    ----------
    name : {"contract", "e2e", "paper", "audit", "selective"}
        Name of the profile.
    of_items : bool, default=False
        Whether it may be "selective", the profile of predictors that may abstain.

    Returns
    -------
    Profile
        The profile.

    Raises
    ------
    UnknownNameError
        If there is no such profile; the message lists them.

    Examples
    --------
    >>> profile_named("audit").ddof
    0
    """
    if name == SELECTIVE.name:
        if of_items:
            return SELECTIVE
        raise UnknownNameError(
            "The profile selective is for predictors that may abstain: use `evidentia selective RUN --seed S`."
        )
    if name not in PROFILES:
        raise UnknownNameError(f"Unknown profile {shown(name)}. Profiles are: {', '.join(PROFILES)}.")
    return PROFILES[name]
