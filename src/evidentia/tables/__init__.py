"""Files and data frames in, checked tables out. What needs polars loads on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from evidentia.tables.card import CardMismatch, DatasetCard, Target, check_card, load_card
from evidentia.tables.queries import STATES, Candidates, Coded, Queries, Ragged

if TYPE_CHECKING:
    from evidentia.tables.item_table import read_items
    from evidentia.tables.items import Items
    from evidentia.tables.read import read_run, validate_run
    from evidentia.tables.run import Run, Source
    from evidentia.tables.trec import read_trec, validate_trec

__all__ = [
    "STATES",
    "Candidates",
    "CardMismatch",
    "Coded",
    "DatasetCard",
    "Items",
    "Queries",
    "Ragged",
    "Run",
    "Source",
    "Target",
    "check_card",
    "load_card",
    "read_items",
    "read_run",
    "read_trec",
    "validate_run",
    "validate_trec",
]

_LAZY = {
    "Items": "items",
    "Run": "run",
    "Source": "run",
    "read_items": "item_table",
    "read_run": "read",
    "read_trec": "trec",
    "validate_run": "read",
    "validate_trec": "trec",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
