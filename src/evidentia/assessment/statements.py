"""What a participant states about an item: which words, whether there or denied, about whom, when, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from evidentia.assessment.frequency import Days, read_days
from evidentia.assessment.instrument import Instrument, Item
from evidentia.assessment.interviews import Interview
from evidentia.assessment.language import opening, pattern, plain, words
from evidentia.assessment.similarity import ItemSimilarity

Polarity = Literal["present", "absent", "unclear"]
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+|$)")
_CLAUSE = re.compile(
    r"\b(?:but|although|though|however|whereas|except|because|since|while)\b|[;:]"
    r"|,\s+(?=(?:and |so )?(?:i|he|she|they|we|my|it)\b)|\s-+\s"
)
_WORD = re.compile(r"[a-z][a-z'-]*")


@dataclass(frozen=True)
class Statement:
    """One clause of a participant about one item, by turn and character offsets."""

    turn: int
    start: int
    end: int
    item: str
    polarity: Polarity
    about_self: bool
    now: bool
    serious: bool  # neither a joke nor a hypothesis
    days: Days | None
    hedged: bool
    intense: bool
    from_question: bool = False  # a yes, a no or a frequency that answers a question about the item

    @property
    def counts(self) -> bool:
        """Whether it is about the speaker now and means what it says."""
        return self.about_self and self.now and self.serious and self.polarity != "unclear"


@dataclass(frozen=True)
class Clause:
    """A clause of a sentence with its place in the turn."""

    start: int
    end: int
    text: str
    sentence: str


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a turn, with their offsets.

    >>> [c.text for c in clauses("I sleep fine, but I feel tired. Every day.")]
    ['I sleep fine,', 'I feel tired.', 'Every day.']
    """
    for sentence in _SENTENCE.finditer(text):
        start = sentence.start()
        for cut in [*_CLAUSE.finditer(text.lower(), sentence.start(), sentence.end()), None]:
            end = sentence.end() if cut is None else cut.start()
            part = text[start:end]
            if part.strip():
                lead = len(part) - len(part.lstrip())
                yield Clause(start + lead, start + len(part.rstrip()), part.strip(), sentence[0])
            start = end if cut is None else cut.end()


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [match[0].strip() for match in _SENTENCE.finditer(text) if match[0].strip()]


@lru_cache(maxsize=64)
def _matcher(terms: tuple[str, ...]) -> re.Pattern[str] | None:
    ordered = sorted(terms, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, ordered))})\b") if ordered else None


def _match(terms: tuple[str, ...], text: str) -> re.Match[str] | None:
    matcher = _matcher(terms)
    return None if matcher is None else matcher.search(text)


def mentions(item: Item, text: str) -> bool:
    """Whether a text has words of an item."""
    lowered = plain(text)
    return _match(item.keywords, lowered) is not None or _match(item.abilities, lowered) is not None


def polarity_of(item: Item, text: str) -> Polarity | None:
    """Whether the words of an item say that its problem is there, or not; None where it is not mentioned.

    >>> from evidentia.assessment.instrument import load_instrument
    >>> sleep = load_instrument("phq8").items[2]
    >>> [polarity_of(sleep, t) for t in ("I can't sleep", "I sleep fine", "no trouble sleeping", "we talked", "my sleep")]
    ['present', 'absent', 'absent', None, 'unclear']
    """
    lowered = plain(text)
    ability, problem = _match(item.abilities, lowered), _match(item.keywords, lowered)
    if problem is not None:
        return _problem_polarity(lowered, problem)
    if ability is None:
        return None
    return _ability_polarity(lowered)


def _problem_polarity(text: str, match: re.Match[str]) -> Polarity:
    before = pattern("not_a_denial").sub(" ", text[: match.start()])
    window = " ".join(before.split()[-6:])
    if pattern("negation").search(window) or pattern("ended").search(window):
        return "absent"
    return "present"


def _ability_polarity(text: str) -> Polarity:
    if pattern("not_well").search(text):
        return "present"
    well = pattern("well").search(text)
    if well is not None:
        return "absent"
    return "present" if pattern("failing").search(pattern("not_a_denial").sub(" ", text)) else "unclear"


def _answer_polarity(item: Item, question: str, first: str, reply: str) -> Polarity:
    """Whether a problem is there by a yes, a no, a judgement or a frequency behind a question about it."""
    asked, lowered = polarity_of(item, _last_question(question)), plain(first)
    if asked is None:
        return "unclear"
    if opening("no").search(lowered):
        return "present" if asked == "absent" else "absent"
    if opening("yes").search(lowered):
        return asked
    if asked == "present":
        return "unclear" if read_days(reply) is None else "present"
    return "unclear" if _match(item.abilities, plain(question)) is None else _ability_polarity(lowered)


def _joined(parts: Sequence[Clause]) -> Clause:
    """Clauses that follow each other as one; the sentence is that of the first."""
    first = parts[0]
    return Clause(first.start, parts[-1].end, " ".join(part.text for part in parts), first.sentence)


