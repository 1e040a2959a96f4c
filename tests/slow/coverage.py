"""Simulated clustered data, and how often a nominal interval holds the truth. ``python tests/slow/coverage.py`` prints it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from evidentia.evaluation.compute import compute
from evidentia.evaluation.groups import OVERALL
from evidentia.evaluation.replicates import Batch
from evidentia.measures import PROFILES, resolve
from evidentia.stats.intervals import percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.tables.queries import Floats, Queries

NAMES = ("AUROC", "Brier", "Precision(t=0.5)")  # a sweep, a mean and a ratio
DEFINITIONS = {name: resolve(name, PROFILES["contract"]).definition for name in NAMES}
LEVEL = 0.95


@dataclass(frozen=True)
class Coverage:
    """How many of the intervals held the true value."""

    held: int
    of: int

    @property
    def share(self) -> float:
        return self.held / self.of


def sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def simulated(posts: int, random: np.random.Generator) -> Queries:
    """Posts of 4 to 12 queries (8 on average) that share how much evidence they hold and how they are scored."""
    sizes = random.integers(4, 13, size=posts)
    post = np.repeat(np.arange(posts), sizes)
    severity, tone = random.normal(size=(2, posts))
    label = random.random(len(post)) < sigmoid(1.3 * severity[post] - 1.0)
    score = 1.6 * label - 1.2 + 1.2 * tone[post] + 0.8 * severity[post] + 0.7 * random.normal(size=len(post))
    return Queries(
        post=post,
        criterion=np.zeros(len(post), np.int64),
        label=label,
        post_ids=tuple(map(str, range(posts))),
        criterion_ids=("C",),
        prob=sigmoid(score),
    )


def each_query_alone(queries: Queries) -> Queries:
    """The same data as if the queries of a post were independent."""
    return replace(queries, post=np.arange(len(queries)), post_ids=tuple(map(str, range(len(queries)))))


def values(queries: Queries, plan: ResamplingPlan) -> dict[str, Floats]:
    """Replicate values of every measure."""
    found = Batch(queries, [(definition, OVERALL) for definition in DEFINITIONS.values()]).run(plan)
    return {name: found[definition, ()] for name, definition in DEFINITIONS.items()}


def truth(posts: int, seed: int, parts: int = 20) -> dict[str, float]:
    """The values of very many posts: the mean over large parts, which is off by next to nothing."""
    random = np.random.default_rng(seed)
    wants = [(definition, OVERALL) for definition in DEFINITIONS.values()]
    each = [compute(simulated(posts // parts, random), wants) for _ in range(parts)]
    return {
        name: float(np.mean([part.cell(definition, OVERALL).outcome.values[0] for part in each]))
        for name, definition in DEFINITIONS.items()
    }


def covered(
    true: dict[str, float], data: Iterable[Queries], resamples: int
) -> tuple[dict[str, Coverage], dict[str, Coverage]]:
    """Coverage of the cluster bootstrap and of one that takes queries for independent, on the same data sets."""
    held = {kind: dict.fromkeys(NAMES, 0) for kind in ("clusters", "queries")}
    sets = 0
    for queries in data:
        for kind, units in (("clusters", queries), ("queries", each_query_alone(queries))):
            # another seed for every data set: with one, all would share the luck of its draws
            found = values(units, ResamplingPlan(len(units.post_ids), resamples, seed=sets))
            for name, replicates in found.items():
                limits = percentile_limits(replicates, LEVEL)
                held[kind][name] += int(limits.low[0] <= true[name] <= limits.high[0])
        sets += 1
    clusters, queries_ = ({name: Coverage(n, sets) for name, n in held[kind].items()} for kind in held)
    return clusters, queries_


def experiment(
    sets: int = 1000, posts: int = 200, resamples: int = 600, seed: int = 2026
) -> tuple[dict[str, float], dict[str, Coverage], dict[str, Coverage]]:
    """True values, and the coverage of both kinds."""
    random = np.random.default_rng(seed)
    true = truth(400_000, seed + 1)
    return (true, *covered(true, (simulated(posts, random) for _ in range(sets)), resamples))


def main() -> None:
    """Print the figures of docs/intervals.md."""
    for posts in (30, 100, 200):
        true, clusters, queries = experiment(posts=posts)
        for name in NAMES:
            shares = f"clusters {clusters[name].share:.1%}  queries {queries[name].share:.1%}"
            print(f"{posts:3} posts  {name:18} true {true[name]:.4f}  {shares}", flush=True)


if __name__ == "__main__":
    main()
