"""Twins of the multi-label measures: how much of a post's list of criteria the gate gets right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.results.measure import Args
from evidentia.verify.detection import cells, f1
from evidentia.verify.recipes import over
from evidentia.verify.study import Study
from evidentia.verify.twins import Column, SumTwin, TwinFamily

family = TwinFamily("multi-label")


def _right(study: Study, rows: Bools) -> tuple[Floats, Floats]:
    """Criteria that are right, and criteria, of every post."""
    return study.per_post(study.gate == study.label, rows), study.per_post(study.everyone, rows)


@family.posts("ExactMatch", proportion=True)
def exact_match(study: Study, args: Args, rows: Bools) -> Sequence[Column]:
    """Posts with every criterion right."""
    right, size = _right(study, rows)
    return (size > 0) & (right == size), size > 0


@family.posts("HammingScore")
def hamming_score(study: Study, args: Args, rows: Bools) -> Sequence[Column]:
    """The share of right criteria of every post."""
    right, size = _right(study, rows)
    return right / np.maximum(size, 1), size > 0


@family.posts("HammingLoss")
def hamming_loss(study: Study, args: Args, rows: Bools) -> Sequence[Column]:
    """The share of wrong criteria of every post."""
    right, size = _right(study, rows)
    return (size - right) / np.maximum(size, 1), size > 0


family.add("F1", SumTwin(columns=cells, finish=f1), when={"avg": "micro"})


def _scores(study: Study, rows: Bools) -> tuple[Floats, Bools]:
    """F1 of every post, NaN where nothing is positive and nothing was said; and the posts that there are."""
    hits, wrong = study.per_post(study.gate & study.label, rows), study.per_post(study.gate != study.label, rows)
    return over(2 * hits, 2 * hits + wrong), study.per_post(study.everyone, rows) > 0


def _empty_posts(study: Study, args: Args, rows: Bools) -> dict[str, Any]:
    score, held = _scores(study, rows)
    return {"posts_with_nothing_to_find_and_nothing_said": int((np.isnan(score) & held).sum())}


@family.posts("F1", when={"avg": "post"}, details=_empty_posts)
def post_f1(study: Study, args: Args, rows: Bools) -> Sequence[Column]:
    """F1 of every post; 0/0 is what ``empty`` says."""
    score, held = _scores(study, rows)
    return np.where(np.isnan(score), float(args["empty"]), score) * held, held


@family.posts("F1", when={"avg": "post_weighted"})
def weighted_post_f1(study: Study, args: Args, rows: Bools) -> Sequence[Column]:
    """F1 of every post, by its number of gold criteria."""
    score, _ = _scores(study, rows)
    gold = study.per_post(study.label, rows)
    return np.nan_to_num(score) * gold, gold
