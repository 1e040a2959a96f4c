"""Many groupings of the same rows as one partition: sums are exact, so those of its cells add up to those of each grouping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Ints
from evidentia.evaluation.plan import Grouping

MOST = 4096  # cells of a partition: more would cost more than they save


@dataclass(frozen=True, eq=False)
class Cells:
    """A partition as fine as each of some groupings; ``groups`` has, by a grouping's columns, the group of every cell."""

    codes: Ints | None
    size: int
    groups: Mapping[tuple[str, ...], Ints]


def own_cells(grouping: Grouping) -> Cells:
    """The groups of one grouping as cells."""
    return Cells(grouping.codes, len(grouping), {grouping.columns: np.arange(len(grouping))})


def shared_cells(groupings: Sequence[Grouping]) -> list[Cells]:
    """As few partitions as serve all groupings, with at most ``MOST`` cells where several share one.

    >>> fold = Grouping(("fold",), np.array([0, 1, 1]), ((("fold", "1"),), (("fold", "2"),)))
    >>> state = Grouping(("state",), np.array([1, 0, 1]), ((("state", "NEG"),), (("state", "POS"),)))
    >>> cells, = shared_cells([Grouping((), None, ((),)), fold, state])
    >>> cells.codes.tolist(), cells.groups["state",].tolist(), cells.groups[()].tolist()
    ([1, 2, 3], [0, 1, 0, 1], [0, 0, 0, 0])
    """
    parts: list[list[Grouping]] = []
    for grouping in sorted(groupings, key=lambda each: len(each.columns), reverse=True):
        if any(_covers(factor, grouping) for part in parts for factor in part):
            continue
        roomy = (part for part in parts if _size(part) * len(grouping) <= MOST)
        part = next(roomy, None)
        if part is None:
            parts.append([grouping])
        else:
            part.append(grouping)
    return [_cells(part, [each for each in groupings if _home(parts, each) is part]) for part in parts]


def _covers(factor: Grouping, grouping: Grouping) -> bool:
    return set(grouping.columns) <= set(factor.columns)


def _home(parts: Sequence[list[Grouping]], grouping: Grouping) -> list[Grouping]:
    """The first part that tells the groups of a grouping apart."""
    return next(part for part in parts if any(_covers(factor, grouping) for factor in part))


def _size(part: Sequence[Grouping]) -> int:
    return int(np.prod([len(factor) for factor in part]))


def _cells(part: Sequence[Grouping], served: Sequence[Grouping]) -> Cells:
    codes: Ints | None = None
    for factor in part:
        codes = factor.codes if codes is None or factor.codes is None else codes * len(factor) + factor.codes
    size = _size(part)
    return Cells(codes, size, {each.columns: _groups(part, each, size) for each in served})


def _groups(part: Sequence[Grouping], grouping: Grouping, size: int) -> Ints:
    """The group of every cell: the cell's group in a factor, without the columns that the grouping does not have."""
    factor, stride = next((factor, stride) for factor, stride in _strides(part) if _covers(factor, grouping))
    place = {group: at for at, group in enumerate(grouping.groups)}
    named = [dict(group) for group in factor.groups]
    of_factor = np.array([place[tuple((column, labels[column]) for column in grouping.columns)] for labels in named])
    within: Ints = of_factor[np.arange(size) // stride % len(factor)]
    return within


def _strides(part: Sequence[Grouping]) -> Iterator[tuple[Grouping, int]]:
    """Each factor with how many cells share one of its groups in a row."""
    for at, factor in enumerate(part):
        yield factor, _size(part[at + 1 :])
