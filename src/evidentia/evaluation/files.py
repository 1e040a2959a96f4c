"""The files of a result: written into a temporary folder that is renamed at the end, all or nothing."""

from __future__ import annotations

import hashlib
import io
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from evidentia.errors import OutputError, counted, spelled
from evidentia.measures import Profile
from evidentia.protocol import Tuning, to_document
from evidentia.results import Comparison, Evaluation, dumps, dumps_by_line, loads
from evidentia.results.derived import is_derived
from evidentia.results.folder import TABLES_COMPARISON_SCHEMA, TABLES_MANIFEST_SCHEMA, another_folder, replace_folder
from evidentia.tables import DatasetCard, Items, Run
from evidentia.tables.cells import FORMULA, defused_column
from evidentia.tables.run import Source

if TYPE_CHECKING:
    from evidentia.evaluation.replicate_record import ReplicateRecord

MANIFEST_SCHEMA = "evidentia.manifest/1"
COMPARISON_MANIFEST_SCHEMA = "evidentia.comparison-manifest/2"
EARLIER_COMPARISON_SCHEMA = "evidentia.comparison-manifest/1"  # kept nothing of its systems
SELECTIVE_MANIFEST_SCHEMA = "evidentia.selective-manifest/2"
MONITOR_MANIFEST_SCHEMA = "evidentia.monitor-manifest/1"
OURS = frozenset(
    {
        *(MANIFEST_SCHEMA, COMPARISON_MANIFEST_SCHEMA, EARLIER_COMPARISON_SCHEMA),
        *(SELECTIVE_MANIFEST_SCHEMA, MONITOR_MANIFEST_SCHEMA, TABLES_MANIFEST_SCHEMA, TABLES_COMPARISON_SCHEMA),
    }
)
_TUNED = re.compile(r"[(,]tuned[,)]")
CONTRACT_COLUMNS = (
    *(
        "post_id",
        "criterion_id",
        "fold",
        "split",
        "has_evidence",
        "prob",
        "raw_prob",
        "detection_score",
        "tau",
        "tau_neg",
        "tau_pos",
    ),
    *("state", "n_candidates", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"),
)
CSV_ROWS = 2_000  # written at once
CANDIDATE_COLUMNS = (
    *("post_id", "criterion_id", "sent_uid", "score", "is_gold", "retriever_score", "reranker_score"),
    *("graph_score", "node_prob", "fold", "split"),
)


def write_folder(folder: Path, fill: Callable[[Path], None], *, force: bool) -> None:
    """Let ``fill`` write into a temporary folder beside ``folder`` and move it into place; on failure nothing changes."""
    ensure_writable(folder, force=force)
    replace_folder(folder, fill, force=force)


def ensure_writable(folder: Path, *, force: bool) -> None:
    """Refuse a folder that may not be written or replaced, so that nobody waits for a result that has no place."""
    name = folder.resolve().name
    if folder.resolve() == Path.cwd():
        raise OutputError(
            "The result goes into a folder of its own, not into the one you stand in. "
            f"{spelled('Choose one with -o', 'Name another')}."
        )
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise OutputError(f"{name} exists and is not a folder. {another_folder()}.")
    if not any(folder.iterdir()):
        return
    if not force:
        raise OutputError(f"{name} exists. {another_folder(replaceable=True)}.")
    manifest = manifest_of(folder)
    ours = {*manifest.get("files", {}), "manifest.json", "verification.json", "report.key"}
    if manifest.get("schema") not in OURS:
        raise OutputError(
            f"{name} was not written by Evidentia (its manifest.json does not say so): "
            f"{spelled('--force', 'force=True')} leaves it alone."
        )
    strangers = [
        path
        for path in folder.rglob("*")
        if path.is_file() and (name_in := path.relative_to(folder).as_posix()) not in ours and not is_derived(name_in)
    ]
    if strangers:
        raise OutputError(
            f"{name} holds {counted(len(strangers), 'file')} that Evidentia did not write (first: {strangers[0].name}). "
            f"Move them away, or c{another_folder()[1:]}."
        )


def refuse_inside_results(path: Path) -> None:
    """Refuse a place inside a folder that `evidentia verify` accounts for: it would not know this file."""
    resolved = path.resolve()
    for folder in (resolved, *resolved.parents):
        schema = str(manifest_of(folder).get("schema"))
        if schema in OURS or schema.startswith("evidentia.ablation"):
            raise OutputError(
                f"{path.name} belongs beside the result {folder.name}, not into its folder: the files there are hashed."
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class ResultSource:
    """What a result was made of and how: everything that its folder holds beside the numbers."""

    options: Mapping[str, Any]
    command: str | None = None
    report: bool | None = None  # None leaves it to the environment


@dataclass(frozen=True, eq=False)
class RunSource(ResultSource):
    """A run of queries, with the thresholds that were tuned before and applied to it."""

    name: str
    run: Run
    profile: str
    tuning: Tuning | None = None

    def names(self, profile: Profile) -> tuple[str, ...]:
        """The measures that the result was asked for, as names to be read under a profile."""
        named, k, dual = (self.options.get(option) for option in ("measures", "k", "dual"))
        return tuple(named) if named is not None else profile.names(ks=k, dual=bool(dual))


@dataclass(frozen=True, eq=False)
class ItemsSource(ResultSource):
    """A run of items, and the run that it is compared with, by the stems of their files."""

    runs: Mapping[str, Items]


@dataclass(frozen=True, eq=False)
class TablesSource(ResultSource):
    """Tables that were read block by block: their rows are not in the result, only their names and hashes."""

    inputs: tuple[Source, ...]
    engine: Mapping[str, Any]
    replicates: ReplicateRecord | None = None
    truth: Sequence[Mapping[str, Any]] = ()  # of every criterion: what its queries are judged against


def write_result(folder: Path, source: ResultSource, evaluation: Evaluation) -> None:
    """Write the numbers and everything that is needed to recompute them."""
    (folder / "summary.json").write_text(evaluation.to_json(), encoding="utf-8")
    if isinstance(source, ItemsSource):
        for stem, items in source.runs.items():
            _write_csv(items_frame(items), folder / f"{stem}.csv")
    elif isinstance(source, RunSource):
        _write_run(folder, source, evaluation)
    elif isinstance(source, TablesSource) and source.replicates is not None:
        _write_parquet(source.replicates.frame(), folder / "replicates.parquet")


def _write_run(folder: Path, source: RunSource, evaluation: Evaluation) -> None:
    run = source.run
    _write_csv(per_query_frame(run, evaluation, tuple(run.queries.slices)), folder / "per_query.csv")
    if run.candidates is not None:
        _write_parquet(_known(run.candidates, CANDIDATE_COLUMNS), folder / "candidates.parquet")
    if run.tune_frame is not None:
        _write_parquet(_known(run.tune_frame, CONTRACT_COLUMNS), folder / "tune.parquet")
    if source.tuning is not None:
        text = dumps_by_line(to_document(source.tuning), ("folds", "inputs"))
        (folder / "thresholds.json").write_text(text, encoding="utf-8")


def _write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write a part after the other: as a whole the text would take as much memory as the run."""
    with path.open("wb") as file:
        for start in range(0, max(frame.height, 1), CSV_ROWS):
            buffer = io.BytesIO()
            frame.slice(start, CSV_ROWS).write_csv(buffer, include_header=start == 0)
            file.write(buffer.getbuffer())


def _write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Polars, writing by itself, says that a disk is full by an error of its own kind."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    path.write_bytes(buffer.getvalue())


def per_query_frame(run: Run, evaluation: Evaluation, by: tuple[str, ...]) -> pl.DataFrame:
    """The queries with what is needed to recompute every number, and their own values; uids joined, formulas defused.

    Further columns of the user's file are left behind, because they may hold text; slices that were named stay.
    """
    frame = _plain_frame(run, tuple(dict.fromkeys((*CONTRACT_COLUMNS, *by))))
    values = {
        name: pl.Series(name, np.where(counted, values, np.nan), pl.Float64, nan_to_null=True)
        for name, (values, counted) in evaluation.per_query.items()
        if name not in frame.columns
    }
    quoted = {column: f"'{column}" for column in frame.columns if FORMULA.match(column)}
    return frame.with_columns(**values).rename(quoted)


def _plain_frame(run: Run, columns: Sequence[str]) -> pl.DataFrame:
    """The queries as text that a spreadsheet may open."""
    frame = _known(run.frame, columns)
    frame = frame.with_columns(
        pl.col(column).list.join("|") for column, kind in frame.schema.items() if kind == pl.List(pl.String)
    )
    return frame.with_columns(defused_column(column) for column, kind in frame.schema.items() if kind == pl.String)


def _known(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """What the contract names; further columns stay behind, because they may hold text."""
    return frame.select(column for column in columns if column in frame.columns)


def write_manifest(folder: Path, source: ResultSource, evaluation: Evaluation) -> None:
    """Say what went in, how it was run, when, and what came out: the one file with a time stamp."""
    about = {"profile": evaluation.profile, "seed": evaluation.seed, "resamples": evaluation.resamples}
    if isinstance(source, ItemsSource):
        _write_manifest(folder, SELECTIVE_MANIFEST_SCHEMA, source, about | {"inputs": _item_inputs(source)})
    elif isinstance(source, RunSource):
        _write_manifest(folder, MANIFEST_SCHEMA, source, about | _about_run(source, evaluation))
    elif isinstance(source, TablesSource):
        about |= {"inputs": [_input(each.role, each) for each in source.inputs], "engine": dict(source.engine)}
        about["read"] = {"left_out": dict(evaluation.dataset["left_out"]), "notes": list(evaluation.notes)}
        about |= {"truth": [dict(criterion) for criterion in source.truth]} if source.truth else {}
        _write_manifest(folder, TABLES_MANIFEST_SCHEMA, source, about)


def write_monitor_manifest(folder: Path, *, command: str | None, inputs: Sequence[Source], model_sha256: str) -> None:
    """The same about a course of batches: the files of posts, in their order, and the model that scored them."""
    about = {"model_sha256": model_sha256, "inputs": [_input(source.role, source) for source in inputs]}
    _write_manifest(folder, MONITOR_MANIFEST_SCHEMA, ResultSource(options={}, command=command), about)


def _about_run(source: RunSource, evaluation: Evaluation) -> dict[str, Any]:
    """The inputs, what reading noticed, and the thresholds that were chosen here or applied from before."""
    about = {
        "inputs": [_input(s.role, s) for s in source.run.sources],
        "read": _read(source.run),
        "thresholds": [dict(threshold) for threshold in evaluation.thresholds],
    }
    if source.tuning is None:
        return about
    return about | {"applied_thresholds": to_document(source.tuning, grids=False)}


def _item_inputs(source: ItemsSource) -> list[dict[str, Any]]:
    return [
        _input(stem, s) | {"failed": len(run.failed), "notes": list(run.notes)}
        for stem, run in source.runs.items()
        for s in run.sources
    ]


def _input(role: str, source: Source) -> dict[str, Any]:
    return {"role": role, "name": source.name, "sha256": source.sha256, "rows": source.rows}


def _read(run: Run) -> dict[str, Any]:
    """What reading found beside the rows: the summary repeats it, and nothing else in the folder would hold it."""
    card = None if run.card is None else _plain_card(run.card)
    return {"card": card, "left_out": dict(run.left_out), "notes": list(run.notes)}


def _plain_card(card: DatasetCard) -> dict[str, Any]:
    content = {name.name: getattr(card, name.name) for name in fields(DatasetCard)}
    content["targets"] = {name: asdict(target) for name, target in card.targets.items()}
    for name in ("descriptions", "expected"):
        content[name] = dict(content[name])
    return content


def write_comparison(
    folder: Path,
    comparison: Comparison,
    runs: Mapping[str, Run],
    *,
    command: str | None,
    options: Mapping[str, Any],
    made_with: Sequence[Mapping[str, Any] | None],
) -> None:
    """Write the deltas as strict JSON, what is needed of each system to recompute them, and the manifest beside them.

    ``made_with`` says under which profile and options each system was evaluated; None for a run that never was.
    """
    systems: list[dict[str, Any]] = []
    for (name, run), choices in zip(runs.items(), made_with, strict=True):
        place = _place_of(name, [str(earlier["folder"]) for earlier in systems])
        _write_system(folder / "systems" / place, run, comparison)
        systems.append({"name": name, "folder": place, "made_with": None if choices is None else dict(choices)})
    inputs = [_input(name, s) for name, run in runs.items() for s in run.sources]
    about = {"systems": systems, "inputs": inputs}
    source = ResultSource(options=options, command=command)
    _write_differences(folder, COMPARISON_MANIFEST_SCHEMA, comparison, source, about)


def write_tables_comparison(
    folder: Path,
    comparison: Comparison,
    results: Mapping[str, Path],
    *,
    command: str | None,
    options: Mapping[str, Any],
    kept: Sequence[str],
) -> None:
    """The same for results whose rows stayed in tables: of each are ``kept`` the files that its replicates are read from."""
    systems: list[dict[str, Any]] = []
    for name, result in results.items():
        place = _place_of(name, [str(earlier["folder"]) for earlier in systems])
        (folder / "systems" / place).mkdir(parents=True)
        for file in kept:
            (folder / "systems" / place / file).write_bytes((result / file).read_bytes())
        systems.append({"name": name, "folder": place})
    source = ResultSource(options=options, command=command)
    _write_differences(folder, TABLES_COMPARISON_SCHEMA, comparison, source, {"systems": systems})


def _write_differences(
    folder: Path, schema: str, comparison: Comparison, source: ResultSource, about: Mapping[str, Any]
) -> None:
    """The deltas, and the manifest beside all that was written."""
    (folder / "comparison.json").write_text(dumps_by_line(comparison.to_dict(), ("deltas",)), encoding="utf-8")
    made = {"profile": comparison.profile, "seed": comparison.seed, "resamples": comparison.resamples}
    _write_manifest(folder, schema, source, made | dict(about))


def _place_of(name: str, taken: Sequence[str]) -> str:
    """The folder of a system: its name, as far as every file system takes it.

    >>> _place_of("+ reranker", []), _place_of("a/b", []), _place_of("A", ["a"])
    ('+ reranker', 'a_b', 'A-2')
    """
    plain = re.sub(r"[^A-Za-z0-9._+() -]", "_", name)[:60].strip(" .") or "system"
    is_taken = plain.lower() in {other.lower() for other in taken}
    return f"{plain}-{len(taken) + 1}" if is_taken else plain


def _write_system(folder: Path, run: Run, comparison: Comparison) -> None:
    """The queries of a system; its TUNE rows and candidates where a compared measure rests on them."""
    folder.mkdir(parents=True)
    definitions = [delta.definition for delta in comparison.deltas]
    _write_csv(_plain_frame(run, CONTRACT_COLUMNS), folder / "per_query.csv")
    if run.tune_frame is not None and any(_TUNED.search(definition) for definition in definitions):
        _write_parquet(_known(run.tune_frame, CONTRACT_COLUMNS), folder / "tune.parquet")
    if run.candidates is not None and any("level=candidate" in definition for definition in definitions):
        _write_parquet(_known(run.candidates, CANDIDATE_COLUMNS), folder / "candidates.parquet")


def items_frame(items: Items) -> pl.DataFrame:
    """The items with everything that is needed to recompute every number; formulas are defused."""
    frame = pl.DataFrame(
        {
            "cluster_id": [items.cluster_ids[code] for code in items.cluster],
            "item": list(items.item),
            "pred": pl.Series(items.pred, nan_to_null=True),
            "gt": items.gt,
        }
    )
    names = pl.DataFrame({"name": list(items.signals)}, {"name": pl.String}).select(defused_column("name"))["name"]
    signals = [
        pl.Series(name, values, nan_to_null=True) for name, values in zip(names, items.signals.values(), strict=True)
    ]
    return frame.with_columns(defused_column("cluster_id"), defused_column("item"), *signals)


def _write_manifest(folder: Path, schema: str, source: ResultSource, about: Mapping[str, Any]) -> None:
    versions = {name: version(name) for name in ("numpy", "polars", "scipy")} | {"python": platform.python_version()}
    manifest = {
        "schema": schema,
        "evidentia": version("evidentia"),
        "versions": versions,
        "command": source.command,
        "options": dict(source.options),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        **about,
        "files": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    }
    (folder / "manifest.json").write_text(dumps(manifest), encoding="utf-8")


def command_of(folder: Path) -> str | None:
    """The command that wrote a result folder, or None if it is not one."""
    command = manifest_of(folder).get("command")
    return command if isinstance(command, str) else None


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest of a result folder; empty if it has none that can be read."""
    try:
        content = loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
