"""`evidentia leakcheck`: the configured pipeline under labels that change."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar
from evidentia.errors import counted


def leakcheck(
    config: Annotated[Path, argument("The configuration, a TOML file.")],
    posts: Annotated[int, option("--posts N", "Posts to take, at most; drawn by the seed.")] = 300,
    seed: Annotated[
        int | None, option("--seed", "Draws posts and permutations; default: the configuration's.", min=0)
    ] = None,
    as_json: Annotated[bool, option("--json", "Print only the findings, as JSON.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Change labels that no stage of a configuration may see, run the stages as `run` does, and say what moved.

    Exit codes: 0 nothing found, 1 a canary or a check failed, 2 bad input. Nothing is written.
    """
    from evidentia.leakcheck import leakcheck as check
    from evidentia.pipeline.config import read_config
    from evidentia.report.gate import print_findings

    bar = partial(progress_bar, quiet=quiet or as_json)
    result = check(read_config(config), posts=posts, seed=seed, bar=bar)
    if as_json:
        sys.stdout.write(result.to_json())
    elif not quiet:
        print(
            f"{', '.join(result.stages)}; {counted(result.posts, 'post')}, {result.asked} of them EVAL, seed {result.seed}"
        )
        print_findings(result.findings)
    options.exit_unless(result.passed)
