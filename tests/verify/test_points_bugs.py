"""Bugs put into the fast measures on purpose: verification finds each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evidentia
from evidentia.evaluation import compute, estimates, plan
from evidentia.measures import (
    PROFILES,
    calibration,
    confusion,
    detection,
    gate,
    kernels,
    multilabel,
    populations,
    resolve,
)
from evidentia.measures.core import Outcome, ratio
from evidentia.protocol import thresholds
from evidentia.stats import spread, sweeps
from evidentia.verifying import verify_numbers

from .made import small_run

Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run with certainties, ties, and probabilities that stand exactly on a threshold."""
    home = small_run(tmp_path_factory.mktemp("bugs"), posts=60, criteria=4, positives=20)
    frame = pl.read_csv(home / "per_query.csv", infer_schema_length=0).drop("state", "tau_neg", "tau_pos")
    row = pl.int_range(pl.len())
    prob = pl.col("prob").cast(float)
    frame = frame.with_columns(
        prob=pl.when(row % 37 == 0).then(1.0).when(row % 37 == 1).then(0.5).otherwise(prob.round(2)),
        tau_neg=pl.lit(0.05),
        tau_pos=pl.lit(0.8),
    )
    return evidentia.read_run(frame.with_columns(selected_sent_uids=pl.lit("")), candidates=home / "candidates.csv")


@contextmanager
def frozen_patch(thing: object, name: str, value: object) -> Iterator[None]:
    """Replace a field of a frozen dataclass for a while."""
    before = getattr(thing, name)
    object.__setattr__(thing, name, value)
    try:
        yield
    finally:
        object.__setattr__(thing, name, before)


def ties_count_fully(counts: Any, args: Any) -> Any:
    right = sweeps.column_sums(counts.passed * counts.tp[1:])
    return right, counts.tp[-1] * counts.fp[-1]


def truncated_ideal(ranks: Any, n_gold: Any, k: int | None) -> Any:
    found = kernels.hits(ranks, k).astype(np.int64)
    return RIGHT_NDCG(ranks, found, k)


def recall_over_what_fits(ranks: Any, n_gold: Any, k: int | None) -> Any:
    return kernels._divide(kernels.hits(ranks, k), n_gold if k is None else np.minimum(n_gold, k))


def exclusive_threshold(queries: Any, args: Any) -> Any:
    return queries.prob > 0.5 if args.get("t") == "0.5" else RIGHT_DECISION(queries, args)


def interpolated(counts: Any, args: Any) -> Any:
    precision = counts.tp[1:] / np.maximum(counts.tp[1:] + counts.fp[1:], 1.0)
    between = (precision + np.append(1.0, precision[:-1])) / 2
    return sweeps.column_sums(counts.gained * between), counts.tp[-1]


def thinned(fp: Any, budget: float) -> Any:
    """Only every fourth operating point is left."""
    return RIGHT_LAST(fp, budget) // 4 * 4


def smallest_threshold(tp: Any, fp: Any, budget: float) -> int:
    return int(RIGHT_LAST(fp, budget))


def skips_too_much(queries: Any) -> Any:
    return queries.state != populations.POS


def f1_with_true_negatives(sums: Any, args: Any) -> Any:
    return 2 * sums[..., 0], 2 * sums[..., 0] + sums[..., 1] + sums[..., 2] + sums[..., 3]


def reciprocal_from_zero(ranks: Any, k: int | None) -> Any:
    return RIGHT_RECIPROCAL(ranks, k) / 2


def nearest_rank(ranked: Any, starts: Any, sizes: Any, share: int) -> Any:
    return ranked[starts + np.ceil((sizes - 1) * share / 100).astype(np.int64)]


def population_spread(values: Any, *, ddof: int) -> Any:
    return RIGHT_SUMMARY(values, ddof=1 - ddof)


def other_edges(prob: Any, bins: int) -> Any:
    return np.maximum(np.searchsorted(np.linspace(0, 1, bins + 1), prob, side="left") - 1, 0)


def gold_divides(ranks: Any, n_gold: Any, n_ranked: Any, k: int | None, norm: str) -> Any:
    return RIGHT_AP(ranks, n_gold, n_ranked, k, "found")


def never_degenerate(positives: Any, negatives: Any) -> Any:
    return np.zeros(np.shape(positives), np.int8)


def undefined_counts_as_zero(self: Any, definition: Any, kind: Any, grouping: Any) -> Any:
    base, criteria = compute.macro_parts(self.queries, definition, kind)
    values = self.cell(base, grouping.crossed(criteria)).outcome.values.reshape(len(grouping), len(criteria))
    n, clusters = self._size(definition, grouping)
    outcome = Outcome(values.mean(axis=1), np.zeros(len(grouping), np.int8))
    return compute.Cell(
        outcome, n, clusters, ({},) * len(grouping), used=np.full(len(grouping), len(criteria)), of=len(criteria)
    )


