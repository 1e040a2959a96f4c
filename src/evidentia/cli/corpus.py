"""`evidentia corpus`: look at a corpus, check it, or make one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar
from evidentia.cli.source import refuse
from evidentia.errors import counted

app = typer.Typer(
    help="Posts, criteria and labels: stats, validate, import-redsm5.", no_args_is_help=True, rich_markup_mode="rich"
)

Folder = Annotated[
    Path, argument("Holds documents.jsonl, criteria.jsonl and labels.csv, also gzipped.", metavar="FOLDER")
]
Splitter = Annotated[str, option("--splitter", "Cuts posts that are given as text: pysbd, sentencex or lines.")]
NoLabels = Annotated[bool, option("--no-labels", "Neither need nor read labels.csv.")]


@app.command()
def stats(
    folder: Folder,
    splitter: Splitter = "pysbd",
    no_labels: NoLabels = False,
    as_json: Annotated[bool, option("--json", "Print the numbers as JSON.")] = False,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
) -> None:
    """Say how many posts, sentences and queries a corpus has, and how much evidence by criterion."""
    from rich.console import Console

    from evidentia.corpus import corpus_stats, read_corpus

    corpus = read_corpus(folder, splitter=splitter, labels=not no_labels)
    statistics = corpus_stats(corpus)
    if as_json:
        sys.stdout.write(statistics.to_json())
        return
    console = Console(highlight=False)
    for table in statistics.tables():
        console.print(table)
        console.print()
    _say(corpus.notes)


@app.command()
def validate(
    folder: Folder,
    splitter: Splitter = "pysbd",
    no_labels: NoLabels = False,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
) -> None:
    """Read a corpus and list every problem found, not just the first; nothing is written.

    Exit codes: 0 fine, 2 bad input.
    """
    from evidentia.corpus import validate_corpus

    refuse(validate_corpus(folder, splitter=splitter, labels=not no_labels))
    print("No problems found.")


@app.command("import-redsm5")
def import_redsm5(
    folder: Annotated[
        Path, argument("Holds redsm5_posts.csv and redsm5_annotations.csv, also gzipped.", metavar="DIR")
    ],
    out: Annotated[Path, option("-o --out CORPUS", "Folder for the corpus.")],
    splitter: Annotated[str, option("--splitter", "Cuts what is not annotated: pysbd, sentencex or lines.")] = "pysbd",
    force: Annotated[bool, option("--force", "Replace CORPUS if it is a corpus and nothing else.")] = False,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    quiet: options.Quiet = False,
) -> None:
    """Make a corpus of ReDSM5 as its authors distribute it; you need access to their files.

    Annotated sentences keep their ids, and the rest of every post is cut around them. Explanations are not taken over.
    """
    from evidentia.corpus import corpus_stats
    from evidentia.corpus.redsm5 import import_redsm5

    with progress_bar("cutting posts into sentences", quiet=quiet) as progress:
        corpus = import_redsm5(folder, out, splitter=splitter, force=force, progress=progress)
    if quiet:
        return
    statistics = corpus_stats(corpus)
    assert statistics.evidence is not None
    print(
        f"{counted(statistics.posts, 'post')}, {counted(statistics.queries, 'query', 'queries')}, "
        f"{statistics.evidence.queries_with_evidence:,} with evidence, {counted(statistics.sentences.total, 'sentence')}."
    )
    _say(corpus.notes)
    print(f"written to {out}")


def _say(notes: tuple[str, ...]) -> None:
    for note in notes:
        print(f"note: {note}")
