"""Ranking measures side by side with pytrec_eval and ir_measures, and how their cost grows: one run, ratios.

Every time is the smallest of several. Both sides must first give the same values; if they do not, no ratio is printed:
a benchmark of wrong numbers is worthless.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import record
from cold import cold_command
from evidentia import arrays
from evidentia.array_types import Floats
from evidentia.evaluation.compute import compute
from evidentia.evaluation.plan import OVERALL
from evidentia.measures import Definition, kernels, profile_named, resolve
from evidentia.synth import SyntheticArrays, synthetic_arrays, synthetic_run
from evidentia.tables.queries import Candidates, Queries
from measuring import DisagreementError, Figure, cores, fastest, show, versions
from peers import KS, MEASURES, as_dicts, has_ranx, largest_difference, pytrec, ranx

SEED, POSTS, POSITIVES = 7, 1477, 1379
TIES = 0.0  # tools break ties differently
OURS = ("evidentia", "numpy", "polars")
PEERS = ("pytrec-eval-terrier", "ir-measures", "ranx")


@dataclass(frozen=True)
class Effort:
    """How often things are measured, and how large the run is made."""

    rounds: int
    seconds: float
    starts: int
    sizes: tuple[int, ...]


def drawn(size: int) -> SyntheticArrays:
    """The run of the contract's size, or a multiple of it."""
    return synthetic_arrays(seed=SEED, posts=POSTS * size, positives=POSITIVES * size, ties=TIES, stages=False)


def every_measure(candidates: Candidates) -> dict[str, Floats]:
    """All ranking measures of every query, from nothing but scores, gold marks and offsets."""
    ranks, n_gold, n_ranked = arrays.gold_ranks(candidates.score, candidates.is_gold, candidates.offsets)
    values: dict[str, Floats] = {"MRR": kernels.reciprocal_rank(ranks, None)}
    for k in KS:
        values[f"Recall@{k}"] = kernels.recall(ranks, n_gold, k)
        values[f"Precision@{k}"] = kernels.precision(ranks, k)
        values[f"HitRate@{k}"] = (kernels.hits(ranks, k) > 0).astype(np.float64)
        values[f"MAP@{k}"] = kernels.average_precision(ranks, n_gold, n_ranked, k, "gold")
        values[f"nDCG@{k}"] = kernels.ndcg(ranks, n_gold, k)
    return values


def in_memory(effort: Effort) -> list[Figure]:
    """Part 1: per-query values from arrays, against peers whose inputs are already built."""
    run = drawn(1)
    whole = Candidates(run.offsets, run.score, run.is_gold)
    positives = whole.take(np.flatnonzero(run.label))
    figures: list[Figure] = []
    notes: list[str] = []
    for what, candidates, floor in (("all queries", whole, 10.0), ("queries with evidence", positives, 5.0)):
        found, said = _beside_peers(what, candidates, floor, effort)
        figures += found
        notes += said
    show(
        f"1. {len(MEASURES)} ranking measures per query, in memory",
        ("", "evidentia ms", "peer ms", "times as fast", "target"),
        [(f.what, f"{f.ours:.2f}", f"{f.other:.2f}", f"{f.ratio:.1f}", f.verdict) for f in figures],
        *notes,
    )
    return figures


def _beside_peers(what: str, candidates: Candidates, floor: float, effort: Effort) -> tuple[list[Figure], list[str]]:
    scored, judged = as_dicts(candidates)
    values, evaluation = every_measure(candidates), pytrec(scored, judged)
    apart = largest_difference(values, evaluation())
    notes = [f"{what}: the values of {len(judged):,} agree; the largest difference is {apart:.1g}"]
    actions: dict[str, Callable[[], object]] = {
        "evidentia": lambda: every_measure(candidates),
        "pytrec_eval": evaluation,
    }
    if has_ranx():
        note, compiled = ranx(scored, judged, values)
        notes.append(f"{what}: {note}")
        actions |= {} if compiled is None else {"ranx": compiled}
    best = fastest(actions, rounds=effort.rounds, seconds=effort.seconds)
    ours = best.pop("evidentia") * 1e3
    floors = {"pytrec_eval": floor}
    figures = [
        Figure("in memory", f"{what}, {peer}", "ms", ours, seconds * 1e3, floor=floors.get(peer))
        for peer, seconds in best.items()
    ]
    return figures, notes


