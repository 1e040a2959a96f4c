"""Everything that can be wrong with a corpus: all of it at once, with a code, a place and a count, and no text."""

from __future__ import annotations

import gzip
import json

import pytest

from builders.corpora import CRITERIA, DOCUMENTS, HEADER, LABELS, Make, says, the_problem
from evidentia.corpus import read_posts, validate_corpus
from evidentia.errors import InputError

SECRET = "I have not slept in days"
P2 = DOCUMENTS[1]
GOLD_FREE = ["p1,SLEEP,", "p1,MOOD,", "p2,SLEEP,", "p2,MOOD,"]


def post(**members: object) -> dict[str, object]:
    return {"post_id": "p1", **members}


def with_sentences(*sentences: object) -> dict[str, object]:
    return post(sentences=list(sentences))


def sentence(uid: object = "a", text: object = SECRET) -> dict[str, object]:
    return {"sent_uid": uid, "text": text}


@pytest.mark.parametrize(
    ("first", "code", "parts"),
    [
        ("{not json", "BROKEN_JSON", ["line 1, not JSON", "one object per line"]),
        ("[1, 2]", "BROKEN_JSON", ["line 1, not an object"]),
        ('{"post_id": NaN}', "BROKEN_JSON", ["line 1"]),
        ("[" * 100_000, "BROKEN_JSON", ["line 1, not JSON"]),
        ('{"post_id": "p1", "post_id": "p3", "text": "x"}', "DUPLICATE_KEY", ["line 1, 'post_id'"]),
        ({"text": SECRET}, "MISSING_ID", ["1 post without a post_id", "line 1"]),
        ({"post_id": "", "text": SECRET}, "MISSING_ID", ["line 1"]),
        ({"post_id": 1.5, "text": SECRET}, "WRONG_TYPE", ["post_id is not a text"]),
        ({"post_id": True, "text": SECRET}, "WRONG_TYPE", ["post_id is not a text"]),
        ({"post_id": " p1", "text": SECRET}, "PADDED_ID", ["white space", "line 1"]),
        ({"post_id": "x" * 201, "text": SECRET}, "TEXT_AS_LABEL", ["at most 200 characters"]),
        ({"post_id": "p\n1", "text": SECRET}, "TEXT_AS_LABEL", ["on one line"]),
        ({"post_id": "p\ud800", "text": SECRET}, "BROKEN_TEXT", ["half a character"]),
        (post(), "MISSING_KEY", ["neither sentences nor text", "line 1, post 'p1'"]),
        (post(text=None, sentences=None), "MISSING_KEY", ["neither sentences nor text"]),
        (post(text=SECRET, sentences=[sentence()]), "SENTENCES_AND_TEXT", ["Keep one"]),
        (post(text=7), "WRONG_TYPE", ["text is not a text"]),
        (post(text=" \n"), "EMPTY_POST", ["1 post without a sentence"]),
        (post(text="cut \ud83d"), "BROKEN_TEXT", ["half a character"]),
        (post(sentences=SECRET), "WRONG_TYPE", ["sentences is not a list"]),
        (post(sentences=[]), "EMPTY_POST", ["1 post without a sentence", "post 'p1'"]),
        (with_sentences(SECRET), "WRONG_TYPE", ["an object with sent_uid and text", "sentence 1"]),
        (with_sentences({"text": SECRET}), "MISSING_ID", ["1 sentence without a sent_uid"]),
        (with_sentences({"sent_uid": "a"}), "MISSING_KEY", ["1 sentence without text"]),
        (with_sentences(sentence("a|b")), "BAR_IN_UID", ["| joins uids", "sentence 1"]),
        (with_sentences(sentence("x" * 241)), "TEXT_AS_LABEL", ["at most 240 characters"]),
        (with_sentences(sentence(["a"])), "WRONG_TYPE", ["sent_uid is not a text"]),
        (with_sentences(sentence(text="")), "EMPTY_TEXT", ["empty or blank"]),
        (with_sentences(sentence(text=" \t\u00a0")), "EMPTY_TEXT", ["empty or blank"]),
        (with_sentences(sentence(text=12)), "WRONG_TYPE", ["text is not a text"]),
        (with_sentences(sentence(text="x\udc00")), "BROKEN_TEXT", ["half a character"]),
        (with_sentences(sentence("a"), sentence("a")), "DUPLICATE_UID", ["sentence 2, uid 'a'"]),
    ],
)
def test_a_post_that_is_wrong(make: Make, first: object, code: str, parts: list[str]) -> None:
    folder = make(documents=[first, P2])
    found = {problem.code: problem.message for problem in validate_corpus(folder, splitter="lines", labels=False)}
    assert list(found) == [code]
    says(found[code], "documents.jsonl: ", "1 ", "first: ", *parts)
    assert "slept" not in found[code]


