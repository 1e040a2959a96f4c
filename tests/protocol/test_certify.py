"""Certificates about posts: counted by hand, honest when they cannot be given, and kept over samples of a known population."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import evidentia
from evidentia.protocol import PostScores, Provenance, Targets, certify, certify_alerts, certify_screening
from slow.certified import experiment

NOWHERE = Provenance("0", "prob", ())


def posts(lowest: np.ndarray, highest: np.ndarray, wrong: np.ndarray) -> PostScores:
    return PostScores(lowest, highest, wrong)


def test_what_is_counted_per_post() -> None:
    """Post 0 has evidence at 0.7 and 0.2 and a wrong query at 0.6; post 1 has none; post 2 only evidence."""
    scores = np.array([0.7, 0.2, 0.6, 0.3, 0.9])
    labels = np.array([True, True, False, False, True])
    found = PostScores.of(scores, labels, np.array([4, 4, 4, 7, 9]))
    assert found.lowest_evidence.tolist() == [0.2, np.inf, 0.9]
    assert found.highest.tolist() == [0.7, 0.3, 0.9]
    assert found.highest_wrong.tolist() == [0.6, 0.3, -np.inf]


def screening(evidence: list[float], target: float, grid: list[float]) -> object:
    lowest = np.array(evidence)
    return certify_screening(posts(lowest, lowest, lowest), target, grid=np.array(grid), tuned_on=NOWHERE)


def test_598_posts_without_a_miss_certify_0_995_and_597_do_not() -> None:
    enough = screening([0.5] * 598, 0.995, [0.1, 0.5, 0.6])
    assert (enough.value, enough.misses, enough.posts, enough.reason) == (0.5, 0, 598, None)
    assert enough.bound >= 0.995
    short = screening([0.5] * 597, 0.995, [0.1, 0.5, 0.6])
    assert (short.value, short.posts_needed) == (None, 598)
    assert short.reason == "597 posts with evidence; 598 without a miss are needed"
    assert short.bound < 0.995


def test_screening_stops_at_the_first_failure() -> None:
    """100 posts for 0.95: one miss is allowed (P = 0.037), two are not (0.118); the third lowest evidence ends it."""
    assert binom.cdf(1, 100, 0.05) <= 0.05 < binom.cdf(2, 100, 0.05)
    evidence = [0.1, 0.2, 0.3, *[0.9] * 97]
    found = screening(evidence, 0.95, [0.05, 0.15, 0.2, 0.25, 0.3, 0.8])
    assert (found.value, found.misses, found.tested) == (0.2, 1, 5)  # 0 is tested first; 0.25 skips two posts and fails


def test_nothing_is_skipped_at_zero_whatever_the_grid() -> None:
    found = screening([0.1] * 100, 0.95, [0.5])
    assert (found.value, found.misses) == (0.0, 0)


def test_alerts_start_where_a_rejection_is_possible_and_end_at_the_first_failure() -> None:
    """0.9 needs 29 alerting posts. Two wrong alerts at 0.95 do not matter below 29 posts; later ones do."""
    highest = np.array([0.95] * 10 + [0.8] * 40 + [0.6] * 50 + [0.4] * 50)
    wrong = np.full(150, -np.inf)
    wrong[10] = 0.8  # 1 of 50 wrong at 0.8: P = 0.034
    wrong[50:58] = 0.6  # 9 of 100 at 0.6: not shown
    found = certify_alerts(posts(highest, highest, wrong), 0.9, grid=np.array([0.4, 0.6, 0.8, 0.95]), tuned_on=NOWHERE)
    assert (found.value, found.posts, found.misses, found.tested) == (0.8, 50, 1, 2)
    assert binom.cdf(1, 50, 0.1) <= 0.05 < binom.cdf(9, 100, 0.1)


def test_a_later_success_does_not_count() -> None:
    highest = np.array([0.8] * 30 + [0.4] * 300)
    wrong = np.full(330, -np.inf)
    wrong[:3] = 0.8  # 3 of 30 fail, 3 of 330 would pass
    found = certify_alerts(posts(highest, highest, wrong), 0.9, grid=np.array([0.4, 0.8]), tuned_on=NOWHERE)
    assert (found.value, found.posts, found.misses, found.tested) == (None, 30, 3, 1)
    assert found.reason.startswith("3 of 30 alerting posts have a wrong alert at the first threshold")
    assert certify_alerts(posts(highest, highest, wrong), 0.9, grid=np.array([0.4]), tuned_on=NOWHERE).value == 0.4
    assert binom.cdf(3, found.posts_needed, 0.1) <= 0.05 < binom.cdf(3, found.posts_needed - 1, 0.1)


def test_too_few_alerting_posts() -> None:
    highest = np.full(28, 0.9)
    found = certify_alerts(posts(highest, highest, -highest), 0.9, grid=np.array([0.5]), tuned_on=NOWHERE)
    assert (found.value, found.posts_needed, found.tested) == (None, 29, 0)
    assert found.reason == "28 posts alert at most; 29 without a wrong alert are needed"


def test_posts_that_served_another_choice_are_refused() -> None:
    with pytest.raises(evidentia.InputError, match=r"2 posts \(first: 'b'\) would certify thresholds, but served"):
        certify(
            np.array([0.5]),
            np.array([True]),
            np.array([0]),
            Targets(),
            grid=np.array([0.5]),
            tuned_on=Provenance("0", "prob", ("a", "b", "c")),
            used=["c", "b", "x"],
        )


def test_certified_thresholds_keep_their_promise_and_point_estimates_do_not() -> None:
    """The long run of 500 draws is in tests/slow."""
    for broken in experiment(100):
        assert broken.given > 60, broken
        assert broken.share <= broken.allowed, broken
        assert broken.by_point / broken.draws > 0.25, broken
