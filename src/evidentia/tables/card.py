"""The dataset card: what is known about a dataset, as data that users can write for their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from evidentia.errors import InputError, Problem, shown
from evidentia.tables.limits import parse_toml
from evidentia.tables.queries import Queries

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Target:
    """The value that a measure should reach; the bound itself is good enough for ``at_least`` and ``at_most`` only."""

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True)
class DatasetCard:
    """What a dataset promises. A field that is None promises nothing.

    ``fold_sizes`` counts posts per outer fold, ascending. ``every_pair`` promises a query for every post and
    criterion. ``expected`` gives plausible (low, high) ranges of measures, ``targets`` the values to reach.
    """

    name: str
    title: str = ""
    posts: int | None = None
    criteria: tuple[str, ...] | None = None
    n_criteria: int | None = None
    queries: int | None = None
    positives: int | None = None
    fold_sizes: tuple[int, ...] | None = None
    every_pair: bool = False
    descriptions: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    expected: Mapping[str, tuple[float, float]] = field(default_factory=lambda: _EMPTY)
    targets: Mapping[str, Target] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True)
class CardMismatch:
    """One count on which the card and the run disagree."""

    what: str
    expected: object
    found: object


def load_card(name_or_path: str | Path) -> DatasetCard:
    """Read a dataset card.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a card that ships with Evidentia, or a TOML file.

    Returns
    -------
    DatasetCard
        The counts, ranges and targets of the dataset; a count that the card lacks is None.

    Raises
    ------
    InputError
        If there is no such card, or a field is unknown or of the wrong type.

    Examples
    --------
    >>> load_card("redsm5").queries
    14770
    """
    built_in = built_in_cards()
    if str(name_or_path) in built_in:
        entry = built_in[str(name_or_path)]
        return _parse(entry.read_bytes(), entry.name)
    path = Path(name_or_path)
    try:
        content = path.read_bytes()
    except (OSError, ValueError):  # a name with a NUL in it is a ValueError
        there = ", ".join(sorted(built_in))
        message = f"{path.name}: no such dataset card. Name a TOML file, or a built-in card: {there}."
        raise InputError(Problem("MISSING_CARD", message)) from None
    return _parse(content, path.name)


def check_card(card: DatasetCard, queries: Queries) -> tuple[CardMismatch, ...]:
    """Compare the counts of a run with those of its card; a mismatch is a failed check, not a bad input.

    Fold sizes are compared only where the run has folds.
    """
    counts: dict[str, object] = {
        "posts": len(queries.post_ids),
        "criteria": queries.criterion_ids,
        "n_criteria": len(queries.criterion_ids),
        "queries": len(queries),
        "positives": int(queries.label.sum()),
        "fold_sizes": _fold_sizes(queries),
    }
    expected: dict[str, object] = {name: getattr(card, name) for name in counts}
    if card.criteria is not None and set(card.criteria) == set(queries.criterion_ids):
        expected["criteria"] = queries.criterion_ids  # the order of a card carries no meaning
    return tuple(
        CardMismatch(name, value, counts[name])
        for name, value in expected.items()
        if value is not None and counts[name] is not None and value != counts[name]
    )


def _fold_sizes(queries: Queries) -> tuple[int, ...] | None:
    if queries.fold is None:
        return None
    first = np.flatnonzero(np.diff(queries.post, prepend=-1))
    return tuple(sorted(np.bincount(queries.fold.codes[first], minlength=len(queries.fold.labels)).tolist()))


def built_in_cards() -> dict[str, Any]:
    """The files of the cards that ship with Evidentia, by their names."""
    folder = resources.files("evidentia.tables") / "cards"
    return {entry.name.removesuffix(".toml"): entry for entry in folder.iterdir() if entry.name.endswith(".toml")}


def _parse(content: bytes, name: str) -> DatasetCard:
    try:
        raw = parse_toml(content.decode())
    except UnicodeDecodeError:
        raise InputError(Problem("WRONG_ENCODING", f"{name}: not UTF-8. Re-save it as UTF-8.")) from None
    except ValueError as error:
        message = f"{name}: not a TOML file ({error}). Correct that line."
        raise InputError(Problem("BROKEN_CARD", message)) from None
    problems: list[Problem] = []
    values = {key: _value(key, value, name, problems) for key, value in raw.items()}
    if "name" not in raw:
        problems.append(Problem("CARD_KEY", f"{name}: the key name is missing. Add name = '...'."))
    _agree_on_criteria(values, name, problems)
    if problems:
        raise InputError(*problems)
    return DatasetCard(**values)


def _value(key: str, value: object, name: str, problems: list[Problem]) -> Any:
    if key not in _FIELDS:
        known = ", ".join(f.name for f in fields(DatasetCard))
        problems.append(Problem("CARD_KEY", f"{name}: unknown key {shown(key)}. A card may have: {known}."))
        return None
    expected, convert = _FIELDS[key]
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError):
        problems.append(Problem("CARD_TYPE", f"{name}: {key} must be {expected}, not {shown(value)}. Correct it."))
        return None


def _agree_on_criteria(values: dict[str, Any], name: str, problems: list[Problem]) -> None:
    criteria = values.get("criteria")
    if criteria is None:
        return
    count = values.setdefault("n_criteria", len(criteria))
    if count is not None and count != len(criteria):
        message = f"{name}: n_criteria is {count}, but criteria lists {len(criteria)}. Correct one of them."
        problems.append(Problem("CARD_CONFLICT", message))


def _of(*kinds: type) -> Callable[[object], Any]:
    """Passes values of just these types; true and false are no numbers."""

    def checked(value: object) -> object:
        if type(value) not in kinds:
            raise TypeError
        return value

    return checked


_text, _flag, _number, _list, _table = _of(str), _of(bool), _of(int, float), _of(list), _of(dict)


def _count(value: object) -> int:
    count: int = _of(int)(value)
    if count < 0:
        raise ValueError
    return count


def _ids(value: object) -> tuple[str, ...]:
    ids = tuple(_text(item) for item in _list(value))
    if len(set(ids)) < len(ids):
        raise ValueError
    return ids


def _range(value: object) -> tuple[float, float]:
    low, high = (float(_number(item)) for item in _list(value))
    if not low <= high:
        raise ValueError
    return low, high


def _target(value: object) -> Target:
    if not _table(value):
        raise ValueError
    return Target(**{bound: float(_number(number)) for bound, number in _table(value).items()})


def _table_of(convert: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: MappingProxyType({key: convert(item) for key, item in _table(value).items()})


_FIELDS: dict[str, tuple[str, Callable[[object], object]]] = {
    "name": ("a text", _text),
    "title": ("a text", _text),
    "posts": ("a whole number", _count),
    "criteria": ("a list of different ids", _ids),
    "n_criteria": ("a whole number", _count),
    "queries": ("a whole number", _count),
    "positives": ("a whole number", _count),
    "fold_sizes": ("a list of whole numbers", lambda v: tuple(sorted(_count(item) for item in _list(v)))),
    "every_pair": ("true or false", _flag),
    "descriptions": ("a table of criterion = text", _table_of(_text)),
    "expected": ("a table of measure = [low, high]", _table_of(_range)),
    "targets": ("a table of measure = { at_least = ..., at_most = ..., above = ..., below = ... }", _table_of(_target)),
}
