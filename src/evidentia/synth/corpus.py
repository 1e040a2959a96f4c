"""An invented corpus with texts, gold and traps: something to train on and to search where no real post may be used."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from evidentia.array_types import Bools
from evidentia.corpus import Criterion, Posts
from evidentia.errors import InputError, shown
from evidentia.synth.corpus_plan import SHORTEST, draw_plan
from evidentia.synth.corpus_posts import write_post
from evidentia.synth.corpus_sentences import Sentence
from evidentia.synth.corpus_words import words

MOST_POSTS = 1_000_000
MOST_SENTENCES = 1_000
_CONTRACT_POSTS, _CONTRACT_POSITIVES = 1477, 1379


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


def _assembled(written: list[tuple[Sentence, ...]], criteria: tuple[Criterion, ...]) -> SyntheticCorpus:
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
    numbers = {"posts": (posts, 1, MOST_POSTS), "seed": (seed, 0, None)}
    if positives is not None and isinstance(posts, Integral):
        numbers["positives"] = (positives, 0, max(posts, 0) * len(words().criteria))
    problems = [
        f"{name} is {shown(value)}. Give a whole number of at least {least}{'' if most is None else f', at most {most:,}'}."
        for name, (value, least, most) in numbers.items()
        if not isinstance(value, Integral) or value < least or (most is not None and value > most)
    ]
    if not SHORTEST <= mean_sentences <= MOST_SENTENCES:
        problems.append(
            f"mean_sentences is {shown(mean_sentences)}. Give a number from {SHORTEST} to {MOST_SENTENCES:,}."
        )
    if problems:
        raise InputError(*problems)
