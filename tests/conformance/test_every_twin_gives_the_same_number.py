"""A definition and its twin give the same numbers, for every combination of choices, with ties and with little to measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from every_definition import BY_NAME, EXPANDED, QUESTIONNAIRE_ONES, edited, nested, read
from every_selective import ALONE, ITEM_MAX, mixed

import evidentia
from evidentia.measures.core import Additive
from evidentia.synth import SyntheticRun
from evidentia.verifying import verify_numbers
from selective.questionnaires import random_run

ITEMS = (("a", 0, 3, False), ("b", 0, 3, True), ("c", 0, 3, False))
FEW = {"resamples": 5, "seed": 7, "report": False}


def differing(folder: Path) -> list[str]:
    """What the twins compute otherwise, place by place."""
    verification = verify_numbers(folder)
    assert verification.comparisons > 1000
    return [f"{m.where}: {m.reported}, its twin: {m.recomputed}" for m in verification.mismatches]


def tied() -> SyntheticRun:
    coarse = edited(nested(), (pl.col("prob") * 4).round() / 4).per_query.drop("state", "tau_neg", "tau_pos")
    return SyntheticRun(coarse, nested().candidates.with_columns(pl.col("score").round()))


def one_post() -> SyntheticRun:
    """One post to evaluate; the others are TRAIN and TUNE posts."""
    rows, pool = nested().per_query, nested().candidates
    evaluated = pl.col("split") == "EVAL"
    rows = rows.filter(~evaluated | (pl.col("post_id") == rows.filter(evaluated)["post_id"][0]))
    return SyntheticRun(rows, pool.join(rows, on=["post_id", "criterion_id"], how="semi"))


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("make", [nested, tied, one_post])
def test_of_every_definition_over_queries(make: Any, tmp_path: Path) -> None:
    evidentia.evaluate(read(make()), measures=EXPANDED, **FEW).save(tmp_path / "out")
    assert differing(tmp_path / "out") == []


def test_of_every_count_under_poisson_weights(tmp_path: Path) -> None:
    """A count whose twin does not say so is not scaled there."""
    counts = [d.expanded for d in BY_NAME.values() if isinstance(d.kind, Additive) and d.kind.sized]
    evidentia.evaluate(read(nested()), measures=counts, bootstrap="poisson", **FEW).save(tmp_path / "out")
    assert differing(tmp_path / "out") == []


def test_of_every_definition_over_items(tmp_path: Path) -> None:
    result = evidentia.selective.evaluate(mixed().own, item_max=ITEM_MAX, measures=list(ALONE), **FEW)
    result.save(tmp_path / "out")
    assert differing(tmp_path / "out") == []


def test_of_every_definition_over_questionnaires(tmp_path: Path) -> None:
    run = random_run(8, participants=25, abstained=0.25, items=ITEMS)
    names = [definition.expanded for definition in QUESTIONNAIRE_ONES]
    mode = run["experiments"][0]["results"]["mode"]
    evidentia.selective.evaluate(run, mode=mode, measures=names, **FEW).save(tmp_path / "out")
    assert differing(tmp_path / "out") == []
