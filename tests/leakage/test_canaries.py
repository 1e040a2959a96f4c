"""A pipeline with one gold-derived feature under an innocent name is caught; its clean twin passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from evidentia.errors import InputError
from evidentia.leakage import Features, Post, canaries
from evidentia.leakage.canaries import auroc_within_criteria
from evidentia.results import Finding

CRITERIA = 3


@dataclass
class Toy:
    """A logistic regression over what a post's words say about a criterion; ``leak`` adds a column called richness."""

    leak: float = 0.0
    encode: bool = False  # a feature that is learnt from TRAIN labels: the base rate of the criterion
    unseeded: bool = False
    model: LogisticRegression = field(default_factory=LogisticRegression)
    rates: np.ndarray = field(default_factory=lambda: np.zeros(CRITERIA))

    def fit(self, posts: Sequence[Post], labels: np.ndarray) -> None:
        self.rates = labels.mean(axis=0)
        self.model = LogisticRegression().fit(self.features(posts).values, labels.ravel())

    def features(self, posts: Sequence[Post]) -> Features:
        words = np.array([post.content for post in posts]).reshape(len(posts) * CRITERIA, 2)
        names, columns = ["overlap", "length"], [words[:, 0], words[:, 1]]
        if self.leak:
            gold = np.array([post.labels for post in posts], float).ravel()
            names.append("richness")
            columns.append(self.leak * gold + words[:, 1] * 1e-3)
        if self.encode:
            names.append("base_rate")
            columns.append(np.tile(self.rates, len(posts)))
        if self.unseeded:
            names.append("noise")
            columns.append(np.random.default_rng().random(len(words)))
        return Features(tuple(names), np.column_stack(columns))

    def predict(self, posts: Sequence[Post]) -> np.ndarray:
        return self.model.predict_proba(self.features(posts).values)[:, 1].reshape(len(posts), CRITERIA)


def made_posts(count: int, start: int, rng: np.random.Generator) -> list[Post]:
    labels = rng.random((count, CRITERIA)) < np.array([0.1, 0.3, 0.5])
    overlap = labels + rng.normal(size=labels.shape)
    length = rng.normal(size=labels.shape)
    content = np.stack([overlap, length], axis=2)
    return [Post(f"p{start + i}", content[i].tolist(), tuple(labels[i].tolist())) for i in range(count)]


@pytest.fixture(scope="module")
def posts() -> tuple[list[Post], list[Post]]:
    rng = np.random.default_rng(7)
    return made_posts(200, 0, rng), made_posts(100, 200, rng)


def run(pipeline: Toy, posts: tuple[list[Post], list[Post]], **options: object) -> dict[str, Finding]:
    found = canaries(pipeline, *posts, rng=np.random.default_rng(3), **options)
    return {finding.code: finding for finding in found}


def test_the_clean_twin_passes_and_says_how_much_was_compared(posts: tuple[list[Post], list[Post]]) -> None:
    found = run(Toy(), posts)
    assert {finding.status for finding in found.values()} == {"passed"}, found
    assert found["CANARY001"].looked == 100 * CRITERIA * (2 + 1)  # two features and the score
    assert found["CANARY002"].looked == 300 * CRITERIA * 2
    assert found["CANARY003"].looked > 1000
    assert found["CANARY004"].looked == 2


def test_a_gold_derived_feature_under_an_innocent_name_is_caught_by_all_four(
    posts: tuple[list[Post], list[Post]],
) -> None:
    found = run(Toy(leak=1.0), posts)
    assert {finding.status for finding in found.values()} == {"failed"}, found
    assert found["CANARY001"].message == "these move: richness, the scores"
    assert found["CANARY002"].message == "these move: richness"
    assert "AUROC within criteria 1.000" in found["CANARY003"].message
    assert "richness (AUROC 1.000, " in found["CANARY004"].message


@dataclass
class Agreeing(Toy):
    """A feature that says whether a post's first two labels agree, which they still do when all are turned round."""

    def features(self, posts: Sequence[Post]) -> Features:
        plain = super().features(posts)
        agree = np.repeat([float(post.labels[0] == post.labels[1]) for post in posts], CRITERIA)
        return Features((*plain.names, "tone"), np.column_stack([plain.values, agree]))


def test_a_leak_that_survives_turning_all_labels_round_is_caught(posts: tuple[list[Post], list[Post]]) -> None:
    assert run(Agreeing(), posts)["CANARY001"].message.startswith("these move: tone")


