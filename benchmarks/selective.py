"""Bootstrap of AURC and AUGRC side by side with a plain Python loop: one run, ratios.

The loop draws the same participants, repeats and sorts their items, and computes both areas anew. Both sides must first give the
same values, replicate by replicate; if they do not, no ratio is printed. Every time is the smallest of several.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator, Philox

import record
from bootstrap import Took, _load, least
from evidentia.array_types import Floats
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.evaluation.items import ItemComputation, wants_for
from evidentia.measures import resolve
from evidentia.results import Evaluation
from evidentia.results.profiles import SELECTIVE
from evidentia.synth import synthetic_phq8
from evidentia.tables import Items, read_items
from measuring import DisagreementError, Figure, cores, show, versions

SEED, SIGNAL, FLOOR = 7, "llm", 30.0
RESAMPLES, ALLOWED = 10_000, 1e-12
SIZES = {41: 500, 188: 100, 2000: 10}  # participants, and how many replicates the loop is measured on
PACKAGES = ("evidentia", "numpy", "scipy", "polars")


def drawn_run(participants: int) -> Items:
    """A synthetic PHQ-8 run: 8 items each, four in ten abstained, and evidence counts that mostly tie."""
    return read_items(synthetic_phq8(seed=SEED, participants=participants, failures=0), mode="zero_shot")


def replicate_values(items: Items, resamples: int) -> list[Floats]:
    """Ours: the draws, and AURC and AUGRC in every replicate."""
    wants = wants_for([resolve(name, SELECTIVE).definition for name in ("AURC", "AUGRC")], (SIGNAL,))
    run = ItemComputation(items, wants, (SIGNAL,))
    return [replicated.values[0] for replicated in run.replicate(run.plan(Resampling(resamples, SEED)))]


def everything(items: Items) -> Evaluation:
    """All that a run reports: every measure by both evidence counts, with intervals, tie ranges, curves and bands."""
    return evaluate_items(items, resampling=Resampling(RESAMPLES, SEED))


@dataclass(frozen=True, slots=True)
class Item:
    """An item as a script would hold it; a pred of None is an abstention."""

    participant: int
    index: int
    pred: float | None
    gt: float
    confidence: float


class Loop:
    """The other side, in plain Python: per replicate the drawn participants' items, sorted, and both areas summed up."""

    def __init__(self, items: Items) -> None:
        rows = zip(items.cluster, items.pred, items.gt, items.confidence(SIGNAL), items.predicted, strict=True)
        self.items: list[list[Item]] = [[] for _ in items.cluster_ids]
        for index, (cluster, pred, gt, sure, predicted) in enumerate(rows):
            answer = float(pred) if predicted else None
            self.items[cluster].append(Item(int(cluster), index, answer, float(gt), float(sure)))

    def replicates(self, resamples: int) -> list[tuple[float, float]]:
        """AURC and AUGRC of so many replicates, with the same draws as ours."""
        return [
            _areas([item for pick in _picks(b, len(self.items)) for item in self.items[pick]]) for b in range(resamples)
        ]


def _areas(items: Sequence[Item]) -> tuple[float, float]:
    """Both areas of a list of items: those that are predicted, sorted, and then one after the other."""
    predicted = [item for item in items if item.pred is not None]
    ranked = sorted(predicted, key=lambda item: (-item.confidence, item.participant, item.index))
    lost = risks = joint = 0.0
    for k, item in enumerate(ranked, 1):
        assert item.pred is not None
        lost += abs(item.pred - item.gt)
        risks += lost / k
        joint += lost / 3
    return risks / len(items), joint / len(items) ** 2


class LeanLoop:
    """The same by someone in a hurry: losses and sort keys are made once, before the clock starts, and nothing is an object."""

    def __init__(self, items: Items) -> None:
        self.total = len(items)
        self.keys: list[list[tuple[float, int, int, float]]] = [
            [
                (-item.confidence, item.participant, item.index, abs(item.pred - item.gt))
                for item in group
                if item.pred is not None
            ]
            for group in Loop(items).items
        ]

    def replicates(self, resamples: int) -> list[tuple[float, float]]:
        """AURC and AUGRC of so many replicates; every participant has as many items as any other."""
        values = []
        for replicate in range(resamples):
            ranked = sorted(key for pick in _picks(replicate, len(self.keys)) for key in self.keys[pick])
            lost = risks = joint = 0.0
            for k, (_, _, _, loss) in enumerate(ranked, 1):
                lost += loss
                risks += lost / k
                joint += lost
            values.append((risks / self.total, joint / 3 / self.total**2))
        return values


