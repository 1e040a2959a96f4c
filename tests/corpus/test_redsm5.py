"""The ReDSM5 importer, on files of our own making in the layout of its authors; every sentence here is invented."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.corpora import says
from cli.command import contents
from evidentia.corpus import read_corpus
from evidentia.corpus.redsm5 import ANNOTATIONS, POSTS, SYMPTOMS, import_redsm5, read_redsm5
from evidentia.errors import InputError, OutputError

POST_COLUMNS = ("post_id", "text")
COLUMNS = ("post_id", "sentence_id", "sentence_text", "DSM5_symptom", "status", "explanation")
BALCONY = "My tomatoes died on the balcony. I slept two hours. Then I watered the rest. I slept two hours."
KITCHEN = "The kitchen is painted blue.\n\nSoup again, and it tasted of nothing!"
TWO = [("s_1", BALCONY), ("s_2", KITCHEN)]
ROWS = [
    ("s_1", "s_1_1", "I slept two hours.", "SLEEP_ISSUES", "1", "why"),
    ("s_1", "s_1_3", "I slept two hours.", "SLEEP_ISSUES", "1", "why"),
    ("s_1", "s_1_3", "I slept two hours.", "FATIGUE", "0", "why"),
    ("s_2", "s_2_1", "Soup again, and it tasted of nothing!", "ANHEDONIA", "1", "why"),
]

Files = Callable[..., Path]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([columns, *rows])
    return out.getvalue()


def written(folder: Path, posts: Sequence[Sequence[str]] = TWO, rows: Sequence[Sequence[str]] = ROWS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / POSTS).write_text(table(POST_COLUMNS, posts), encoding="utf-8")
    (folder / ANNOTATIONS).write_text(table(COLUMNS, rows), encoding="utf-8")
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return lambda posts=TWO, rows=ROWS: written(tmp_path / "redsm5", posts, rows)


def gold_of(folder: Path) -> dict[tuple[str, str], list[str]]:
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        cells = {(row["post_id"], row["criterion_id"]): row["gold_sent_uids"] for row in csv.DictReader(file)}
    return {key: cell.split("|") for key, cell in cells.items() if cell}


def the_problems(folder: Path) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        read_redsm5(folder, splitter="pysbd")
    return {problem.code: problem.message for problem in caught.value.problems}


def test_sentences_keep_the_ids_of_the_authors_and_gold_names_them(files: Files, tmp_path: Path) -> None:
    import_redsm5(files(), tmp_path / "out")
    posts = read_corpus(tmp_path / "out").posts
    assert dict(zip(posts.sent_uids, posts.texts, strict=True)) == {
        "s_1_0": "My tomatoes died on the balcony.",
        "s_1_1": "I slept two hours.",
        "s_1_2": "Then I watered the rest.",
        "s_1_3": "I slept two hours.",
        "s_2_0": "The kitchen is painted blue.",
        "s_2_1": "Soup again, and it tasted of nothing!",
    }
    assert gold_of(tmp_path / "out") == {("s_1", "A.4"): ["s_1_1", "s_1_3"], ("s_2", "A.2"): ["s_2_1"]}


def test_all_ten_criteria_are_asked_of_every_post(files: Files, tmp_path: Path) -> None:
    import_redsm5(files(), tmp_path / "out")
    posts = read_corpus(tmp_path / "out").posts
    assert posts.criterion_ids == tuple(f"A.{number}" for number in range(1, 11))
    assert posts.has_evidence().shape == (2, 10)
    ids = {symptom: criterion.criterion_id for symptom, criterion in SYMPTOMS.items()}
    assert (ids["DEPRESSED_MOOD"], ids["SLEEP_ISSUES"], ids["SPECIAL_CASE"]) == ("A.1", "A.4", "A.10")


def test_a_repeated_sentence_is_found_at_its_number(files: Files) -> None:
    posts = read_redsm5(files(rows=[ROWS[1]])).posts
    assert posts.gold is not None
    assert [posts.sent_uids[row] for row in np.flatnonzero(posts.gold.any(1))] == ["s_1_3"]
    assert posts.sent_uids[:4] == ("s_1_0", "s_1_1", "s_1_2", "s_1_3")


def test_a_short_sentence_is_not_found_inside_a_word(files: Files) -> None:
    posts = [("s_1", "Nothing works. Nobody calls. No. Notes everywhere.")]
    read = read_redsm5(files(posts, [("s_1", "s_1_2", "No", "DEPRESSED_MOOD", "1", "")])).posts
    assert read.texts == ("Nothing works.", "Nobody calls.", "No.", "Notes everywhere.")
    assert read.gold is not None
    assert read.gold[:, 0].tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("quoted", "exact"),
    [
        ("Soup  again, and it\ttasted of nothing! ", True),
        ("Soup again, and it tasted of nothing", True),
        ("soup again and it tasted of nothing.", False),
        ("Soup again, and it tastes of nothing!", False),
    ],
)
def test_a_quote_may_differ_a_little_from_the_text(files: Files, quoted: str, exact: bool) -> None:
    corpus = read_redsm5(files(rows=[("s_2", "s_2_1", quoted, "ANHEDONIA", "1", "")]))
    assert corpus.posts.texts[-1] == "Soup again, and it tasted of nothing!"
    assert corpus.posts.sent_uids[-1] == "s_2_1"
    assert any("found by their words only" in note for note in corpus.notes) is not exact


def test_a_sentence_that_the_splitter_cuts_otherwise_stays_whole(files: Files) -> None:
    posts = [("p", "I woke up. It was 3 a.m.! Again. The cat was asleep.")]
    rows = [("p", "p_1", "It was 3 a.m.! Again.", "SLEEP_ISSUES", "1", "")]
    read = read_redsm5(files(posts, rows)).posts
    assert dict(zip(read.sent_uids, read.texts, strict=True)) == {
        "p_0": "I woke up.",
        "p_1": "It was 3 a.m.! Again.",
        "p_2": "The cat was asleep.",
    }


def test_the_number_of_an_annotated_sentence_is_never_given_to_another(files: Files) -> None:
    posts = [("p", "It rained. It poured. I stayed in bed. The bus was late. So was I.")]
    rows = [("p", "p_1", "I stayed in bed.", "FATIGUE", "1", ""), ("p", "p_2", "So was I.", "FATIGUE", "0", "")]
    corpus = read_redsm5(files(posts, rows))
    assert corpus.posts.sent_uids == ("p_0", "p_0+1", "p_1", "p_1+1", "p_2")
    assert "2 sentences between two numbers of the authors have a uid with a +." in corpus.notes


def test_a_post_without_annotations_has_no_evidence(files: Files) -> None:
    posts = read_redsm5(files(rows=ROWS[:1])).posts
    assert posts.has_evidence()[1].sum() == 0


def test_the_same_files_give_the_same_bytes(files: Files, tmp_path: Path) -> None:
    for name in ("one", "two"):
        import_redsm5(files(), tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_explanations_do_not_reach_the_corpus(files: Files, tmp_path: Path) -> None:
    import_redsm5(files(rows=[(*ROWS[0][:5], "a remark of an expert")]), tmp_path / "out")
    assert not any(b"remark" in content for content in contents(tmp_path / "out").values())


@pytest.mark.parametrize(
    ("row", "code", "parts"),
    [
        (
            ("s_1", "s_1_1", "I never wrote any of this.", "FATIGUE", "1", ""),
            "UNALIGNED_SENTENCE",
            ["'s_1_1'", "1 annot"],
        ),
        (("s_9", "s_9_0", "I slept two hours.", "FATIGUE", "1", ""), "UNKNOWN_POST", ["line 2", "'s_9'"]),
        (("s_1", "s_2_1", "I slept two hours.", "FATIGUE", "1", ""), "SENTENCE_ID", ["line 2", "'s_1'"]),
        (("s_1", "s_1_x", "I slept two hours.", "FATIGUE", "1", ""), "SENTENCE_ID", ["line 2"]),
        (("s_1", "s_1_1", " ", "FATIGUE", "1", ""), "EMPTY_TEXT", ["line 2"]),
        (("s_1", "s_1_1", "I slept two hours.", "JOY", "1", ""), "UNKNOWN_SYMPTOM", ["'JOY'", "DEPRESSED_MOOD"]),
        (("s_1", "s_1_1", "I slept two hours.", "FATIGUE", "2", ""), "WRONG_TYPE", ["neither 0 nor 1"]),
    ],
)
def test_annotations_that_are_wrong(files: Files, row: tuple[str, ...], code: str, parts: list[str]) -> None:
    found = the_problems(files(rows=[row]))
    assert list(found) == [code]
    says(found[code], "redsm5_annotations.csv: 1 ", *parts)
    assert "slept" not in found[code]
    assert "wrote" not in found[code]


def test_rows_that_contradict_each_other(files: Files) -> None:
    other = [("s_1", "s_1_1", "Then I watered the rest.", "FATIGUE", "1", ""), (*ROWS[0][:4], "0", "")]
    found = the_problems(files(rows=[*ROWS, *other]))
    assert set(found) == {"TWO_TEXTS", "TWO_STATUSES"}
    says(found["TWO_STATUSES"], "1 row", "line 7", "'s_1_1'")


def test_posts_that_are_wrong(files: Files) -> None:
    found = the_problems(files(posts=[*TWO, ("s_1", "again"), ("s_3", " ")]))
    assert set(found) == {"DUPLICATE_POST", "EMPTY_POST"}
    says(found["EMPTY_POST"], "line 7", "'s_3'")


def test_missing_files_and_columns(tmp_path: Path) -> None:
    (tmp_path / "redsm5").mkdir()
    with pytest.raises(InputError, match=r"redsm5_posts\.csv: no such file.*\n.*redsm5_annotations\.csv: no such file"):
        read_redsm5(tmp_path / "redsm5")
    folder = written(tmp_path / "redsm5")
    (folder / POSTS).write_text("post_id,body\ns_1,x\n")
    assert "no column text" in the_problems(folder)["MISSING_COLUMN"]


def test_nothing_is_written_over_or_after_a_problem(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError):
        import_redsm5(files(rows=[("s_9", "s_9_0", "x", "FATIGUE", "1", "")]), out)
    assert not out.exists()
    import_redsm5(files(), out)
    with pytest.raises(OutputError, match="--force"):
        import_redsm5(files(), out)
    import_redsm5(files(), out, force=True)


POOL = (
    *("I could not get up.", "Nothing tastes of anything.", "No.", "My head is full of fog!", "Why me?"),
    *("The train was late again.", "I counted the tiles.", "Nobody knew, and nobody asked.", "She said: leave."),
)


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(POOL), st.booleans()), min_size=1, max_size=12), min_size=1, max_size=3
    ),
    st.sampled_from([" ", "  ", "\n", "\n\n"]),
    st.sampled_from(["sentencex", "lines"]),
)
@settings(deadline=None, max_examples=80)
def test_every_annotated_sentence_is_gold_under_its_own_id(posts, between, splitter) -> None:
    texts = [(f"p_{p}", between.join(text for text, _ in post)) for p, post in enumerate(posts)]
    rows = [
        (f"p_{p}", f"p_{p}_{s}", text, "FATIGUE", "1", "")
        for p, post in enumerate(posts)
        for s, (text, marked) in enumerate(post)
        if marked
    ]
    if not rows:
        return
    with TemporaryDirectory() as home:
        read = read_redsm5(written(Path(home) / "in", texts, rows), splitter=splitter).posts
    text_of = dict(zip(read.sent_uids, read.texts, strict=True))
    assert {row[1]: row[2] for row in rows} == {row[1]: text_of[row[1]] for row in rows}
    assert read.gold is not None
    assert {read.sent_uids[row] for row in np.flatnonzero(read.gold.any(1))} == {row[1] for row in rows}
    for (_, text), start, stop in zip(texts, read.offsets[:-1], read.offsets[1:], strict=True):
        assert "".join("".join(read.texts[start:stop]).split()) == "".join(text.split())
