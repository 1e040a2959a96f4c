"""Small corpora and models for tests of stages: an encoder that counts words, and a fold of a few posts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats
from evidentia.corpus import Posts
from evidentia.corpus.posts import Criterion
from evidentia.pipeline.plan import Division
from evidentia.pipeline.stage import Parts, Stage, StepResult, View
from evidentia.pipeline.system import Step
from evidentia.pipeline.work import run_step
from evidentia.protocol.folds import outer_folds
from evidentia.results import dumps, loads
from evidentia.synth import synthetic_corpus

WIDTH = 48


class WordCounter:
    """Counts words into as many buckets as it is wide: a real encoder's promises, without its weights."""

    def __init__(self, width: int = WIDTH) -> None:
        self.width = width
        self.asked: list[tuple[str, int]] = []

    @property
    def key(self) -> str:
        return f"word-counter-{self.width}"

    def encode(self, texts: Sequence[str], *, kind: str, progress: object = None) -> NDArray[np.float32]:
        self.asked.append((kind, len(texts)))
        made = np.zeros((len(texts), self.width))
        for row, text in enumerate(texts):
            for word in text.lower().split():
                made[row, int(sha256(word.encode()).hexdigest(), 16) % self.width] += 1
        length = np.sqrt((made**2).sum(1, keepdims=True))
        return (made / np.where(length > 0, length, 1)).astype(np.float32)


def posts_of(texts: Sequence[Sequence[str]], criteria: Sequence[Criterion], gold: Bools | None = None) -> Posts:
    """A corpus written in the test itself."""
    offsets = np.concatenate([[0], np.cumsum([len(post) for post in texts])])
    names = tuple(f"p{at}" for at in range(len(texts)))
    uids = tuple(f"p{at}_{place}" for at, post in enumerate(texts) for place in range(len(post)))
    return Posts(names, uids, tuple(text for post in texts for text in post), offsets, tuple(criteria), gold)


@cache
def corpus(posts: int = 40) -> Posts:
    """An invented corpus with gold."""
    return synthetic_corpus(posts=posts, mean_sentences=8)


@cache
def division(posts: int = 40) -> Division:
    """Its first fold."""
    made = corpus(posts)
    return Division.of(outer_folds(made.post_ids, seed=7).splits()[0], made, parts=2, seed=[7, 0, 1])


def after(steps: Sequence[Step], posts: Posts, parted: Division) -> View:
    """The view behind some steps."""
    assert posts.gold is not None
    view = View.of(posts)
    for step in steps:
        view = view.with_scores(step.name, run_step(step, view, parted, posts.gold, seed=7).scores)
        view = view if step.keep is None else view.narrowed(step.name, step.keep)
    return view


def saved(parts: Parts) -> Parts:
    """Parts as they come back from a file: the document through strict JSON, arrays as safetensors keeps them."""
    from safetensors.numpy import load, save

    arrays = {name: np.ascontiguousarray(value) for name, value in parts.arrays.items()}
    return Parts(loads(dumps(dict(parts.document)).encode()), load(save(arrays)))


def asked_again(stage: Stage, outcome: StepResult, view: View) -> Floats:
    """What the saved model says of the posts in view."""
    space, model = saved(outcome.space), saved(outcome.model)
    return stage.score(space, model, stage.inputs(space, view))


def claims_of_a_stage(stage: Stage, view: View, posts: Posts, parted: Division) -> StepResult:
    """What every stage promises: the same bytes twice, saved and asked alone too, and nothing from the labels of EVAL."""
    assert posts.gold is not None
    run: Callable[[Bools], StepResult] = lambda gold: run_step(Step("it", stage), view, parted, gold, seed=3)  # noqa: E731
    outcome = run(posts.gold)
    assert np.isfinite(outcome.scores).all()
    flipped = posts.gold.copy()
    rows = posts.sentences_of(parted.eval)
    flipped[rows] = ~flipped[rows]
    assert run(flipped).scores.tobytes() == outcome.scores.tobytes()
    places = parted.others[::-1][:3]
    rows = places if stage.per == "post" else posts.sentences_of(places)
    alone = [asked_again(stage, outcome, view.take(np.array([place]))) for place in places]
    assert np.concatenate(alone).tobytes() == outcome.scores[rows].tobytes()
    return outcome
