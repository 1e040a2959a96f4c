"""The words of the synthetic corpus, all of them our own, and sentences from frames.

In a frame ``(a|b)`` is a choice, ``{name}`` a slot, ``<lie/lies/lay>`` a verb that follows person and tense. The frames lie in
``corpus_text``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import numpy as np

Texts = tuple[str, ...]
Pairs = tuple[tuple[str, str], ...]
Item = TypeVar("Item")

_TOKEN = re.compile(r"\(([^()]*\|[^()]*)\)|\{([^{}]+)\}|<([^<>]+)>")
_PRONOUNS = {
    "I": {"my": "my", "me": "me", "myself": "myself", "I'm": "I'm", "I've": "I've"},
    "she": {"my": "her", "me": "her", "myself": "herself", "I'm": "she's", "I've": "she's"},
    "he": {"my": "his", "me": "him", "myself": "himself", "I'm": "he's", "I've": "he's"},
    "they": {"my": "their", "me": "them", "myself": "themselves", "I'm": "they're", "I've": "they've"},
}
_VERBS = {
    "can't": "can't/can't/couldn't",
    "don't": "don't/doesn't/didn't",
    "haven't": "haven't/hasn't/hadn't",
    "be": "am/is/was",
    "have": "have/has/had",
}
_PLURAL = {"am": "are", "was": "were"}
_FRONT = 3.0  # the greater, the more evenly the frames of a list are used
_TAIL = 0.9


@dataclass(frozen=True)
class CriterionWords:
    """What can be said for a criterion, and what only sounds like it.

    ``direct`` and ``indirect`` are clauses whose person and tense can be changed: in the first person, now, they are evidence.
    """

    criterion_id: str
    name: str
    rate: float  # the share of posts with evidence
    text: str
    direct: Texts
    indirect: Texts
    fine: Texts  # the opposite, to go with a negation
    idiom: Texts
    keyword: Texts
    general: Texts
    vague: Texts
    pairs: Pairs  # evidence that takes two sentences
    context: Pairs  # a question, and an answer that is evidence after it


@dataclass(frozen=True)
class Words:
    """Everything that is written down: per criterion, per topic, and what all sentences share."""

    criteria: tuple[CriterionWords, ...]
    slots: Mapping[str, Texts]
    same: Mapping[str, Texts]  # slots that keep their value for the length of a post
    topics: Mapping[str, Texts]
    greetings: Texts
    decoys: Pairs  # answers that are evidence after another question
    shared: Mapping[str, Mapping[str, Texts]]  # frames around a clause, openers and tails


@cache
def words() -> Words:
    """Read the tables that ship with the package, once.

    >>> [criterion.criterion_id for criterion in words().criteria][:2]
    ['A.1', 'A.2']
    """
    folder = resources.files("evidentia.synth") / "corpus_text"
    tables = {
        file.name: tomllib.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }
    decoys = _pairs(tables["shared.toml"].pop("decoys")["pairs"])
    shared = {name: _texts(table) for name, table in tables["shared.toml"].items()}
    filler = tables["filler_a.toml"] | tables["filler_b.toml"]
    greetings = tuple(filler.pop("forum")["frames"])
    return Words(
        criteria=tuple(_criterion(table) for table in tables.values() if "id" in table),
        slots=shared.pop("slots"),
        same=_texts(filler.pop("same")),
        topics={name: tuple(table["frames"]) for name, table in filler.items()},
        greetings=greetings,
        decoys=decoys,
        shared=shared,
    )


def _criterion(table: Mapping[str, Any]) -> CriterionWords:
    named = {"criterion_id" if name == "id" else name: value for name, value in table.items()}
    lists = {name: tuple(value) for name, value in named.items() if isinstance(value, list)}
    pairs = {name: _pairs(table[name]) for name in ("pairs", "context")}
    return CriterionWords(**(named | lists | pairs))


def _texts(table: Mapping[str, list[str]]) -> Mapping[str, Texts]:
    return {name: tuple(values) for name, values in table.items()}


def _pairs(table: list[list[str]]) -> Pairs:
    return tuple((first, second) for first, second in table)


@dataclass(frozen=True)
class Voice:
    """Of whom a clause speaks, and when."""

    subject: str = "I"  # at the first mention; the pronoun follows
    pronoun: str = "I"
    form: int = 0  # of a verb: I, she, I back then
    since: str = "lately"  # the slot that ``{lately}`` stands for


NOW = Voice()
THEN = Voice(form=2, since="then")
IF = Voice(since="ever")


def of_another(subject_and_pronoun: str) -> Voice:
    """The voice of one who tells of somebody else, as in ``my sister|she``."""
    subject, pronoun = subject_and_pronoun.split("|")
    return Voice(subject, pronoun, 1) if pronoun != "they" else Voice(subject, pronoun, 0, "generally")


class Writer:
    """Writes the sentences of one post: it draws, keeps the names that were used, and repeats no frame while others are left."""

    def __init__(self, words: Words, *, rng: np.random.Generator) -> None:
        self._words = words
        self._rng = rng
        self._same: dict[str, str] = {}
        self._left: dict[Sequence[object], list[int]] = {}

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return bool(self._rng.random() < share)

    def one_of(self, options: Sequence[Item]) -> Item:
        """Any of them, each as likely as the others."""
        return options[int(self._rng.random() * len(options))]

    def place_in(self, shares: Sequence[float]) -> int:
        """A place, drawn in proportion to the shares."""
        ends = np.cumsum(shares)
        return int(np.searchsorted(ends, self._rng.random() * ends[-1], side="right"))

    def frame_of(self, frames: Sequence[Item], *, tail: float = _TAIL) -> Item:
        """One that the post has not used yet; the first of the list are common, the last ones rare unless ``tail`` is 0."""
        left = self._left.get(frames)
        if not left:
            haste = (np.arange(len(frames)) + _FRONT) ** tail
            left = np.argsort(-self._rng.standard_exponential(len(frames)) * haste, kind="stable").tolist()
            self._left[frames] = left
        return frames[left.pop()]

    def write(self, frame: str, voice: Voice = NOW, **slots: str) -> str:
        """Fill a frame; ``given`` are slots that are already known."""
        return _Filling(self, voice, slots).fill(frame)

    def slot(self, name: str) -> str:
        """A value of a slot, which may hold choices itself."""
        if name not in self._words.same:
            return self.one_of(self._words.slots[name])
        return self._same.setdefault(name, self.one_of(self._words.same[name]))

    def from_shared(self, group: str, name: str) -> str:
        """One of the shared frames."""
        return self.one_of(self._words.shared[group][name])


class _Filling:
    """One sentence in the making: it knows whether its subject was named already."""

    def __init__(self, writer: Writer, voice: Voice, slots: Mapping[str, str]) -> None:
        self._writer = writer
        self._voice = voice
        self._given = slots
        self._named = voice.subject == voice.pronoun

    def fill(self, text: str) -> str:
        return _TOKEN.sub(self._filled, text)

    def _filled(self, match: re.Match[str]) -> str:
        choice, slot, verb = match.groups()
        if choice is not None:
            return self.fill(self._writer.one_of(choice.split("|")))
        if verb is not None:
            return self._verb(verb)
        if slot in self._given:
            return self._given[slot]
        if slot in _VERBS and slot != "be":
            return self._verb(_VERBS[slot])
        if slot == "I" or slot in _PRONOUNS["I"]:
            return self._person(slot)
        return self.fill(self._writer.slot(self._voice.since if slot == "lately" else slot))

    def _verb(self, forms: str) -> str:
        """Three forms are those of I, she, and I back then; two are now and back then."""
        all_forms = forms.split("/")
        if len(all_forms) == 2:
            return all_forms[self._voice.form == 2]
        form = all_forms[self._voice.form]
        return _PLURAL.get(form, form) if self._voice.pronoun == "they" else form

    def _person(self, slot: str) -> str:
        voice, short = self._voice, slot in ("I'm", "I've")
        first, self._named = not self._named, True
        if short and (first or voice.form == 2):
            verb = self._verb(_VERBS["be" if slot == "I'm" else "have"])
            return f"{voice.subject} {verb}"
        if first:
            return f"{voice.subject}'s" if slot == "my" else voice.subject
        return voice.pronoun if slot == "I" else _PRONOUNS[voice.pronoun][slot]


def sentence(text: str, end: str = ".") -> str:
    """Tidy a filled frame: single spaces, a capital, and an end.

    >>> sentence("my sister  is tired , I guess")
    'My sister is tired, I guess.'
    """
    tidy = " ".join(text.split()).replace(" ,", ",").replace(",,", ",").replace(":,", ":")
    return tidy[0].upper() + tidy[1:] + ("" if tidy[-1] in ".?!" else end)


def plain_texts(texts: Texts) -> Texts:
    """Without apostrophes and capitals, as typed in a hurry.

    >>> plain_texts(("I can't.",))
    ('i cant.',)
    """
    return tuple(text.replace("'", "").lower() for text in texts)
