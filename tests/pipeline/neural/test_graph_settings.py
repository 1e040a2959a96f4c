"""Settings of graph networks are checked before anything is learnt; none of this needs torch."""

from __future__ import annotations

from typing import Any

import pytest

from evidentia.errors import InputError
from evidentia.pipeline.neural.networks import GraphSettings, graph_settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"conv": "gcn"}, "conv must be one of gatv2, gat, sage"),
        ({"hidden": 30}, "hidden = 30 must be a multiple of heads = 4"),
        ({"dropout": 1}, "dropout must be below 1"),
        ({"layers": -1}, "layers must be at least 0"),
        ({"batch": 1}, "has no setting 'batch'"),
        ({"learning_rate": "fast"}, "learning_rate must be a number"),
    ],
)
def test_settings_that_make_no_sense_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        graph_settings(given)


def test_whole_numbers_are_numbers() -> None:
    assert graph_settings({"dropout": 0, "hidden": 16}) == GraphSettings(dropout=0.0, hidden=16)
