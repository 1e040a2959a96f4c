"""The rules for one threshold, against a plain search over every observed score."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef

import evidentia
from evidentia.protocol import Rule, Threshold, choose_threshold, parse_rule, posts_sha256

scored = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), st.booleans()), min_size=2, max_size=25)


def f1(tp: int, fp: int, fn: int, tn: int) -> float:
    return 2 * tp / (2 * tp + fp + fn)


def mcc(tp: int, fp: int, fn: int, tn: int) -> float:
    below = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return (tp * tn - fp * fn) / below if below else 0.0


def youden(tp: int, fp: int, fn: int, tn: int) -> float:
    return tp / (tp + fn) - fp / (fp + tn)


@pytest.mark.parametrize(("name", "figure"), [("max-f1", f1), ("max-mcc", mcc), ("youden", youden)])
@given(rows=scored)
def test_the_best_figure_at_the_largest_threshold(
    name: str, figure: Callable[..., float], rows: list[tuple[float, bool]]
) -> None:
    positives = sum(label for _, label in rows)
    assume(0 < positives < len(rows))
    best, chosen = 0.0, None  # rejecting everything scores 0 under all three
    for t in sorted({score for score, _ in rows}, reverse=True):
        tp = sum(label for score, label in rows if score >= t)
        fp = sum(not label for score, label in rows if score >= t)
        value = figure(tp, fp, positives - tp, len(rows) - positives - fp)
        if value > best + 1e-9:
            best, chosen = value, t
    found = choose_threshold(Rule(name), np.array([s for s, _ in rows]), np.array([y for _, y in rows]))
    assert found.value == chosen
    assert found.reason == (None if chosen is not None else "reject_all")


def test_ties_go_to_the_larger_threshold() -> None:
    """At 0.8 one of two found and no false alarm; at 0.2 both found and one false alarm of two: J is 0.5 at each."""
    scores, labels = np.array([0.8, 0.4, 0.2, 0.1]), np.array([True, False, True, False])
    assert choose_threshold(Rule("youden"), scores, labels).value == 0.8


def test_metrics_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(2)
    scores, labels = random.random(200).round(2), random.random(200) < 0.3
    for rule in ("fpr=0.1", "max-f1", "max-mcc", "youden", "fixed=0.4"):
        found = choose_threshold(parse_rule(rule), scores, labels)
        assert found.metrics["F1"] == pytest.approx(f1_score(labels, scores >= found.value))
        assert found.metrics["MCC"] == pytest.approx(matthews_corrcoef(labels, scores >= found.value))
        assert found.metrics["J"] == pytest.approx(found.tpr - found.fpr)
    assert found.value == 0.4


def test_one_class_cannot_be_tuned_and_says_so() -> None:
    found = choose_threshold(Rule("max-f1"), np.array([0.3, 0.4]), np.array([False, False]))
    assert (found.value, found.reason) == (None, "cannot be tuned: no TUNE queries with evidence")


def test_a_fixed_threshold_needs_no_evidence_to_be_chosen() -> None:
    found = choose_threshold(parse_rule("fixed=0.35"), np.array([0.3, 0.4]), np.array([False, False]))
    assert (found.value, found.reason, found.fpr, found.tpr) == (0.35, None, 0.5, 0.0)


def test_a_threshold_is_written_and_read_back() -> None:
    found = choose_threshold(parse_rule("fpr=5%"), np.array([0.9, 0.2]), np.array([True, False]))
    found = Threshold.from_dict({**found.to_dict(), "tuned_on": tuned_on("a", "b")})
    assert Threshold.from_dict(found.to_dict()) == found
    assert found.tuned_on.posts == ("a", "b")
    with pytest.raises(evidentia.InputError, match="do not fit their SHA-256"):
        Threshold.from_dict({**found.to_dict(), "tuned_on": {**tuned_on("a", "b"), "posts": ["a"]}})


def tuned_on(*posts: str) -> dict[str, object]:
    return {"fold": "0", "score": "prob", "posts": list(posts), "posts_sha256": posts_sha256(posts)}


@pytest.mark.parametrize("text", ["fpr", "max-f1=0.5", "fixed=2", "fpr=-1", "best", "", "fpr=5", "fixed=101%"])
def test_what_is_not_a_rule_is_refused(text: str) -> None:
    with pytest.raises(evidentia.InputError):
        parse_rule(text)
