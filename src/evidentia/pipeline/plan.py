"""What is to be run, and where it is kept meanwhile: folds, the folder of a run, and whether it is the same run again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.corpus import Posts
from evidentia.errors import InputError, OutputError
from evidentia.pipeline.fold import Division
from evidentia.pipeline.store import Checkpoints, write_file
from evidentia.pipeline.system import System
from evidentia.pipeline.work import Job, Progress, run_jobs
from evidentia.protocol import outer_folds
from evidentia.protocol.folds import Folds, InnerSplit
from evidentia.protocol.near_duplicates import text_groups
from evidentia.results import dumps, loads

FINAL = "final"
WORK = "work"
STATE = "state.json"


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be run: the system, the posts with their gold, the folds, and whether a model for use is wanted too."""

    system: System
    posts: Posts
    folds: Folds
    final: bool = True

    @classmethod
    def of(cls, system: System, posts: Posts, *, folds: int, group_copies: bool = True, final: bool = True) -> Plan:
        """Deal the posts into folds; posts of the same or nearly the same text are never parted."""
        texts = [
            " ".join(posts.texts[start:stop]) for start, stop in zip(posts.offsets, posts.offsets[1:], strict=False)
        ]
        groups = text_groups(texts) if group_copies else None
        dealt = outer_folds(posts.post_ids, seed=system.seed, folds=folds, groups=groups)
        return cls(system, posts, dealt, final)

    def divisions(self) -> list[Division]:
        """The posts of every fold, and of the model for use."""
        made = [
            Division.of(split, self.posts, parts=self.system.cross_fit, seed=[self.system.seed, code, 1])
            for code, split in enumerate(self.folds.splits())
        ]
        return [*made, self._final()] if self.final else made

    def _final(self) -> Division:
        """All posts: seven tenths to learn from, the rest to tune on, nothing to judge."""
        code = len(self.folds.labels)
        ids = np.array(self.folds.post_ids)[
            np.random.default_rng([self.system.seed, code]).permutation(len(self.posts))
        ]
        cut = 7 * len(ids) // 10
        split = InnerSplit(FINAL, tuple(sorted(ids[:cut])), tuple(sorted(ids[cut:])), ())
        return Division.of(split, self.posts, parts=self.system.cross_fit, seed=[self.system.seed, code, 1])


def identity(plan: Plan, config: Mapping[str, Any]) -> str:
    """A hash of everything that decides the outcome: configuration, posts, labels, version."""
    posts = plan.posts
    assert posts.gold is not None
    said = json.dumps([version("evidentia"), config, plan.folds.seed, plan.final], sort_keys=True)
    digest = hashlib.sha256(said.encode())
    for part in (posts.post_ids, posts.sent_uids, posts.texts, [str(one) for one in posts.criteria]):
        digest.update(json.dumps(part).encode())
    digest.update(posts.offsets.tobytes() + np.packbits(posts.gold).tobytes())
    return digest.hexdigest()


def start(out: Path, mark: str, *, resume: bool) -> Checkpoints:
    """Open the folder of a run: a new one, or with ``resume`` one that was begun with the same configuration and corpus."""
    state = out / WORK / STATE
    if resume and state.is_file():
        if _mark_of(state) != mark:
            raise InputError(
                f"{out.name} was begun with another configuration, corpus or version. Choose another folder with -o, or begin anew."
            )
    elif out.exists() and any(out.iterdir()):
        hint = "Continue it with --resume, or choose" if state.is_file() else "Choose"
        raise OutputError(f"{out.name} exists and is not empty. {hint} another folder with -o.")
    else:
        write_file(state, dumps({"schema": "evidentia.work/1", "identity": mark}).encode())
    for stale in (out / WORK).glob("*/.*"):  # begun and not finished when the run was killed
        shutil.rmtree(stale, ignore_errors=True)
    return Checkpoints(out / WORK)


def _mark_of(state: Path) -> str | None:
    try:
        return str(loads(state.read_bytes())["identity"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def compute(plan: Plan, store: Checkpoints, *, workers: int, progress: Progress | None = None) -> None:
    """Run all folds; what is kept is not done again."""
    jobs = [Job(plan.system, plan.posts, division, store) for division in plan.divisions()]
    run_jobs(jobs, workers=workers or min(os.cpu_count() or 1, len(jobs)), progress=progress)
