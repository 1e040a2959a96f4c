"""`evidentia predict` into a folder: the answers of a single file, whatever it is fed with and wherever it was killed."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.pipelines import small_pipeline
from evidentia.pipeline import answer_folder, answering
from evidentia.pipeline.store import write_file

from .command import contents, evidentia, refused

SIZE = ("--partition", 25, "--workers", 1)  # three parts of 60 posts


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and in `run` what was learnt from it."""
    return small_pipeline(tmp_path_factory)


@pytest.fixture(scope="module")
def once(home: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The answers about the corpus in a single file."""
    out = tmp_path_factory.mktemp("once") / "answers.parquet"
    assert evidentia("predict", home / "run", home / "corpus", "-o", out).code == 0
    return pl.read_parquet(out)


@pytest.fixture(scope="module")
def whole(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of answers about the corpus, never stopped."""
    out = tmp_path_factory.mktemp("whole") / "answers"
    assert evidentia("predict", home / "run", home / "corpus", "-o", out, *SIZE).code == 0
    return out


def answers(home: Path, posts: Path, out: Path, *words: object) -> pl.DataFrame:
    ran = evidentia("predict", home / "run", posts, "-o", out, *(words or SIZE))
    assert (ran.code, ran.err) == (0, ""), ran
    return pl.concat(pl.read_parquet(path) for path in sorted(out.glob("part-*.parquet")))


def records(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "corpus" / "documents.jsonl").read_text().splitlines()]


def lines(path: Path, posts: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(post) + "\n" for post in posts), encoding="utf-8")
    return path


def one_line(ran: Any, *parts: str) -> None:
    refused(ran, *parts)
    assert ran.err.count("\n") == 1


class TestComplete:
    def test_the_parts_together_are_the_answers_of_a_single_file(self, whole: Path, once: pl.DataFrame) -> None:
        parts = [pl.read_parquet(path) for path in sorted(whole.glob("part-*.parquet"))]
        assert [part["post_id"].n_unique() for part in parts] == [25, 25, 10]
        assert pl.concat(parts).equals(once)
        assert {"manifest.json", "thresholds.json", "part-00000.parquet"} < set(contents(whole))
        assert len(contents(whole)) == 5

    def test_the_manifest_says_what_is_there(self, whole: Path, once: pl.DataFrame, home: Path) -> None:
        manifest = json.loads((whole / "manifest.json").read_text())
        assert (manifest["answered"], manifest["queries"], manifest["learnt_from"]) == (60, 600, 60)
        assert manifest["states"] == dict(once["state"].value_counts().iter_rows())
        assert [(part["posts"], part["from"], part["of"]) for part in manifest["parts"]] == [
            (25, 1, "documents.jsonl"),
            (25, 26, "documents.jsonl"),
            (10, 51, "documents.jsonl"),
        ]

    def test_what_is_printed(self, home: Path, tmp_path: Path) -> None:
        ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "a", *SIZE)
        single = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "a.parquet")
        written = "a.parquet, a.parquet.thresholds.json"
        assert ran.out == single.out.replace(written, "3 parts in a")
        assert evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "b", *SIZE, "-q").out == ""
        thresholds = (tmp_path / "a" / "thresholds.json").read_bytes()
        assert thresholds == (tmp_path / "a.parquet.thresholds.json").read_bytes()

    def test_the_bytes_do_not_depend_on_the_number_of_workers(self, home: Path, whole: Path, tmp_path: Path) -> None:
        answers(home, home / "corpus", tmp_path / "answers", "--partition", 25, "--workers", 2)
        assert contents(tmp_path / "answers") == contents(whole)

    def test_texts_are_written_on_request(self, home: Path, once: pl.DataFrame, tmp_path: Path) -> None:
        found = answers(home, home / "corpus", tmp_path / "answers", *SIZE, "--texts")
        assert found.drop("evidence").equals(once)
        known = {each["sent_uid"]: each["text"] for post in records(home) for each in post["sentences"]}
        for uids, texts in found.select("selected_sent_uids", "evidence").iter_rows():
            assert texts == [known[uid] for uid in uids.split("|") if uid]

    def test_unlike_posts_are_told_part_by_part(self, home: Path, tmp_path: Path) -> None:
        odd = [{"post_id": f"p{at}", "text": "One two."} for at in range(12)]
        usual = [{"post_id": post["post_id"], "sentences": post["sentences"]} for post in records(home)[:12]]
        posts = lines(tmp_path / "posts.jsonl", [*usual, *odd])
        out = tmp_path / "answers"
        ran = evidentia("predict", home / "run", posts, "-o", out, "--partition", 12, "--workers", 1)
        assert ran.code == 0
        assert "warning: part-00001.parquet: 12 of 12 posts are one sentence each" in ran.err
        assert "part-00000" not in ran.err


