"""Rerankers that bring code of their own and read all passages of a query together, such as jina-reranker-v3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.errors import InputError, typed
from evidentia.pipeline.encoders.cached import runs_of
from evidentia.pipeline.encoders.interface import Progress
from evidentia.pipeline.encoders.local import SPEED, ModelSettings
from evidentia.pipeline.encoders.servers import in_order
from evidentia.pipeline.encoders.sources import find_source, loaded
from evidentia.pipeline.encoders.vectors import finite
from evidentia.pipeline.extras import neural
from evidentia.pipeline.reproducible import quiet
from evidentia.pipeline.settings import deciding, key_of, same_length


class ListwiseScorer:
    """A model whose own code has ``rerank(query, documents)``. It must be trusted; neighbours of one query go together."""

    def __init__(self, name_or_path: str, settings: ModelSettings) -> None:
        if not settings.trust_remote_code:
            raise InputError(
                f"{typed(name_or_path)} would run code of its own: read it, then set trust_remote_code = true."
            )
        self._source = find_source(name_or_path, settings.revision)
        self._settings = settings

    @cached_property
    def key(self) -> str:
        """From the weights, the code and the settings that change scores."""
        own = {"scorer": "listwise/1", **self._source.identity}
        return key_of(own, deciding(self._settings, *SPEED))

    def score(
        self, queries: Sequence[str], passages: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """One score per pair."""
        same_length(len(queries), len(passages))
        scores = np.zeros(len(queries), np.float32)
        for run in runs_of(queries):
            with neural("torch").inference_mode():
                answer = self._model.rerank(queries[run[0]], [passages[place] for place in run])
            scores[run] = np.array(in_order(answer, len(run), "relevance_score"), np.float32)
            if progress is not None:
                progress(run[-1] + 1, len(queries))
        return finite(scores, self._source.name)

    @cached_property
    def _model(self) -> Any:
        settings, kind = self._settings, neural("transformers").AutoModel
        precision = getattr(neural("torch"), settings.dtype)
        with quiet():
            model = loaded(
                self._source,
                lambda: kind.from_pretrained(
                    self._source.name, revision=self._source.revision, dtype=precision, trust_remote_code=True
                ),
            )
        if not callable(getattr(model, "rerank", None)):
            raise InputError(
                f"{typed(self._source.name)} has no rerank function. Is it for cross-encoder:NAME_OR_PATH?"
            )
        return model.eval() if settings.device is None else model.to(settings.device).eval()
