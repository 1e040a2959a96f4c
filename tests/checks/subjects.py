"""A small result that every check can look at, and ways to damage it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import evidentia
from evidentia.checks import CHECKS, Subject
from evidentia.checks.subject import Texts
from evidentia.evaluation import evaluate_run
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.results import Estimate, Finding
from evidentia.synth import synthetic_run
from evidentia.synth.phq8 import synthetic_phq8
from evidentia.tables import DatasetCard, Run
from evidentia.tables.phq8 import read_phq8


def small_run(**knobs: Any) -> Run:
    """60 posts, 4 criteria, 240 queries of which 22 have evidence, with TUNE rows and candidates."""
    made = synthetic_run(seed=7, posts=60, criteria=4, positives=None, splits=True, **knobs)
    card = DatasetCard("small", posts=60, queries=240, positives=22, expected={"AUROC": (0.85, 0.95)})
    return replace(evidentia.read_run(made.per_query, candidates=made.candidates, by=("subreddit",)), card=card)


def small_subject() -> Subject:
    """The run above with all its numbers, 20 resamples, and a record of where its taus were tuned."""
    run = small_run()
    evaluation = evaluate_run(run, resampling=Resampling(resamples=20))
    taus = run.frame.select("fold", "tau_neg", "tau_pos").unique().to_dicts()
    tuned = run.tune_frame.group_by("fold").agg("post_id").rows()
    posts = {fold: sorted(set(ids)) for fold, ids in tuned}
    records = tuple({"rule": "three_state", **row, "tuned_on_posts": posts[row["fold"]]} for row in taus)
    evaluation = replace(evaluation, thresholds=(*evaluation.thresholds, *records))
    texts = {post: f"the words of {post} and of nobody else but {post}" for post in run.queries.post_ids}
    return Subject(evaluation, run, features=("bm25", "length"), texts=Texts(texts, 0.8))


def selective_subject() -> Subject:
    """A PHQ-8 run of 12 participants with all its numbers and curves."""
    items = read_phq8(synthetic_phq8(seed=3, participants=13, failures=1), mode="few_shot")
    return Subject(evaluate_items(items, resampling=Resampling(resamples=0)), items=items)


def found(code: str, subject: Subject) -> Finding:
    """What one check says."""
    return CHECKS[code](subject)


def with_estimate(subject: Subject, name: str, **changes: Any) -> Subject:
    """The subject with one number changed."""
    changed: Estimate = replace(subject.evaluation.measures[name], **changes)
    measures = {**subject.evaluation.measures, name: changed}
    return replace(subject, evaluation=replace(subject.evaluation, measures=measures))


def with_frame(subject: Subject, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Subject:
    """The subject with another frame of queries behind it."""
    return replace(subject, run=replace(subject.run, frame=change(subject.run.frame)))


def with_queries(subject: Subject, **changes: Any) -> Subject:
    """The subject with other arrays behind it."""
    return replace(subject, run=replace(subject.run, queries=replace(subject.run.queries, **changes)))


def edited(array: np.ndarray, at: int, value: Any) -> np.ndarray:
    """A copy with one element changed."""
    copy = array.copy()
    copy[at] = value
    return copy


def save(folder: Path) -> Path:
    """The small run, evaluated and written."""
    evidentia.evaluate(small_run(), resamples=20).save(folder)
    return folder
