"""A pipeline as an estimator of scikit-learn: what `evidentia run` learns for use, without a file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from sklearn.base import clone

import evidentia
from builders.pipelines import small_pipeline
from evidentia import EvidencePipeline, InputError
from evidentia.corpus import read_corpus

TEXTS = ["I cannot sleep at night. It rains.", "I feel sad and hopeless. Nothing is fun.", "The bus was late."]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pipeline(tmp_path_factory)


def test_fit_learns_what_run_learns_for_use(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = EvidencePipeline(home / "pipeline.toml").fit(home / "corpus")
    posts = [
        {"post_id": post, "text": " ".join(posts.texts[start:stop])}
        for posts in [read_corpus(home / "corpus").posts]
        for post, start, stop in zip(posts.post_ids, posts.offsets, posts.offsets[1:], strict=False)
    ]
    loaded = evidentia.load(home / "run")
    assert pipeline.predict([*posts, *TEXTS]) == loaded.predict([*posts, *TEXTS])
    assert pipeline.predictor_.thresholds == loaded.thresholds
    assert not list(tmp_path.iterdir())


def test_a_clone_knows_the_settings_and_nothing_that_was_learnt(home: Path) -> None:
    settings = tomllib.loads((home / "pipeline.toml").read_text())
    pipeline = EvidencePipeline(settings).fit(read_corpus(home / "corpus"))
    twin = clone(pipeline)
    assert twin.get_params() == {"config": settings}
    with pytest.raises(InputError, match="Call fit"):
        twin.predict(TEXTS)
    assert twin.fit(read_corpus(home / "corpus").posts).predict(TEXTS) == pipeline.predict(TEXTS)


def test_parameters_are_set_by_name() -> None:
    pipeline = EvidencePipeline()
    assert pipeline.set_params(config={"protocol": {"seed": 8}}) is pipeline
    assert pipeline.get_params(deep=False) == {"config": {"protocol": {"seed": 8}}}
    with pytest.raises(InputError, match="no parameter 'seed'"):
        pipeline.set_params(seed=8)


def test_what_cannot_be_learnt_from(home: Path) -> None:
    corpus = read_corpus(home / "corpus", labels=False)
    with pytest.raises(InputError, match="has no labels"):
        EvidencePipeline(home / "pipeline.toml").fit(corpus)
    with pytest.raises(InputError, match="speed"):
        EvidencePipeline({"gate": {"speed": 1}}).fit(corpus)
