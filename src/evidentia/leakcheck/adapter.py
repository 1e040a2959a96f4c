"""The configured pipeline as the canaries take one. Every time it is asked, one whole fold is run as `evidentia run` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.corpus import Criterion, Posts
from evidentia.errors import InputError
from evidentia.leakage import Features, Post
from evidentia.leakage.pipeline import relabelled
from evidentia.leakcheck.annotated import content_of, corpus_of
from evidentia.leakcheck.watched import FoldRun, Watched, label_free_names, watch
from evidentia.pipeline.enough import tune_shortage
from evidentia.pipeline.fold import Division
from evidentia.pipeline.outputs import decided
from evidentia.pipeline.steps import full
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import System
from evidentia.pipeline.work import Job, run_fold
from evidentia.protocol.folds import existing_folds

EVAL, OTHERS = "0", "1"


@dataclass(eq=False)
class ConfiguredPipeline:
    """All stages of a system, with what is tuned behind them.

    Posts that it was fitted on become TRAIN and TUNE as the protocol divides them; the others that it is asked about are
    EVAL. The stages get all of them together, with the labels that they carry, through the code that `evidentia run` uses: what
    keeps labels from a stage is that code, and it is what the canaries try. Nothing is kept from one ``fit`` to the next.
    """

    system: System
    criteria: tuple[Criterion, ...]
    told: Callable[[], None] | None = None  # called after every fold
    reported: tuple[str, ...] = ()  # the names of features that the stages gave, as of the last fold
    _fitted: list[Post] = field(default_factory=list)
    _asked: tuple[Post, ...] = ()
    _watched: Watched | None = None

    @property
    def label_free(self) -> tuple[str, ...]:
        """The names of the features that no label may move."""
        return label_free_names(self.system)

    def fit(self, posts: Sequence[Post], labels: Bools) -> None:
        """Remember what to learn from: learning takes place beside the posts that are asked about, as in a run."""
        self._fitted = relabelled(posts, labels)
        self._asked, self._watched = (), None

    def features(self, posts: Sequence[Post]) -> Features:
        """Everything that the stages say about the queries of some posts, and what was learnt and tuned for them."""
        return self._about(posts).features

    def predict(self, posts: Sequence[Post]) -> Floats:
        """The score for detection that `evidentia run` writes, posts x criteria."""
        return self._about(posts).detection

    def _about(self, posts: Sequence[Post]) -> Watched:
        """One fold; features and scores of the same posts come from the same one."""
        if self._watched is None or self._asked != tuple(posts):
            self._watched = self._run(posts)
            self._asked, self.reported = tuple(posts), self._watched.reported
            if self.told is not None:
                self.told()
        return self._watched

    def _run(self, asked: Sequence[Post]) -> Watched:
        known = {post.post_id for post in self._fitted}
        new = [post for post in asked if post.post_id not in known]
        if not known or not new:
            raise InputError("The pipeline needs posts to learn from, and others to be asked about.")
        posts = corpus_of([*self._fitted, *new], self.criteria)
        division = self._division(
            posts, {post.post_id: content_of(post).group for post in (*self._fitted, *new)}, known
        )
        at = {post: place for place, post in enumerate(posts.post_ids)}
        places = np.array([at[post.post_id] for post in asked], np.int64)
        with TemporaryDirectory(prefix="evidentia-") as folder:
            store = Checkpoints(Path(folder))
            run_fold(Job(self.system, posts, division, store))
            variant = full(self.system)
            tables = decided(posts, [division], self.system, store, variant)
            return watch(FoldRun(self.system, posts, division, store, variant, tables.deciders[0]), places)

    def _division(self, posts: Posts, groups: dict[str, int], known: set[str]) -> Division:
        """TRAIN, TUNE and EVAL: dealt by ids, groups and the system's seed, never by labels."""
        part = [OTHERS if post in known else EVAL for post in posts.post_ids]
        folds = existing_folds(
            posts.post_ids, part, seed=self.system.seed, groups=[groups[post] for post in posts.post_ids]
        )
        split = folds.inner(EVAL)
        division = Division.of(split, posts, parts=self.system.cross_fit, seed=[self.system.seed, 0, 1])
        if (short := tune_shortage(posts, division, self.system.choices)) is not None:
            raise InputError(f"The thresholds cannot be tuned: TUNE has {short.counts}. Give more posts.")
        return division
