"""Bootstrap intervals side by side with loops over scikit-learn, scipy.stats.bootstrap and confidenceinterval: one run, ratios.

Every time is the smallest of several. Both sides must first give the same values, replicate by replicate where they draw
the same; if they do not, no ratio is printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator, Philox
from sklearn.metrics import average_precision_score, roc_auc_score

import record
from cold import started
from evidentia.array_types import Floats
from evidentia.evaluation.evaluate import evaluate_run
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.plan import OVERALL
from evidentia.evaluation.replicates import ReplicateBatch
from evidentia.measures import profile_named, resolve
from evidentia.results import Evaluation
from evidentia.stats.resampling import ResamplingPlan
from evidentia.synth import synthetic_run
from evidentia.tables import Queries, Run, read_run
from measuring import DisagreementError, Figure, cores, show, versions

SEED, POSTS, POSITIVES = 7, 1477, 1379
RESAMPLES, CALLS, ALLOWED = 10_000, 1_000, 1e-12
MEMORY_MIB = 1536.0
PACKAGES = ("evidentia", "numpy", "scipy", "polars", "scikit-learn", "confidenceinterval")


def drawn_run() -> Run:
    """The run of the contract's size, in memory: per-query rows, no candidates, no splits."""
    made = synthetic_run(seed=SEED, posts=POSTS, positives=POSITIVES, candidates=False)
    return read_run(made.per_query)


def replicate_values(queries: Queries, names: Sequence[str], resamples: int) -> dict[str, Floats]:
    """Ours: the draws, and the values of every measure in every replicate."""
    wanted = {name: resolve(name, profile_named("contract")).definition for name in names}
    plan = ResamplingPlan(len(queries.post_ids), resamples, SEED)
    found = ReplicateBatch(queries, [(definition, OVERALL) for definition in wanted.values()]).run(plan)
    return {name: found[definition, ()][0] for name, definition in wanted.items()}


@dataclass(frozen=True)
class Took:
    """The smallest wall time and the smallest processor time of an action."""

    wall: float
    cpu: float


def least(actions: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, Took]:
    """Time every action, in turns. Processor time too: ours uses all cores, which on a busy machine are not there."""
    best = dict.fromkeys(actions, Took(float("inf"), float("inf")))
    for _ in range(rounds):
        for name, action in actions.items():
            wall, cpu = time.perf_counter(), time.process_time()
            action()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = Took(min(best[name].wall, wall), min(best[name].cpu, cpu))
    return best


def _figures(part: str, what: str, ours: Took, other: Took, *, times: float = 1.0, floor: float | None) -> list[Figure]:
    """Wall time with its target, and processor time; the other's are multiplied where only a part was measured."""
    return [
        Figure(part, what, "s", ours.wall, other.wall * times, floor=floor),
        Figure(part, f"{what}: CPU", "CPU s", ours.cpu, other.cpu * times),
    ]


class Loop:
    """The other side: the rows of the drawn posts, picked for every replicate, and a call of scikit-learn on them."""

    def __init__(self, queries: Queries) -> None:
        assert queries.prob is not None
        self.label, self.prob = queries.label.astype(np.int64), queries.prob
        self.posts = len(queries.post_ids)
        self.rows = np.split(np.arange(len(queries)), np.flatnonzero(np.diff(queries.post)) + 1)

    def replicates(self, scores: Sequence[Callable[..., float]], resamples: int) -> list[list[float]]:
        """The scores of so many replicates, with the same draws as ours."""
        values = []
        for replicate in range(resamples):
            picks = Generator(Philox(key=[SEED, replicate])).integers(self.posts, size=self.posts)
            values.append([self.drawn(picks, score) for score in scores])
        return values

    def drawn(self, picks: Sequence[int], score: Callable[..., float]) -> float:
        """A score over the rows of the drawn posts."""
        rows = np.concatenate([self.rows[pick] for pick in picks])
        return float(score(self.label[rows], self.prob[rows]))


def two_areas(queries: Queries, *, measured: int, rounds: int) -> list[Figure]:
    """Part 1: AUROC and AUPRC."""
    loop, names, scores = Loop(queries), ("AUROC", "AUPRC"), (roc_auc_score, average_precision_score)
    mine, theirs = replicate_values(queries, names, measured), np.array(loop.replicates(scores, measured))
    apart = max(float(np.abs(mine[name] - theirs[:, i]).max()) for i, name in enumerate(names))
    _agree(apart, f"{measured} replicates of AUROC and AUPRC")
    best = least(
        {
            "evidentia": lambda: replicate_values(queries, names, RESAMPLES),
            "loop": lambda: loop.replicates(scores, measured),
        },
        rounds=rounds,
    )
    what, times = "AUROC + AUPRC, scikit-learn loop", RESAMPLES / measured
    figures = _figures("areas", what, best["evidentia"], best["loop"], times=times, floor=200.0)
    _show(
        f"1. Two areas, {RESAMPLES:,} replicates of {len(loop.rows):,} posts",
        figures,
        f"{measured} replicates agree; the largest difference is {apart:.1g}",
        f"the loop is extrapolated from {measured} replicates ({best['loop'].wall:.2f} s)",
    )
    return figures


