"""Settings that are right alone and wrong together."""

from __future__ import annotations

from collections.abc import Iterator

from evidentia.pipeline.config.document import Config
from evidentia.pipeline.config.tables import AUTO, NONE, SYNTHETIC, TUNE, ModelConfig, ThreeStateConfig, applying

Clash = tuple[str, str, str]  # the table, its keys (and others with their table), and what is wrong behind its name


def clashes(config: Config, present: frozenset[str]) -> Iterator[Clash]:
    """Everything that does not go together. ``present`` are the keys that the file itself has."""
    yield from _of_the_corpus(config)
    yield from _of_fusion(config)
    yield from _of_the_reranker(config)
    yield from _of_models(config)
    yield from _of_k(config)
    yield from _of_gamma(config, present)
    yield from _of_the_rule(config)


def _of_the_corpus(config: Config) -> Iterator[Clash]:
    posts, folds = config.corpus.posts, config.protocol.folds
    if posts is not None and config.corpus.path != SYNTHETIC:
        message = f'posts is for path = "{SYNTHETIC}" only: a corpus in a folder is read as a whole. Leave it out.'
        yield "corpus", "path posts", message
    if posts is not None and posts < folds:
        message = f"posts = {posts} cannot be dealt into [protocol] folds = {folds}. Write more posts."
        yield "corpus", "posts protocol.folds", message


def _of_fusion(config: Config) -> Iterator[Clash]:
    table, weights, kinds = "retriever", config.retriever.weights, len(config.retriever.kind)
    weighted = config.retriever.fusion == "weights"
    if weighted and kinds == 1:
        yield table, "kind fusion", 'fusion = "weights" needs several kinds. Give a list of them, or leave it out.'
    elif weighted and weights is None:
        yield table, "kind fusion weights", f'fusion = "weights" needs weights: {kinds} numbers, one for every kind.'
    if weights is None:
        return
    if kinds == 1:
        yield table, "kind weights", "weights are for several kinds. Give a list of kinds, or leave them out."
    elif len(weights) != kinds:
        yield table, "kind weights", f"has {len(weights)} weights for {kinds} kinds. Give one for every kind."
    if not weighted and kinds > 1:
        message = (
            f'weights are not read by fusion = "{config.retriever.fusion}". Set fusion = "weights", or leave them out.'
        )
        yield table, "fusion weights", message
    if not any(weights):
        yield table, "weights", "weights are all 0. Give at least one that is not."


def _of_the_reranker(config: Config) -> Iterator[Clash]:
    ranker, retriever = config.reranker, config.retriever
    key = "keep_at_least" if retriever.keep == AUTO else "keep"
    if retriever.keep == AUTO and retriever.keep_at_least > retriever.keep_at_most:
        message = f"keep_at_least = {retriever.keep_at_least} is more than keep_at_most = {retriever.keep_at_most}."
        yield "retriever", "keep keep_at_least keep_at_most", f"{message} Change one."
    before = getattr(retriever, key)
    if ranker.kind != NONE and ranker.keep > before:
        message = (
            f"keep = {ranker.keep} is more than [retriever] {key} = {before} lets through. Set it to {before} or less."
        )
        yield "reranker", f"kind keep retriever.keep retriever.{key}", message
    if ranker.uses_vectors and ranker.vectors == NONE:
        message = 'learners has "vectors", but vectors = "none" names no encoder. Set vectors = "minilm", for example.'
        yield "reranker", "kind learners vectors", message


def _of_models(config: Config) -> Iterator[Clash]:
    ranker = config.reranker
    own = (ranker.vectors,) if ranker.uses_vectors else (ranker.kind,)
    keys = "reranker.kind reranker.learners reranker.vectors"
    yield from _unread("retriever.model", config.retriever.model, config.retriever.kind, "retriever.kind")
    yield from _unread("reranker.model_settings", ranker.model_settings, own, keys)
    if ranker.uses_vectors and ranker.vectors in config.retriever.kind and ranker.model_settings.changed():
        message = "is about a model that [retriever] has as well. Set it in [retriever.model] alone."
        yield "reranker.model_settings", f"{keys} retriever.kind", message


def _unread(table: str, model: ModelConfig, specs: tuple[str, ...], keys: str) -> Iterator[Clash]:
    """Settings that none of the models takes."""
    read = {name for spec in specs for name in applying(spec)}
    takes = f"They take: {', '.join(sorted(read))}." if read else "They take no settings."
    for name in model.changed():
        if name not in read:
            yield table, f"{name} {keys}", f"{name} concerns none of the models here. {takes}"


def _of_k(config: Config) -> Iterator[Clash]:
    selection = config.selection
    low, high = selection.k_min, selection.hard_cap
    if high < low:
        message = f"hard_cap = {high} is below k_min = {low}. K cannot be both; change one."
        yield "selection", "k_min hard_cap", message
        return
    for table, chosen in (("selection", selection), ("selection.uncertain", selection.uncertain)):
        if chosen.policy == "fixed" and not low <= chosen.k <= high:
            limits = f"[selection] k_min = {low} and hard_cap = {high}, which hold for every policy"
            keys = "policy k selection.k_min selection.hard_cap"
            yield table, keys, f"k = {chosen.k} is outside {limits}."


def _of_gamma(config: Config, present: frozenset[str]) -> Iterator[Clash]:
    chosen = config.selection
    if chosen.policy != "mass" and chosen.gamma == TUNE and "selection.gamma" in present:
        message = f'gamma = "{TUNE}" is for policy = "mass"; "{chosen.policy}" has no gamma. Leave it out.'
        yield "selection", "policy gamma", message
    if chosen.tunes_gamma and chosen.mean_k_at_most < chosen.k_min:
        message = f"mean_k_at_most = {chosen.mean_k_at_most:g} cannot be kept: K is at least k_min = {chosen.k_min}."
        yield "selection", "policy gamma mean_k_at_most k_min", message


def _of_the_rule(config: Config) -> Iterator[Clash]:
    for key in ("screening_sensitivity", "fn_per_1000", "alert_precision"):
        differs = getattr(config.three_state, key) != getattr(ThreeStateConfig, key)
        if config.three_state.rule is not None and differs:
            message = f"{key} is a target of two thresholds, and rule asks for one. Leave one of them out."
            yield "three_state", f"rule {key}", message
