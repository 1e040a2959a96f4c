"""Posts that are cut into sentences in another way than those of training: the answers mean little, and predict says so."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.pipelines import small_config, small_corpus, small_pipeline
from evidentia.corpus import read_posts
from evidentia.pipeline.predict import load_trained
from evidentia.pipeline.store import write_sums

from .command import evidentia


def posts_in(home: Path) -> list[tuple[str, list[str]]]:
    lines = (home / "corpus" / "documents.jsonl").read_text().splitlines()
    return [(one["post_id"], [s["text"] for s in one["sentences"]]) for one in map(json.loads, lines)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`run` learnt from sentences that were given, `cut` from the same as lines of a text."""
    home = tmp_path_factory.mktemp("home")
    for name in ("corpus", "run"):
        shutil.copytree(small_pipeline(tmp_path_factory) / name, home / name)
    (home / "other").mkdir()
    small_corpus(home / "other" / "corpus")
    texts = [{"post_id": post, "text": "\n".join(said)} for post, said in posts_in(home)]
    (home / "other" / "corpus" / "documents.jsonl").write_text("".join(json.dumps(one) + "\n" for one in texts))
    config = small_config(home / "other")
    config.write_text(config.read_text().replace("[protocol]", 'splitter = "lines"\n[protocol]'))
    words = ("--resamples", "0", "--no-report", "--no-verify", "-q")
    ran = evidentia("run", config, "-o", home / "cut", *words)
    assert ran.code == 0, ran
    return home


def one_text(said: list[str]) -> dict[str, object]:
    return {"text": " ".join(said)}


