"""A classifier over vectors: what it learns, and that it promises what every stage promises."""

from __future__ import annotations

import numpy as np
import pytest

from evidentia.corpus.posts import Criterion
from evidentia.errors import InputError
from evidentia.pipeline.plan import Division
from evidentia.pipeline.stage import Lesson, View
from evidentia.pipeline.stages.classifiers import Vectors
from evidentia.pipeline.system import Step
from evidentia.pipeline.work import run_step

from .bench import claims_of_a_stage, corpus, division, posts_of

pytestmark = pytest.mark.usefixtures("words")


def test_it_keeps_its_promises() -> None:
    claims_of_a_stage(Vectors("words"), View.of(corpus()), corpus(), division())


def test_words_that_were_evidence_before_are_found_again() -> None:
    texts = [["dog barks", "sleepless night", "fine day"], ["sleepless again", "dog runs", "day off"]] * 4
    gold = np.array([["sleepless" in text] for post in texts for text in post])
    posts = posts_of(texts, [Criterion("a", "sleep"), Criterion("b", "nothing")], np.repeat(gold, 2, 1) & [True, False])
    parted = Division("f", np.arange(4), np.arange(4, 6), np.arange(6, 8), np.array([0, 1, 0, 1]))
    scores = run_step(Step("v", Vectors("words")), View.of(posts), parted, posts.gold, seed=1).scores
    judged, truth = scores[18:, 0], gold[18:, 0]
    assert judged[truth].min() > judged[~truth].max()
    assert (scores[:, 1] == -6).all(), "a criterion without gold scores far below zero"


def test_what_stands_around_a_sentence_is_heard() -> None:
    """Gold is the sentence behind "listen": nothing in the sentence itself tells."""
    texts = [["day", "listen", "day", "day"], ["listen", "day", "day", "day"]] * 6
    gold = np.array([[place and post[place - 1] == "listen"] for post in texts for place in range(4)], bool)
    view = View.of(posts_of(texts, [Criterion("a", "x")]))
    lesson = Lesson(np.arange(12), np.arange(0), gold)
    for context, best in ((0.0, None), (0.5, 1)):
        stage = Vectors("words", strength=100.0, context=context)
        space = stage.space(view)
        inputs = stage.inputs(space, view)
        scores = stage.score(space, stage.fit(inputs, lesson, seed=0), inputs)[4:8, 0]
        assert np.ptp(scores[1:]) < 1e-9 if best is None else np.argmax(scores) == best


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="strength above 0"):
        Vectors("words", strength=0.0)
