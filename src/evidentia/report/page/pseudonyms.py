"""Ids as keyed hashes: forum ids identify people, and a page is passed around.

A pseudonym starts with its place in the order of the ids, so that pseudonyms sort as the ids do and every draw of the
bootstrap can be made again from the page alone. The key is derived from the data, so that the same result gives the same
page; who lacks the data cannot derive it. It hides ids from readers of the page, not from somebody who holds the posts.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

KEY_FILE = "report.key"
SHOWN_DIGITS = 8


def key_of(folder: Path, data: str) -> bytes:
    """The key beside a result, else one that is derived from its data file."""
    path = folder / KEY_FILE
    if path.is_file():
        return bytes.fromhex(path.read_text(encoding="ascii").strip())
    return hmac.digest(b"evidentia report key", (folder / data).read_bytes(), "sha256")


def pseudonyms(ids: Iterable[str], key: bytes) -> dict[str, str]:
    """A pseudonym for every id, in the order in which the bootstrap sorts them.

    >>> sorted(pseudonyms(["b", "a"], b"k").items())[0][1].startswith("p1-")
    True
    """
    ordered = in_order(ids)
    width = len(str(len(ordered)))
    return {one: f"p{place:0{width}}-{_hashed(one, key)}" for place, one in enumerate(ordered, 1)}


def in_order(ids: Iterable[str]) -> list[str]:
    """Distinct ids, numerically where all are whole numbers."""
    distinct = set(ids)
    if all(re.fullmatch(r"[+-]?[0-9]+", one) for one in distinct):
        return sorted(distinct, key=lambda one: (int(one), one))
    return sorted(distinct)


def _hashed(one: str, key: bytes) -> str:
    return hmac.new(key, one.encode(), hashlib.sha256).hexdigest()[:SHOWN_DIGITS]


@dataclass(frozen=True)
class Aliases:
    """What stands for every post id and sentence uid in a page; empty where ids are shown."""

    posts: Mapping[str, str]
    sentences: Mapping[str, str]

    def post(self, one: str) -> str:
        """What stands for a post."""
        return self.posts.get(one, one)

    def sentence(self, one: str) -> str:
        """What stands for a sentence."""
        return self.sentences.get(one, one)

    def joined(self, uids: str) -> str:
        """What stands for uids that are joined by a bar."""
        return "|".join(self.sentence(uid) for uid in uids.split("|")) if uids else uids

    def text(self, words: str) -> str:
        """Words with the ids in them replaced: those in quotes, as messages name them."""
        return re.sub(
            r"(['\"])([^'\"]+)\1", lambda found: f"{found[1]}{self.posts.get(found[2], found[2])}{found[1]}", words
        )


def sentence_aliases(of_post: Mapping[str, Iterable[str]], posts: Mapping[str, str]) -> dict[str, str]:
    """A short name for every sentence: its post's pseudonym and its number there.

    The number is the uid's own where uids are the post's id and a number, else the place in sorted order.
    """
    names: dict[str, str] = {}
    for post, uids in of_post.items():
        own = [uid for uid in uids if uid not in names]
        numbers = _own_numbers(post, own)
        if numbers is None:
            own, numbers = sorted(own, key=_natural), [str(place) for place in range(1, len(own) + 1)]
        names.update((uid, f"{posts[post]}.{number}") for uid, number in zip(own, numbers, strict=True))
    return names


_NUMBER = re.compile(r"[-_.:/#]?0*([0-9]{1,6})")


def _own_numbers(post: str, uids: list[str]) -> list[str] | None:
    """The numbers that follow a post's id in its uids, if all have one."""
    found = [_NUMBER.fullmatch(uid, len(post)) if uid.startswith(post) else None for uid in uids]
    numbers = [one[1] for one in found if one is not None]
    return numbers if len(numbers) == len(uids) == len(set(numbers)) else None


def _natural(uid: str) -> list[tuple[int, int, str]]:
    return [
        (0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part) for part in re.split(r"([0-9]+)", uid)
    ]
