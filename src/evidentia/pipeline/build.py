"""From a configuration to a system: which stage stands where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidentia.pipeline.config import Config
from evidentia.pipeline.encoders.interface import Cache
from evidentia.pipeline.encoders.make import make_encoder, make_pair_scorer
from evidentia.pipeline.encoders.minilm import LAYERS
from evidentia.pipeline.extras import need
from evidentia.pipeline.neural.attention import AttentionSettings
from evidentia.pipeline.stage import Stage
from evidentia.pipeline.stages.adaptive import Adaptive, AutoCut
from evidentia.pipeline.stages.classifiers import Lexical, Vectors
from evidentia.pipeline.stages.gate import BestCandidate, PooledGate
from evidentia.pipeline.stages.ltr import LearnToRank
from evidentia.pipeline.stages.meaning import LSA, Meaning
from evidentia.pipeline.stages.models import Settings
from evidentia.pipeline.stages.network import GraphNetwork, NetworkGate
from evidentia.pipeline.stages.pairs import FineTuned, PairReranker
from evidentia.pipeline.stages.propagation import Propagation
from evidentia.pipeline.stages.retrievers import Bm25, Dense, Fused, Heard
from evidentia.pipeline.stages.tokens import TokenReader
from evidentia.pipeline.system import AUTO, GATE, GRAPH, RERANKER, RETRIEVER, WORDS, Step, System

NONE, BM25 = "none", "bm25"
_LOCAL = {"minilm", "sentence-transformers", "cross-encoder", "listwise", "fine-tuned"}


def system_of(config: Config) -> System:
    """The stages of a configuration, in their order."""
    learners = config.reranker.learners if config.reranker.kind == "ltr" else ()
    first = [WORDS] if WORDS in config.retriever.kind else []
    steps = [Step(name, _learner(config, name)) for name in first]
    if BM25 in config.retriever.kind and len(config.retriever.kind) > 1:  # later stages hear it too
        steps.append(Step(BM25, _bm25(config)))
    steps.append(Step(RETRIEVER, _retriever(config), config.retriever.keep))
    steps += [Step(name, _learner(config, name)) for name in learners if name not in first]
    if config.reranker.kind != NONE:
        steps.append(Step(RERANKER, _reranker(config), config.reranker.keep))
    if config.graph.kind != NONE:
        source = RETRIEVER if config.reranker.kind == NONE else RERANKER
        steps.append(Step(GRAPH, _graph(config, source)))
    return System(
        tuple(steps),
        Step(GATE, _gate(config, steps[-1].name)),
        config.selection.made,
        config.mean_k_at_most,
        config.choices,
        config.protocol.cross_fit,
        config.protocol.seed,
    )


def _retriever(config: Config) -> Stage:
    settings = config.retriever
    parts = tuple(_one_retriever(config, spec) for spec in settings.kind)
    if len(parts) > 1 and settings.fusion != "learned":
        parts = (Fused(parts, settings.fusion, settings.weights, settings.rrf_k),)
    if settings.keep == AUTO:
        return Adaptive(parts, AutoCut(settings.keep_share, settings.keep_at_least, settings.keep_at_most))
    return Adaptive(parts) if len(parts) > 1 else parts[0]


def _one_retriever(config: Config, spec: str) -> Stage:
    if spec == WORDS or (spec == BM25 and len(config.retriever.kind) > 1):
        return Heard(spec)
    if spec == BM25:
        return _bm25(config)
    return Dense(*_model(config, spec))


def _bm25(config: Config) -> Stage:
    return Bm25(config.retriever.k1, config.retriever.b, config.protocol.min_posts)


def _learner(config: Config, name: str) -> Stage:
    if name == WORDS:
        return Lexical(min_posts=config.protocol.min_posts)
    if name == "characters":
        return Lexical("characters", min_posts=config.protocol.min_posts)
    if name == "tokens":
        learnt = AttentionSettings(config.reranker.token_layers, config.reranker.token_epochs)
        return TokenReader(config.cache, learnt)
    return Vectors(*_model(config, config.reranker.vectors))


def _reranker(config: Config) -> Stage:
    settings = config.reranker
    if settings.kind == "ltr":
        return LearnToRank(settings.model, settings.trees, RETRIEVER)
    if settings.kind == "fine-tuned":
        return FineTuned(settings.epochs, settings.max_pairs, settings.learning_rate, settings.batch_size)
    return PairReranker(*_model(config, settings.kind))


def _graph(config: Config, source: str) -> Stage:
    settings = config.graph
    if settings.kind == "propagation":
        return Propagation(source, settings.neighbours, _meaning(config))
    own = {name: getattr(settings, name) for name in ("neighbours", "conv", "layers", "hidden", "epochs", "networks")}
    return GraphNetwork(source=source, meaning=_meaning(config), **own)


def _gate(config: Config, last: str) -> Stage:
    settings = config.gate
    if settings.kind == "best":
        return BestCandidate(last)
    if settings.kind == "pooled":
        return PooledGate(settings.model, trees=settings.trees)
    names = ("hidden", "epochs", "patience", "networks", "blend", "trees")
    own = {name: getattr(settings, name) for name in names}
    return NetworkGate(neighbours=config.graph.neighbours, meaning=_meaning(config), beside=settings.model, **own)


def _meaning(config: Config) -> Meaning:
    return Meaning(*_model(config, config.graph.space), config.protocol.min_posts)


def _model(config: Config, spec: str) -> tuple[str, Settings, Cache]:
    """A model as stages name it: its words, what is set about it, and where its answers are kept."""
    return config.located(spec), tuple(sorted(config.model_settings(spec).items())), config.cache


def needs_torch(config: Config) -> bool:
    """Whether a stage asks a model on this machine, or learns with torch."""
    named = (*encoders_of(config), config.reranker.kind)
    local = any(spec.partition(":")[0] in _LOCAL for spec in named)
    return local or token_layer(config) is not None or "gnn" in {config.graph.kind, config.gate.kind}


def check_extras(config: Config) -> None:
    """Refuse what cannot learn here before anything does; a model that is only asked may be known to the cache."""
    asked = {
        '[reranker] kind = "fine-tuned"': (config.reranker.kind == "fine-tuned", "torch"),
        '[reranker] learners = "tokens"': (token_layer(config) is not None, "torch"),
        '[graph] kind = "gnn"': (config.graph.kind == "gnn", "torch_geometric"),
        '[gate] kind = "gnn"': (config.gate.kind == "gnn", "torch_geometric"),
    }
    for words, (is_asked, module) in asked.items():
        if is_asked:
            need(module, words)


def encoders_of(config: Config) -> dict[str, Mapping[str, Any]]:
    """The encoders that a configuration asks for, each with its settings."""
    specs = [spec for spec in config.retriever.kind if spec not in {BM25, WORDS}]
    if config.reranker.kind == "ltr" and "vectors" in config.reranker.learners:
        specs.append(config.reranker.vectors)
    joins = config.graph.kind != NONE or config.gate.kind == "gnn"
    if joins and config.graph.space != LSA:
        specs.append(config.graph.space)
    return {config.located(spec): config.model_settings(spec) for spec in dict.fromkeys(specs)}


def model_keys(config: Config) -> list[str]:
    """Which weights the named models have, or which servers are asked: a folder may hold others tomorrow."""
    keys = [make_encoder(spec, settings, cache=False).key for spec, settings in encoders_of(config).items()]
    spec = config.reranker.kind
    if spec not in {NONE, "ltr", "fine-tuned"}:
        keys.append(make_pair_scorer(config.located(spec), config.model_settings(spec), cache=False).key)
    return keys


def token_layer(config: Config) -> int | None:
    """The layer of MiniLM whose tokens a configuration reads; None where it reads none."""
    asked = config.reranker.kind == "ltr" and "tokens" in config.reranker.learners
    return LAYERS - config.reranker.token_layers if asked else None
