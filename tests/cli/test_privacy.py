"""A post's text never leaves the user's file: not into a result, not onto the screen, not into a message."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from builders.runs import Files

from .command import contents, evidentia, refused

SECRET = "Ich habe seit Wochen nicht geschlafen"
WORDS = ("Wochen", "geschlafen")


def with_text(source: Path, target: Path) -> Path:
    """The same run with a column that holds a post's text."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*rows[0], "post_text"], *([*row, SECRET] for row in rows[1:])])
    return target


@pytest.fixture
def secret_run(split_files: Files, tmp_path: Path) -> Path:
    return with_text(split_files.per_query, tmp_path / "run.csv")


def test_a_text_column_is_in_no_file_and_not_on_the_screen(
    secret_run: Path, split_files: Files, tmp_path: Path
) -> None:
    candidates = with_text(split_files.candidates, tmp_path / "candidates.csv")
    ran = evidentia("evaluate", secret_run, "--candidates", candidates, "--by", "subreddit", "-o", tmp_path / "out")
    assert ran.code == 0
    written = contents(tmp_path / "out")
    assert {"per_query.csv", "candidates.parquet", "tune.parquet", "summary.json", "manifest.json"} <= set(written)
    for name, content in {**written, "stdout": ran.out.encode(), "stderr": ran.err.encode()}.items():
        assert not any(word.encode() in content for word in WORDS), name
        assert b"post_text" not in content, name
    for name in ("candidates.parquet", "tune.parquet"):  # compressed, so the bytes prove little
        assert "post_text" not in pl.read_parquet(tmp_path / "out" / name).columns


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("name", ["prob", "has_evidence", "state", "tau", "split", "fold", "n_candidates", "post_id"])
def test_a_text_column_mapped_by_mistake_is_not_quoted(name: str, secret_run: Path, tmp_path: Path) -> None:
    ran = evidentia("evaluate", secret_run, "--map", f"{name}=post_text", "--quiet", "-o", tmp_path / "out")
    refused(ran)
    assert ran.err.startswith("evidentia: run.csv: ")
    assert not any(word in ran.err for word in WORDS)
    assert not any(word in evidentia("validate", secret_run, "--map", f"{name}=post_text").err for word in WORDS)


def test_a_broken_row_is_not_quoted(secret_run: Path) -> None:
    with secret_run.open("a", encoding="utf-8") as file:
        file.write(f'p,A,0,"{SECRET}\n')
    ran = evidentia("evaluate", secret_run)
    refused(ran, "run.csv")
    assert not any(word in ran.err for word in WORDS)


def test_a_file_without_a_header_does_not_show_its_first_row(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text(f"p1,A,{SECRET}\np2,A,{SECRET}\n")
    ran = evidentia("evaluate", tmp_path / "run.csv")
    refused(ran, "post_id")
    assert not any(word in ran.err for word in WORDS)


def test_a_broken_json_line_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(f'{{"post_id": "p1", "criterion_id": "A", "post_text": "{SECRET}}}\n')
    ran = evidentia("evaluate", tmp_path / "run.jsonl")
    refused(ran, "run.jsonl")
    assert not any(word in ran.err for word in WORDS)
