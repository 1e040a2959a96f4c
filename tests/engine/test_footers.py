"""The rows of row groups as our reader of footers finds them, and as pyarrow does."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidentia.engine.parquet import row_group_sizes
from sampling import examples

KINDS: dict[str, tuple[pa.DataType, Any]] = {
    "bool": (pa.bool_(), True),
    "bytes": (pa.binary(), b"\xff\x00"),
    "text": (pa.string(), "é"),
    "number": (pa.int64(), -(2**62)),
    "small": (pa.int8(), -3),
    "real": (pa.float64(), float("nan")),
    "day": (pa.date32(), datetime.date(2024, 2, 29)),
    "time": (pa.timestamp("ns", "UTC"), datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)),
    "decimal": (pa.decimal128(30, 4), None),
    "nothing": (pa.null(), None),
    "list": (pa.list_(pa.string()), ["a", None]),
    "lists": (pa.list_(pa.list_(pa.bool_())), [[True, False], []]),
    "struct": (pa.struct([("a", pa.bool_()), ("b", pa.list_(pa.int32()))]), {"a": False, "b": [1]}),
    "map": (pa.map_(pa.string(), pa.struct([("x", pa.float32())])), [("k", {"x": 1.0})]),
    "dictionary": (pa.dictionary(pa.int16(), pa.string()), "one"),
}


def expected(path: Path) -> tuple[int, ...]:
    footer = pq.read_metadata(path)
    return tuple(footer.row_group(number).num_rows for number in range(footer.num_row_groups))


@given(
    kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=len(KINDS), unique=True),
    size=st.tuples(st.integers(0, 40), st.integers(1, 50)),
    options=st.fixed_dictionaries(
        {
            "compression": st.sampled_from(["none", "snappy", "zstd"]),
            "version": st.sampled_from(["1.0", "2.6"]),
            "write_statistics": st.booleans(),
            "use_dictionary": st.booleans(),
            "write_page_index": st.booleans(),
            "write_page_checksum": st.booleans(),
        }
    ),
    notes=st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=5),
)
@examples(100)
def test_row_groups_of_any_file(
    kinds: list[str],
    size: tuple[int, int],
    options: dict[str, Any],
    notes: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rows, group = size
    columns = [pa.array([KINDS[kind][1] if row % 3 else None for row in range(rows)], KINDS[kind][0]) for kind in kinds]
    table = pa.table(dict(zip(kinds, columns, strict=True))).replace_schema_metadata(notes)
    path = tmp_path_factory.mktemp("footer") / "table.parquet"
    pq.write_table(table, path, row_group_size=group, **options)
    assert row_group_sizes(path) == expected(path)


def test_many_row_groups_sorted_and_with_filters(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    table = pa.table({"a": range(2_000), "flag": [n % 2 == 0 for n in range(2_000)]})
    sorting = [pq.SortingColumn(0, descending=True, nulls_first=True)]  # a structure with bools
    pq.write_table(table, path, row_group_size=7, sorting_columns=sorting)
    assert row_group_sizes(path) == expected(path)
    assert len(row_group_sizes(path)) == 286


def test_files_of_polars(tmp_path: Path) -> None:
    frame = pl.DataFrame({"lists": [["a"], [], None] * 100, "flag": [True, None, False] * 100})
    frame.write_parquet(tmp_path / "polars.parquet", row_group_size=64)
    assert row_group_sizes(tmp_path / "polars.parquet") == expected(tmp_path / "polars.parquet")
    frame.clear().write_parquet(tmp_path / "empty.parquet")
    assert sum(row_group_sizes(tmp_path / "empty.parquet")) == 0


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("footer") / "table.parquet"
    pq.write_table(pa.table({"a": range(30), "b": [[True]] * 30}), path, row_group_size=10)
    return path.read_bytes()


def sizes_of(content: bytes, folder: Path) -> tuple[int, ...]:
    path = folder / "changed.parquet"
    path.write_bytes(content)
    return row_group_sizes(path)


def test_every_file_that_ends_too_soon(content: bytes, tmp_path: Path) -> None:
    assert sizes_of(content, tmp_path) == (10, 10, 10)
    for length in range(0, len(content), 60):
        with pytest.raises(ValueError, match=r"too short|no footer"):
            sizes_of(content[:length], tmp_path)


@given(data=st.data())
@examples(300)
def test_a_damaged_footer_is_an_error_or_another_number(
    data: st.DataObject, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever a footer says, it is read to its end or refused, and at once."""
    length = int.from_bytes(content[-8:-4], "little")
    start = len(content) - 8 - length
    at = data.draw(st.integers(0, length - 1), label="place")
    piece = data.draw(st.binary(min_size=1, max_size=12), label="bytes")
    footer = (content[start:-8][:at] + piece + content[start:-8][at + len(piece) :])[:length]
    changed = content[:start] + footer + content[-8:]
    try:
        sizes = sizes_of(changed, tmp_path_factory.mktemp("damaged"))
    except ValueError:
        return
    assert all(size >= 0 for size in sizes)


@pytest.mark.parametrize(
    "footer", [b"\x1c" * 5_000, b"\x19\xf1" + b"\xff" * 9 + b"\x01", b"\x1b" + b"\xff" * 9 + b"\x01\x11"]
)
def test_a_footer_that_nests_or_counts_without_end(footer: bytes, tmp_path: Path) -> None:
    content = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(ValueError, match="footer"):
        sizes_of(content, tmp_path)
