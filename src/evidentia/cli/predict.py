"""`evidentia predict`: a trained pipeline on new posts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.errors import InputError, OutputError, counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from evidentia.pipeline.answering import ModelSource
    from evidentia.pipeline.predict import Trained

FORMATS = (".csv", ".jsonl", ".parquet")
_MOST = 3  # parts whose warnings are printed


def predict(
    model: Annotated[Path, argument("The folder of `evidentia run`, or of one of its models.")],
    posts: Annotated[Path, argument("New posts: a .jsonl or .parquet file, or a folder of them.")],
    out: Annotated[
        Path,
        option(
            "-o --out FILE",
            "A .csv, .jsonl or .parquet file, with FILE.thresholds.json beside it; or a folder for parts.",
        ),
    ],
    splitter: Annotated[
        str | None, option("--splitter", "Cuts posts given as text; default: training's, else pysbd.")
    ] = None,
    texts: Annotated[
        bool, option("--texts", "Also write the evidence sentences themselves (.jsonl or .parquet).")
    ] = False,
    allow_endpoint: Annotated[
        list[str] | None, option("--allow-endpoint URL", "A server of the model that may be sent texts; repeatable.")
    ] = None,
    allow_key: Annotated[
        list[str] | None, option("--allow-key NAME", "An environment variable whose key may be sent; repeatable.")
    ] = None,
    trust_remote_code: Annotated[
        bool, option("--trust-remote-code", "Let models of the folder run code of their own.")
    ] = False,
    config: Annotated[
        Path | None, option("--config FILE", "Your configuration: allows the servers and keys it names.")
    ] = None,
    sha256: Annotated[
        str | None, option("--sha256 HASH", "Refuse a model with another hash than `run` printed.")
    ] = None,
    thresholds: Annotated[
        Path | None, option("--thresholds FILE", "Decide by what `evidentia tune` chose on the folder of the run.")
    ] = None,
    partition: Annotated[
        int | None, option("--partition N", "Posts of a part, where -o is a folder; default 10,000.")
    ] = None,
    workers: Annotated[int, option("--workers N", "Processes that fill a folder; 0: one for every core.")] = 0,
    resume: Annotated[bool, option("--resume", "Continue a folder that was begun, with what is missing.")] = False,
    force: Annotated[bool, option("--force", "Replace FILE.")] = False,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    quiet: Annotated[bool, option("--quiet -q", "Print nothing but warnings and errors.")] = False,
) -> None:
    """Apply a trained pipeline to new posts: a state, a probability and the evidence sentences for every criterion.

    Research software, not a medical device: a state is about a text, never a finding about a person.
    """
    folder = out.suffix not in FORMATS and (partition is not None or resume or not out.suffix)
    if not folder and out.suffix not in FORMATS:
        raise InputError(f"{out.name}: write to one of {', '.join(FORMATS)}, or name a folder.")
    if not folder and (partition is not None or resume or workers):
        raise InputError(f"{out.name}: --partition, --workers and --resume are for a folder. Name one with -o.")
    if texts and out.suffix == ".csv":
        raise InputError("Texts hold commas and lines of their own: with --texts write .jsonl or .parquet.")
    from evidentia.pipeline.answering import ModelSource

    permissions = {
        "allow_endpoints": allow_endpoint or (),
        "allow_keys": allow_key or (),
        "trust_remote_code": trust_remote_code,
        "config": config,
        "sha256": sha256,
    }
    source = ModelSource(model, permissions, thresholds)
    if folder:
        how: dict[str, Any] = {
            "texts": texts,
            "partition": partition,
            "workers": workers,
            "resume": resume,
            "force": force,
        }
        _into_folder(source, posts, out, splitter, quiet=quiet, **how)
    else:
        _into_file(source, posts, out, splitter, texts=texts, force=force, quiet=quiet)


def _into_file(
    source: ModelSource, posts: Path, out: Path, splitter: str | None, *, texts: bool, force: bool, quiet: bool
) -> None:
    from evidentia.corpus import read_posts
    from evidentia.protocol.answers import thresholds_beside
    from evidentia.results import dumps_by_line

    beside = thresholds_beside(out)
    for path in (out, beside):
        if os.path.exists(path) and not force:  # the method of Path fails for long names
            raise OutputError(f"{path.name} exists. Choose another file with -o, or replace it with --force.")
    trained = source.load()
    read = read_posts(posts, criteria=trained.criteria, splitter=_splitter(trained, splitter))
    _warn(*trained.notes, *trained.differences(read.posts, read.splitter))
    answers = trained.rows(read.posts, texts=texts)
    provenance = dumps_by_line(trained.thresholds, ("folds", "inputs")).encode()
    _write(out.parent, {out.name: _content(answers, out.suffix), beside.name: provenance})
    if not quiet:
        states = answers["state"].value_counts(sort=True).iter_rows()
        written = f"{out.name}, {beside.name}"
        _conclude(trained, states, trained.seen(read.posts), len(read.posts), answers.height, written)


def _into_folder(
    source: ModelSource,
    posts: Path,
    out: Path,
    splitter: str | None,
    *,
    partition: int | None,
    quiet: bool,
    **how: Any,
) -> None:
    from evidentia.cli.progress import progress_bar
    from evidentia.pipeline.answer_folder import PARTITION, answer_into_folder

    trained = source.load(keep_vectors=False)
    _warn(*trained.notes)
    with progress_bar("Answering", quiet=quiet) as progress:
        manifest = answer_into_folder(
            *(source, trained, posts, out),
            splitter=_splitter(trained, splitter),
            partition=PARTITION if partition is None else partition,
            look=progress,
            **how,
        )
    warned = [part for part in manifest["parts"] if part["warnings"]]
    _warn(*(f"{part['name']}: {warning}" for part in warned[:_MOST] for warning in part["warnings"]))
    if warned[_MOST:]:
        _warn(f"{counted(len(warned) - _MOST, 'further part')} with such warnings: see {out.name}/manifest.json")
    if not quiet:
        states = sorted(manifest["states"].items(), key=lambda each: -each[1])
        written = f"{counted(len(manifest['parts']), 'part')} in {out.name}"
        _conclude(trained, states, manifest["learnt_from"], manifest["answered"], manifest["queries"], written)


def _splitter(trained: Trained, named: str | None) -> str:
    """What cuts texts: the splitter that was named, else that of training."""
    from evidentia.corpus.splitter import DEFAULT

    return (trained.cut.splitter or DEFAULT).partition(" ")[0] if named is None else named


def _warn(*warnings: str) -> None:
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _conclude(
    trained: Trained, states: Iterable[tuple[str, int]], seen: int, posts: int, queries: int, written: str
) -> None:
    for state, count in states:
        print(f"{state:<10}{count:>8,}")
    if seen:
        print(f"warning: the model was trained or tuned on {counted(seen, 'of these posts', 'of these posts')}")
    print(f"{counted(posts, 'post')}, {counted(queries, 'query', 'queries')}: {written}")
    print(f"model SHA-256: {trained.sha256}")
    print("Research software, not a medical device.")


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    """Write the answers and their thresholds, both or neither."""
    from evidentia.results.folder import replace_files

    try:
        replace_files(folder, contents)
    except OSError as error:
        raise OutputError(
            f"Cannot write {next(iter(contents))}: {error.strerror}. Choose another file with -o."
        ) from None


def _content(frame: pl.DataFrame, suffix: str) -> bytes:
    import io

    import polars

    from evidentia.tables.cells import defused_column

    buffer = io.BytesIO()
    if suffix == ".csv":
        words = [name for name, kind in frame.schema.items() if kind == polars.String]
        frame.with_columns(defused_column(name) for name in words).write_csv(buffer)
    elif suffix == ".jsonl":
        frame.write_ndjson(buffer)
    else:
        frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
