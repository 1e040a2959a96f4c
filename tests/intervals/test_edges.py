"""Where a bootstrap has nothing to say: it says so, and never passes a point off as an interval."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evidentia.array_types import Floats
from evidentia.errors import InputError
from evidentia.evaluation.intervals import Resampling, spread_out
from evidentia.evaluation.plan import OVERALL
from evidentia.evaluation.replicates import ReplicateBatch
from evidentia.measures import resolve
from evidentia.measures.calibration import calibration_intercept, calibration_slope
from evidentia.results import Estimate, Evaluation
from evidentia.stats.intervals import bca_limits, clopper_pearson, percentile_limits
from evidentia.stats.resampling import ResamplingPlan
from evidentia.tables import Run, read_run
from evidentia.verify.figures import operating_points
from intervals.runs import CONTRACT, detections, evaluated, tied_run

SAME = "every resample gives the same value"


def many(labels: str, probs: list[float]) -> Run:
    """One post for every label."""
    pairs = zip(labels, probs, strict=True)
    return detections([(f"p{i:03}", int(label), prob) for i, (label, prob) in enumerate(pairs)])


def full(posts: int, criteria: int, positive: float, **columns: Any) -> Run:
    """A run with every column; given columns replace the drawn ones."""
    chance = random.Random(1)
    rows = []
    for post in range(posts):
        for criterion in range(criteria):
            sentences = [f"p{post}.{letter}" for letter in "abcde"]
            chance.shuffle(sentences)
            has = chance.random() < positive
            prob = round(min(max(chance.gauss(0.6 if has else 0.4, 0.2), 0), 1), 1)
            prob = columns.get("prob", prob)
            state = columns.get("state", "NEG" if prob < 0.3 else "POS" if prob > 0.6 else "UNCERTAIN")
            rows.append(
                {
                    "post_id": f"p{post}",
                    "criterion_id": f"C{criterion}",
                    "fold": post % 2,
                    "has_evidence": int(has),
                    "prob": prob,
                    "gold_sent_uids": "|".join(sorted(sentences)[:2]) if has else "",
                    "ranked_sent_uids": "|".join(sentences),
                    "selected_sent_uids": "" if state == "NEG" else "|".join(sentences[:2]),
                    "state": state,
                }
            )
    return read_run(pl.DataFrame(rows))


EXTREMES = {
    "one post": full(1, 4, 0.5),
    "one query": full(1, 1, 1.0),
    "two posts": full(2, 3, 0.5),
    "only positives": full(12, 2, 1.0),
    "no positives": full(12, 2, 0.0),
    "one positive": detections([(f"p{i}", int(i == 3), i / 20) for i in range(20)]),
    "all ties": full(12, 3, 0.4, prob=0.5),
    "all certain": full(12, 3, 0.4, prob=1.0),
    "nothing returned": full(12, 3, 0.4, state="NEG"),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("what", EXTREMES)
def test_extremes_are_marked_and_never_look_certain(what: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluated(EXTREMES[what], resamples=40)
    assert len(found) > 50
    for estimate in found.measures.values():
        _holds(estimate, resamples=40)


@pytest.mark.parametrize("what", EXTREMES)
def test_extremes_are_marked_under_bca_too(what: str) -> None:
    names = ("AUROC", "Brier", "Sensitivity(t=0.5)", "Precision(t=gate)", "MCC(t=0.5)", "CalibrationSlope")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluated(EXTREMES[what], *names, resamples=40, method="bca")
    for estimate in found.measures.values():
        _holds(estimate, resamples=40)


def _holds(estimate: Estimate, resamples: int) -> None:
    said = " ".join(estimate.warnings)
    assert 0 <= estimate.replicates_left_out <= resamples
    if estimate.degenerate is not None:
        assert estimate.ci is None, estimate.name
    if estimate.ci is None:
        assert estimate.ci_method is None
        assert "no interval: " in said, estimate.name
    else:
        low, high = estimate.ci
        assert high - low > 1e-9 * max(1.0, abs(high)), (estimate.name, estimate.ci)
    if estimate.ci_method == "clopper-pearson":
        assert SAME in said
        assert estimate.value in {0.0, 1.0, 1000.0}
    if estimate.n_clusters < 50:
        assert "(fewer than 50)" in said


def test_one_post_gives_no_interval_but_for_proportions() -> None:
    found = evaluated(EXTREMES["one post"])
    assert found["AUROC"].ci is None
    assert f"no interval: {SAME}" in found["AUROC"].warnings
    assert all(e.ci is None or e.ci_method == "clopper-pearson" for e in found.measures.values())


def test_a_value_by_convention_has_no_interval() -> None:
    auroc = evaluated(EXTREMES["no positives"], "AUROC")["AUROC"]
    assert (auroc.value, auroc.ci, auroc.replicates_left_out) == (0.5, None, 200)
    assert auroc.degenerate == "no queries with evidence"
    assert "no interval: the value is a convention, not a measurement" in auroc.warnings


@pytest.mark.parametrize(
    ("name", "labels", "probs", "value", "contributing"),
    [
        ("Sensitivity(t=0.5)", "1" * 12 + "0" * 28, [0.9] * 12 + [0.1] * 28, 1.0, 12),
        ("FNR(t=0.5)", "1" * 12 + "0" * 28, [0.9] * 12 + [0.1] * 28, 0.0, 12),
        ("FPR(t=0.5)", "1" * 12 + "0" * 28, [0.9] * 12 + [0.1] * 28, 0.0, 28),
        ("Precision(t=0.5)", "1" * 12 + "0" * 28, [0.9] * 5 + [0.1] * 35, 1.0, 5),
        ("PositiveRate", "0" * 40, [0.5] * 40, 0.0, 40),
    ],
)
def test_a_collapsed_proportion_gets_exact_limits_over_the_posts_that_count(
    name: str, labels: str, probs: list[float], value: float, contributing: int
) -> None:
    found = evaluated(many(labels, probs), name)[name]
    exact = stats.binomtest(round(value * contributing), contributing).proportion_ci(method="exact")
    assert (found.value, found.n_clusters, found.ci_method) == (value, contributing, "clopper-pearson")
    assert found.ci == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert f"interval: {SAME}, so the limits are exact binomial over {contributing} posts" in found.warnings


def test_a_hit_rate_is_a_proportion_too() -> None:
    found = evaluated(full(12, 2, 1.0), "HitRate@5", "Recall@5").measures
    exact = stats.binomtest(12, 12).proportion_ci(method="exact")
    assert found["HitRate@5"].value == 1.0
    assert found["HitRate@5"].ci == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert (found["Recall@5"].value, found["Recall@5"].ci) == (1.0, None), (
        "a mean of shares is not a count of successes"
    )


def test_queries_of_one_post_are_one_trial() -> None:
    """20 positives from 4 posts, all found: the limit is that of 4 of 4, not of 20 of 20."""
    run = detections([(f"p{i % 4}", 1, 0.9) for i in range(20)] + [(f"n{i}", 0, 0.1) for i in range(20)])
    found = evaluated(run, "Sensitivity(t=0.5)")["Sensitivity(t=0.5)"]
    assert (found.n, found.n_clusters) == (20, 4)
    assert found.ci == pytest.approx((0.025 ** (1 / 4), 1.0))


def test_other_collapses_have_no_interval_and_say_why() -> None:
    found = evaluated(many("10" * 20, [0.5] * 40), "AUROC", "Brier", "BalancedAccuracy(t=0.5)", "TPR@FPR=5%", "Queries")
    for estimate in found.overall():
        assert (estimate.ci, estimate.ci_method) == (None, None)
        assert f"no interval: {SAME}" in estimate.warnings


@pytest.mark.parametrize("prob", [0.1, 0.3, 0.7])
def test_rounding_is_no_spread(prob: float) -> None:
    """Every query scores the same, over posts of different sizes: what differs is the last digit of a division."""
    chance = random.Random(1)
    run = detections([(f"p{i}", 0, prob) for i in range(40) for _ in range(chance.choice([1, 2, 3, 5]))])
    for estimate in evaluated(run, "Brier", "LogLoss", "ECE").overall():
        assert estimate.ci is None, (estimate.name, estimate.ci)


def test_few_posts_and_few_positives_are_warned_of() -> None:
    few = evaluated(many("10" * 8, [i / 16 for i in range(16)]), "AUROC")["AUROC"]
    assert few.warnings == (
        "rests on 16 posts, 8 in effect (fewer than 50): such 95 % intervals held the truth in 94.6 to 98.8 % of "
        "simulations of 30 posts",
        "rests on 8 queries with evidence (fewer than 10)",
    )
    enough = evaluated(many("10" * 50, [i / 100 for i in range(100)]), "AUROC")["AUROC"]
    assert (enough.n_clusters, enough.warnings) == (100, ())
    rare = evaluated(many("1000" * 25, [i / 100 for i in range(100)]), "AUROC", "Brier")
    assert "rests on 100 posts, 25 in effect (fewer than 50)" in rare["AUROC"].warnings[0]
    assert rare["Brier"].warnings == ()


@pytest.mark.parametrize(
    ("measure", "options", "words"),
    [
        ("Brier", {}, "such 95 % intervals held the truth in 91.5 to 99.9 % of simulations of 30 posts"),
        (
            "Brier",
            {"method": "percentile"},
            "such 95 % intervals held the truth in 88.0 to 100.0 % of simulations of 30 posts",
        ),
        ("AUROC", {"method": "bca"}, "such 95 % intervals held the truth in 87.1 to 93.3 % of simulations of 30 posts"),
        ("Brier", {"level": 0.9}, "read the interval with care"),
        ("ECE", {}, "read the interval with care"),
        ("CalibrationSlope", {}, "read the interval with care"),
    ],
)
def test_the_warning_says_what_was_measured_for_the_kind_and_the_method(
    measure: str, options: dict[str, object], words: str
) -> None:
    run = many("10" * 20, [(i * 7 % 40) / 40 for i in range(40)])
    warning = evaluated(run, measure, **options)[measure].warnings[0]
    assert warning.startswith("rests on 40 posts")
    assert warning.endswith(words)


def test_a_group_is_warned_of_by_its_own_size() -> None:
    found = evaluated(tied_run(), "AUROC")
    (overall,) = found["AUROC"].warnings
    for group in found.grouped("fold"):
        assert group.n_clusters < found["AUROC"].n_clusters
        assert group.warnings[0].startswith(f"rests on {group.n_clusters} posts")
        assert group.warnings[0] != overall


def test_undefined_replicates_are_counted_and_left_out() -> None:
    """One positive among 20 posts: a resample misses it with probability (19/20)^20 = 0.358."""
    auroc = evaluated(EXTREMES["one positive"], "AUROC", resamples=2000)["AUROC"]
    assert auroc.replicates_left_out == pytest.approx(2000 * (19 / 20) ** 20, abs=4 * np.sqrt(2000 * 0.36 * 0.64))
    assert f"undefined in {auroc.replicates_left_out:,} of 2,000 resamples" in " ".join(auroc.warnings)
    assert auroc.ci is not None


def test_without_resamples_there_are_no_intervals_and_nothing_is_said_of_them() -> None:
    found = evaluated(many("10" * 20, [i / 40 for i in range(40)]), resamples=0)
    assert {e.ci for e in found.measures.values()} == {None}
    assert not any("interval" in said for e in found.measures.values() for said in e.warnings)


@pytest.mark.parametrize(
    "wrong", [{"resamples": 1}, {"resamples": -5}, {"level": 0}, {"level": 1}, {"seed": -1}, {"method": "normal"}]
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Resampling(**wrong)


def test_stratified_draws_need_folds() -> None:
    with pytest.raises(InputError, match="fold"):
        evaluated(many("10" * 20, [0.5] * 40), "AUROC", stratify=True)


# --- the limits themselves


def test_percentiles_are_linear() -> None:
    values = np.random.default_rng(1).normal(size=(5, 137))
    for level in (0.5, 0.9, 0.95, 0.99):
        found = percentile_limits(values, level)
        tail = 100 * (1 - level) / 2
        assert found.low == pytest.approx(np.percentile(values, tail, axis=1), abs=1e-12)
        assert found.high == pytest.approx(np.percentile(values, 100 - tail, axis=1), abs=1e-12)


def test_undefined_replicates_leave_the_percentiles_of_the_rest() -> None:
    values = np.random.default_rng(2).normal(size=(3, 100))
    values[0, ::3], values[2] = np.nan, np.nan
    found = percentile_limits(values, 0.9)
    assert found.left_out.tolist() == [34, 0, 100]
    assert found.low[:2] == pytest.approx(np.nanpercentile(values[:2], 5, axis=1))
    assert np.isnan([found.low[2], found.high[2]]).all()


@pytest.mark.parametrize(("hits", "trials"), [(0, 1), (1, 1), (0, 10), (10, 10), (3, 10), (1, 1000), (999, 1000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_clopper_pearson_equals_scipy(hits: int, trials: int, level: float) -> None:
    exact = stats.binomtest(hits, trials).proportion_ci(confidence_level=level, method="exact")
    assert clopper_pearson(hits, trials, level) == pytest.approx((exact.low, exact.high), rel=1e-9)


def by_hand(
    replicates: np.ndarray[Any, Any], point: float, jackknife: np.ndarray[Any, Any], level: float
) -> list[float]:
    """Efron 1987, formula by formula."""
    normal = stats.norm
    share = ((replicates < point).sum() + (replicates == point).sum() / 2) / len(replicates)
    bias = normal.ppf(share)
    away = jackknife.mean() - jackknife
    acceleration = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
    limits = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal.ppf(tail)
        limits.append(float(np.quantile(replicates, normal.cdf(bias + z / (1 - acceleration * z)))))
    return limits


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bca_equals_the_formula(level: float) -> None:
    random_ = np.random.default_rng(3)
    sample = random_.exponential(size=40)
    replicates = sample[random_.integers(40, size=(999, 40))].mean(axis=1)
    jackknife = (sample.sum() - sample) / 39
    found = bca_limits(replicates[None], np.array([sample.mean()]), jackknife[None], level)
    expected = by_hand(replicates, sample.mean(), jackknife, level)
    assert [found.low[0], found.high[0]] == pytest.approx(expected, abs=1e-12)


def test_bca_leaves_undefined_replicates_out() -> None:
    random_ = np.random.default_rng(4)
    sample = random_.exponential(size=30)
    replicates = sample[random_.integers(30, size=(500, 30))].mean(axis=1)
    jackknife = (sample.sum() - sample) / 29
    with_holes = np.where(np.arange(500) % 5 == 0, np.nan, replicates)
    found = bca_limits(with_holes[None], np.array([sample.mean()]), jackknife[None], 0.9)
    expected = by_hand(with_holes[~np.isnan(with_holes)], sample.mean(), jackknife, 0.9)
    assert [found.low[0], found.high[0]] == pytest.approx(expected, abs=1e-12)
    assert found.left_out.tolist() == [100]


def skewed() -> tuple[Run, np.ndarray[Any, Any]]:
    """Posts whose Brier losses are skewed, one query each."""
    probs = np.round(np.random.default_rng(5).beta(0.4, 4, size=60), 3)
    return many("0" * 60, probs.tolist()), probs**2


def test_bca_of_a_mean_is_that_of_scipy_but_for_chance() -> None:
    run, losses = skewed()
    mine = evaluated(run, "Brier", method="bca", resamples=10_000)["Brier"]
    theirs = stats.bootstrap((losses,), np.mean, n_resamples=10_000, method="BCa", rng=np.random.default_rng(1))
    plain = evaluated(run, "Brier", method="percentile", resamples=10_000)["Brier"]
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert mine.ci_method == "bca"
    assert mine.ci == pytest.approx(tuple(theirs.confidence_interval), abs=0.06 * width)
    assert mine.ci is not None
    assert plain.ci is not None
    assert mine.ci[0] > plain.ci[0]  # a skewed mean: the correction moves both limits up
    assert mine.ci[1] > plain.ci[1]


def test_a_jackknife_that_differs_by_rounding_has_no_skew() -> None:
    values, points = np.linspace(0.5, 1.0, 50)[None], np.array([0.8])
    rounding, none = np.full((1, 5), 0.8), np.full((1, 5), 0.8)
    rounding[0, 0] = np.nextafter(0.8, 1.0)
    found, plain = (bca_limits(values, points, without, 0.95) for without in (rounding, none))
    assert (found.low, found.high) == (plain.low, plain.high)


@pytest.mark.parametrize(("wide", "width"), [(True, 1e-12), (False, 0.9e-12), (False, 1e-16)])
def test_limits_that_differ_by_rounding_are_no_interval(wide: bool, width: float) -> None:
    assert spread_out(0.0, width) is wide


def test_bca_is_had_for_every_kind_and_group() -> None:
    names = (
        "AUROC",
        "AUPRC",
        "TPR@FPR=5%",
        "Brier",
        "ECE",
        "MCC(t=0.5)",
        "nDCG@10",
        "F1(avg=criterion)",
        "F1(avg=post)",
    )
    found, plain = (evaluated(tied_run(), *names, method=method, resamples=60) for method in ("bca", "percentile"))
    made = [e for e in found.measures.values() if e.ci_method == "bca"]
    assert len(made) > 80
    assert sum(e.ci != plain.measures[e.name].ci for e in made) > 0.9 * len(made)


@pytest.mark.parametrize("name", ["AUROC", "Brier", "Precision(t=gate)", "nDCG@10", "F1(avg=criterion)"])
def test_a_wider_level_holds_the_narrower_one(name: str) -> None:
    narrow, wide = (evaluated(tied_run(), name, level=level)[name].ci for level in (0.5, 0.95))
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_almost_every_interval_holds_its_value() -> None:
    found = evaluated(tied_run(), resamples=300)
    with_limits = [e for e in found.measures.values() if e.ci is not None]
    outside = [e.name for e in with_limits if e.ci is not None and not e.ci[0] <= e.value <= e.ci[1]]
    assert len(with_limits) > 1000
    assert len(outside) < 0.02 * len(with_limits), outside


@pytest.mark.parametrize(
    ("name", "solve"), [("CalibrationSlope", calibration_slope), ("CalibrationIntercept", calibration_intercept)]
)
def test_one_step_comes_close_to_solving_anew(name: str, solve: Callable[..., tuple[float, int]]) -> None:
    """60 posts, where one Newton step is at its worst; with 1,477 posts the limits differ by a few hundredths of the width."""
    queries = tied_run().queries
    definition = resolve(name, CONTRACT).definition
    plan = ResamplingPlan(60, 200, 7)
    stepped = ReplicateBatch(queries, [(definition, OVERALL)]).run(plan)[definition, ()][0]
    drawn = plan.multiplicities(0, 200).astype(float)
    solved = np.array([solve(queries.prob, queries.label, weights[queries.post])[0] for weights in drawn])
    low, high = np.percentile(solved, [2.5, 97.5])
    assert np.percentile(stepped, [2.5, 97.5]) == pytest.approx([low, high], abs=0.2 * (high - low))
    assert np.corrcoef(stepped, solved)[0, 1] > 0.97


# --- curves


def curve(found: Evaluation, name: str) -> dict[str, np.ndarray[Any, Any]]:
    (one,) = [c for c in found.curves if c.name == name]
    return {key: np.array([np.nan if v is None else v for v in column], float) for key, column in one.columns.items()}


@pytest.mark.parametrize(("name", "y"), [("roc", "tpr"), ("pr", "precision")])
def test_bands_hold_the_curve(name: str, y: str) -> None:
    band = curve(evaluated(tied_run(), "AUROC", resamples=300), name)
    inside = (band["low"] <= band[y]) & (band[y] <= band["high"])
    assert inside.mean() > 0.95
    assert (band["high"] - band["low"]).mean() > 0.05
    assert np.all((band["low"] >= 0) & (band["high"] <= 1))


def test_the_band_at_a_budget_is_the_interval_of_tpr_there() -> None:
    found = evaluated(tied_run(), "TPR@FPR=5%", "TPR@FPR=10%", method="percentile", resamples=300)
    band = curve(found, "roc")
    for name, budget in (("TPR@FPR=5%", 0.05), ("TPR@FPR=10%", 0.10)):
        at = int(np.flatnonzero(band["fpr"] == budget)[0])
        assert band["tpr"][at] == found[name].value
        assert (band["low"][at], band["high"][at]) == found[name].ci


def test_roc_rises_and_the_prevalence_stands_beside_precision() -> None:
    found = evaluated(tied_run(), "AUROC", "PositiveRate")
    roc, pr = curve(found, "roc"), curve(found, "pr")
    for column in ("tpr", "low", "high"):
        assert np.all(np.diff(roc[column]) >= 0)
    assert set(pr["prevalence"].tolist()) == {found["PositiveRate"].value}
    assert pr["precision"][-1] >= found["PositiveRate"].value


def test_the_area_under_all_operating_points_is_auroc() -> None:
    found = evaluated(tied_run(), "AUROC")
    points = curve(found, "roc_points")
    assert (points["fpr"][0], points["tpr"][0], points["fpr"][-1], points["tpr"][-1]) == (0, 0, 1, 1)
    assert np.trapezoid(points["tpr"], points["fpr"]) == pytest.approx(found["AUROC"].value, abs=1e-12)


def test_of_too_many_operating_points_both_implementations_keep_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidentia.evaluation.curves.MOST_TURNS", 7)
    run = tied_run()
    points = curve(evaluated(run, "AUROC"), "roc_points")
    again = operating_points(run.frame["prob"].to_list(), run.queries.label.tolist(), 7)
    assert list(zip(points["fpr"], points["tpr"], strict=True)) == list(again)
    assert len(again) == 7


def reliability(rows: list[tuple[str, int, float]]) -> dict[str, Floats]:
    return curve(evaluated(detections(rows), "ECE", resamples=0), "reliability")


def test_the_limits_of_a_pure_bin_count_posts() -> None:
    """20 queries from 4 posts, all with evidence: the lower limit is that of 4 of 4."""
    bins = reliability([(f"p{i % 4}", 1, 0.95) for i in range(20)])
    assert bins["share_low"][9] == pytest.approx(0.025 ** (1 / 4))
    assert bins["share_high"][9] == 1.0
    assert np.isnan(bins["share_low"][0])


def test_the_limits_of_a_bin_follow_the_spread_between_posts() -> None:
    """Four posts of two queries with 1, 0, 2 and 1 positives: share 1/2, standard error sqrt(2 x 4/3) / 8, t(3) = 3.1824."""
    labels = {"a": (1, 0), "b": (0, 0), "c": (1, 1), "d": (0, 1)}
    bins = reliability([(post, label, 0.45) for post, both in labels.items() for label in both])
    step = 3.182446305284263 * math.sqrt(2 * 4 / 3) / 8 / 0.25
    assert bins["share_low"][4] == pytest.approx(1 / (1 + math.exp(step)))
    assert bins["share_high"][4] == pytest.approx(1 / (1 + math.exp(-step)))


def test_queries_that_repeat_their_post_do_not_narrow_the_limits() -> None:
    once = [(f"p{i}", i % 2, 0.55) for i in range(20)]
    one, ten = reliability(once), reliability([row for row in once for _ in range(10)])
    assert ten["share_low"][5] == pytest.approx(one["share_low"][5])


def test_no_misses_tell_more_than_one() -> None:
    """0 of 1,477 posts missed: at most 2.5 per 1,000; the rate is a proportion like its share."""

    def missed(count: int) -> Estimate:
        states = ["NEG"] * count + ["POS"] * (1477 - count)
        rows = {"post_id": [f"p{i}" for i in range(1477)], "criterion_id": "A", "has_evidence": 1, "state": states}
        return evaluated(read_run(pl.DataFrame(rows)), "ScreeningFNPer1000")["ScreeningFNPer1000"]

    none, one = missed(0), missed(1)
    assert none.ci == pytest.approx((0.0, 1000 * (1 - 0.025 ** (1 / 1477))))
    assert none.ci_method == "clopper-pearson"
    assert one.ci[1] > none.ci[1]


def test_one_class_has_no_band_and_no_crash() -> None:
    for what in ("no positives", "only positives", "one query"):
        found = evaluated(EXTREMES[what], "AUROC", resamples=20)
        roc = curve(found, "roc")
        assert np.isnan(roc["tpr"]).all()
        assert np.isnan(roc["low"]).all()


def test_a_calibration_error_of_a_handful_of_posts_does_not_reach_beyond_one() -> None:
    """The heavy tails of Student's t would allow gaps that no probabilities have."""
    assert evaluated(many("0100", [0.18, 0.15, 0.14, 0.87]), "ECE", resamples=20)["ECE"].ci == (0.0, 1.0)
