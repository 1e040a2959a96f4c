"""The paired cluster bootstrap without any of our code: posts are physically repeated, measures are plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.random import Generator, Philox
from scipy import stats

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


def effective(frame: pl.DataFrame, name: str) -> float:
    """How many posts of one size would tell as much: for AUROC about the rarer class, for nDCG about queries with gold."""
    sizes = [
        [sum(bool(row["has_evidence"]) == label for row in post) for post in by_post(frame)] for label in (True, False)
    ]
    each = [sum(size) ** 2 / sum(n * n for n in size) for size in sizes]
    return min(each) if name == "AUROC" else each[0]


def t_interval(values: Sequence[float], delta: float, posts: float, level: float) -> tuple[float, float]:
    """Student's t around the difference, with the spread of the replicates as its standard error."""
    reach = stats.t.ppf((1 + level) / 2, posts - 1) * error_of(values, posts)
    return delta - reach, delta + reach


def p_value(values: Sequence[float], delta: float, posts: float) -> float:
    return 2 * stats.t.sf(abs(delta) / error_of(values, posts), posts - 1)


def error_of(values: Sequence[float], posts: float) -> float:
    return float(np.nanstd(values, ddof=1)) * math.sqrt(posts / (posts - 1))
