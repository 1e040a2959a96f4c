"""What a corpus holds, in numbers that can be counted by hand, and in those of real corpora."""

from __future__ import annotations

import json

import pytest

from builders.corpora import DOCUMENTS, Make
from evidentia.corpus import corpus_stats, read_corpus
from evidentia.corpus.stats import CriterionStats, Lengths
from shared_data.data import folder as shared


def test_a_small_corpus_by_hand(make: Make) -> None:
    stats = corpus_stats(read_corpus(make()))
    assert (stats.posts, stats.criteria, stats.queries) == (2, 2, 4)
    assert stats.sentences == Lengths(total=3, mean=1.5, median=1.5, min=1, max=2)
    assert (stats.longest_sentence, stats.duplicate_posts) == (len("I sleep badly."), 0)
    evidence = stats.evidence
    assert evidence is not None
    assert (evidence.queries_with_evidence, evidence.rate) == (2, 0.5)  # p1 for both criteria
    assert (evidence.gold_sentences, evidence.shared_gold_sentences) == (2, 1)  # a and b; a is gold for both
    assert evidence.gold_per_positive == 1.5  # one for SLEEP, two for MOOD
    assert evidence.posts_without_evidence == 1
    assert evidence.criteria == (CriterionStats("SLEEP", 1, 0.5), CriterionStats("MOOD", 1, 0.5))


def test_posts_with_the_same_text_are_counted_wherever_they_are_cut(make: Make) -> None:
    copies = [
        {"post_id": "p3", "sentences": [{"sent_uid": "x", "text": "I sleep badly.  It rains."}]},
        {"post_id": "p4", "sentences": [{"sent_uid": "y", "text": "All is well."}]},
        {"post_id": "p5", "sentences": [{"sent_uid": "z", "text": "All is well."}]},
    ]
    corpus = read_corpus(make(documents=[*DOCUMENTS, *copies]), labels=False)
    assert corpus_stats(corpus).duplicate_posts == 3


def test_without_labels_there_is_nothing_about_evidence(make: Make) -> None:
    stats = corpus_stats(read_corpus(make(), labels=False))
    assert stats.evidence is None
    assert len(stats.tables()) == 1


def test_without_a_positive_query_there_is_no_mean(make: Make) -> None:
    rows = ["p1,SLEEP,", "p1,MOOD,", "p2,SLEEP,", "p2,MOOD,"]
    evidence = corpus_stats(read_corpus(make(labels=rows))).evidence
    assert evidence is not None
    assert (evidence.queries_with_evidence, evidence.gold_per_positive) == (0, None)


def test_json_is_strict_and_has_every_number(make: Make) -> None:
    stats = corpus_stats(read_corpus(make()))
    read = json.loads(stats.to_json(), parse_constant=pytest.fail)
    assert read == json.loads(json.dumps(stats.to_dict()))
    assert read["schema"] == "evidentia.corpus-stats/1"
    assert read["evidence"]["criteria"][1] == {"criterion_id": "MOOD", "n_positive": 1, "rate": 0.5}


def test_hallmarks_of_cancer_as_published() -> None:
    stats = corpus_stats(read_corpus(shared("hoc")))
    evidence, lengths = stats.evidence, stats.sentences
    assert evidence is not None
    assert (stats.posts, stats.criteria, stats.queries, lengths.total) == (1852, 10, 18520, 17464)
    assert (round(lengths.mean, 1), lengths.median, lengths.min, lengths.max) == (9.4, 9, 2, 27)
    assert (evidence.queries_with_evidence, round(evidence.rate, 3)) == (2466, 0.133)
    assert (evidence.posts_without_evidence, round(evidence.gold_per_positive or 0, 2)) == (272, 2.12)


def test_contracts_as_published() -> None:
    stats = corpus_stats(read_corpus(shared("contractnli")))
    evidence, lengths = stats.evidence, stats.sentences
    assert evidence is not None
    assert (stats.posts, stats.criteria, stats.queries, lengths.total) == (184, 17, 3128, 14848)
    assert (round(lengths.mean, 1), lengths.min, lengths.max) == (80.7, 13, 252)
    assert (evidence.queries_with_evidence, round(evidence.gold_per_positive or 0, 2)) == (1802, 2.01)
    assert stats.duplicate_posts == 1  # its README names the pair
    rates = [round(100 * one.rate, 1) for one in evidence.criteria]
    assert (min(rates), max(rates)) == (11.4, 88.6)
