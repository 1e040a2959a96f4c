"""`evidentia monitor`: batches of posts in, a course with its page out; no word of a post in any file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.pipelines import small_pipeline
from evidentia.corpus import Posts
from evidentia.results import loads
from monitoring.planted import fresh, one_sentence
from results.schemas import faults

from .command import Ran, contents, evidentia, refused

MARKER = "herons"


def written(posts: Posts, path: Path) -> Path:
    pairs = zip(posts.post_ids, posts.offsets[:-1].tolist(), posts.offsets[1:].tolist(), strict=True)
    lines = [
        {
            "post_id": post,
            "sentences": [{"sent_uid": f"{post}_{at}", "text": posts.texts[at]} for at in range(start, stop)],
        }
        for post, start, stop in pairs
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained pipeline and batches: three as before, one that a broken splitter cut, and labels of all but that."""
    trained = small_pipeline(tmp_path_factory)
    home = tmp_path_factory.mktemp("monitor")
    (home / "run").symlink_to(trained / "run")
    rows = ["post_id,criterion_id,has_evidence"]
    for seed, name in enumerate(("first", "second", "third"), 21):
        posts = fresh(120 if seed == 21 else 60, seed)
        written(posts, home / f"{name}.jsonl")
        has = posts.has_evidence()
        rows += [
            f"{post},{criterion},{int(has[at, column])}"
            for at, post in enumerate(posts.post_ids)
            for column, criterion in enumerate(posts.criterion_ids)
        ]
    (home / "labels.csv").write_text("\n".join(rows) + "\n")
    broken = one_sentence(fresh(60, 4))
    changed = (f"{broken.texts[0]} {MARKER}", *broken.texts[1:])
    written(Posts(broken.post_ids, broken.sent_uids, changed, broken.offsets, broken.criteria), home / "broken.jsonl")
    return home


def monitor(home: Path, out: Path, *names: str, words: tuple[object, ...] = ()) -> Ran:
    return evidentia("monitor", home / "run", *(home / f"{name}.jsonl" for name in names), "-o", out, *words)


def course(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = loads((out / "monitor.json").read_bytes())
    assert faults("monitor", content) == []
    return content


def test_posts_as_before_raise_no_alarm(home: Path, tmp_path: Path) -> None:
    ran = monitor(home, tmp_path / "out", "first", "second", "third")
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out
        == "2 batches against 120 posts: 0 with an alarm; written to out\nResearch software, not a medical device.\n"
    )
    assert sorted(contents(tmp_path / "out")) == ["manifest.json", "monitor.json", "report.html", "signals.csv"]
    found = course(tmp_path / "out")
    assert found["reference"] == {"batches": ["first"], "posts": 120, "labelled": 0}
    assert found["settings"]["level_per_batch"] == 0.05 / 50
    assert [batch["name"] for batch in found["batches"]] == ["second", "third"]