@dataclass
class Holes(Toy):
    """A feature that is only there where there is evidence: what it says is nothing, that it says it is all."""

    def features(self, posts: Sequence[Post]) -> Features:
        plain = super().features(posts)
        gold = np.array([post.labels for post in posts], bool).ravel()
        return Features((*plain.names, "mood"), np.column_stack([plain.values, np.where(gold, 1.0, np.nan)]))

    def fit(self, posts: Sequence[Post], labels: np.ndarray) -> None:
        self.model = LogisticRegression().fit(np.nan_to_num(self.features(posts).values), labels.ravel())

    def predict(self, posts: Sequence[Post]) -> np.ndarray:
        filled = np.nan_to_num(self.features(posts).values)
        return self.model.predict_proba(filled)[:, 1].reshape(len(posts), CRITERIA)


def test_a_leak_by_missing_values_is_caught(posts: tuple[list[Post], list[Post]]) -> None:
    found = run(Holes(), posts)
    assert found["CANARY004"].status == "failed"
    assert "mood is missing (AUROC 0.000" in found["CANARY004"].message


def test_a_faint_leak_moves_bytes_even_where_it_gives_little_away(posts: tuple[list[Post], list[Post]]) -> None:
    found = run(Toy(leak=1e-9), posts)
    assert found["CANARY001"].status == found["CANARY002"].status == "failed"
    assert found["CANARY004"].status == "passed"


def test_a_feature_learnt_from_train_labels_is_no_leak_when_it_is_declared(
    posts: tuple[list[Post], list[Post]],
) -> None:
    rates = Toy(encode=True)
    assert run(rates, posts)["CANARY001"].status == "passed"
    assert run(rates, posts, label_free=["overlap", "length"])["CANARY002"].status == "passed"
    train, evaluation = posts
    fewer = [Post(p.post_id, p.content, (False, *p.labels[1:])) for p in train[:150]] + train[150:]
    assert run(rates, (fewer, evaluation))["CANARY003"].status == "passed"  # base rates may be learnt


def test_a_pipeline_that_is_not_seeded_cannot_be_told_from_a_leak(posts: tuple[list[Post], list[Post]]) -> None:
    finding = run(Toy(unseeded=True), posts)["CANARY001"]
    assert (finding.status, "seed the pipeline" in finding.message) == ("failed", True)


def test_one_class_is_not_a_pass(posts: tuple[list[Post], list[Post]]) -> None:
    train, evaluation = posts
    blank = [Post(p.post_id, p.content, (False,) * CRITERIA) for p in evaluation[:1]]
    found = run(Toy(), (train, blank))
    assert found["CANARY004"].status == "skipped"


def test_shared_posts_and_missing_posts_are_refused(posts: tuple[list[Post], list[Post]]) -> None:
    train, evaluation = posts
    with pytest.raises(InputError, match="both trained on and evaluated on"):
        run(Toy(), (train, [*evaluation, train[0]]))
    with pytest.raises(InputError, match="need posts"):
        run(Toy(), (train, []))
    with pytest.raises(InputError, match="no feature 'nothing'"):
        run(Toy(), posts, label_free=["nothing"])


def test_auroc_within_criteria_by_hand() -> None:
    labels = np.array([[True, True], [False, True], [True, False]])
    scores = np.array([[0.9, 0.1], [0.5, 0.3], [0.5, 0.2]])
    # criterion 1: 0.9 beats 0.5, 0.5 ties 0.5: 1.5 of 2 pairs; criterion 2: 0.1 loses, 0.3 wins: 1 of 2
    found = auroc_within_criteria(labels, scores)
    assert (found.value, found.pairs) == (0.625, 4)


def test_criteria_of_other_base_rates_do_not_help() -> None:
    labels = np.array([[True, False], [True, False], [False, True], [False, True], [True, False]])
    scores = np.where(np.arange(2) == 0, 0.9, 0.1) * np.ones((5, 2))
    assert auroc_within_criteria(labels, scores).value == 0.5
    assert auroc_within_criteria(np.ones((3, 2), bool), np.zeros((3, 2))) is None


def test_the_interval_holds_one_half_at_its_level() -> None:
    """400 draws of noise, correlated within posts: at 90 % about 40 intervals miss one half; 3 standard errors are 18."""
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(400):
        labels = rng.random((80, 4)) < 0.3
        scores = rng.normal(size=(80, 1)) + rng.normal(size=(80, 4))
        missed += not auroc_within_criteria(labels, scores, level=0.9).holds(0.5)
    assert abs(missed - 40) <= 18
