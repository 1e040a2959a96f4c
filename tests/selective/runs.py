"""Runs for the tests of selective prediction, as the package reads them and as plain rows straight from the tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Floats
from evidentia.evaluation.items import ItemComputation, wants_for
from evidentia.evaluation.plan import Want
from evidentia.measures import MEASURES, Definition, resolve
from evidentia.measures.core import Selective
from evidentia.results.profiles import SELECTIVE
from evidentia.synth import synthetic_phq8
from evidentia.tables import Items, read_items
from selective.naive import Answer

CUTS: dict[str | None, tuple[str, ...]] = {
    None: ("",),
    "C": ("@C=0.1", "@C=0.37", "@C=0.5", "@C=0.95"),
    "coverage": ("@coverage=0.05", "@coverage=0.37", "@coverage=0.5", "@coverage=0.7"),
}
PHQ8 = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")
SIGNALS = {
    "llm": lambda signals: signals["llm_evidence_count"],
    "total_evidence": lambda signals: signals["llm_evidence_count"] + signals["keyword_evidence_count"],
    "token_msp": lambda signals: signals["token_msp"],
}


def _names() -> tuple[str, ...]:
    names = []
    for measure in (measure for measure in MEASURES if isinstance(measure.kind, Selective)):
        for choice in itertools.product(*(parameter.values for parameter in measure.params)):
            params = ",".join(f"{p.name}={value}" for p, value in zip(measure.params, choice, strict=True))
            names += [f"{measure.base}({params}){cut}".replace("()", "") for cut in CUTS[measure.cut]]
    return tuple(names)


NAMES = _names()  # every selective definition that needs no second run


def definition(name: str) -> Definition:
    return resolve(name, SELECTIVE).definition


def parts_of(name: str) -> tuple[str, dict[str, str], str | None]:
    """Base name, parameters and the bare value of the cut: what the plain code takes."""
    args = definition(name).args
    cut = None if args.cut is None else str(args.cut).partition("=")[2]
    return definition(name).measure.base, dict(args.params), cut


def computed(items: Items, signal: str, names: Sequence[str] = NAMES) -> tuple[ItemComputation, dict[str, Want]]:
    wants = dict(zip(names, wants_for([definition(name) for name in names], (signal,)), strict=True))
    return ItemComputation(items, tuple(wants.values()), (signal,)), wants


@cache
def phq8_run() -> dict[str, Any]:
    """22 participants, 2 of whom failed, in two modes: evidence counts mostly tie, and more than a third is abstained."""
    return synthetic_phq8(seed=4, participants=22, failures=2)


@cache
def phq8_items(mode: str) -> Items:
    return read_items(phq8_run(), mode=mode)


@cache
def phq8_rows(mode: str, signal: str) -> tuple[Answer, ...]:
    experiment = next(e for e in phq8_run()["experiments"] if e["provenance"]["mode"] == mode)
    return tuple(
        Answer(
            str(result["participant_id"]),
            place,
            result["predicted_items"][item],
            result["ground_truth_items"][item],
            _sure(SIGNALS[signal](result["item_signals"][item])),
            3.0,
        )
        for result in experiment["results"]["results"]
        if result["success"]
        for place, item in enumerate(PHQ8)
    )


def _sure(confidence: float | None) -> float:
    return -math.inf if confidence is None else float(confidence)


@cache
def uneven_table(seed: int = 3, abstained: float = 0.3, clusters: int = 24) -> pl.DataFrame:
    """Clusters of 1 to 9 items, so that the number of items differs between draws; errors are any real numbers."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 10, clusters)
    owner = np.repeat(np.arange(2, 2 + clusters), sizes)  # 2 .. 25: as texts they sort in another way
    item = np.concatenate([np.arange(size) for size in sizes])
    gt = rng.normal(0, 2, len(owner))
    rng = np.random.default_rng(seed)
    error = rng.exponential(1, len(owner)).clip(0, 5) * (rng.random(len(owner)) < 0.8)
    pred = np.where(rng.random(len(owner)) < abstained, np.nan, gt + error)
    return pl.DataFrame(
        {
            "cluster_id": owner,
            "item": item,
            "pred": pl.Series(pred).fill_nan(None),
            "gt": gt,
            "confidence": rng.integers(0, 6, len(owner)) / 8,
        }
    ).sample(fraction=1, shuffle=True, seed=1)


def table_items(frame: pl.DataFrame, item_max: float | None = 6.0) -> Items:
    return read_items(frame, item_max=item_max)


def table_rows(frame: pl.DataFrame, item_max: float | None = 6.0) -> tuple[Answer, ...]:
    return tuple(_row(row, item_max) for row in frame.iter_rows(named=True))


def _row(row: Mapping[str, Any], item_max: float | None) -> Answer:
    return Answer(str(row["cluster_id"]), int(row["item"]), row["pred"], row["gt"], row["confidence"], item_max)


def differences(left: Sequence[float] | Floats, right: Sequence[float] | Floats) -> float:
    """The largest difference; infinite where only one of the two is undefined."""
    a, b = np.array(left, float), np.array(right, float)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return math.inf
    return float(np.nanmax(np.abs(a - b), initial=0.0)) if not np.isnan(a).all() else 0.0
