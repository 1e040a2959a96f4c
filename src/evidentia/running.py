"""Run a pipeline and judge it: nested cross-validation, then evaluation, verification and report, in one folder."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from evidentia import workflow
from evidentia.corpus import Corpus, Posts, read_corpus
from evidentia.errors import InputError, OutputError, Problem, counted
from evidentia.evaluation.intervals import Resampling
from evidentia.oneliner import against_oneliner
from evidentia.pipeline.build import check_extras, encoders_of, model_keys, needs_torch, system_of, token_layer
from evidentia.pipeline.config import Config
from evidentia.pipeline.lock import acquire_lock
from evidentia.pipeline.outputs import tables_of, write_final_rows, write_models, write_tables
from evidentia.pipeline.plan import FINAL, Plan, identity, refuse_too_few
from evidentia.pipeline.progress import LOG, Bar, RunLog, logged, no_bar, reused_line, tell
from evidentia.pipeline.reuse import (
    BEHIND_TORCH,
    COMPUTES,
    MODELS,
    keep_steps,
    kept_steps,
    reuse_steps,
    versions_of,
)
from evidentia.pipeline.store import Checkpoints, folder_sha256, write_file
from evidentia.pipeline.system import full
from evidentia.pipeline.work import compute
from evidentia.pipeline.workspace import LOCK, STATE, WORK, Note, abandon, no_note, start
from evidentia.results import Comparison, Evaluation, dumps, loads
from evidentia.synth import synthetic_corpus
from evidentia.tables import DatasetCard, load_card, read_run
from evidentia.verify.course import Verification
from evidentia.verifying import verify_result

RESULT, MANIFEST, VERIFICATION = "result", "manifest.json", "verification.json"
SCHEMA = "evidentia.run/1"
_PIECE = 4096  # sentences whose tokens are embedded together


@dataclass(frozen=True, eq=False)
class ConfiguredCorpus(Corpus):
    """The corpus of a configuration, and the card that it promises to keep."""

    card: DatasetCard | None = None


@dataclass(frozen=True, eq=False)
class Judged:
    """A run that was evaluated and verified."""

    folder: Path
    evaluation: Evaluation
    verification: Verification | None
    model_sha256: str | None = None
    against: Comparison | None = None  # paired with the one-liner

    @property
    def verified(self) -> str | None:
        """What the second implementation found, in words; None where it was not asked."""
        return verified(self.folder)

    @property
    def passed(self) -> bool:
        """Whether every check and the verification passed."""
        sound = all(finding.status != "failed" for finding in self.evaluation.checks)
        return sound and (self.verification is None or self.verification.passed)


@dataclass(frozen=True)
class Judging:
    """How a run is judged."""

    resamples: int = 10_000
    verify: bool = True
    report: bool | None = None
    command: str | None = None
    measures: tuple[str, ...] | None = None  # None: all of the profile

    def __post_init__(self) -> None:
        Resampling(self.resamples)  # a number that cannot be is refused before anything is trained


def clear(out: Path) -> None:
    """Remove an earlier run, begun or finished; anything else is left alone, with an error."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / WORK / STATE).is_file() and _schema_of(out / MANIFEST) != SCHEMA:
        raise OutputError(f"{out.name} is not an earlier run: --force leaves it alone. Choose another folder with -o.")
    if (out / WORK).is_dir():
        acquire_lock(out / WORK / LOCK).release()  # an OutputError where somebody is at it
    shutil.rmtree(out)


def occupied(out: Path) -> bool:
    """Whether a folder holds something else than a run that was stopped."""
    return out.exists() and not (out / WORK / STATE).is_file() and (not out.is_dir() or any(out.iterdir()))


