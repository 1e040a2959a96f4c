"""An encoder that every test may name: ``words``."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from evidentia.pipeline.encoders import make
from evidentia.pipeline.stages import models

from .bench import WordCounter

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Iterator[WordCounter]:
    """The encoder behind any spec."""
    made = WordCounter()
    models.encoder.cache_clear()
    monkeypatch.setattr(make, "make_encoder", lambda *_, **__: made)
    yield made
    models.encoder.cache_clear()
