"""Names that give a feature away as derived from gold labels."""

from __future__ import annotations

import re
from collections.abc import Iterable

FORBIDDEN = re.compile(
    r"(^|_)(is_?gold|gold_?rank|n_?gold\w*|num_gold\w*|ground_?truth|has_evidence|"
    r"mrr(_at_\d+)?|(recall|precision|map|ndcg|hit_?rate)_?(at_?|@)\d+|y_true)($|_)",
    re.IGNORECASE,
)


def forbidden_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names among these that speak of gold: `is_gold`, `gold_rank`, `mrr`, `recall_at_*`, `n_gold*`, `groundtruth` ...

    >>> forbidden_names(["bm25", "recall_at_10", "n_gold_sentences", "margold", "groundTruth"])
    ('recall_at_10', 'n_gold_sentences', 'groundTruth')
    """
    return tuple(name for name in names if FORBIDDEN.search(name))
