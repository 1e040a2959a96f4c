"""What the synthetic corpus is for: words alone do not find its evidence, words and a trained model mostly do."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from evidentia.arrays import auroc, ndcg
from evidentia.corpus import Posts
from evidentia.synth import synthetic_corpus


def test_words_alone_find_some_of_the_evidence_and_a_trained_model_most_but_not_all():
    posts = synthetic_corpus(posts=800)
    tested = np.arange(len(posts)) >= 0.56 * len(posts)
    words, model = (figures(posts, scores, tested) for scores in (bm25(posts), trained(posts, tested)))
    assert 0.42 < words.ndcg < 0.65
    assert 0.63 < words.auroc < 0.80
    assert 0.82 < model.ndcg < 0.95
    assert 0.90 < model.auroc < 0.98
    assert model.ndcg > words.ndcg + 0.25
    assert model.auroc > words.auroc + 0.15


@dataclass(frozen=True)
class Figures:
    ndcg: float  # at 10, over queries with evidence
    auroc: float  # of the best sentence of a query, over all queries


def figures(posts: Posts, scores: np.ndarray, tested: np.ndarray) -> Figures:
    part = posts.take(np.flatnonzero(tested))
    own = scores[posts.sentences_of(np.flatnonzero(tested))]
    assert part.gold is not None
    gains = np.stack([ndcg(score, gold, part.offsets, k=10) for score, gold in zip(own.T, part.gold.T, strict=True)])
    has_evidence = part.has_evidence()
    best = np.maximum.reduceat(own, part.offsets[:-1], axis=0)
    return Figures(float(gains.T[has_evidence].mean()), auroc(has_evidence.ravel(), best.ravel()))


def bm25(posts: Posts, k1: float = 1.2, b: float = 0.75) -> np.ndarray:
    documents = [Counter(tokens(text)) for text in posts.texts]
    frequency = Counter(word for document in documents for word in document)
    mean = sum(document.total() for document in documents) / len(documents)
    queries = [set(tokens(criterion.text)) for criterion in posts.criteria]
    scores = np.zeros((len(documents), len(queries)))
    for row, document in enumerate(documents):
        norm = k1 * (1 - b + b * document.total() / mean)
        for column, query in enumerate(queries):
            for word in query & set(document):
                rarity = np.log(1 + (len(documents) - frequency[word] + 0.5) / (frequency[word] + 0.5))
                scores[row, column] += rarity * document[word] * (k1 + 1) / (document[word] + norm)
    return scores


def trained(posts: Posts, tested: np.ndarray) -> np.ndarray:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    assert posts.gold is not None
    learned = ~tested[posts.owner]
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"[A-Za-z']+")
    seen = words.fit_transform([text for text, is_seen in zip(posts.texts, learned, strict=True) if is_seen])
    everything = words.transform(posts.texts)
    models = [LogisticRegression(C=30, solver="liblinear").fit(seen, gold[learned]) for gold in posts.gold.T]
    return np.stack([model.decision_function(everything) for model in models], axis=1)


def tokens(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())