def test_a_bar_in_a_post_id_would_be_in_the_uids_that_are_made_from_it(make: Make) -> None:
    folder = make(documents=[{"post_id": "p|1", "text": SECRET}])
    says(the_problem(folder, "BAR_IN_UID", splitter="lines", labels=False), "sentence 1")


def test_a_post_twice(make: Make) -> None:
    folder = make(documents=[*DOCUMENTS, {"post_id": "p1", "text": SECRET}], labels=GOLD_FREE)
    says(the_problem(folder, "DUPLICATE_POST"), "1 post ", "line 3, post 'p1'", "one line per post")


def test_a_uid_in_two_posts(make: Make) -> None:
    folder = make(documents=[DOCUMENTS[0], {"post_id": "p2", "sentences": [sentence("b")]}])
    says(the_problem(folder, "UID_IN_TWO_POSTS"), "1 sentence ", "line 2, post 'p2', sentence 1, uid 'b'")


@pytest.mark.parametrize(
    ("first", "code", "parts"),
    [
        ({"criterion_id": "SLEEP"}, "MISSING_KEY", ["without text", "criterion 'SLEEP'"]),
        ({"criterion_id": "SLEEP", "text": "  "}, "EMPTY_TEXT", ["empty or blank", "criterion 'SLEEP'"]),
        ({"criterion_id": "SLEEP", "text": 3}, "WRONG_TYPE", ["text is not a text"]),
        ({"criterion_id": "SLEEP", "text": "x", "prototypes": SECRET}, "WRONG_TYPE", ["a list of texts"]),
        ({"criterion_id": "SLEEP", "text": "x", "prototypes": [""]}, "EMPTY_TEXT", ["prototype is empty"]),
        ({"criterion_id": "SLEEP", "text": "x", "prototypes": [1]}, "WRONG_TYPE", ["prototype is not a text"]),
        (CRITERIA[1], "DUPLICATE_CRITERION", ["line 2, criterion 'MOOD'"]),
        ({"text": SECRET}, "MISSING_ID", ["without a criterion_id"]),
        ({"criterion_id": "one two three four five six", "text": "x"}, "TEXT_AS_LABEL", ["5 words and 80 characters"]),
    ],
)
def test_a_criterion_that_is_wrong(make: Make, first: object, code: str, parts: list[str]) -> None:
    message = the_problem(make(criteria=[first, CRITERIA[1]]), code, labels=False)
    says(message, "criteria.jsonl: 1 ", *parts)
    assert "slept" not in message


@pytest.mark.parametrize(
    ("rows", "code", "parts"),
    [
        ([*LABELS, "p9,SLEEP,"], "UNKNOWN_POST", ["1 row ", "line 6, post 'p9'"]),
        ([*LABELS, "p1,APPETITE,"], "UNKNOWN_CRITERION", ["line 6, criterion 'APPETITE'"]),
        ([*LABELS, "p1,SLEEP,a"], "DUPLICATE_QUERY", ["line 6, post 'p1', criterion 'SLEEP'"]),
        (LABELS[:2], "MISSING_PAIR", ["2 pairs", "post 'p2', criterion 'SLEEP'", "empty where there is no evidence"]),
        (["p1,SLEEP,nobody", *LABELS[1:]], "UNKNOWN_UID", ["1 gold uid", "line 2, post 'p1', uid 'nobody'"]),
        (["p1,SLEEP,c", *LABELS[1:]], "GOLD_IN_OTHER_POST", ["1 gold uid", "line 2, post 'p1', uid 'c'"]),
        (["p1,SLEEP,a|", *LABELS[1:]], "EMPTY_UID", ["line 2"]),
        (["p1,SLEEP,a|a", *LABELS[1:]], "DUPLICATE_UID", ["line 2", "once"]),
        ([*LABELS, ",SLEEP,"], "MISSING_ID", ["without a post_id", "line 6"]),
        ([*LABELS, "p1,,"], "MISSING_ID", ["without a criterion_id", "line 6"]),
        ([*LABELS, "p1,SLEEP"], "RAGGED_ROWS", ["line 6"]),
    ],
)
def test_labels_that_are_wrong(make: Make, rows: list[str], code: str, parts: list[str]) -> None:
    says(the_problem(make(labels=rows), code), "labels.csv: ", *parts)