def in_halves(said: list[str]) -> dict[str, object]:
    pieces = [half for one in said for half in (one[: len(one) // 2], one[len(one) // 2 :])]
    return {"sentences": [{"sent_uid": f"{len(said)}{one[:9]}{at}", "text": one} for at, one in enumerate(pieces)]}


def in_pairs(said: list[str]) -> dict[str, object]:
    pieces = [" ".join(said[at : at + 2]) for at in range(0, len(said), 2)]
    return {"sentences": [{"sent_uid": f"{said[0][:9]}{at}", "text": one} for at, one in enumerate(pieces)]}


def written(home: Path, path: Path, shape: Callable[[list[str]], dict[str, object]], skip: int = 0) -> Path:
    """The posts of training in another shape, the first ``skip`` of them as they were."""
    lines = []
    for at, (post, said) in enumerate(posts_in(home)):
        made = shape(said) if at >= skip else {"text": "\n".join(said)}
        for place, one in enumerate(made.get("sentences", [])):  # type: ignore[arg-type]
            one["sent_uid"] = f"{post}_{place}"
        lines.append(json.dumps({"post_id": post, **made}) + "\n")
    path.write_text("".join(lines))
    return path


WRONG = {
    "a paragraph as one line": (one_text, ("--splitter", "lines"), "60 of 60 posts", "much longer"),
    "two sentences as one": (in_pairs, (), "of 60 posts", "much longer"),
    "half sentences": (in_halves, (), "of 60 posts", "much shorter"),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("which", WRONG)
def test_posts_that_seem_to_be_cut_differently(which: str, home: Path, tmp_path: Path) -> None:
    shape, words, count, how = WRONG[which]
    posts = written(home, tmp_path / "posts.jsonl", shape)
    for quiet in ((), ("--quiet",)):
        ran = evidentia("predict", home / "run", posts, "-o", tmp_path / "a.csv", "--force", *words, *quiet)
        assert ran.code == 0
        assert count in ran.err
        assert f"seem to be cut differently: their sentences are {how}" in ran.err
        assert ran.err.startswith("warning: ")
    trained = load_trained(home / "run")
    read = read_posts(posts, criteria=trained.criteria, splitter="lines")
    with pytest.warns(UserWarning, match="cut differently"):
        trained.predict(read.posts)


def test_a_quarter_of_the_posts_is_enough(home: Path, tmp_path: Path) -> None:
    for skip, told in ((45, True), (55, False)):
        posts = written(home, tmp_path / "posts.jsonl", one_text, skip)
        ran = evidentia("predict", home / "run", posts, "-o", tmp_path / "a.csv", "--force", "--splitter", "lines")
        assert ("15 of 60 posts seem to be cut differently" in ran.err) is told, ran


def test_posts_cut_alike_are_not_warned_about(home: Path, tmp_path: Path) -> None:
    texts = written(home, tmp_path / "texts.jsonl", lambda said: {"text": "\n".join(said)})
    for model, posts, words in (
        ("run", home / "corpus", ()),
        ("run", texts, ("--splitter", "lines")),
        ("cut", home / "corpus", ()),
        ("cut", texts, ()),
        ("cut", texts, ("--splitter", "lines")),
    ):
        ran = evidentia("predict", home / model, posts, "-o", tmp_path / "a.csv", "--force", *words)
        assert (ran.code, ran.err) == (0, ""), ran
    trained = load_trained(home / "cut")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained.predict(read_posts(texts, criteria=trained.criteria, splitter="lines").posts, splitter="lines")


def test_the_splitter_of_training_is_the_default_and_another_is_named(home: Path, tmp_path: Path) -> None:
    texts = written(home, tmp_path / "texts.jsonl", lambda said: {"text": "\n".join(said)})
    ran = evidentia("predict", home / "cut", texts, "-o", tmp_path / "a.csv", "--splitter", "sentencex")
    assert "the posts are cut by sentencex" in ran.err
    assert "those of training were by lines" in ran.err


def said_of(home: Path, posts: Path, model: str = "run") -> str:
    ran = evidentia("predict", home / model, posts, "-o", posts.with_suffix(".csv"), "-q", "--force")
    assert ran.code == 0, ran
    return ran.err


def backwards(said: list[str]) -> dict[str, object]:
    """The same in a language that nobody speaks."""
    texts = [" ".join(f"{word[::-1]}q" for word in one.split()) for one in said]
    return {"sentences": [{"sent_uid": f"{said[0][:9]}{at}", "text": one} for at, one in enumerate(texts)]}


def first_alone(said: list[str]) -> dict[str, object]:
    return {"sentences": [{"sent_uid": f"{said[0][:9]}0", "text": said[0]}]}


def test_words_that_the_model_never_met_bring_a_warning(home: Path, tmp_path: Path) -> None:
    err = said_of(home, written(home, tmp_path / "a.jsonl", backwards))
    assert "60 of 60 posts consist mostly of words that the model has never met (median" in err
    assert "q " not in err  # no word of a post
    assert "never met" not in said_of(
        home, written(home, tmp_path / "b.jsonl", backwards, skip=49)
    )  # 11 of 60: under a fifth


def test_posts_of_one_sentence_bring_a_warning_where_those_of_training_had_more(home: Path, tmp_path: Path) -> None:
    err = said_of(home, written(home, tmp_path / "a.jsonl", first_alone))
    assert err == (
        "warning: 60 of 60 posts are one sentence each, of those of training 0 %. Their answers mean little: give whole posts.\n"
    )
    assert said_of(home, written(home, tmp_path / "b.jsonl", first_alone, skip=31)) == ""  # 29 of 60


def test_what_training_was_like_is_written_with_the_model(home: Path) -> None:
    document = json.loads((home / "run" / "models" / "final" / "pipeline.json").read_text())
    assert document["sentences"]["single"] == 0.0
    assert 0 < document["unknown_words"] < 1


def test_a_model_of_before_says_nothing_of_what_it_does_not_know(home: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(home / "run" / "models" / "final", tmp_path / "model"))
    document = json.loads((model / "pipeline.json").read_text())
    del document["sentences"]["single"], document["unknown_words"]
    (model / "pipeline.json").write_text(json.dumps(document))
    (model / "sums.json").unlink()
    write_sums(model)
    ran = evidentia("predict", model, written(home, tmp_path / "a.jsonl", first_alone), "-o", tmp_path / "a.csv", "-q")
    assert (ran.code, ran.err) == (0, "")
