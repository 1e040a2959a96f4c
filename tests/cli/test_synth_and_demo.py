"""Synthetic runs from the command line: the same seed gives the same bytes, and the demo is the contract's dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evidentia.cli import demo
from evidentia.corpus import read_corpus
from evidentia.evaluation import command_of
from evidentia.results import loads
from evidentia.synth import synthetic_corpus
from evidentia.tables import read_items

from .command import contents, evidentia, refused

SMALL = ("--posts", "12", "--criteria", "3", "--positives", "7")


@pytest.mark.parametrize("more", [(), ("--splits",), ("--format", "parquet"), ("--trec",)])
def test_the_same_seed_gives_the_same_bytes(more: tuple[str, ...], tmp_path: Path) -> None:
    for folder in ("a", "b"):
        assert evidentia("synth", *SMALL, *more, "--seed", "5", "-o", tmp_path / folder).code == 0
    assert evidentia("synth", *SMALL, *more, "--seed", "6", "-o", tmp_path / "c").code == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")


def test_a_large_parquet_run_comes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidentia.synth.parts.MOST_IN_ONE_FILE", 11)
    words = ("synth", *SMALL, "--workers", 1, "-o", tmp_path / "big")
    refused(evidentia(*words, "--format", "parquet", "--trec"), "without TREC files", "--trec")
    ran = evidentia(*words, "--format", "parquet")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{tmp_path / 'big' / 'per_query'}\n{tmp_path / 'big' / 'candidates'}\n"
    assert set(contents(tmp_path / "big")) == {"per_query/part-00000.parquet", "candidates/part-00000.parquet"}
    refused(evidentia(*words, "--format", "parquet"), "big already holds candidates, per_query", "--force")


def test_the_paths_that_were_written_are_printed_one_a_line(tmp_path: Path) -> None:
    ran = evidentia("synth", *SMALL, "--trec", "-o", tmp_path / "x")
    assert (ran.code, ran.err) == (0, "")
    assert {Path(line) for line in ran.out.splitlines()} == set((tmp_path / "x").iterdir())


def test_a_phq8_run_is_one_file_and_the_same_for_the_same_seed(tmp_path: Path) -> None:
    words = ("synth", "--kind", "phq8", "--participants", "12", "--failures", "3", "--abstention", "0.25")
    for folder, seed in (("a", 5), ("b", 5), ("c", 6)):
        ran = evidentia(*words, "--seed", seed, "-o", tmp_path / folder)
        assert (ran.code, ran.out, ran.err) == (0, f"{tmp_path / folder / 'phq8.json'}\n", "")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")
    items = read_items(tmp_path / "a" / "phq8.json", mode="zero_shot")
    assert (len(items.cluster_ids), len(items.failed)) == (9, 3)
    assert items.predicted.mean() == 0.75


def test_a_phq8_run_is_not_written_over_another_without_force(tmp_path: Path) -> None:
    words = ("synth", "--kind", "phq8", "--participants", "3", "-o", tmp_path)
    assert evidentia(*words).code == 0
    before = contents(tmp_path)
    refused(evidentia(*words, "--seed", "8"), "phq8.json", "--force")
    assert contents(tmp_path) == before
    assert evidentia(*words, "--seed", "8", "--force").code == 0
    assert contents(tmp_path) != before


def test_a_corpus_reads_back_and_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    words = ("synth", "--kind", "corpus", "--posts", "12", "--positives", "7", "--mean-sentences", "6")
    for folder, seed in (("a", 5), ("b", 5), ("c", 6)):
        ran = evidentia(*words, "--seed", seed, "-o", tmp_path / folder)
        assert (ran.code, ran.err) == (0, "")
        assert {Path(line) for line in ran.out.splitlines()} == set((tmp_path / folder).iterdir())
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")
    made, read = synthetic_corpus(posts=12, positives=7, mean_sentences=6, seed=5), read_corpus(tmp_path / "a").posts
    assert (read.texts, read.sent_uids, read.criteria) == (made.texts, made.sent_uids, made.criteria)
    assert np.array_equal(read.gold, made.gold)


def test_a_corpus_is_not_written_over_another_without_force(tmp_path: Path) -> None:
    words = ("synth", "--kind", "corpus", "--posts", "3", "-o", tmp_path / "out")
    assert evidentia(*words).code == 0
    before = contents(tmp_path)
    refused(evidentia(*words, "--seed", "8"), "out exists", "--force")
    assert contents(tmp_path) == before
    assert evidentia(*words, "--seed", "8", "--force").code == 0
    assert contents(tmp_path) != before


def test_the_help_says_that_everything_is_invented() -> None:
    shown = " ".join(evidentia("synth", "--help").out.split())
    assert "Everything is invented" in shown
    assert "no post of a real person is in it" in shown


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--kind", "phq8", "--posts", "3"), ("--posts does not apply to --kind phq8",)),
        (("--kind", "phq8", "--mean-candidates", "20"), ("--mean-candidates does not apply",)),
        (("--kind", "phq8", "--trec"), ("--trec does not apply",)),
        (("--failures", "2"), ("--failures does not apply to --kind evidence",)),
        (("--kind", "phq9"), ("no kind 'phq9'", "evidence, corpus, phq8")),
        (("--kind", "corpus", "--criteria", "3"), ("--criteria does not apply to --kind corpus",)),
        (("--kind", "phq8", "--mean-sentences", "9"), ("--mean-sentences does not apply to --kind phq8",)),
        (("--mean-sentences", "9"), ("--mean-sentences does not apply to --kind evidence",)),
        (("--kind", "corpus", "--workers", "2"), ("--workers does not apply to --kind corpus",)),
        (("--kind", "corpus", "--posts", "2", "--positives", "21"), ("positives is 21", "at most 20")),
        (("--kind", "corpus", "--mean-sentences", "1"), ("mean_sentences is 1", "from 3")),
        (("--kind", "phq8", "--participants", "3", "--failures", "3"), ("failures is 3", "at most 2")),
        (("--kind", "phq8", "--abstention", "1.5", "--seed", "-1"), ("abstention is 1.5", "seed is -1")),
    ],
)
def test_2_for_options_that_do_not_go_together(words: tuple[str, ...], parts: tuple[str, ...], tmp_path: Path) -> None:
    refused(evidentia("synth", *words, "-o", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_what_was_asked_for_is_what_is_evaluated(tmp_path: Path) -> None:
    assert evidentia("synth", *SMALL, "--folds", "4", "--trec", "-o", tmp_path).code == 0
    summary = loads(evidentia("evaluate", tmp_path / "per_query.csv", "--json").out)
    shape = {key: summary["dataset"][key] for key in ("posts", "criteria", "queries", "positives", "folds")}
    assert shape == {"posts": 12, "criteria": 3, "queries": 36, "positives": 7, "folds": 4}
    trec = ("--qrels", tmp_path / "qrels.txt", "--run", tmp_path / "run.txt", "--json")
    ranked = loads(evidentia("evaluate", *trec).out)["measures"]
    assert ranked["Positives"]["value"] == 7
    for name in ("nDCG@10", "MAP@5", "MRR"):
        assert ranked[name]["value"] == pytest.approx(summary["measures"][name]["value"], abs=1e-12)


@pytest.mark.slow
def test_the_demo_goes_from_invented_texts_to_a_verified_result(tmp_path: Path) -> None:
    ran = evidentia("demo", "-o", tmp_path / "out", "--posts", 40, "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert "400 queries from 40 posts, 37 with evidence; profile contract\n" in ran.out
    assert "verified by a second implementation: " in ran.out
    assert "everything matches" in ran.out
    assert command_of(tmp_path / "out" / "result") == "evidentia demo -o OUT"
    there = {path.name for path in (tmp_path / "out").iterdir()}
    tables = {"per_query.parquet", "candidates.parquet", "tune.parquet", "thresholds.json", "tuned.json"}
    assert there == tables | {"models", "result", "manifest.json"}
    summary = loads((tmp_path / "out" / "result" / "summary.json").read_text())
    assert summary["not_computed"] == []
    assert not [check for check in summary["checks"] if check["status"] == "failed"]


def test_the_demo_of_full_size_keeps_the_promise_of_the_card() -> None:
    settings = demo._settings(1477, 7)
    assert settings["corpus"] == {"path": "synthetic", "card": "synthetic"}
    posts = synthetic_corpus()
    assert (len(posts), len(posts.criteria), int(posts.has_evidence().sum())) == (1477, 10, 1379)


def test_a_demo_is_not_written_over_another_result(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("post_id,criterion_id,has_evidence\np1,A,1\n")
    assert evidentia("evaluate", tmp_path / "run.csv", "-o", tmp_path / "out", "--quiet").code == 0
    before = contents(tmp_path)
    refused(evidentia("demo", "-o", tmp_path / "out"), "--force")
    assert contents(tmp_path) == before


def test_a_demo_is_not_written_over_another_demo_without_force(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text('{"schema": "evidentia.run/1"}')
    refused(
        evidentia("demo", "-o", tmp_path / "out"),
        "out exists. Choose another folder with -o, or replace it with --force.",
    )


def test_force_leaves_alone_what_is_no_demo(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("precious")
    refused(evidentia("demo", "-o", tmp_path / "out", "--force"), "not an earlier run")
    assert contents(tmp_path) == {"out/mine.txt": b"precious"}
