"""Leakage: names that give gold away, texts that stand in two folds, and pipelines that see labels they must not see."""

from evidentia.leakage.canaries import Features, Pipeline, Post, canaries
from evidentia.leakage.copies import Copies, copies_between, forbidden_names

__all__ = ["Copies", "Features", "Pipeline", "Post", "canaries", "copies_between", "forbidden_names"]
