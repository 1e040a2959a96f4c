"""A run against the one-liner that anybody would try first: words of a sentence, one logistic regression per criterion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evidentia import workflow
from evidentia.pipeline.outputs import tables_of, write_tables
from evidentia.pipeline.plan import Plan
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import baseline
from evidentia.report.show import fixed, limits
from evidentia.results import Comparison
from evidentia.tables import read_run

MEASURES = ("nDCG@10", "AUROC", "AUPRC")
ONELINER, FOLDER = "baseline", "comparison-baseline"


def against_oneliner(plan: Plan, store: Checkpoints, folder: Path, *, resamples: int) -> Comparison | None:
    """Paired deltas of the result in a run's folder against the one-liner on its folds, both written beside it.

    None where no step of the system is a one-liner, or nothing is resampled.
    """
    variant = baseline(plan.system)
    if variant is None or resamples == 0:
        return None
    place = folder / ONELINER
    write_tables(tables_of(plan, store, variant), place)
    read = read_run(place / "per_query.parquet", tune=place / "tune.parquet", allow_disjoint=True)
    simple = workflow.evaluate(read, thresholds=place / "thresholds.json", measures=MEASURES, resamples=0, report=False)
    simple.save(place / "result", force=True)
    return workflow.compare(
        *(place / "result", folder / "result"),
        names=["one-liner", "pipeline"],
        measures=MEASURES,
        resamples=resamples,
        out=folder / FOLDER,
        force=True,
        report=False,
    )


def verdict_lines(comparison: Comparison) -> Iterator[str]:
    """What a terminal is told: the deltas, and a warning for every interval that lies wholly below zero."""
    known = [
        (delta.name, delta.delta, delta.ci)
        for delta in map(comparison.__getitem__, MEASURES)
        if delta.delta is not None
    ]
    told = [f"{name} {fixed(gain, sign='+')} ({limits(ci)})" for name, gain, ci in known]
    yield f"against the one-liner (words of a sentence, a logistic regression per criterion): {', '.join(told)}"
    worse = [name for name, gain, ci in known if (gain if ci is None else ci[1]) < 0]  # None: no resample differs
    if worse:
        yield (
            f"WARNING: the pipeline is worse than the one-liner in {', '.join(worse)}. Give more labelled posts, or try other "
            "settings: `evidentia ablate` shows which stage loses."
        )
