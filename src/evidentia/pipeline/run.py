"""A pipeline under nested cross-validation: folds in parallel, every step kept, then tables, thresholds and models."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import evidentia
from evidentia.corpus import Posts
from evidentia.errors import InputError, OutputError
from evidentia.pipeline.decide import Decider, Scored, Variant, decider
from evidentia.pipeline.fold import Division
from evidentia.pipeline.store import Checkpoints, into_place, save_parts, write_file
from evidentia.pipeline.system import GATE, System
from evidentia.pipeline.tables import candidate_rows, query_rows, selected_column
from evidentia.pipeline.work import Job, Progress, run_jobs
from evidentia.protocol import Tuning, outer_folds, to_document, tune
from evidentia.protocol.folds import Folds, InnerSplit
from evidentia.protocol.near_duplicates import text_groups
from evidentia.protocol.tuning import tune_rows
from evidentia.results import dumps, dumps_by_line, loads
from evidentia.tables import read_run

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
    said = json.dumps([evidentia.__version__, config, plan.folds.seed, plan.final], sort_keys=True)
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


@dataclass(frozen=True, eq=False)
class Tables:
    """What a run says, as it is written."""

    per_query: pl.DataFrame
    tune: pl.DataFrame
    candidates: pl.DataFrame
    tuning: Tuning
    deciders: tuple[Decider, ...]


def tables_of(plan: Plan, store: Checkpoints, variant: Variant) -> Tables:
    """Tune, decide and lay out what the folds said, up to where a variant goes."""
    gold = plan.posts.gold
    assert gold is not None
    divisions = [division for division in plan.divisions() if division.fold != FINAL]
    scored = [Scored.of(plan.posts, division, plan.system, store, variant) for division in divisions]
    ranked_by = variant.ranked_by
    tuned_on, judged = (
        pl.concat(
            [query_rows(one, gold, getattr(one.division, part), split=split, ranked_by=ranked_by) for one in scored]
        )
        for part, split in (("tune", "TUNE"), ("eval", "EVAL"))
    )
    tuning = tune(read_run(judged, tune=tuned_on), variant.choices)
    known = tuning.by_fold()
    made = tuple(decider(one, gold, plan.system, variant, known[one.division.fold]) for one in scored)
    if variant.selects != "nothing":
        pairs = zip(scored, made, strict=True)
        chosen = [selected_column(one, one.division.eval, by, ranked_by=ranked_by) for one, by in pairs]
        judged = judged.with_columns(pl.concat(chosen))
    names = [step.name for step in plan.system.steps]
    candidates = pl.concat(
        [
            candidate_rows(one, gold, one.division.eval, by, names, ranked_by=ranked_by)
            for one, by in zip(scored, made, strict=True)
        ]
    )
    return Tables(judged, tuned_on, candidates, tuning, made)


def write_tables(tables: Tables, folder: Path) -> Tables:
    """Write the tables and what was tuned; the thresholds name the file that they were tuned on."""
    content = _parquet(tables.tune)
    source = {
        "role": "tune",
        "name": "tune.parquet",
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": tables.tune.height,
    }
    tuning = replace(tables.tuning, inputs=(source,))
    write_file(folder / "tune.parquet", content)
    write_file(folder / "per_query.parquet", _parquet(tables.per_query))
    write_file(folder / "candidates.parquet", _parquet(tables.candidates))
    write_file(folder / "thresholds.json", dumps_by_line(to_document(tuning), ("folds", "inputs")).encode())
    chosen = {"schema": "evidentia.tuned/1", "folds": [one.to_dict() for one in tables.deciders]}
    write_file(folder / "tuned.json", dumps_by_line(chosen, ("folds",)).encode())
    return replace(tables, tuning=tuning)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def write_models(
    plan: Plan,
    store: Checkpoints,
    deciders: Sequence[Decider],
    variant: Variant,
    folder: Path,
    config: Mapping[str, Any],
) -> None:
    """Copy what every fold learnt beside what it tuned: a folder per fold that `evidentia predict` can use."""
    known = {one.tuning.fold: one for one in deciders}
    for division in plan.divisions():
        made = known.get(division.fold) or final_decider(plan, store, division, variant)

        def fill(place: Path, division: Division = division, made: Decider = made) -> None:
            for step in plan.system:
                (place / step.name).mkdir()
                save_parts(place / step.name, store.parts(division.fold, step.name))
            document = {
                "schema": "evidentia.model/1",
                "config": dict(config),
                "criteria": [
                    {"criterion_id": one.criterion_id, "text": one.text, "prototypes": list(one.prototypes)}
                    for one in plan.posts.criteria
                ],
                "trained_on": sorted(plan.posts.post_ids[post] for post in division.train.tolist()),
                "tuning": made.tuning.to_dict(),
                "decisions": made.to_dict(),
            }
            (place / "pipeline.json").write_text(dumps(document), encoding="utf-8")

        name = division.fold if division.fold == FINAL else f"fold-{division.fold}"
        shutil.rmtree(folder / name, ignore_errors=True)
        into_place(folder / name, fill)


def final_decider(plan: Plan, store: Checkpoints, division: Division, variant: Variant) -> Decider:
    """Tune the model for use on the posts that it did not learn from."""
    gold = plan.posts.gold
    assert gold is not None
    scored = Scored.of(plan.posts, division, plan.system, store, variant)
    rows = query_rows(scored, gold, division.tune, split="EVAL", ranked_by=variant.ranked_by)
    tuning = tune_rows(read_run(rows.drop("fold", "split")).queries, variant.choices)
    if tuning.reason is not None:
        raise InputError(
            f"The model for use {tuning.reason}. Give more posts with evidence, or set run.final_model to false."
        )
    return decider(scored, gold, plan.system, variant, tuning)


def full(system: System) -> Variant:
    """The whole pipeline."""
    return Variant("full pipeline", system.last, GATE, "states", system.choices)
