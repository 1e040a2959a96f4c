"""What a corpus holds, in numbers: how many, how long, how much evidence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evidentia.corpus.posts import Posts
from evidentia.corpus.read import Corpus
from evidentia.results.strict_json import dumps

if TYPE_CHECKING:
    from rich.table import Table

SCHEMA = "evidentia.corpus-stats/1"


@dataclass(frozen=True)
class Lengths:
    """How long posts are, in sentences."""

    total: int
    mean: float
    median: float
    min: int
    max: int


@dataclass(frozen=True)
class CriterionStats:
    """How many posts have evidence for a criterion, and which share of all posts that is."""

    criterion_id: str
    n_positive: int
    rate: float


@dataclass(frozen=True)
class Evidence:
    """How much gold there is. ``gold_per_positive`` is None where no query has any."""

    queries_with_evidence: int
    rate: float
    gold_sentences: int
    gold_per_positive: float | None
    shared_gold_sentences: int
    posts_without_evidence: int
    criteria: tuple[CriterionStats, ...]


@dataclass(frozen=True)
class CorpusStats:
    """A corpus in numbers; ``evidence`` is None where the labels were not read."""

    posts: int
    criteria: int
    queries: int
    sentences: Lengths
    longest_sentence: int
    duplicate_posts: int
    evidence: Evidence | None

    def to_dict(self) -> dict[str, Any]:
        """The numbers under their names, as JSON holds them."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_json(self) -> str:
        """Strict JSON, the same bytes for the same corpus."""
        return dumps(self.to_dict())

    def tables(self) -> list[Table]:
        """The numbers for a person: one table of all, one by criterion where labels are known."""
        facts = _facts(self)
        return [facts] if self.evidence is None else [facts, _by_criterion(self.evidence)]


def corpus_stats(corpus: Corpus) -> CorpusStats:
    """Count what a corpus holds.

    ``duplicate_posts`` are posts whose sentences an earlier post has too, word for word; ``shared_gold_sentences`` are
    gold for more than one criterion; ``longest_sentence`` is in characters.
    """
    posts, lengths = corpus.posts, corpus.posts.lengths
    return CorpusStats(
        posts=len(posts),
        criteria=len(posts.criteria),
        queries=len(posts) * len(posts.criteria),
        sentences=Lengths(
            int(lengths.sum()), float(lengths.mean()), float(np.median(lengths)), int(lengths.min()), int(lengths.max())
        ),
        longest_sentence=max(map(len, posts.texts)),
        duplicate_posts=_duplicates(posts),
        evidence=None if posts.gold is None else _evidence(posts),
    )


def _duplicates(posts: Posts) -> int:
    bounds = posts.offsets.tolist()
    # white space is no difference, nor is where sentences are cut
    texts = {" ".join(" ".join(posts.texts[start:stop]).split()) for start, stop in pairwise(bounds)}
    return len(posts) - len(texts)


def _evidence(posts: Posts) -> Evidence:
    assert posts.gold is not None
    has = posts.has_evidence()
    positive, gold = int(has.sum()), int(posts.gold.sum())
    return Evidence(
        queries_with_evidence=positive,
        rate=positive / has.size,
        gold_sentences=int(posts.gold.any(1).sum()),
        gold_per_positive=gold / positive if positive else None,
        shared_gold_sentences=int((posts.gold.sum(1) > 1).sum()),
        posts_without_evidence=int((~has.any(1)).sum()),
        criteria=tuple(
            CriterionStats(name, count, count / len(posts))
            for name, count in zip(posts.criterion_ids, has.sum(0).tolist(), strict=True)
        ),
    )


def _facts(stats: CorpusStats) -> Table:
    lengths, evidence = stats.sentences, stats.evidence
    rows = {
        "posts": f"{stats.posts:,}",
        "criteria": f"{stats.criteria:,}",
        "queries (posts x criteria)": f"{stats.queries:,}",
        "sentences": f"{lengths.total:,}",
        "sentences of a post": f"mean {lengths.mean:.1f}, median {lengths.median:g}, {lengths.min:,} to {lengths.max:,}",
        "longest sentence": f"{stats.longest_sentence:,} characters",
        "posts with the text of an earlier one": f"{stats.duplicate_posts:,}",
    }
    if evidence is not None:
        each = "none" if evidence.gold_per_positive is None else f"{evidence.gold_per_positive:.2f}"
        rows |= {
            "queries with evidence": f"{evidence.queries_with_evidence:,} ({100 * evidence.rate:.1f} %)",
            "gold sentences": f"{evidence.gold_sentences:,}",
            "of several criteria": f"{evidence.shared_gold_sentences:,}",
            "gold sentences per positive query": each,
            "posts without any evidence": f"{evidence.posts_without_evidence:,}",
        }
    table = _table()
    table.show_header = False
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _by_criterion(evidence: Evidence) -> Table:
    from rich.markup import escape

    table = _table()
    table.add_column("criterion")
    for name in ("with evidence", "rate"):
        table.add_column(name, justify="right", no_wrap=True)
    for criterion in evidence.criteria:
        table.add_row(escape(criterion.criterion_id), f"{criterion.n_positive:,}", f"{100 * criterion.rate:.1f} %")
    return table


def _table() -> Table:
    from rich.table import Table

    return Table(box=None, pad_edge=False, header_style="bold")
