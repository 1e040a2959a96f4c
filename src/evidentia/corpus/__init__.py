"""Corpora: posts, criteria and labels, read from files, checked, and described."""

from evidentia.corpus.posts import Criterion, Posts
from evidentia.corpus.read import Corpus, read_corpus, read_criteria, read_posts, validate_corpus
from evidentia.corpus.stats import CorpusStats, corpus_stats
from evidentia.corpus.write import write_corpus

__all__ = [
    "Corpus",
    "CorpusStats",
    "Criterion",
    "Posts",
    "corpus_stats",
    "read_corpus",
    "read_criteria",
    "read_posts",
    "validate_corpus",
    "write_corpus",
]
