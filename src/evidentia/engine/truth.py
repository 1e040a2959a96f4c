"""What the queries of a run are judged against, as sums of hashes: any order of rows, files and blocks gives the same.

Two results may be compared where these sums agree: the queries under every criterion, those with evidence, and their gold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.stats.poisson import Words, cluster_keys, scrambled
from evidentia.tables import Run
from evidentia.tables.queries import Queries

GOLD = "gold_sent_uids"
QUERIES, EVIDENCE, QUERY_WORDS, EVIDENCE_WORDS, GOLD_WORDS, LISTED = range(6)  # columns of the sums


def truth_sums(run: Run, queries: Queries) -> Ints:
    """Counts and sums of words, modulo 2^64, of the queries of a block under every criterion: criteria x columns.

    ``queries`` are those of the run, with the criteria of all blocks.
    """
    sums = np.zeros((len(queries.criterion_ids), 6), np.uint64)
    words = _query_words(queries)
    evidence = queries.label
    for column, values in ((QUERIES, np.ones_like(words)), (QUERY_WORDS, words)):
        np.add.at(sums[:, column], queries.criterion, values)
        np.add.at(sums[:, column + 1], queries.criterion[evidence], values[evidence])
    if GOLD in run.frame.columns:
        lengths = run.frame[GOLD].list.len().to_numpy().astype(np.int64)
        rows = np.repeat(np.arange(len(words)), lengths)
        np.add.at(sums[:, GOLD_WORDS], queries.criterion[rows], _gold_words(words[rows], run.frame, lengths))
        sums[:, LISTED] = sums[:, QUERIES]
    return sums.view(np.int64)


def _query_words(queries: Queries) -> Words:
    """A word for every pair of a post and a criterion."""
    criteria = scrambled(cluster_keys(queries.criterion_ids))
    return scrambled(cluster_keys(queries.post_ids)[queries.post] + criteria[queries.criterion])


def _gold_words(words: Words, frame: pl.DataFrame, lengths: Ints) -> Words:
    """A word for every gold sentence of a query; ``words`` are those of its query."""
    uids = frame[GOLD].filter(pl.Series(lengths > 0)).explode().cast(pl.String).fill_null("")
    return scrambled(words + cluster_keys(uids.to_list())) if len(uids) else words[:0]


def described(sums: Ints, criteria: Sequence[str]) -> list[dict[str, Any]]:
    """The sums of all blocks as the manifest has them; without gold sentences everywhere there is no word of them."""
    return [
        {
            "criterion": criterion,
            "queries": int(row[QUERIES]),
            "with_evidence": int(row[EVIDENCE]),
            "queries_hash": f"{int(row[QUERY_WORDS]):016x}",
            "evidence_hash": f"{int(row[EVIDENCE_WORDS]):016x}",
            "gold_hash": f"{int(row[GOLD_WORDS]):016x}" if row[LISTED] == row[QUERIES] else None,
        }
        for criterion, row in zip(criteria, sums.view(np.uint64), strict=True)
    ]
