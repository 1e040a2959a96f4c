"""Nested cross-validation of anything that can fit and predict: TRAIN teaches, TUNE and EVAL are predicted, per outer fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError
from evidentia.protocol.folds import Folds


def nested_predictions(
    make: Callable[[], Any],
    features: Any,
    labels: Bools,
    *,
    post_ids: Sequence[str],
    criterion_ids: Sequence[str],
    folds: Folds,
    score: str = "prob",
) -> pl.DataFrame:
    """The TUNE and EVAL rows of every outer fold, as a run that can be read, tuned on and evaluated.

    ``make`` gives a fresh model for every fold. It is fitted on TRAIN rows with ``fit(features, labels)`` and asked with
    ``predict_proba`` (the column of the second class) or, if it has none, ``predict``. There is one row of ``features``
    per query; ``score`` names the column that the predictions become: prob, or detection_score if they are none.
    """
    if not len(labels) == len(post_ids) == len(criterion_ids):
        raise InputError("labels, post_ids and criterion_ids must have one entry per query.")
    unknown = set(post_ids) - set(folds.post_ids)
    if unknown:
        raise InputError(f"{len(unknown)} posts have no fold. Make the folds of all posts.")
    table = pl.DataFrame(
        {"post_id": list(post_ids), "criterion_id": list(criterion_ids), "has_evidence": labels.astype(np.int8)}
    )
    posts, parts = np.asarray(post_ids), []
    for split in folds.splits():
        model = make()
        train = np.flatnonzero(np.isin(posts, split.train))
        model.fit(features[train], labels[train])
        for part, members in (("TUNE", split.tune), ("EVAL", split.eval)):
            rows = np.flatnonzero(np.isin(posts, members))
            predictions = pl.Series(score, _predicted(model, features[rows], rows))
            parts.append(table[rows].with_columns(predictions, fold=pl.lit(split.fold), split=pl.lit(part)))
    return pl.concat(parts)


def _predicted(model: Any, features: Any, rows: Ints) -> Floats:
    if hasattr(model, "predict_proba"):
        predictions = np.asarray(model.predict_proba(features), float)[:, 1]
    else:
        predictions = np.asarray(model.predict(features), float)
    if predictions.shape != (len(rows),):
        raise InputError(
            f"The model gave {predictions.shape} predictions for {len(rows)} queries. Give one number per query."
        )
    return predictions
