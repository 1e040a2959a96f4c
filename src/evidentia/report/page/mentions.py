"""Ids that messages name, replaced: notes and checks say where the first of something is, and a page must not.

Messages print ids in quotes (`evidentia.errors.shown`). What is in quotes is replaced when it is an id of the run, unless
the word before it says that it is something else; a post may have the name of a criterion. Outside of quotes only an id
that no number and no word can be taken for is replaced: the id "1" must not change the number 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from evidentia.protocol.provenance import posts_sha256
from evidentia.report.page.pseudonyms import Aliases
from evidentia.results.names import group_suffix

OTHERS = frozenset(
    (
        *("card", "column", "criterion", "fold", "format", "item", "key", "line"),
        *("mapping", "measure", "mode", "profile", "row", "slice"),
    )
)
IDS = frozenset(("document", "post", "post_id", "sent_uid", "sentence", "topic", "uid"))
_WORD = r"[\w#@][\w.:#@/+-]*"
_PART = re.compile(rf"(?<!\w)(?P<quote>['\"])(?P<quoted>[^'\"\n]+)(?P=quote)(?!\w)|(?P<bare>{_WORD})")
_BEFORE = re.compile(r"(\w+)(?::? |=)\Z")
SHORTEST, LEAST_DIGITS = 4, 6


class Mentions:
    """Replaces the ids of a run in messages; ``names`` are criteria, folds and other names that may be said."""

    def __init__(self, aliases: Aliases, names: Collection[str] = ()) -> None:
        self._known = {**aliases.sentences, **aliases.posts}
        self._names = frozenset(names)
        self._seen: dict[str, str] = {}

    def hidden(self, words: str) -> str:
        """The message with what stands for the ids in it.

        >>> mentions = Mentions(Aliases({"1": "p1-ab", "post-07": "p2-cd"}, {}), {"A.1"})
        >>> mentions.hidden("1 row (first: line 1, post '1', criterion '1') of 1; first group: post-07, x")
        "1 row (first: line 1, post 'p1-ab', criterion '1') of 1; first group: p2-cd, x"
        """
        if words not in self._seen:
            self._seen[words] = self._odd(self._plain(words))
        return self._seen[words]

    def _plain(self, words: str) -> str:
        """Every quoted text and every other word in turn; the word before may say what it is."""
        return _PART.sub(lambda match: self._one(match, _BEFORE.search(words, 0, match.start())), words)

    def _one(self, match: re.Match[str], before: re.Match[str] | None) -> str:
        word = "" if before is None else before[1]
        if (inside := match["quoted"]) is None:
            return self._bare(match["bare"], named=word in IDS)
        return match[0] if word in OTHERS else f"{match['quote']}{self._known.get(inside, inside)}{match['quote']}"

    def _bare(self, word: str, *, named: bool = False) -> str:
        """A word outside of quotes, with what a sentence puts behind it, or the parts of a path."""
        core = word.rstrip(".:/+-#@")
        if self._tells(core, named=named):
            return self._known[core] + word[len(core) :]
        if "/" in word or ":" in word:
            return re.sub(r"[^/:]+", lambda part: self._known[part[0]] if self._tells(part[0]) else part[0], word)
        return word

    def _tells(self, word: str, *, named: bool = False) -> bool:
        if word not in self._known or word in self._names:
            return False
        return distinctive(word) or (named and any(letter.isdigit() for letter in word))

    def _odd(self, words: str) -> str:
        """Ids that are no single word, wherever they stand."""
        for name in self._unusual:
            if name in words:
                words = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", self._known[name], words)
        return words

    @cached_property
    def _unusual(self) -> list[str]:
        odd = (name for name in self._known if not re.fullmatch(_WORD, name))
        return sorted((name for name in odd if distinctive(name)), key=len, reverse=True)


def distinctive(word: str) -> bool:
    """Whether an id can be taken for neither a number nor a word.

    >>> [distinctive(one) for one in ("1", "1477", "0.05", "family", "post-07", "t3_abc", "1234567")]
    [False, False, False, False, True, True, True]
    """
    if not word.isascii():
        return True
    if word.isdigit():
        return len(word) >= LEAST_DIGITS
    marked = re.search(r"[^A-Za-z .:#@/+-]", word) is not None
    return len(word) >= SHORTEST and marked and any(letter.isalpha() for letter in word)


def hidden_summary(summary: dict[str, Any], mentions: Mentions, aliases: Aliases) -> dict[str, Any]:
    """A summary whose messages, and groups by post, name no id."""
    name = group_names(aliases)
    return summary | {
        "measures": {name(key): _estimate(entry, mentions) for key, entry in summary["measures"].items()},
        "not_computed": [
            {key: _said(value, mentions, name) for key, value in gap.items()} for gap in summary["not_computed"]
        ],
        "other_definitions": [part | {"name": name(part["name"])} for part in summary["other_definitions"]],
        "checks": [part | {"message": mentions.hidden(part["message"])} for part in summary["checks"]],
        "notes": [mentions.hidden(note) for note in summary["notes"]],
    }


def group_names(aliases: Aliases) -> Callable[[str], str]:
    """Names of measures, with what stands for the post of a group by post."""
    groups = {group_suffix((("post_id", raw),))[1:-1]: f"post_id={alias}" for raw, alias in aliases.posts.items()}

    def renamed(name: str) -> str:
        head, bracket, group = name.partition("[")
        if "post_id=" not in group:
            return name
        return (
            head
            + bracket
            + re.sub(r'post_id=(?:"(?:[^"\\]|\\.)*"|[^,\]]*)', lambda part: groups.get(part[0], part[0]), group)
        )

    return renamed


def _estimate(entry: dict[str, Any], mentions: Mentions) -> dict[str, Any]:
    warnings = [mentions.hidden(words) for words in entry["warnings"]]
    degenerate = entry["degenerate"] and mentions.hidden(entry["degenerate"])
    if warnings == entry["warnings"] and degenerate == entry["degenerate"]:
        return entry
    return entry | {"warnings": warnings, "degenerate": degenerate}


def _said(value: Any, mentions: Mentions, name: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [name(element) for element in value]
    return mentions.hidden(value) if isinstance(value, str) else value


POST_LISTS = ("posts", "tuned_on_posts")


def hidden_manifest(value: Any, mentions: Mentions, aliases: Aliases) -> Any:
    """A manifest whose lists of posts name no id; their hash is that of what stands for them."""
    if isinstance(value, list):
        return [hidden_manifest(content, mentions, aliases) for content in value]
    if not isinstance(value, dict):
        return value
    hidden: dict[str, Any] = {}
    for key, content in value.items():
        if key in POST_LISTS and isinstance(content, list):
            hidden[key] = [aliases.post(str(post)) for post in content]
        elif key in {"reason", "message"} and isinstance(content, str):
            hidden[key] = mentions.hidden(content)
        else:
            hidden[key] = hidden_manifest(content, mentions, aliases)
    if "posts_sha256" in value and isinstance(hidden.get("posts"), list):
        hidden["posts_sha256"] = posts_sha256(hidden["posts"])
    return hidden


def posts_named(value: Any) -> set[str]:
    """The posts that a manifest lists, wherever it does."""
    if isinstance(value, list):
        return set().union(*(posts_named(content) for content in value)) if value else set()
    if not isinstance(value, dict):
        return set()
    own = {str(post) for key in POST_LISTS if isinstance(value.get(key), list) for post in value[key]}
    return own.union(*(posts_named(content) for key, content in value.items() if key not in POST_LISTS))
