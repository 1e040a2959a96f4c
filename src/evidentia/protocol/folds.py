"""Post-disjoint folds: EVAL outside, TRAIN and TUNE inside, the same for the same seed whatever the order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Ints
from evidentia.errors import InputError, counted, shown
from evidentia.tables.order import by_number
from evidentia.tables.queries import Frozen

TRAIN_SHARE = (7, 10)  # of the posts outside the fold; the rest are TUNE


@dataclass(frozen=True, eq=False)
class InnerSplit:
    """The posts of one outer fold, each in exactly one part; sorted as strings."""

    fold: str
    train: tuple[str, ...]
    tune: tuple[str, ...]
    eval: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Folds(Frozen):
    """The outer fold of every post. ``post_ids`` are sorted as strings, ``fold`` holds codes into ``labels``.

    Posts with the same ``group`` are never parted, neither by the outer folds nor by TRAIN and TUNE.
    """

    post_ids: tuple[str, ...]
    fold: Ints
    labels: tuple[str, ...]
    group: Ints
    seed: int

    def inner(self, label: str) -> InnerSplit:
        """TRAIN, TUNE and EVAL of one outer fold: TRAIN is the first 7 n // 10 of the n other posts, shuffled."""
        return self._split(label, self.labels.index(label))

    def whole(self, label: str) -> InnerSplit:
        """TRAIN and TUNE of all posts, for a model that is not judged; EVAL is empty."""
        return self._split(label, len(self.labels))

    def _split(self, label: str, code: int) -> InnerSplit:
        outside = np.flatnonzero(self.fold != code)
        starts = _starts(self.group[outside], np.random.default_rng([self.seed, code]))
        is_train = np.zeros(len(self.post_ids), bool)
        is_train[outside] = starts < TRAIN_SHARE[0] * len(outside) // TRAIN_SHARE[1]
        is_eval = self.fold == code
        if not is_train.any() or not (~is_train & ~is_eval).any():
            raise InputError(
                f"Fold {shown(label)}: {_counted(self.group[outside])} outside it cannot be divided into TRAIN and TUNE. "
                "Give more posts."
            )
        return InnerSplit(label, self._named(is_train), self._named(~is_train & ~is_eval), self._named(is_eval))

    def splits(self) -> tuple[InnerSplit, ...]:
        """The parts of every outer fold."""
        return tuple(self.inner(label) for label in self.labels)

    def _named(self, which: Bools) -> tuple[str, ...]:
        return tuple(self.post_ids[row] for row in np.flatnonzero(which))


def outer_folds(
    post_ids: Sequence[str], *, seed: int, folds: int = 5, groups: Sequence[object] | Ints | None = None
) -> Folds:
    """Deal posts into folds of floor(n/k) posts, the remainder in the last.

    ``groups`` has one id per post; posts with the same id share a fold. A group lies where its first post falls, so
    fold sizes move by less than the largest group.

    Examples
    --------
    >>> np.bincount(outer_folds([str(i) for i in range(1477)], seed=7).fold).tolist()
    [295, 295, 295, 295, 297]
    """
    ids, group = _in_order(post_ids, groups)
    if folds < 2:
        raise InputError(f"Posts cannot be dealt into {counted(folds, 'fold')}. Give 2 folds or more.")
    apart = len(np.unique(group))
    if apart < folds:
        most = f"at most {apart} folds ([protocol] folds), or " if apart > 1 else ""
        raise InputError(f"{_counted(group)} cannot be dealt into {folds} folds. Give {most}more posts.")
    starts = _starts(group, np.random.default_rng(seed))
    fold = np.minimum(starts // (len(ids) // folds), folds - 1)
    empty = folds - len(np.unique(fold))
    if empty:
        largest = int(np.bincount(group).max())
        fewer = "fewer folds ([protocol] folds), or " if folds > 2 else ""
        raise InputError(
            f"{counted(empty, 'fold')} of {folds} would be empty: of {_counted(group)} the largest holds {largest}. "
            f"Give {fewer}more posts."
        )
    return Folds(ids, fold, tuple(map(str, range(folds))), group, seed)


def existing_folds(
    post_ids: Sequence[str],
    fold: Sequence[object],
    *,
    seed: int,
    groups: Sequence[object] | Ints | None = None,
) -> Folds:
    """Folds as a column gives them, one value per row; a post must have the same value in all its rows.

    Groups that the column parts are refused: what shares a text must share a fold.
    """
    fold_of_row = [str(label) for label in fold]
    pairs = dict(zip(post_ids, fold_of_row, strict=True))
    torn = {post for post, label in zip(post_ids, fold_of_row, strict=True) if pairs[post] != label}
    if torn:
        raise InputError(f"{counted(len(torn), 'post')} in more than one fold (first: {shown(min(torn))}).")
    first = list(dict.fromkeys(post_ids))
    of_group = None if groups is None else [dict(zip(post_ids, groups, strict=True))[post] for post in first]
    ids, group = _in_order(first, of_group)
    labels = by_number(set(fold_of_row))
    code = {label: at for at, label in enumerate(labels)}
    codes = np.array([code[pairs[post]] for post in ids], np.int64)
    parted = _parted(group, codes)
    if parted:
        raise InputError(
            f"{counted(parted, 'group')} of identical or near-identical posts lie in more than one fold. Put each in one fold."
        )
    return Folds(ids, codes, labels, group, seed)


def _in_order(post_ids: Sequence[str], groups: Sequence[object] | Ints | None) -> tuple[tuple[str, ...], Ints]:
    """Posts sorted as strings, each once, and their groups numbered by first appearance in that order."""
    if len(set(post_ids)) != len(post_ids):
        twice = len(post_ids) - len(set(post_ids))
        raise InputError(f"{counted(twice, 'post id')} given twice. Give every post once.")
    order = sorted(range(len(post_ids)), key=lambda at: post_ids[at])
    ids = tuple(post_ids[at] for at in order)
    if groups is None:
        return ids, np.arange(len(ids))
    if len(groups) != len(ids):
        raise InputError(f"There are {len(ids)} posts but {len(groups)} group ids. Give one per post.")
    seen: dict[object, int] = {}
    return ids, np.array([seen.setdefault(groups[at], len(seen)) for at in order], np.int64)


def _counted(group: Ints) -> str:
    """How many posts there are, and in how many groups where some share one."""
    posts, apart = counted(len(group), "post"), len(np.unique(group))
    if apart == len(group):
        return posts
    return f"{posts} in {counted(apart, 'group')} that must not be parted (as copies of a text)"


def _starts(group: Ints, rng: np.random.Generator) -> Ints:
    """Lay the posts out in shuffled order, groups kept together, and say where the group of each post starts.

    Without real groups this is the place of each post in the shuffled order.
    """
    shuffled = group[rng.permutation(len(group))]
    names, first, sizes = np.unique(shuffled, return_index=True, return_counts=True)
    order = np.argsort(first)
    start = np.empty(int(group.max(initial=-1)) + 1, np.int64)
    start[names[order]] = np.cumsum(sizes[order]) - sizes[order]
    return start[group]


def _parted(group: Ints, fold: Ints) -> int:
    pairs = np.unique(np.column_stack([group, fold]), axis=0)
    return int(np.count_nonzero(np.bincount(pairs[:, 0]) > 1))
