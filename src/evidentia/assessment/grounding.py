"""Quotes found again in what the participant said: exactly, then normalised, then by aligning tokens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from evidentia.assessment.answers import Finder, Quote
from evidentia.assessment.interviews import Interview
from evidentia.assessment.language import APOSTROPHES

SHORTEST = 3  # tokens of a quote that may be aligned; a shorter one must be there as it is
MOST_MISSING = 0.2  # share of a quote's tokens that may be missing from the passage
MOST_EXTRA = 0.5  # tokens of the passage beyond the quote's, as a share of the quote's
LONGEST = 400  # tokens of a quote that are aligned
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_QUOTES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026. "
_FILLERS = frozenset({"uh", "um", "er", "erm", "mm", "hm", "hmm", "mhm", "ah", "uhm"})


@dataclass(frozen=True)
class _Token:
    word: str
    start: int
    end: int


def ground(quote: str, interview: Interview, finder: Finder = "llm") -> Quote | None:
    """Where a participant said this, or None where nobody did.

    Case, white space, quotation marks and fillers may differ. Otherwise at most 20 % of the words may be missing, in
    a passage that is at most half as long again.
    """
    words = quote.strip().strip(_QUOTES)
    if not words:
        return None
    for turn, said in interview.answers:
        if (at := said.text.find(words)) >= 0 and _whole_words(said.text, at, at + len(words)):
            return Quote.of(interview, turn, at, at + len(words), finder)
    wanted = [token.word for token in _tokens(words)]
    if not wanted:
        return None
    best: tuple[int, Quote] | None = None
    for turn, said in interview.answers:
        there = list(_tokens(said.text))
        span = _run(wanted, there) or _aligned(wanted, there)
        if span is not None and (best is None or span[0] < best[0]):
            best = span[0], Quote.of(interview, turn, span[1], span[2], finder)
    return None if best is None else best[1]


def _whole_words(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() and text[start].isalnum()) and not (after.isalnum() and text[end - 1].isalnum())


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        word = unicodedata.normalize("NFKC", match[0]).casefold().translate(APOSTROPHES)
        if word not in _FILLERS:
            yield _Token(word, match.start(), match.end())


def _run(wanted: list[str], there: list[_Token]) -> tuple[int, int, int] | None:
    """The quote's words one after the other: (0 words off, start, end)."""
    words = [token.word for token in there]
    for at in range(len(words) - len(wanted) + 1):
        if words[at : at + len(wanted)] == wanted:
            return 0, there[at].start, there[at + len(wanted) - 1].end
    return None


def _aligned(wanted: list[str], there: list[_Token]) -> tuple[int, int, int] | None:
    """The shortest passage that holds enough of the quote's words in their order: (words off, start, end)."""
    if not SHORTEST <= len(wanted) <= LONGEST or not there:
        return None
    needed = len(wanted) - int(MOST_MISSING * len(wanted))
    longest = len(wanted) + int(MOST_EXTRA * len(wanted))
    best: tuple[int, int, int] | None = None
    vocabulary = set(wanted)
    for first in (place for place, token in enumerate(there) if token.word in vocabulary):
        window = there[first : first + longest]
        kept, last = _common(wanted, window)
        if kept >= needed:
            off = len(wanted) - kept + (last + 1 - kept)
            if best is None or off < best[0]:
                best = off, window[0].start, window[last].end
    return best


def _common(wanted: list[str], window: list[_Token]) -> tuple[int, int]:
    """How many words the two have in common in order, and where the last of them stands (longest common subsequence)."""
    lengths = [0] * (len(wanted) + 1)
    longest = last = 0
    for place, token in enumerate(window):
        diagonal = 0
        for column, word in enumerate(wanted, 1):
            above = lengths[column]
            lengths[column] = diagonal + 1 if word == token.word else max(above, lengths[column - 1])
            diagonal = above
        if lengths[-1] > longest:
            longest, last = lengths[-1], place
    return longest, last
