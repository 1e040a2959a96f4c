"""Ranking: do the gold sentences stand at the top? Binary gain, one value per query, averaged over a named population."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.measures import kernels
from evidentia.measures.family import AVERAGE, Family
from evidentia.measures.populations import POPULATION, asked_population
from evidentia.results.measure import Args, Parameter
from evidentia.tables.queries import Queries, Ragged

NORM = Parameter("norm", ("gold", "found", "min", "min_eff"), "gold")
DEPTH = Parameter("depth", ("k", "k_eff"), "k")
MANNING = "Manning, Raghavan, Schuetze, Introduction to Information Retrieval, ch. 8 (2008)"
POP_CHOICES = {
    "pop=positives": "queries with evidence only",
    "pop=all": "every query; one without gold scores 0, so the figure falls with the share of positives",
}
EMPTY_GOLD = "trec_eval and ranx: a query without gold scores 0 and is averaged in; XGBoost scores it 1"
family = Family(
    "ranking",
    population=asked_population,
    requires=("ranking",),
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=("no queries in the population",),
    cut="k",
    params=(POPULATION, AVERAGE),
    choices=POP_CHOICES,
)


def _ranks(queries: Queries) -> tuple[Ragged, Ints, Ints]:
    """Ranks of the gold sentences, and how many are gold and are ranked; the family's ``requires`` guarantees them."""
    assert queries.gold_ranks is not None
    assert queries.n_gold is not None
    assert queries.n_ranked is not None
    return queries.gold_ranks, queries.n_gold, queries.n_ranked


@family.mean(
    "Recall",
    label="Recall at K",
    formula="|gold in the top K| / |gold|",
    meaning="The share of the evidence sentences that a reader of the top K sees.",
    reference=MANNING,
    conventions={
        "trec_eval": "recall_K: the same",
        "ranx": "the same; its users sometimes expect min(|gold|, K) below the line",
        "empty gold": EMPTY_GOLD,
    },
)
def recall(queries: Queries, args: Args) -> Floats:
    """Recall in the top K of every query."""
    ranks, n_gold, _ = _ranks(queries)
    return kernels.recall(ranks, n_gold, args.k)


@family.mean(
    "Precision",
    label="Precision at K",
    params=(DEPTH, POPULATION, AVERAGE),
    formula="|gold in the top K| / K; with depth=k_eff the divisor is min(K, |ranked|)",
    meaning="The share of the top K sentences that are evidence; with one gold sentence it cannot exceed 1/K.",
    reference=MANNING,
    choices={"depth=k": "divide by K", "depth=k_eff": "divide by min(K, |ranked|)", **POP_CHOICES},
    conventions={"trec_eval": "P_K: depth=k", "ranx": "depth=k", "empty gold": EMPTY_GOLD},
)
def precision(queries: Queries, args: Args) -> Floats:
    """Precision in the top K of every query; K = ALL means the length of the ranking."""
    ranks, _, n_ranked = _ranks(queries)
    if args.k is None:
        return kernels.precision(ranks, n_ranked)
    return kernels.precision(ranks, np.minimum(n_ranked, args.k) if args["depth"] == "k_eff" else args.k)


@family.mean(
    "HitRate",
    proportion=True,
    label="Hit rate at K",
    formula="1 if any gold sentence is in the top K, else 0",
    meaning="The share of queries where a reader of the top K sees at least one evidence sentence.",
    reference=MANNING,
    conventions={"trec_eval": "success_K: the same", "empty gold": EMPTY_GOLD},
)
def hit_rate(queries: Queries, args: Args) -> Floats:
    """Whether the top K of every query holds a gold sentence."""
    ranks, _, _ = _ranks(queries)
    return (kernels.hits(ranks, args.k) > 0).astype(float)


@family.mean(
    "MAP",
    label="Mean average precision at K",
    params=(NORM, POPULATION, AVERAGE),
    formula="sum of precision at the rank of each gold sentence in the top K, divided by |gold| (norm=gold), by the gold "
    "found there (found), by min(|gold|, K) (min) or by min(|gold|, K, |ranked|) (min_eff)",
    meaning="Rewards evidence that stands high and is complete; the divisor decides how much missing evidence costs.",
    reference="Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR (2000)",
    choices={
        "norm=gold": "divide by all gold: evidence beyond K counts as missed",
        "norm=found": "divide by the gold found in the top K: says nothing about what was missed",
        "norm=min": "divide by min(|gold|, K): 1.0 is reachable when there are more than K",
        "norm=min_eff": "divide by min(|gold|, K, |ranked|): 1.0 is reachable on short rankings too",
        **POP_CHOICES,
    },
    conventions={
        "trec_eval": "map_cut_K: norm=gold; map: norm=gold, uncut",
        "ranx": "map@K: norm=gold",
        "Kaggle": "MAP@K: norm=min",
        "torchmetrics": "RetrievalMAP: norm=found",
        "empty gold": EMPTY_GOLD,
    },
)
def mean_average_precision(queries: Queries, args: Args) -> Floats:
    """Average precision of every query."""
    ranks, n_gold, n_ranked = _ranks(queries)
    return kernels.average_precision(ranks, n_gold, n_ranked, args.k, args["norm"])


@family.mean(
    "nDCG",
    label="Normalised discounted cumulative gain at K",
    formula="sum of 1/log2(rank + 1) over the gold sentences in the top K, divided by the same sum for min(|gold|, K) gold "
    "sentences on top",
    meaning="How close the order is to the ideal one, with the first ranks weighing most; 1 is ideal.",
    reference="Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20 (2002)",
    conventions={
        "trec_eval": "ndcg_cut_K: the same for binary relevance",
        "scikit-learn": "ndcg_score: averages over ties and scores a query without gold 0",
        "wrong elsewhere": "an ideal built from the truncated list scores 1.0 for one hit in 3 where 3 are gold; right is 0.469",
        "empty gold": EMPTY_GOLD,
    },
)
def ndcg(queries: Queries, args: Args) -> Floats:
    """nDCG of every query; the ideal comes from the labels, not from the list."""
    ranks, n_gold, _ = _ranks(queries)
    return kernels.ndcg(ranks, n_gold, args.k)


first_hit = family.with_common(
    meaning="How soon the first evidence sentence comes; a harmonic mean, so 1/MRR is not an expected rank.",
    reference="Voorhees, The TREC-8 question answering track report (1999)",
)


@first_hit.mean(
    "MRR",
    label="Mean reciprocal rank",
    cut=None,
    formula="1 / rank of the first gold sentence, 0 if none is ranked",
    conventions={"trec_eval": "recip_rank: the same", "empty gold": EMPTY_GOLD},
)
def reciprocal_rank(queries: Queries, args: Args) -> Floats:
    """Reciprocal rank of the first gold sentence of every query."""
    return kernels.reciprocal_rank(_ranks(queries)[0], None)


@first_hit.mean(
    "MRR",
    label="Mean reciprocal rank at K",
    formula="1 / rank of the first gold sentence, 0 if none is in the top K",
    conventions={"MS MARCO": "MRR@10: the same", "empty gold": EMPTY_GOLD},
)
def reciprocal_rank_at_k(queries: Queries, args: Args) -> Floats:
    """Reciprocal rank of the first gold sentence in the top K of every query."""
    return kernels.reciprocal_rank(_ranks(queries)[0], args.k)
