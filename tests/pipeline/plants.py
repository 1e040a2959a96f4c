"""Leaks as they happen, one for each stage: planted into the real code, for the canaries to find."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from evidentia.corpus import Posts
from evidentia.pipeline import outputs, work
from evidentia.pipeline.decide import Decider, Scored
from evidentia.pipeline.graphs import adjacency
from evidentia.pipeline.stage import CandidateTable, Lesson, Parts, Sentences, View
from evidentia.pipeline.stages import words
from evidentia.pipeline.stages.classifiers import Lexical
from evidentia.pipeline.stages.gate import PooledGate, QueryTable
from evidentia.pipeline.stages.propagation import Propagation
from evidentia.pipeline.stages.retrievers import Bm25
from evidentia.protocol import Tuning
from evidentia.tables import Run


def gold_reaches_the_stages(patch: pytest.MonkeyPatch) -> None:
    """Somebody needed the labels in a view for a plot, and left them there."""
    patch.setattr(Posts, "unlabelled", lambda self: self)


def gold_in(view: View) -> np.ndarray:
    assert view.posts.gold is not None
    return view.posts.gold


def retriever_lifts_gold(patch: pytest.MonkeyPatch) -> None:
    """A retriever over an index that knows which sentences were annotated."""
    gold_reaches_the_stages(patch)
    plain = Bm25.inputs

    def inputs(self: Bm25, space: Parts, view: View) -> Sentences:
        found = plain(self, space, view)
        return replace(found, features=found.features + 0.5 * gold_in(view))

    patch.setattr(Bm25, "inputs", inputs)


def retriever_learns_in_secret(patch: pytest.MonkeyPatch) -> None:
    """A retriever that says it does not learn, and shifts every criterion by its share of gold."""

    def fit(self: Bm25, inputs: Sentences, lesson: Lesson, *, seed: int) -> Parts:
        return Parts({}, {"shift": lesson.gold.mean(0)})

    patch.setattr(Bm25, "fit", fit)
    patch.setattr(Bm25, "score", lambda self, space, model, inputs: inputs.features + model.arrays["shift"])


def words_of_gold_sentences(patch: pytest.MonkeyPatch) -> None:
    """A vocabulary made of the gold sentences alone: a choice of features by labels that nobody thinks of as learning."""
    gold_reaches_the_stages(patch)

    def space(self: Lexical, train: View) -> Parts:
        gold = gold_in(train).any(1)
        return words.learn_vocabulary(
            [text for text, yes in zip(train.posts.texts, gold, strict=True) if yes], self.kind
        )

    patch.setattr(Lexical, "space", space)


def learner_is_taught_eval(patch: pytest.MonkeyPatch) -> None:
    """The classifier of words is fitted before the posts are parted."""
    plain = work._Taught.lesson

    def lesson(self: work._Taught, posts: np.ndarray) -> Lesson:
        if not isinstance(self.stage, Lexical):
            return plain(self, posts)
        everybody = np.concatenate([posts, self.division.eval])
        return Lesson(everybody, self.division.tune, self.gold)

    patch.setattr(work._Taught, "lesson", lesson)


def graph_passes_gold_on(patch: pytest.MonkeyPatch) -> None:
    """Neighbours send whether they are gold beside what they score."""
    gold_reaches_the_stages(patch)
    plain = Propagation.inputs

    def inputs(self: Propagation, space: Parts, view: View) -> CandidateTable:
        found = plain(self, space, view)
        values = found.features.copy()
        values[:, :, 4] += adjacency(found.offsets) @ gold_in(view).astype(float)
        return replace(found, features=values)

    patch.setattr(Propagation, "inputs", inputs)


def gamma_is_tuned_on_eval(patch: pytest.MonkeyPatch) -> None:
    """Node probabilities and gamma are chosen on the posts that are judged."""
    plain = outputs.decider

    def decider(scored: Scored, *rest: object) -> Decider:
        swapped = replace(scored.division, tune=scored.division.eval)
        return plain(replace(scored, division=swapped), *rest)  # type: ignore[arg-type]

    patch.setattr(outputs, "decider", decider)


def gate_counts_gold(patch: pytest.MonkeyPatch, name: str = "richness") -> None:
    """The gate hears how many gold sentences a query has, under a name that says nothing."""
    gold_reaches_the_stages(patch)
    plain = PooledGate.inputs

    def inputs(self: PooledGate, space: Parts, view: View) -> QueryTable:
        found = plain(self, space, view)
        count = np.add.reduceat(gold_in(view).astype(np.float32), view.posts.offsets[:-1], axis=0)
        values = np.concatenate([found.features[:, :, :-1], count[:, :, None], found.features[:, :, -1:]], axis=2)
        return QueryTable(values, found.offsets, (*found.names[:-1], name, found.names[-1]))

    patch.setattr(PooledGate, "inputs", inputs)


def taus_are_tuned_on_eval(patch: pytest.MonkeyPatch) -> None:
    """Calibration and thresholds are chosen on the rows that they judge."""
    plain = outputs.tune

    def tune(run: Run, choices: object) -> Tuning:
        return plain(replace(run, tune=run.queries), choices)  # type: ignore[arg-type]

    patch.setattr(outputs, "tune", tune)


def retriever_is_not_seeded(patch: pytest.MonkeyPatch) -> None:
    """Ties are broken by noise that is another one in every run; here by counting, so that the test itself is the same."""
    calls = count(10)  # draws that do not separate the classes of the few TUNE posts by chance

    def score(self: Bm25, space: Parts, model: Parts, inputs: Sentences) -> np.ndarray:
        noise = np.random.default_rng(next(calls)).normal(size=inputs.features.shape)
        return np.asarray(inputs.features + 1e-9 * noise)

    patch.setattr(Bm25, "score", score)
