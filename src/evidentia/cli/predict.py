"""`evidentia predict`: a trained pipeline on new posts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.errors import InputError, OutputError, counted

if TYPE_CHECKING:
    import polars as pl

FORMATS = (".csv", ".jsonl", ".parquet")


def predict(
    model: Annotated[Path, argument("The folder of `evidentia run`, or of one of its models.")],
    posts: Annotated[Path, argument("New posts: documents.jsonl, or a folder that holds it.")],
    out: Annotated[
        Path, option("-o --out FILE", "A .csv, .jsonl or .parquet file; FILE.thresholds.json is written beside it.")
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
    force: Annotated[bool, option("--force", "Replace FILE.")] = False,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    quiet: Annotated[bool, option("--quiet -q", "Print nothing but warnings and errors.")] = False,
) -> None:
    """Apply a trained pipeline to new posts: a state, a probability and the evidence sentences for every criterion.

    Research software, not a medical device: a state is about a text, never a finding about a person.
    """
    if out.suffix not in FORMATS:
        raise InputError(f"{out.name}: write to one of {', '.join(FORMATS)}.")
    if texts and out.suffix == ".csv":
        raise InputError("Texts hold commas and lines of their own: with --texts write .jsonl or .parquet.")
    from evidentia.protocol.answers import thresholds_beside

    beside = thresholds_beside(out)
    for path in (out, beside):
        if os.path.exists(path) and not force:  # the method of Path fails for long names
            raise OutputError(f"{path.name} exists. Choose another file with -o, or replace it with --force.")
    from evidentia.corpus import read_posts
    from evidentia.corpus.splitter import DEFAULT
    from evidentia.pipeline.predict import load_trained
    from evidentia.results import dumps_by_line

    trained = load_trained(
        model,
        allow_endpoints=allow_endpoint or (),
        allow_keys=allow_key or (),
        trust_remote_code=trust_remote_code,
        config=config,
        sha256=sha256,
    )
    if thresholds is not None:
        from evidentia.pipeline.retuning import under_thresholds
        from evidentia.protocol import read_tuning

        tuning, source = read_tuning(thresholds)
        trained = under_thresholds(trained, tuning, name=source.name)
    usual = (trained.cut.splitter or DEFAULT).partition(" ")[0]
    read = read_posts(posts, criteria=trained.criteria, splitter=usual if splitter is None else splitter)
    for warning in (*trained.notes, *trained.differences(read.posts, read.splitter)):
        print(f"warning: {warning}", file=sys.stderr)
    answers = trained.rows(read.posts, texts=texts)
    provenance = dumps_by_line(trained.thresholds, ("folds", "inputs")).encode()
    _write(out.parent, {out.name: _content(answers, out.suffix), beside.name: provenance})
    if quiet:
        return
    for state, count in answers["state"].value_counts(sort=True).iter_rows():
        print(f"{state:<10}{count:>8,}")
    seen = trained.seen(read.posts)
    if seen:
        print(f"warning: the model was trained or tuned on {counted(seen, 'of these posts', 'of these posts')}")
    print(
        f"{counted(len(read.posts), 'post')}, {counted(answers.height, 'query', 'queries')}: {out.name}, {beside.name}"
    )
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
