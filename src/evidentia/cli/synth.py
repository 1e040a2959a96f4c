"""`evidentia synth`: a synthetic run or corpus of known shape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from evidentia.errors import InputError, OutputError, shown

_EVIDENCE = "Evidence runs"
_BOTH = "Evidence runs and corpora"
_CORPUS = "Corpora"
_PHQ8 = "PHQ-8 runs"
_KINDS = {
    "evidence": (
        *("posts", "criteria", "positives", "mean_candidates", "folds", "difficulty", "ties", "splits"),
        *("format", "trec"),
    ),
    "corpus": ("posts", "positives", "mean_sentences"),
    "phq8": ("participants", "failures", "abstention"),
}


def synth(
    context: typer.Context,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder for the files.")],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="evidence: a run over posts, criteria, sentences. corpus: invented texts with labels. "
            "phq8: a run of a scorer that may abstain.",
        ),
    ] = "evidence",
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same run.")] = 7,
    force: Annotated[bool, typer.Option("--force", help="Replace files of the same names.")] = False,
    posts: Annotated[int, typer.Option("--posts", help="How many posts.", rich_help_panel=_BOTH)] = 1477,
    criteria: Annotated[int, typer.Option("--criteria", help="How many criteria.", rich_help_panel=_EVIDENCE)] = 10,
    positives: Annotated[
        int | None,
        typer.Option(
            "--positives", help="How many queries have evidence; default 9.34 % of them.", rich_help_panel=_BOTH
        ),
    ] = None,
    mean_candidates: Annotated[
        float, typer.Option("--mean-candidates", help="Mean sentences of a post.", rich_help_panel=_EVIDENCE)
    ] = 20,
    folds: Annotated[int, typer.Option("--folds", help="How many outer folds.", rich_help_panel=_EVIDENCE)] = 5,
    difficulty: Annotated[
        float, typer.Option("--difficulty", help="0 a perfect system, 1 a random one.", rich_help_panel=_EVIDENCE)
    ] = 0.5,
    ties: Annotated[
        float, typer.Option("--ties", help="Share of queries with tied scores.", rich_help_panel=_EVIDENCE)
    ] = 0.1,
    splits: Annotated[
        bool, typer.Option("--splits", help="Also TRAIN and TUNE rows of every fold.", rich_help_panel=_EVIDENCE)
    ] = False,
    format: Annotated[str, typer.Option("--format", help="csv, parquet or jsonl.", rich_help_panel=_EVIDENCE)] = "csv",
    trec: Annotated[
        bool, typer.Option("--trec", help="Also write TREC qrels and run files.", rich_help_panel=_EVIDENCE)
    ] = False,
    mean_sentences: Annotated[
        float, typer.Option("--mean-sentences", help="Mean sentences of a post.", rich_help_panel=_CORPUS)
    ] = 20,
    participants: Annotated[
        int, typer.Option("--participants", help="How many participants.", rich_help_panel=_PHQ8)
    ] = 41,
    failures: Annotated[
        int, typer.Option("--failures", help="How many of them have no result.", rich_help_panel=_PHQ8)
    ] = 2,
    abstention: Annotated[
        float, typer.Option("--abstention", help="Share of items without an answer, zero-shot.", rich_help_panel=_PHQ8)
    ] = 0.4,
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


def _evidence(out: Path, force: bool, *, format: str, trec: bool, **settings: Any) -> list[Path]:
    from evidentia.synth import synthetic_run
    from evidentia.synth.files import run_files, trec_files, write_files

    names = [f"per_query.{format}", f"candidates.{format}", *(["qrels.txt", "run.txt"] if trec else [])]
    _refuse_to_replace(out, names, force)
    if settings["positives"] is None and (settings["posts"], settings["criteria"]) == (1477, 10):
        settings["positives"] = 1379
    run = synthetic_run(**settings)
    return write_files(out, run_files(run, format=format) | (trec_files(run) if trec else {}))


def _corpus(out: Path, force: bool, **settings: Any) -> list[Path]:
    from evidentia.corpus import write_corpus
    from evidentia.synth import synthetic_corpus

    write_corpus(synthetic_corpus(**settings), out, force=force)
    return [out / name for name in ("documents.jsonl", "criteria.jsonl", "labels.csv")]


def _phq8(out: Path, force: bool, **settings: Any) -> list[Path]:
    from evidentia.synth import synthetic_phq8, write_phq8

    _refuse_to_replace(out, ["phq8.json"], force)
    return [write_phq8(synthetic_phq8(**settings), out / "phq8.json")]
