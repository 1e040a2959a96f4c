"""What gives gold away: near-identical texts on both sides of a split, and features named after gold."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from evidentia.errors import InputError
from evidentia.protocol.near_duplicates import text_groups

FORBIDDEN = re.compile(
    r"(^|_)(is_?gold|gold_?rank|n_?gold\w*|num_gold\w*|ground_?truth|has_evidence|"
    r"mrr(_at_\d+)?|(recall|precision|map|ndcg|hit_?rate)_?(at_?|@)\d+|y_true)($|_)",
    re.IGNORECASE,
)
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
    texts: Mapping[str, str],
    places: Mapping[str, str],
    *,
    tuned: Mapping[str, Collection[str]] = MappingProxyType({}),
    similarity: float = SIMILARITY,
    shingle: int = 3,
) -> Copies:
    """Find near-identical texts that are judged in different places (folds), or tuned on in a place where a copy is judged.

    ``tuned`` says in which places a text is tuned on. Two texts are near-identical by the Jaccard similarity of their shingles.

    Examples
    --------
    >>> texts = {"a": "I cannot sleep at all", "b": "I cannot sleep at all!", "c": "Everything is fine today"}
    >>> copies_between(texts, {"a": "fold 0", "b": "fold 1", "c": "fold 1"}).groups
    (('a', 'b'),)
    >>> copies_between(texts, {"a": "fold 0", "c": "fold 0"}, tuned={"b": ["fold 0"]}).groups
    (('a', 'b'),)
    """
    if not LOWEST <= similarity <= 1:
        raise InputError(f"A similarity of {similarity:g} is outside [{LOWEST}, 1], where the search finds its pairs.")
    known = [name for name in dict.fromkeys((*places, *tuned)) if name in texts]
    group_of = text_groups([texts[name] for name in known], similarity=similarity, shingle=shingle)
    groups: dict[int, list[str]] = {}
    for name, group in zip(known, group_of.tolist(), strict=True):
        groups.setdefault(group, []).append(name)
    return Copies(len(known), tuple(tuple(names) for names in groups.values() if _apart(names, places, tuned)))


def _apart(names: Sequence[str], places: Mapping[str, str], tuned: Mapping[str, Collection[str]]) -> bool:
    """Whether texts that are alike stand on two sides of a split."""
    judged = {name for name in names if name in places}
    where = {places[name] for name in judged}
    if len(where) != 1:
        return len(where) > 1
    place = where.pop()
    learnt = {name for name in names if place in tuned.get(name, ())}
    return bool(learnt) and len(learnt | judged) > 1  # a post that is both itself is for LEAK001 to see


def forbidden_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names among these that speak of gold: `is_gold`, `gold_rank`, `mrr`, `recall_at_*`, `n_gold*`, `groundtruth` ...

    Examples
    --------
    >>> forbidden_names(["bm25", "recall_at_10", "n_gold_sentences", "margold", "groundTruth"])
    ('recall_at_10', 'n_gold_sentences', 'groundTruth')
    """
    return tuple(name for name in names if FORBIDDEN.search(name))
