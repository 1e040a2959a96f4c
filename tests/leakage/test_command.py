"""`evidentia leakage`: what it finds in a run, its texts and the names of its features; texts never reach the screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.command import evidentia, refused
from evidentia.errors import InputError
from evidentia.leakage import copies_between, forbidden_names

SENTENCE = "for three weeks now I wake at four and cannot fall asleep again until it is time to get up"
CONTRACT_NAMES = (
    "is_gold",
    "gold_rank",
    "mrr",
    "recall_at_10",
    "map_at_5",
    "ndcg_at_10",
    "n_gold",
    "n_gold_sents",
    "groundtruth",
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [f"p{i},A,{i % 2},{int(i < 2)}" for i in range(6)]
    path = tmp_path / "run.csv"
    path.write_text("\n".join(["post_id,criterion_id,fold,has_evidence", *rows]) + "\n")
    return path


def texts(folder: Path, by_post: dict[str, str]) -> Path:
    path = folder / "documents.jsonl"
    path.write_text("".join(json.dumps({"post_id": post, "text": text}) + "\n" for post, text in by_post.items()))
    return path


def different(count: int) -> dict[str, str]:
    return {f"p{i}": " ".join(f"word{i}x{j}" for j in range(20)) for i in range(count)}


def test_0_when_nothing_is_found(run: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("bm25\nlength\n")
    ran = evidentia("leakage", run, "--texts", texts(tmp_path, different(6)), "--features", names)
    assert (ran.code, ran.err) == (0, "")
    assert "DUP001 No near-identical texts in two folds: passed, 6 texts looked at" in ran.out
    assert "FEAT001 No feature is named after gold: passed, 2 feature names looked at" in ran.out


@pytest.mark.parametrize("folds", ["fold,", ""], ids=["a single fold", "no folds"])
def test_1_for_a_near_copy_across_tune_and_eval(folds: str, tmp_path: Path) -> None:
    cell = "0," if folds else ""
    rows = [f"p{i},A,{cell}{'TUNE' if i < 3 else 'EVAL'},{i % 2}" for i in range(6)]
    path = tmp_path / "run.csv"
    path.write_text("\n".join([f"post_id,criterion_id,{folds}split,has_evidence", *rows]) + "\n")
    assert evidentia("leakage", path, "--texts", texts(tmp_path, different(6))).code == 0
    ran = evidentia("leakage", path, "--texts", texts(tmp_path, different(6) | {"p0": SENTENCE, "p3": SENTENCE + "!"}))
    assert ran.code == 1
    assert "(first group: 'p3', 'p0')" in ran.out


def test_copies_within_tune_or_within_eval_are_fine() -> None:
    alike = dict.fromkeys("abcd", SENTENCE)
    assert copies_between(alike, {"a": "0", "b": "0"}).groups == ()
    assert copies_between(alike, {"a": "0"}, tuned={"b": ["1"], "c": ["1"]}).groups == ()
    assert copies_between(alike, {"a": "0"}, tuned={"a": ["0"]}).groups == ()


def test_1_for_a_near_copy_in_another_fold_and_the_text_stays_out_of_sight(run: Path, tmp_path: Path) -> None:
    copied = different(6) | {"p0": SENTENCE, "p3": SENTENCE.upper() + "!"}
    ran = evidentia("leakage", run, "--texts", texts(tmp_path, copied))
    assert ran.code == 1
    found = "2 have a near-identical one in another fold, or across TUNE and EVAL, in 1 group (first group: 'p0', 'p3')"
    assert found in ran.out
    assert "weeks" not in ran.out + ran.err


def test_a_copy_in_the_same_fold_is_no_leak(run: Path, tmp_path: Path) -> None:
    copied = different(6) | {"p0": SENTENCE, "p2": SENTENCE}
    assert evidentia("leakage", run, "--texts", texts(tmp_path, copied)).code == 0


def test_sentences_of_a_post_are_read_as_one_text(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "sentences.csv"
    half = len(SENTENCE.split()) // 2
    parts = [" ".join(SENTENCE.split()[:half]), " ".join(SENTENCE.split()[half:])]
    path.write_text("post_id,text\n" + f"p0,{parts[0]}\np0,{parts[1]}\np1,{SENTENCE}\n")
    ran = evidentia("leakage", run, "--texts", path)
    assert ran.code == 1
    assert "4 posts have no text" in ran.out


def test_without_texts_or_features_it_says_that_it_did_not_look(run: Path) -> None:
    ran = evidentia("leakage", run)
    assert ran.code == 0
    assert ran.out.count("skipped") == 2


def test_1_for_a_feature_that_is_named_after_gold(run: Path, tmp_path: Path) -> None:
    table = tmp_path / "features.csv"
    table.write_text("bm25,gold_rank\n1,2\n")
    ran = evidentia("leakage", run, "--features", table)
    assert ran.code == 1
    assert "speak of gold (gold_rank)" in ran.out


def test_2_for_texts_without_their_columns(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("id,body\n1,x\n")
    refused(evidentia("leakage", run, "--texts", path), "post_id is missing")


def test_2_for_a_similarity_that_the_search_cannot_keep(run: Path, tmp_path: Path) -> None:
    refused(evidentia("leakage", run, "--texts", texts(tmp_path, different(6)), "--similarity", "0.3"), "0.7")


@pytest.mark.parametrize("name", CONTRACT_NAMES)
def test_the_names_that_the_contract_forbids(name: str) -> None:
    assert forbidden_names([name, name.upper(), f"query_{name}"]) == (name, name.upper(), f"query_{name}")


def test_innocent_names_are_left_alone() -> None:
    assert forbidden_names(["bm25", "marigold", "mapping", "score", "labelled_by_model", "recall", "golden_hour"]) == ()


def test_similarity_is_the_exact_jaccard_of_shingles() -> None:
    words = list("abcdefghij")  # 8 shingles of 3 words; with the last word changed 7 of 9 are shared
    pair = {"x": " ".join(words), "y": " ".join([*words[:-1], "z"])}
    places = {"x": "0", "y": "1"}
    assert copies_between(pair, places, similarity=0.77).texts == 2
    assert copies_between(pair, places, similarity=0.78).texts == 0
    with pytest.raises(InputError):
        copies_between(pair, places, similarity=0.5)
