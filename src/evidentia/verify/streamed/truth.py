"""What queries are judged against, added up a second time: counts and sums of words under every criterion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.verify.poisson import Words, hashed, scrambled

WORD = 1 << 64


class TruthSums:
    """The sums over all rows so far, by criterion and name."""

    def __init__(self, posts: pl.Series, criteria: Sequence[str]) -> None:
        self.posts, self.criteria = hashed(posts), tuple(criteria)
        self.words = scrambled(hashed(criteria))
        self.sums: Counter[tuple[int, str]] = Counter()

    def add(self, rows: pl.DataFrame, post: NDArray[Any], criterion: NDArray[Any], *, gold: bool) -> None:
        """Add some queries, by the codes of their posts and criteria; ``gold`` says whether gold sentences are known."""
        words = scrambled(self.posts[post] + self.words[criterion])
        evidence = rows["has_evidence"].to_numpy().astype(np.bool_)
        for code in np.unique(criterion).tolist():
            mine = criterion == code
            for name, some in (("queries", mine), ("evidence", mine & evidence)):
                self.sums[code, name] += int(some.sum())
                self.sums[code, f"{name}_hash"] += total(words[some])
            if gold:
                self.sums[code, "gold_hash"] += _gold(rows.filter(pl.Series(mine))["gold_sent_uids"], words[mine])
                self.sums[code, "listed"] += int(mine.sum())

    def described(self) -> list[dict[str, Any]]:
        """The sums as the manifest has them."""
        return [self._of(code, criterion) for code, criterion in enumerate(self.criteria)]

    def _of(self, code: int, criterion: str) -> dict[str, Any]:
        words = {
            name: f"{self.sums[code, name] % WORD:016x}" for name in ("queries_hash", "evidence_hash", "gold_hash")
        }
        queries = self.sums[code, "queries"]
        counts = {"queries": queries, "with_evidence": self.sums[code, "evidence"]}
        known = self.sums[code, "listed"] == queries
        return {"criterion": criterion, **counts, **words, **({} if known else {"gold_hash": None})}


def total(words: Words) -> int:
    """The sum of words modulo 2^64.

    >>> total(np.array([2**64 - 1, 2], np.uint64))
    1
    """
    return int(words.sum(dtype=np.uint64))


def _gold(lists: pl.Series, words: Words) -> int:
    """The sum over the gold sentences of queries, whose words are given."""
    owners = [at for at, uids in enumerate(lists) for _ in uids]
    uids = [uid for own in lists for uid in own]
    return total(scrambled(words[owners] + hashed(uids))) if uids else 0
