"""Posts as the canaries hand them round, and back: sentence-level gold follows the labels, whatever these become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from evidentia.array_types import Bools
from evidentia.corpus import Criterion, Posts
from evidentia.errors import InputError
from evidentia.leakage import Post
from evidentia.tables.queries import Frozen


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
