"""Near-identical texts on both sides of a split: what a model learnt by heart on one side is judged on the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evidentia.errors import InputError
from evidentia.protocol.near_duplicates import text_groups

SIMILARITY = 0.8
LOWEST = 0.7  # below it the search by MinHash overlooks more than two pairs in a thousand


@dataclass(frozen=True)
class Copies:
    """Groups of near-identical texts that stand in more than one place, and how many texts were compared."""

    compared: int
    groups: tuple[tuple[str, ...], ...]

    @property
    def texts(self) -> int:
        """How many texts have a near-identical one, directly or through others, in another place."""
        return sum(map(len, self.groups))


def copies_between(
    texts: Mapping[str, str], places: Mapping[str, str], *, similarity: float = SIMILARITY, shingle: int = 3
) -> Copies:
    """Find near-identical texts whose places (folds, or TUNE and EVAL) differ; Jaccard similarity of their shingles.

    >>> texts = {"a": "I cannot sleep at all", "b": "I cannot sleep at all!", "c": "Everything is fine today"}
    >>> copies_between(texts, {"a": "fold 0", "b": "fold 1", "c": "fold 1"}).groups
    (('a', 'b'),)
    """
    if not LOWEST <= similarity <= 1:
        raise InputError(f"A similarity of {similarity:g} is outside [{LOWEST}, 1], where the search finds its pairs.")
    known = [name for name in places if name in texts]
    group_of = text_groups([texts[name] for name in known], similarity=similarity, shingle=shingle)
    groups: dict[int, list[str]] = {}
    for name, group in zip(known, group_of.tolist(), strict=True):
        groups.setdefault(group, []).append(name)
    apart = (tuple(names) for names in groups.values() if len({places[name] for name in names}) > 1)
    return Copies(len(known), tuple(apart))