def growth(effort: Effort) -> list[Figure]:
    """Part 3: processor time per candidate as the run grows; what is linear keeps it."""
    definitions = ranking_definitions()
    cost: dict[tuple[str, int], float] = {}
    count: dict[int, int] = {}
    for size in effort.sizes:
        run = drawn(size)
        count[size] = len(run.score)
        for what, seconds in _grown(run, definitions, effort).items():
            cost[what, size] = seconds / count[size] * 1e9
    base = effort.sizes[0]
    sized = {
        (what, size): Figure("growth", f"{what}, {size}x", "CPU ns per candidate", ns, cost[what, base], ceiling=1.5)
        for (what, size), ns in sorted(cost.items())
    }
    show(
        f"3. Growth: kernels ({len(MEASURES)} measures per query) and compute ({len(definitions)} estimates)",
        ("", "candidates", "CPU ns per candidate", f"ratio to {base}x", "target"),
        [
            (f.what, f"{count[size]:,}", f"{f.ours:.1f}", f"{f.ratio:.2f}", "" if size == base else f.verdict)
            for (_, size), f in sized.items()
        ],
        f"peak memory of this process: {_peak_gib():.1f} GiB",
    )
    return list(sized.values())


def _grown(run: SyntheticArrays, definitions: Sequence[Definition], effort: Effort) -> dict[str, float]:
    candidates = Candidates(run.offsets, run.score, run.is_gold)
    queries = as_queries(run)
    actions: dict[str, Callable[[], object]] = {
        "kernels": lambda: every_measure(candidates),
        "compute": lambda: point_estimates(queries, definitions),
    }
    return fastest(actions, rounds=3, seconds=effort.seconds, clock=time.process_time)


def ranking_definitions() -> list[Definition]:
    """Every ranking definition of the contract's profile, over the queries with evidence and over all."""
    contract = profile_named("contract")
    meant = dict.fromkeys(resolve(name, contract).definition for name in contract.names(dual=True))
    return [definition for definition in meant if definition.measure.family == "ranking"]


def as_queries(run: SyntheticArrays) -> Queries:
    """The run as measures read it."""
    ranks, n_gold, n_ranked = arrays.gold_ranks(run.score, run.is_gold, run.offsets)
    return Queries(
        post=run.post,
        criterion=run.criterion,
        label=run.label,
        post_ids=tuple(map(str, range(run.knobs.posts))),
        criterion_ids=tuple(map(str, range(run.knobs.criteria))),
        n_gold=n_gold,
        n_ranked=n_ranked,
        gold_ranks=ranks,
        complete=True,
    )


def point_estimates(queries: Queries, definitions: Sequence[Definition]) -> list[float]:
    """The value of every definition over the whole run."""
    computation = compute(queries, [(definition, OVERALL) for definition in definitions])
    return [float(computation.cell(definition, OVERALL).outcome.values[0]) for definition in definitions]


def _peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**30


def _sizes(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError("give whole numbers above 0, separated by commas: 1,10,100")
    return tuple(int(word) for word in words)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", metavar="LIST", type=_sizes, help="sizes of part 3 as multiples of the contract's (1,10,100)"
    )
    parser.add_argument("--quick", action="store_true", help="measure less often, and only the sizes 1 and 10")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures to a file")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    sizes = arguments.sizes or ((1, 10) if arguments.quick else (1, 10, 100))
    effort = Effort(5, 0.5, 2, sizes) if arguments.quick else Effort(20, 5.0, 7, sizes)
    found = versions(*OURS, *PEERS)
    print(f"{', '.join(f'{name} {number}' for name, number in found.items())}; {cores()} cores")
    print(f"Synthetic run, seed {SEED}, no ties: {POSTS:,} posts x 10 criteria, {POSITIVES:,} queries with evidence")
    try:
        figures = in_memory(effort)
        run = synthetic_run(seed=SEED, posts=POSTS, positives=POSITIVES, ties=TIES)
        figures += cold_command(run, starts=effort.starts)
        del run
        figures += growth(effort)
    except DisagreementError as wrong:
        raise SystemExit(f"The two sides disagree, so there are no ratios. {wrong}.") from None
    if arguments.write:
        quick = " --quick" if arguments.quick else ""
        record.write("ranking", found, how=f"python benchmarks/ranking.py{quick}")
    if arguments.json is not None:
        content = {"versions": found, "cores": cores(), "figures": [figure.to_dict() for figure in figures]}
        arguments.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
