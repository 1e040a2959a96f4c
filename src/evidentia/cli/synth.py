"""`evidentia synth`: a synthetic run or corpus of known shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from evidentia.cli.options import option
from evidentia.errors import InputError, OutputError, shown

of_evidence = partial(option, rich_help_panel="Evidence runs")
of_both = partial(option, rich_help_panel="Evidence runs and corpora")
of_corpus = partial(option, rich_help_panel="Corpora")
of_phq8 = partial(option, rich_help_panel="PHQ-8 runs")
_KINDS = {
    "evidence": (
        *("posts", "criteria", "positives", "mean_candidates", "folds", "difficulty", "ties", "splits"),
        *("format", "trec", "workers"),
    ),
    "corpus": ("posts", "positives", "mean_sentences"),
    "phq8": ("participants", "failures", "abstention"),
}


def synth(
    context: typer.Context,
    out: Annotated[Path, option("-o --out FOLDER", "Folder for the files.")],
    kind: Annotated[
        str,
        option(
            "--kind",
            "evidence: a run over posts, criteria, sentences. corpus: invented texts with labels. "
            "phq8: a run of a scorer that may abstain.",
        ),
    ] = "evidence",
    seed: Annotated[int, option("--seed", "Same seed, same run.")] = 7,
    force: Annotated[bool, option("--force", "Replace files of the same names.")] = False,
    posts: Annotated[int, of_both("--posts", "How many posts.")] = 1477,
    criteria: Annotated[int, of_evidence("--criteria", "How many criteria.")] = 10,
    positives: Annotated[
        int | None, of_both("--positives", "How many queries have evidence; default 9.34 % of them.")
    ] = None,
    mean_candidates: Annotated[float, of_evidence("--mean-candidates", "Mean sentences of a post.")] = 20,
    folds: Annotated[int, of_evidence("--folds", "How many outer folds.")] = 5,
    difficulty: Annotated[float, of_evidence("--difficulty", "0 a perfect system, 1 a random one.")] = 0.5,
    ties: Annotated[float, of_evidence("--ties", "Share of queries with tied scores.")] = 0.1,
    splits: Annotated[bool, of_evidence("--splits", "Also TRAIN and TUNE rows of every fold.")] = False,
    format: Annotated[
        str, of_evidence("--format", "csv, parquet or jsonl; Parquet of more than 20,000 posts comes in parts.")
    ] = "csv",
    trec: Annotated[bool, of_evidence("--trec", "Also write TREC qrels and run files.")] = False,
    workers: Annotated[
        int, of_evidence("--workers", "How many processes draw a run in parts; 0: one for every core.")
    ] = 0,
    mean_sentences: Annotated[float, of_corpus("--mean-sentences", "Mean sentences of a post.")] = 20,
    participants: Annotated[int, of_phq8("--participants", "How many participants.")] = 41,
    failures: Annotated[int, of_phq8("--failures", "How many of them have no result.")] = 2,
    abstention: Annotated[float, of_phq8("--abstention", "Share of items without an answer, zero-shot.")] = 0.4,
) -> None:
    """Make a synthetic run or corpus, seeded, with the shape of the contract's dataset unless told otherwise.

    Everything is invented. Runs have ids and labels, and no text. With --kind corpus it is documents.jsonl, criteria.jsonl
    and labels.csv, whose sentences were put together from frames of our own: no post of a real person is in it, and a
    result on it says nothing about real posts. With --kind phq8 it is one JSON file with two modes over the same
    participants.
    """
    _refuse_others(context, kind)
    # every kind takes its own options, under the names of the signature
    settings = {name: context.params[name] for name in ("seed", *_KINDS[kind])}
    written = {"evidence": _evidence, "corpus": _corpus, "phq8": _phq8}[kind](out, force, **settings)
    for path in written:
        print(path)


def _refuse_others(context: typer.Context, kind: str) -> None:
    """Stop at an option that says nothing about this kind of run, rather than pass over it."""
    if kind not in _KINDS:
        raise InputError(f"There is no kind {shown(kind)}. Choose one of: {', '.join(_KINDS)}.")
    names = dict.fromkeys(name for others in _KINDS.values() for name in others if name not in _KINDS[kind])
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} does not apply to --kind {kind}. Leave it out, or choose another kind.")


def _refuse_to_replace(out: Path, names: Sequence[str], force: bool) -> None:
    there = [name for name in names if (out / name).exists()]
    if there and not force:
        raise OutputError(
            f"{out.name} already holds {', '.join(there)}. Choose another folder, or replace them with --force."
        )


def _evidence(out: Path, force: bool, *, format: str, trec: bool, workers: int, **settings: Any) -> list[Path]:
    from evidentia.synth import synthetic_run
    from evidentia.synth.files import run_files, trec_files, write_files
    from evidentia.synth.parts import MOST_IN_ONE_FILE

    if format == "parquet" and settings["posts"] > MOST_IN_ONE_FILE:
        return _in_parts(out, force, trec=trec, workers=workers, **settings)
    names = [f"per_query.{format}", f"candidates.{format}", *(["qrels.txt", "run.txt"] if trec else [])]
    _refuse_to_replace(out, names, force)
    if settings["positives"] is None and (settings["posts"], settings["criteria"]) == (1477, 10):
        settings["positives"] = 1379
    run = synthetic_run(**settings)
    return write_files(out, run_files(run, format=format) | (trec_files(run) if trec else {}))


def _in_parts(out: Path, force: bool, *, trec: bool, **settings: Any) -> list[Path]:
    from evidentia.cli.progress import progress_bar
    from evidentia.synth import write_parts
    from evidentia.synth.parts import MOST_IN_ONE_FILE

    if trec:
        raise InputError(f"Runs of more than {MOST_IN_ONE_FILE:,} posts come without TREC files. Leave --trec out.")
    with progress_bar("Drawing", quiet=False) as progress:
        return write_parts(out, force=force, look=progress, **settings)


def _corpus(out: Path, force: bool, **settings: Any) -> list[Path]:
    from evidentia.corpus import write_corpus
    from evidentia.synth import synthetic_corpus

    write_corpus(synthetic_corpus(**settings), out, force=force)
    return [out / name for name in ("documents.jsonl", "criteria.jsonl", "labels.csv")]


def _phq8(out: Path, force: bool, **settings: Any) -> list[Path]:
    from evidentia.synth import synthetic_phq8, write_phq8

    _refuse_to_replace(out, ["phq8.json"], force)
    return [write_phq8(synthetic_phq8(**settings), out / "phq8.json")]
