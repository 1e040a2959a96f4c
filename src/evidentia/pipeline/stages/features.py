"""What a trained reranker knows about a candidate: what others said of it, of its neighbours, and of the rest of its post."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Floats, Ints
from evidentia.corpus import Posts
from evidentia.pipeline.stage import View

Columns = Mapping[str, Floats]


def candidate_features(view: View) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Names and values, sentences x criteria x features; nothing in them comes from labels of these posts."""
    columns: list[tuple[str, Floats]] = []  # not by name: a stage may be called like a feature
    for name, score in view.scores.items():
        columns.extend(_about(name, score, view.posts.offsets).items())
    columns.extend(_about_sentences(view.posts).items())
    criteria = len(view.posts.criteria)
    columns.append(("criterion", np.arange(criteria, dtype=np.float64)[None, :]))
    stacked = np.empty((len(view.posts.texts), criteria, len(columns)), np.float32)
    for at, (_, values) in enumerate(columns):
        stacked[:, :, at] = values
    return tuple(name for name, _ in columns), stacked


def _about(name: str, score: Floats, offsets: Ints) -> Columns:
    """A score, those of the sentences before and after, the best and the mean of the post, and the best for other criteria."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    starts, size = offsets[:-1], np.diff(offsets)[:, None]
    most = np.maximum.reduceat(score, starts, axis=0)
    mean = np.add.reduceat(score, starts, axis=0) / size
    before, after = neighbours(score, offsets)
    return {
        name: score,
        f"{name} before": before,
        f"{name} after": after,
        f"{name} below best": most[owner] - score,
        f"{name} mean": mean[owner],
        f"{name} elsewhere": other_criteria(score),
    }


def neighbours(score: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    """The scores of the sentences before and after in the same post; the least score of the post where there is none.

    >>> [side.ravel().tolist() for side in neighbours(np.array([[3.0], [1.0], [2.0]]), np.array([0, 3]))]
    [[1.0, 3.0, 1.0], [1.0, 2.0, 1.0]]
    """
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    before = np.minimum.reduceat(score, offsets[:-1], axis=0)[owner]
    after = before.copy()
    same = owner[1:] == owner[:-1]
    before[1:][same] = score[:-1][same]
    after[:-1][same] = score[1:][same]
    return before, after


def other_criteria(score: Floats) -> Floats:
    """The best score of the same row for any other criterion; with a single criterion its own.

    >>> other_criteria(np.array([[3.0, 1.0, 2.0]])).tolist()
    [[2.0, 3.0, 3.0]]
    """
    if score.shape[1] < 2:
        return score
    two = np.partition(score, -2, axis=1)[:, -2:]
    at = np.argmax(score, axis=1)
    others = np.repeat(two[:, 1:], score.shape[1], axis=1)
    others[np.arange(len(score)), at] = two[:, 0]
    return others


def _about_sentences(posts: Posts) -> Columns:
    size = posts.lengths[posts.owner]
    place = np.arange(len(posts.texts)) - posts.offsets[:-1][posts.owner]
    characters = np.array([len(text) for text in posts.texts], np.float64)
    return {
        "place in post": (place / np.maximum(size - 1, 1))[:, None],
        "sentences in post": size[:, None].astype(np.float64),
        "characters in sentence": characters[:, None],
        "questions in sentence": np.array([text.count("?") for text in posts.texts], np.float64)[:, None],
    }
