"""Runs of a few queries whose probabilities are hard, constant, next to certain or all of one class verify too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evidentia
from evidentia.verify.course import Verification
from evidentia.verifying import verify_numbers
from sampling import examples

PROBS: Sequence[Sequence[float]] = (
    *((0.0, 1.0), (0.0,), (1.0,), (0.3,), (0.0, 0.5, 1.0), (0.0, 0.4, 0.6, 1.0), (0.1, 0.5, 0.9)),
    *((1e-5, 1 - 1e-5), (1e-9, 0.5, 1 - 1e-11), (1e-11, 1 - 1e-11), (1e-14, 1 - 1e-14), (1e-300, 0.2, 1.0)),
)
LABELS: dict[str, Callable[[int, float], bool]] = {
    "all right": lambda at, prob: prob >= 0.5,
    "all wrong": lambda at, prob: prob < 0.5,
    "one wrong": lambda at, prob: (prob >= 0.5) == (at > 0),
    "by turns": lambda at, prob: at % 2 == 0,
    "all positive": lambda at, prob: True,
    "all negative": lambda at, prob: False,
}
FITS = ("CalibrationSlope", "CalibrationIntercept")


def frame(
    probs: Sequence[float], labels: str, *, criteria: int = 2, folds: int = 0, gated: bool = False
) -> pl.DataFrame:
    """One query for every probability, of as many criteria per post; what is likely is selected."""
    rows = []
    for at, prob in enumerate(probs):
        post = f"p{at // criteria}"
        row = {"post_id": post, "criterion_id": f"c{at % criteria}", "prob": prob}
        row |= {"gold_sent_uids": f"{post}_1" if LABELS[labels](at, prob) else ""}
        row |= {"ranked_sent_uids": f"{post}_0|{post}_1|{post}_2", "selected_sent_uids": f"{post}_{at % 2}"}
        row |= {"selected_sent_uids": ""} if prob < 0.5 else {}
        row |= {"fold": str(at // criteria % folds)} if folds else {}
        rows.append(row | ({"tau_neg": 0.2, "tau_pos": 0.8} if gated else {}))
    return pl.DataFrame(rows)


def verified(table: pl.DataFrame, folder: Path, **options: Any) -> Verification:
    evidentia.evaluate(evidentia.read_run(table), **{"resamples": 50, **options}).save(folder)
    return verify_numbers(folder)


@examples(20)
@given(st.data())
def test_every_small_run_verifies(data: st.DataObject) -> None:
    pool = data.draw(st.sampled_from(PROBS))
    probs = data.draw(st.lists(st.sampled_from(pool), min_size=2, max_size=12))
    table = frame(
        probs,
        data.draw(st.sampled_from(list(LABELS))),
        criteria=data.draw(st.integers(1, 3)),
        folds=data.draw(st.sampled_from([0, 2, 3])),
        gated=data.draw(st.booleans()),
    )
    method = data.draw(st.sampled_from(["percentile", "bca"]))
    with TemporaryDirectory() as home:
        found = verified(table, Path(home) / "out", ci_method=method)
    assert found.mismatches == ()
    assert found.comparisons > 1000


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize(
    "probs",
    [
        (0.0, 1.0, 1.0, 0.0, 1.0, 1.0),
        (1e-14, 1 - 1e-14) * 3,
        (1e-9, 1 - 1e-11, 0.5, 0.5) * 2,
    ],
)
def test_the_fits_of_hard_answers_verify(probs: Sequence[float], labels: str, tmp_path: Path) -> None:
    assert verified(frame(probs, labels, folds=2), tmp_path / "out", measures=FITS).mismatches == ()


def test_a_shift_that_moves_by_rounding_alone_has_no_interval_on_either_side(tmp_path: Path) -> None:
    table = frame([1e-5] * 6 + [0.99999] * 6, "all wrong")
    assert verified(table, tmp_path / "out", measures=FITS, ci_method="percentile").mismatches == ()


@pytest.mark.parametrize("labels", LABELS)
def test_hard_answers_have_no_calibration_fit_anywhere(labels: str) -> None:
    table = frame((0.0, 1.0, 1.0, 0.0, 1.0, 1.0), labels, folds=2)
    found = evidentia.evaluate(evidentia.read_run(table), measures=FITS, resamples=50)
    assert len(found.measures) > 8
    for estimate in found.measures.values():
        assert (estimate.value, estimate.ci) == (0.0, None)
        assert estimate.degenerate
        assert "no interval: the value is a convention, not a measurement" in estimate.warnings


def test_nearly_hard_answers_have_a_shift_but_no_interval(tmp_path: Path) -> None:
    """Four right at almost 1 and two right at almost 0: the shift is ln(2) / 2, and no resample can be told from another."""
    table = frame([1 - 1e-14, 1e-14, 1 - 1e-14, 1 - 1e-14, 1e-14, 1 - 1e-14], "all right")
    found = evidentia.evaluate(evidentia.read_run(table), measures=FITS, resamples=50)["CalibrationIntercept"]
    assert (found.degenerate, found.ci) == (None, None)
    assert found.value == pytest.approx(0.34657, abs=1e-3)
    assert "no interval: undefined in every resample" in found.warnings
