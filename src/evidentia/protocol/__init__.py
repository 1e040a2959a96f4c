"""The protocol: post-disjoint folds, and everything that is chosen on TUNE and applied to EVAL of the same fold."""

from evidentia.protocol.apply import apply_tuning
from evidentia.protocol.calibration import choose_calibrator
from evidentia.protocol.calibrators import Calibrator, fit_calibrator
from evidentia.protocol.certificates import PostCertificate, PostScores, certify, certify_alerts, certify_screening
from evidentia.protocol.document import ensure_tuning_writable, from_document, read_tuning, to_document, write_tuning
from evidentia.protocol.dynamic_k import GammaPoint, KPolicy, gamma_sweep
from evidentia.protocol.folds import Folds, InnerSplit, existing_folds, outer_folds
from evidentia.protocol.near_duplicates import text_groups
from evidentia.protocol.nested import nested_predictions
from evidentia.protocol.provenance import Provenance, posts_sha256
from evidentia.protocol.targets import Targets, parse_targets, unnamed_targets
from evidentia.protocol.three_state import ThreeState, score_grid, tune_three_state
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
from evidentia.protocol.tuning import Choices, FoldTuning, Tuning, tune

__all__ = [
    "UNTUNABLE",
    "Calibrator",
    "Choices",
    "FoldTuning",
    "Folds",
    "GammaPoint",
    "InnerSplit",
    "KPolicy",
    "PostCertificate",
    "PostScores",
    "Provenance",
    "Rule",
    "Targets",
    "ThreeState",
    "Threshold",
    "Tuning",
    "apply_tuning",
    "certify",
    "certify_alerts",
    "certify_screening",
    "choose_calibrator",
    "choose_threshold",
    "ensure_tuning_writable",
    "existing_folds",
    "fit_calibrator",
    "fpr_budget_threshold",
    "from_document",
    "gamma_sweep",
    "nested_predictions",
    "outer_folds",
    "parse_rule",
    "parse_targets",
    "posts_sha256",
    "read_tuning",
    "score_grid",
    "shared_score",
    "text_groups",
    "to_document",
    "tune",
    "tune_three_state",
    "tuned_decisions",
    "unnamed_targets",
    "write_tuning",
]
