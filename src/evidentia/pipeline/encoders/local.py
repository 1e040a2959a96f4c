"""Models that sentence-transformers loads, from a folder or by their name on the hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.errors import InputError
from evidentia.pipeline.encoders.interface import Kind, Progress, Vectors
from evidentia.pipeline.encoders.sources import Source, find_source, loaded, refuse_own_code
from evidentia.pipeline.encoders.vectors import finite, unit_vectors
from evidentia.pipeline.extras import neural
from evidentia.pipeline.reproducible import quiet
from evidentia.pipeline.settings import deciding, key_of, same_length

_DTYPES = ("float32", "float16", "bfloat16")
SPEED = ("batch_size", "device", "revision")  # what changes no score; a revision is resolved to a commit


@dataclass(frozen=True)
class ModelSettings:
    """What every local model takes. Code that comes with a model runs only where ``trust_remote_code`` is set."""

    device: str | None = None
    dtype: str = field(default="float32", metadata={"choices": _DTYPES})
    trust_remote_code: bool = False
    revision: str | None = None


@dataclass(frozen=True)
class LocalSettings(ModelSettings):
    """What models of sentence-transformers take: ``max_seq_length`` is how many tokens of a text are read."""

    max_seq_length: int | None = field(default=None, metadata={"minimum": 1})
    batch_size: int = field(default=32, metadata={"minimum": 1})


@dataclass(frozen=True)
class EncoderSettings(LocalSettings):
    """``query_prompt`` and ``passage_prompt`` stand before the texts; without them the model's own prompts do.

    ``prompt_name`` picks one of the model's own for queries.
    """

    query_prompt: str | None = None
    passage_prompt: str | None = None
    prompt_name: str | None = None
    normalize: bool = True


class SentenceTransformerEncoder:
    """An encoder of sentence-transformers; loaded when it is first asked, not when it is named."""

    def __init__(self, name_or_path: str, settings: EncoderSettings | None = None) -> None:
        self._source = find_source(name_or_path, settings.revision if settings else None)
        self._settings = settings or EncoderSettings()

    @cached_property
    def key(self) -> str:
        """From the weights and the settings that change vectors."""
        own = {"encoder": "sentence-transformers/1", **self._source.identity}
        return key_of(own, deciding(self._settings, *SPEED))

    def encode(self, texts: Sequence[str], *, kind: Kind, progress: Progress | None = None) -> Vectors:
        """One vector per text, with the prompt of its kind."""
        settings = self._settings
        model = self._model
        if kind == "query":
            ask, prompt, name = model.encode_query, settings.query_prompt, settings.prompt_name
        else:
            ask, prompt, name = model.encode_document, settings.passage_prompt, None
        if not texts:
            return np.zeros((0, model.get_embedding_dimension() or 0), np.float32)
        vectors = ask(
            list(texts), prompt=prompt, prompt_name=name, batch_size=settings.batch_size, show_progress_bar=False
        )
        if progress is not None:
            progress(len(texts), len(texts))
        return unit_vectors(vectors, model=self._source.name, normalize=settings.normalize)

    @cached_property
    def _model(self) -> Any:
        model = load_model("SentenceTransformer", self._source, self._settings)
        name = self._settings.prompt_name
        if name is not None and name not in model.prompts:
            raise InputError(f"The model has no prompt {name!r}. It has: {', '.join(model.prompts) or 'none'}.")
        if self._settings.max_seq_length is not None:
            model.max_seq_length = self._settings.max_seq_length
        return model.eval()


class CrossEncoderScorer:
    """A cross-encoder of sentence-transformers with one output; scores are its logits, which do not saturate."""

    def __init__(self, name_or_path: str, settings: LocalSettings | None = None) -> None:
        self._source = find_source(name_or_path, settings.revision if settings else None)
        self._settings = settings or LocalSettings()

    @cached_property
    def key(self) -> str:
        """From the weights and the settings that change scores."""
        own = {"scorer": "cross-encoder/1", **self._source.identity}
        return key_of(own, deciding(self._settings, *SPEED))

    def score(
        self, queries: Sequence[str], passages: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """One logit per pair."""
        same_length(len(queries), len(passages))
        if not queries:
            return np.zeros(0, np.float32)
        scores = self._model.predict(
            list(zip(queries, passages, strict=True)),
            batch_size=self._settings.batch_size,
            activation_fn=neural("torch").nn.Identity(),
            show_progress_bar=False,
        )
        if progress is not None:
            progress(len(queries), len(queries))
        return finite(np.asarray(scores, np.float32).reshape(len(queries)), self._source.name)

    @cached_property
    def _model(self) -> Any:
        model = load_model("CrossEncoder", self._source, self._settings, max_length=self._settings.max_seq_length)
        if model.num_labels != 1:
            raise InputError(
                f"The cross-encoder has {model.num_labels} outputs; a reranker has one. Train one with num_labels=1."
            )
        return model.eval()


def load_model(kind: str, source: Source, settings: LocalSettings, **more: Any) -> Any:
    """The model, with its weights in the asked precision."""
    refuse_own_code(source, settings.trust_remote_code)
    library, torch = neural("sentence_transformers"), neural("torch")
    with quiet():
        return loaded(
            source,
            lambda: getattr(library, kind)(
                source.name,
                revision=source.revision,
                device=settings.device,
                trust_remote_code=settings.trust_remote_code,
                model_kwargs={"dtype": getattr(torch, settings.dtype)},
                **more,
            ),
        )
