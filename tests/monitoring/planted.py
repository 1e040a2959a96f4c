"""A small model, fresh posts that it never saw, and drifts that are planted in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.corpus import Posts
from evidentia.monitoring.signals import Observed
from evidentia.pipeline.predict import Trained, load_trained
from evidentia.synth import synthetic_corpus
from evidentia.tables.queries import NEG, POS

USUAL = 250  # queries with evidence among 100 posts, as in the posts of training


def model(home: Path) -> Trained:
    return load_trained(home / "run")


def fresh(posts: int, seed: int, **settings: Any) -> Posts:
    """Posts as those of training were, under ids of their own."""
    usual = {"positives": posts * USUAL // 100, "mean_sentences": 6}
    made = synthetic_corpus(posts=posts, seed=seed, **(usual | settings))
    return replace(made, post_ids=tuple(f"{seed}-{post}" for post in made.post_ids))


def observed(trained: Trained, posts: Posts, *, labels: bool = False) -> Observed:
    batch = Observed.of(trained, posts.unlabelled(), "batch")
    if not labels:
        return batch
    return replace(batch, has_evidence=posts.has_evidence(), labelled=np.ones(len(posts), bool))


def one_sentence(posts: Posts) -> Posts:
    """A broken splitter: every post is one sentence."""
    pairs = zip(posts.offsets[:-1].tolist(), posts.offsets[1:].tolist(), strict=True)
    texts = tuple(" ".join(posts.texts[start:stop]) for start, stop in pairs)
    offsets = np.arange(len(posts) + 1)
    uids = tuple(f"{post}_0" for post in posts.post_ids)
    return replace(posts.unlabelled(), texts=texts, sent_uids=uids, offsets=offsets)


def other_words(posts: Posts) -> Posts:
    """Every second word is one that nobody knows."""
    texts = (text.split() for text in posts.texts)
    changed = (" ".join(word[::-1] + "q" if at % 2 else word for at, word in enumerate(words)) for words in texts)
    return replace(posts, texts=tuple(changed))


def overconfident(batch: Observed, odds: float = 2.0) -> Observed:
    """A model that says of everything that evidence is likelier than it did."""
    prob = 1 / (1 + (1 / np.clip(batch.prob, 1e-9, 1 - 1e-9) - 1) * np.exp(-odds))
    state = np.where(prob >= 0.5, POS, np.where(batch.prob < np.median(batch.prob), NEG, batch.state))
    return replace(batch, prob=prob, detection=batch.detection + odds, state=state)


def able(batch: Observed) -> Observed:
    """A model that is right about nine queries of ten."""
    right = np.random.default_rng(2).random(batch.has_evidence.shape) < 0.9
    return replace(batch, state=np.where(batch.has_evidence == right, POS, NEG))


def missed(batch: Observed) -> Observed:
    """Evidence that has moved to where the model sees none: nothing but labels can tell."""
    rng = np.random.default_rng(1)
    return replace(batch, has_evidence=rng.permuted(batch.has_evidence, axis=0))
