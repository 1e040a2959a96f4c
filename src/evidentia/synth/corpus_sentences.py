"""Sentences of every kind: evidence for a criterion, the traps that only sound like it, and neutral talk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evidentia.synth.corpus_words import IF, NOW, THEN, CriterionWords, Voice, Words, Writer, of_another, sentence

EVIDENCE_KINDS = ("direct", "indirect", "two-criteria", "spread", "continued", "context", "ambiguous")
TRAP_KINDS = (
    *("negation", "other-person", "past", "hypothetical", "idiom", "general", "keyword"),
    *("vague", "question", "lead-in", "follow-up"),
)
KINDS = (*EVIDENCE_KINDS, "missed", *TRAP_KINDS, "decoy", "filler")

_INDIRECT = 0.45  # of the clauses
_OPENED, _TAILED = 0.3, 0.2  # of the sentences
_FRAMED, _HARD = 0.3, 0.18  # of the evidence: in a frame, and in one that has the words of a trap
# Words that evidence has too come after troublesome talk and after other people's trouble in this share of the cases.
_FOLLOWED, _TRAP_FOLLOWED = 0.03, 0.15
_TROUBLESOME = ("work", "home", "money", "study", "venting")
_LIGHT = 0.3  # of the neutral talk
_JOINED_TALK = 0.25  # of the neutral talk says two things
_EVIDENCE_SHARE = {"clause": 0.69, "spread": 0.09, "continued": 0.13, "context": 0.07, "ambiguous": 0.02}
_TRAP_SHARE = {
    **{"negation": 0.17, "other-person": 0.19, "past": 0.14, "hypothetical": 0.12, "idiom": 0.09, "general": 0.11},
    **{"keyword": 0.1, "vague": 0.03, "question": 0.03, "lead-in": 0.02},
}
_JOINTS = (", and ", " and ", ", also ", ", but ", ", plus ", " - ")
_ENDS = (".", ".", ".", ".", ".", ".", ".", ".", "...")


@dataclass(frozen=True)
class WrittenSentence:
    """A sentence, how it came about, which criteria it is about, and whether it is gold for them."""

    text: str
    kind: str
    about: tuple[int, ...] = ()
    is_gold: bool = False


Unit = tuple[WrittenSentence, ...]  # sentences that stay together


class Author:
    """Writes units of one post."""

    def __init__(self, writer: Writer, words: Words) -> None:
        self._writer = writer
        self._words = words

    def evidence(self, criterion: int) -> Unit:
        """A piece of evidence: one sentence, or two that belong together."""
        own = self._words.criteria[criterion]
        kind = self._kind(_EVIDENCE_SHARE)
        if kind == "spread":
            return tuple(self._plain(text, kind, criterion, gold=True) for text in self._writer.frame_of(own.pairs))
        if kind == "continued":
            return self._stated(own, criterion, gold=True), self._follow_up("continued", criterion, gold=True)
        if kind == "context":
            question, answer = self._writer.frame_of(own.context)
            return self._plain(question, "question", criterion), self._plain(answer, kind, criterion, gold=True)
        if kind == "ambiguous":
            return (self._plain(self._writer.frame_of(own.vague), kind, criterion, gold=True),)
        return (self._stated(own, criterion, gold=True),)

    def missed(self, criterion: int) -> Unit:
        """Evidence that the annotators passed over: not gold."""
        stated = self._stated(self._words.criteria[criterion], criterion, gold=False)
        return (WrittenSentence(stated.text, "missed", stated.about),)

    def joined(self, first: int, second: int) -> Unit:
        """One sentence that is evidence for two criteria."""
        clause, other = (self._clause(self._words.criteria[at], NOW)[0] for at in (first, second))
        text = self._writer.write(self._writer.from_shared("evidence", "joined"), clause=clause, second=other)
        return (WrittenSentence(self._dressed(text), "two-criteria", (first, second), True),)

    def trap(self, criterion: int) -> Unit:
        """Something that has the words of a criterion, and is no evidence for it."""
        own = self._words.criteria[criterion]
        kind = self._kind(_TRAP_SHARE)
        if kind == "question":
            question, _ = self._writer.frame_of(own.context)
            answer = self._writer.from_shared("negation", "answers")
            return self._plain(question, kind, criterion), self._plain(answer, "negation", criterion)
        if kind == "lead-in":
            return (self._plain(self._writer.frame_of(own.pairs)[0], kind, criterion),)
        if kind in ("idiom", "keyword", "vague") or (kind == "general" and self._writer.chance(0.4)):
            frames: Sequence[str] = getattr(own, kind)
            return (self._plain(self._writer.frame_of(frames), kind, criterion),)
        turned = WrittenSentence(self._dressed(self._turned(own, kind), "bare"), kind, (criterion,))
        followed = kind == "other-person" and self._writer.chance(_TRAP_FOLLOWED)
        return (turned, self._follow_up("follow-up", criterion)) if followed else (turned,)

    def decoy(self) -> Unit:
        """A question about something else, and an answer that would be evidence after another question."""
        return tuple(self._plain(text, "decoy") for text in self._writer.frame_of(self._words.decoys, tail=0.0))

    def filler(self, topic: str) -> Unit:
        """A sentence of a topic."""
        frames = self._words.topics[topic]
        parts = [self._writer.write(self._writer.frame_of(frames, tail=0.0)) for _ in range(2)]
        joined = self._writer.chance(_JOINED_TALK) and not any(text.endswith("?") for text in parts)
        text = self._writer.one_of(_JOINTS).join(parts) if joined else parts[0]
        talk = WrittenSentence(self._dressed(text, "light", scale=0.8), "filler")
        followed = topic in _TROUBLESOME and self._writer.chance(_FOLLOWED)
        return (talk, self._follow_up("follow-up")) if followed else (talk,)

    def greeting(self) -> Unit:
        """What stands at the beginning or the end of a post."""
        return (WrittenSentence(sentence(self._writer.write(self._writer.one_of(self._words.greetings))), "filler"),)

    def _stated(self, own: CriterionWords, criterion: int, *, gold: bool) -> WrittenSentence:
        text, kind = self._clause(own, NOW)
        if self._writer.chance(_FRAMED + _HARD):
            name = "plain" if self._writer.chance(_FRAMED / (_FRAMED + _HARD)) else "hard"
            text = self._writer.write(self._writer.from_shared("evidence", name), clause=text)
        return WrittenSentence(self._dressed(text), kind, (criterion,), gold)

    def _clause(self, own: CriterionWords, voice: Voice) -> tuple[str, str]:
        kind = "indirect" if self._writer.chance(_INDIRECT) else "direct"
        frames = own.indirect if kind == "indirect" else own.direct
        return self._writer.write(self._writer.frame_of(frames), voice).strip(), kind

    def _turned(self, own: CriterionWords, kind: str) -> str:
        """A clause that would be evidence in the first person, now: denied, told of another, of the past, or supposed."""
        turns: dict[str, Callable[[CriterionWords], str]] = {
            "negation": self._denied,
            "other-person": self._of_another,
            "past": self._of_the_past,
            "hypothetical": self._supposed,
            "general": self._in_general,
        }
        return turns[kind](own)

    def _denied(self, own: CriterionWords) -> str:
        fine = self._writer.write(self._writer.one_of(own.fine))
        frame = self._writer.from_shared("negation", "first")
        return self._writer.write(frame, clause=self._clause(own, NOW)[0], fine=fine)

    def _of_another(self, own: CriterionWords) -> str:
        voice = of_another(self._writer.from_shared("other", "subjects"))
        return self._writer.write(self._writer.from_shared("other", "third"), clause=self._clause(own, voice)[0])

    def _of_the_past(self, own: CriterionWords) -> str:
        when, over = (self._writer.write(self._writer.from_shared("past", name)) for name in ("when", "over"))
        frame = self._writer.from_shared("past", "first")
        return self._writer.write(frame, clause=self._clause(own, THEN)[0], when=when, over=over)

    def _supposed(self, own: CriterionWords) -> str:
        return self._writer.write(self._writer.from_shared("hypothetical", "first"), clause=self._clause(own, IF)[0])

    def _in_general(self, own: CriterionWords) -> str:
        if self._writer.chance(0.3):
            return self._writer.write(self._writer.from_shared("general", "quote"), clause=self._clause(own, NOW)[0])
        voice = of_another(self._writer.from_shared("general", "subjects"))
        return self._writer.write(self._writer.from_shared("general", "people"), clause=self._clause(own, voice)[0])

    def _follow_up(self, kind: str, criterion: int | None = None, *, gold: bool = False) -> WrittenSentence:
        return self._plain(self._writer.from_shared("evidence", "follow"), kind, criterion, gold=gold)

    def _plain(self, frame: str, kind: str, criterion: int | None = None, *, gold: bool = False) -> WrittenSentence:
        about = () if criterion is None else (criterion,)
        return WrittenSentence(self._dressed(self._writer.write(frame), "bare", scale=0.6), kind, about, gold)

    def _dressed(self, text: str, tone: str = "plain", *, scale: float = 1.0) -> str:
        """With an opener and a tail, now and then, and an end.

        A light tone is for talk that is about nothing grave; bare tails would not turn what they follow into evidence.
        """
        light = tone == "light" and self._writer.chance(_LIGHT)
        if self._writer.chance(_OPENED * scale):
            text = f"{self._writer.from_shared('openers', 'light' if light else 'plain')} {text}"
        if not text.endswith("?") and self._writer.chance(_TAILED * scale):
            name = "light" if light else "bare" if tone == "bare" else "plain"
            tail = self._writer.write(self._writer.from_shared("tails", name))
            text = f"{text}{' ' if tail.startswith('and ') else ', '}{tail}"
        return sentence(text, "!" if light and self._writer.chance(_LIGHT) else self._writer.one_of(_ENDS))

    def _kind(self, shares: dict[str, float]) -> str:
        at = self._writer.place_in(tuple(shares.values()))
        return tuple(shares)[at]
