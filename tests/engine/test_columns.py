"""Narrow columns on the disk: put in order stretch by stretch, whatever the blocks and the ties."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.made import Made, in_blocks, in_memory, same
from evidentia.engine import columns, computation
from evidentia.engine.columns import ColumnStore
from evidentia.engine.executors import LocalProcesses
from sampling import examples


@given(blocks=st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), max_size=12), min_size=1, max_size=6))
@examples(100)
def test_parts_in_order_come_out_in_one_order(
    blocks: list[list[float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = ColumnStore(tmp_path_factory.mktemp("store"))
    for number, block in enumerate(blocks):
        store.append(("value",), np.sort(np.array(block)))
        store.append(("block",), np.full(len(block), number))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "STRETCH", 4)
        patch.setattr(columns, "SAMPLED", 2)
        stretches = list(store.ascending([("value",), ("block",)]))
        with store.in_order([("value",), ("block",)]) as again:
            assert [[part.tolist() for part in each] for each in again] == [
                [part.tolist() for part in each] for each in stretches
            ]
    values, numbers = (np.concatenate([np.zeros(0), *(each[at] for each in stretches)]) for at in range(2))
    assert values.tolist() == sorted(value for block in blocks for value in block)
    assert sorted(zip(values, numbers, strict=True)) == sorted(
        (value, number) for number, block in enumerate(blocks) for value in block
    )
    assert all(len(each[0]) <= 12 or len(set(each[0])) == 1 for each in stretches)


def test_columns_that_are_longer_than_a_stretch(run: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(columns, "STRETCH", 16)
    monkeypatch.setattr(columns, "SAMPLED", 4)
    options = {"measures": None, "by": ("length_band",)}
    same(in_blocks(*run.files, rows=400, scratch=tmp_path, **options), in_memory(*run.files, **options))
    assert not list(tmp_path.iterdir())


def test_workers_fit_what_this_process_would(run: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computation, "FEW", 0)
    same(in_blocks(*run.files, rows=400, executor=LocalProcesses(2)), run.expected)
