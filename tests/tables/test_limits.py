"""Limits of what is read: a hostile file is refused at once, by name and with what to do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from evidentia.errors import InputError
from evidentia.tables import load_card, read_items, read_run, read_trec, validate_run
from evidentia.tables.limits import DEEPEST, MOST_COLUMNS, MOST_KEYS, MOST_PARTS, parse_toml
from growth import growth

HEADER = "post_id,criterion_id,gold_sent_uids"


def code_of(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_run(path, **options)  # type: ignore[arg-type]
    (problem,) = caught.value.problems
    assert path.name in problem.message
    return problem.code


def wide(path: Path, columns: int) -> Path:
    more = columns - 3
    path.write_text(f"{HEADER}," + ",".join(f"c{i}" for i in range(more)) + "\n1,A,s1" + "," * more + "\n")
    return path


def test_a_hundred_thousand_columns_are_refused_and_the_most_allowed_are_read(tmp_path: Path) -> None:
    assert code_of(wide(tmp_path / "wide.csv", 100_000)) == "TOO_MANY_COLUMNS"
    assert code_of(wide(tmp_path / "over.csv", MOST_COLUMNS + 1)) == "TOO_MANY_COLUMNS"
    assert len(read_run(wide(tmp_path / "most.csv", MOST_COLUMNS))) == 1


def test_the_cost_grows_with_the_columns(tmp_path: Path) -> None:
    assert growth(read_run, wide(tmp_path / "few.csv", 2_500), wide(tmp_path / "many.csv", 10_000)) < 10


def test_guessing_among_many_columns_is_quick(tmp_path: Path) -> None:
    def foreign(columns: int) -> Path:
        path = tmp_path / f"{columns}.csv"
        names = ",".join(f"c{i}" for i in range(columns))
        path.write_text("\n".join([names, *(",".join(f"v{row}" for _ in range(columns)) for row in range(3))]))
        return path

    assert code_of(foreign(2_000)) == "MISSING_COLUMN"
    assert growth(validate_run, foreign(500), foreign(2_000)) < 10


def test_many_repeated_columns_are_named_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text(f"{HEADER}," + ",".join(f"c{i % 40}" for i in range(80)) + "\n1,A,s1" + "," * 80 + "\n")
    with pytest.raises(InputError, match=r"40 repeated column names \(line 1: 'c0', .*, \.\.\.\)"):
        read_run(path)


def line(depth: int, **more: object) -> str:
    """A row with so many lists and objects inside each other."""
    deep = "[" * (depth - 1) + "]" * (depth - 1)
    return '{"post_id": "1", "criterion_id": "A", "gold_sent_uids": ["s1"], "more": ' + deep + "}\n"


@pytest.mark.parametrize("depth", [DEEPEST + 1, 900, 200_000])
def test_deeply_nested_lines_are_refused(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text(line(depth))
    assert code_of(path) == "TOO_DEEP"
    path.write_text(line(2) + line(depth).replace("[", '{"a": ').replace("]", "}"))  # objects, never closed well
    assert code_of(path) == "TOO_DEEP"
    path.write_text(line(depth).replace("]", ""))
    assert code_of(path) == "TOO_DEEP"


def test_brackets_in_texts_and_beside_each_other_are_not_deep(tmp_path: Path) -> None:
    path = tmp_path / "shallow.jsonl"
    path.write_text(
        json.dumps({"post_id": "1", "criterion_id": "A", "gold_sent_uids": ["s1"], "x": '[{"' * 300})
        + "\n"
        + json.dumps({"post_id": "2", "criterion_id": "A", "gold_sent_uids": [], "y": [[1]] * 300})
        + "\n"
        + line(DEEPEST - 12).replace("1", "3").replace("more", "z")
    )
    assert len(read_run(path)) == 3


def test_a_key_of_its_own_on_every_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.jsonl"
    rows = [{"post_id": str(i), "criterion_id": "A", "gold_sent_uids": [f"s{i}"], f"k{i}": 1} for i in range(MOST_KEYS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert code_of(path) == "TOO_MANY_COLUMNS"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:100]))
    assert len(read_run(path)) == 100


@pytest.mark.parametrize(
    "hostile",
    [
        ".".join("a" * 50_000) + " = 1",
        "[" + ".".join("a" * 50_000) + "]",
        "[[" + " . ".join(["'a b'"] * 50_000) + "]]",
        'x = { "a" . ' + ".".join("b" * 50_000) + " = 1 }",
        ".".join("a" * (MOST_PARTS + 1)) + " = 1",
    ],
)
def test_a_toml_key_of_many_parts_is_refused(hostile: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"a key has more than {MOST_PARTS} parts"):
        parse_toml(hostile)
    card = tmp_path / "card.toml"
    card.write_text(f"name = 'x'\n{hostile}\n")
    with pytest.raises(InputError, match=r"card\.toml: not a TOML file"):
        load_card(card)


@pytest.mark.parametrize(
    ("hostile", "reason"),
    [
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("x = " + "{a = " * 20_000 + "1" + "}" * 20_000, "nested too deeply"),
        ("x = " + "9" * 5_000, "too many digits"),
        ("x = '" + "y" * 1_000_000 + "'", "more than 1,000,000 characters"),
    ],
)
def test_other_toml_that_cannot_be_read_is_refused(hostile: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_toml(hostile)


def test_dots_in_toml_texts_and_comments_are_no_parts() -> None:
    dots = ".".join("a" * 100)
    text = (
        f'# {dots}\nx = \'{dots}\'\ny = """\n{dots}\n"""\nz = \'\'\'{dots} " \'\'\'\nv = [1.5, 2.5]\na.b.c = "1. 2."\n'
    )
    assert parse_toml(text)["a"] == {"b": {"c": "1. 2."}}
    assert parse_toml(".".join("a" * MOST_PARTS) + " = 1")


def bomb(path: Path, head: str, row: str, count: int = 3_000) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head.encode())
        for _ in range(count // 1000):
            file.write(row.encode() * 1000)
    return path


def test_a_gzip_file_unpacks_as_far_as_it_may(tmp_path: Path) -> None:
    path = bomb(tmp_path / "run.csv.gz", HEADER + "\n", "1,A,s1\n")
    assert code_of(path, max_bytes=21_035) == "TOO_LARGE"
    assert code_of(path, max_bytes=21_036) == "DUPLICATE_QUERY"  # read as a whole, and all of its rows are the same
    with pytest.raises(
        InputError, match=r"unpacks to more than 100 bytes.*--max-bytes N .*Parquet, which has no limit"
    ):
        read_run(path, max_bytes=100)
    with pytest.raises(InputError, match="max_bytes is 0"):
        read_run(path, max_bytes=0)


def test_the_limit_holds_for_every_kind_of_gzip_file(tmp_path: Path) -> None:
    items = bomb(tmp_path / "run.json.gz", "[", " ")
    with pytest.raises(InputError, match="unpacks to more than 1,000 bytes"):
        read_items(items, max_bytes=1_000)
    table = bomb(tmp_path / "items.csv.gz", "cluster_id,item,pred,gt,confidence\n", "1,a,1,1,1\n")
    with pytest.raises(InputError, match="unpacks to more than 1,000 bytes"):
        read_items(table, max_bytes=1_000)
    qrels, run = bomb(tmp_path / "q.gz", "", "1 0 d 1\n"), bomb(tmp_path / "r.gz", "", "1 Q0 d 1 1 x\n")
    with pytest.raises(InputError, match=r"(?s)q\.gz.*unpacks to.*r\.gz.*unpacks to"):
        read_trec(qrels, run, max_bytes=1_000)


def test_parquet_has_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    more = {f"c{i}": [0] for i in range(MOST_COLUMNS)}
    pl.DataFrame({"post_id": ["1"], "criterion_id": ["A"], "gold_sent_uids": [["s1"]], **more}).write_parquet(path)
    assert len(read_run(path)) == 1
