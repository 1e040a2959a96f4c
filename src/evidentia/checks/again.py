"""The checks of a written result, made again as the evaluation made them: of its numbers and queries, not of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.checks.folder import read_subject
from evidentia.checks.subject import Subject
from evidentia.evaluation.files import manifest_of
from evidentia.measures import PROFILES, resolve
from evidentia.measures.core import Additive
from evidentia.results import Evaluation
from evidentia.tables import DatasetCard, Run


def subject_in_memory(folder: Path) -> Subject:
    """A result as it was before it was written, with the card that it was read with and the values behind its means."""
    content = manifest_of(folder)["read"]["card"]
    subject = read_subject(folder, card=None if content is None else _card(content))
    run, evaluation = subject.run, subject.evaluation
    if run is not None:
        run = replace(run, card=run.card if content is not None else None)
        evaluation = replace(evaluation, per_query=_per_query(evaluation, run))
    return replace(subject, evaluation=evaluation, run=run, folder=None)


def _card(content: Mapping[str, Any]) -> DatasetCard:
    """The card of a manifest; targets are not looked at."""
    kept: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}
    return DatasetCard(**(kept | {"targets": {}}))


def _per_query(evaluation: Evaluation, run: Run) -> dict[str, tuple[Floats, Bools]]:
    """The values of every query behind each mean over all of them, and which count."""
    behind = {}
    for estimate in evaluation.overall():
        definition = resolve(estimate.definition, PROFILES[evaluation.profile]).definition
        kind, args = definition.kind, definition.args
        if isinstance(kind, Additive) and kind.per_query is not None:
            mask = definition.population.mask(run.queries, args)
            counted = np.ones(len(run.queries), bool) if mask is None else mask
            behind[estimate.name] = (kind.per_query(run.queries, args), counted)
    return behind
