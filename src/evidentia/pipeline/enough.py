"""Whether a corpus is large enough for a plan: what is certain to fail after training is refused before it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evidentia.corpus import Posts
from evidentia.errors import InputError, counted
from evidentia.pipeline.fold import Division
from evidentia.pipeline.plan import FINAL, Plan
from evidentia.protocol import Choices
from evidentia.protocol.shortage import ALWAYS_FITS, Shortage, shortage


def refuse_too_few(plan: Plan) -> None:
    """Refuse a plan whose posts cannot be divided, cross-fitted or calibrated on as its system wants to."""
    divisions = plan.divisions()
    if any(step.stage.learns for step in plan.system.steps):
        _refuse_one_part(divisions)
    shortages = {division.fold: tune_shortage(plan.posts, division, plan.system.choices) for division in divisions}
    short = {fold: lack for fold, lack in shortages.items() if lack is not None}
    if short:
        raise InputError(_said(short, len(plan.folds.labels)))


def tune_shortage(posts: Posts, division: Division, choices: Choices) -> Shortage | None:
    """What the TUNE posts of a fold lack for calibrators and thresholds to be chosen on them, if anything."""
    labels = posts.has_evidence()[division.tune]
    post = np.repeat(np.arange(len(labels)), labels.shape[1])
    named = [posts.post_ids[place] for place in division.tune.tolist()]
    return shortage(labels.ravel(), post, named, method=choices.calibrate, seed=choices.seed)


def _refuse_one_part(divisions: list[Division]) -> None:
    """A stage that is cross-fitted on one part alone would learn from nothing."""
    for division in divisions:
        if len(np.unique(division.part)) < 2:
            raise InputError(
                f"Fold {division.fold}: the {counted(len(division.train), 'TRAIN post')} are copies of one text and must "
                "not be parted, and cross-fitting needs 2 texts. Give more posts."
            )


def _said(short: Mapping[str, Shortage], folds: int) -> str:
    """Which folds lack what, and what can be done about it."""
    first, lack = next(iter(short.items()))
    of_folds = [fold for fold in short if fold != FINAL]
    where = f"in {len(of_folds)} of {folds} folds (first: fold {first})" if of_folds else "of the model for use"
    remedies = ["Give the corpus more such posts"]
    if all(each.comparing for each in short.values()):
        remedies.append(f'set [gate] calibrate = "{ALWAYS_FITS}", which compares nothing')
    if not of_folds:
        remedies.append("set [run] final_model = false")
    message = f"Scores {where} cannot be made probabilities: TUNE has {lack.counts}."
    return f"{message} {', or '.join(remedies)}."
