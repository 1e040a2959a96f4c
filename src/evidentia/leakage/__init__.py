"""Leakage: names that give gold away, texts that stand in two folds, and pipelines that see labels they must not see."""
