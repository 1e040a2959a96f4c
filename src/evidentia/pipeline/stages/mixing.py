"""How much a second score counts beside a first: the share of best nDCG@10 on TUNE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.measures import kernels
from evidentia.pipeline.graphs import query_nodes

WEIGHTS = tuple(step / 10 for step in range(11))
DEPTH = 10


@dataclass(frozen=True)
class Weight:
    """The share of the refined score, and what each share reached on TUNE."""

    weight: float
    ndcg: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The form that is written."""
        return {"weight": self.weight, "weights": list(WEIGHTS), "tune_ndcg": list(self.ndcg)}


def mixed(original: Floats, refined: Floats, weight: float) -> Floats:
    """The mixture of two scores."""
    together: Floats = (1 - weight) * original + weight * refined
    return together


def choose_weight(original: Floats, refined: Floats, *, kept: Bools, gold: Bools, offsets: Ints) -> Weight:
    """The weight of best nDCG@10 over the queries with gold; the smallest of equals, so that nothing is changed for nothing."""
    reached = tuple(mean_ndcg(mixed(original, refined, weight), kept, gold, offsets) for weight in WEIGHTS)
    return Weight(WEIGHTS[int(np.argmax(reached))], reached)


def mean_ndcg(score: Floats, kept: Bools, gold: Bools, offsets: Ints, *, depth: int = DEPTH) -> float:
    """The mean nDCG over queries with gold, of rankings of the candidates; gold that is no candidate counts as missed."""
    ends, sentence, criterion = query_nodes(kept, offsets)
    n_gold = np.add.reduceat(gold.astype(np.int64), offsets[:-1], axis=0).ravel()
    if not n_gold.any():
        return 0.0
    places = kernels.gold_ranks(score[sentence, criterion], gold[sentence, criterion], ends)
    return float(kernels.ndcg(places, n_gold, depth)[n_gold > 0].mean())
