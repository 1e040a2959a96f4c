"""Find quoted sentences in the text that they come from, and cut the rest of the text around them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

from evidentia.corpus.splitter import Span

SIMILAR = 0.8  # from which on a quote whose words differ from the text is taken for a sentence of it
_MOST = 200  # occurrences of one quote that are looked at: a single letter has many
_UNPLACED, _INEXACT, _CUTS_A_WORD, _NOT_WHOLE, _FARTHEST = 10_000.0, 1_000.0, 100.0, 10.0, 9


@dataclass(frozen=True)
class Quote:
    """A sentence as it is quoted apart from its text, and its number among the sentences of the text."""

    index: int
    text: str


@dataclass(frozen=True)
class Placed:
    """A sentence of a text: its place, and its number where a quote gives one; ``exact`` if only white space differs."""

    span: Span
    index: int | None = None
    exact: bool = True


def place_quotes(text: str, quotes: Sequence[Quote], spans: Sequence[Span]) -> list[Placed | None]:
    """Where each quote stands in the text, in the order of their numbers and without overlap; None if nowhere.

    ``spans`` are the sentences that a splitter finds. Of several occurrences those are taken that are whole sentences,
    and then those whose number is nearest, all quotes considered together.

    >>> text = "I am tired. I eat. I am tired."
    >>> place_quotes(text, [Quote(2, "I am  tired.")], [Span(0, 11), Span(12, 18), Span(19, 30)])
    [Placed(span=Span(start=19, stop=30), index=2, exact=True)]
    """
    keys = (_Key(text, _inked), _Key(text, _letters))
    states = [_State(0, 0.0, None, None)]
    for quote in quotes:
        options = _options(quote, text, spans, keys)
        reached = [_State(state.stop, state.cost + _UNPLACED, None, state) for state in states]
        for option in options:
            before = [state for state in states if state.stop <= option.placed.span.start]
            if before:
                cheapest = min(before, key=lambda state: state.cost)
                cost = cheapest.cost + option.cost
                reached.append(_State(option.placed.span.stop, cost, option.placed, cheapest))
        states = _undominated(reached)
    return _trail(min(states, key=lambda state: state.cost), len(quotes))


def arrange(text: str, placed: Sequence[Placed], spans: Sequence[Span]) -> list[Placed]:
    """All sentences of a text: those that were placed, and what the splitter finds in the gaps between them.

    A rest without letters, as a full stop that a quote leaves out, is joined to the sentence that it was cut from.
    """
    result: list[Placed] = []
    bounds = [Span(0, 0), *(quote.span for quote in placed), Span(len(text), len(text))]
    for number, (before, after) in enumerate(pairwise(bounds)):
        rests = list(_between(text, before.stop, after.start, spans))
        if rests and result and number and _belongs(text, rests[0], spans, before.stop):
            result[-1] = replace(result[-1], span=Span(result[-1].span.start, rests.pop(0).stop))
        last = placed[number] if number < len(placed) else None
        if last is not None and rests and _leads(text, rests[-1], spans):
            last = replace(last, span=Span(rests.pop().start, last.span.stop))
        result += [Placed(rest) for rest in rests]
        if last is not None:
            result.append(last)
    return result


@dataclass(frozen=True, eq=False)
class _State:
    """Some quotes placed so far: where the last one ends, what that costs, and how it came about."""

    stop: int
    cost: float
    placed: Placed | None
    before: _State | None


@dataclass(frozen=True)
class _Option:
    placed: Placed
    cost: float


class _Key:
    """A text reduced to the characters that count, with their places."""

    def __init__(self, text: str, reduce: Callable[[str], str]) -> None:
        reduced = [(character, at) for at, original in enumerate(text) for character in reduce(original)]
        self.characters = "".join(character for character, _ in reduced)
        self.places = [at for _, at in reduced]
        self._reduce = reduce

    def occurrences(self, quote: str) -> Iterator[Span]:
        wanted = "".join(character for original in quote for character in self._reduce(original))
        at = self.characters.find(wanted) if wanted else -1
        for _ in range(_MOST):
            if at < 0:
                return
            yield Span(self.places[at], self.places[at + len(wanted) - 1] + 1)
            at = self.characters.find(wanted, at + 1)


def _inked(character: str) -> str:
    return "" if character.isspace() else character


def _letters(character: str) -> str:
    return character.casefold() if character.isalnum() else ""


def _options(quote: Quote, text: str, spans: Sequence[Span], keys: Iterable[_Key]) -> list[_Option]:
    """Places for a quote: where it stands but for white space, else but for punctuation and case, else similar sentences."""
    for exact, key in zip((True, False), keys, strict=True):
        if occurrences := list(key.occurrences(quote.text)):
            extra = 0.0 if exact else _INEXACT
            return [
                _Option(Placed(s, quote.index, exact), extra + _cost(text, s, quote.index, spans)) for s in occurrences
            ]
    similar = ((span, _similarity(quote.text, text[span.start : span.stop])) for span in spans)
    return [
        _Option(Placed(span, quote.index, False), _INEXACT * (2 - likeness) + _cost(text, span, quote.index, spans))
        for span, likeness in similar
        if likeness >= SIMILAR
    ]


def _similarity(first: str, other: str) -> float:
    matcher = SequenceMatcher(None, first, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= SIMILAR and matcher.quick_ratio() >= SIMILAR else 0.0


def _cost(text: str, place: Span, index: int, spans: Sequence[Span]) -> float:
    """How unlikely an occurrence is to be the sentence of this number."""
    number = max(bisect_right(spans, place.start, key=lambda span: span.start) - 1, 0)
    whole = place in spans[number : number + 1]
    return _CUTS_A_WORD * _cuts_a_word(text, place) + _NOT_WHOLE * (not whole) + min(abs(number - index), _FARTHEST)


def _cuts_a_word(text: str, place: Span) -> bool:
    return any(0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum() for at in (place.start, place.stop))


def _undominated(states: Iterable[_State]) -> list[_State]:
    """Those for which no other ends as early and costs as little."""
    kept: list[_State] = []
    for state in sorted(states, key=lambda state: (state.stop, state.cost)):
        if not kept or state.cost < kept[-1].cost:
            kept.append(state)
    return kept


def _trail(state: _State, length: int) -> list[Placed | None]:
    path: list[Placed | None] = []
    for _ in range(length):
        path.append(state.placed)
        assert state.before is not None
        state = state.before
    return path[::-1]


def _between(text: str, start: int, stop: int, spans: Sequence[Span]) -> Iterator[Span]:
    """The parts of sentences that lie in a gap, without white space around them."""
    for span in spans:
        low, high = max(start, span.start), min(stop, span.stop)
        if part := text[low:high].strip() if low < high else "":
            low += len(text[low:high]) - len(text[low:high].lstrip())
            yield Span(low, low + len(part))


def _belongs(text: str, rest: Span, spans: Sequence[Span], end: int) -> bool:
    """Whether a rest is the punctuation behind a sentence that was placed."""
    cut = any(span.start < end <= rest.start and rest.stop <= span.stop for span in spans)
    return cut and not _has_letters(text, rest)


def _leads(text: str, rest: Span, spans: Sequence[Span]) -> bool:
    """Whether a rest is the punctuation before a sentence that was placed."""
    cut = any(span.start <= rest.start and rest.stop < span.stop for span in spans)
    return cut and not _has_letters(text, rest)


def _has_letters(text: str, span: Span) -> bool:
    return any(character.isalnum() for character in text[span.start : span.stop])
