"""How often nominal 95 % intervals hold the truth; ``python tests/slow/coverage.py --write`` puts it into docs/intervals.md."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from evidentia.array_types import Floats
from evidentia.evaluation.cluster_sums import per_cluster
from evidentia.evaluation.compare import differing_posts
from evidentia.evaluation.compute import Computation, compute
from evidentia.evaluation.curves import bin_shares, reliability_curve
from evidentia.evaluation.estimates import EstimateBuilder
from evidentia.evaluation.intervals import Bootstrap, Resampling, intervals
from evidentia.evaluation.plan import OVERALL, MeasurePlan, Want
from evidentia.evaluation.replicates import Replicated, replicate
from evidentia.evaluation.sample_counts import simulated_kind
from evidentia.measures.core import Additive, Sweep
from evidentia.report.console import HEADLINE
from evidentia.results import Estimate
from evidentia.results.sample_size import Sample, comparison_warnings
from evidentia.stats.intervals import standard_errors
from evidentia.stats.testing import t_test
from evidentia.tables.queries import Queries
from slow.simulated import CONTRACT, SHAPES, answered, calibrated, definition, posts_of, simulated, stated, truth

DOCS = Path(__file__).parents[2] / "docs" / "intervals.md"
NAMES = tuple(name for name in HEADLINE if name not in {"ECE", "MRR@10"})
METHODS = ("percentile", "bca", "studentised", "auto")
POSTS = (30, 100, 300)
RESAMPLES = 600
Pair = tuple[float, float]


@dataclass
class Held:
    """How often intervals lay wholly above the truth, wholly below it, and how many there were."""

    above: int = 0
    below: int = 0
    of: int = 0
    warned: int = 0

    def count(self, limits: Pair | None, true: float, *, warned: bool = False) -> None:
        if limits is not None:
            self.of += 1
            self.above += limits[0] > true
            self.below += limits[1] < true
            self.warned += warned

    @property
    def share(self) -> float:
        return 100 * (1 - (self.above + self.below) / self.of)

    def __str__(self) -> str:
        tails = f"{100 * self.below / self.of:.1f} / {100 * self.above / self.of:.1f}"
        return f"{self.share:.1f} ({tails}){' w' if 2 * self.warned > self.of else ''}"


Counts = dict[tuple[str, str], Held]


def kind_of(name: str) -> str:
    kind = definition(name).kind
    if isinstance(kind, Sweep):
        return "sweep"
    return (
        "mean"
        if isinstance(kind, Additive) and (kind.per_query is not None or kind.statistic.unit == "post")
        else "ratio"
    )


def studentised(computation: Computation, name: str, seed: int) -> Pair | None:
    """Bootstrap-t: every replicate has a standard error of its own, by the delta method over posts."""
    d = definition(name)
    if not isinstance(d.kind, Additive):
        return None
    kind, queries = d.kind, computation.queries
    columns = per_cluster(queries, kind.statistic, d.args)
    plan = Resampling(RESAMPLES, seed).plan(queries)
    weights = plan.multiplicities(0, RESAMPLES).astype(np.float64)
    n = len(columns)

    def errors(sums: Floats, weight: Floats) -> Floats:
        slopes = np.stack([_slope(kind, sums, column, d.args) for column in range(sums.shape[1])], axis=1)
        parts = slopes @ columns.T
        middle = (weight * parts).sum(axis=1, keepdims=True) / n
        return np.sqrt((weight * (parts - middle) ** 2).sum(axis=1) * n / (n - 1))

    sums, whole = weights @ columns, columns.sum(axis=0)[None]
    value, error = float(kind.finish(whole, d.args).values[0]), float(errors(whole, np.ones((1, n)))[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (kind.finish(sums, d.args).values - value) / errors(sums, weights)
    ratios = ratios[np.isfinite(ratios)]
    if len(ratios) < RESAMPLES / 2:
        return None
    low, high = np.quantile(ratios, [0.025, 0.975])
    return value - high * error, value - low * error


def _slope(kind: Additive, sums: Floats, column: int, args: object) -> Floats:
    step = np.zeros(sums.shape)
    step[:, column] = 1e-5 * np.maximum(1.0, np.abs(sums[:, column]))
    return (kind.finish(sums + step, args).values - kind.finish(sums - step, args).values) / (2 * step[:, column])


def replicates_of(queries: Queries, wants: Sequence[Want], resampling: Resampling) -> Iterator[Replicated]:
    """What an evaluation makes its intervals of."""
    return replicate(queries, wants, resampling.plan(queries), jackknife=resampling.method == "bca", gaps=True)


def cell(shape: str, posts: int, sets: int, seed: int = 2026) -> Counts:
    """Every headline measure under every method on data sets of one shape and size."""
    true = truth(shape, NAMES)
    random = np.random.default_rng([seed, SHAPES.index(shape), posts])
    wants = [(definition(name), OVERALL) for name in NAMES]
    held: Counts = {(name, method): Held() for name in NAMES for method in METHODS}
    for number in range(sets):  # another seed for every data set: with one, all would share the luck of its draws
        queries = simulated(shape, posts, random)
        computation = compute(queries, wants)
        for method in ("percentile", "bca", "auto"):
            resampling = Resampling(RESAMPLES, number, method=method)
            made = intervals(computation, replicates_of(queries, wants, resampling), resampling)
            told = EstimateBuilder(CONTRACT, computation, made, resampling).estimates(MeasurePlan(tuple(wants)))
            for name in NAMES:
                held[name, method].count(told[name].ci, true[name], warned=_warned(told[name].warnings))
        for name in NAMES:
            held[name, "studentised"].count(studentised(computation, name, number), true[name])
    return held


def _warned(words: Iterable[str]) -> bool:
    return any(word.startswith("rests on") and " posts" in word for word in words)


def estimates(queries: Queries, names: Iterable[str], seed: int, bootstrap: Bootstrap = "exact") -> dict[str, Estimate]:
    """The numbers of a run as a user gets them."""
    wants = [(definition(name), OVERALL) for name in names]
    computation, resampling = compute(queries, wants), Resampling(RESAMPLES, seed, bootstrap=bootstrap)
    made = intervals(computation, replicates_of(queries, wants, resampling), resampling)
    return EstimateBuilder(CONTRACT, computation, made, resampling).estimates(MeasurePlan(tuple(wants)))


ERRORS, ERROR_POSTS = (0.0, 0.03, 0.06, 0.12), (100, 300, 1000)


@dataclass
class Calibration:
    """What was seen of the calibration error: intervals, verdicts on ECE < 0.05, and the means of both estimates."""

    held: Held
    met: int = 0
    not_met: int = 0
    without_point: int = 0
    plain: float = 0.0
    debiased: float = 0.0


def calibration(error: float, posts: int, queries: int, sets: int, seed: int = 2026) -> Calibration:
    """Intervals of the ECE on data sets whose true ten-bin error is known."""
    say, random = stated(error), np.random.default_rng([seed, posts, queries, round(1000 * error)])
    seen = Calibration(Held())
    for number in range(sets):
        numbers = estimates(calibrated(posts, queries, say, random), ("ECE", "ECE(debiased)"), number)
        low, high = numbers["ECE"].ci
        seen.held.count((low, high), say.error)
        seen.met += high < 0.05
        seen.not_met += low >= 0.05
        seen.without_point += not low <= numbers["ECE"].value <= high
        seen.plain += numbers["ECE"].value / sets
        seen.debiased += numbers["ECE(debiased)"].value / sets
    return seen


def bars(queries: int, sets: int, posts: int = 200, seed: int = 2026) -> Held:
    """Limits of the share in the bins of a reliability diagram, where a bin holds 20 queries or more."""
    random, held = np.random.default_rng([seed, queries]), Held()
    true = _shares(calibrated(400_000, 1, stated(0.0), random))
    for _ in range(sets):
        run = calibrated(posts, queries, stated(0.0), random)
        want = (definition("ECE"), OVERALL)
        computation = compute(run, [want])
        ece = EstimateBuilder(CONTRACT, computation, {}, Resampling(0)).estimates(MeasurePlan((want,)))["ECE"]
        columns = reliability_curve(ece, bin_shares(run, 10), 0.95).columns
        for b, n in enumerate(columns["n"]):
            if n >= 20:
                held.count((columns["share_low"][b], columns["share_high"][b]), true[b])
    return held


def _shares(queries: Queries) -> Floats:
    bins = np.minimum((queries.prob * 10).astype(np.int64), 9)
    return np.bincount(bins, queries.label, minlength=10) / np.bincount(bins, minlength=10)


def paired(shape: str, posts: int, sets: int, seed: int = 2026) -> Counts:
    """Two systems that are equally good: how often a difference is called one."""
    random = np.random.default_rng([seed, SHAPES.index(shape), posts])
    wants = [(definition(name), OVERALL) for name in NAMES]
    held: Counts = {(name, "t"): Held() for name in NAMES}
    for number in range(sets):
        same = posts_of(shape, posts, random)
        one, other = answered(same, random), answered(same, random)
        plan = Resampling(RESAMPLES, number).plan(one)
        first, second = (compute(queries, wants) for queries in (one, other))
        halves = (replicate(queries, wants, plan) for queries in (one, other))
        for name, a, b in zip(NAMES, *halves, strict=True):
            want = (a.definition, OVERALL)
            cells = [half.cell(*want) for half in (first, second)]
            if any(part.outcome.flaws[0] for part in cells):
                continue
            effective = np.minimum(first.effective(*want), second.effective(*want))
            delta = cells[1].outcome.values - cells[0].outcome.values
            p = float(t_test(delta, standard_errors(b.values - a.values, effective), effective)[0])
            tally = held[name, "t"]
            tally.of += not np.isnan(p)
            tally.above += p <= 0.05
            sample = Sample(int(cells[0].clusters[0]), float(effective[0]), 10, simulated_kind(a.definition))
            differing = differing_posts(one, other, *want)
            counted = None if differing is None else int(differing[0])  # 0: the number says that it has no interval
            tally.warned += counted == 0 or any(comparison_warnings(sample, counted))
    return held


BOOTSTRAPS: tuple[Bootstrap, ...] = ("exact", "poisson")
BOOTSTRAP_POSTS = (40, 200, 1000)
DRAWN_TWICE = ("nDCG@10", "AlertPrecision", "AUROC", "AUPRC")  # a mean, a ratio and two sweeps


@dataclass
class Sized:
    """How often intervals held the truth, and how wide they were in all."""

    held: Held
    width: float = 0.0

    def count(self, limits: Pair | None, true: float, *, warned: bool) -> None:
        self.held.count(limits, true, warned=warned)
        self.width += 0.0 if limits is None else limits[1] - limits[0]


def drawn_twice(shape: str, posts: int, sets: int, seed: int = 2026) -> dict[tuple[str, str], Sized]:
    """The same data sets under draws of exactly n posts and under Poisson weights."""
    true, random = truth(shape, NAMES), np.random.default_rng([seed, SHAPES.index(shape), posts])
    seen = {(name, which): Sized(Held()) for name in DRAWN_TWICE for which in BOOTSTRAPS}
    for number in range(sets):
        queries = simulated(shape, posts, random)
        for which in BOOTSTRAPS:
            numbers = estimates(queries, DRAWN_TWICE, number, bootstrap=which)
            for name in DRAWN_TWICE:
                told = numbers[name]
                seen[name, which].count(told.ci, true[name], warned=_warned(told.warnings))
    return seen


def measured_twice(sets: int, workers: int) -> dict[str, str]:
    """The table of both bootstraps."""
    with ProcessPoolExecutor(workers) as pool:
        cells = {(s, n): pool.submit(drawn_twice, s, n, sets) for n in BOOTSTRAP_POSTS[::-1] for s in SHAPES[:2]}
        seen = {key: made.result() for key, made in cells.items()}
    rows = []
    for name in DRAWN_TWICE:
        for shape in SHAPES[:2]:
            row = [f"`{name}`, {kind_of(name)}, {shape}"]
            for posts in BOOTSTRAP_POSTS:
                exact, poisson = (seen[shape, posts][name, which] for which in BOOTSTRAPS)
                row += [str(exact.held), f"{poisson.held}; {poisson.width / exact.width:.3f}"]
            rows.append(tuple(row))
    head = [f"{posts:,} posts, {which}" for posts in BOOTSTRAP_POSTS for which in ("exact", "Poisson")]
    return {"bootstraps": _table(("measure and shape", *head), rows)}


def measured(sets: int, workers: int) -> dict[str, str]:
    """All other tables as Markdown, by the name of their place in the docs."""
    with ProcessPoolExecutor(workers) as pool:
        cells = {(s, n): pool.submit(cell, s, n, sets) for n in POSTS for s in SHAPES}
        errors = {(e, n): pool.submit(calibration, e, n, 4, sets) for e in ERRORS for n in ERROR_POSTS}
        verdicts = {
            "calibrated, 60 posts x 2": pool.submit(calibration, 0.0, 60, 2, sets // 2),
            "calibrated, 100 posts x 4": pool.submit(calibration, 0.0, 100, 4, sets // 2),
            "calibrated, 1,477 posts x 10": pool.submit(calibration, 0.0, 1477, 10, sets // 10),
            "true 0.10, 300 posts x 4": pool.submit(calibration, 0.10, 300, 4, sets // 2),
        }
        reliability = {q: pool.submit(bars, q, sets) for q in (1, 4, 10)}
        null = {(s, n): pool.submit(paired, s, n, sets) for n in (30, 100) for s in SHAPES}
        return {
            "headline": _headline({key: made.result() for key, made in cells.items()}),
            "worst": _worst({key: made.result() for key, made in cells.items()}),
            "ece": _errors({key: made.result() for key, made in errors.items()}),
            "verdicts": _verdicts({key: made.result() for key, made in verdicts.items()}),
            "bars": _table(
                ("queries a post", "held the truth (truth above / below the limits)"),
                [(str(q), str(made.result())) for q, made in reliability.items()],
            ),
            "null": _null({key: made.result() for key, made in null.items()}),
        }


Cells = dict[tuple[str, int], Counts]


def _headline(cells: Cells) -> str:
    """The chosen method and the percentile method, measure by measure."""
    columns = [f"{shape} {posts}" for posts in POSTS for shape in SHAPES]
    rows = []
    for name in NAMES:
        for method, label in (("auto", f"`{name}`, {kind_of(name)}"), ("percentile", "percentile before")):
            rows.append((label, *(str(cells[shape, n][name, method]) for n in POSTS for shape in SHAPES)))
    return _table(("measure", *columns), rows)


def _worst(cells: Cells) -> str:
    """The farthest from 95 % in any cell, by kind and method; two standard errors are 1.4 points."""
    rows = []
    for kind in ("mean", "ratio", "sweep"):
        names = [name for name in NAMES if kind_of(name) == kind]
        for posts in POSTS:
            row = [kind, str(posts)]
            for method in METHODS:
                shares = [
                    cells[s, posts][name, method].share
                    for s in SHAPES
                    for name in names
                    if cells[s, posts][name, method].of
                ]
                row.append(f"{min(shares):.1f} to {max(shares):.1f}" if shares else "not from sums")
            rows.append(tuple(row))
    return _table(("kind", "posts", "percentile", "BCa", "studentised", "auto"), rows)


def _errors(errors: dict[tuple[float, int], Calibration]) -> str:
    rows = [
        (
            f"{e:g}",
            *(f"{errors[e, n].held}; {errors[e, n].plain:.3f}, {errors[e, n].debiased:.3f}" for n in ERROR_POSTS),
        )
        for e in ERRORS
    ]
    return _table(("true ECE", *(f"{n:,} posts" for n in ERROR_POSTS)), rows)


def _verdicts(verdicts: dict[str, Calibration]) -> str:
    rows = [
        (
            name,
            str(seen.held.of),
            *(f"{100 * n / seen.held.of:.1f} %" for n in (seen.met, seen.not_met, seen.without_point)),
        )
        for name, seen in verdicts.items()
    ]
    return _table(("data", "data sets", "met", "not met", "interval without its value"), rows)


def _null(null: Cells) -> str:
    columns = [f"{shape} {posts}" for posts in (30, 100) for shape in SHAPES]
    rows = [(f"`{name}`", *(_rejected(null[s, n][name, "t"]) for n in (30, 100) for s in SHAPES)) for name in NAMES]
    return _table(("measure", *columns), rows)


def _rejected(held: Held) -> str:
    return f"{100 * held.above / held.of:.1f}{' w' if 2 * held.warned > held.of else ''}" if held.of else "-"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---", *("---:" for _ in head[1:])), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(tables: dict[str, str], sets: int) -> None:
    """Put every table between its marks in the docs, with the commit and the day."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True, cwd=DOCS.parent
    ).stdout.strip()
    text = DOCS.read_text(encoding="utf-8")
    stamp = f"Measured at {commit} on {date.today()}: {sets:,} data sets in a cell, {RESAMPLES} resamples."
    for name, table in tables.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}{table}\n\n{stamp}\n{end}{after}"
    DOCS.write_text(text, encoding="utf-8")


def main() -> None:
    """Measure, print, and with --write put the tables into the docs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", choices=["bootstraps", "others"])
    asked = parser.parse_args()
    tables = {} if asked.only == "others" else measured_twice(asked.sets, asked.workers)
    tables |= {} if asked.only == "bootstraps" else measured(asked.sets, asked.workers)
    for name, table in tables.items():
        print(f"{name}\n{table}\n")
    if asked.write:
        write(tables, asked.sets)


if __name__ == "__main__":
    main()
