"""Frozen results and their strict-JSON form."""

from evidentia.results.attribution import Attribution, KRange, KRegret, Losses
from evidentia.results.comparison import Comparison, Delta, Design, pairs
from evidentia.results.curve import Curve
from evidentia.results.estimate import Distribution, Estimate, Finding, NotComputed, OtherDefinition
from evidentia.results.evaluation import Evaluation
from evidentia.results.selective import SelectiveComparison
from evidentia.results.strict_json import dumps, dumps_by_line, loads

__all__ = [
    "Attribution",
    "Comparison",
    "Curve",
    "Delta",
    "Design",
    "Distribution",
    "Estimate",
    "Evaluation",
    "Finding",
    "KRange",
    "KRegret",
    "Losses",
    "NotComputed",
    "OtherDefinition",
    "SelectiveComparison",
    "dumps",
    "dumps_by_line",
    "loads",
    "pairs",
]