def tuned_on_everything(tune: Any, evaluation: Any, budget: float) -> Any:
    """The threshold of the first fold is used in all of them."""
    _, chosen = thresholds.tuned_decisions(tune, evaluation, budget)
    first = next(iter(chosen.values()))
    return first.says_yes(evaluation.prob).astype(np.int8), dict.fromkeys(chosen, first)


RIGHT_NDCG, RIGHT_AP, RIGHT_RECIPROCAL = kernels.ndcg, kernels.average_precision, kernels.reciprocal_rank
RIGHT_DECISION, RIGHT_LAST, RIGHT_SUMMARY = populations.decision, sweeps.last_within_budget, spread.fold_summary
BUGS: dict[str, Callable[[Patch], object]] = {
    "wrong denominator -> Recall@1": lambda p: p.setattr(kernels, "recall", recall_over_what_fits),
    "wrong tie rule -> AUROC": lambda p: p.setattr(detection, "_pairs", ties_count_fully),
    "truncated ideal -> nDCG@3": lambda p: p.setattr(kernels, "ndcg", truncated_ideal),
    "bins open on the left -> ECE": lambda p: p.setattr(calibration, "bin_of", other_edges),
    "thinned ROC -> TPR@FPR=5%": lambda p: p.setattr(detection, "last_within_budget", thinned),
    "ddof -> AUROC: fold_std": lambda p: p.setattr(estimates, "fold_summary", population_spread),
    "wrong population -> Recall@3: n": lambda p: p.setattr(populations, "POSITIVES", populations.ALL),
    "exclusive threshold -> TP(t=0.5)": lambda p: p.setattr(confusion, "decision", exclusive_threshold),
    "interpolated precision -> AUPRC": lambda p: p.setattr(detection, "_precisions", interpolated),
    "smallest threshold -> TPR(tuned)@FPR=5%": lambda p: p.setattr(
        thresholds, "best_within_budget", smallest_threshold
    ),
    "one threshold for all folds -> TPR(tuned)@FPR=5%": lambda p: p.setattr(
        plan, "tuned_decisions", tuned_on_everything
    ),
    "UNCERTAIN counts as skipped -> ScreeningSensitivity": lambda p: p.setattr(gate, "skipped", skips_too_much),
    "empty posts score one -> F1(avg=post)": lambda p: p.setattr(
        multilabel,
        "f1_score",
        lambda tp, fp, fn: Outcome(
            np.where(tp + fp + fn == 0, 1.0, 2 * tp / np.maximum(2 * tp + fp + fn, 1)), np.zeros(len(tp), np.int8)
        ),
    ),
    "reciprocal rank -> MRR": lambda p: p.setattr(kernels, "reciprocal_rank", reciprocal_from_zero),
    "average precision's norm -> MAP@3": lambda p: p.setattr(kernels, "average_precision", gold_divides),
    "percentiles by nearest rank -> MRR[": lambda p: p.setattr(spread, "_percentile", nearest_rank),
    "one class is not marked -> AUROC(avg=criterion)[fold": lambda p: p.setattr(
        detection, "one_class", never_degenerate
    ),
    "undefined criteria are zero -> AUROC(avg=criterion)[fold": lambda p: p.setattr(
        compute.Computation, "_macro", undefined_counts_as_zero
    ),
    "clipping -> LogLoss": lambda p: p.setattr(calibration, "EPSILON", 1e-3),
}


def found_at(run: Any, out: Path) -> list[str]:
    """Where the summary of an evaluation does not match."""
    evidentia.evaluate(run, resamples=0).save(out)
    return [mismatch.where for mismatch in verify_numbers(out).mismatches if mismatch.where.startswith("summary.json")]


def test_without_a_bug_the_run_verifies(run: Any, tmp_path: Path) -> None:
    assert found_at(run, tmp_path / "out") == []


@pytest.mark.sample(every=6)
@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found_where_it_is(name: str, run: Any, tmp_path: Path, monkeypatch: Patch) -> None:
    BUGS[name](monkeypatch)
    where = name.partition(" -> ")[2]
    assert any(place.startswith(f"summary.json: {where}") for place in found_at(run, tmp_path / "out"))


def test_a_half_open_last_bin_is_found(run: Any, tmp_path: Path) -> None:
    def without_certainty(queries: Any, args: Any) -> Any:
        return calibration._binned(queries, args) * (queries.prob < 1.0)[:, None]

    with frozen_patch(calibration.RELIABILITY, "columns", without_certainty):
        assert "summary.json: ECE: details: bins[9]: n" in found_at(run, tmp_path / "out")


def test_f1_that_knows_true_negatives_is_found(run: Any, tmp_path: Path) -> None:
    measure = resolve("F1(t=gate)", PROFILES["contract"]).definition.measure
    kind = replace(measure.kind, finish=lambda sums, args: ratio(*f1_with_true_negatives(sums, args)))
    with frozen_patch(measure, "kind", kind):
        assert "summary.json: F1(t=gate): value" in found_at(run, tmp_path / "out")
