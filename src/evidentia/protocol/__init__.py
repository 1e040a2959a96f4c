"""The protocol: post-disjoint folds, and everything that is chosen on TUNE and applied to EVAL of the same fold."""

from evidentia.protocol.folds import Folds, InnerSplit, existing_folds, outer_folds
from evidentia.protocol.near_duplicates import text_groups
from evidentia.protocol.thresholds import UNTUNABLE, Threshold, fpr_budget_threshold, shared_scores, tuned_decisions

__all__ = [
    "UNTUNABLE",
    "Folds",
    "InnerSplit",
    "Threshold",
    "existing_folds",
    "fpr_budget_threshold",
    "outer_folds",
    "shared_scores",
    "text_groups",
    "tuned_decisions",
]
