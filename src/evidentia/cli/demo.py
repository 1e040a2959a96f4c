"""`evidentia demo`: the main job on a synthetic run, from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evidentia.cli.evaluate import show
from evidentia.cli.progress import progress_bar


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="Folder for the result.")] = Path(
        "evidentia-demo"
    ),
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same run.")] = 7,
    resamples: Annotated[
        int, typer.Option("--resamples", help="Bootstrap resamples of posts; 0 turns intervals off.")
    ] = 10_000,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is an earlier result.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Make a synthetic run with the contract's dataset shape and evaluate it.

    1,477 posts, 10 criteria, 14,770 queries of which 1,379 have evidence. The data are invented: the numbers say nothing
    about any real system.
    """
    from evidentia import workflow
    from evidentia.synth import synthetic_run
    from evidentia.tables import read_run

    workflow.may_write(out, force=force)
    made = synthetic_run(seed=seed, splits=True)
    run = read_run(made.per_query, candidates=made.candidates, card="redsm5", by=("subreddit",))
    with progress_bar("resampling", quiet=quiet) as progress:
        evaluation = workflow.evaluate(
            run, by=("subreddit",), seed=seed, resamples=resamples, command="evidentia demo -o OUT", progress=progress
        )
    with progress_bar("writing", quiet=quiet):
        evaluation.save(out, force=force)
    show(evaluation, out, as_json=False, quiet=quiet)