def test_labels_without_a_column(make: Make) -> None:
    message = the_problem(make(labels=b"post_id,gold\np1,a\n"), "MISSING_COLUMN")
    says(message, "no column criterion_id, gold_sent_uids", "line 1")


@pytest.mark.parametrize("name", ["documents.jsonl", "criteria.jsonl", "labels.csv"])
def test_files_that_cannot_be_read(make: Make, name: str) -> None:
    path = make() / name
    whole = path.read_bytes()
    path.write_bytes(b"")
    says(the_problem(path.parent, "EMPTY_FILE"), name)
    path.write_bytes(whole + b"caf\xe9\n")
    says(the_problem(path.parent, "WRONG_ENCODING"), name, "0xe9")
    path.write_bytes(gzip.compress(whole)[:-9])
    says(the_problem(path.parent, "BROKEN_GZIP"), name)
    path.unlink()
    says(the_problem(path.parent, "MISSING_FILE"), name)
    path.write_bytes(whole)
    (path.parent / f"{name}.gz").write_bytes(gzip.compress(whole))
    says(the_problem(path.parent, "TWO_FILES"), name, "Keep the one")


def test_a_header_alone_is_an_empty_file(make: Make) -> None:
    the_problem(make(labels=HEADER.encode() + b"\n"), "EMPTY_FILE")


def test_a_folder_that_is_not_there_is_one_problem(make: Make) -> None:
    message = the_problem(make() / "nowhere", "MISSING_FOLDER")
    says(message, "nowhere: no such folder", "documents.jsonl")


def test_everything_is_found_in_one_pass_and_counted(make: Make) -> None:
    folder = make(
        documents=[*DOCUMENTS, with_sentences(sentence(text="")), {"post_id": "p3", "sentences": [sentence("d", "")]}],
        criteria=[*CRITERIA, {"criterion_id": "EMPTY", "text": ""}],
        labels=[*LABELS, "p9,SLEEP,", "p8,MOOD,", "p2,NONE,zz"],
    )
    found = {problem.code: problem.message for problem in validate_corpus(folder)}
    assert set(found) == {"DUPLICATE_POST", "EMPTY_TEXT", "UNKNOWN_POST", "UNKNOWN_CRITERION", "MISSING_PAIR"}
    says(found["UNKNOWN_POST"], "2 rows", "line 6, post 'p9'")
    says(found["MISSING_PAIR"], "5 pairs")  # p3 with three criteria, p1 and p2 with the third


def test_what_a_broken_line_hides_is_not_called_unknown(make: Make) -> None:
    the_problem(make(documents=["{broken", P2]), "BROKEN_JSON")
    the_problem(make(criteria=[CRITERIA[0], "{broken"]), "BROKEN_JSON")


def test_no_text_of_any_file_reaches_a_message(make: Make) -> None:
    folder = make(
        documents=[{"post_id": SECRET, "sentences": [sentence(SECRET), sentence(SECRET)]}, json.dumps(SECRET)],
        criteria=[{"criterion_id": SECRET, "text": ""}, {"criterion_id": "x", "text": SECRET, SECRET: 1}],
        labels=[f"{SECRET},{SECRET},{SECRET}|{SECRET}", f"p1,x,{SECRET}"],
    )
    messages = "\n".join(problem.message for problem in validate_corpus(folder))
    assert "characters, not shown" in messages
    assert "slept" not in messages


@pytest.mark.parametrize("how", ["nltk", SECRET])
def test_a_splitter_that_does_not_exist(make: Make, how: str) -> None:
    says(the_problem(make(), "UNKNOWN_SPLITTER", splitter=how), "pysbd, sentencex, lines")


def test_posts_alone_have_the_same_problems(make: Make) -> None:
    with pytest.raises(InputError, match="without a sentence"):
        read_posts(make(documents=[post(sentences=[])]), criteria=())
