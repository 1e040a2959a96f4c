"""Runs small enough to check by hand, and the mark that links a hand-worked test to the measure it works out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import polars as pl
import pytest

from evidentia.evaluation import evaluate_run
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.measures import PROFILES, resolve
from evidentia.results import Estimate
from evidentia.results.profiles import SELECTIVE
from evidentia.tables import Items, Run, read_items, read_run

Key = tuple[str, str | None, frozenset[str]]
HAND_WORKED: dict[Key, list[str]] = {}
Test = TypeVar("Test", bound=Callable[..., Any])
F = Fraction  # as in F(2, 3): expected numbers are written the way one works them out
UIDS = ("gold", "ranked", "selected")
Answer = tuple[int | str, int | str, float | None, float, float | None]  # cluster, item, pred, gt, confidence


def hand_worked(*names: str, profile: str = "contract") -> Callable[[Test], Test]:
    """Mark a test as working out the named measures by hand."""

    def mark(test: Test) -> Test:
        for name in names:
            key = resolve(name, SELECTIVE if profile == SELECTIVE.name else PROFILES[profile]).definition.measure.key
            HAND_WORKED.setdefault(key, []).append(test.__name__)
        return test

    return mark


def exactly(value: Fraction | float) -> Any:
    """The number up to the last digits of a double; nothing else is forgiven."""
    return pytest.approx(float(value), rel=0, abs=4e-15)


def query(post: str = "p1", criterion: str = "A", **columns: Any) -> dict[str, Any]:
    """One row of a run; gold, ranked and selected name sentences of the post by letters, ``gold="a c"``."""
    row: dict[str, Any] = {"post_id": post, "criterion_id": criterion}
    for name, value in columns.items():
        if name in UIDS:
            row[f"{name}_sent_uids"] = [f"{post}.{letter}" for letter in value.split()]
        else:
            row[name] = value
    return row


def run_of(*rows: dict[str, Any], candidates: pl.DataFrame | None = None, by: Sequence[str] = ()) -> Run:
    """A run of the given rows."""
    return read_run(pl.DataFrame(list(rows), infer_schema_length=None), candidates=candidates, by=by)


def detector(labels: Iterable[int], probs: Iterable[float], **columns: Iterable[Any]) -> Run:
    """A run of one criterion with a post for every label."""
    lists = {name: list(values) for name, values in columns.items()}
    return run_of(
        *(
            query(f"p{i}", has_evidence=label, prob=prob, **{name: values[i] for name, values in lists.items()})
            for i, (label, prob) in enumerate(zip(labels, probs, strict=True))
        )
    )


def estimate(run: Run, name: str, profile: str = "contract") -> Estimate:
    """What the run scores on one measure."""
    return evaluate_run(run, profile=profile, measures=[name])[name]


def value(run: Run, name: str, profile: str = "contract") -> float:
    """The number alone, for where it must be sound."""
    found = estimate(run, name, profile)
    assert found.degenerate is None, found.degenerate
    return found.value


def answers(*rows: Answer, item_max: float | None = 3.0) -> Items:
    """The items of a predictor that may abstain (pred None)."""
    columns = ("cluster_id", "item", "pred", "gt", "confidence")
    frame = {name: list(values) for name, values in zip(columns, zip(*rows, strict=True), strict=True)}
    kinds = {"pred": pl.Float64, "gt": pl.Float64, "confidence": pl.Float64}
    return read_items(pl.DataFrame(frame, schema_overrides=kinds), item_max=item_max)


def losing(*losses: float | None, confidence: Iterable[float] | None = None) -> Items:
    """One cluster; None is abstained. The items are as sure as given, else each a little less than the one before."""
    sure = [float(len(losses) - i) for i in range(len(losses))] if confidence is None else list(confidence)
    rows = zip(losses, sure, strict=True)
    return answers(*(("p", i, loss, 0.0, c) for i, (loss, c) in enumerate(rows)))


def selective_estimate(items: Items, name: str) -> Estimate:
    """What a predictor that may abstain scores on one measure."""
    return evaluate_items(items, measures=[name], resampling=Resampling(0, 7))[name]


def selective(items: Items, name: str) -> float:
    """The number alone, for where it must be sound."""
    found = selective_estimate(items, name)
    assert found.degenerate is None, found.degenerate
    return found.value