SHAPES: dict[str, Callable[[Path, list[dict[str, Any]]], Path]] = {
    "packed lines": lambda path, posts: packed(lines(path / "posts.jsonl", posts)),
    "blank lines and a mark": lambda path, posts: spaced(lines(path / "posts.jsonl", posts)),
    "Parquet": lambda path, posts: parquet(path / "posts.parquet", posts),
    "Parquet of another name": lambda path, posts: parquet(path / "posts", posts),
    "a folder": lambda path, posts: folder(path / "posts", posts),
}


def packed(path: Path) -> Path:
    out = path.with_name("posts.jsonl.gz")
    out.write_bytes(gzip.compress(path.read_bytes()))
    return out


def spaced(path: Path) -> Path:
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n \n"))
    return path


def parquet(path: Path, posts: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(posts).write_parquet(path, row_group_size=7)
    return path


def folder(path: Path, posts: list[dict[str, Any]]) -> Path:
    lines(path / "b.jsonl", posts[40:])
    parquet(path / "a.parquet", posts[:40])
    (path / "notes.txt").write_text("no posts")
    return path


class TestInput:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_posts_come_in_many_shapes(self, shape: str, home: Path, once: pl.DataFrame, tmp_path: Path) -> None:
        posts = SHAPES[shape](tmp_path, records(home))
        assert answers(home, posts, tmp_path / "answers").equals(once)

    def test_texts_are_cut(self, home: Path, once: pl.DataFrame, tmp_path: Path) -> None:
        texts = [
            {"post_id": post["post_id"], "text": "\n".join(each["text"] for each in post["sentences"])}
            for post in records(home)
        ]
        words = (*SIZE, "--splitter", "lines")
        from_lines = answers(home, lines(tmp_path / "a.jsonl", texts), tmp_path / "a", *words)
        from_table = answers(home, parquet(tmp_path / "b.parquet", texts), tmp_path / "b", *words)
        assert from_lines.equals(once)
        assert from_table.equals(once)
        single = evidentia("predict", home / "run", tmp_path / "b.parquet", "-o", tmp_path / "c.parquet", *words[4:])
        assert single.code == 0
        assert pl.read_parquet(tmp_path / "c.parquet").equals(once)

    def test_everything_wrong_is_said_by_file_and_row_before_anything_is_answered(
        self, home: Path, tmp_path: Path
    ) -> None:
        posts = [{"post_id": f"p{at}", "text": "I cannot sleep."} for at in range(8)]
        lines(tmp_path / "posts" / "a.jsonl", [*posts[:5], {"post_id": "q", "text": " "}, {"text": "a"}])
        parquet(tmp_path / "posts" / "b.parquet", [*posts[5:], {"post_id": "r", "text": None}])
        words = ("--partition", 2, "--workers", 1)
        ran = evidentia("predict", home / "run", tmp_path / "posts", "-o", tmp_path / "out", *words)
        refused(
            ran,
            "a.jsonl: 1 post without a sentence (first: line 6, post 'q')",
            "a.jsonl: 1 post without a post_id (first: line 7)",
            "b.parquet: 1 post with neither sentences nor text (first: row 4, post 'r')",
        )
        assert not (tmp_path / "out").exists()

    def test_ids_that_come_again_in_another_part_or_file_are_found(self, home: Path, tmp_path: Path) -> None:
        posts = [{"post_id": f"p{at}", "text": "I cannot sleep."} for at in range(8)]
        lines(tmp_path / "posts" / "a.jsonl", [*posts, posts[0]])
        parquet(tmp_path / "posts" / "b.parquet", [posts[3], {"post_id": "q", "text": "a"}, posts[4]])
        ran = evidentia("predict", home / "run", tmp_path / "posts", "-o", tmp_path / "out", "--partition", 4)
        refused(
            ran,
            "a.jsonl: 1 post whose post_id an earlier one has (first: line 9, post 'p0')",
            "b.parquet: 2 posts whose post_id an earlier one has (first: row 1, post 'p3')",
        )
        given = [{"post_id": f"p{at}", "sentences": [{"sent_uid": f"s{at % 3}", "text": "a"}]} for at in range(4)]
        posts_file = lines(tmp_path / "given.jsonl", given)
        ran = evidentia("predict", home / "run", posts_file, "-o", tmp_path / "out", "--partition", 1)
        one_line(ran, "1 sentence whose sent_uid an earlier post has (first: line 4, post 'p3', sentence 1, uid 's0')")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("posts.jsonl", b"\n \n", "posts.jsonl: 0 rows"),
            ("posts.jsonl", b"no JSON\n", "1 line that cannot be read as a JSON object (first: line 1"),
            ("posts.jsonl.gz", gzip.compress(b'{"post_id": "p"}')[:-9], "posts.jsonl.gz: a gzip file that is damaged"),
            ("posts.parquet", b"PAR1 and no more", "posts.parquet: not a Parquet file, or one that is damaged"),
            ("posts.txt/a.csv", b"", "posts.txt: no documents.jsonl, and no other .jsonl or .parquet file"),
        ],
    )
    def test_files_that_cannot_be_read(self, name: str, content: bytes, said: str, home: Path, tmp_path: Path) -> None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
        posts = tmp_path / name.partition("/")[0]
        one_line(evidentia("predict", home / "run", posts, "-o", tmp_path / "out", *SIZE), said)
        one_line(evidentia("predict", home / "run", tmp_path / "none", "-o", tmp_path / "out"), "none: no such file")
        assert not (tmp_path / "out").exists()

    def test_a_line_that_is_no_post_is_not_read_to_its_end(
        self, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("evidentia.corpus.post_files.LONGEST_LINE", 1_000)
        posts = lines(tmp_path / "posts.jsonl", [{"post_id": "p", "text": "a"}, {"post_id": "q", "text": "a" * 1_000}])
        ran = evidentia("predict", home / "run", posts, "-o", tmp_path / "out", *SIZE)
        one_line(ran, "posts.jsonl: line 2 is longer than")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("how", ["longer", "shorter"])
    def test_posts_that_change_meanwhile(
        self, how: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        posts = lines(tmp_path / "posts.jsonl", records(home)[:5])

        def change(*arguments: Any) -> None:
            every = posts.read_text().splitlines(keepends=True)
            posts.write_text("".join([*every, every[0]] if how == "longer" else every[:-1]))
            answering.answer(*arguments)

        monkeypatch.setattr(answer_folder, "answer", change)
        words = ("predict", home / "run", posts, "-o", tmp_path / "out", *SIZE)
        one_line(evidentia(*words), "posts.jsonl changed while it was read")
        assert not (tmp_path / "out" / "manifest.json").exists()
        one_line(evidentia(*words, "--resume"), "out was begun with other posts")

    def test_a_table_without_its_columns(self, home: Path, tmp_path: Path) -> None:
        posts = parquet(tmp_path / "posts.parquet", [{"post_id": "p", "body": "a"}])
        for out in ("out", "out.parquet"):
            ran = evidentia("predict", home / "run", posts, "-o", tmp_path / out)
            one_line(ran, "posts.parquet: no column text. The table needs post_id, and text or sentences.")


KILLED = """
import os, signal, sys
from evidentia.pipeline import answering, answer_folder
left, write = int(sys.argv.pop(1)), answering.write_file
def write_file(path, content):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, content)
answering.write_file = answer_folder.write_file = write_file
from evidentia.cli.main import main
main()
"""


class StopHere(BaseException):
    """What stands in for a kill in this process."""


def stop(*_: object) -> None:
    raise StopHere


def stopped(monkeypatch: pytest.MonkeyPatch, writes: int, *words: object) -> None:
    """Run a command that ends instead of writing one file more."""
    left = [writes]

    def stopping(path: Path, content: bytes) -> None:
        left[0] -= 1
        (write_file if left[0] >= 0 else stop)(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(answering, "write_file", stopping)
        patch.setattr(answer_folder, "write_file", stopping)
        with pytest.raises(StopHere):
            evidentia(*words)


class TestResume:
    def test_killed_and_continued_gives_the_same_bytes(self, home: Path, whole: Path, tmp_path: Path) -> None:
        words = [*map(str, ("predict", home / "run", home / "corpus", "-o", tmp_path / "out", *SIZE))]
        writes = 4  # the plan, two parts and the record of the first: the second part has none
        killed = subprocess.run([sys.executable, "-c", KILLED, str(writes), *words], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert not (tmp_path / "out" / "manifest.json").exists()
        assert [path.name for path in (tmp_path / "out" / "work").glob("part-*")] == ["part-00000.json"]
        one_line(evidentia(*words), "out holds answers already. Continue them with --resume")
        assert evidentia(*words, "--resume").code == 0
        assert contents(tmp_path / "out") == contents(whole)

    @pytest.mark.parametrize("writes", [0, 1, 2, 7, 8])  # plan, three parts and their records, thresholds, manifest
    def test_stopped_before_any_write(
        self, writes: int, home: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        words = ("predict", home / "run", home / "corpus", "-o", tmp_path / "out", *SIZE)
        stopped(monkeypatch, writes, *words)
        assert evidentia(*words, "--resume").code == 0
        assert contents(tmp_path / "out") == contents(whole)

    @pytest.mark.parametrize("writes", [1, 2, 3, 4])
    def test_stopped_while_other_answers_were_replaced(
        self, writes: int, home: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        posts = lines(tmp_path / "posts.jsonl", records(home)[:10])
        answers(home, posts, tmp_path / "fresh")
        out = shutil.copytree(whole, tmp_path / "out")
        words = ("predict", home / "run", posts, "-o", out, *SIZE)
        stopped(monkeypatch, writes, *words, "--force")
        assert not (out / "manifest.json").exists()
        assert evidentia(*words, "--resume").code == 0
        assert contents(out) == contents(tmp_path / "fresh")

    def test_only_what_is_missing_or_damaged_is_done_again(
        self, home: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out, written = self.begun(home, tmp_path, monkeypatch), []
        (out / "part-00001.parquet").write_bytes(b"damaged")

        def note(path: Path, content: bytes) -> None:
            written.append(path.name)
            write_file(path, content)

        monkeypatch.setattr(answering, "write_file", note)
        assert evidentia("predict", home / "run", home / "corpus", "-o", out, *SIZE, "--resume").code == 0
        assert written == ["part-00001.parquet", "part-00001.json"]
        assert contents(out) == contents(whole)

    def begun(self, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder in which everything was answered, and the manifest not yet written."""
        with monkeypatch.context() as patch:
            patch.setattr(answer_folder, "_finish", stop)
            with pytest.raises(StopHere):
                evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "out", *SIZE)
        return tmp_path / "out"

    @pytest.mark.parametrize("complete", [True, False])
    def test_what_changed_is_refused(
        self, complete: bool, home: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copytree(home / "corpus", tmp_path / "corpus")
        posts = tmp_path / "corpus" / "documents.jsonl"
        out = shutil.copytree(whole, tmp_path / "out") if complete else self.begun(home, tmp_path, monkeypatch)
        before = contents(out)
        resume = ("-o", out, "--resume", "--workers", 1)
        size, fold = ("--partition", 25), home / "run" / "models" / "fold-0"
        one_line(evidentia("predict", fold, posts, *resume, *size), "out was begun with another model.")
        one_line(evidentia("predict", home / "run", posts, *resume), "out was begun with other options.")
        one_line(evidentia("predict", home / "run", posts, *resume, *size, "--texts"), "begun with other options.")
        posts.write_text(posts.read_text().replace("sleep", "doze"))
        one_line(evidentia("predict", home / "run", posts, *resume, *size), "out was begun with other posts.")
        after = {name: content for name, content in contents(out).items() if name != "work/lock"}
        assert after == {name: content for name, content in before.items() if name != "work/lock"}

    def test_a_folder_that_is_complete_is_left_as_it_is(self, home: Path, whole: Path) -> None:
        before, words = contents(whole), ("predict", home / "run", home / "corpus", "-o", whole, *SIZE)
        ran = evidentia(*words, "--resume")
        assert (ran.code, ran.err) == (0, "")
        assert "60 posts, 600 queries: 3 parts in answers" in ran.out
        one_line(evidentia(*words), "answers holds answers already", "--resume", "--force")
        assert contents(whole) == before


class TestPlace:
    def test_answers_are_replaced_with_force_only(self, home: Path, whole: Path, tmp_path: Path) -> None:
        out = shutil.copytree(whole, tmp_path / "out")
        posts = lines(tmp_path / "posts.jsonl", records(home)[:10])
        found = answers(home, posts, out, *SIZE, "--force")
        assert found["post_id"].n_unique() == 10
        assert sorted(contents(out)) == ["manifest.json", "part-00000.parquet", "thresholds.json"]
        posts.write_text("no JSON\n")
        before = contents(out)
        one_line(evidentia("predict", home / "run", posts, "-o", out, "--force"), "cannot be read as a JSON object")
        assert contents(out) == before

    def test_other_folders_and_files_are_left_alone(self, home: Path, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "notes.txt").write_text("precious")
        (tmp_path / "file").write_text("mine")
        for more in ((), ("--force",), ("--resume",)):
            ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "mine", *more)
            one_line(ran, "mine holds other files")
            ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "file", *more)
            one_line(ran, "file exists and is not a folder")
        assert contents(tmp_path) == {"mine/notes.txt": b"precious", "file": b"mine"}

    @pytest.mark.parametrize("words", [("--partition", 5), ("--resume",), ("--workers", 2)])
    def test_options_of_a_folder_are_refused_for_a_file(
        self, words: tuple[object, ...], home: Path, tmp_path: Path
    ) -> None:
        ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "a.csv", *words)
        one_line(ran, "a.csv: --partition, --workers and --resume are for a folder. Name one with -o.")

    def test_a_partition_holds_a_post(self, home: Path, tmp_path: Path) -> None:
        ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "a", "--partition", 0)
        one_line(ran, "Give --partition a whole number from 1 on")

    def test_one_command_at_a_time(self, home: Path, tmp_path: Path) -> None:
        lock = answer_folder.acquire_lock(tmp_path / "out" / "work" / "lock")
        words = ("predict", home / "run", home / "corpus", "-o", tmp_path / "out", *SIZE)
        one_line(evidentia(*words), "out is being written by another command")
        lock.release()
        assert evidentia(*words).code == 0
