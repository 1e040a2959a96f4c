"""Encoders and rerankers behind an address: the OpenAI form for vectors, the Jina/Cohere and TEI forms for scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from evidentia.errors import ServerError, counted
from evidentia.pipeline.encoders.cached import runs_of
from evidentia.pipeline.encoders.interface import Kind, Progress, Vectors, tell, unit_vectors
from evidentia.pipeline.encoders.wire import HOW, ServerSettings, ask, checked_url
from evidentia.pipeline.settings import deciding, key_of, same_length


@dataclass(frozen=True)
class EmbeddingsSettings(ServerSettings):
    """Prompts stand before the texts; ``query_fields`` and ``passage_fields`` are sent along, for servers that want more."""

    query_prompt: str = ""
    passage_prompt: str = ""
    query_fields: dict[str, Any] = field(default_factory=dict)
    passage_fields: dict[str, Any] = field(default_factory=dict)
    dimensions: int | None = field(default=None, metadata={"minimum": 1})
    normalize: bool = True


@dataclass(frozen=True)
class RerankSettings(ServerSettings):
    """``form`` is what the server speaks. A ``listwise`` model reads all passages of a query together."""

    form: str = field(default="jina", metadata={"choices": ("jina", "tei")})
    fields: dict[str, Any] = field(default_factory=dict)
    listwise: bool = False


class ServerEncoder:
    """Vectors from ``{base_url}/embeddings``, as OpenAI, vLLM, TEI, llama.cpp and others serve them."""

    def __init__(self, base_url: str, model: str, settings: EmbeddingsSettings | None = None) -> None:
        self._settings = settings or EmbeddingsSettings()
        parts = urlsplit(checked_url(base_url, self._settings.api_key_env))
        self._url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/embeddings"))
        self._model = model
        self._width = self._settings.dimensions

    @property
    def key(self) -> str:
        """From the address, the model's name and the settings: the weights themselves cannot be seen."""
        own = {"encoder": "openai/1", "url": self._url, "model": self._model}
        return key_of(own, deciding(self._settings, *HOW))

    def encode(self, texts: Sequence[str], *, kind: Kind, progress: Progress | None = None) -> Vectors:
        """One vector per text, ``batch_size`` texts per request."""
        parts = [np.zeros((0, self._width or 0), np.float32)] if not texts else []
        size = self._settings.batch_size
        for start in range(0, len(texts), size):
            batch = texts[start : start + size]
            parts.append(self._vectors(ask(self._url, self._body(batch, kind), self._settings), len(batch)))
            tell(progress, start + len(batch), len(texts))
        return unit_vectors(np.concatenate(parts), model=self._model, normalize=self._settings.normalize)

    def _body(self, texts: Sequence[str], kind: Kind) -> dict[str, Any]:
        settings = self._settings
        prompt, more = (
            (settings.query_prompt, settings.query_fields)
            if kind == "query"
            else (settings.passage_prompt, settings.passage_fields)
        )
        size = {} if settings.dimensions is None else {"dimensions": settings.dimensions}
        body = {"model": self._model, "input": [prompt + text for text in texts], "encoding_format": "float"}
        return {**body, **size, **more}

    def _vectors(self, answer: Any, count: int) -> NDArray[np.float32]:
        """The vectors in the order of the texts; all of one length, and of the same as ever before."""
        listed = in_order(_listed(answer, "data"), count, "embedding")
        try:
            with np.errstate(over="ignore"):  # too large becomes infinite, and is refused as such
                vectors = np.asarray(listed, np.float32)
        except (TypeError, ValueError):
            raise ServerError(f"{self._model}: the vectors are not lists of numbers of one length.") from None
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise ServerError(f"{self._model}: the vectors are not lists of numbers of one length.")
        if self._width not in {None, vectors.shape[1]}:
            raise ServerError(f"{self._model}: a vector has {vectors.shape[1]} numbers, expected {self._width}.")
        self._width = int(vectors.shape[1])
        return vectors


class ServerPairScorer:
    """Scores from a rerank endpoint: one query and some of its passages per request."""

    def __init__(self, url: str, model: str | None = None, settings: RerankSettings | None = None) -> None:
        self._settings = settings or RerankSettings()
        self._url = checked_url(url, self._settings.api_key_env)
        self._model = model

    @property
    def key(self) -> str:
        """From the address, the model's name and the settings."""
        own = {"scorer": "http/1", "url": self._url, "model": self._model}
        return key_of(own, deciding(self._settings, *HOW))

    def score(
        self, queries: Sequence[str], passages: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """One score per pair. Pairs that are neighbours and have the same query go together."""
        same_length(len(queries), len(passages))
        scores = np.zeros(len(queries), np.float32)
        for run in runs_of(queries):
            size = len(run) if self._settings.listwise else self._settings.batch_size
            for start in range(0, len(run), size):
                batch = run[start : start + size]
                scores[batch] = self._ranked(queries[batch[0]], [passages[place] for place in batch])
                tell(progress, batch[-1] + 1, len(queries))
        return scores

    def _ranked(self, query: str, passages: list[str]) -> NDArray[np.float32]:
        jina = self._settings.form == "jina"
        own: dict[str, Any] = {"query": query, "documents" if jina else "texts": passages}
        if jina:
            own |= {"top_n": len(passages)}
        if self._model is not None:
            own |= {"model": self._model}
        answer = ask(self._url, {**own, **self._settings.fields}, self._settings)
        listed = in_order(
            _listed(answer, "results" if jina else None), len(passages), "relevance_score" if jina else "score"
        )
        try:
            with np.errstate(over="ignore"):
                scores = np.asarray(listed, np.float32)
        except (TypeError, ValueError):
            raise ServerError("The reranker's scores are not numbers.") from None
        if scores.shape != (len(passages),) or not np.isfinite(scores).all():
            raise ServerError("The reranker's scores are not all finite numbers.")
        return scores


def in_order(listed: Sequence[Any], count: int, name: str) -> list[Any]:
    """What the server says of each text, in the order of the texts: one answer for each, none twice.

    >>> in_order([{"index": 1, "score": 0.2}, {"index": 0, "score": 0.7}], 2, "score")
    [0.7, 0.2]
    """
    if len(listed) != count:
        raise ServerError(f"The server was sent {counted(count, 'text')} and answered for {len(listed):,}.")
    values: dict[int, Any] = {}
    for entry in listed:
        place = entry.get("index") if isinstance(entry, Mapping) else None
        if not isinstance(place, int) or isinstance(place, bool) or entry.get(name) is None:
            raise ServerError(f"The server's answer lacks index or {name}.")
        values[place] = entry[name]
    if sorted(values) != list(range(count)):
        raise ServerError(f"The server's answer does not number {counted(count, 'text')} from 0 without gap or repeat.")
    return [values[place] for place in range(count)]


def _listed(answer: Any, name: str | None) -> Sequence[Any]:
    listed = answer if name is None else answer.get(name) if isinstance(answer, Mapping) else None
    if not isinstance(listed, list):
        raise ServerError(
            f"The server's answer has no list{'' if name is None else f' {name!r}'}. Does it speak this form?"
        )
    return listed
