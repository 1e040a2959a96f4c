"""Settings that are right alone and wrong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evidentia.pipeline.config.models import ModelConfig, applying
from evidentia.pipeline.config.tables import NONE, SYNTHETIC, TUNE, ThreeStateConfig

if TYPE_CHECKING:
    from evidentia.pipeline.config.document import Config


@dataclass(frozen=True)
class Clash:
    """The keys that do not go together, and what to do; it is told only where each of them was read."""

    keys: tuple[str, ...]
    message: str


def clashes(config: Config, present: frozenset[str]) -> Iterator[Clash]:
    """Everything that does not go together. ``given`` are the keys that the file itself has."""
    yield from _of_the_corpus(config)
    yield from _of_fusion(config)
    yield from _of_the_reranker(config)
    yield from _of_models(config)
    yield from _of_k(config)
    yield from _of_gamma(config, present)
    yield from _of_the_rule(config)


def _of_the_corpus(config: Config) -> Iterator[Clash]:
    corpus, folds = config.corpus, config.protocol.folds
    if corpus.posts is not None and corpus.path != SYNTHETIC:
        yield Clash(
            ("corpus.path", "corpus.posts"),
            f'[corpus] posts is for path = "{SYNTHETIC}" only: a corpus in a folder is read as a whole. Leave it out.',
        )
    if corpus.posts is not None and corpus.posts < folds:
        yield Clash(
            ("corpus.posts", "protocol.folds"),
            f"[corpus] posts = {corpus.posts} cannot be dealt into [protocol] folds = {folds}. Write more posts.",
        )


def _of_fusion(config: Config) -> Iterator[Clash]:
    asked, kinds = config.retriever, len(config.retriever.kind)
    keys = ("retriever.kind", "retriever.fusion", "retriever.weights")
    if asked.fusion == "weights" and kinds == 1:
        yield Clash(
            keys[:2], '[retriever] fusion = "weights" needs several kinds. Give a list of them, or leave it out.'
        )
    elif asked.fusion == "weights" and asked.weights is None:
        yield Clash(keys, f'[retriever] fusion = "weights" needs weights: {kinds} numbers, one for every kind.')
    if "words" in asked.kind and kinds > 1:
        yield Clash(
            keys[:1], '[retriever] kind = "words" learns from labels and is not fused. Set it alone, or leave it out.'
        )
    if asked.weights is None:
        return
    if kinds == 1:
        yield Clash(
            (keys[0], keys[2]), "[retriever] weights are for several kinds. Give a list of kinds, or leave them out."
        )
    elif len(asked.weights) != kinds:
        yield Clash(
            (keys[0], keys[2]),
            f"[retriever] has {len(asked.weights)} weights for {kinds} kinds. Give one for every kind.",
        )
    if asked.fusion != "weights" and kinds > 1:
        yield Clash(
            keys[1:], '[retriever] weights are not read by fusion = "rrf". Set fusion = "weights", or leave them out.'
        )
    if not any(asked.weights):
        yield Clash(keys[2:], "[retriever] weights are all 0. Give at least one that is not.")


def _of_the_reranker(config: Config) -> Iterator[Clash]:
    ranker, before = config.reranker, config.retriever.keep
    if ranker.kind != NONE and ranker.keep > before:
        yield Clash(
            ("reranker.kind", "reranker.keep", "retriever.keep"),
            f"[reranker] keep = {ranker.keep} is more than [retriever] keep = {before} lets through. Set it to {before} or less.",
        )
    if ranker.uses_vectors and ranker.vectors == NONE:
        yield Clash(
            ("reranker.kind", "reranker.learners", "reranker.vectors"),
            '[reranker] learners has "vectors", but vectors = "none" names no encoder. Set vectors = "minilm", for example.',
        )


def _of_models(config: Config) -> Iterator[Clash]:
    ranker = config.reranker
    own = (ranker.vectors,) if ranker.uses_vectors else (ranker.kind,)
    yield from _unread("retriever.model", config.retriever.model, config.retriever.kind, ("retriever.kind",))
    keys = ("reranker.kind", "reranker.learners", "reranker.vectors")
    yield from _unread("reranker.model_settings", ranker.model_settings, own, keys)
    if ranker.uses_vectors and ranker.vectors in config.retriever.kind and ranker.model_settings.changed():
        yield Clash(
            (*keys, "retriever.kind"),
            "[reranker.model_settings] is about a model that [retriever] has as well. Set it in [retriever.model] alone.",
        )


def _unread(place: str, model: ModelConfig, specs: tuple[str, ...], keys: tuple[str, ...]) -> Iterator[Clash]:
    """Settings that none of the models takes."""
    read = {name for spec in specs for name in applying(spec)}
    for name in model.changed():
        if name not in read:
            takes = f"They take: {', '.join(sorted(read))}." if read else "They take no settings."
            yield Clash((f"{place}.{name}", *keys), f"[{place}] {name} concerns none of the models here. {takes}")


def _of_k(config: Config) -> Iterator[Clash]:
    chosen = config.selection
    low, high = chosen.k_min, chosen.hard_cap
    if high < low:
        yield Clash(
            ("selection.k_min", "selection.hard_cap"),
            f"[selection] hard_cap = {high} is below k_min = {low}. K cannot be both; change one.",
        )
        return
    for place, policy, k in (
        ("selection", chosen.policy, chosen.k),
        ("selection.uncertain", chosen.uncertain.policy, chosen.uncertain.k),
    ):
        if policy == "fixed" and not low <= k <= high:
            yield Clash(
                (f"{place}.policy", f"{place}.k", "selection.k_min", "selection.hard_cap"),
                f"[{place}] k = {k} is outside [selection] k_min = {low} and hard_cap = {high}, which hold for every policy.",
            )


def _of_gamma(config: Config, present: frozenset[str]) -> Iterator[Clash]:
    chosen = config.selection
    if chosen.policy != "mass" and chosen.gamma == TUNE and "selection.gamma" in present:
        yield Clash(
            ("selection.policy", "selection.gamma"),
            f'[selection] gamma = "{TUNE}" is for policy = "mass"; "{chosen.policy}" has no gamma. Leave it out.',
        )
    if chosen.tunes_gamma and chosen.mean_k_at_most < chosen.k_min:
        yield Clash(
            ("selection.policy", "selection.gamma", "selection.mean_k_at_most", "selection.k_min"),
            f"[selection] mean_k_at_most = {chosen.mean_k_at_most:g} cannot be kept: K is at least k_min = {chosen.k_min}.",
        )


def _of_the_rule(config: Config) -> Iterator[Clash]:
    three = config.three_state
    if three.rule is None:
        return
    for key in ("screening_sensitivity", "fn_per_1000", "alert_precision"):
        if getattr(three, key) != getattr(ThreeStateConfig, key):
            yield Clash(
                ("three_state.rule", f"three_state.{key}"),
                f"[three_state] {key} is a target of two thresholds, and rule asks for one. Leave one of them out.",
            )
