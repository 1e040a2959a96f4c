"""What a person writes becomes a model, or a message that says what could have been written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evidentia.errors import InputError
from evidentia.pipeline import extras
from evidentia.pipeline.encoders.cached import CachedEncoder
from evidentia.pipeline.encoders.make import make_encoder, make_pair_scorer


@pytest.mark.parametrize(
    "spec", ["", "minilm:x", "miniLM", "sentence-transformers", "sentence-transformers:", "openai:"]
)
def test_an_encoder_that_does_not_exist_is_told_with_those_that_do(spec: str) -> None:
    with pytest.raises(InputError, match=r"minilm, sentence-transformers:NAME_OR_PATH, openai:BASE_URL,MODEL"):
        make_encoder(spec, {}, cache=False)


@pytest.mark.parametrize("spec", ["", "minilm", "cross-encoder:", "http:", "http"])
def test_a_scorer_that_does_not_exist_is_told_with_those_that_do(spec: str) -> None:
    with pytest.raises(InputError, match=r"cross-encoder:NAME_OR_PATH, listwise:NAME_OR_PATH, http:URL\[,MODEL\]"):
        make_pair_scorer(spec, {}, cache=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batchsize": 3}, r"has no setting 'batchsize'\. It has: device, dtype"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"batch_size": "many"}, "batch_size must be a whole number, not 'many'"),
        ({"batch_size": True}, "batch_size must be a whole number, not True"),
        ({"trust_remote_code": 1}, "trust_remote_code must be true or false, not 1"),
        ({"dtype": "int4"}, "dtype must be one of float32, float16, bfloat16"),
        ({"query_prompt": 7}, "query_prompt must be a text"),
    ],
)
def test_settings_are_checked_before_anything_is_loaded(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_encoder("sentence-transformers:no/model", settings, cache=False)


def test_every_wrong_setting_is_named() -> None:
    with pytest.raises(InputError) as caught:
        make_encoder("sentence-transformers:no/model", {"x": 1, "y": 2, "batch_size": -1}, cache=False)
    assert len(caught.value.problems) == 3


def test_minilm_takes_no_settings() -> None:
    with pytest.raises(InputError, match=r"minilm has no setting 'device'\. It has none\."):
        make_encoder("minilm", {"device": "cpu"}, cache=False)


def test_the_cache_is_on_by_default_and_can_be_moved_or_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    default, moved = make_encoder("minilm"), make_encoder("minilm", cache=tmp_path / "here")
    assert isinstance(default, CachedEncoder)
    assert isinstance(moved, CachedEncoder)
    assert default.store.path.parent == tmp_path / "xdg" / "evidentia" / "models"
    assert moved.store.path.parent == tmp_path / "here"
    assert not isinstance(make_encoder("minilm", cache=False), CachedEncoder)


def test_a_missing_library_is_named_with_the_way_to_get_it() -> None:
    with pytest.raises(InputError, match=r"needs no_such_library, which is missing. Install the neural extra"):
        extras.neural("no_such_library.part")
