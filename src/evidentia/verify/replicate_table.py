"""Many numbers at once: what they need is added up per post, so that a block of replicates is one matrix product."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from evidentia.verify.draws import Bools, Draws, Floats, Ints, LeftOut, over_blocks

Finish = Callable[[Floats], Floats]  # sums (columns x replicates) to values, NaN where undefined


class Recipe(Protocol):
    """How one number is made from the weights of the posts."""

    def values(self, block: Block) -> Floats:
        """One value per replicate, NaN where it is undefined."""


@dataclass(eq=False)
class Table:
    """Columns of sums per post; a column that is there already is not added again."""

    columns: list[Floats] = field(default_factory=list)
    _places: dict[bytes, int] = field(default_factory=dict)

    def add(self, columns: Sequence[Floats]) -> Ints:
        """Where the columns stand."""
        return np.array([self._place(column) for column in columns], np.int64)

    def _place(self, column: Floats) -> int:
        key = hashlib.sha256(column.tobytes()).digest()
        if key not in self._places:
            self._places[key] = len(self.columns)
            self.columns.append(column)
        return self._places[key]

    def matrix(self, posts: int) -> Floats:
        """All columns, one per row."""
        return np.array(self.columns, np.float64).reshape(len(self.columns), posts)


@dataclass(eq=False)
class Block:
    """Some replicates: how often each draws every post, and the sums of all columns under these weights."""

    weights: Floats
    sums: Floats
    swept: dict[tuple[int, object], Floats] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Summed:
    """A function of sums."""

    places: Ints
    finish: Finish

    def values(self, block: Block) -> Floats:
        """The finish of the sums."""
        return self.finish(block.sums[self.places])


@dataclass(frozen=True, eq=False)
class Stepped(Summed):
    """A solution that sums move by one step; on the run as it is, it is the solution, whether or not a step can be made."""

    start: float


@dataclass(frozen=True, eq=False)
class Nothing:
    """A number that is undefined whatever is drawn."""

    def values(self, block: Block) -> Floats:
        """Undefined everywhere."""
        return np.full(block.weights.shape[1], np.nan)


@dataclass(frozen=True, eq=False)
class MeanOf:
    """The mean of other numbers where they are defined; each counts the same, or by a sum."""

    parts: tuple[Recipe, ...]
    shares: Ints | None = None  # the columns to weigh by

    def values(self, block: Block) -> Floats:
        """The mean over what is defined; undefined where nothing with weight is."""
        values = np.array([part.values(block) for part in self.parts])
        defined: Bools = ~np.isnan(values)
        shares = defined if self.shares is None else defined * block.sums[self.shares]
        total = shares.sum(axis=0).astype(np.float64)
        return over((np.where(defined, values, 0.0) * shares).sum(axis=0), total)


def over(top: Floats, bottom: Floats) -> Floats:
    """One over the other; undefined over zero."""
    made: Floats = np.divide(top, bottom, out=np.full(np.shape(bottom), np.nan), where=bottom != 0)
    return made


def replicated(
    recipes: Sequence[Recipe],
    table: Table,
    draws: Draws | LeftOut,
    report: Callable[[int], None] = lambda done: None,
) -> Floats:
    """The values of every number under every draw: numbers x replicates."""
    found = np.empty((len(recipes), draws.resamples))
    matrix = table.matrix(draws.posts)

    def work(rows: slice, weights: Floats) -> None:
        block = Block(weights, matrix @ weights)
        for at, recipe in enumerate(recipes):
            found[at, rows] = recipe.values(block)

    over_blocks(draws, work, report)
    return found


def on_all(recipes: Sequence[Recipe], table: Table, posts: int) -> Floats:
    """The values on the run as it is: every post once."""
    once = np.ones((posts, 1))
    block = Block(once, table.matrix(posts) @ once)
    return np.array([r.start if isinstance(r, Stepped) else float(r.values(block)[0]) for r in recipes])
