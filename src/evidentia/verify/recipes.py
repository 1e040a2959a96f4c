"""How a number is computed under any weights of the posts, and the driver that computes many numbers for all draws."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.draws import Draws, LeftOut, over_blocks

Counts = NDArray[Any]  # whole numbers
Finish = Callable[[Floats], Floats]  # sums (statistics x replicates) to values, NaN where undefined


def over(top: Floats, bottom: Floats) -> Floats:
    """Divide; undefined over zero."""
    shares: Floats = np.divide(top, bottom, out=np.full(np.shape(bottom), np.nan), where=bottom != 0)
    return shares


class Block(Protocol):
    """Some replicates: how often each draws every post (posts x replicates), and what scales their counts."""

    weights: Floats
    factors: Floats
    swept: dict[object, Any]

    @property
    def times(self) -> Counts:
        """The weights as whole numbers."""

    def sums(self, recipe: Sums) -> Floats:
        """The statistics of a recipe, added up under these weights."""


class Recipe(Protocol):
    """How one number depends on the weights of the posts."""

    def values(self, block: Block) -> Floats:
        """One value per replicate, NaN where it is undefined."""


@dataclass(frozen=True, eq=False)
class Sums:
    """A function of sums; ``start`` is the value on the run as it is, of a fit that sums only move.

    A ``count`` is of another size where twice as much is drawn; its sums are scaled to as many posts as there are.
    """

    columns: Floats  # statistics x posts
    finish: Finish
    start: float | None = None
    count: bool = False

    def values(self, block: Block) -> Floats:
        """The finish of the sums."""
        sums = block.sums(self)
        return self.finish(sums * block.factors if self.count else sums)


@dataclass(frozen=True, eq=False)
class Nothing:
    """A number that is undefined whatever is drawn."""

    def values(self, block: Block) -> Floats:
        """Undefined everywhere."""
        return np.full(block.weights.shape[1], np.nan)


@dataclass(frozen=True, eq=False)
class MeanOf:
    """The mean of other numbers where they are defined; each counts the same, or by its sum in ``shares``."""

    parts: tuple[Recipe, ...]
    shares: Sums | None = None

    def values(self, block: Block) -> Floats:
        """The mean over what is defined; undefined where nothing with weight is."""
        values = np.array([part.values(block) for part in self.parts])
        defined: Bools = ~np.isnan(values)
        shares = defined if self.shares is None else defined * self.shares.values(block)
        total = shares.sum(axis=0).astype(np.float64)
        return over((np.where(defined, values, 0.0) * shares).sum(axis=0), total)


@dataclass(frozen=True, eq=False)
class Difference:
    """One number minus another, undefined where either is."""

    of: Recipe
    minus: Recipe

    def values(self, block: Block) -> Floats:
        """The difference in every replicate."""
        return self.of.values(block) - self.minus.values(block)


@dataclass(eq=False)
class WholeBlock:
    """The run as it is: every post once."""

    weights: Floats
    factors: Floats = field(default_factory=lambda: np.ones(1))
    swept: dict[object, Any] = field(default_factory=dict)

    @cached_property
    def times(self) -> Counts:
        """The weights as whole numbers."""
        return self.weights.astype(np.int32)

    def sums(self, recipe: Sums) -> Floats:
        """The totals."""
        totals: Floats = recipe.columns.sum(axis=1, keepdims=True)
        return totals


@dataclass(eq=False)
class DrawnBlock:
    """A block of draws; the sums of all recipes were taken in one product."""

    weights: Floats
    factors: Floats
    products: Floats
    places: dict[int, Ints]
    swept: dict[object, Any] = field(default_factory=dict)

    @cached_property
    def times(self) -> Counts:
        """The weights as whole numbers."""
        return self.weights.astype(np.int32)

    def sums(self, recipe: Sums) -> Floats:
        """The sums under these draws."""
        return self.products[self.places[id(recipe)]]


@dataclass(eq=False)
class ColumnTable:
    """The columns of many recipes, each different one once."""

    columns: list[Floats] = field(default_factory=list)
    places: dict[int, Ints] = field(default_factory=dict)
    _known: dict[bytes, int] = field(default_factory=dict)

    def add(self, recipe: Sums) -> None:
        """Place the columns of a recipe."""
        self.places[id(recipe)] = np.array([self._place(column) for column in recipe.columns], np.int64)

    def _place(self, column: Floats) -> int:
        key = hashlib.sha256(column.tobytes()).digest()
        if key not in self._known:
            self._known[key] = len(self.columns)
            self.columns.append(column)
        return self._known[key]


def _sums_in(recipe: Recipe | None) -> Iterator[Sums]:
    if isinstance(recipe, Sums):
        yield recipe
    elif isinstance(recipe, MeanOf):
        for part in (*recipe.parts, recipe.shares):
            yield from _sums_in(part)
    elif isinstance(recipe, Difference):
        yield from _sums_in(recipe.of)
        yield from _sums_in(recipe.minus)


def replicated(
    recipes: Sequence[Recipe], draws: Draws | LeftOut, report: Callable[[int], None] = lambda done: None
) -> Floats:
    """The values of every number under every draw: numbers x replicates."""
    table, values = ColumnTable(), np.empty((len(recipes), draws.resamples))
    for recipe in recipes:
        for sums in _sums_in(recipe):
            table.add(sums)
    matrix = np.array(table.columns, np.float64).reshape(-1, draws.posts)

    alike = _alike(recipes)

    def work(rows: slice, weights: Floats) -> None:
        factors = draws.factors(weights.sum(axis=0))
        block = DrawnBlock(weights, factors, matrix @ weights, table.places)
        for places in alike:
            values[places, rows] = _values_of([recipes[place] for place in places], block)
        values[:, rows][:, np.isnan(factors)] = np.nan

    over_blocks(draws, work, report)
    return values


def _alike(recipes: Sequence[Recipe]) -> list[list[int]]:
    """The places of numbers that one finish gives together; every other number is on its own."""
    places: dict[object, list[int]] = {}
    for at, recipe in enumerate(recipes):
        key = (recipe.finish, recipe.count, len(recipe.columns)) if isinstance(recipe, Sums) else at
        places.setdefault(key, []).append(at)
    return list(places.values())


def _values_of(recipes: Sequence[Recipe], block: Block) -> Floats:
    """The values of numbers with the same finish: numbers x replicates."""
    sums = [recipe for recipe in recipes if isinstance(recipe, Sums)]
    if not sums:
        return np.array([recipe.values(block) for recipe in recipes])
    stacked = np.stack([block.sums(recipe) for recipe in sums], axis=1)
    scaled = stacked * block.factors if sums[0].count else stacked
    return sums[0].finish(scaled.reshape(len(scaled), -1)).reshape(len(sums), -1)


def on_all(recipes: Sequence[Recipe], posts: int) -> Floats:
    """The values on the run as it is."""
    block = WholeBlock(np.ones((posts, 1)))
    return np.array([point(recipe, block) for recipe in recipes])


def point(recipe: Recipe, block: Block) -> float:
    """The value on the run as it is; a fit is its solution, whether or not a step can be made from it."""
    if isinstance(recipe, Sums) and recipe.start is not None:
        return recipe.start
    return float(recipe.values(block)[0])


def batches(count: int, cells: int, width: int) -> Sequence[slice]:
    """Ranges of numbers whose replicate values, and columns, fit into so many cells."""
    size = max(1, cells // max(width, 1))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