def test_a_broken_splitter_is_an_alarm_with_exit_1(home: Path, tmp_path: Path) -> None:
    ran = monitor(home, tmp_path / "out", "first", "second", "broken")
    assert ran.code == 1
    assert re.search(r"^ALARM broken: Sentences \d\.\d+ -> 1\.0000, effect -0\.\d+, p \S+$", ran.out, re.MULTILINE)
    assert "warning: broken: 60 of 60 posts seem to be cut differently" in ran.err
    table = pl.read_csv(tmp_path / "out" / "signals.csv")
    assert set(table.filter(pl.col("alarm") == 1)["name"]) == {"broken"}
    assert {"Sentences", "WordsPerSentence"} <= set(table.filter(pl.col("alarm") == 1)["signal"])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "1 batch with an alarm" in page
    assert page.count("data:image/svg+xml") == 2
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_no_word_of_a_post_is_written_and_the_same_again_is_the_same(home: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        ran = monitor(home, tmp_path / name, "first", "broken", words=("--labels", home / "labels.csv"))
        assert ran.code == 1
        assert MARKER not in ran.out + ran.err
    found = contents(tmp_path / "one")
    assert not [name for name, content in found.items() if MARKER.encode() in content]
    again = contents(tmp_path / "two")
    for name in ("monitor.json", "report.html", "signals.csv"):
        assert found[name] == again[name]


def test_labels_add_sensitivity_and_alert_precision(home: Path, tmp_path: Path) -> None:
    ran = monitor(home, tmp_path / "out", "first", "second", words=("--labels", home / "labels.csv", "-q"))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "warning: labels.csv: 600 labels of posts that no batch holds.\n"  # those of the third
    found = course(tmp_path / "out")
    assert found["reference"]["labelled"] == 120
    (batch,) = found["batches"]
    assert batch["labelled"] == 60
    assert {"ScreeningSensitivity(unit=post)", "AlertPrecision"} <= {one["signal"] for one in batch["results"]}


def test_several_batches_may_be_the_reference(home: Path, tmp_path: Path) -> None:
    ran = monitor(home, tmp_path / "out", "first", "second", "third", words=("--reference", 2))
    assert ran.code == 0
    assert course(tmp_path / "out")["reference"] == {"batches": ["first", "second"], "posts": 180, "labelled": 0}


def few(home: Path, folder: Path) -> list[object]:
    return [home / "first.jsonl", written(fresh(19, 8), folder / "few.jsonl")]


def same_name(home: Path, folder: Path) -> list[object]:
    return [home / "first.jsonl", written(fresh(60, 8), folder / "first.jsonl")]


def partly(home: Path, folder: Path) -> list[object]:
    rows = (home / "labels.csv").read_text().splitlines(keepends=True)
    (folder / "labels.csv").write_text("".join(rows[:-1]))
    return [home / "first.jsonl", home / "second.jsonl", "--labels", folder / "labels.csv"]


def other_words(home: Path, folder: Path) -> list[object]:
    (folder / "labels.csv").write_text("post_id,criterion_id,has_evidence\np,A.1,perhaps\n")
    return [home / "first.jsonl", home / "second.jsonl", "--labels", folder / "labels.csv"]


REFUSED: dict[str, tuple[Callable[[Path, Path], list[object]], str]] = {
    "one batch": (lambda home, _: [home / "first.jsonl"], "1 batch, of which 1 would be the reference"),
    "few posts": (few, "'few': 19 posts. A batch needs 20 or more"),
    "a name twice": (same_name, "Two batches are called 'first'"),
    "seen posts": (
        lambda home, _: [home / "first.jsonl", (home / "run").resolve().parent / "corpus"],
        "'corpus': the model was trained or tuned on 60 of these posts. Leave them out",
    ),
    "too many": (
        lambda home, _: [home / "first.jsonl", home / "second.jsonl", home / "third.jsonl", "--horizon", 1],
        "2 batches behind",
    ),
    "no promise": (
        lambda home, _: [home / "first.jsonl", home / "second.jsonl", "--alpha", 0],
        "alpha must lie between 0 and 1",
    ),
    "half a post": (partly, "1 post of which only some criteria are labelled"),
    "no label": (other_words, "1 row whose has_evidence is neither 0 nor 1"),
    "no file": (lambda home, _: [home / "first.jsonl", home / "none.jsonl"], "none.jsonl: no such file"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_refused_writes_nothing(which: str, home: Path, tmp_path: Path) -> None:
    words, message = REFUSED[which]
    ran = evidentia("monitor", home / "run", *words(home, tmp_path), "-o", tmp_path / "out")
    refused(ran, message)
    assert not (tmp_path / "out").exists()


def test_a_course_is_replaced_with_force_only(home: Path, tmp_path: Path) -> None:
    assert monitor(home, tmp_path / "out", "first", "second").code == 0
    refused(monitor(home, tmp_path / "out", "first", "second"), "out exists")
    assert monitor(home, tmp_path / "out", "first", "third", words=("--force",)).code == 0
    assert course(tmp_path / "out")["batches"][0]["name"] == "third"
