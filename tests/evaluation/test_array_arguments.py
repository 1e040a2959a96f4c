"""Measures on plain arrays refuse what they would misread, instead of returning a number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evidentia import arrays, selective
from evidentia.errors import InputError

SCORES, OFFSETS = [0.9, 0.8, 0.1], [0, 3]
LABELS, PROB = [1, 0, 1], [0.9, 0.2, 0.7]
MISREAD: dict[str, Callable[[], object]] = {
    "gold as texts": lambda: arrays.recall(SCORES, ["0", "1", "0"], OFFSETS),
    "gold that is missing": lambda: arrays.recall(SCORES, [np.nan, 0, 0], OFFSETS),
    "graded gold": lambda: arrays.ndcg(SCORES, [2, 0, 1], OFFSETS),
    "half a k": lambda: arrays.recall(SCORES, [1, 0, 0], OFFSETS, k=2.5),  # type: ignore[arg-type]
    "no k for precision": lambda: arrays.precision(SCORES, [1, 0, 0], OFFSETS, k=None),  # type: ignore[arg-type]
    "half a bin": lambda: arrays.ece(LABELS, PROB, bins=2.5),  # type: ignore[arg-type]
    "a budget below 0": lambda: arrays.tpr_at_fpr(LABELS, PROB, budget=-1),
    "a budget that is none": lambda: arrays.tpr_at_fpr(LABELS, PROB, budget=np.nan),
    "an infinite weight": lambda: arrays.auroc(LABELS, PROB, weights=[1, np.inf, 1]),
    "labels as texts": lambda: arrays.auroc(["1", "0", "1"], PROB),
    "an unknown tie rule": lambda: selective.aurc([0.0, 1.0], [2, 1], ties="both"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", MISREAD.values(), ids=MISREAD)
def test_what_would_be_misread_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        call()


def test_with_one_class_there_is_no_threshold() -> None:
    assert arrays.tpr_at_fpr([1, 1], [0.2, 0.4], budget=0.1) == (0.0, None)
    assert arrays.tpr_at_fpr([0, 1], [0.2, 0.4], budget=0.0) == (1.0, 0.4)


def test_booleans_and_whole_numbers_of_numpy_are_fine() -> None:
    assert arrays.recall(SCORES, np.array([True, False, False]), OFFSETS, k=np.int64(1)).tolist() == [1.0]  # type: ignore[arg-type]
