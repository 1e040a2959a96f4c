"""`evidentia synth`: a synthetic run of known shape."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evidentia.errors import OutputError


def synth(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder for the files.")],
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same run.")] = 7,
    posts: Annotated[int, typer.Option("--posts", help="How many posts.")] = 1477,
    criteria: Annotated[int, typer.Option("--criteria", help="How many criteria.")] = 10,
    positives: Annotated[
        int | None, typer.Option("--positives", help="How many queries have evidence; default 9.34 % of them.")
    ] = None,
    mean_candidates: Annotated[float, typer.Option("--mean-candidates", help="Mean sentences of a post.")] = 20,
    folds: Annotated[int, typer.Option("--folds", help="How many outer folds.")] = 5,
    difficulty: Annotated[float, typer.Option("--difficulty", help="0 a perfect system, 1 a random one.")] = 0.5,
    ties: Annotated[float, typer.Option("--ties", help="Share of queries with tied scores.")] = 0.1,
    splits: Annotated[bool, typer.Option("--splits", help="Also TRAIN and TUNE rows of every fold.")] = False,
    kind: Annotated[str, typer.Option("--format", help="csv, parquet or jsonl.")] = "csv",
    force: Annotated[bool, typer.Option("--force", help="Replace files of the same names.")] = False,
    trec: Annotated[bool, typer.Option("--trec", help="Also write TREC qrels and run files.")] = False,
) -> None:
    """Make a synthetic run, seeded, with the shape of the contract's dataset unless told otherwise.

    The ids and labels are invented; no text is made.
    """
    from evidentia.synth import synthetic_run, write_run, write_trec

    names = [f"per_query.{kind}", f"candidates.{kind}", *(["qrels.txt", "run.txt"] if trec else [])]
    there = [name for name in names if (out / name).exists()]
    if there and not force:
        raise OutputError(
            f"{out.name} already holds {', '.join(there)}. Choose another folder, or replace them with --force."
        )
    contract_size = (posts, criteria) == (1477, 10)
    run = synthetic_run(
        seed=seed,
        posts=posts,
        criteria=criteria,
        positives=1379 if positives is None and contract_size else positives,
        mean_candidates=mean_candidates,
        folds=folds,
        difficulty=difficulty,
        ties=ties,
        splits=splits,
    )
    written = write_run(run, out, format=kind)
    if trec:
        written = [*written, *write_trec(run, out)]
    for path in written:
        print(path)
