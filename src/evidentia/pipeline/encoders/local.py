"""Models on this machine that are not in the package: encoders, cross-encoders, and rerankers with code of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from evidentia.errors import InputError, typed
from evidentia.pipeline.encoders.cached import runs_of
from evidentia.pipeline.encoders.interface import Kind, Progress, Vectors, finite, tell, unit_vectors
from evidentia.pipeline.encoders.servers import in_order
from evidentia.pipeline.encoders.sources import OWN_CODE, find_source, loaded, refuse_own_code
from evidentia.pipeline.extras import neural
from evidentia.pipeline.learning import quiet
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


S = TypeVar("S", bound=ModelSettings)


class _LocalModel(Generic[S]):
    """A model by its folder or its name on the hub; loaded when it is first asked, not when it is named."""

    identity: ClassVar[tuple[str, str]]
    marker: ClassVar[str] = "config.json"  # a snapshot without it lacks files that decide what the model says

    def __init__(self, name_or_path: str, settings: S) -> None:
        self._source = find_source(name_or_path, settings.revision)
        self._settings = settings

    @cached_property
    def key(self) -> str:
        """From the weights, their code and the settings that change what the model says."""
        return key_of({**dict([self.identity]), **self._source.identity}, deciding(self._settings, *SPEED))

    def _load(self, library: str, kind: str, **options: Any) -> Any:
        """The model of a library, with its weights in the asked precision; code of its own is refused before any runs."""
        source, trust = self._source, self._settings.trust_remote_code
        refuse_own_code(source, trust)
        precision = {"dtype": getattr(neural("torch"), self._settings.dtype)}
        options |= precision if library == "transformers" else {"model_kwargs": precision}
        options |= {"revision": source.revision, "trust_remote_code": trust}
        make = partial(attrgetter(kind)(neural(library)), source.name, **options)

        whole = source.snapshot is not None and (source.snapshot / self.marker).is_file()

        def load() -> Any:
            """Ask the network only where files are missing: without one, its retries take minutes."""
            try:
                return make(local_files_only=whole)
            except OSError:
                if not whole:
                    raise
                return make()

        with quiet():
            return loaded(source, load)


class SentenceTransformerEncoder(_LocalModel[EncoderSettings]):
    """An encoder of sentence-transformers."""

    identity = ("encoder", "sentence-transformers/1")
    marker = "modules.json"

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
        tell(progress, len(texts), len(texts))
        return unit_vectors(vectors, model=self._source.name, normalize=settings.normalize)

    @cached_property
    def _model(self) -> Any:
        model = self._load("sentence_transformers", "SentenceTransformer", device=self._settings.device)
        name = self._settings.prompt_name
        if name is not None and name not in model.prompts:
            raise InputError(f"The model has no prompt {name!r}. It has: {', '.join(model.prompts) or 'none'}.")
        if self._settings.max_seq_length is not None:
            model.max_seq_length = self._settings.max_seq_length
        return model.eval()


class CrossEncoderScorer(_LocalModel[LocalSettings]):
    """A cross-encoder of sentence-transformers with one output; scores are its logits, which do not saturate."""

    identity = ("scorer", "cross-encoder/1")

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
        tell(progress, len(queries), len(queries))
        return finite(np.asarray(scores, np.float32).reshape(len(queries)), self._source.name)

    @cached_property
    def _model(self) -> Any:
        settings = self._settings
        options = {"device": settings.device, "max_length": settings.max_seq_length}
        model = self._load("sentence_transformers", "CrossEncoder", **options)
        if model.num_labels != 1:
            raise InputError(
                f"The cross-encoder has {model.num_labels} outputs; a reranker has one. Train one with num_labels=1."
            )
        return model.eval()


class ListwiseScorer(_LocalModel[ModelSettings]):
    """A model whose own code has ``rerank(query, documents)``, such as jina-reranker-v3. It must be trusted.

    Neighbours of one query are read together.
    """

    identity = ("scorer", "listwise/1")

    def __init__(self, name_or_path: str, settings: ModelSettings) -> None:
        if not settings.trust_remote_code:
            raise InputError(f"{typed(name_or_path)} {OWN_CODE}")
        super().__init__(name_or_path, settings)

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
            tell(progress, run[-1] + 1, len(queries))
        return finite(scores, self._source.name)

    @cached_property
    def _model(self) -> Any:
        model = self._load("transformers", "AutoModel.from_pretrained")
        if not callable(getattr(model, "rerank", None)):
            raise InputError(
                f"{typed(self._source.name)} has no rerank function. Is it for cross-encoder:NAME_OR_PATH?"
            )
        return model.eval() if self._settings.device is None else model.to(self._settings.device).eval()
