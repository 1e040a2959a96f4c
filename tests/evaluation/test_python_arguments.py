"""What users of Python reach for: results in memory are compared, and names come in one text with commas."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import evidentia
from evidentia.errors import InputError
from evidentia.pipeline.predict import load_trained
from evidentia.synth import synthetic_phq8, synthetic_run

FEW = "AUROC, nDCG@10,F1(avg=post,empty=1)"
QUICK = {"resamples": 20, "seed": 3}


@pytest.fixture(scope="module")
def frames() -> tuple[object, object]:
    return tuple(
        synthetic_run(seed=7, posts=40, criteria=3, positives=None, difficulty=d).per_query for d in (0.3, 0.6)
    )  # type: ignore[return-value]


def test_evaluations_are_compared_as_their_folders_are(frames: tuple[object, object], tmp_path: Path) -> None:
    made = [evidentia.evaluate(frame, measures=FEW, **QUICK) for frame in frames]
    for at, one in enumerate(made):
        one.save(tmp_path / f"system {at + 1}")
    in_memory = evidentia.compare(*made, **QUICK)
    assert in_memory.systems == ("system 1", "system 2")
    on_disk = evidentia.compare(tmp_path / "system 1", str(tmp_path / "system 2"), **QUICK)
    assert json.dumps(in_memory.to_dict()) == json.dumps(on_disk.to_dict())
    assert len({one.definition for one in in_memory.deltas}) == 3
    mixed = evidentia.compare(made[0], tmp_path / "system 2", names=("a", "b"), out=tmp_path / "out", **QUICK)
    assert mixed.systems == ("a", "b")
    assert (tmp_path / "out" / "comparison.json").is_file()


def test_frames_are_compared(frames: tuple[object, object]) -> None:
    as_polars = evidentia.compare(*frames, measures="AUROC", **QUICK)
    as_pandas = evidentia.compare(
        *(pd.DataFrame(frame.to_dict(as_series=False)) for frame in frames), measures="AUROC", **QUICK
    )  # type: ignore[attr-defined]
    assert as_polars.to_dict() == as_pandas.to_dict()


@pytest.mark.parametrize("wrong", [None, 7, [], ["a", "b"], {"a": 1}, object()])
def test_what_is_no_result_is_named(wrong: object, frames: tuple[object, object]) -> None:
    with pytest.raises(InputError, match=rf"a {re.escape(type(wrong).__name__)} is not a table"):
        evidentia.compare(frames[0], wrong)


def test_an_evaluation_without_its_run_is_said(frames: tuple[object, object]) -> None:
    items = synthetic_phq8(participants=6, failures=0)
    selective = evidentia.selective.evaluate(items, mode="zero_shot", seed=1, resamples=0)
    with pytest.raises(InputError, match=r"holds no run to compare.*evidentia\.selective\.compare"):
        evidentia.compare(selective, frames[0])


def test_selective_evaluations_are_compared_and_take_names_with_commas() -> None:
    items = synthetic_phq8(participants=8, failures=0)
    one, other = (
        evidentia.selective.evaluate(items, mode=mode, seed=1, resamples=10, measures="AURC,AUGRC")
        for mode in ("zero_shot", "few_shot")
    )
    assert {name.partition("[")[0].partition("(")[0] for name in one} == {"AURC", "AUGRC"}
    assert evidentia.selective.compare(one, other, seed=1, resamples=10).deltas


@pytest.mark.parametrize(
    "names", [FEW, ["AUROC,nDCG@10", "F1(avg=post,empty=1)"], ("AUROC", "nDCG@10", "F1(avg=post,empty=1)")]
)
def test_measures_are_listed_in_any_way(names: object, frames: tuple[object, object]) -> None:
    result = evidentia.evaluate(frames[0], measures=names, resamples=0)  # type: ignore[arg-type]
    assert {"AUROC", "nDCG@10"} <= set(result)
    compared = evidentia.compare(*frames, measures=names, **QUICK)  # type: ignore[arg-type]
    assert len({one.definition for one in compared.deltas}) == 3


@pytest.mark.parametrize("names", ["", " , ", [], [""]])
def test_measures_that_name_nothing_are_refused(names: object, frames: tuple[object, object]) -> None:
    with pytest.raises(InputError, match="measures names nothing"):
        evidentia.evaluate(frames[0], measures=names)  # type: ignore[arg-type]


def test_a_model_is_loaded_by_a_text_too(tmp_path: Path) -> None:
    for folder in (str(tmp_path), tmp_path):
        with pytest.raises(InputError, match="holds no trained pipeline"):
            load_trained(folder)
