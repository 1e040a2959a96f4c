"""The protocol: thresholds chosen on TUNE and applied to EVAL of the same fold."""

from evidentia.protocol.thresholds import UNTUNABLE, Threshold, fpr_budget_threshold, shared_scores, tuned_decisions

__all__ = ["UNTUNABLE", "Threshold", "fpr_budget_threshold", "shared_scores", "tuned_decisions"]