def _picks(replicate: int, participants: int) -> list[int]:
    drawn: list[int] = Generator(Philox(key=[SEED, replicate])).integers(participants, size=participants).tolist()
    return drawn


def compared(participants: int, measured: int, rounds: int) -> list[Figure]:
    """Agreement, then the times of all three."""
    items = drawn_run(participants)
    loop, lean = Loop(items), LeanLoop(items)
    ours = np.array(replicate_values(items, measured)).T
    apart = max(float(np.abs(ours - np.array(other.replicates(measured))).max()) for other in (loop, lean))
    if not apart <= ALLOWED:
        raise DisagreementError(f"{participants} participants: the largest difference is {apart:.2g}")
    best = least(
        {
            "evidentia": lambda: replicate_values(items, RESAMPLES),
            "loop": lambda: loop.replicates(measured),
            "lean loop": lambda: lean.replicates(measured),
        },
        rounds=rounds,
    )
    mine, times, what = best.pop("evidentia"), RESAMPLES / measured, f"{participants:,} participants"
    figures = []
    for name, other in best.items():
        floor = FLOOR if name == "loop" else None
        figures += [
            Figure("selective", f"{what}, {name}", "s", mine.wall, other.wall * times, floor=floor),
            Figure("selective", f"{what}, {name}: CPU", "CPU s", mine.cpu, other.cpu * times),
        ]
    show(
        f"AURC + AUGRC, {RESAMPLES:,} replicates of {what}, {int(items.predicted.sum()):,} of {len(items):,} items predicted",
        ("", "evidentia s", "other s", "times as fast", "target"),
        [(f.what, f"{f.ours:.3f}", f"{f.other:.2f}", f"{f.ratio:.1f}", f.verdict) for f in figures],
        f"{measured} replicates agree; the largest difference is {apart:.1g}",
        f"the loops are extrapolated from {measured} replicates ({best['loop'].wall:.2f} s and {best['lean loop'].wall:.2f} s)",
    )
    return figures


def whole_report(participants: int, rounds: int) -> tuple[Took, int]:
    """The time of everything that `evidentia selective` computes; there is no other side and no target."""
    items = drawn_run(participants)
    took = least({"all": lambda: everything(items)}, rounds=rounds)["all"]
    numbers = len(evaluate_items(items, resampling=Resampling(0, SEED)))
    return took, numbers


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure everything only once")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures to a file")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    found, rounds = versions(*PACKAGES), 1 if arguments.quick else 5
    before, began = _load(), time.perf_counter()
    print(f"{', '.join(f'{name} {number}' for name, number in found.items())}; {cores()} cores, {before}")
    try:
        figures = [figure for size, measured in SIZES.items() for figure in compared(size, measured, rounds)]
    except DisagreementError as wrong:
        raise SystemExit(f"The two sides disagree, so there are no ratios. {wrong}.") from None
    reports = {size: whole_report(size, 1) for size in SIZES}
    show(
        f"Everything with intervals, {RESAMPLES:,} replicates",
        ("", "numbers", "wall s", "CPU s", ""),
        [(f"{size:,} participants", f"{n:,}", f"{t.wall:.2f}", f"{t.cpu:.2f}", "") for size, (t, n) in reports.items()],
    )
    print(f"\n{time.perf_counter() - began:.0f} s in all, {_load()} at the end")
    if arguments.write:
        quick = " --quick" if arguments.quick else ""
        record.write("selective", found, how=f"python benchmarks/selective.py{quick}")
    if arguments.json is not None:
        content = {
            "versions": found,
            "cores": cores(),
            "figures": [figure.to_dict() for figure in figures],
            "reports": {size: {"wall": took.wall, "cpu": took.cpu} for size, (took, _) in reports.items()},
        }
        arguments.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
