"""Put the pipeline of a configuration through the canaries, on some of its posts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np

from evidentia.checks.leakage import FEATURE_NAMES
from evidentia.checks.registry import CHECKS
from evidentia.checks.subject import Subject
from evidentia.corpus import Posts
from evidentia.errors import InputError
from evidentia.leakage import canaries
from evidentia.leakcheck.adapter import ConfiguredPipeline, annotated_posts
from evidentia.pipeline.build import system_of
from evidentia.pipeline.config import Config
from evidentia.pipeline.progress import Bar, Progress, no_bar
from evidentia.pipeline.system import System
from evidentia.protocol import outer_folds
from evidentia.protocol.near_duplicates import text_groups
from evidentia.results import Finding, dumps
from evidentia.running import embed, read_posts_of

SCHEMA = "evidentia.leakcheck/1"
POSTS = 300
FEWEST = 30
PARTS = 3  # one part is asked about; of the others seven tenths are TRAIN
FOLDS_RUN = 8  # times that the canaries fit


@dataclass(frozen=True)
class Leakcheck:
    """What the canaries found, on how many posts, and which stages went through them."""

    posts: int
    asked: int
    seed: int
    stages: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return all(finding.status != "failed" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        return {
            "schema": SCHEMA,
            "passed": self.passed,
            "posts": self.posts,
            "eval_posts": self.asked,
            "seed": self.seed,
            "stages": list(self.stages),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self) -> str:
        """Strict JSON."""
        return dumps(self.to_dict())


def leakcheck(config: Config, *, posts: int = POSTS, seed: int | None = None, bar: Bar = no_bar) -> Leakcheck:
    """Run the configured stages as `evidentia run` does, under labels that change, and say what moved that must not.

    ``seed`` (default: the configuration's) chooses the posts, those that are asked about, and how labels are permuted.
    """
    seed = config.protocol.seed if seed is None else seed
    if posts < FEWEST:
        raise InputError(f"{posts} posts are too few for the canaries to mean anything. Give {FEWEST} or more.")
    some = chosen_posts(read_posts_of(config).posts, posts, seed=seed)
    system = system_of(config)
    embed(config, some, bar=bar)
    alike = config.protocol.groups == "duplicates"
    with bar("canaries") as progress:
        return run_canaries(system, some, seed=seed, group_copies=alike, progress=progress)


def run_canaries(
    system: System, posts: Posts, *, seed: int, group_copies: bool = True, progress: Progress | None = None
) -> Leakcheck:
    """Ask a system about a third of some posts that it may learn from the others about, under labels that change."""
    groups = text_groups(texts_of(posts)).tolist() if group_copies else list(range(len(posts)))
    dealt = outer_folds(posts.post_ids, seed=seed, folds=PARTS, groups=groups)
    judged = {post for post, part in zip(dealt.post_ids, dealt.fold.tolist(), strict=True) if part == 0}
    ours = annotated_posts(posts, groups)
    train, evaluation = ([post for post in ours if (post.post_id in judged) is asked] for asked in (False, True))
    folds = count(1)
    on_fold = None if progress is None else lambda: progress(next(folds), FOLDS_RUN)
    pipeline = ConfiguredPipeline(system, posts.criteria, on_fold=on_fold)
    rng = np.random.default_rng([seed, PARTS])
    findings = canaries(pipeline, train, evaluation, rng=rng, label_free=pipeline.label_free)
    names = tuple(step.name for step in system)
    return Leakcheck(len(posts), len(evaluation), seed, names, (*findings, names_finding(pipeline.reported)))


def chosen_posts(posts: Posts, number: int, *, seed: int) -> Posts:
    """Some of the posts, drawn by a seed, in the order of the corpus; all where there are no more."""
    if len(posts) < FEWEST:
        raise InputError(f"The corpus has {len(posts)} posts. The canaries need {FEWEST} or more.")
    if len(posts) <= number:
        return posts
    return posts.take(np.sort(np.random.default_rng(seed).choice(len(posts), number, replace=False)))


def texts_of(posts: Posts) -> list[str]:
    """Every post as one text."""
    return [" ".join(posts.texts[start:stop]) for start, stop in pairwise(posts.offsets.tolist())]


def names_finding(names: tuple[str, ...]) -> Finding:
    """FEAT001 on the names that stages give to what they read; a blank separates words as an underscore does."""
    plain = tuple(dict.fromkeys(name.replace(" ", "_") for name in names))
    return CHECKS[FEATURE_NAMES](Subject(features=plain or None))
