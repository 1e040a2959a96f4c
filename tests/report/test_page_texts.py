"""Sentences in a page: only when a file is named, only of queries that went wrong, and never in a message."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

import evidentia
from evidentia.errors import InputError
from evidentia.report.page import Content, read_content, render, unpack
from evidentia.report.page.texts import read_texts
from evidentia.results import dumps

SECRET = "I have not slept since Tuesday"
ROWS = [
    ("a", "a_1", "a_0|a_1|a_2", "a_0", 0.9),  # a_1 is missed
    ("b", "b_1", "b_1|b_2", "b_1", 0.9),  # right
    ("c", "", "|".join(f"c_{n}" for n in range(15)), "c_0|c_12", 0.8),  # a false alert
]
TEXTS = {
    **{f"a_{n}": f"{SECRET} {n}" for n in range(3)},
    **{f"b_{n}": f"{SECRET} b{n}" for n in range(3)},
    **{f"c_{n}": f"c{n}" for n in range(15)},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns = ("post_id", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids", "prob")
    frame = pl.DataFrame(ROWS, columns, orient="row").with_columns(criterion_id=pl.lit("A.1"))
    made = tmp_path_factory.mktemp("texts") / "out"
    evidentia.evaluate(frame, resamples=0).save(made)
    return made


def of_post(content: Content, row: int) -> dict[str, str]:
    return dict(content.texts.get(content.queries["post_id"][row], {}))


# ---- in the page


def test_a_page_holds_no_text_unless_asked(folder: Path) -> None:
    page = render(read_content(folder))

    assert read_content(folder).texts == {}
    assert "holds sentences from posts" not in page.lower()
    assert SECRET not in page + dumps(unpack(page).to_dict())


def test_only_sentences_of_queries_that_went_wrong_are_in_the_page(folder: Path) -> None:
    """Of a ranking the first ten, and deeper ones only where they were selected or are gold."""
    content = read_content(folder, texts=TEXTS)

    assert of_post(content, 0) == {"0": f"{SECRET} 0", "1": f"{SECRET} 1", "2": f"{SECRET} 2"}
    assert of_post(content, 1) == {}
    assert of_post(content, 2) == {str(n): f"c{n}" for n in (*range(10), 12)}
    assert content.ids == "hashed"


def test_texts_go_by_the_ids_of_the_page_where_these_are_shown(folder: Path) -> None:
    content = read_content(folder, texts=TEXTS, show_ids=True)

    assert set(content.texts) == {"a", "c"}
    assert content.texts["a"]["a_1"] == f"{SECRET} 1"


def test_a_page_with_texts_says_so_and_escapes_them(folder: Path) -> None:
    content = read_content(folder, texts=TEXTS | {"a_1": "</script><script>alert(1)</script>"})
    page = render(content)

    assert "This page holds sentences from posts." in page
    assert 'id="badge-texts"' in page
    assert "<script>alert(1)" not in page
    assert unpack(page) == content
    assert render(unpack(page)) == page


def test_sentences_without_a_text_are_left_out(folder: Path) -> None:
    content = read_content(folder, texts={"a_1": "one", "elsewhere": "two"})

    assert of_post(content, 0) == {"1": "one"}
    assert "two" not in dumps(dict(content.texts))


def test_texts_of_another_corpus_are_refused_with_counts_and_without_text(folder: Path) -> None:
    with pytest.raises(InputError) as raised:
        read_content(folder, texts={"x_1": SECRET, "x_2": SECRET})

    assert "2 sent_uids with a text, and none of them is a sentence of this result (20 sentences)" in str(raised.value)
    assert SECRET not in str(raised.value)


# ---- the file


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    frame = pl.DataFrame(rows)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_table_of_sentences_is_read(kind: str, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"sent_uid": "s1", "text": 'a "b", c\nd', "score": 1},
        {"sent_uid": "s2", "text": "مرحبا 😴", "score": 2},
    ]
    assert read_texts(written(tmp_path / f"t.{kind}", rows)) == {"s1": 'a "b", c\nd', "s2": "مرحبا 😴"}


def test_a_corpus_of_documents_is_read(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"post_id": "p", "sentences": [{"sent_uid": "p_0", "text": "one"}, {"sent_uid": "p_1", "text": "two"}]},
        {"post_id": "q", "sentences": []},
    ]
    assert read_texts(written(tmp_path / "documents.jsonl", rows)) == {"p_0": "one", "p_1": "two"}


def test_a_shared_corpus_is_read() -> None:
    path = Path(__file__).resolve().parents[3] / "shared" / "data" / "hoc" / "documents.jsonl"
    if not path.is_file():
        pytest.skip("the shared data are not here")
    assert len(read_texts(path)) > 100


def test_gzip_numbers_and_empty_texts(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"sent_uid,text\n1,7\n2,\n'=3,x\n"))

    assert read_texts(tmp_path / "t.csv.gz") == {"1": "7", "=3": "x"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"uid": "s", "text": SECRET}], "there is no column sent_uid."),
        ([{"sent_uid": "s", "sentence": SECRET}], "there is no column text."),
        ([{"post_id": "p", "other": SECRET}], "there is no column sent_uid and text."),
        ([{"post_id": "p", "sentences": [SECRET]}], "sentences lack sent_uid and text."),
        ([{"post_id": "p", "sentences": [{"sent_uid": "s", "t": SECRET}]}], "sentences lack text."),
        ([{"sent_uid": "s1", "text": SECRET}] * 3, "2 sent_uids given again (first: line 2, 's1')."),
        (
            [{"sent_uid": SECRET, "text": "s1"}] * 2,
            "1 sent_uid given again (first: line 2, <30 characters, not shown>).",
        ),
        (
            [{"sent_uid": "s", "text": "x"}, {"sent_uid": "", "text": SECRET}],
            "1 sentence without a sent_uid (first: line 2).",
        ),
        ([{"sent_uid": "s", "text": [SECRET]}], "text does not hold plain values."),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_without_a_word_of_text(
    rows: list[dict[str, object]], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        read_texts(written(tmp_path / "t.jsonl", rows))

    assert f"t.jsonl: {said}" in str(raised.value)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content"), [("t.jsonl", f'{{"text": "{SECRET}"'), ("t.parquet", SECRET), ("t.doc", SECRET)]
)
def test_a_broken_file_is_refused_without_a_word_of_text(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)

    with pytest.raises(InputError) as raised:
        read_texts(tmp_path / name)
    assert SECRET not in str(raised.value)
