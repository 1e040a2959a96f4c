"""A corpus that is fine: what reading it gives."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from builders.corpora import CRITERIA, DOCUMENTS, LABELS, Make, maker
from evidentia.corpus import Criterion, read_corpus, read_criteria, read_posts, validate_corpus
from evidentia.errors import InputError
from growth import growth
from shared_data.data import folder as shared

SLEEP = Criterion("SLEEP", "Sleeps too little or too much.")


def test_posts_sentences_criteria_and_gold_in_the_order_of_the_files(make: Make) -> None:
    posts = read_corpus(make()).posts
    assert posts.post_ids == ("p1", "p2")
    assert posts.sent_uids == ("a", "b", "c")
    assert posts.texts == ("I sleep badly.", "It rains.", "All is well.")
    assert posts.offsets.tolist() == [0, 2, 3]
    assert posts.criteria == (SLEEP, Criterion("MOOD", "Feels low.", ("I am sad.", "Nothing cheers me up.")))
    assert posts.gold is not None
    assert posts.gold.tolist() == [[True, True], [False, True], [False, False]]


def test_the_order_of_label_rows_means_nothing(make: Make) -> None:
    one = read_corpus(make()).posts.gold
    other = read_corpus(make(labels=LABELS[::-1])).posts.gold
    assert np.array_equal(one, other)


def test_sources_name_files_rows_and_hashes(make: Make) -> None:
    folder = make()
    found = {source.role: source for source in read_corpus(folder).sources}
    assert {role: (source.name, source.rows) for role, source in found.items()} == {
        "documents": ("documents.jsonl", 2),
        "criteria": ("criteria.jsonl", 2),
        "labels": ("labels.csv", 4),
    }
    assert found["labels"].sha256 == hashlib.sha256((folder / "labels.csv").read_bytes()).hexdigest()


def test_gzipped_files_are_read(make: Make) -> None:
    folder = make()
    plain = read_corpus(folder).posts
    for name in ("documents.jsonl", "criteria.jsonl", "labels.csv"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    packed = read_corpus(folder).posts
    assert (packed.texts, packed.criteria) == (plain.texts, plain.criteria)
    assert np.array_equal(packed.gold, plain.gold)


def test_a_text_is_cut_and_its_sentences_are_numbered(make: Make) -> None:
    folder = make(
        documents=[{"post_id": "p1", "text": "I sleep badly.\n\nIt rains."}, DOCUMENTS[1]],
        labels=["p1,SLEEP,p1_0", "p1,MOOD,", "p2,SLEEP,", "p2,MOOD,"],
    )
    corpus = read_corpus(folder, splitter="lines")
    assert corpus.posts.sent_uids == ("p1_0", "p1_1", "c")
    assert corpus.posts.texts == ("I sleep badly.", "It rains.", "All is well.")
    assert corpus.splitter == "lines"
    assert corpus.notes == (
        "documents.jsonl: 1 post given as text, cut into sentences by lines; other versions may cut elsewhere.",
    )


def test_no_splitter_where_all_sentences_are_given(make: Make) -> None:
    corpus = read_corpus(make())
    assert (corpus.splitter, corpus.notes) == (None, ())


def test_without_labels_there_is_no_gold(make: Make) -> None:
    folder = make(labels=None)
    assert read_corpus(folder, labels=False).posts.gold is None
    assert [problem.code for problem in validate_corpus(folder)] == ["MISSING_FILE"]


def test_labels_that_are_not_asked_for_are_not_even_opened(make: Make) -> None:
    corpus = read_corpus(make(labels=b"\xff\xfe not a table"), labels=False)
    assert corpus.posts.gold is None
    assert [source.role for source in corpus.sources] == ["documents", "criteria"]


def test_posts_alone_are_read_from_a_file_or_a_folder(make: Make) -> None:
    folder = make(criteria=None, labels=None)
    for path in (folder, folder / "documents.jsonl", str(folder / "documents.jsonl")):
        posts = read_posts(path, criteria=[SLEEP]).posts
        assert (posts.post_ids, posts.criteria, posts.gold) == (("p1", "p2"), (SLEEP,), None)


def test_criteria_alone_are_read_from_a_file_or_a_folder(make: Make) -> None:
    folder = make(documents=None, labels=None)
    assert read_criteria(folder)[0] == read_criteria(folder / "criteria.jsonl")[0] == SLEEP
    (folder / "criteria.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match=r"criteria\.jsonl: 0 rows"):
        read_criteria(folder)


def test_whole_numbers_are_ids(make: Make) -> None:
    documents = [{"post_id": 7, "sentences": [{"sent_uid": 70, "text": "I sleep badly."}]}]
    posts = read_corpus(make(documents=documents, labels=["7,SLEEP,70", "7,MOOD,"])).posts
    assert (posts.post_ids, posts.sent_uids) == (("7",), ("70",))


def test_a_byte_order_mark_and_windows_line_ends_are_fine(make: Make) -> None:
    folder = make()
    for path in folder.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_corpus(folder).posts.sent_uids == ("a", "b", "c")


def test_line_separators_inside_a_text_do_not_end_a_line(make: Make) -> None:
    text = "one\u2028two\u0085three\x0bfour"
    raw = b'{"post_id": "p1", "sentences": [{"sent_uid": "a", "text": "one\xe2\x80\xa8two\xc2\x85three\\u000bfour"}]}\n'
    posts = read_corpus(make(documents=raw), labels=False).posts
    assert posts.texts == (text,)


def test_keys_that_nothing_reads_are_noted_by_name(make: Make) -> None:
    criteria = [{**CRITERIA[0], "prototype": ["x"]}, CRITERIA[1]]
    assert read_corpus(make(criteria=criteria)).notes == ("criteria.jsonl: keys that are not read: 'prototype'.",)


@pytest.mark.parametrize(
    ("name", "counts", "gold"),
    [("hoc", (1852, 10, 2466, 17464), 2.12), ("contractnli", (184, 17, 1802, 14848), 2.01)],
)
def test_real_corpora_have_the_counts_that_they_are_published_with(
    name: str, counts: tuple[int, ...], gold: float
) -> None:
    posts = read_corpus(shared(name)).posts
    evidence = posts.has_evidence()
    assert (*evidence.shape, evidence.sum(), len(posts.sent_uids)) == counts
    assert posts.gold is not None
    assert round(float(posts.gold.sum() / evidence.sum()), 2) == gold


def test_the_cost_of_reading_grows_with_the_posts(tmp_path: Path) -> None:
    def corpus_of(count: int) -> Path:
        posts = [
            {
                "post_id": f"p{p}",
                "sentences": [{"sent_uid": f"p{p}_{s}", "text": f"sentence {s} of {p}"} for s in range(20)],
            }
            for p in range(count)
        ]
        rows = [f"p{p},{c},{f'p{p}_3|p{p}_4' if p % 3 else ''}" for p in range(count) for c in ("SLEEP", "MOOD")]
        return maker(tmp_path / str(count))(documents=posts, labels=rows)

    assert growth(read_corpus, corpus_of(400), corpus_of(1600)) < 10  # 4; with the square 16
    assert len(read_corpus(tmp_path / "1600").posts.texts) == 32_000
