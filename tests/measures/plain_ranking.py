"""The ranking measures once more, in plain Python, straight from the source documents.

C 3.1-3.6, E B.1-B.5, P 1.2-1.5 and A 1.1-1.4 as CONTRACT.md reconciles them. Slow, obvious, and sharing no code with
the package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def relevances(gold: set[str], ranked: Sequence[str], k: int | None) -> list[bool]:
    """Which of the first k places hold gold."""
    depth = len(ranked) if k is None else min(k, len(ranked))
    return [ranked[place] in gold for place in range(depth)]


def recall(gold: set[str], ranked: Sequence[str], k: int | None) -> float:
    return sum(relevances(gold, ranked, k)) / len(gold) if gold else 0.0


def precision(gold: set[str], ranked: Sequence[str], k: int | None, depth: str) -> float:
    shortened = depth == "k_eff" or k is None
    divisor = min(len(ranked) if k is None else k, len(ranked)) if shortened else k
    return sum(relevances(gold, ranked, k)) / divisor if divisor else 0.0


def hit(gold: set[str], ranked: Sequence[str], k: int | None) -> float:
    return 1.0 if True in relevances(gold, ranked, k) else 0.0


def reciprocal_rank(gold: set[str], ranked: Sequence[str], k: int | None) -> float:
    places = relevances(gold, ranked, k)
    return 1 / (1 + places.index(True)) if True in places else 0.0


def average_precision(gold: set[str], ranked: Sequence[str], k: int | None, norm: str) -> float:
    places = relevances(gold, ranked, k)
    total = math.fsum(sum(places[: i + 1]) / (i + 1) for i, relevant in enumerate(places) if relevant)
    cut = math.inf if k is None else k
    divisor = {
        "gold": len(gold),
        "found": sum(places),
        "min": min(len(gold), cut),
        "min_eff": min(len(gold), cut, len(ranked)),
    }[norm]
    return total / divisor if divisor else 0.0


def ndcg(gold: set[str], ranked: Sequence[str], k: int | None) -> float:
    def gain(places: list[bool]) -> float:
        return math.fsum(1 / math.log2(i + 2) for i, relevant in enumerate(places) if relevant)

    ideal = gain([True] * (len(gold) if k is None else min(len(gold), k)))
    return gain(relevances(gold, ranked, k)) / ideal if ideal else 0.0


def stable_ranking(scores: Sequence[float]) -> list[int]:
    """Best first; equal scores keep the order in which they came (E H.3)."""
    return sorted(range(len(scores)), key=lambda i: -scores[i])
