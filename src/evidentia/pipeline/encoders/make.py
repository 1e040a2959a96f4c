"""From what a person writes to a model: ``minilm``, ``sentence-transformers:NAME``, ``openai:URL,MODEL`` and so on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidentia.errors import InputError
from evidentia.pipeline.addresses import shown_address
from evidentia.pipeline.encoders.cache import Store, default_cache_folder
from evidentia.pipeline.encoders.cached import CachedEncoder, CachedPairScorer, CachedTokens, CacheReport
from evidentia.pipeline.encoders.fine_tuning import CrossEncoder, is_fine_tuned
from evidentia.pipeline.encoders.interface import Cache, Encoder, PairScorer, TokenEncoder
from evidentia.pipeline.encoders.local import (
    CrossEncoderScorer,
    EncoderSettings,
    ListwiseScorer,
    LocalSettings,
    ModelSettings,
    SentenceTransformerEncoder,
)
from evidentia.pipeline.encoders.minilm import MiniLM, MiniLMTokens
from evidentia.pipeline.encoders.servers import EmbeddingsSettings, RerankSettings, ServerEncoder, ServerPairScorer
from evidentia.pipeline.settings import read_settings

ENCODERS = ("minilm", "sentence-transformers:NAME_OR_PATH", "openai:BASE_URL,MODEL")
PAIR_SCORERS = ("cross-encoder:NAME_OR_PATH", "listwise:NAME_OR_PATH", "http:URL[,MODEL]")


@dataclass(frozen=True)
class NoSettings:
    """Of models that have nothing to set."""


def make_encoder(spec: str, settings: Mapping[str, Any] | None = None, *, cache: Cache = True) -> Encoder:
    """The encoder that the words name, with a cache unless it is turned off.

    >>> len(make_encoder("minilm", cache=False).key)
    64
    """
    options = settings or {}
    name, _, rest = spec.partition(":")
    if name == "minilm" and not rest:
        read_settings(NoSettings, options, "minilm")
        return _kept_vectors(MiniLM(), cache)
    if name == "sentence-transformers" and rest:
        read = read_settings(EncoderSettings, options, "sentence-transformers")
        return _kept_vectors(SentenceTransformerEncoder(rest, read), cache)
    if name == "openai" and rest:
        url, _, model = rest.partition(",")
        if not model:
            raise InputError(f"{shown_address(spec)} names no model. Write openai:BASE_URL,MODEL.")
        asked = read_settings(EmbeddingsSettings, options, "openai")
        return _kept_vectors(ServerEncoder(url, model, asked), cache, asked.batch_size)
    raise InputError(f"There is no encoder {shown_address(spec)}. Choose one of: {', '.join(ENCODERS)}.")


def make_pair_scorer(spec: str, settings: Mapping[str, Any] | None = None, *, cache: Cache = True) -> PairScorer:
    """The scorer of pairs that the words name, with a cache unless it is turned off."""
    options = settings or {}
    name, _, rest = spec.partition(":")
    if name == "cross-encoder" and rest:
        if is_fine_tuned(Path(rest)):
            read_settings(NoSettings, options, "A cross-encoder that was fine-tuned here")
            return _kept_scores(CrossEncoder.load(Path(rest)), cache)
        return _kept_scores(CrossEncoderScorer(rest, read_settings(LocalSettings, options, "cross-encoder")), cache)
    if name == "listwise" and rest:
        listwise = ListwiseScorer(rest, read_settings(ModelSettings, options, "listwise"))
        return _kept_scores(listwise, cache, listwise=True)
    if name == "http" and rest:
        url, _, model = rest.partition(",")
        asked = read_settings(RerankSettings, options, "http")
        scorer = ServerPairScorer(url, model or None, asked)
        return _kept_scores(scorer, cache, piece=asked.batch_size, by_query=True, listwise=asked.listwise)
    raise InputError(f"There is no scorer of pairs {shown_address(spec)}. Choose one of: {', '.join(PAIR_SCORERS)}.")


def make_token_encoder(layer: int, *, cache: Cache = True) -> TokenEncoder:
    """MiniLM's vectors of tokens behind a layer, with a cache unless it is turned off."""
    encoder, folder = MiniLMTokens(layer), _folder(cache)
    return encoder if folder is None else CachedTokens(encoder, Store(folder, encoder.key, width=encoder.width))


def cache_report(model: Encoder | TokenEncoder | PairScorer) -> CacheReport | None:
    """What a model found in its cache so far; None where it has none."""
    return model.cache if isinstance(model, CachedEncoder | CachedPairScorer | CachedTokens) else None


def _kept_vectors(encoder: Encoder, cache: Cache, piece: int = 512) -> Encoder:
    folder = _folder(cache)
    return encoder if folder is None else CachedEncoder(encoder, Store(folder, encoder.key), piece=piece)


def _kept_scores(scorer: PairScorer, cache: Cache, **how: Any) -> PairScorer:
    folder = _folder(cache)
    return scorer if folder is None else CachedPairScorer(scorer, Store(folder, scorer.key), **how)


def _folder(cache: Cache) -> Path | None:
    if isinstance(cache, bool):
        return default_cache_folder() if cache else None
    return Path(cache)