def _schema_of(manifest: Path) -> str | None:
    try:
        return str(loads(manifest.read_bytes())["schema"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_posts_of(config: Config) -> ConfiguredCorpus:
    """Read, or make, the corpus of a configuration."""
    card = None if config.card is None else load_card(config.card)
    folder = config.corpus_folder
    if folder is None:
        number = config.corpus.posts
        posts = synthetic_corpus(seed=config.protocol.seed, **({} if number is None else {"posts": number}))
        return ConfiguredCorpus(posts, card=card)
    if not folder.is_dir():
        remedy = "Paths in a configuration start from its own folder: correct [corpus] path."
        raise InputError(Problem("MISSING_FOLDER", f"{folder}: no such folder. {remedy}"))
    return ConfiguredCorpus(**vars(read_corpus(folder, splitter=config.corpus.splitter)), card=card)


def planned(config: Config, corpus: ConfiguredCorpus) -> Plan:
    """The folds of a configuration over its posts; what cannot be divided or tuned is refused before anything is trained."""
    plan = Plan.of(
        system_of(config),
        corpus.posts,
        folds=config.protocol.folds,
        group_copies=config.protocol.groups == "duplicates",
        final=config.run.final_model,
    )
    refuse_too_few(plan)
    return plan


def run(
    config: Config,
    out: Path,
    *,
    resume: bool = False,
    reuse: Path | None = None,
    workers: int | None = None,
    judging: Judging | None = None,
    bar: Bar = no_bar,
    note: Note = no_note,
) -> Judged:
    """Train and ask every fold, write tables, thresholds and models, then evaluate, verify and report.

    Killed at any moment, ``resume`` continues with the same bytes as an uninterrupted run. Steps that the run in the folder
    ``reuse`` did in just the same way are taken from there, with the same bytes again. ``note`` is told of what was found
    damaged and is done again, and of what was reused.
    """
    corpus = read_posts_of(config)
    plan = planned(config, corpus)
    variant = full(plan.system)
    bar = partial(logged, bar, RunLog(out / LOG))
    with scored(config, plan, out, resume=resume, reuse=reuse, workers=workers, bar=bar, note=note) as store:
        with bar("deciding"):
            tables = write_tables(tables_of(plan, store, variant), out)
            write_final_rows(plan, store, variant, out)
            write_models(
                plan,
                store,
                tables.deciders,
                variant,
                folder=out / MODELS,
                config=config.to_dict(),
                splitter=corpus.splitter,
            )
            keep_steps(plan, store, out)
        judged = judge(out, out / RESULT, corpus, judging or Judging(), bar=bar)
        with bar("comparing with the one-liner"):
            against = against_oneliner(plan, store, out, resamples=(judging or Judging()).resamples)
        models = _model_hashes(out)
        write_manifest(out, config, corpus, plan, seconds=store.seconds(), reused=store.reused(), models=models)
        shutil.rmtree(out / WORK, ignore_errors=True)
    return replace(judged, model_sha256=models.get(FINAL) or models["fold-0"], against=against)


def finished(config: Config, out: Path) -> bool | None:
    """Whether the finished run of a folder passed; None where no run is finished.

    A run of another configuration, corpus or version is an InputError. What a finished run had no time to remove is removed.
    """
    if not (out / RESULT).is_dir() or not is_finished(config, out, SCHEMA):
        return None
    shutil.rmtree(out / WORK, ignore_errors=True)
    return has_passed(out / RESULT)


def is_finished(config: Config, out: Path, schema: str, **more: object) -> bool:
    """Whether a folder holds this, finished; what was made of something else is an InputError. ``more`` is in its manifest too."""
    try:
        manifest = loads((out / MANIFEST).read_bytes())
        recorded, ours = {name: manifest[name] for name in ("identity", *more)}, bool(manifest["schema"] == schema)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if ours and recorded != {"identity": _identity(config, planned(config, read_posts_of(config))), **more}:
        raise InputError(
            f"{out.resolve().name} is finished, and was made with another {', '.join(('configuration', *more))}, "
            "corpus or version. Choose another folder with -o."
        )
    return ours


def has_passed(result: Path) -> bool:
    """What a result says of itself; one that cannot be read has not passed."""
    try:
        sound = all(check["status"] != "failed" for check in loads((result / "summary.json").read_bytes())["checks"])
        if not (result / VERIFICATION).exists():
            return sound
        verification = loads((result / VERIFICATION).read_bytes())
        return sound and verification["comparisons"] > 0 and not verification["mismatches"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def verified(result: Path) -> str | None:
    """What the second implementation found, in words; None where it was not asked."""
    if not (result / VERIFICATION).exists():
        return None
    verification = loads((result / VERIFICATION).read_bytes())
    comparisons, words = verification["comparisons"], "everything matches"
    if not comparisons:
        words = "nothing was compared"
    elif verification["mismatches"]:
        words = counted(len(verification["mismatches"]), "MISMATCH", "MISMATCHES")
    return f"verified by a second implementation: {comparisons:,} comparisons, {words}"


def scored(
    config: Config,
    plan: Plan,
    out: Path,
    *,
    resume: bool,
    reuse: Path | None = None,
    workers: int | None,
    bar: Bar = no_bar,
    note: Note = no_note,
) -> Checkpoints:
    """Run all stages of all folds; texts are embedded once, before. The folder is locked until the result is released."""
    check_extras(config)
    kept = None if reuse is None else kept_steps(reuse)
    store = start(out, _identity(config, plan), resume=resume, note=note)
    try:
        if kept is not None:
            reuse_steps(plan, store, kept, note=note)
            RunLog(out / LOG).add([reused_line(sum(store.reused().values()))])
        embed(config, plan.posts, bar=bar)
        invented = "invented " if config.corpus_folder is None else ""
        with bar(f"training on {len(plan.posts):,} {invented}posts") as progress:
            told = partial(tell, RunLog(out / LOG), progress, note)
            compute(plan, store, workers=config.run.workers if workers is None else workers, told=told)
    except BaseException as error:
        store.release()
        if isinstance(error, Exception) and not store.count():
            abandon(out)
        raise
    return store


def embed(config: Config, posts: Posts, *, bar: Bar = no_bar) -> None:
    """Fill the cache of vectors, so that the folds only read it."""
    if config.cache is False:
        return
    from evidentia.pipeline.encoders.make import make_encoder, make_token_encoder

    for spec, settings in encoders_of(config).items():
        with bar("embedding") as progress:
            make_encoder(spec, settings, cache=config.cache).encode(posts.texts, kind="passage", progress=progress)
    if (layer := token_layer(config)) is not None:
        with bar("embedding tokens") as progress:
            encoder = make_token_encoder(layer, cache=config.cache)
            for start in range(0, len(posts.texts), _PIECE):  # all at once would be held in memory for nothing
                encoder.states(posts.texts[start : start + _PIECE])
                if progress is not None:
                    progress(min(start + _PIECE, len(posts.texts)), len(posts.texts))


def judge(tables: Path, out: Path, corpus: ConfiguredCorpus, judging: Judging, *, bar: Bar = no_bar) -> Judged:
    """Evaluate written tables under their thresholds, then verify and draw the report."""
    read = read_run(
        tables / "per_query.parquet",
        candidates=tables / "candidates.parquet",
        tune=tables / "tune.parquet",
        card=corpus.card,
        allow_disjoint=True,  # rankings and gold are of the same corpus
    )
    with bar("resampling") as progress:
        evaluation = workflow.evaluate(
            read,
            thresholds=tables / "thresholds.json",
            measures=judging.measures,
            resamples=judging.resamples,
            command=judging.command,
            report=judging.report,
            progress=progress,
        )
    with bar("writing"):
        evaluation.save(out, force=True)
    if not judging.verify:
        return Judged(out, evaluation, None)
    with bar("verifying") as progress:
        verification = verify_result(out, progress=progress)
    return Judged(out, evaluation, verification)


def _identity(config: Config, plan: Plan) -> str:
    return identity(plan, config.to_dict(deciding=True), [_versions(config, *COMPUTES), model_keys(config)])


def _versions(config: Config, *names: str) -> dict[str, str]:
    """Of these libraries, and of those behind torch where a stage uses them."""
    return versions_of((*names, *(BEHIND_TORCH if needs_torch(config) else ())))


def _model_hashes(out: Path) -> dict[str, str]:
    return {home.name: folder_sha256(home) for home in sorted((out / MODELS).iterdir()) if home.is_dir()}


def write_manifest(
    out: Path,
    config: Config,
    corpus: ConfiguredCorpus,
    plan: Plan,
    *,
    seconds: Mapping[str, float],
    schema: str = SCHEMA,
    **more: object,
) -> None:
    """What was run on what, by which versions; the one file with a time in it."""
    content: dict[str, Any] = {
        "schema": schema,
        **more,
        "config": config.to_dict(),
        "config_sha256": config.digest(),
        "identity": _identity(config, plan),
        "inputs": [{"role": s.role, "name": s.name, "sha256": s.sha256, "rows": s.rows} for s in corpus.sources],
        "posts": len(plan.posts),
        "sentences": len(plan.posts.texts),
        "criteria": list(plan.posts.criterion_ids),
        "folds": {label: int((plan.folds.fold == code).sum()) for code, label in enumerate(plan.folds.labels)},
        "versions": _versions(config, *COMPUTES, "polars", "safetensors") | {"python": platform.python_version()},
        "seconds": dict(seconds),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_file(out / MANIFEST, dumps(content).encode())
