"""The tables of a configuration, one dataclass each: every key with its default, what it takes and what it means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from evidentia.corpus.splitter import DEFAULT, SPLITTERS
from evidentia.pipeline.config.fields import Choice, Either, Number, Place, Setting, Several, Whole, YesNo
from evidentia.pipeline.config.models import ModelConfig
from evidentia.pipeline.config.specs import RuleText, Spec
from evidentia.pipeline.selection import Policy, PolicyName, Selection
from evidentia.protocol.dynamic_k import KPolicy
from evidentia.protocol.targets import Targets
from evidentia.protocol.thresholds import Rule, parse_rule
from evidentia.synth.corpus import MOST_POSTS

SYNTHETIC = "synthetic"
TUNE = "tune"
NONE = "none"
MOST_SEED = 2**31 - 1
_ENCODERS = ("sentence-transformers:NAME_OR_PATH", "openai:BASE_URL,MODEL")
_SCORERS = ("cross-encoder:NAME_OR_PATH", "http:URL[,MODEL]")
_LEARNERS = ("words", "characters", "vectors", "tokens")
_HOW_MANY = Whole(1, 100_000)
_POLICY = Choice(("mass", "threshold", "fixed", "score_gap", "elbow"))
_SHARE = Number(0, 1)
_GAMMA = Number(0, 1, above=True)
_HIDDEN = Whole(4, 4096, multiple=4)  # as many attention heads share it
_NETWORKS = Whole(1, 100)

Learner = Literal["words", "characters", "vectors", "tokens"]


@dataclass(frozen=True)
class CorpusConfig:
    """What is read."""

    path: Annotated[
        str,
        Setting(
            Place("a folder, from that of this file on"),
            f'Where the corpus is; "{SYNTHETIC}" stands for an invented one',
        ),
    ]
    splitter: Annotated[str, Setting(Choice(tuple(SPLITTERS)), "Cuts posts that are given as text")] = DEFAULT
    card: Annotated[
        str | None,
        Setting(Place("a name or a file"), "Dataset card that the corpus must agree with", example="redsm5"),
    ] = None
    posts: Annotated[
        int | None,
        Setting(Whole(2, MOST_POSTS), "Size of the synthetic corpus", example=300),
    ] = None


@dataclass(frozen=True)
class ProtocolConfig:
    """How posts are parted."""

    folds: Annotated[int, Setting(Whole(2, 100), "Outer folds; each is EVAL once")] = 5
    seed: Annotated[int, Setting(Whole(0, MOST_SEED), "Decides the folds and everything that is drawn")] = 7
    cross_fit: Annotated[int, Setting(Whole(2, 10), "Parts of TRAIN that stages are cross-fitted on")] = 3
    groups: Annotated[
        Literal["duplicates", "none"],
        Setting(
            Choice(("duplicates", NONE)),
            "Which posts are never parted: those with identical or near-identical text, or none",
        ),
    ] = "duplicates"
    min_posts: Annotated[
        int,
        Setting(Whole(1, 1_000_000), "Posts of TRAIN that a word or a run of characters is in, to be kept in a model"),
    ] = 3


@dataclass(frozen=True)
class RunConfig:
    """How the work is done."""

    workers: Annotated[
        int,
        Setting(Whole(0, 1024), "Folds at a time; 0 is one for every core, at most as many as folds", decides=False),
    ] = 0
    cache: Annotated[
        bool | str,
        Setting(
            Either(YesNo(), Place("a folder")), "Cache of vectors: in the usual folder, in another, or none", False
        ),
    ] = True
    final_model: Annotated[bool, Setting(YesNo(), "Also train one pipeline on all posts, for evidentia predict")] = True


@dataclass(frozen=True)
class RetrieverConfig:
    """Finds candidates for every criterion among the sentences of a post."""

    kind: Annotated[
        tuple[str, ...],
        Setting(
            Several(Spec(("bm25", "words", "minilm"), _ENCODERS), 1, 8, lone=True),
            'Ranks the sentences; several are fused. "words" learns on TRAIN and stands alone',
        ),
    ] = ("bm25",)
    fusion: Annotated[
        Literal["rrf", "weights"],
        Setting(Choice(("rrf", "weights")), "How several kinds are fused: by their ranks or by weighted scores"),
    ] = "rrf"
    weights: Annotated[
        tuple[float, ...] | None,
        Setting(
            Several(Number(0, 1_000), 2, 8, distinct=False),
            'One for every kind, where fusion is "weights"',
            example=[1.0, 2.0],
        ),
    ] = None
    rrf_k: Annotated[int, Setting(Whole(0, 10_000), "Added to the rank where ranks are fused")] = 60
    keep: Annotated[int, Setting(_HOW_MANY, "Candidates of a query that go on")] = 24
    k1: Annotated[float, Setting(Number(0, 100), "Of BM25: how fast more of the same word stops counting")] = 1.2
    b: Annotated[float, Setting(_SHARE, "Of BM25: how much long sentences are held back")] = 0.75
    model: ModelConfig = field(default_factory=ModelConfig)


@dataclass(frozen=True)
class RerankerConfig:
    """Ranks the candidates of the retriever again."""

    kind: Annotated[
        str,
        Setting(
            Spec(("ltr", "fine-tuned", NONE), _SCORERS),
            "Learning to rank, MiniLM fine-tuned on TRAIN, another model, or none",
        ),
    ] = "ltr"
    keep: Annotated[int, Setting(_HOW_MANY, "Candidates of a query that go on")] = 10
    model: Annotated[
        Literal["boosting", "logistic"],
        Setting(Choice(("boosting", "logistic")), "Of ltr: boosted trees or a logistic regression"),
    ] = "boosting"
    trees: Annotated[int, Setting(Whole(1, 10_000), "Of ltr with boosting: how many")] = 200
    learners: Annotated[
        tuple[Learner, ...],
        Setting(
            Several(Choice(_LEARNERS), 0, len(_LEARNERS), order=_LEARNERS),
            "Of ltr: classifiers of single sentences that it hears",
        ),
    ] = ("words", "characters")
    vectors: Annotated[
        str, Setting(Spec(("minilm", NONE), _ENCODERS), 'Of ltr: the encoder behind the learner "vectors"')
    ] = "minilm"
    token_layers: Annotated[
        int, Setting(Whole(1, 6), 'Of the learner "tokens": how many of the last layers of MiniLM learn')
    ] = 2
    token_epochs: Annotated[int, Setting(Whole(1, 1_000), 'Of the learner "tokens": times through TRAIN')] = 2
    epochs: Annotated[int, Setting(Whole(1, 1_000), "Of fine-tuned: times through the pairs")] = 2
    max_pairs: Annotated[
        int, Setting(Whole(1, 100_000_000), "Of fine-tuned: pairs of criterion and sentence to learn from")
    ] = 20_000
    learning_rate: Annotated[float, Setting(Number(0, 1, above=True), "Of fine-tuned: step of the optimiser")] = 3e-5
    batch_size: Annotated[int, Setting(_HOW_MANY, "Of fine-tuned: pairs at a time")] = 32
    form: Annotated[Literal["jina", "tei"], Setting(Choice(("jina", "tei")), "Of http: what the server speaks")] = (
        "jina"
    )
    model_settings: ModelConfig = field(default_factory=ModelConfig)

    @property
    def uses_vectors(self) -> bool:
        """Whether an encoder is asked."""
        return self.kind == "ltr" and "vectors" in self.learners


@dataclass(frozen=True)
class GraphConfig:
    """Ranks once more, by what the candidates of a query say of each other."""

    kind: Annotated[
        Literal["propagation", "gnn", "none"],
        Setting(Choice(("propagation", "gnn", NONE)), "Scores that travel along edges, a graph network, or none"),
    ] = "propagation"
    neighbours: Annotated[int, Setting(Whole(1, 1_000), "Sentences alike that each is joined with")] = 3
    space: Annotated[str, Setting(Spec(("lsa", "minilm"), _ENCODERS), "Where sentences are alike")] = "lsa"
    layers: Annotated[int, Setting(Whole(0, 16), "Of gnn: how many")] = 2
    hidden: Annotated[int, Setting(_HIDDEN, "Of gnn: width of a layer")] = 64
    networks: Annotated[int, Setting(_NETWORKS, "Of gnn: how many, each with a seed of its own; their mean counts")] = 3
    epochs: Annotated[int, Setting(Whole(1, 10_000), "Of gnn: times through TRAIN, at most")] = 30
    conv: Annotated[
        Literal["gatv2", "gat", "sage"], Setting(Choice(("gatv2", "gat", "sage")), "Of gnn: the convolution")
    ] = "gatv2"


@dataclass(frozen=True)
class UncertainConfig:
    """The same for queries in the state UNCERTAIN; nothing is tuned here, and the limits of K are those above."""

    policy: Annotated[PolicyName, Setting(_POLICY, "What decides K")] = "mass"
    gamma: Annotated[float, Setting(_GAMMA, "Of mass: the share of probability to hold")] = 0.5
    threshold: Annotated[float, Setting(_SHARE, "Of threshold: the probability to reach")] = 0.5
    k: Annotated[int, Setting(_HOW_MANY, "Of fixed: how many")] = 3


@dataclass(frozen=True)
class SelectionConfig:
    """How many of the ranked sentences are returned: K."""

    policy: Annotated[PolicyName, Setting(_POLICY, "What decides K")] = "mass"
    gamma: Annotated[
        float | Literal["tune"],
        Setting(Either(Choice((TUNE,)), _GAMMA), "Of mass: the share of probability to hold; it can be chosen on TUNE"),
    ] = "tune"
    mean_k_at_most: Annotated[
        float, Setting(Number(0, 100_000, above=True), "Of a tuned gamma: mean K that it may lead to")
    ] = 3.5
    threshold: Annotated[float, Setting(_SHARE, "Of threshold: the probability to reach")] = 0.5
    k: Annotated[int, Setting(_HOW_MANY, "Of fixed: how many")] = 3
    k_min: Annotated[int, Setting(Whole(0, 100_000), "K is at least this")] = 2
    hard_cap: Annotated[int, Setting(Whole(0, 100_000), "K is at most this")] = 10
    ratio: Annotated[float, Setting(_GAMMA, "K is at most this share of the candidates")] = 0.5
    uncertain: UncertainConfig = field(default_factory=UncertainConfig)

    @property
    def tunes_gamma(self) -> bool:
        """Whether gamma is chosen on TUNE."""
        return self.policy == "mass" and self.gamma == TUNE

    @property
    def made(self) -> Selection:
        """As the pipeline takes it; a gamma that is tuned has a place holder."""
        own = {} if isinstance(self.gamma, str) else {"gamma": self.gamma}
        careful = self.uncertain
        return Selection(
            Policy(self.policy, threshold=self.threshold, k=self.k, **own),
            Policy(careful.policy, careful.gamma, careful.threshold, careful.k),
            KPolicy(self.k_min, self.hard_cap, self.ratio),
        )


@dataclass(frozen=True)
class GateConfig:
    """Says how probable it is that a query has evidence at all."""

    kind: Annotated[
        Literal["pooled", "gnn", "best"],
        Setting(
            Choice(("pooled", "gnn", "best")),
            "A classifier of pooled scores, a graph network, or no gate: the best candidate's score",
        ),
    ] = "pooled"
    model: Annotated[
        Literal["blend", "boosting", "logistic"],
        Setting(
            Choice(("blend", "boosting", "logistic")),
            "Of pooled, and beside gnn: trees, a logistic regression, or both",
        ),
    ] = "blend"
    trees: Annotated[int, Setting(Whole(1, 10_000), "Of pooled, and beside gnn: how many trees")] = 120
    calibrate: Annotated[
        Literal["auto", "platt", "isotonic"],
        Setting(Choice(("auto", "platt", "isotonic")), "Makes probabilities on TUNE"),
    ] = "auto"
    hidden: Annotated[int, Setting(_HIDDEN, "Of gnn: width of a layer")] = 64
    networks: Annotated[int, Setting(_NETWORKS, "Of gnn: how many, each with a seed of its own; their mean counts")] = 3
    blend: Annotated[bool, Setting(YesNo(), "Of gnn: the mean with a pooled gate")] = True
    epochs: Annotated[int, Setting(Whole(1, 10_000), "Of gnn: times through TRAIN, at most")] = 40
    patience: Annotated[int, Setting(Whole(1, 10_000), "Of gnn: epochs without gain before it stops")] = 5


@dataclass(frozen=True)
class ThreeStateConfig:
    """What the states NEG, UNCERTAIN and POS must reach, by two thresholds that are chosen on TUNE."""

    screening_sensitivity: Annotated[
        float, Setting(_SHARE, "Share of queries with evidence that are not NEG, at least")
    ] = 0.995
    fn_per_1000: Annotated[
        float, Setting(Number(0, 1_000), "Queries with evidence that are NEG, per 1000 queries, at most")
    ] = 5.0
    alert_precision: Annotated[float, Setting(_SHARE, "Share of POS queries that have evidence, at least")] = 0.9
    rule: Annotated[
        str | None,
        Setting(RuleText(), "One threshold by a rule instead of two, so that no query is UNCERTAIN", example="max-f1"),
    ] = None

    @property
    def targets(self) -> Targets:
        """As the protocol takes them; those per post stay the contract's."""
        return Targets(self.screening_sensitivity, self.fn_per_1000, self.alert_precision)

    @property
    def chosen_rule(self) -> Rule | None:
        """The rule, if there is to be one threshold."""
        return None if self.rule is None else parse_rule(self.rule)
