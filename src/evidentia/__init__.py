"""Evidentia evaluates and verifies systems that find evidence in text, say when there is none, and know how sure they are.

>>> import evidentia
>>> evidentia.resolve_name("ndcg_cut_10")
'nDCG@10'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evidentia import arrays, integrations, selective
    from evidentia.assessment.run import assess
    from evidentia.errors import EvidentiaError, InputError, OutputError, UnknownNameError
    from evidentia.pipeline.estimator import EvidencePipeline
    from evidentia.pipeline.serving import Answer, Evidence, PostAnswers, Predictor, load
    from evidentia.results import Estimate, Evaluation
    from evidentia.tables import Items, Run, load_card, read_items, read_run, read_trec, validate_run
    from evidentia.verify.course import Verification
    from evidentia.verifying import verify_result
    from evidentia.workflow import compare, evaluate

__version__ = "0.1.0"
_HOME = {
    "EvidentiaError": "errors",
    "InputError": "errors",
    "OutputError": "errors",
    "UnknownNameError": "errors",
    "EvidencePipeline": "pipeline.estimator",
    **dict.fromkeys(("Answer", "Evidence", "PostAnswers", "Predictor", "load"), "pipeline.serving"),
    "Estimate": "results",
    "Evaluation": "results",
    "Items": "tables",
    "Run": "tables",
    "load_card": "tables",
    "read_items": "tables",
    "read_run": "tables",
    "read_trec": "tables",
    "validate_run": "tables",
    "Verification": "verify.course",
    "verify_result": "verifying",
    "assess": "assessment.run",
    "compare": "workflow",
    "evaluate": "workflow",
}
__all__ = [
    "Answer",
    "Estimate",
    "Evaluation",
    "Evidence",
    "EvidencePipeline",
    "EvidentiaError",
    "InputError",
    "Items",
    "OutputError",
    "PostAnswers",
    "Predictor",
    "Run",
    "UnknownNameError",
    "Verification",
    "arrays",
    "assess",
    "compare",
    "evaluate",
    "integrations",
    "load",
    "load_card",
    "read_items",
    "read_run",
    "read_trec",
    "resolve_name",
    "selective",
    "validate_run",
    "verify_result",
]


def __getattr__(name: str) -> Any:
    """Load names when they are first used, so that importing the package, and the command's help, stay fast."""
    if name in {"arrays", "integrations", "selective"}:
        return importlib.import_module(f"evidentia.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'evidentia' has no attribute {name!r}")
    return getattr(importlib.import_module(f"evidentia.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def resolve_name(name: str, profile: str = "contract") -> str:
    """The name of a measure as a profile prints it; common names of other tools are understood.

    Parameters
    ----------
    name : str
        Name of a measure, with its group if any: ``"nDCG@10"``, ``"ndcg_cut_10"``, ``"AUROC[fold=3]"``.
    profile : {"contract", "e2e", "paper", "audit"}, default="contract"
        Profile that decides what the name means.

    Returns
    -------
    str
        The canonical name; choices that the profile makes by default are left out.

    Raises
    ------
    UnknownNameError
        If there is no such measure, parameter or profile; the message lists near names.

    Examples
    --------
    >>> resolve_name("map_cut_10"), resolve_name("map_cut_10", profile="audit")
    ('MAP@10', 'MAP(norm=gold)@10')
    """
    from evidentia.measures import canonical, profile_named

    return canonical(name, profile_named(profile))
