"""An ablation: the pipeline one stage longer each time, each judged on the same folds, with paired deltas between them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import stdev
from typing import Any

import polars as pl

from evidentia import workflow
from evidentia.checks.folder import sha256
from evidentia.errors import InputError
from evidentia.evaluation.files import CONTRACT_COLUMNS, ensure_writable
from evidentia.pipeline.config import Config
from evidentia.pipeline.outputs import tables_of, write_tables
from evidentia.pipeline.plan import Plan
from evidentia.pipeline.progress import LOG, Bar, no_bar
from evidentia.pipeline.store import Checkpoints, write_file
from evidentia.pipeline.system import Variant, ablation, baseline
from evidentia.pipeline.workspace import LOCK, WORK, Note, no_note
from evidentia.report.ablation import write_ablation
from evidentia.results import Comparison, Estimate, Evaluation
from evidentia.results.ablation import Ablation, Gain, Row
from evidentia.running import (
    RESULT,
    ConfiguredCorpus,
    Judging,
    has_passed,
    is_finished,
    judge,
    planned,
    read_posts_of,
    scored,
    write_manifest,
)

MANIFEST_SCHEMA = "evidentia.ablation-manifest/2"
LATER = ("manifest.json", "verification.json", LOG)  # written later, or with times in them
SPREAD = "spread"  # what was said under other seeds, as the spread over them is computed from
SHARED = ("nDCG@10", "AUROC", "AUPRC", "Recall@10", "MRR", "Brier")
SELECTION = ("EvidenceRecall", "EvidencePrecision", "SelectedK(given=gate)")
COLUMNS = (*SHARED, *SELECTION, "ScreeningSensitivity", "AlertPrecision", "AlertsPer1000")


def ablate(
    config: Config,
    out: Path,
    *,
    seeds: int = 1,
    resume: bool = False,
    workers: int | None = None,
    judging: Judging | None = None,
    bar: Bar = no_bar,
    note: Note = no_note,
) -> Ablation:
    """Run the stages once, then judge the pipeline up to each of them; repeat with other seeds for the spread."""
    if seeds < 1:
        raise InputError("An ablation needs one seed or more.")
    judging, corpus = judging or Judging(), read_posts_of(config)
    config = _without_final(config)
    runs = [(each, planned(each, corpus)) for each in _under_seeds(config, seeds)]  # all before anything is trained
    plan = runs[0][1]
    _variants(plan)  # a system that has none is refused
    with scored(config, plan, out, resume=resume, workers=workers, bar=bar, note=note) as store:
        judged = _judge_all(plan, store, corpus, out, judging=judging, bar=bar)
        spread = _over_seeds(runs[1:], corpus, out, workers=workers, bar=bar)
        with bar("comparing"):
            rows = _rows(judged, out, judging, spread)
        ablation = Ablation(
            rows,
            tuple(_gamma_points(judged[-1].evaluation)),
            tuple(_grid_points(out / judged[-1].folder / "thresholds.json")),
            tuple(_seeds(config, seeds)),
            store.seconds(),
            judged[-1].verified,
            tuple(step.folder for step in judged if not step.passed),
        )
        write_ablation(ablation, out)
        more = {"seeds": _seeds(config, seeds), "files": _hashes(out)}
        write_manifest(out, config, corpus, plan, seconds=store.seconds(), schema=MANIFEST_SCHEMA, **more)
        _tidy(out)
    return ablation


def finished(config: Config, out: Path, *, seeds: int) -> bool | None:
    """Whether all results of a finished ablation passed; None where none is finished. Another one is an InputError."""
    config = _without_final(config)
    if not is_finished(config, out, MANIFEST_SCHEMA, seeds=_seeds(config, seeds)):
        return None
    _tidy(out)
    return all(has_passed(step / RESULT) for step in (out / "steps").glob("*"))


def _without_final(config: Config) -> Config:
    """No model for later use is trained: what is asked is what each stage adds."""
    return replace(config, run=replace(config.run, final_model=False))


def _seeds(config: Config, number: int) -> list[int]:
    return [config.protocol.seed + extra for extra in range(number)]


def _under_seeds(config: Config, number: int) -> list[Config]:
    return [replace(config, protocol=replace(config.protocol, seed=seed)) for seed in _seeds(config, number)]


def _keep(result: Path, kept: Path) -> None:
    """The queries of a result, which goes."""
    frame = pl.read_csv(result / "per_query.csv", infer_schema=False)
    write_file(
        kept, frame.select(column for column in CONTRACT_COLUMNS if column in frame.columns).write_csv().encode()
    )


def _hashes(out: Path) -> dict[str, str]:
    """The SHA-256 of every file that no manifest below lists, and of these manifests."""
    results = [path.parent for path in out.glob("steps/*/result/manifest.json")] + list(out.glob("comparison-*"))
    files = [path for path in out.rglob("*") if path.is_file() and path.name != LOCK]
    own = [path for path in files if not {out / WORK, out / "seeds", *results} & {*path.parents}]
    listed = {
        path.relative_to(out).as_posix(): path for path in (*own, *(result / "manifest.json" for result in results))
    }
    return {name: sha256(listed[name]) for name in sorted(listed) if name not in LATER}


def _tidy(out: Path) -> None:
    for folder in (out / "seeds", out / WORK):  # without work nothing can be continued
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class _Step:
    variant: Variant
    folder: str
    evaluation: Evaluation
    passed: bool
    verified: str | None


def _variants(plan: Plan) -> list[Variant]:
    first = baseline(plan.system)
    return [*(() if first is None else (first,)), *ablation(plan.system)]


def _folder_of(number: int, variant: Variant) -> str:
    words = variant.name.removeprefix("+ ").partition(":")[0]
    return f"steps/{number}-{words.replace(' ', '-')}"


def _judge_all(
    plan: Plan, store: Checkpoints, corpus: ConfiguredCorpus, out: Path, *, judging: Judging, bar: Bar
) -> list[_Step]:
    """Evaluate every configuration; the last, the whole pipeline, is also verified and gets a page."""
    variants, done = _variants(plan), []
    for number, variant in enumerate(variants):
        place = out / _folder_of(number, variant)
        write_tables(tables_of(plan, store, variant), place)
        is_last = number == len(variants) - 1
        how = judging if is_last else replace(judging, verify=False, report=False, measures=_measures(variant))
        judged = judge(place, place / RESULT, corpus, how, bar=bar)
        done.append(_Step(variant, _folder_of(number, variant), judged.evaluation, judged.passed, judged.verified))
    return done


def _over_seeds(
    runs: Sequence[tuple[Config, Plan]], corpus: ConfiguredCorpus, out: Path, *, workers: int | None, bar: Bar
) -> dict[str, dict[str, list[float]]]:
    """The point figures of every configuration under other seeds: other folds, other draws, the same posts."""
    values: dict[str, dict[str, list[float]]] = {}
    for other, plan in runs:
        place = out / "seeds" / str(other.protocol.seed)
        with scored(other, plan, place, resume=True, workers=workers, bar=bar) as store:
            for number, variant in enumerate(_variants(plan)):
                tables = place / _folder_of(number, variant)
                write_tables(tables_of(plan, store, variant), tables)
                quick = Judging(resamples=0, verify=False, report=False, measures=_measures(variant))
                evaluation = judge(tables, tables / RESULT, corpus, quick, bar=bar).evaluation
                _keep(tables / RESULT, out / SPREAD / str(other.protocol.seed) / f"{tables.name}.csv")
                for name, estimate in _figures(evaluation, variant).items():
                    values.setdefault(variant.name, {}).setdefault(name, []).append(estimate.value)
    return values


def _measures(variant: Variant) -> tuple[str, ...]:
    """What is shown of a configuration; of the last everything is computed."""
    if variant.selects == "nothing":
        return SHARED
    return (*SHARED, *SELECTION) if variant.choices.rule is not None else COLUMNS


def _figures(evaluation: Evaluation, variant: Variant) -> dict[str, Estimate]:
    """What a configuration has: without a selection no evidence recall, without states no alerts."""
    return {name: evaluation[name] for name in _measures(variant) if name in evaluation}


def _rows(
    judged: list[_Step], out: Path, judging: Judging, spread: Mapping[str, Mapping[str, list[float]]]
) -> tuple[Row, ...]:
    gained = _deltas(judged, out, judging)
    rows = []
    for step in judged:
        figures = _figures(step.evaluation, step.variant)
        others = spread.get(step.variant.name, {})
        seeds = {name: stdev([figures[name].value, *values]) for name, values in others.items() if name in figures}
        rows.append(Row(step.variant.name, step.folder, figures, gained.get(step.variant.name, {}), seeds))
    return tuple(rows)


def _deltas(judged: list[_Step], out: Path, judging: Judging) -> dict[str, dict[str, Gain]]:
    """Paired deltas between successive configurations: of what all have, then of what is selected."""
    gains: dict[str, dict[str, Gain]] = {}
    if judging.resamples == 0:
        return gains
    steps = [step for step in judged if step.variant.cuts]
    selecting = [step for step in steps if step.variant.selects != "nothing"]
    for name, some, measures in (("ranking", steps, SHARED), ("selection", selecting, SELECTION)):
        comparison = _compared(some, out, f"comparison-{name}", measures, judging, successive=True)
        for delta in comparison.deltas:
            if delta.family == "measures" and delta.delta is not None:
                gains.setdefault(delta.system, {})[delta.name] = (delta.delta, delta.ci)
    if judged[0] not in steps:  # the one-liner against the whole pipeline
        _compared([judged[0], judged[-1]], out, "comparison-baseline", SHARED, judging, successive=False)
    return gains


def _compared(
    steps: list[_Step], out: Path, name: str, measures: tuple[str, ...], judging: Judging, *, successive: bool
) -> Comparison:
    ensure_writable(out / name, force=True)
    return workflow.compare(
        *(out / step.folder / RESULT for step in steps),
        names=[step.variant.name for step in steps],
        measures=measures,
        resamples=judging.resamples,
        successive=successive,
        out=out / name,
        force=True,
        report=judging.report,
    )


def _gamma_points(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    for curve in evaluation.curves:
        if curve.name == "gamma_sweep":
            for values in zip(*curve.columns.values(), strict=True):
                yield dict(zip(curve.columns, values, strict=True))


def _grid_points(thresholds: Path) -> Iterator[dict[str, Any]]:
    """What other pairs of thresholds reach on TUNE, fold by fold."""
    from evidentia.protocol import read_tuning

    for fold in read_tuning(thresholds)[0].folds:
        if fold.three_state is not None:
            for values in zip(*fold.three_state.grid.values(), strict=True):
                yield {"fold": fold.fold, **dict(zip(fold.three_state.grid, values, strict=True))}
