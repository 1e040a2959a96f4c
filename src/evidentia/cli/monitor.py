"""`evidentia monitor`: batches of new posts against the first of them, scored by the same model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar
from evidentia.errors import counted


def monitor(
    model: Annotated[Path, argument("The folder of `evidentia run`, or of one of its models.")],
    batches: Annotated[list[Path], argument("Batches of new posts in the order of time: files, or folders.")],
    out: Annotated[Path, option("-o --out OUT", "Folder for the result; nothing is written without it.")],
    reference: Annotated[
        int, option("--reference N", "The first N batches are what the others are compared with.")
    ] = 1,
    labels: Annotated[
        Path | None, option("--labels FILE", "Labels of posts: sensitivity and alert precision too.")
    ] = None,
    alpha: Annotated[float, option("--alpha SHARE", "Share of courses without drift that may have an alarm.")] = 0.05,
    horizon: Annotated[int, option("--horizon N", "Batches that this is promised for.")] = 50,
    rate_margin: Annotated[float, option("--rate-margin D", "A difference of shares that does not matter yet.")] = 0.05,
    shift_margin: Annotated[
        float, option("--shift-margin D", "How far from one half the chance of a larger value may lie.")
    ] = 0.1,
    splitter: Annotated[
        str | None, option("--splitter", "Cuts posts given as text; default: training's, else pysbd.")
    ] = None,
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
    force: options.Force = False,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    quiet: options.Quiet = False,
) -> None:
    """Watch a model in use: states, probabilities, lengths and unknown words of every batch against the first.

    Exit codes: 0 no alarm, 1 an alarm (everything is written), 2 bad input. An alarm says that posts or answers have changed, not
    why, and nothing about any person.
    """
    from evidentia.cli.evaluate import command_line
    from evidentia.evaluation import ensure_writable
    from evidentia.monitoring import Settings, watch
    from evidentia.pipeline.predict import load_trained
    from evidentia.report.monitor import write_course

    ensure_writable(out, force=force)
    settings = Settings(alpha, horizon, rate_margin, shift_margin)
    trained = load_trained(
        model,
        allow_endpoints=allow_endpoint or (),
        allow_keys=allow_key or (),
        trust_remote_code=trust_remote_code,
        config=config,
        sha256=sha256,
    )
    for note in trained.notes:
        print(f"warning: {note}", file=sys.stderr)
    with progress_bar("scoring", quiet=quiet) as progress:
        course = watch(
            trained,
            batches,
            labels=labels,
            reference=reference,
            settings=settings,
            splitter=splitter,
            progress=progress,
        )
    write_course(course, out, force=force, command=command_line(sys.argv[1:]))
    for note in course.notes:
        print(f"warning: {note}", file=sys.stderr)
    if not quiet:
        for batch in course.batches:
            for alarm in batch.alarms:
                of = "" if alarm.criterion is None else f"[criterion={alarm.criterion}]"
                means = f"{alarm.reference:.4f} -> {alarm.value:.4f}"
                print(
                    f"ALARM {batch.name}: {alarm.signal}{of} {means}, effect {alarm.effect:+.3f}, p {alarm.p_holm:.1e}"
                )
        judged = counted(len(course.batches), "batch", "batches")
        print(
            f"{judged} against {counted(course.reference['posts'], 'post')}: {course.alarms} with an alarm; written to {out.name}"
        )
        print("Research software, not a medical device.")
    options.exit_unless(course.alarms == 0)
