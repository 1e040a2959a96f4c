"""Behavioural canaries: change the labels that a pipeline must not see, and watch whether anything moves.

Names can lie; behaviour cannot. Every canary returns a finding with how much it compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats
from evidentia.errors import InputError
from evidentia.results import Finding

PERFECT = 0.99
LEVEL = 0.999
SHOWN = 12
EVAL_LABELS = ("CANARY001", "Nothing on EVAL moves when EVAL labels change")
LABEL_FREE = ("CANARY002", "Label-free features do not move when any label changes")
CHANCE = ("CANARY003", "Trained and judged on permuted labels, the pipeline is at chance")
EASY = ". Labels that the text gives away look the same: see what it is made of"
ALONE = ("CANARY004", "No feature alone gives the label away")


@dataclass(frozen=True)
class Post:
    """A post as it lies on a disk: with its annotations, one label per criterion. ``content`` is anything you need.

    A pipeline must not read ``labels``; the canaries change them and watch.
    """

    post_id: str
    content: object
    labels: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Features:
    """What a model is given: a row for every post and criterion (criteria of a post beside each other), and the names."""

    names: tuple[str, ...]
    values: NDArray[np.float64]


class Pipeline(Protocol):
    """Anything that is trained on posts and says how likely each (post, criterion) holds evidence.

    ``fit`` starts afresh every time. Randomness inside is seeded: the canaries compare bytes.
    """

    def fit(self, posts: Sequence[Post], labels: Bools) -> None:
        """Learn from posts and their labels (posts x criteria)."""

    def features(self, posts: Sequence[Post]) -> Features:
        """The features of posts, as the model sees them."""

    def predict(self, posts: Sequence[Post]) -> Floats:
        """The scores of posts (posts x criteria); larger means evidence is likelier."""


def labels_of(posts: Sequence[Post]) -> Bools:
    """The annotations as a matrix, posts x criteria."""
    return np.array([post.labels for post in posts], bool)


def relabelled(posts: Sequence[Post], labels: Bools) -> list[Post]:
    """The same posts with other annotations."""
    return [replace(post, labels=tuple(row)) for post, row in zip(posts, labels.tolist(), strict=True)]


def canaries(
    pipeline: Pipeline,
    train: Sequence[Post],
    evaluation: Sequence[Post],
    *,
    rng: np.random.Generator,
    label_free: Sequence[str] | None = None,
) -> tuple[Finding, ...]:
    """Put a pipeline through all four canaries; ``label_free`` names the features that use no labels (default: all)."""
    if not train or not evaluation:
        raise InputError("The canaries need posts to train on and posts to evaluate on.")
    if {post.post_id for post in train} & {post.post_id for post in evaluation}:
        raise InputError("Some posts are both trained on and evaluated on. Make the two disjoint.")
    return (
        eval_labels_are_unseen(pipeline, train, evaluation),
        label_free_features_stay(pipeline, train, evaluation, rng=rng, names=label_free),
        permuted_labels_give_chance(pipeline, train, evaluation, rng=rng),
        no_feature_gives_the_label_away(pipeline, train, evaluation),
    )


def eval_labels_are_unseen(pipeline: Pipeline, train: Sequence[Post], evaluation: Sequence[Post]) -> Finding:
    """CANARY001: features and scores of EVAL posts are the same bytes when every EVAL label is turned round, or handed on.

    What compares the labels of one post with each other does not notice that all are turned round, so each post also gets those of
    the post before it.
    """
    labels = labels_of(evaluation)
    turned, handed_on = relabelled(evaluation, ~labels), relabelled(evaluation, np.roll(labels, 1, axis=0))
    asked = (evaluation, evaluation, turned, handed_on)
    before, again, *after = (_trained_on(pipeline, train, posts) for posts in asked)
    if restless := _moved(before, again):
        detail = (
            f"two runs on the same labels differ: seed the pipeline, then ask again (these move: {_some(restless)})"
        )
        return _failed(EVAL_LABELS, detail, 1)
    moved = list(dict.fromkeys(name for run in after for name in _moved(before, run)))
    looked = before[0].values.size + before[1].size
    if moved:
        return _failed(EVAL_LABELS, f"these move: {_some(moved)}", looked)
    return Finding(*EVAL_LABELS, "passed", f"{looked:,} values of {len(evaluation):,} EVAL posts compared", looked)


def _trained_on(pipeline: Pipeline, train: Sequence[Post], posts: Sequence[Post]) -> tuple[Features, Floats]:
    pipeline.fit(train, labels_of(train))
    return pipeline.features(posts), np.asarray(pipeline.predict(posts), np.float64)


def _moved(before: tuple[Features, Floats], after: tuple[Features, Floats]) -> list[str]:
    features = _changed(before[0], after[0], before[0].names)
    return features + (["the scores"] if before[1].tobytes() != after[1].tobytes() else [])


def _changed(before: Features, after: Features, names: Sequence[str]) -> list[str]:
    if before.names != after.names or before.values.shape != after.values.shape:
        return ["the set of features"]
    at = [before.names.index(name) for name in names]
    return [before.names[i] for i in at if before.values[:, i].tobytes() != after.values[:, i].tobytes()]


def label_free_features_stay(
    pipeline: Pipeline,
    train: Sequence[Post],
    evaluation: Sequence[Post],
    *,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
) -> Finding:
    """CANARY002: features that use no labels are the same bytes when the labels of all posts are permuted."""
    posts = [*train, *evaluation]
    pipeline.fit(train, labels_of(train))
    before = pipeline.features(posts)
    other = relabelled(posts, permuted(labels_of(posts), rng=rng))
    pipeline.fit(other[: len(train)], labels_of(other[: len(train)]))
    after = pipeline.features(other)
    wanted = before.names if names is None else tuple(names)
    if unknown := [name for name in wanted if name not in before.names]:
        raise InputError(f"The pipeline has no feature {unknown[0]!r}.")
    if not wanted:
        return Finding(*LABEL_FREE, "not applicable", "no feature is said to be free of labels", 0)
    looked = len(wanted) * len(before.values)
    if moved := _changed(before, after, wanted):
        return _failed(LABEL_FREE, f"these move: {_some(moved)}", looked)
    return Finding(*LABEL_FREE, "passed", f"{looked:,} values of {len(wanted)} features compared", looked)


def permuted(labels: Bools, *, rng: np.random.Generator) -> Bools:
    """The labels of every criterion, dealt anew to the posts: base rates stay, everything else is gone."""
    return np.column_stack([rng.permutation(labels[:, column]) for column in range(labels.shape[1])])


def permuted_labels_give_chance(
    pipeline: Pipeline, train: Sequence[Post], evaluation: Sequence[Post], *, rng: np.random.Generator
) -> Finding:
    """CANARY003: trained and judged on permuted labels, the AUROC within criteria has one half in its 99.9 % interval."""
    posts = [*train, *evaluation]
    other = relabelled(posts, permuted(labels_of(posts), rng=rng))
    learnt, judged = other[: len(train)], other[len(train) :]
    pipeline.fit(learnt, labels_of(learnt))
    auroc = auroc_within_criteria(labels_of(judged), np.asarray(pipeline.predict(judged), np.float64))
    if auroc is None:
        return Finding(*CHANCE, "skipped", "no criterion has both classes among the EVAL posts", 0)
    detail = f"AUROC within criteria {auroc.value:.3f}, {LEVEL:.1%} interval {auroc.low:.3f} to {auroc.high:.3f}"
    detail = f"{detail}, {auroc.pairs:,} pairs"
    if not auroc.holds(0.5):
        return _failed(CHANCE, f"{detail}: it knows labels that nobody could know", auroc.pairs)
    return Finding(*CHANCE, "passed", detail, auroc.pairs)


def no_feature_gives_the_label_away(pipeline: Pipeline, train: Sequence[Post], evaluation: Sequence[Post]) -> Finding:
    """CANARY004: no feature orders the EVAL queries of a criterion almost perfectly, in either direction."""
    pipeline.fit(train, labels_of(train))
    features, labels = pipeline.features(evaluation), labels_of(evaluation)
    looked, detail = 0, []
    for name, column in _with_gaps(features):
        auroc = auroc_within_criteria(labels, column.reshape(labels.shape))
        if auroc is None:
            return Finding(*ALONE, "skipped", "no criterion has both classes among the EVAL posts", 0)
        looked += 1
        if max(auroc.value, 1 - auroc.value) >= PERFECT:
            detail.append(f"{name} (AUROC {auroc.value:.3f}, {auroc.pairs:,} pairs)")
    if detail:
        return _failed(ALONE, f"almost perfect alone: {_some(detail)}{EASY}", looked)
    if not looked:
        return Finding(*ALONE, "not applicable", "the pipeline has no features", 0)
    return Finding(*ALONE, "passed", f"{looked} features looked at", looked)


def _with_gaps(features: Features) -> Iterator[tuple[str, Floats]]:
    """Every feature without its gaps, and where it has some, the gaps as a feature of their own: they can tell as much."""
    for name, column in zip(features.names, features.values.T, strict=True):
        gaps = np.isnan(column)
        yield name, np.where(gaps, 0.0, column)
        if gaps.any():
            yield f"{name} is missing", gaps.astype(float)


def _some(names: Sequence[str]) -> str:
    """The first names, which of a pipeline in order are those nearest to the cause, and how many there are beside them."""
    left = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {left} more" if left > 0 else "")


def _failed(canary: tuple[str, str], message: str, looked: int) -> Finding:
    return Finding(*canary, "failed", message, looked)


@dataclass(frozen=True)
class WithinCriteria:
    """The share of (positive, negative) pairs of the same criterion in the right order, and its interval."""

    value: float
    low: float
    high: float
    pairs: int

    def holds(self, value: float) -> bool:
        """Whether the interval contains a value."""
        return self.low <= value <= self.high


def auroc_within_criteria(labels: Bools, scores: Floats, *, level: float = LEVEL) -> WithinCriteria | None:
    """Pool the pairs of all criteria; ties count one half. None where no criterion has both classes.

    Base rates of criteria can be learnt without seeing anything of a post, so pairs across criteria say nothing. The
    interval is normal, from the influence of every post on the pooled share (a DeLong interval, clustered by post).

    >>> labels = np.array([[True], [False], [True], [False]])
    >>> auroc_within_criteria(labels, np.array([[0.9], [0.1], [0.8], [0.8]])).value
    0.875
    """
    from scipy.special import ndtri

    wins, pairs = np.zeros(labels.shape), 0
    opponents = np.zeros(labels.shape)
    for column in range(labels.shape[1]):
        truth = labels[:, column]
        wins[:, column] = _wins(truth, scores[:, column])
        opponents[:, column] = np.where(truth, np.count_nonzero(~truth), np.count_nonzero(truth))
        pairs += int(np.count_nonzero(truth) * np.count_nonzero(~truth))
    if pairs == 0:
        return None
    value = float(wins.sum() / 2 / pairs)
    influence = ((wins - value * opponents) / pairs).sum(axis=1)
    n = len(influence)
    half = float(ndtri((1 + level) / 2) * np.sqrt((influence**2).sum() * n / max(n - 1, 1)))
    return WithinCriteria(value, value - half, value + half, pairs)


def _wins(truth: Bools, scores: Floats) -> Floats:
    """For each query of a criterion, how many queries of the other class it is on the right side of; ties one half."""
    from scipy.stats import rankdata  # slow to import, and most commands look at no canary

    everyone = rankdata(scores)
    wins = np.empty(len(truth))
    wins[truth] = everyone[truth] - rankdata(scores[truth])  # negatives below
    wins[~truth] = np.count_nonzero(truth) - (everyone[~truth] - rankdata(scores[~truth]))  # positives above
    return wins
