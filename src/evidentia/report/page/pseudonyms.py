"""Ids as keyed hashes: forum ids identify people, and a page is passed around.

A pseudonym starts with its place in the order of the ids, so that pseudonyms sort as the ids do and every draw of the
bootstrap can be made again from the page alone. The key is derived from the data, so that the same result gives the same
page; who lacks the data cannot derive it. It hides ids from readers of the page, not from somebody who holds the posts.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evidentia.errors import InputError, OutputError
from evidentia.results.folder import replace_files
from evidentia.tables.order import by_number, natural

KEY_FILE = "report.key"
KEY_BYTES = 32
SHOWN_DIGITS = 8


def key_of(folder: Path, data: str = "per_query.csv") -> bytes:
    """The key beside a result, else one that is derived from its data file."""
    path = folder / KEY_FILE
    if not _has_content(path):  # an empty one was left on a full disk
        return derived_key(folder, data)
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        key = b""
    if len(key) < KEY_BYTES:
        raise InputError(
            f"{KEY_FILE}: not a key ({KEY_BYTES} bytes or more as hexadecimal digits are). Remove it, and it is made again."
        )
    return key


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def derived_key(folder: Path, data: str = "per_query.csv") -> bytes:
    """The key that a data file makes."""
    return hmac.digest(b"evidentia report key", (folder / data).read_bytes(), "sha256")


def write_key(folder: Path, data: str = "per_query.csv") -> Path:
    """Keep the key beside the result, for its owner's eyes only: with it, the pseudonyms of ids can be found again."""
    path, key = folder / KEY_FILE, key_of(folder, data)
    try:
        if _has_content(path):
            path.chmod(0o600)
        else:
            replace_files(folder, {KEY_FILE: f"{key.hex()}\n".encode()}, mode=0o600)
    except OSError as error:
        raise OutputError(f"{KEY_FILE} cannot be written into {folder.name}: {error.strerror}.") from None
    return path


def pseudonyms(ids: Sequence[str], key: bytes) -> dict[str, str]:
    """A pseudonym for every id, in the order given.

    >>> sorted(pseudonyms(["b", "a"], b"k").items())[0][1].startswith("p2-")
    True
    """
    width = len(str(len(ids)))
    return {name: f"p{place:0{width}}-{hashed(name, key)}" for place, name in enumerate(ids, 1)}


def in_order(*parts: Iterable[str]) -> list[str]:
    """The ids of each part as the bootstrap sorts them; one that an earlier part has comes there.

    >>> in_order(["10", "9"], ["9", "3"])
    ['9', '10', '3']
    """
    ordered: dict[str, None] = {}
    for part in parts:
        ordered |= dict.fromkeys(by_number({name for name in part if name not in ordered}))
    return list(ordered)


def hashed(name: str, key: bytes) -> str:
    """The keyed hash of an id, as far as it is shown."""
    return hmac.new(key, name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:SHOWN_DIGITS]


@dataclass(frozen=True)
class Aliases:
    """What stands for every post id and sentence uid in a page; empty where ids are shown."""

    posts: Mapping[str, str]
    sentences: Mapping[str, str]

    def post(self, post_id: str) -> str:
        """What stands for a post."""
        return self.posts.get(post_id, post_id)

    def sentence(self, uid: str) -> str:
        """What stands for a sentence."""
        return self.sentences.get(uid, uid)

    def beside(self, uid: str, post: str) -> str:
        """What stands for a sentence where its query's post stands beside it: its number, unless it is of another post."""
        return self.sentence(uid).removeprefix(f"{self.posts[post]}.") if post in self.posts else uid


def sentence_aliases(of_post: Mapping[str, Iterable[str]], posts: Mapping[str, str]) -> dict[str, str]:
    """A short name for every sentence: its post's pseudonym and its number there.

    The number is the uid's own where uids are the post's id, a mark and a number, else the place in sorted order.
    """
    names: dict[str, str] = {}
    for post, uids in of_post.items():
        own = [uid for uid in uids if uid not in names]
        numbers = _own_numbers(post, own)
        if numbers is None:
            own, numbers = list(natural(own)), [str(place) for place in range(1, len(own) + 1)]
        names.update((uid, f"{posts[post]}.{number}") for uid, number in zip(own, numbers, strict=True))
    return names


_NUMBER = re.compile(r"[-_.:/#]0*([0-9]{1,6})")


def _own_numbers(post: str, uids: list[str]) -> list[str] | None:
    """The numbers that follow a post's id in its uids, if all have one."""
    matches = [_NUMBER.fullmatch(uid, len(post)) if uid.startswith(post) else None for uid in uids]
    numbers = [match[1] for match in matches if match is not None]
    return numbers if len(numbers) == len(uids) == len(set(numbers)) else None
