"""An ablation: the pipeline one stage longer each time, each judged on the same folds, with paired deltas between them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import stdev
from typing import Any

import polars as pl

from evidentia import workflow
from evidentia.checks.folder import read_evaluation, sha256
from evidentia.errors import InputError
from evidentia.evaluation.files import CONTRACT_COLUMNS, manifest_of
from evidentia.pipeline.config import Config
from evidentia.pipeline.outputs import tables_of, write_tables
from evidentia.pipeline.plan import Plan
from evidentia.pipeline.progress import LOG, Bar, no_bar
from evidentia.pipeline.store import Checkpoints, write_file
from evidentia.pipeline.system import Variant, ablation, baseline
from evidentia.pipeline.workspace import LOCK, WORK, Note, no_note
from evidentia.report.ablation import write_ablation
from evidentia.results import Comparison, Estimate, loads
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
    verified,
    write_manifest,
)
from evidentia.verifying import verify_result
from evidentia.workers import in_processes

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
    workers = (config.run.workers if workers is None else workers) or os.cpu_count() or 1
    runs = [(each, planned(each, corpus)) for each in _under_seeds(config, seeds)]  # all before anything is trained
    plan = runs[0][1]
    _variants(plan)  # a system that has none is refused
    with scored(config, plan, out, resume=resume, workers=workers, bar=bar, note=note) as store:
        steps = _judge_all(plan, store, corpus, out, judging=judging, workers=workers, bar=bar)
        spread = _over_seeds(runs[1:], corpus, out, workers=workers, bar=bar)
        _verify_and_compare(steps, judging=judging, workers=workers, bar=bar)
        last = steps[-1].result
        ablation = Ablation(
            _rows(steps, out, spread),
            tuple(_gamma_points(last)),
            tuple(_grid_points(last.parent / "thresholds.json")),
            tuple(_seeds(config, seeds)),
            store.seconds(),
            verified(last),
            tuple(step.name for step in steps if not has_passed(step.result)),
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


def _variants(plan: Plan) -> list[Variant]:
    first = baseline(plan.system)
    return [*(() if first is None else (first,)), *ablation(plan.system)]


@dataclass(frozen=True, eq=False)
class _Step:
    """A configuration that is to be judged, with all that a process needs for it."""

    plan: Plan
    store: Checkpoints
    corpus: ConfiguredCorpus
    out: Path
    number: int
    variant: Variant
    judging: Judging

    @property
    def name(self) -> str:
        """Its folder."""
        words = self.variant.name.removeprefix("+ ").partition(":")[0]
        return f"steps/{self.number}-{words.replace(' ', '-')}"

    @property
    def result(self) -> Path:
        """Where its result is."""
        return self.out / self.name / RESULT

    def figures(self) -> dict[str, Estimate]:
        """What it has: without a selection no evidence recall, without states no alerts."""
        evaluation = read_evaluation(self.result, manifest_of(self.result))
        return {name: evaluation[name] for name in _measures(self.variant) if name in evaluation}


def _judge_all(
    plan: Plan,
    store: Checkpoints,
    corpus: ConfiguredCorpus,
    out: Path,
    *,
    judging: Judging,
    workers: int,
    bar: Bar,
) -> list[_Step]:
    """Evaluate every configuration; of the last, the whole pipeline, everything is computed, and it gets a page."""
    variants = _variants(plan)
    steps = [
        _Step(plan, store, corpus, out, number, variant, replace(judging, report=False, measures=_measures(variant)))
        for number, variant in enumerate(variants)
    ]
    steps[-1] = replace(steps[-1], judging=judging)
    _all_done([partial(_judge, step) for step in reversed(steps)], workers, bar, "judging")  # the longest first
    return steps


def _judge(step: _Step, bar: Bar = no_bar) -> None:
    place = step.result.parent
    write_tables(tables_of(step.plan, step.store, step.variant), place)
    judge(place, step.result, step.corpus, replace(step.judging, verify=False), bar=bar)


def _all_done(tasks: Sequence[Callable[..., None]], workers: int, bar: Bar, words: str) -> None:
    """Do all tasks, some at a time in processes of their own, or each after the other here."""
    workers = min(workers, len(tasks))
    if workers <= 1:
        for task in tasks:
            task(bar=bar)
        return
    with bar(words):
        in_processes(_do, tasks, workers=workers, look=lambda: None)


def _do(task: Callable[[], None]) -> None:
    task()


def _over_seeds(
    runs: Sequence[tuple[Config, Plan]], corpus: ConfiguredCorpus, out: Path, *, workers: int, bar: Bar
) -> dict[str, dict[str, list[float]]]:
    """The point figures of every configuration under other seeds: other folds, other draws, the same posts."""
    values: dict[str, dict[str, list[float]]] = {}
    quick = Judging(resamples=0, verify=False, report=False, measures=COLUMNS)
    for other, plan in runs:
        seed = str(other.protocol.seed)
        place = out / "seeds" / seed
        with scored(other, plan, place, resume=True, workers=workers, bar=bar) as store:
            for step in _judge_all(plan, store, corpus, place, judging=quick, workers=workers, bar=bar):
                _keep(step.result, out / SPREAD / seed / f"{step.result.parent.name}.csv")
                for name, estimate in step.figures().items():
                    values.setdefault(step.variant.name, {}).setdefault(name, []).append(estimate.value)
    return values


def _measures(variant: Variant) -> tuple[str, ...]:
    """What is shown of a configuration; of the last everything is computed."""
    if variant.selects == "nothing":
        return SHARED
    return (*SHARED, *SELECTION) if variant.choices.rule is not None else COLUMNS


def _rows(steps: Sequence[_Step], out: Path, spread: Mapping[str, Mapping[str, list[float]]]) -> tuple[Row, ...]:
    gained = _gains(out)
    rows = []
    for step in steps:
        figures = step.figures()
        others = spread.get(step.variant.name, {})
        seeds = {name: stdev([figures[name].value, *values]) for name, values in others.items() if name in figures}
        rows.append(Row(step.variant.name, step.name, figures, gained.get(step.variant.name, {}), seeds))
    return tuple(rows)


def _verify_and_compare(steps: Sequence[_Step], *, judging: Judging, workers: int, bar: Bar) -> None:
    """Verify the whole pipeline, and compare: what all have, then what is selected, then the whole with the one-liner."""
    for earlier in steps[0].out.glob("comparison-*"):  # of a stop, perhaps with other resamples
        shutil.rmtree(earlier)
    tasks: list[Callable[..., None]] = [partial(_verify, steps[-1].result)] if judging.verify else []
    if judging.resamples:
        cutting = [step for step in steps if step.variant.cuts]
        selecting = [step for step in cutting if step.variant.selects != "nothing"]
        tasks += [
            _comparison(cutting, "ranking", SHARED, judging),
            _comparison(selecting, "selection", SELECTION, judging),
        ]
        if not steps[0].variant.cuts:
            tasks.append(_comparison([steps[0], steps[-1]], "baseline", SHARED, judging))
    _all_done(tasks, workers, bar, "verifying and comparing")


def _verify(result: Path, bar: Bar = no_bar) -> None:
    with bar("verifying") as progress:
        verify_result(result, progress=progress)


def _comparison(steps: Sequence[_Step], name: str, measures: tuple[str, ...], judging: Judging) -> Callable[..., None]:
    compare = partial(
        workflow.compare,
        *(step.result for step in steps),
        names=[step.variant.name for step in steps],
        measures=measures,
        resamples=judging.resamples,
        successive=name != "baseline",
        out=steps[0].out / f"comparison-{name}",
        force=True,
        report=judging.report,
    )
    return partial(_compare, compare)


def _compare(compare: Callable[..., Comparison], bar: Bar = no_bar) -> None:
    with bar("comparing") as progress:
        compare(progress=progress)


def _gains(out: Path) -> dict[str, dict[str, Gain]]:
    """Paired deltas between successive configurations."""
    gains: dict[str, dict[str, Gain]] = {}
    for name in ("ranking", "selection"):
        path = out / f"comparison-{name}" / "comparison.json"
        for delta in loads(path.read_bytes())["deltas"] if path.exists() else ():
            if delta["family"] == "measures" and delta["delta"] is not None:
                gains.setdefault(delta["system"], {})[delta["name"]] = (
                    delta["delta"],
                    delta["ci"] and tuple(delta["ci"]),
                )
    return gains


def _gamma_points(result: Path) -> list[dict[str, Any]]:
    path = result / "figures" / "gamma_sweep.csv"
    return pl.read_csv(path.read_bytes()).to_dicts() if path.exists() else []  # a path may look like a pattern


def _grid_points(thresholds: Path) -> Iterator[dict[str, Any]]:
    """What other pairs of thresholds reach on TUNE, fold by fold."""
    from evidentia.protocol import read_tuning

    for fold in read_tuning(thresholds)[0].folds:
        if fold.three_state is not None:
            for values in zip(*fold.three_state.grid.values(), strict=True):
                yield {"fold": fold.fold, **dict(zip(fold.three_state.grid, values, strict=True))}
