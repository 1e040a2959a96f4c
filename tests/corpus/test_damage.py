"""A good corpus, damaged anywhere in any way: it is read, or refused with its problems, and nothing else happens."""

from __future__ import annotations

import copy
import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.corpora import CRITERIA, DOCUMENTS, HEADER, LABELS, Make, maker, the_problem
from evidentia.corpus import read_corpus, validate_corpus
from sampling import examples

SECRET = "grey herons at night"
TEXT_POST = {"post_id": "p3", "text": f"{SECRET}\nand by day"}
ROWS = (HEADER, *LABELS, "p3,SLEEP,p3_0", "p3,MOOD,")
DROP = object()

Corpus = dict[str, list[Any]]  # documents and criteria as objects, labels as lists of cells
Place = tuple[Any, Any]  # what holds it, and under which key


def good() -> Corpus:
    return copy.deepcopy(
        {
            "documents": [*DOCUMENTS, TEXT_POST],
            "criteria": [*CRITERIA],
            "labels": [row.split(",") for row in ROWS],
        }
    )


def places(value: Any) -> list[Place]:
    """Everything inside a list or an object that can be replaced."""
    if not isinstance(value, list | dict):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def write(make: Make, corpus: Corpus) -> Path:
    rows = io.StringIO(newline="")
    csv.writer(rows, lineterminator="\n").writerows(map(cells, corpus["labels"]))
    documents, criteria = (list(map(json.dumps, corpus[name])) for name in ("documents", "criteria"))
    return make(documents, criteria, rows.getvalue().encode(errors="replace"))


def cells(row: Any) -> list[str]:
    return [str(cell) for cell in row] if isinstance(row, list) else [str(row)]


VALUES = st.sampled_from(
    [
        *(DROP, None, "", " ", " p1", "p1 ", "p\n1", "p1\r", "x" * 201, "x" * 5_000, "a|b", "|", "'=a", '"', "p\ud800"),
        *(0, 2, -1, 1.5, 10**30, True, [], {}, [None], {"post_id": "p1"}, ["a"], "p1", "p2", "SLEEP", "a", "b", SECRET),
        *("one two three four five six", "<line 1>", "\ufeffp1", "p\u2028", "\0"),
    ]
)


@st.composite
def damaged(draw: st.DrawFn) -> Corpus:
    """The corpus with one to three places dropped, replaced, or made to repeat another one."""
    corpus = good()
    for _ in range(draw(st.integers(1, 3))):
        everywhere = [place for content in corpus.values() for place in places(content)]
        owner, key = _one_of(draw, everywhere)
        how = draw(st.sampled_from(["replace", "repeat", "add"]))
        value = draw(VALUES)
        if how != "replace":
            other, there = _one_of(draw, everywhere)
            value = other[there]
        if value is DROP:
            del owner[key]
        elif how == "add" and isinstance(owner, list):
            owner.append(copy.deepcopy(value))
        else:
            owner[key] = copy.deepcopy(value)
    return corpus


def _one_of(draw: st.DrawFn, everywhere: list[Place]) -> Place:
    return everywhere[draw(st.integers(0, len(everywhere) - 1))]


@examples(500)
@given(damaged())
def test_a_damaged_corpus_is_read_or_refused(corpus: Corpus) -> None:
    with TemporaryDirectory() as folder:
        made = write(maker(Path(folder) / "corpus"), corpus)
        problems = validate_corpus(made, splitter="lines")  # catches an InputError, and nothing else
        assert not any("herons" in problem.message for problem in problems)
        if not problems:
            posts = read_corpus(made, splitter="lines").posts
            assert posts.gold is not None
            assert posts.offsets[-1] == len(posts.texts) == len(posts.sent_uids) == len(posts.gold)


def test_the_corpus_is_good_before(make: Make) -> None:
    assert validate_corpus(write(make, good()), splitter="lines") == ()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *((DROP, "MISSING_ID"), (None, "MISSING_ID"), ("", "MISSING_ID"), (" p1", "PADDED_ID"), ("p1 ", "PADDED_ID")),
        *(("p\n1", "TEXT_AS_LABEL"), ("x" * 201, "TEXT_AS_LABEL"), (1.5, "WRONG_TYPE"), ([], "WRONG_TYPE")),
    ],
)
@pytest.mark.parametrize("line", [0, 1, 2])
def test_an_id_that_is_none_is_the_only_problem(line: int, value: object, code: str, make: Make) -> None:
    """Labels of the post, and of its sentences, are not called unknown besides."""
    corpus = good()
    if value is DROP:
        del corpus["documents"][line]["post_id"]
    else:
        corpus["documents"][line]["post_id"] = value
    assert f"line {line + 1}" in the_problem(write(make, corpus), code, splitter="lines")


@pytest.mark.parametrize(("value", "code"), [(None, "MISSING_ID"), (" MOOD", "PADDED_ID"), ("x" * 81, "TEXT_AS_LABEL")])
def test_a_criterion_without_an_id_is_the_only_problem(value: object, code: str, make: Make) -> None:
    corpus = good()
    corpus["criteria"][1]["criterion_id"] = value
    assert "line 2" in the_problem(write(make, corpus), code, splitter="lines")


@pytest.mark.parametrize(("value", "code"), [(None, "MISSING_ID"), ("a ", "PADDED_ID"), ("x" * 241, "TEXT_AS_LABEL")])
def test_a_sentence_without_an_id_is_the_only_problem(value: object, code: str, make: Make) -> None:
    corpus = good()
    corpus["documents"][0]["sentences"][0]["sent_uid"] = value
    assert "line 1, post 'p1', sentence 1" in the_problem(write(make, corpus), code, splitter="lines")


def test_sentences_of_a_post_without_an_id_are_checked_too(make: Make) -> None:
    corpus = good()
    corpus["documents"][0]["post_id"] = None
    corpus["documents"][1]["sentences"].append({"sent_uid": "a", "text": SECRET})
    found = [problem.code for problem in validate_corpus(write(make, corpus), splitter="lines")]
    assert found == ["MISSING_ID", "UID_IN_TWO_POSTS"]