def _similar_polarity(text: str) -> Polarity:
    """A cosine does not see a negation, so that only a clause without one states the problem."""
    if pattern("negation").search(pattern("not_a_denial").sub(" ", text)):
        return "unclear"
    return "absent" if pattern("well").search(text) else "present"


def about_self(clause: str, at: int | None = None) -> bool:
    """Whether the nearest person before a place is the speaker; without anybody it is.

    >>> about_self("my mother says I look tired", 22), about_self("my husband is tired", 14), about_self("tired")
    (True, False, True)
    """
    before = _WORD.findall(plain(clause[: len(clause) if at is None else at]))
    nearest = next((word for word in reversed(before) if word in words("self") | words("others")), None)
    return nearest is None or nearest in words("self")


class StatementFinder:
    """Finds the statements of an interview about the items of an instrument."""

    def __init__(
        self,
        instrument: Instrument,
        *,
        context: Literal["qa", "participant"] = "qa",
        similarity: ItemSimilarity | None = None,
    ) -> None:
        self.items = instrument.items
        self.context, self.similarity = context, similarity

    def statements(self, interview: Interview) -> Mapping[str, Sequence[Statement]]:
        """Every statement by item."""
        by_item: dict[str, list[Statement]] = {item.id: [] for item in self.items}
        for place, turn in interview.answers:
            question = interview.question_before(place) if self.context == "qa" else ""
            for statement in self._turn(place, turn.text, question):
                by_item[statement.item].append(statement)
        if self.similarity is not None:
            unstated = {own for own, stated in by_item.items() if not any(s.counts for s in stated)}
            for statement in self._similar(interview, self.similarity):
                if statement.item in unstated:
                    by_item[statement.item].append(statement)
        return by_item

    def _turn(self, place: int, text: str, question: str) -> Iterator[Statement]:
        parts = list(clauses(text))
        whole = " ".join(part.text for part in parts)
        joke = pattern("joke").search(plain(whole)) is not None
        for item in self.items:
            own = [s for part in parts if (s := self._clause(place, part, item, joke)) is not None]
            if not any(statement.polarity != "unclear" for statement in own) and parts:
                own += self._answer(place, parts, item, question, joke)
            yield from own

    def _clause(self, place: int, part: Clause, item: Item, joke: bool) -> Statement | None:
        polarity = polarity_of(item, part.text)
        if polarity is None:
            return None
        lowered = plain(part.text)
        match = _match(item.keywords, lowered) or _match(item.abilities, lowered)
        assert match is not None
        statement = self._statement(place, part, item, polarity, joke)
        return replace(statement, about_self=about_self(part.text, match.start()))

    def _answer(self, place: int, parts: Sequence[Clause], item: Item, question: str, joke: bool) -> list[Statement]:
        """A reply right behind a question about the item, as far as it answers it."""
        reply = _joined(parts[:2])
        polarity = _answer_polarity(item, question, parts[0].text, reply.text)
        if polarity == "unclear" or not about_self(parts[0].text):
            return []
        return [replace(self._statement(place, reply, item, polarity, joke), from_question=True)]

    def _similar(self, interview: Interview, similarity: ItemSimilarity) -> Iterator[Statement]:
        """Clauses without a keyword of any item that are close to one; they count no more than hedged ones."""
        places = [
            (place, part, turn.text)
            for place, turn in interview.answers
            for part in clauses(turn.text)
            if not any(mentions(item, part.text) for item in self.items)
        ]
        nearest = similarity.items([part.text for _, part, _ in places])
        by_id = {item.id: item for item in self.items}
        for (place, part, turn), own in zip(places, nearest, strict=True):
            if own is not None:
                joke = pattern("joke").search(plain(turn)) is not None
                statement = self._statement(place, part, by_id[own], _similar_polarity(plain(part.text)), joke)
                yield replace(statement, about_self=about_self(part.text), hedged=True)

    def _statement(self, place: int, part: Clause, item: Item, polarity: Polarity, joke: bool) -> Statement:
        lowered, sentence = plain(part.text), plain(part.sentence)
        days = read_days(part.text) or (read_days(part.sentence) if polarity == "present" else None)
        if days is not None and days.high == 0 and polarity == "present" and not days.explicit:
            polarity, days = "absent", None
        return Statement(
            turn=place,
            start=part.start,
            end=part.end,
            item=item.id,
            polarity=polarity,
            about_self=True,
            now=pattern("past").search(sentence) is None,
            serious=not joke and pattern("hypothetical").search(lowered) is None,
            days=days,
            hedged=pattern("hedge").search(lowered) is not None,
            intense=pattern("intense").search(lowered) is not None,
        )


def _last_question(text: str) -> str:
    """The last sentence of what was asked; a question mark may be missing in transcripts."""
    spoken = sentences(text)
    asked = [sentence for sentence in spoken if sentence.endswith("?")]
    return (asked or spoken or [""])[-1]
