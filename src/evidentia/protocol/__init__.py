"""The protocol: post-disjoint folds, and everything that is chosen on TUNE and applied to EVAL of the same fold."""

from evidentia.protocol.folds import Folds, InnerSplit, existing_folds, outer_folds
from evidentia.protocol.near_duplicates import text_groups
from evidentia.protocol.provenance import Provenance, posts_sha256
from evidentia.protocol.thresholds import (
    UNTUNABLE,
    Rule,
    Threshold,
    choose_threshold,
    fpr_budget_threshold,
    parse_rule,
    shared_score,
    tuned_decisions,
)

__all__ = [
    "UNTUNABLE",
    "Folds",
    "InnerSplit",
    "Provenance",
    "Rule",
    "Threshold",
    "choose_threshold",
    "existing_folds",
    "fpr_budget_threshold",
    "outer_folds",
    "parse_rule",
    "posts_sha256",
    "shared_score",
    "text_groups",
    "tuned_decisions",
]
