"""The configured pipeline as the canaries take one. Every time it is asked, one whole fold is run as `evidentia run` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from evidentia.array_types import Bools
from evidentia.corpus import Criterion, Posts
from evidentia.errors import InputError
from evidentia.leakage import Post
from evidentia.leakcheck.watched import FoldRun, Watched, WatchedPipeline, label_free_names, watch
from evidentia.pipeline.outputs import decided
from evidentia.pipeline.plan import Division, tune_shortage
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import System, full
from evidentia.pipeline.work import FoldJob, run_fold
from evidentia.protocol.folds import existing_folds
from evidentia.tables.queries import Frozen

EVAL, OTHERS = "0", "1"


@dataclass(eq=False)
class ConfiguredPipeline(WatchedPipeline):
    """All stages of a system, with what is tuned behind them.

    Posts that it was fitted on become TRAIN and TUNE as the protocol divides them; the others that it is asked about are
    EVAL. The stages get all of them together, with the labels that they carry, through the code that `evidentia run` uses: what
    keeps labels from a stage is that code, and it is what the canaries try.
    """

    system: System
    criteria: tuple[Criterion, ...]

    @property
    def label_free(self) -> tuple[str, ...]:
        """The names of the features that no label may move."""
        return label_free_names(self.system)

    def _run(self, asked: Sequence[Post]) -> Watched:
        new, known = self._new(asked), {post.post_id for post in self._fitted}
        posts = corpus_of([*self._fitted, *new], self.criteria)
        division = self._division(
            posts, {post.post_id: content_of(post).group for post in (*self._fitted, *new)}, known
        )
        at = {post: place for place, post in enumerate(posts.post_ids)}
        places = np.array([at[post.post_id] for post in asked], np.int64)
        with TemporaryDirectory(prefix="evidentia-") as folder:
            store = Checkpoints(Path(folder))
            run_fold(FoldJob(self.system, posts, division, store))
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


@dataclass(frozen=True, eq=False)
class Annotated(Frozen):
    """The sentences of one post and their gold as annotated, sentences x criteria. Posts of a group are never parted."""

    sent_uids: tuple[str, ...]
    texts: tuple[str, ...]
    gold: Bools
    group: int


def annotated_posts(posts: Posts, groups: Sequence[int]) -> list[Post]:
    """The posts of a corpus, each with what was annotated about it."""
    assert posts.gold is not None
    annotated = []
    for at, labels in enumerate(posts.has_evidence().tolist()):
        rows = slice(int(posts.offsets[at]), int(posts.offsets[at + 1]))
        content = Annotated(posts.sent_uids[rows], posts.texts[rows], posts.gold[rows], groups[at])
        annotated.append(Post(posts.post_ids[at], content, tuple(labels)))
    return annotated


def corpus_of(posts: Sequence[Post], criteria: tuple[Criterion, ...]) -> Posts:
    """The corpus that these posts are, under the labels that they carry now; ordered by id, whatever a post is used for."""
    ordered = sorted(posts, key=lambda post: post.post_id)
    contents = [content_of(post) for post in ordered]
    return Posts(
        post_ids=tuple(post.post_id for post in ordered),
        sent_uids=tuple(uid for content in contents for uid in content.sent_uids),
        texts=tuple(text for content in contents for text in content.texts),
        offsets=np.cumsum([0, *(len(content.texts) for content in contents)], dtype=np.int64),
        criteria=criteria,
        gold=np.concatenate([gold_under(post, criteria) for post in ordered]),
    )


def content_of(post: Post) -> Annotated:
    """The sentences of a post."""
    if not isinstance(post.content, Annotated):
        raise InputError("A post for the configured pipeline holds its sentences: make it with `annotated_posts`.")
    return post.content


def gold_under(post: Post, criteria: tuple[Criterion, ...]) -> Bools:
    """The gold sentences under the labels of a post: as annotated where there is evidence, none where there is not.

    Where a label says evidence and nothing was annotated, one sentence stands for it, chosen by a hash of the post and the
    criterion: it is the same every time, and neither the text nor any label has a say in it.
    """
    annotated, labels = content_of(post).gold, np.array(post.labels, bool)
    gold: Bools = annotated & labels
    for column in np.flatnonzero(labels & ~annotated.any(axis=0)).tolist():
        gold[_stand_in(post.post_id, criteria[column].criterion_id, len(gold)), column] = True
    return gold


def _stand_in(post_id: str, criterion_id: str, sentences: int) -> int:
    return int.from_bytes(sha256(f"{post_id}\0{criterion_id}".encode()).digest()[:8]) % sentences
