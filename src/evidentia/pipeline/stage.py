"""What a stage of the pipeline is. Labels enter through ``fit`` alone; everything else sees texts and earlier scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.corpus.posts import offsets_of, owner_of, rows_of
from evidentia.tables.queries import Frozen, read_only
from evidentia.workers import side_by_side

Arrays = Mapping[str, NDArray[Any]]
Per = Literal["sentence", "post"]
Derived = TypeVar("Derived")


@dataclass(frozen=True, eq=False)
class Parts:
    """Something learnt, in the form that is saved: a document and arrays, never code."""

    document: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    arrays: Arrays = field(default_factory=lambda: MappingProxyType({}))

    def joined(self, other: Parts) -> Parts:
        """Both together; they must not share a name."""
        assert not (self.document.keys() & other.document.keys())
        assert not (self.arrays.keys() & other.arrays.keys())
        return Parts({**self.document, **other.document}, {**self.arrays, **other.arrays})

    def under(self, name: str) -> Parts:
        """The same under names that begin with one of their own, to be joined with others."""
        document, arrays = (
            {f"{name}/{key}": value for key, value in part.items()} for part in (self.document, self.arrays)
        )
        return Parts(document, arrays)

    def within(self, name: str) -> Parts:
        """What was put under a name.

        >>> Parts({"a": 1}).under("one").joined(Parts({"b": 2})).within("one").document
        {'a': 1}
        """
        return self.derived(f"within {name}", lambda parts: parts._cut(f"{name}/"))

    def _cut(self, start: str) -> Parts:
        document, arrays = (
            {key.removeprefix(start): value for key, value in part.items() if key.startswith(start)}
            for part in (self.document, self.arrays)
        )
        return Parts(document, arrays)

    def derived(self, name: str, make: Callable[[Parts], Derived]) -> Derived:
        """Something that is made of these parts alone, made once and kept as long as they are; it is never saved."""
        if name not in self._derived:
            self._derived[name] = make(self)
        derived: Derived = self._derived[name]
        return derived

    @cached_property
    def _derived(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class View(Frozen):
    """What a stage may see of some posts: their texts, what the stages before it said, and which candidates are left.

    ``scores`` holds a matrix sentences x criteria for every stage so far, ``kept`` marks the candidates that reached this one:
    at least one of every query.
    """

    posts: Posts
    scores: Mapping[str, Floats]
    kept: Bools

    @classmethod
    def of(cls, posts: Posts) -> View:
        """All sentences are candidates, and nobody has said anything yet."""
        kept = np.ones((len(posts.texts), len(posts.criteria)), bool)
        return cls(posts.unlabelled(), MappingProxyType({}), kept)

    def take(self, posts: Ints) -> View:
        """The same about some of the posts."""
        rows = self.posts.sentences_of(posts)
        scores = {name: score[rows] for name, score in self.scores.items()}
        return View(self.posts.take(posts), MappingProxyType(scores), self.kept[rows])

    def with_scores(self, name: str, score: Floats) -> View:
        """After one more stage has spoken."""
        return replace(self, scores=MappingProxyType({**self.scores, name: read_only(score)}))

    def narrowed(self, name: str, keep: int) -> View:
        """With the best candidates of each query by the scores of a stage; equal scores keep the order of the post."""
        return replace(self, kept=self.kept & (ranks(self.scores[name], self.kept, self.posts.offsets) < keep))


@dataclass(frozen=True, eq=False)
class Lesson(Frozen):
    """The posts to learn from, those to stop early on, and the gold of both; gold of all others reads False.

    Posts are places in the inputs that come with the lesson.
    """

    posts: Ints
    tune: Ints
    gold: Bools


@dataclass(frozen=True, eq=False)
class Sentences(Frozen):
    """Inputs with a row for every sentence, dense or sparse."""

    features: Any
    offsets: Ints
    by_row: ClassVar[tuple[str, ...]] = ("features",)

    def rows(self, posts: Ints) -> Ints:
        """The sentences of some posts."""
        return rows_of(posts, self.offsets)

    def take(self, posts: Ints) -> Self:
        """The same about some of the posts."""
        cut = {name: getattr(self, name)[self.rows(posts)] for name in self.by_row}
        return replace(self, offsets=offsets_of(posts, self.offsets), **cut)


@dataclass(frozen=True, eq=False)
class CandidateTable(Sentences):
    """Inputs about candidates: ``kept`` says which sentences are some, ``names`` what the columns are."""

    kept: Bools
    names: tuple[str, ...] = ()
    by_row: ClassVar[tuple[str, ...]] = ("features", "kept")

    def candidates(self, posts: Ints) -> tuple[Ints, Ints]:
        """The candidates of some posts: their sentences, and their criteria."""
        return candidates_of(posts, self.kept, self.offsets)


@dataclass(frozen=True, eq=False)
class StepResult:
    """What a step learnt, and what it says of all posts: of TRAIN posts by models that had not seen them.

    ``scores`` has a row per sentence or per post, as the stage says. Where the stage learns, posts outside the division score
    0, and so do TRAIN posts before a gate: no stage comes after it that would learn from them.
    """

    space: Parts
    model: Parts
    scores: Floats


class Inputs(Protocol):
    """What a model reads about some posts."""

    def take(self, posts: Ints) -> Any:
        """The same about some of the posts."""


class Stage(Protocol):
    """One step of the pipeline, as configured.

    ``space`` is learnt from the TRAIN posts without labels (a vocabulary, document frequencies), ``inputs`` is what the model
    reads, ``fit`` learns from labels, and ``score`` gives a number per sentence and criterion (a gate: per post and
    criterion); larger means evidence is likelier. What is said of a post never depends on the posts that are asked with it.
    """

    @property
    def learns(self) -> bool:
        """Whether ``fit`` looks at labels; then later stages learn from cross-fitted scores."""

    @property
    def per(self) -> Per:
        """What the rows of ``score`` are: sentences, or posts."""

    def space(self, train: View) -> Parts:
        """What can be learnt without labels."""

    def inputs(self, space: Parts, view: View) -> Inputs:
        """What the model reads about every candidate of the posts in view."""

    def fit_each(self, inputs: Any, lessons: Sequence[Lesson], *, seed: int, threads: int = 1) -> list[Parts]:
        """A model for each lesson, learnt from its posts; their seeds begin at ``seed``. Threads change no byte."""

    def score(self, space: Parts, model: Parts, inputs: Any) -> Floats:
        """What the model says of everything that ``inputs`` is about."""


class _Alone:
    """A stage that learns every lesson for itself, and has no space of its own.

    Only what asks nothing of torch, which has one state for all, may learn ``in_threads``.
    """

    per: ClassVar[Per] = "sentence"
    in_threads: ClassVar[bool] = False

    def space(self, train: View) -> Parts:
        """Nothing."""
        return Parts()

    def fit(self, inputs: Any, lesson: Lesson, *, seed: int) -> Parts:
        """The model, learnt from the posts of the lesson."""
        raise NotImplementedError

    def fit_each(self, inputs: Any, lessons: Sequence[Lesson], *, seed: int, threads: int = 1) -> list[Parts]:
        """A model for each lesson."""
        learn = partial(self.fit, inputs)
        tasks = [partial(learn, lesson, seed=seed + number) for number, lesson in enumerate(lessons)]
        return side_by_side(tasks, threads if self.in_threads else 1)


class Supervised(_Alone):
    """A stage that learns from labels."""

    learns: ClassVar[bool] = True


class Unsupervised(_Alone):
    """A stage that learns nothing from labels: what it reads is its answer."""

    learns: ClassVar[bool] = False

    def fit(self, inputs: Any, lesson: Lesson, *, seed: int) -> Parts:
        """Nothing to learn from labels."""
        return Parts()

    def score(self, space: Parts, model: Parts, inputs: Any) -> Floats:
        """What was read."""
        scores: Floats = inputs.features
        return scores


def ranks(score: Floats, kept: Bools, offsets: Ints) -> Ints:
    """The place of every sentence among the candidates of its query, best first from 0; the others come after them.

    >>> ranks(np.array([[1.0], [3.0], [2.0]]), np.array([[True], [True], [False]]), np.array([0, 3])).T.tolist()
    [[1, 0, 2]]
    """
    owner = owner_of(offsets)
    place = np.empty(score.shape, np.int64)
    for column in range(score.shape[1]):
        order = np.lexsort((-score[:, column], ~kept[:, column], owner))
        place[order, column] = np.arange(len(order)) - offsets[:-1][owner]
    return place


def best(score: Floats, kept: Bools, offsets: Ints) -> Floats:
    """The best score among the candidates of each query, posts x criteria."""
    highest: Floats = np.maximum.reduceat(np.where(kept, score, -np.inf), offsets[:-1], axis=0)
    return highest


def worst(score: Floats, kept: Bools, offsets: Ints) -> Floats:
    """The lowest score among the candidates of each query, posts x criteria: what stands in where there is nothing."""
    return -best(-score, kept, offsets)


def fill_others(scores: Floats, kept: Bools, offsets: Ints) -> Floats:
    """Scores in which what is no candidate scores as the lowest of its query."""
    return np.where(kept, scores, worst(scores, kept, offsets)[owner_of(offsets)])


def candidates_of(posts: Ints, kept: Bools, offsets: Ints) -> tuple[Ints, Ints]:
    """The candidates of some posts, in the order of the posts: their sentences, and their criteria.

    >>> [part.tolist() for part in candidates_of(np.array([1, 0]), np.eye(3, dtype=bool), np.array([0, 2, 3]))]
    [[2, 0, 1], [2, 0, 1]]
    """
    rows = rows_of(posts, offsets)
    at, criterion = np.nonzero(kept[rows])
    return rows[at], criterion
