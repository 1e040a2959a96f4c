"""An invented corpus with texts, gold and traps: something to train on and to search where no real post may be used.

First it is drawn what every post is to hold (`corpus_plan`); then each is written, its evidence and traps set into talk that
stays with a topic for a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Criterion, Posts
from evidentia.errors import InputError, shown
from evidentia.synth.corpus_plan import SHORTEST, draw_plan
from evidentia.synth.corpus_sentences import Author, Unit, WrittenSentence
from evidentia.synth.corpus_words import Words, Writer, plain_texts, words
from evidentia.synth.truth import whole_number_problems

MOST_POSTS = 1_000_000
MOST_SENTENCES = 1_000
_CONTRACT_POSTS, _CONTRACT_POSITIVES = 1477, 1379
_JOINED = 0.35  # of the posts with evidence for two criteria have a sentence for both
_MISSED = 0.03  # of the posts have evidence that was not annotated
_DECOY = 0.08  # of the posts
_GREETING = 0.3  # of the posts, and as many say goodbye
_STAY = 0.75  # how often a sentence stays with the topic of the one before
_HURRIED = 0.12  # of the posts are typed without capitals and apostrophes


@dataclass(frozen=True, eq=False)
class SyntheticCorpus:
    """Posts with gold, and what the generator knows beside it, for the study of errors.

    ``kinds`` names how each sentence came about (see ``KINDS``); ``about`` says for every sentence and criterion whether it is
    meant to sound like it, as evidence or as a trap.
    """

    posts: Posts
    kinds: tuple[str, ...]
    about: Bools


def synthetic_corpus(
    *, posts: int = 1477, positives: int | None = None, mean_sentences: float = 20, seed: int = 7
) -> Posts:
    """Write a corpus of invented posts with gold; the same arguments give the same texts.

    Exactly ``positives`` queries have evidence (default: 1,379 of 14,770, and the same share of other sizes).

    >>> made = synthetic_corpus(posts=2)
    >>> made.post_ids, made.criterion_ids[-1], int(made.has_evidence().sum())
    (('synth-0001', 'synth-0002'), 'A.10', 2)
    """
    return synthetic_corpus_with_kinds(posts=posts, positives=positives, mean_sentences=mean_sentences, seed=seed).posts


def synthetic_corpus_with_kinds(
    *, posts: int = 1477, positives: int | None = None, mean_sentences: float = 20, seed: int = 7
) -> SyntheticCorpus:
    """The same corpus, with the kind of every sentence.

    >>> synthetic_corpus_with_kinds(posts=1, seed=1).kinds[0]
    'filler'
    """
    _check(posts, positives, mean_sentences, seed)
    tables = words()
    rates = np.array([criterion.rate for criterion in tables.criteria])
    rng = np.random.default_rng([seed, 0])
    wanted = _default_positives(posts, len(rates)) if positives is None else positives
    plan = draw_plan(rates, posts=posts, positives=wanted, mean_sentences=mean_sentences, rng=rng)
    written = [
        write_post(tables, length=length, evidence=evidence, traps=traps, rates=rates, rng=rng)
        for length, evidence, traps in zip(plan.lengths.tolist(), plan.evidence, plan.traps, strict=True)
    ]
    criteria = tuple(Criterion(criterion.criterion_id, criterion.text) for criterion in tables.criteria)
    return _assembled(written, criteria)


def _default_positives(posts: int, criteria: int) -> int:
    """The share of the contract's dataset, 9.34 %."""
    return round(posts * criteria * _CONTRACT_POSITIVES / (_CONTRACT_POSTS * criteria))


def _assembled(written: list[tuple[WrittenSentence, ...]], criteria: tuple[Criterion, ...]) -> SyntheticCorpus:
    width = max(4, len(str(len(written))))
    ids = tuple(f"synth-{number:0{width}d}" for number in range(1, len(written) + 1))
    flat = [sentence for post in written for sentence in post]
    about = np.zeros((len(flat), len(criteria)), np.bool_)
    for row, sentence in enumerate(flat):
        about[row, list(sentence.about)] = True
    is_gold = np.array([sentence.is_gold for sentence in flat], np.bool_)
    posts = Posts(
        post_ids=ids,
        sent_uids=tuple(
            f"{post_id}_{at}" for post_id, post in zip(ids, written, strict=True) for at in range(len(post))
        ),
        texts=tuple(sentence.text for sentence in flat),
        offsets=np.cumsum([0, *map(len, written)], dtype=np.int64),
        criteria=criteria,
        gold=about & is_gold[:, None],
    )
    return SyntheticCorpus(posts, tuple(sentence.kind for sentence in flat), about)


def _check(posts: int, positives: int | None, mean_sentences: float, seed: int) -> None:
    numbers: dict[str, tuple[Any, int, int | None]] = {"posts": (posts, 1, MOST_POSTS), "seed": (seed, 0, None)}
    if positives is not None and isinstance(posts, Integral):
        numbers["positives"] = (positives, 0, max(posts, 0) * len(words().criteria))
    problems = whole_number_problems(**numbers)
    if not SHORTEST <= mean_sentences <= MOST_SENTENCES:
        problems.append(
            f"mean_sentences is {shown(mean_sentences)}. Give a number from {SHORTEST} to {MOST_SENTENCES:,}."
        )
    if problems:
        raise InputError(*problems)


def write_post(
    words: Words, *, length: int, evidence: Ints, traps: Ints, rates: Floats, rng: np.random.Generator
) -> tuple[WrittenSentence, ...]:
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


def _in_a_hurry(sentences: list[WrittenSentence]) -> tuple[WrittenSentence, ...]:
    texts = plain_texts(tuple(sentence.text for sentence in sentences))
    return tuple(WrittenSentence(text, s.kind, s.about, s.is_gold) for text, s in zip(texts, sentences, strict=True))
