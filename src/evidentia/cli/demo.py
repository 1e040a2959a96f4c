"""`evidentia demo`: the whole job from nothing: texts, six stages, nested cross-validation, evaluation, verification, report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from evidentia.cli import options
from evidentia.cli.options import option
from evidentia.cli.progress import progress_bar
from evidentia.cli.run import Workers, show_judged, stoppable
from evidentia.errors import OutputError

CONTRACT_POSTS = 1477


def demo(
    out: options.Everything = Path("evidentia-demo"),
    posts: Annotated[int, option("--posts", "How many posts to invent.", min=20)] = CONTRACT_POSTS,
    seed: Annotated[int, option("--seed", "Same seed, same posts, same folds.")] = 7,
    resamples: options.Resamples = 10_000,
    workers: Workers = None,
    force: Annotated[bool, option("--force", "Replace OUT if it is an earlier demo.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Invent a corpus, run the default pipeline on it, and judge it.

    1,477 posts, 10 criteria, 14,770 queries of which 1,379 have evidence: some minutes on two cores. The texts are invented:
    the numbers say nothing about any real system. A demo that was stopped goes on where it was.
    """
    from evidentia import running
    from evidentia.pipeline.config import parse_config

    config = parse_config(_settings(posts, seed), base=Path())
    judging = running.Judging(resamples, command="evidentia demo -o OUT")
    if force:
        running.clear(out)
    elif running.occupied(out):
        raise OutputError(f"{out.name} exists. Choose another folder with -o, or replace it with --force.")
    if not quiet:
        print(
            f"inventing {posts:,} posts, training six stages in five folds, judging and verifying: some minutes",
            flush=True,
        )
    bar = partial(progress_bar, quiet=quiet)
    with stoppable("the same command goes on, without --force.", quiet=quiet):
        judged = running.run(config, out, resume=True, workers=workers, judging=judging, bar=bar)
    show_judged(judged, quiet=quiet)


def _settings(posts: int, seed: int) -> dict[str, Any]:
    """The default pipeline on the synthetic corpus; at full size it has the counts of its card."""
    whole = posts == CONTRACT_POSTS
    corpus = {"path": "synthetic", **({"card": "synthetic"} if whole else {"posts": posts})}
    return {"corpus": corpus, "protocol": {"seed": seed}}
