"""The synthetic corpus: exact counts, the same texts for the same seed, and traps that are never gold for what they sound like."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from evidentia.corpus import Posts
from evidentia.errors import InputError
from evidentia.synth import SyntheticCorpus, synthetic_corpus, synthetic_corpus_with_kinds
from evidentia.synth.corpus_sentences import EVIDENCE_KINDS, KINDS, TRAP_KINDS

HASHED = """
import hashlib
from evidentia.synth import synthetic_corpus
made = synthetic_corpus(posts=40, seed=3)
print(hashlib.sha256("\\n".join(made.texts).encode() + made.gold.tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def made() -> SyntheticCorpus:
    return synthetic_corpus_with_kinds()


@pytest.fixture(scope="module")
def kinds(made: SyntheticCorpus) -> np.ndarray:
    return np.array(made.kinds)


def gold_of(posts: Posts) -> np.ndarray:
    assert posts.gold is not None
    return posts.gold


def digest(posts: Posts) -> str:
    return hashlib.sha256("\n".join(posts.texts).encode() + gold_of(posts).tobytes()).hexdigest()


class TestShape:
    def test_the_counts_are_those_of_the_contract(self, made):
        has_evidence = made.posts.has_evidence()
        assert has_evidence.shape == (1477, 10)
        assert has_evidence.sum() == 1379
        assert made.posts.criterion_ids == tuple(f"A.{number}" for number in range(1, 11))
        assert len(made.posts.texts) == len(made.posts.sent_uids) == len(made.kinds) == made.posts.offsets[-1]

    def test_posts_have_twenty_sentences_on_average_and_from_three_to_sixty(self, made):
        assert 18 < made.posts.lengths.mean() < 21
        assert made.posts.lengths.min() == 3
        assert made.posts.lengths.max() == 60
        assert made.posts.lengths.std() > 9

    def test_ids_sort_as_numbers_do(self, made):
        assert made.posts.post_ids[:2] == ("synth-0001", "synth-0002")
        assert list(made.posts.post_ids) == sorted(made.posts.post_ids)
        assert made.posts.sent_uids[:2] == ("synth-0001_0", "synth-0001_1")
        assert len(set(made.posts.sent_uids)) == len(made.posts.sent_uids)

    def test_criteria_have_different_rates(self, made):
        rates = made.posts.has_evidence().mean(axis=0)
        assert 0.02 < rates.min() < 0.05
        assert 0.14 < rates.max() < 0.2

    def test_half_of_the_posts_have_no_evidence_and_some_of_these_are_long(self, made):
        without = ~made.posts.has_evidence().any(axis=1)
        assert 0.4 < without.mean() < 0.65
        assert (without & (made.posts.lengths >= 40)).sum() > 20

    @pytest.mark.parametrize(("posts", "expected"), [(1, 1), (5, 5), (60, 56)])
    def test_small_corpora_keep_the_share(self, posts, expected):
        small = synthetic_corpus(posts=posts)
        assert len(small) == posts
        assert small.has_evidence().sum() == expected
        assert small.lengths.min() >= 3

    @pytest.mark.parametrize("positives", [0, 1, 600])
    def test_positives_are_exactly_those_that_were_asked_for(self, positives):
        assert synthetic_corpus(posts=60, positives=positives).has_evidence().sum() == positives

    def test_the_mean_length_can_be_chosen(self):
        assert synthetic_corpus(posts=100, mean_sentences=8).lengths.mean() == pytest.approx(8, abs=1.5)
        assert synthetic_corpus(posts=20, positives=0, mean_sentences=3).lengths.max() <= 9


class TestSeeds:
    def test_the_same_seed_gives_the_same_corpus(self):
        one, same, other = (synthetic_corpus(posts=40, seed=seed) for seed in (3, 3, 4))
        assert digest(one) == digest(same)
        assert digest(one) != digest(other)

    @pytest.mark.parametrize("hash_seed", ["0", "12345"])
    def test_hashing_of_strings_does_not_matter(self, hash_seed):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        ran = subprocess.run(
            [sys.executable, "-c", HASHED], env=environment, capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == digest(synthetic_corpus(posts=40, seed=3))


class TestKinds:
    def test_every_kind_is_there(self, kinds):
        assert set(kinds) == set(KINDS)

    def test_shares_are_sensible(self, made, kinds):
        shares = {kind: count / len(kinds) for kind, count in Counter(made.kinds).items()}
        assert 0.7 < shares["filler"] < 0.8
        assert 0.06 < gold_of(made.posts).any(axis=1).mean() < 0.09
        for kind in ("negation", "other-person", "past", "hypothetical", "idiom", "general", "keyword"):
            assert 0.01 < shares[kind] < 0.04, kind
        assert 0.15 < np.isin(kinds, TRAP_KINDS).mean() < 0.25

    def test_gold_is_evidence_and_nothing_else_is(self, made, kinds):
        assert np.array_equal(gold_of(made.posts).any(axis=1), np.isin(kinds, EVIDENCE_KINDS))

    def test_traps_are_never_gold_for_the_criterion_they_are_about(self, made, kinds):
        traps = np.isin(kinds, (*TRAP_KINDS, "missed"))
        assert not (gold_of(made.posts) & made.about)[traps].any()
        assert made.about[traps & (kinds != "follow-up")].sum(axis=1).min() == 1

    def test_a_sentence_for_two_criteria_is_gold_for_both(self, made, kinds):
        both = gold_of(made.posts)[kinds == "two-criteria"]
        assert len(both) > 50
        assert (both.sum(axis=1) == 2).all()
        assert (gold_of(made.posts)[kinds != "two-criteria"].sum(axis=1) <= 1).all()

    def test_spread_evidence_is_two_neighbours_of_one_post_for_one_criterion(self, made, kinds):
        runs = runs_of(kinds == "spread")
        assert len(runs) > 80
        for run in runs:
            assert len(run) % 2 == 0
            for first, second in zip(run[::2], run[1::2], strict=True):
                assert made.posts.owner[first] == made.posts.owner[second]
                assert np.array_equal(gold_of(made.posts)[first], gold_of(made.posts)[second])

    def test_what_counts_only_by_its_neighbour_follows_the_question_or_the_evidence(self, made, kinds):
        for row in np.flatnonzero(kinds == "context"):
            assert kinds[row - 1] == "question"
            assert np.array_equal(made.about[row - 1], gold_of(made.posts)[row])
        for row in np.flatnonzero(kinds == "continued"):
            assert kinds[row - 1] in ("direct", "indirect")
            assert np.array_equal(gold_of(made.posts)[row - 1], gold_of(made.posts)[row])

    def test_the_same_words_are_gold_after_one_sentence_and_not_after_another(self, made, kinds):
        texts = np.array([text.lower().strip(".! ") for text in made.posts.texts], object)
        assert len(set(texts[kinds == "context"]) & set(texts[kinds == "decoy"])) >= 10
        assert len(set(texts[kinds == "continued"]) & set(texts[kinds == "follow-up"])) >= 10

    def test_little_evidence_is_ambiguous_or_was_passed_over(self, kinds):
        gold = np.isin(kinds, EVIDENCE_KINDS).sum()
        assert 0.005 < (kinds == "ambiguous").sum() / gold < 0.03
        assert 0.01 < (kinds == "missed").sum() / gold < 0.03


class TestTexts:
    def test_most_sentences_are_distinct(self, made):
        gold = gold_of(made.posts).any(axis=1)
        evidence = [text for text, is_gold in zip(made.posts.texts, gold, strict=True) if is_gold]
        assert 1 - len(set(evidence)) / len(evidence) < 0.15
        assert 1 - len(set(made.posts.texts)) / len(made.posts.texts) < 0.25

    def test_texts_are_plain_one_line_sentences(self, made):
        for text in (*made.posts.texts, *(criterion.text for criterion in made.posts.criteria)):
            assert text.isascii()
            assert text == " ".join(text.split())
            assert not set(text) & set("{}<>|/()[]*_")
            assert text[-1] in ".?!"

    def test_half_of_the_indirect_evidence_has_no_content_word_of_its_criterion(self, made, kinds):
        wanted = [content(criterion.text) for criterion in made.posts.criteria]
        rows = np.flatnonzero(kinds == "indirect")
        shared = [bool(content(made.posts.texts[row]) & wanted[int(gold_of(made.posts)[row].argmax())]) for row in rows]
        assert np.mean(shared) < 0.5

    def test_criteria_have_no_prototypes(self, made):
        assert all(not criterion.prototypes for criterion in made.posts.criteria)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"posts": 0}, "posts is 0"),
        ({"posts": 2.5}, "posts is 2.5"),
        ({"posts": 10**7}, "at most 1,000,000"),
        ({"posts": 3, "positives": 31}, "positives is 31. Give a whole number of at least 0, at most 30"),
        ({"positives": -1}, "positives is -1"),
        ({"mean_sentences": 2}, "mean_sentences is 2. Give a number from 3"),
        ({"mean_sentences": float("nan")}, "mean_sentences is nan"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_settings_that_make_no_corpus(settings, part):
    with pytest.raises(InputError) as raised:
        synthetic_corpus(**settings)
    assert part in str(raised.value)


def runs_of(mask: np.ndarray) -> list[np.ndarray]:
    rows = np.flatnonzero(mask)
    return np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)


def content(text: str) -> set[str]:
    """Words of four letters and more, cut to their first five: sleep, sleeps and sleeping are one."""
    stop = {
        "that",
        "have",
        "with",
        "most",
        "than",
        "this",
        "from",
        "into",
        "when",
        "every",
        "writer",
        "nearl",
        "even",
        "like",
    }
    words = {word.strip(".,!?:;\"'")[:5] for word in text.lower().split()}
    return {word for word in words if len(word) >= 4} - stop
