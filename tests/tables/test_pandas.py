"""pandas frames are read on the base install, which has no pyarrow, whatever their dtypes are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evidentia
from evidentia.errors import InputError
from evidentia.tables import read_run

PLAIN = {
    "post_id": ["1", "2", "3", "4"],
    "criterion_id": ["A", "A", "A", "A"],
    "fold": [0, 1, 0, 1],
    "has_evidence": [True, False, True, False],
    "prob": [0.9, 0.2, 0.6, 0.1],
    "gold_sent_uids": ["s1|s2", None, "s5", ""],
    "ranked_sent_uids": ["s1|s3|s2", "s4", "s6|s5", "s7"],
    "group": ["a", "b", None, "a"],
}
DTYPES = {
    "as they come": {},
    "strings": dict.fromkeys(["post_id", "criterion_id", "gold_sent_uids", "ranked_sent_uids", "group"], "string"),
    "categories": dict.fromkeys(["post_id", "criterion_id", "group", "fold", "has_evidence"], "category"),
    "nullable": {"fold": "Int64", "has_evidence": "boolean", "prob": "Float64", "post_id": "string"},
    "objects": dict.fromkeys(PLAIN, object),
    "numbers": {"post_id": "int64", "fold": "int8", "has_evidence": "uint8", "prob": "float32"},
}
WITHOUT = """
import sys
sys.modules["pyarrow"] = None  # as on the base install
"""
SCRIPT = (
    WITHOUT
    + """
import pandas as pd, evidentia
from tables.test_pandas import DTYPES, PLAIN, LISTS
for dtypes in DTYPES.values():
    frame = pd.DataFrame(PLAIN).astype(dtypes)
    run = evidentia.read_run(frame, by="group")
    assert len(run) == 4 and run.queries.n_gold.tolist() == [2, 0, 1, 0], dtypes
    assert run.queries.slices["group"].labels == ("a", "b", "(missing)"), dtypes
    evidentia.evaluate(frame, resamples=0)
assert evidentia.read_run(pd.DataFrame(LISTS)).queries.n_gold.tolist() == [2, 0]
items = pd.DataFrame({"cluster_id": [1, 1], "item": ["a", "b"], "pred": [1, None], "gt": [1, 0], "confidence": [0.5, None]})
assert len(evidentia.read_items(items).pred) == 2
print("read")
"""
)
LISTS = {
    "post_id": [1, 2],
    "criterion_id": ["A", "A"],
    "gold_sent_uids": [np.array(["s1", "s2"], dtype=object), np.array([], dtype=object)],
    "ranked_sent_uids": [["s2", "s1"], ("s3",)],
}


def test_pandas_is_read_without_pyarrow() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=Path(__file__).parent.parent, check=False
    )
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr


@pytest.mark.parametrize("kind", DTYPES)
def test_every_dtype_gives_the_run_of_plain_columns(kind: str) -> None:
    expected = read_run(pl.DataFrame(PLAIN), by="group")
    run = read_run(pd.DataFrame(PLAIN).astype(DTYPES[kind]), by="group")
    assert run.queries.gold_ranks is not None
    assert expected.queries.gold_ranks is not None
    assert run.queries.gold_ranks.values.tolist() == expected.queries.gold_ranks.values.tolist()
    assert run.queries.label.tolist() == expected.queries.label.tolist()
    assert run.queries.slices["group"].labels == expected.queries.slices["group"].labels
    assert run.queries.prob == pytest.approx(expected.queries.prob, abs=1e-6)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_whatever_marks_a_missing_value_is_missing(missing: object) -> None:
    frame = pd.DataFrame(PLAIN)
    frame["group"] = pd.Series(["a", missing, missing, "b"], dtype=object)
    frame["gold_sent_uids"] = pd.Series(["s1|s2", missing, "s5", missing], dtype=object)
    run = read_run(frame, by="group")
    assert run.queries.slices["group"].labels == ("a", "b", "(missing)")
    assert run.queries.n_gold.tolist() == [2, 0, 1, 0]
    frame["post_id"] = pd.Series(["1", missing, "3", "4"], dtype=object)
    with pytest.raises(InputError, match="post_id"):
        read_run(frame)


def test_missing_numbers_and_flags_are_said() -> None:
    frame = pd.DataFrame(PLAIN).astype(DTYPES["nullable"])
    frame.loc[1, "prob"] = pd.NA
    with pytest.raises(InputError, match="prob"):
        read_run(frame)


def test_the_index_is_no_column_and_names_come_once() -> None:
    frame = pd.DataFrame(PLAIN, index=pd.Index([9, 8, 7, 6], name="fold_of"))
    assert "fold_of" not in read_run(frame).frame.columns
    twice = pd.concat([frame, frame[["prob"]]], axis=1)
    with pytest.raises(InputError, match=r"1 repeated column name \(first: 'prob'\)"):
        read_run(twice)


class Mine(pd.DataFrame):
    """A frame of somebody's own, as geopandas has."""


def test_a_subclass_is_a_frame_and_a_column_is_none() -> None:
    assert len(read_run(Mine(PLAIN))) == 4
    with pytest.raises(InputError, match="a Series is not a table"):
        evidentia.read_run(pd.Series([1]))


def test_half_a_surrogate_pair_is_no_traceback() -> None:
    halves = pd.Series(["\ud800", "b", "c", "d"], dtype=object)
    with pytest.raises(InputError, match="'post_id' has values of several types, or none that a table can hold"):
        read_run(pd.DataFrame(PLAIN).assign(post_id=halves))
