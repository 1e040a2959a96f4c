"""Sums, spreads and folds; nothing here knows a measure by name."""
