"""Replicate values equal those of a loop that physically repeats the drawn posts and calls scikit-learn or plain code."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from sklearn import metrics

from evidentia.array_types import Floats, Ints
from evidentia.evaluation.plan import OVERALL
from evidentia.evaluation.replicates import ReplicateBatch
from evidentia.measures import Definition, resolve
from evidentia.measures.core import Fit
from evidentia.stats.resampling import ResamplingPlan
from intervals import plain_loop
from intervals.plain_loop import Copy, Row, differences, drawn
from intervals.runs import CONTRACT, plain_rows, planned

SEED, RESAMPLES = 11, 200
FEWER = 100  # for everything in every group
ALLOWED = 1e-12
Labels, Probs = Ints, Floats


@cache
def repeated(replicate: int) -> list[Copy]:
    return drawn(plain_rows(), SEED, replicate)


def two_classes(score: Callable[[Labels, Probs], float]) -> Callable[[Labels, Probs], float]:
    return lambda y, p: float(score(y, p)) if 0 < y.sum() < len(y) else math.nan


def tpr_at_5_percent(y: Labels, p: Probs) -> float:
    fpr, tpr, _ = metrics.roc_curve(y, p, drop_intermediate=False)
    return float(tpr[fpr <= 0.05].max())


SKLEARN: dict[str, Callable[[Labels, Probs], float]] = {
    "AUROC": two_classes(metrics.roc_auc_score),
    "AUPRC": two_classes(metrics.average_precision_score),
    "TPR@FPR=5%": two_classes(tpr_at_5_percent),
    "F1(t=0.5)": lambda y, p: float(metrics.f1_score(y, p >= 0.5, zero_division=np.nan)),
    "MCC(t=0.5)": lambda y, p: float(metrics.matthews_corrcoef(y, p >= 0.5)) if (p >= 0.5).any() else math.nan,
    "Precision(t=0.5)": lambda y, p: float(metrics.precision_score(y, p >= 0.5, zero_division=np.nan)),
    "Brier": lambda y, p: float(metrics.brier_score_loss(y, p)),
    "LogLoss": lambda y, p: float(metrics.log_loss(y, p, labels=[0, 1])),
}
PLAIN = ("ECE", "nDCG@10", "MAP@10", "EvidenceRecall", "AlertPrecision")


@cache
def overall(names: tuple[str, ...]) -> dict[str, Floats]:
    """The package's replicate values over the whole run."""
    queries = planned()[0].queries
    wanted = {name: resolve(name, CONTRACT).definition for name in names}
    plan = ResamplingPlan(len(queries.post_ids), RESAMPLES, SEED)
    found = ReplicateBatch(queries, [(definition, OVERALL) for definition in wanted.values()]).run(plan)
    return {name: found[definition, ()][0] for name, definition in wanted.items()}


def parts_of(definition: Definition) -> tuple[str, dict[str, str], str | None]:
    args = definition.args
    return definition.measure.base, dict(args.params), None if args.cut is None else str(args.cut)


def test_the_run_is_full_of_ties() -> None:
    rows = plain_rows()
    assert len({row.post for row in rows}) == 60
    assert len({row.prob for row in rows}) <= 21 < len(rows) / 10


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("name", SKLEARN)
def test_replicates_equal_scikit_learn(name: str) -> None:
    expected = []
    for replicate in range(RESAMPLES):
        rows = [copy.row for copy in repeated(replicate)]
        labels, probs = np.array([row.label for row in rows], int), np.array([row.prob for row in rows])
        expected.append(SKLEARN[name](labels, probs))
    assert differences(overall(tuple(SKLEARN))[name], expected) <= ALLOWED
    assert len({round(value, 9) for value in expected}) > RESAMPLES / 10


@pytest.mark.parametrize("name", PLAIN)
def test_replicates_equal_plain_code(name: str) -> None:
    base, params, cut = parts_of(resolve(name, CONTRACT).definition)
    expected = [plain_loop.value(repeated(replicate), base, params, cut) for replicate in range(RESAMPLES)]
    assert differences(overall(PLAIN)[name], expected) <= ALLOWED


@cache
def everything() -> tuple[dict[tuple[Definition, tuple[str, ...]], Floats], int]:
    run, plan = planned()
    wants = [want for want in plan.wants if not isinstance(want[0].kind, Fit)]  # a fit is stepped, not solved again
    resampling = ResamplingPlan(len(run.queries.post_ids), FEWER, SEED)
    return ReplicateBatch(run.queries, wants).run(resampling), len(wants)


@cache
def in_groups(replicate: int, column: str) -> dict[str, list[Copy]]:
    parts: dict[str, list[Copy]] = defaultdict(list)
    for copy in repeated(replicate):
        parts[copy.row.group[column]].append(copy)
    return parts


@pytest.mark.sample(every=9)
@pytest.mark.parametrize("column", [None, "fold", "criterion", "state", "has_evidence", "subreddit"])
def test_everything_the_contract_reports_equals_the_loop_in_every_group(column: str | None) -> None:
    found, _ = everything()
    compared = 0
    for definition, grouping in planned()[1].wants:
        if grouping.columns != (() if column is None else (column,)) or isinstance(definition.kind, Fit):
            continue
        named = parts_of(definition)
        for values, group in zip(found[definition, grouping.columns], grouping.groups, strict=True):
            drawn_rows = (
                repeated(replicate) if column is None else in_groups(replicate, column)[group[0][1]]
                for replicate in range(FEWER)
            )
            expected = [plain_loop.value(rows, *named) for rows in drawn_rows]
            assert differences(values, expected) <= ALLOWED, (definition.expanded, group)
            compared += 1
    assert compared >= {None: 110, "fold": 500, "criterion": 500, "state": 200, "has_evidence": 4}.get(column, 300)


def test_undefined_replicates_were_met_on_the_way() -> None:
    found, pairs = everything()
    undefined = [values for values in found.values() if np.isnan(values).any()]
    assert 0 < len(undefined) < pairs == len(found)


def test_what_is_alone_equals_what_is_computed_with_all_the_rest() -> None:
    """Sums are shared between definitions and groups; a number must not depend on what else was asked for."""
    run, plan = planned()
    found, _ = everything()
    resampling = ResamplingPlan(len(run.queries.post_ids), FEWER, SEED)
    for definition, grouping in plan.wants[::7]:
        if not isinstance(definition.kind, Fit):
            alone = ReplicateBatch(run.queries, [(definition, grouping)]).run(resampling)[definition, grouping.columns]
            assert alone.tobytes() == found[definition, grouping.columns].tobytes(), definition.expanded


def test_a_row_is_drawn_with_its_whole_post() -> None:
    rows: list[Row] = list(plain_rows())
    copies = repeated(0)
    assert len(copies) == len(rows)
    assert {len([c for c in copies if c.draw == draw]) for draw in range(60)} == {5}
