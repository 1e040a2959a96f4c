"""A model is asked once for every text; the cache holds no text, and no damage to it stops a run."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evidentia.pipeline.encoders.cache import Store, default_cache_folder, pair_hash, text_hash
from evidentia.pipeline.encoders.cached import CachedEncoder, CachedPairScorer, CachedTokens, CacheReport
from evidentia.pipeline.encoders.interface import Kind, Progress, States, Vectors

KEY = "ab" * 32
TEXTS = ("I cannot sleep", "nothing is fun", "I cannot sleep", "my dog is well")


class Counting:
    """Gives a text its length and first letter, and remembers what it was asked."""

    key = KEY

    def __init__(self, fails_at: int | None = None) -> None:
        self.asked: list[list[str]] = []
        self.fails_at = fails_at

    def encode(self, texts: Sequence[str], *, kind: Kind, progress: Progress | None = None) -> Vectors:
        if self.fails_at == len(self.asked):
            raise ConnectionError("the server went away")
        self.asked.append(list(texts))
        return np.array([[len(text), ord(text[0])] for text in texts], np.float32).reshape(-1, 2)


class CountingPairs:
    """Scores a pair by lengths, plus how many were asked together."""

    key = KEY

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, str]]] = []

    def score(
        self, queries: Sequence[str], passages: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        self.asked.append(list(zip(queries, passages, strict=True)))
        return np.array([10 * len(q) + len(p) for q, p in self.asked[-1]], np.float32)


def test_a_second_run_does_not_embed_again(tmp_path: Path) -> None:
    first = CachedEncoder(Counting(), Store(tmp_path, KEY))
    vectors = first.encode(TEXTS, kind="passage")
    assert vectors.tolist() == [[14, 73], [14, 110], [14, 73], [14, 109]]
    assert first.cache == CacheReport(hits=0, misses=3, notes=())
    model = Counting()
    second = CachedEncoder(model, Store(tmp_path, KEY))
    assert second.encode(TEXTS, kind="passage").tobytes() == vectors.tobytes()
    assert model.asked == []
    assert second.cache == CacheReport(hits=3, misses=0, notes=())


def test_queries_and_passages_and_models_do_not_share(tmp_path: Path) -> None:
    model = Counting()
    cached = CachedEncoder(model, Store(tmp_path, KEY))
    cached.encode(["a"], kind="query")
    cached.encode(["a"], kind="passage")
    CachedEncoder(model, Store(tmp_path, "cd" * 32)).encode(["a"], kind="query")
    assert len(model.asked) == 3
    assert (
        len({text_hash("a", "query"), text_hash("a", "passage"), pair_hash("a", "a"), pair_hash("a", "a", b"x")}) == 4
    )


def test_a_part_that_is_new_is_all_that_is_asked_the_longest_first(tmp_path: Path) -> None:
    model = Counting()
    cached = CachedEncoder(model, Store(tmp_path, KEY), piece=2)
    cached.encode(["aa"], kind="query")
    told: list[tuple[int, int]] = []
    cached.encode(["b", "aa", "cccc", "ddd"], kind="query", progress=lambda done, total: told.append((done, total)))
    assert model.asked == [["aa"], ["cccc", "ddd"], ["b"]]
    assert told == [(1, 4), (3, 4), (4, 4)]


def test_what_was_embedded_before_a_failure_is_kept(tmp_path: Path) -> None:
    texts = ["a" * length for length in range(1, 9)]
    with pytest.raises(ConnectionError):
        CachedEncoder(Counting(fails_at=3), Store(tmp_path, KEY), piece=2).encode(texts, kind="query")
    model = Counting()
    CachedEncoder(model, Store(tmp_path, KEY), piece=2).encode(texts, kind="query")
    assert model.asked == [["aa", "a"]]


def test_no_texts_give_no_vectors(tmp_path: Path) -> None:
    assert CachedEncoder(Counting(), Store(tmp_path, KEY)).encode([], kind="query").shape == (0, 2)
    assert CachedPairScorer(CountingPairs(), Store(tmp_path, KEY)).score([], []).shape == (0,)


class CountingTokens:
    """Gives every word of a text its length and first letter."""

    key, width = KEY, 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def states(self, texts: Sequence[str], *, progress: Progress | None = None) -> list[States]:
        self.asked.append(list(texts))
        return [np.array([[len(word), ord(word[0])] for word in text.split()], np.float16) for text in texts]


def test_tokens_are_asked_once_though_texts_have_many_or_few(tmp_path: Path) -> None:
    model = CountingTokens()
    first = CachedTokens(model, Store(tmp_path, KEY, width=2)).states(TEXTS)
    assert [len(states) for states in first] == [3, 3, 3, 4]
    assert model.asked == [["I cannot sleep", "nothing is fun", "my dog is well"]]
    again = CachedTokens(model, Store(tmp_path, KEY, width=2))
    assert [states.tolist() for states in again.states(TEXTS)] == [states.tolist() for states in first]
    assert (again.cache, len(model.asked)) == (CacheReport(hits=3, misses=0, notes=()), 1)
    assert CachedTokens(model, Store(tmp_path, KEY, width=2)).states([]) == []


def test_tokens_of_another_width_are_no_tokens(tmp_path: Path) -> None:
    Store(tmp_path, KEY, width=2).put([text_hash("a", "passage")], [np.zeros(3, np.float16)])
    cached = CachedTokens(CountingTokens(), Store(tmp_path, KEY, width=2))
    assert cached.states(["a"])[0].tolist() == [[1.0, 97.0]]
    assert "was damaged" in cached.cache.notes[0]


def test_pairs_are_scored_once(tmp_path: Path) -> None:
    model = CountingPairs()
    cached = CachedPairScorer(model, Store(tmp_path, KEY))
    assert cached.score(["q", "q", "qq"], ["a", "bb", "a"]).tolist() == [11, 12, 21]
    assert cached.score(["qq", "q", "q"], ["a", "bb", "ccc"]).tolist() == [21, 12, 13]
    assert model.asked[1] == [("q", "ccc")]
    assert cached.cache == CacheReport(hits=2, misses=4, notes=())


def test_a_piece_by_query_never_mixes_queries(tmp_path: Path) -> None:
    model = CountingPairs()
    cached = CachedPairScorer(model, Store(tmp_path, KEY), by_query=True, piece=2)
    assert cached.score(["q", "r", "q", "q"], ["a", "b", "cc", "ddd"]).tolist() == [11, 11, 12, 13]
    assert model.asked == [[("q", "a"), ("q", "cc")], [("q", "ddd")], [("r", "b")]]


def test_a_listwise_score_holds_for_its_list_only(tmp_path: Path) -> None:
    model = CountingPairs()
    cached = CachedPairScorer(model, Store(tmp_path, KEY), listwise=True)
    cached.score(["q", "q", "r", "q"], ["a", "b", "a", "a"])
    assert model.asked == [[("q", "a"), ("q", "b")], [("r", "a")], [("q", "a")]]
    cached.score(["q", "q"], ["a", "b"])
    assert len(model.asked) == 3
    cached.score(["q", "q"], ["a", "c"])
    assert model.asked[3] == [("q", "a"), ("q", "c")]


def test_the_file_holds_no_text_and_is_the_owners(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache", KEY)
    CachedEncoder(Counting(), store).encode(TEXTS, kind="passage")
    content = b"".join(path.read_bytes() for path in (tmp_path / "cache").iterdir())
    assert not any(word.encode() in content for text in TEXTS for word in text.split() if len(word) > 3)
    assert sha256(b"passage\0my dog is well").digest() in content
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def damage_by_truncation(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def damage_by_noise(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 1000)


def damage_by_one_flipped_byte_in_a_vector(path: Path) -> None:
    content = bytearray(path.read_bytes())
    place = content.rindex(np.float32(3000).tobytes())
    content[place] ^= 1
    path.write_bytes(content)


def damage_by_another_schema(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE kept (something)")
    other.close()


def damage_by_rows_of_another_length(path: Path) -> None:
    Store(path.parent, KEY).put([text_hash("a" * 3000, "query")], np.zeros((1, 3), np.float32))


@pytest.mark.parametrize(
    "damage",
    [
        damage_by_truncation,
        damage_by_noise,
        damage_by_one_flipped_byte_in_a_vector,
        damage_by_another_schema,
        damage_by_rows_of_another_length,
    ],
)
def test_a_damaged_cache_is_made_anew_with_a_note(tmp_path: Path, damage: object) -> None:
    texts = ["a" * length for length in range(2900, 3001)]
    vectors = CachedEncoder(Counting(), Store(tmp_path, KEY)).encode(texts, kind="query")
    assert callable(damage)
    damage(Store(tmp_path, KEY).path)
    model = Counting()
    cached = CachedEncoder(model, Store(tmp_path, KEY))
    assert cached.encode(texts, kind="query").tobytes() == vectors.tobytes()
    assert [len(asked) for asked in model.asked] == [101]
    assert cached.cache.notes == (f"The cache {KEY}-0.sqlite was damaged and is made anew.",)
    again = CachedEncoder(model, Store(tmp_path, KEY))
    again.encode(texts, kind="query")
    assert again.cache == CacheReport(hits=101, misses=0, notes=())
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{KEY}-1.sqlite"]


def test_damage_found_while_writing_loses_nothing_of_what_is_written(tmp_path: Path) -> None:
    store = Store(tmp_path, KEY)
    store.path.write_bytes(b"noise" * 500)
    store.put([b"h"], np.ones((1, 2), np.float32))
    assert store.get([b"h"])[b"h"].tolist() == [1, 1]
    assert len(store.notes) == 1


def test_a_place_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    model = Counting()
    cached = CachedEncoder(model, Store(tmp_path / "taken", KEY))
    for _ in range(2):
        assert cached.encode(["aa"], kind="query").tolist() == [[2, 97]]
    assert len(model.asked) == 2
    assert len(cached.cache.notes) == 1
    assert "is not used" in cached.cache.notes[0]


def test_a_process_killed_while_writing_leaves_a_cache_that_works(tmp_path: Path) -> None:
    script = (
        "import sys, numpy as np\nfrom pathlib import Path\n"
        "from evidentia.pipeline.encoders.cache import Store\n"
        "store = Store(Path(sys.argv[1]), sys.argv[2])\n"
        "for number in range(10**6):\n"
        "    store.put([b'%d' % number], np.full((1, 64), number, np.float32))\n"
        "    if number == 20: print('writing', flush=True)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, str(tmp_path), KEY], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"writing\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    store = Store(tmp_path, KEY)
    kept = store.get([b"%d" % number for number in range(21)])
    assert [kept[b"%d" % number][0] for number in range(21)] == list(range(21))
    store.put([b"after"], np.ones((1, 64), np.float32))
    assert store.get([b"after"])
    assert store.notes == ()


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    script = (
        "import sys, numpy as np\nfrom pathlib import Path\n"
        "from evidentia.pipeline.encoders.cache import Store\n"
        "store = Store(Path(sys.argv[1]), sys.argv[2])\n"
        "for number in range(30):\n"
        "    store.put([b'%s %d' % (sys.argv[3].encode(), number)], np.full((1, 8), number, np.float32))\n"
        "assert store.notes == (), store.notes\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), KEY, name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    hashes = [b"%s %d" % (name.encode(), number) for name in "abc" for number in range(30)]
    assert len(Store(tmp_path, KEY).get(hashes)) == 90


def test_deleting_forgets_this_model_only(tmp_path: Path) -> None:
    other = Store(tmp_path, "cd" * 32)
    for store in (other, Store(tmp_path, KEY)):
        store.put([b"h"], np.ones((1, 2), np.float32))
    Store(tmp_path, KEY).delete()
    assert Store(tmp_path, KEY).get([b"h"]) == {}
    assert len(other.get([b"h"])) == 1


def test_the_default_place_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / "evidentia" / "models"
