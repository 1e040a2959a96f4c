"""Writing a corpus: what is read is what was written, the same bytes each time, all files or none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.corpora import Make
from cli.command import contents
from evidentia.corpus import Criterion, Posts, read_corpus, write_corpus
from evidentia.errors import InputError, OutputError

ids = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="|"), min_size=1, max_size=12
)
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30).filter(lambda text: text.strip())


@st.composite
def corpora(draw: st.DrawFn) -> Posts:
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    many = sum(lengths)
    n_criteria = draw(st.integers(1, 3))
    unique = lambda size: tuple(draw(st.lists(ids, min_size=size, max_size=size, unique=True)))  # noqa: E731
    criteria = tuple(
        Criterion(name, draw(texts), tuple(draw(st.lists(texts, max_size=2)))) for name in unique(n_criteria)
    )
    flags = draw(st.lists(st.booleans(), min_size=many * n_criteria, max_size=many * n_criteria))
    gold = np.asarray(flags, np.bool_).reshape(many, n_criteria)
    return Posts(
        post_ids=unique(len(lengths)),
        sent_uids=unique(many),
        texts=tuple(draw(texts) for _ in range(many)),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        criteria=criteria,
        gold=draw(st.sampled_from([gold, None])),
    )


@given(corpora())
@settings(deadline=None, max_examples=150)
def test_what_is_read_is_what_was_written(posts: Posts) -> None:
    with TemporaryDirectory() as home:
        write_corpus(posts, Path(home) / "corpus")
        again = read_corpus(Path(home) / "corpus", labels=posts.gold is not None)
    same = again.posts
    assert (same.post_ids, same.sent_uids, same.texts) == (posts.post_ids, posts.sent_uids, posts.texts)
    assert same.criteria == posts.criteria
    assert same.offsets.tolist() == posts.offsets.tolist()
    assert (same.gold is None) == (posts.gold is None)
    assert same.gold is None or np.array_equal(same.gold, posts.gold)
    assert again.notes == ()


def test_the_same_posts_give_the_same_bytes(make: Make, tmp_path: Path) -> None:
    posts = read_corpus(make()).posts
    write_corpus(posts, tmp_path / "one")
    write_corpus(read_corpus(tmp_path / "one").posts, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert sorted(contents(tmp_path / "one")) == ["criteria.jsonl", "documents.jsonl", "labels.csv"]


def test_without_gold_there_are_no_labels(make: Make, tmp_path: Path) -> None:
    write_corpus(read_corpus(make()).posts.unlabelled(), tmp_path / "out")
    assert sorted(contents(tmp_path / "out")) == ["criteria.jsonl", "documents.jsonl"]


def test_cells_that_a_spreadsheet_would_run_are_quoted(make: Make, tmp_path: Path) -> None:
    posts = replace(read_corpus(make()).posts, post_ids=("=p1", "p2"))
    write_corpus(posts, tmp_path / "out")
    assert (tmp_path / "out" / "labels.csv").read_text().splitlines()[1] == "'=p1,SLEEP,a"
    assert read_corpus(tmp_path / "out").posts.post_ids == ("=p1", "p2")


def test_an_existing_corpus_is_replaced_only_by_force(make: Make, tmp_path: Path) -> None:
    folder = make()
    posts = read_corpus(folder).posts
    before = contents(folder)
    with pytest.raises(OutputError, match="--force"):
        write_corpus(posts, folder)
    assert contents(folder) == before
    write_corpus(posts.unlabelled(), folder, force=True)
    assert sorted(contents(folder)) == ["criteria.jsonl", "documents.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus"]


@pytest.mark.parametrize(("name", "says"), [("thesis.docx", "no corpus has"), ("labels.csv", "it is no corpus")])
def test_force_does_not_replace_what_is_no_corpus(make: Make, tmp_path: Path, name: str, says: str) -> None:
    posts = read_corpus(make()).posts
    other = tmp_path / "other"
    other.mkdir()
    (other / name).write_text("mine")
    with pytest.raises(OutputError, match=says):
        write_corpus(posts, other, force=True)
    assert contents(other) == {name: b"mine"}


def test_a_file_is_no_folder(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="not a folder"):
        write_corpus(read_corpus(make()).posts, tmp_path / "file", force=True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sent_uids": ("a", "a", "c")}, "sent_uid the same post has before"),
        ({"sent_uids": ("a|b", "b", "c")}, "joins uids"),
        ({"texts": ("", "x", "y")}, "empty or blank"),
        ({"texts": ("\ud800", "x", "y")}, "not UTF-8"),
    ],
)
def test_posts_that_could_not_be_read_back_are_not_written(make: Make, tmp_path: Path, change, says) -> None:
    posts = replace(read_corpus(make()).posts, **change)
    with pytest.raises(InputError, match=says):
        write_corpus(posts, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus"]
