"""The paired cluster bootstrap without any of our code: posts are physically repeated, measures are plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.random import Generator, Philox

Row = Mapping[str, object]
Rows = Sequence[Row]


def drawn(posts: int, seed: int, replicate: int) -> list[int]:
    """The posts of a replicate, as CONTRACT section 4 says."""
    return Generator(Philox(key=[seed, replicate])).integers(posts, size=posts).tolist()


def by_post(frame: pl.DataFrame) -> list[list[dict]]:
    """The rows of every post, posts sorted as numbers where all are, else as strings."""
    posts: dict[str, list[dict]] = {}
    for row in frame.to_dicts():
        posts.setdefault(row["post_id"], []).append(row)
    numeric = all(name.isdecimal() for name in posts)
    return [posts[name] for name in sorted(posts, key=int if numeric else str)]


def auroc(rows: Rows) -> float:
    """The share of (positive, negative) pairs in the right order; a tie is half right."""
    yes = np.array([row["prob"] for row in rows if row["has_evidence"]], float)
    no = np.array([row["prob"] for row in rows if not row["has_evidence"]], float)
    if not len(yes) or not len(no):
        return math.nan
    halves = 2 * int(np.sum(yes[:, None] > no)) + int(np.sum(yes[:, None] == no))
    return halves / 2 / (len(yes) * len(no))


def ndcg10(rows: Rows) -> float:
    """The mean of nDCG@10 over the queries with gold."""
    values = [_ndcg(row) for row in rows if row["gold_sent_uids"]]
    return math.fsum(values) / len(values) if values else math.nan


def _ndcg(row: Row) -> float:
    gold, ranked = row["gold_sent_uids"], row["ranked_sent_uids"]
    gained = math.fsum(1 / math.log2(i + 2) for i, uid in enumerate(ranked[:10]) if uid in gold)
    return gained / math.fsum(1 / math.log2(i + 2) for i in range(min(len(gold), 10)))


MEASURES: Mapping[str, Callable[[Rows], float]] = {"AUROC": auroc, "nDCG@10": ndcg10}


def differences(one: pl.DataFrame, other: pl.DataFrame, name: str, *, seed: int, resamples: int) -> list[float]:
    """The replicate values of the second system minus those of the first, on the same draws."""
    first, second, measure = by_post(one), by_post(other), MEASURES[name]
    found = []
    for replicate in range(resamples):
        picks = drawn(len(first), seed, replicate)
        before = measure([row for post in picks for row in first[post]])
        after = measure([row for post in picks for row in second[post]])
        found.append(after - before)
    return found


def p_value(values: Sequence[float]) -> float:
    used = [value for value in values if not math.isnan(value)]
    below, above = sum(value <= 0 for value in used), sum(value >= 0 for value in used)
    return min(1.0, 2 * (1 + min(below, above)) / (len(used) + 1))
