"""One post of the synthetic corpus: its evidence and traps, set into talk that stays with a topic for a while."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.synth.corpus_grammar import Writer, plain_texts
from evidentia.synth.corpus_sentences import Author, Sentence, Unit
from evidentia.synth.corpus_words import Words

_JOINED = 0.35  # of the posts with evidence for two criteria have a sentence for both
_MISSED = 0.03  # of the posts have evidence that was not annotated
_DECOY = 0.08  # of the posts
_GREETING = 0.3  # of the posts, and as many say goodbye
_STAY = 0.75  # how often a sentence stays with the topic of the one before
_HURRIED = 0.12  # of the posts are typed without capitals and apostrophes


def write_post(
    words: Words, *, length: int, evidence: Ints, traps: Ints, rates: Floats, rng: np.random.Generator
) -> tuple[Sentence, ...]:
    """Write a post with this evidence and these traps per criterion, filled up to its length with neutral talk."""
    writer = Writer(words, rng=rng)
    author = Author(writer, words)
    units = [*_evidence(author, writer, evidence), *_traps(author, writer, traps, rates)]
    used = sum(map(len, units))
    talk = _talk(author, writer, max(length - used, 0), tuple(words.topics))
    sentences = [sentence for unit in _set_into(talk, units, rng=rng) for sentence in unit]
    return _in_a_hurry(sentences) if writer.chance(_HURRIED) else tuple(sentences)


def _evidence(author: Author, writer: Writer, pieces: Ints) -> list[Unit]:
    left = pieces.tolist()
    units = []
    criteria = np.flatnonzero(pieces).tolist()
    if len(criteria) > 1 and writer.chance(_JOINED):
        first = writer.one_of(criteria)
        second = writer.one_of([other for other in criteria if other != first])
        units.append(author.joined(first, second))
        left[first] -= 1
        left[second] -= 1
    units += [author.evidence(criterion) for criterion, count in enumerate(left) for _ in range(count)]
    return units


def _traps(author: Author, writer: Writer, traps: Ints, rates: Floats) -> list[Unit]:
    units = [author.trap(criterion) for criterion, count in enumerate(traps.tolist()) for _ in range(count)]
    if writer.chance(_MISSED):
        units.append(author.missed(writer.place_in(tuple(rates.tolist()))))
    if writer.chance(_DECOY):
        units.append(author.decoy())
    return units


def _talk(author: Author, writer: Writer, count: int, topics: tuple[str, ...]) -> list[Unit]:
    """Neutral sentences: a few topics, each for some sentences, between a greeting and a goodbye."""
    own = [writer.one_of(topics) for _ in range(1 + count // 8)]
    units: list[Unit] = []
    topic = own[0]
    left = count
    while left > 0:
        if not writer.chance(_STAY):
            topic = writer.one_of(own)
        ends = left in (1, count) and writer.chance(_GREETING)
        units.append(author.greeting() if ends else author.filler(topic)[:left])
        left -= len(units[-1])
    return units


def _set_into(talk: list[Unit], units: list[Unit], *, rng: np.random.Generator) -> list[Unit]:
    """Put the units between the sentences of the talk, most of them near one place."""
    middle = rng.random()
    place = np.clip(middle + 0.25 * rng.standard_normal(len(units)), 0.0, 1.0) * len(talk)
    keys = np.concatenate([np.arange(len(talk)) + 0.5, place])
    together = [*talk, *units]
    return [together[at] for at in np.argsort(keys, kind="stable").tolist()]


def _in_a_hurry(sentences: list[Sentence]) -> tuple[Sentence, ...]:
    texts = plain_texts(tuple(sentence.text for sentence in sentences))
    return tuple(Sentence(text, s.kind, s.about, s.is_gold) for text, s in zip(texts, sentences, strict=True))
