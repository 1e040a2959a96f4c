"""Corpora: posts, criteria and labels, read from files, checked, and described."""

from evidentia.corpus.posts import Criterion, Posts

__all__ = ["Criterion", "Posts"]
