"""What a run says: tables, thresholds and models, from the scores that its folds have kept."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.corpus import Posts
from evidentia.errors import InputError, counted, shown
from evidentia.pipeline.cutting import SentenceCut
from evidentia.pipeline.decide import Decider, Scored, decider
from evidentia.pipeline.plan import FINAL, Division, Plan
from evidentia.pipeline.store import Checkpoints, into_place, save_parts, write_file, write_sums
from evidentia.pipeline.system import System, Variant
from evidentia.pipeline.tables import candidate_rows, query_rows, selected_column
from evidentia.pipeline.vocabulary import known_words, usual_share
from evidentia.protocol import Tuning, to_document, tune
from evidentia.protocol.thresholds import REJECT_ALL
from evidentia.protocol.tuning import tune_rows
from evidentia.results import dumps, dumps_by_line
from evidentia.tables import read_run

FINAL_ROWS = "tune_final.parquet"  # the TUNE queries of the model for use, to choose its thresholds anew


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
    divisions = [division for division in plan.divisions() if division.fold != FINAL]
    return decided(plan.posts, divisions, plan.system, store, variant)


def decided(
    posts: Posts, divisions: Sequence[Division], system: System, store: Checkpoints, variant: Variant
) -> Tables:
    """The same about folds that are named one by one."""
    gold = posts.gold
    assert gold is not None
    scored = [Scored.of(posts, division, system, store, variant) for division in divisions]
    ranked_by = variant.ranked_by
    tuned_on, judged = (
        pl.concat(
            [query_rows(fold, gold, getattr(fold.division, part), split=split, ranked_by=ranked_by) for fold in scored]
        )
        for part, split in (("tune", "TUNE"), ("eval", "EVAL"))
    )
    tuning = tune(read_run(judged, tune=tuned_on, allow_disjoint=True), variant.choices)
    _refuse_untuned(tuning)
    known = tuning.by_fold()
    deciders = tuple(decider(fold, gold, system, variant, known[fold.division.fold]) for fold in scored)
    if variant.selects != "nothing":
        pairs = zip(scored, deciders, strict=True)
        chosen = [selected_column(fold, fold.division.eval, by, ranked_by=ranked_by) for fold, by in pairs]
        judged = judged.with_columns(pl.concat(chosen))
    names = [step.name for step in system.steps]
    candidates = pl.concat(
        [
            candidate_rows(fold, gold, fold.division.eval, by, names, ranked_by=ranked_by)
            for fold, by in zip(scored, deciders, strict=True)
        ]
    )
    return Tables(judged, tuned_on, candidates, tuning, deciders)


def _refuse_untuned(tuning: Tuning) -> None:
    """A fold without thresholds cannot decide anything."""
    bad = [fold for fold in tuning.folds if fold.reason is not None and fold.reason != REJECT_ALL]
    if bad:
        raise InputError(
            f"{counted(len(bad), 'fold')} of {len(tuning.folds)} {bad[0].reason} (first: {shown(bad[0].fold)}). "
            "Give more posts with evidence, or fewer folds."
        )


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
    chosen = {"schema": "evidentia.tuned/1", "folds": [decider.to_dict() for decider in tables.deciders]}
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
    *,
    folder: Path,
    config: Mapping[str, Any],
    splitter: str | None = None,
) -> None:
    """Copy what every fold learnt beside what it tuned: a folder per fold that `evidentia predict` can use."""
    known = {entry.tuning.fold: entry for entry in deciders}
    for division in plan.divisions():
        decider = known.get(division.fold) or final_decider(plan, store, division, variant)

        def fill(place: Path, division: Division = division, decider: Decider = decider) -> None:
            learnt = {step.name: store.parts(division.fold, step.name) for step in plan.system}
            for name, parts in learnt.items():
                (place / name).mkdir()
                save_parts(place / name, parts)
            document = {
                "schema": "evidentia.model/2",
                "config": dict(config),
                "criteria": [
                    {"criterion_id": entry.criterion_id, "text": entry.text, "prototypes": list(entry.prototypes)}
                    for entry in plan.posts.criteria
                ],
                "sentences": asdict(SentenceCut.of(plan.posts.take(division.train), splitter)),
                "unknown_words": usual_share(plan.posts.take(division.tune), known_words(learnt)),
                "trained_on": sorted(plan.posts.post_ids[post] for post in division.train.tolist()),
                "tuning": decider.tuning.to_dict(),
                "decisions": decider.to_dict(),
            }
            (place / "pipeline.json").write_text(dumps(document), encoding="utf-8")
            write_sums(place)

        name = division.fold if division.fold == FINAL else f"fold-{division.fold}"
        into_place(folder / name, fill)


def write_final_rows(plan: Plan, store: Checkpoints, variant: Variant, folder: Path) -> None:
    """Write the TUNE queries of the model for use, where there is one."""
    for division in plan.divisions():
        if division.fold == FINAL:
            scored = Scored.of(plan.posts, division, plan.system, store, variant)
            write_file(folder / FINAL_ROWS, _parquet(_tune_queries(plan, scored, variant)))


def _tune_queries(plan: Plan, scored: Scored, variant: Variant) -> pl.DataFrame:
    assert plan.posts.gold is not None
    return query_rows(scored, plan.posts.gold, scored.division.tune, split="TUNE", ranked_by=variant.ranked_by)


def final_decider(plan: Plan, store: Checkpoints, division: Division, variant: Variant) -> Decider:
    """Tune the model for use on the posts that it did not learn from."""
    gold = plan.posts.gold
    assert gold is not None
    scored = Scored.of(plan.posts, division, plan.system, store, variant)
    rows = _tune_queries(plan, scored, variant)
    tuning = tune_rows(read_run(rows.drop("fold", "split"), allow_disjoint=True).queries, variant.choices)
    if tuning.reason not in {None, REJECT_ALL}:
        raise InputError(
            f"The model for use {tuning.reason}. Give more posts with evidence, or set run.final_model to false."
        )
    return decider(scored, gold, plan.system, variant, tuning)
