"""Leakage: names that give gold away, texts that stand in two folds, and pipelines that see labels they must not see."""

from evidentia.leakage.canaries import canaries
from evidentia.leakage.copies import Copies, copies_between
from evidentia.leakage.names import forbidden_names
from evidentia.leakage.pipeline import Features, Pipeline, Post

__all__ = ["Copies", "Features", "Pipeline", "Post", "canaries", "copies_between", "forbidden_names"]