def other_bootstraps(queries: Queries, *, measured: int, rounds: int) -> list[Figure]:
    """Part 2: AUROC alone, against two packages that draw for themselves."""
    actions: dict[str, Callable[[], object]] = {
        "evidentia": lambda: replicate_values(queries, ("AUROC",), RESAMPLES),
        "scipy.stats.bootstrap, posts": lambda: _scipy(queries, measured),
    }
    notes = [f"the others are extrapolated from {measured} resamples"]
    if importlib.util.find_spec("confidenceinterval") is None:
        notes.append("confidenceinterval is not installed and is left out")
    else:
        from confidenceinterval import roc_auc_score as with_interval

        label, prob = queries.label.astype(np.int64), queries.prob
        value, _ = with_interval(label, prob, method="bootstrap_percentile", n_resamples=2)
        point = float(roc_auc_score(label, prob))
        _agree(max(abs(value - point), abs(_point(queries) - point)), "the AUROC of the run")
        actions["confidenceinterval, queries"] = lambda: with_interval(
            label, prob, method="bootstrap_percentile", n_resamples=measured
        )
        notes.append("confidenceinterval takes queries for independent; its point value agrees")
    best = least(actions, rounds=rounds)
    ours, times = best.pop("evidentia"), RESAMPLES / measured
    figures = [
        figure
        for what, took in best.items()
        for figure in _figures("other bootstraps", what, ours, took, times=times, floor=None)
    ]
    _show(f"2. AUROC alone, {RESAMPLES:,} replicates", figures, *notes)
    return figures


def _scipy(queries: Queries, resamples: int) -> object:
    from scipy.stats import bootstrap

    loop = Loop(queries)
    return bootstrap(
        (np.arange(loop.posts),),
        lambda picks: loop.drawn(picks, roc_auc_score),
        n_resamples=resamples,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )


def _point(queries: Queries) -> float:
    from evidentia.evaluation.compute import compute

    definition = resolve("AUROC", profile_named("contract")).definition
    return float(compute(queries, [(definition, OVERALL)]).cell(definition, OVERALL).outcome.values[0])


def all_intervals(run: Run) -> Evaluation:
    """Every number of the contract profile with its interval."""
    return evaluate_run(run, resampling=Resampling(resamples=RESAMPLES, seed=SEED))


def whole_contract(run: Run, *, rounds: int) -> list[Figure]:
    """Part 3: all intervals of the contract, against 1,000 calls that give one number each."""
    queries = run.queries
    label, prob = queries.label.astype(np.int64), queries.prob
    found = all_intervals(run)
    _agree(abs(found["AUROC"].value - roc_auc_score(label, prob)), "the AUROC of the run")
    with_limits = sum(estimate.ci is not None for estimate in found.measures.values())
    best = least(
        {
            "evidentia": lambda: all_intervals(run),
            "calls": lambda: [roc_auc_score(label, prob) for _ in range(CALLS)],
        },
        rounds=rounds,
    )
    what = f"all intervals, {CALLS:,} calls of roc_auc_score"
    figures = _figures("contract", what, best["evidentia"], best["calls"], floor=1.0)
    _show(
        f"3. The contract profile, {RESAMPLES:,} replicates: overall, per fold, criterion and state, and curves",
        figures,
        f"{len(found):,} numbers, {with_limits:,} of them with an interval; "
        "the others are conventions or do not vary, and say so",
    )
    return figures


def memory() -> list[Figure]:
    """Part 4: peak memory of a new process that draws the run and does part 3 once."""
    with tempfile.TemporaryDirectory() as name:
        spent = started(("python", str(Path(__file__).resolve()), "--once"), Path(name), "printed.txt")
    figure = Figure("memory", "peak, against 1.5 GiB", "MiB", spent.peak_mib, MEMORY_MIB, floor=1.0)
    show(
        "4. Memory of a new process: draw the run, then part 3 once",
        ("", "peak MiB", "limit MiB", "limit over peak", "target"),
        [(figure.what, f"{figure.ours:.0f}", f"{figure.other:.0f}", f"{figure.ratio:.2f}", figure.verdict)],
        f"wall {spent.seconds:.1f} s, CPU {spent.cpu_seconds:.1f} s, start to exit",
    )
    return [figure]


def _agree(apart: float, what: str) -> None:
    if not apart <= ALLOWED:
        raise DisagreementError(f"{what}: the largest difference is {apart:.2g}")


def _show(title: str, figures: Sequence[Figure], *notes: str) -> None:
    rows = [(f.what, f"{f.ours:.2f}", f"{f.other:.2f}", f"{f.ratio:.1f}", f.verdict) for f in figures]
    show(title, ("", "evidentia s", "other s", "times as fast", "target"), rows, *notes)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure everything only once")
    parser.add_argument("--once", action="store_true", help="only make all intervals once and print nothing")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures to a file")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    run = drawn_run()
    if arguments.once:
        all_intervals(run)
        return
    found, rounds = versions(*PACKAGES), 1 if arguments.quick else 3
    before, began = _load(), time.perf_counter()
    print(f"{', '.join(f'{name} {number}' for name, number in found.items())}; {cores()} cores, {before}")
    print(f"Synthetic run, seed {SEED}: {POSTS:,} posts x 10 criteria, {POSITIVES:,} queries with evidence")
    try:
        figures = two_areas(run.queries, measured=50, rounds=rounds)
        figures += other_bootstraps(run.queries, measured=20, rounds=rounds)
        figures += whole_contract(run, rounds=rounds)
        figures += memory()
    except DisagreementError as wrong:
        raise SystemExit(f"The two sides disagree, so there are no ratios. {wrong}.") from None
    print(f"\n{time.perf_counter() - began:.0f} s in all, {_load()} at the end")
    if arguments.write:
        quick = " --quick" if arguments.quick else ""
        record.write("bootstrap", found, how=f"python benchmarks/bootstrap.py{quick}")
    if arguments.json is not None:
        content = {"versions": found, "cores": cores(), "figures": [figure.to_dict() for figure in figures]}
        arguments.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
