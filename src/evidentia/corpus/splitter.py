"""Texts cut into sentences by a splitter of a name, with the place of every sentence in the text.

A splitter says only where sentences begin. What they are is read off the text itself, so that no splitter can lose or
change a character: some do.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import accumulate, pairwise

from evidentia.corpus.fast_pysbd import english_segmenter
from evidentia.errors import InputError, Problem, typed

DEFAULT = "pysbd"
WINDOW = 4_000
Splitter = Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Span:
    """A sentence as its place in a text: ``text[start:stop]``, without white space around it."""

    start: int
    stop: int


def split(text: str, how: str = DEFAULT) -> list[Span]:
    """The sentences of a text in their order. They never overlap, and every character that is not white is in one.

    ``how`` is pysbd, sentencex or lines.

    >>> text = "I slept badly. \\n\\n Then I got up."
    >>> [text[span.start : span.stop] for span in split(text, "lines")]
    ['I slept badly.', 'Then I got up.']
    """
    return list(_spans(text, _starts(text, splitter_named(how)(text))))


def check_name(how: str) -> None:
    """Refuse a splitter that does not exist; whether it is installed matters only when something is cut."""
    if how not in SPLITTERS:
        raise InputError(
            Problem("UNKNOWN_SPLITTER", f"There is no splitter {typed(how)}. Choose one of: {', '.join(SPLITTERS)}.")
        )


def splitter_named(how: str) -> Splitter:
    """The splitter of this name, loaded; a name that does not exist and a package that is missing are input errors."""
    check_name(how)
    try:
        return SPLITTERS[how]()
    except ImportError:
        raise InputError(
            Problem(
                "MISSING_SPLITTER",
                f"The splitter {how} is not installed. Run: pip install 'evidentia[split]' (or pip install {how}), or "
                "choose the splitter lines, which needs nothing.",
            )
        ) from None


def described(how: str) -> str:
    """The splitter and its version, since another version may cut elsewhere."""
    return how if how == "lines" else f"{how} {version(how)}"


def _lines() -> Splitter:
    return str.splitlines


@cache
def _pysbd() -> Splitter:
    segmenter = english_segmenter()

    def sentences(text: str) -> Iterable[str]:
        # not segmenter.segment, which drops sentences when it looks for their places
        # and it takes the unit separator for the space before a number, then fails to read the number
        pieces: Iterable[str] = segmenter.processor(text.replace("\x1f", " ")).process()
        return pieces

    def pieces(text: str) -> Iterator[str]:
        for line in text.splitlines():  # a line break ends a sentence for pysbd anyway
            yield from _by_window(line, sentences)

    return pieces


def _by_window(line: str, sentences: Splitter) -> Iterator[str]:
    """Cut a long line a few thousand characters at a time: pysbd takes 11 seconds for 128,000 at once.

    The last sentence of a window may go on behind it, so the next window begins with that.
    """
    size = WINDOW
    while line.strip():
        window = line[:size]
        starts = _starts(window, sentences(window))
        if size >= len(line):
            starts.append(len(line))
        elif len(starts) < 2:
            size *= 2
            continue
        yield from (line[start:end] for start, end in pairwise(starts))
        line, size = line[starts[-1] :], WINDOW


@cache
def _sentencex() -> Splitter:
    import sentencex

    def pieces(text: str) -> Iterable[str]:
        # it panics on white space of several bytes behind a period; where sentences begin is told by what is not white
        sentences: Iterable[str] = sentencex.segment("en", _WHITE.sub(" ", text))
        return sentences

    return pieces


_INK = re.compile(r"\S+")
_WHITE = re.compile(r"[^\S\n\r\t ]")  # all but the white space that everybody types

SPLITTERS: Mapping[str, Callable[[], Splitter]] = {"pysbd": _pysbd, "sentencex": _sentencex, "lines": _lines}


def _starts(text: str, pieces: Iterable[str]) -> list[int]:
    """Where sentences begin: by counting what is not white if the pieces have as much of it as the text, else by search."""
    inked = [ink for piece in pieces if (ink := "".join(piece.split()))]
    words = [match.span() for match in _INK.finditer(text)]
    before = [0, *accumulate(stop - start for start, stop in words)]
    if sum(map(len, inked)) != before[-1]:
        return _found(text, [place for start, stop in words for place in range(start, stop)], inked)
    starts, count = [], 0
    for ink in inked:
        word = bisect_right(before, count) - 1
        starts.append(words[word][0] + count - before[word])
        count += len(ink)
    return starts


def _found(text: str, places: list[int], inked: list[str]) -> list[int]:
    """Look for every piece behind the one before it; one that is not there stays part of its neighbour."""
    bare = "".join(text.split())
    starts, behind = places[:1], 0
    for ink in inked:
        at = bare.find(ink, behind)
        if at >= 0:
            starts.append(places[at])
            behind = at + len(ink)
    return sorted(set(starts))


def _spans(text: str, starts: list[int]) -> Iterator[Span]:
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        yield Span(start, start + len(text[start:end].rstrip()))
