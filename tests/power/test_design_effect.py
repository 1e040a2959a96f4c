"""What a run shows: its own rate, its own clustering, and whether the target is certified on it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

import evidentia
from evidentia.evaluation.power import Observed, power_report
from evidentia.stats.power import posts_for_power, posts_needed

from .runs import run


def observed(posts: list[tuple[int, int]], target: str = "ScreeningSensitivity>=0.9", **options: float) -> Observed:
    seen = power_report(target, run=run(posts), **options).observed
    assert seen is not None
    return seen


def test_units_misses_posts_and_rate_are_counted() -> None:
    seen = observed([(3, 1), (1, 0), (2, 0), (4, 1)])
    assert (seen.units, seen.misses, seen.posts, seen.rate) == (10, 2, 4, 0.8)


def test_posts_without_a_unit_do_not_count() -> None:
    assert power_report("AlertPrecision>=0.9", run=run([(1, 0), (1, 1), (1, 0)])).observed.posts == 2


def test_one_unit_per_post_has_no_design_effect() -> None:
    for posts, misses in ((40, 4), (200, 3), (1000, 50)):
        seen = observed([(1, 1)] * misses + [(1, 0)] * (posts - misses))
        assert seen.design_effect == pytest.approx(1, abs=1.5 / posts)


def test_units_that_fail_together_inflate_the_variance_by_their_number() -> None:
    seen = observed([(5, 5)] * 10 + [(5, 0)] * 90)
    assert seen.design_effect == pytest.approx(5, rel=0.02)
    assert (seen.units, seen.misses, seen.posts) == (500, 50, 100)


def test_units_that_fail_together_in_part_lie_between() -> None:
    seen = observed([(4, 2)] * 20 + [(4, 0)] * 80)
    # variance of the ratio over posts against that of 400 independent units, by hand
    residuals = np.array([2 - 4 * 0.9] * 20 + [4 - 4 * 0.9] * 80)
    expected = float(np.sum(residuals**2)) * 100 / 99 / (0.9 * 0.1 * 400)
    assert 1 < expected < 4
    assert seen.design_effect == pytest.approx(expected, rel=1e-9)


def test_misses_that_are_spread_evenly_do_not_make_more_than_independent_units() -> None:
    assert observed([(10, 1)] * 50).design_effect == 1.0


def test_without_a_miss_the_worst_case_is_taken_one_unit_per_post() -> None:
    seen = observed([(4, 0)] * 28)
    assert seen.design_effect == 4.0
    assert not seen.certified_now  # 112 units, but only 28 posts, and 29 are needed
    assert observed([(4, 0)] * 29).certified_now
    assert observed([(1, 0), (7, 0)] * 15).design_effect == 4.0
    assert seen.posts_needed == posts_needed(0.9, 0.95, 0) == 29


def test_nothing_but_misses_is_the_worst_case_as_well() -> None:
    seen = observed([(3, 3)] * 40)
    assert (seen.design_effect, seen.certified_now, seen.posts_needed) == (3.0, False, None)


def test_clustering_can_take_a_certificate_away() -> None:
    """The same units and misses, once alone and once together."""
    alone = observed([(1, 1)] * 4 + [(1, 0)] * 116)
    together = observed([(4, 4)] + [(4, 0)] * 29)
    assert (alone.units, alone.misses) == (together.units, together.misses) == (120, 4)
    assert alone.certified_now
    assert not together.certified_now


def test_posts_needed_follow_from_rate_clustering_and_size() -> None:
    seen = observed([(5, 5)] * 2 + [(5, 0)] * 98)
    units = posts_for_power(0.98, 0.9, 0.95, 0.8)
    assert seen.posts_needed == int(np.ceil(units * seen.design_effect / 5))
    assert observed([(5, 5)] * 2 + [(5, 0)] * 98, power=0.99).posts_needed > seen.posts_needed


def test_a_share_at_the_target_needs_no_number_of_posts() -> None:
    assert observed([(1, 1)] * 10 + [(1, 0)] * 90).posts_needed is None


@pytest.mark.parametrize("misses", range(6))
def test_independent_posts_are_certified_exactly_where_the_printed_table_says(misses: int) -> None:
    """One unit per post is what "independent posts" means; n - 1 posts must not do, n must."""
    needed = posts_needed(0.9, 0.95, misses)
    assert not observed([(1, 1)] * misses + [(1, 0)] * (needed - 1 - misses)).certified_now
    assert observed([(1, 1)] * misses + [(1, 0)] * (needed - misses)).certified_now


def test_per_post_every_post_is_one_unit() -> None:
    seen = observed([(4, 1)] * 2 + [(4, 0)] * 58, "ScreeningSensitivity(unit=post)>=0.9")
    assert (seen.units, seen.posts) == (60, 60)
    assert seen.design_effect == pytest.approx(1, abs=0.02)


def test_a_run_that_lacks_what_the_measure_needs_is_an_error() -> None:
    with pytest.raises(evidentia.InputError, match="needs selected_sent_uids"):
        power_report("Sensitivity(t=returned)>=0.9", run=run([(1, 0)] * 3))
    with pytest.raises(evidentia.InputError, match="nothing to count"):
        power_report("AlertPrecision>=0.9", run=run([(1, 1)] * 3))


def test_rounding_the_effective_misses_does_not_certify_what_is_not_shown() -> None:
    seen = observed([(6, 2)] * 5 + [(6, 0)] * 27)
    misses, trials = seen.misses / seen.design_effect, seen.units / seen.design_effect
    bound = beta.ppf(0.05, trials - misses, misses + 1)  # the exact lower bound, for numbers that need not be whole
    assert 0.89 < bound < 0.9
    assert not seen.certified_now
