"""The tables of a configuration, one dataclass each: every key with its default, what it takes and what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_type_hints

from evidentia.corpus.splitter import DEFAULT, SPLITTERS
from evidentia.pipeline.config.kinds import (
    RULE,
    VARIABLE,
    YES_NO,
    ValueKind,
    choice,
    either,
    model_spec,
    number,
    place,
    several,
    text,
    whole,
)
from evidentia.pipeline.selection import Policy, PolicyName, Selection
from evidentia.protocol import KPolicy, Targets
from evidentia.synth.corpus import MOST_POSTS

SYNTHETIC, TUNE, NONE, AUTO = "synthetic", "tune", "none", "auto"
MOST_SEED = 2**31 - 1
_ENCODERS = ("sentence-transformers:NAME_OR_PATH", "openai:BASE_URL,MODEL")
_MANY = whole(1, 100_000)
_COUNT = whole(0, 100_000)
_SHARE = number(0, 1)
_ABOVE_ZERO = number(0, 1, above=True)
_TREES = _EPOCHS = whole(1, 10_000)
_FEW_EPOCHS = whole(1, 1_000)
_HIDDEN = whole(4, 4096, multiple=4)  # as many attention heads share it
_NETWORKS = whole(1, 100)
_TIMES = "Of gnn: times through TRAIN, at most"
_HOW_MANY_NETWORKS = "Of gnn: how many, each with a seed of its own; their mean counts"

Learner = Literal["words", "characters", "vectors", "tokens"]


@dataclass(frozen=True)
class Setting:
    """What a key of a table takes and means.

    ``decides`` is False where it changes no result; ``example`` is shown where the default is to leave it out.
    """

    kind: ValueKind
    meaning: str
    decides: bool = True
    example: Any = None


def setting(
    default: Any, meaning: str, kind: ValueKind | None = None, *, decides: bool = True, example: Any = None
) -> Any:
    """A field of a table; without a kind it takes what its type says: true or false, or one of a few words."""
    return field(default=default, metadata={"setting": (kind, meaning, decides, example)})


def settings_of(table: type) -> Iterator[tuple[str, Setting]]:
    """The keys of a table in their order."""
    hints = get_type_hints(table)
    for each in fields(table):
        if "setting" in each.metadata:
            kind, *rest = each.metadata["setting"]
            yield each.name, Setting(kind or _kind_of(hints[each.name]), *rest)


def _kind_of(hint: Any) -> ValueKind:
    return YES_NO if hint is bool else choice(*get_args(hint))


def subtables(table: type) -> dict[str, type[Any]]:
    """The tables within a dataclass, by name."""
    hints = get_type_hints(table)
    return {each.name: hints[each.name] for each in fields(table) if is_dataclass(hints[each.name])}


@dataclass(frozen=True)
class ModelConfig:
    """What can be set about a model; what is left out is as the model has it."""

    query_prompt: str | None = setting(None, "Stands before criteria", text(free=True), example="query: ")
    passage_prompt: str | None = setting(None, "Stands before sentences", text(free=True), example="passage: ")
    max_seq_length: int | None = setting(None, "Tokens behind which a text is cut", whole(1, 1_000_000), example=256)
    batch_size: int | None = setting(None, "Texts at a time", _MANY, decides=False, example=32)
    trust_remote_code: bool = setting(False, "Run code that comes with the model")
    api_key_env: str | None = setting(
        None, "The variable that holds the key of the server", VARIABLE, decides=False, example="EMBEDDINGS_KEY"
    )
    timeout: float | None = setting(
        None, "Seconds to wait for the server", number(0, 86_400, above=True), decides=False, example=120.0
    )
    retries: int | None = setting(
        None, "Times that a failed request is sent again", whole(0, 100), decides=False, example=5
    )

    def given(self, spec: str) -> dict[str, Any]:
        """What is set and concerns this model, as the model takes it."""
        every = {name: getattr(self, name) for name in applying(spec)}
        return {name: value for name, value in every.items() if value is not None}

    def changed(self) -> tuple[str, ...]:
        """The names of what is not left as it was."""
        return tuple(name for name, _ in settings_of(ModelConfig) if getattr(self, name) != getattr(ModelConfig, name))


_APPLIES = {
    "sentence-transformers": ("query_prompt", "passage_prompt", "max_seq_length", "batch_size", "trust_remote_code"),
    "openai": ("query_prompt", "passage_prompt", "batch_size", "api_key_env", "timeout", "retries"),
    "cross-encoder": ("max_seq_length", "batch_size", "trust_remote_code"),
    "http": ("batch_size", "api_key_env", "timeout", "retries"),
}


def applying(spec: str) -> tuple[str, ...]:
    """The settings that a model takes.

    >>> applying("cross-encoder:some/model")
    ('max_seq_length', 'batch_size', 'trust_remote_code')
    """
    return _APPLIES.get(spec.partition(":")[0], ())


@dataclass(frozen=True)
class CorpusConfig:
    """What is read."""

    path: str = setting(
        MISSING,
        f'Where the corpus is; "{SYNTHETIC}" stands for an invented one',
        place("a folder, from that of this file on"),
    )
    splitter: str = setting(DEFAULT, "Cuts posts that are given as text", choice(*SPLITTERS))
    card: str | None = setting(
        None, "Dataset card that the corpus must agree with", place("a name or a file"), example="redsm5"
    )
    posts: int | None = setting(None, "Size of the synthetic corpus", whole(2, MOST_POSTS), example=300)


@dataclass(frozen=True)
class ProtocolConfig:
    """How posts are parted."""

    folds: int = setting(5, "Outer folds; each is EVAL once", whole(2, 100))
    seed: int = setting(7, "Decides the folds and everything that is drawn", whole(0, MOST_SEED))
    cross_fit: int = setting(3, "Parts of TRAIN that stages are cross-fitted on", whole(2, 10))
    groups: Literal["duplicates", "none"] = setting(
        "duplicates", "Which posts are never parted: those with identical or near-identical text, or none"
    )
    min_posts: int = setting(
        3, "Posts of TRAIN that a word or a run of characters is in, to be kept in a model", whole(1, 1_000_000)
    )


@dataclass(frozen=True)
class RunConfig:
    """How the work is done."""

    workers: int = setting(
        0, "Folds at a time; 0 is one for every core, at most as many as folds", whole(0, 1024), decides=False
    )
    cache: bool | str = setting(
        True,
        "Cache of vectors: in the usual folder, in another, or none",
        either(YES_NO, place("a folder")),
        decides=False,
    )
    final_model: bool = setting(True, "Also train one pipeline on all posts, for evidentia predict")


@dataclass(frozen=True)
class RetrieverConfig:
    """Finds candidates for every criterion among the sentences of a post."""

    kind: tuple[str, ...] = setting(
        ("words", "bm25"),
        'Ranks the sentences; several are fused. "words" learns on TRAIN, a classifier per criterion',
        several(model_spec("bm25", "words", "minilm", *_ENCODERS), 1, 8, lone=True),
    )
    fusion: Literal["learned", "rrf", "weights"] = setting(
        "learned", "How several kinds are fused: by weights learnt on TRAIN, by their ranks or by weights of your own"
    )
    weights: tuple[float, ...] | None = setting(
        None,
        'One for every kind, where fusion is "weights"',
        several(number(0, 1_000), 2, 8, distinct=False),
        example=[1.0, 2.0],
    )
    rrf_k: int = setting(60, "Added to the rank where ranks are fused", whole(0, 10_000))
    keep: int | Literal["auto"] = setting(
        AUTO, "Candidates of a query that go on; the number can be chosen on TUNE", either(choice(AUTO), _MANY)
    )
    keep_share: float = setting(0.99, "Of an automatic keep: share of the gold of TUNE to keep", _ABOVE_ZERO)
    keep_at_least: int = setting(24, "Of an automatic keep: candidates at least; short documents are not cut", _MANY)
    keep_at_most: int = setting(64, "Of an automatic keep: candidates at most, which bounds the cost", _MANY)
    k1: float = setting(1.2, "Of BM25: how fast more of the same word stops counting", number(0, 100))
    b: float = setting(0.75, "Of BM25: how much long sentences are held back", _SHARE)
    model: ModelConfig = field(default_factory=ModelConfig)


@dataclass(frozen=True)
class RerankerConfig:
    """Ranks the candidates of the retriever again."""

    kind: str = setting(
        "ltr",
        "Learning to rank, MiniLM fine-tuned on TRAIN, another model, or none",
        model_spec("ltr", "fine-tuned", NONE, "cross-encoder:NAME_OR_PATH", "http:URL[,MODEL]"),
    )
    keep: int = setting(10, "Candidates of a query that go on", _MANY)
    model: Literal["boosting", "logistic"] = setting("boosting", "Of ltr: boosted trees or a logistic regression")
    trees: int = setting(120, "Of ltr with boosting: how many", _TREES)
    learners: tuple[Learner, ...] = setting(
        ("words", "characters"),
        "Of ltr: classifiers of single sentences that it hears",
        several(choice(*get_args(Learner)), 0, len(get_args(Learner)), order=get_args(Learner)),
    )
    vectors: str = setting(
        "minilm", 'Of ltr: the encoder behind the learner "vectors"', model_spec("minilm", NONE, *_ENCODERS)
    )
    token_layers: int = setting(2, 'Of the learner "tokens": how many of the last layers of MiniLM learn', whole(1, 6))
    token_epochs: int = setting(2, 'Of the learner "tokens": times through TRAIN', _FEW_EPOCHS)
    epochs: int = setting(2, "Of fine-tuned: times through the pairs", _FEW_EPOCHS)
    max_pairs: int = setting(
        20_000, "Of fine-tuned: pairs of criterion and sentence to learn from", whole(1, 100_000_000)
    )
    learning_rate: float = setting(3e-5, "Of fine-tuned: step of the optimiser", _ABOVE_ZERO)
    batch_size: int = setting(32, "Of fine-tuned: pairs at a time", _MANY)
    form: Literal["jina", "tei"] = setting("jina", "Of http: what the server speaks")
    model_settings: ModelConfig = field(default_factory=ModelConfig)

    @property
    def uses_vectors(self) -> bool:
        """Whether an encoder is asked."""
        return self.kind == "ltr" and "vectors" in self.learners


@dataclass(frozen=True)
class GraphConfig:
    """Ranks once more, by what the candidates of a query say of each other."""

    kind: Literal["propagation", "gnn", "none"] = setting(
        NONE, "Scores that travel along edges, a graph network, or none"
    )
    neighbours: int = setting(3, "Sentences alike that each is joined with", whole(1, 1_000))
    space: str = setting("lsa", "Where sentences are alike", model_spec("lsa", "minilm", *_ENCODERS))
    layers: int = setting(2, "Of gnn: how many", whole(0, 16))
    hidden: int = setting(64, "Of gnn: width of a layer", _HIDDEN)
    networks: int = setting(3, _HOW_MANY_NETWORKS, _NETWORKS)
    epochs: int = setting(30, _TIMES, _EPOCHS)
    conv: Literal["gatv2", "gat", "sage"] = setting("gatv2", "Of gnn: the convolution")


@dataclass(frozen=True)
class UncertainConfig:
    """The same for queries in the state UNCERTAIN; nothing is tuned here, and the limits of K are those above."""

    policy: PolicyName = setting("mass", "What decides K")
    gamma: float = setting(0.5, "Of mass: the share of probability to hold", _ABOVE_ZERO)
    threshold: float = setting(0.5, "Of threshold: the probability to reach", _SHARE)
    k: int = setting(3, "Of fixed: how many", _MANY)


@dataclass(frozen=True)
class SelectionConfig:
    """How many of the ranked sentences are returned: K."""

    policy: PolicyName = setting("mass", "What decides K")
    gamma: float | Literal["tune"] = setting(
        TUNE,
        "Of mass: the share of probability to hold; it can be chosen on TUNE",
        either(choice(TUNE), _ABOVE_ZERO),
    )
    mean_k_at_most: float = setting(3.5, "Of a tuned gamma: mean K that it may lead to", number(0, 100_000, above=True))
    threshold: float = setting(0.5, "Of threshold: the probability to reach", _SHARE)
    k: int = setting(3, "Of fixed: how many", _MANY)
    k_min: int = setting(2, "K is at least this", _COUNT)
    hard_cap: int = setting(10, "K is at most this", _COUNT)
    ratio: float = setting(0.5, "K is at most this share of the candidates", _ABOVE_ZERO)
    uncertain: UncertainConfig = field(default_factory=UncertainConfig)

    @property
    def tunes_gamma(self) -> bool:
        """Whether gamma is chosen on TUNE."""
        return self.policy == "mass" and self.gamma == TUNE

    @property
    def made(self) -> Selection:
        """As the pipeline takes it; a gamma that is tuned has a place holder."""
        standard = Policy(self.policy, threshold=self.threshold, k=self.k)
        careful = self.uncertain
        return Selection(
            standard if isinstance(self.gamma, str) else replace(standard, gamma=self.gamma),
            Policy(careful.policy, careful.gamma, careful.threshold, careful.k),
            KPolicy(self.k_min, self.hard_cap, self.ratio),
        )


@dataclass(frozen=True)
class GateConfig:
    """Says how probable it is that a query has evidence at all."""

    kind: Literal["pooled", "gnn", "best"] = setting(
        "pooled", "A classifier of pooled scores, a graph network, or no gate: the best candidate's score"
    )
    model: Literal["blend", "boosting", "logistic"] = setting(
        "blend", "Of pooled, and beside gnn: trees, a logistic regression, or both"
    )
    trees: int = setting(120, "Of pooled, and beside gnn: how many trees", _TREES)
    calibrate: Literal["auto", "platt", "isotonic"] = setting("auto", "Makes probabilities on TUNE")
    hidden: int = setting(64, "Of gnn: width of a layer", _HIDDEN)
    networks: int = setting(3, _HOW_MANY_NETWORKS, _NETWORKS)
    blend: bool = setting(True, "Of gnn: the mean with a pooled gate")
    epochs: int = setting(40, _TIMES, _EPOCHS)
    patience: int = setting(5, "Of gnn: epochs without gain before it stops", _EPOCHS)


@dataclass(frozen=True)
class ThreeStateConfig:
    """What the states NEG, UNCERTAIN and POS must reach, by two thresholds that are chosen on TUNE."""

    screening_sensitivity: float = setting(0.995, "Share of queries with evidence that are not NEG, at least", _SHARE)
    fn_per_1000: float = setting(5.0, "Queries with evidence that are NEG, per 1000 queries, at most", number(0, 1_000))
    alert_precision: float = setting(0.9, "Share of POS queries that have evidence, at least", _SHARE)
    rule: str | None = setting(
        None, "One threshold by a rule instead of two, so that no query is UNCERTAIN", RULE, example="max-f1"
    )

    @property
    def targets(self) -> Targets:
        """As the protocol takes them; those per post stay the contract's."""
        own = (self.screening_sensitivity, self.fn_per_1000, self.alert_precision)
        return Targets().after(dict(zip(Targets().over_queries, own, strict=True)))
