"""`evidentia ablate`: what each stage of a pipeline adds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar
from evidentia.cli.run import Resume, Workers, note, show_finished, stoppable


def ablate(
    config: Annotated[Path, argument("The configuration, a TOML file.")],
    out: options.Everything,
    seeds: Annotated[int, option("--seeds", "Repeat with other seeds and report the spread.")] = 1,
    resume: Resume = False,
    workers: Workers = None,
    resamples: options.Resamples = 10_000,
    no_verify: Annotated[bool, option("--no-verify", "Do not recompute the last result.")] = False,
    no_report: Annotated[bool, option("--no-report", "Draw no pages and no figures.")] = False,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    quiet: options.Quiet = False,
) -> None:
    """Judge the pipeline one stage longer each time: figures, paired deltas, the sweep over gamma, the grid of thresholds.

    Exit codes: 0 done, 1 a check or the verification failed, 2 bad input.
    """
    from evidentia import ablating
    from evidentia.pipeline.config import read_config
    from evidentia.report.ablation import print_ablation
    from evidentia.running import Judging

    judging = Judging(resamples, not no_verify, False if no_report else None, f"evidentia ablate {config.name} -o OUT")
    bar = partial(progress_bar, quiet=quiet)
    settings, tell = read_config(config), partial(note, quiet=quiet)
    if resume and (passed := ablating.finished(settings, out, seeds=seeds)) is not None:
        show_finished(out, passed=passed, quiet=quiet)
        return
    with stoppable("continue with --resume.", quiet=quiet):
        ablation = ablating.ablate(
            settings, out, seeds=seeds, resume=resume, workers=workers, judging=judging, bar=bar, note=tell
        )
    if not quiet:
        print_ablation(ablation, out)
    options.exit_unless(ablation.passed)
