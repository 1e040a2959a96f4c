"""Laws of risk and coverage that hold whatever the data, and the best order confirmed by trying them all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evidentia.selective import Rule, augrc, aurc, cmax, risk_coverage_curve
from evidentia.stats.coverage import counts_to_reach, counts_within, items_up_to
from evidentia.tables import Items
from sampling import examples
from selective import naive
from selective.runs import computed

AREAS = ("AURC", "AUGRC")
RULES: tuple[Rule, ...] = ("step", "plateau")
BY_HAND = 1e-12
losses = st.one_of(st.integers(0, 3).map(float), st.floats(0, 3, allow_subnormal=False))
sure = st.integers(0, 3)
items_with_ties = st.lists(st.tuples(losses, sure), min_size=1, max_size=30)
abstained = st.integers(0, 5)


def items_of(answers: Sequence[tuple[float | None, float]]) -> Items:
    """One cluster with these losses (None: abstained) and confidences."""
    pred = np.array([math.nan if loss is None else loss for loss, _ in answers])
    return Items(
        name="items",
        cluster=np.zeros(len(answers), np.int64),
        cluster_ids=("c",),
        item=tuple(map(str, range(len(answers)))),
        pred=pred,
        gt=np.zeros(len(answers)),
        signals={"confidence": np.array([float(c) for _, c in answers])},
        item_max=3.0,
    )


def value(answers: Sequence[tuple[float | None, float]], name: str) -> float:
    mine, wants = computed(items_of(answers), "confidence", (name,))
    outcome = mine.cell(*wants[name]).outcome
    assert outcome.flaws[0] == 0
    return float(outcome.values[0])


def padded(answers: Sequence[tuple[float, int]], silent: int) -> list[tuple[float | None, float]]:
    return [*answers, *[(None, 0)] * silent]


# steps against plateaus


@examples(200)
@given(st.lists(losses, min_size=1, max_size=30), abstained)
def test_without_ties_plateaus_differ_from_steps_by_half_a_step_at_either_end(held: list[float], silent: int) -> None:
    loss = np.array([*held, *[math.nan] * silent])
    confidence = -np.arange(len(loss), dtype=float)
    curve, total = risk_coverage_curve(loss, confidence), len(loss)
    apart = aurc(loss, confidence, ties="plateau") - aurc(loss, confidence)
    assert apart == pytest.approx((curve.risk[0] - curve.risk[-1]) / (2 * total), rel=0, abs=BY_HAND)
    apart = augrc(loss, confidence, ties="plateau") - augrc(loss, confidence)
    assert apart == pytest.approx(-curve.joint_risk[-1] / (2 * total), rel=0, abs=BY_HAND)


def separates(wrong: Sequence[bool], confidence: Sequence[int]) -> float:
    """How often a right item is surer than a wrong one, over all such pairs; ties count one half."""
    right_ones = [c for c, bad in zip(confidence, wrong, strict=True) if not bad]
    wrong_ones = [c for c, bad in zip(confidence, wrong, strict=True) if bad]
    pairs = [(r > w) + 0.5 * (r == w) for r in right_ones for w in wrong_ones]
    return sum(pairs) / len(pairs) if pairs else 0.5


@examples(200)
@given(st.lists(st.tuples(st.booleans(), sure), min_size=1, max_size=30), abstained)
@example([(True, 1), (False, 1)], 0)
@example([(True, 2), (True, 1)], 3)
def test_the_plateau_augrc_of_right_and_wrong_follows_from_accuracy_and_auroc(
    answers: list[tuple[bool, int]], silent: int
) -> None:
    wrong, confidence = zip(*answers, strict=True)
    predicted, total = len(answers), len(answers) + silent
    miss = sum(wrong) / predicted
    expected = (predicted / total) ** 2 * ((1 - separates(wrong, confidence)) * (1 - miss) * miss + miss**2 / 2)
    found = value(padded([(float(bad), c) for bad, c in answers], silent), "AUGRC(ties=plateau,loss=zero_one)")
    assert found == pytest.approx(expected, rel=0, abs=BY_HAND)


@examples(100)
@given(items_with_ties, abstained)
def test_every_area_equals_plain_code(answers: list[tuple[float, int]], silent: int) -> None:
    rows = padded(answers, silent)
    plain = naive.Sample([naive.Answer("c", i, loss, 0.0, float(c), 3.0) for i, (loss, c) in enumerate(rows)])
    for base, ties in itertools.product((*AREAS, "nAURC", "eAURC", "eAUGRC"), ("step", "plateau")):
        expected = naive.value(plain, base, {"ties": ties, "loss": "abs", "order": "confidence"})
        assert value(rows, f"{base}(ties={ties},loss=abs)") == pytest.approx(max(expected, 0.0), rel=0, abs=BY_HAND)


# the best order


@examples(200)
@given(items_with_ties, abstained)
@example([(0.1, 1), (0.7, 1), (0.3, 0)], 0)
def test_no_area_is_below_its_optimum(answers: list[tuple[float, int]], silent: int) -> None:
    rows = padded(answers, silent)
    for base, ties in itertools.product(AREAS, ("step", "plateau")):
        area, best = (value(rows, f"{base}({order}ties={ties},loss=abs)") for order in ("", "order=oracle,"))
        excess = value(rows, f"e{base}(ties={ties},loss=abs)")
        assert area >= best - BY_HAND
        assert excess >= 0
        assert excess == pytest.approx(max(area - best, 0.0), rel=0, abs=BY_HAND)


def groupings(count: int) -> Iterator[list[int]]:
    """Every way to tie neighbours: the sizes of the runs."""
    for cuts in itertools.product((False, True), repeat=count - 1):
        ends = [i + 1 for i, cut in enumerate(cuts) if cut] + [count]
        yield [end - start for start, end in zip([0, *ends], ends, strict=False)]


def lines(order: Sequence[float], sizes: Sequence[int], total: int, joint: bool) -> float:
    """The area under straight lines between the ends of the runs."""
    taken, lost, height, area = 0, 0.0, None if not joint else 0.0, 0.0
    for size in sizes:
        lost += sum(order[taken : taken + size])
        taken += size
        now = lost / (total if joint else taken)
        area += size * ((now if height is None else height) + now) / 2
        height = now
    return area / total


def steps(order: Sequence[float], total: int, joint: bool) -> float:
    sums = list(itertools.accumulate(order))
    return sum(lost / (total if joint else k) for k, lost in enumerate(sums, 1)) / total


def smallest(held: Sequence[float], total: int, ties: str, joint: bool) -> float:
    """The smallest area over all orders and, on lines, over all ties."""
    orders = set(itertools.permutations(held))
    if ties == "step":
        return min(steps(order, total, joint) for order in orders)
    return min(lines(order, sizes, total, joint) for order in orders for sizes in groupings(len(held)))


@examples(40)
@given(st.lists(losses, min_size=1, max_size=5), st.integers(0, 2))
def test_the_best_order_is_the_best_of_all(held: list[float], silent: int) -> None:
    rows = padded([(loss, 0) for loss in held], silent)
    for base, ties in itertools.product(AREAS, ("step", "plateau")):
        brute = smallest(held, len(rows), ties, base == "AUGRC")
        assert value(rows, f"{base}(order=oracle,ties={ties},loss=abs)") == pytest.approx(brute, rel=0, abs=BY_HAND)


@pytest.mark.parametrize(
    "held",
    [
        (0.3, 2.9, 0.0, 1.1, 1.1, 0.05),
        (1.0, 1.0, 0.0, 1.0, 2.0, 3.0),
        (2.7, 0.2, 0.2, 2.7, 0.9, 1.6),
        (0.0, 0.0, 3.0, 3.0, 0.0, 1.0),
    ],
)
def test_the_best_order_of_six_items_is_the_best_of_all(held: tuple[float, ...]) -> None:
    rows = padded([(loss, 0) for loss in held], 1)
    for base, ties in itertools.product(AREAS, ("step", "plateau")):
        brute = smallest(held, len(rows), ties, base == "AUGRC")
        assert value(rows, f"{base}(order=oracle,ties={ties},loss=abs)") == pytest.approx(brute, rel=0, abs=BY_HAND)


# ties


def orders_within_ties(answers: Sequence[tuple[float, int]]) -> list[tuple[float, ...]]:
    """The losses in every order that the confidence leaves open, equal losses told apart."""
    ranked = sorted(answers, key=lambda pair: -pair[1])
    runs = [[loss for loss, _ in run] for _, run in itertools.groupby(ranked, key=lambda pair: pair[1])]
    parts = itertools.product(*(itertools.permutations(run) for run in runs))
    return [tuple(itertools.chain.from_iterable(part)) for part in parts]


@examples(60)
@given(st.lists(st.tuples(losses, st.integers(0, 1)), min_size=1, max_size=6), st.integers(0, 2))
@example([(0.0, 1), (2.0, 1), (0.0, 0)], 1)
@example([(0.0, 0), (3.0, 0), (1.0, 0)], 0)
def test_tie_sensitivity_spans_all_orders_within_ties(answers: list[tuple[float, int]], silent: int) -> None:
    rows = padded(answers, silent)
    for base in AREAS:
        name = f"{base}(loss=abs)"
        mine, wants = computed(items_of(rows), "confidence", (name,))
        spread = mine.tie_sensitivity(wants[name][0], "confidence")
        every = [steps(order, len(rows), base == "AUGRC") for order in orders_within_ties(answers)]
        assert spread["best"] == pytest.approx(min(every), rel=0, abs=BY_HAND)
        assert spread["expected"] == pytest.approx(math.fsum(every) / len(every), rel=0, abs=BY_HAND)
        assert spread["worst"] == pytest.approx(max(every), rel=0, abs=BY_HAND)
        assert spread["best"] - BY_HAND <= value(rows, name) <= spread["worst"] + BY_HAND
        shared = [c for _, c in answers if sum(c == other for _, other in answers) > 1]
        assert spread["tied_items"] == len(shared)


# coverages


@examples(500)
@given(st.integers(1, 100_000), st.data())
def test_a_share_of_items_means_that_many_items_however_it_is_given(total: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, total))
    for given_as in (count / total, Fraction(count, total)):
        assert items_up_to(given_as, total) == count
        assert counts_to_reach(given_as, np.array([total])).tolist() == [count]
        whole, rest = counts_within(given_as, np.array([total]))
        assert (whole[0], rest[0]) == (count, 0.0)


@examples(500)
@given(st.integers(1, 999), st.integers(1, 5000))
def test_a_decimal_is_taken_at_its_word(thousandths: int, total: int) -> None:
    exact = Fraction(thousandths, 1000) * total
    assert items_up_to(thousandths / 1000, total) == exact
    assert counts_to_reach(thousandths / 1000, np.array([total, total])).tolist() == [math.ceil(exact)] * 2
    whole, rest = counts_within(thousandths / 1000, np.array([total]))
    assert whole[0] + Fraction(rest[0]) == pytest.approx(float(exact), rel=1e-12)
    assert whole[0] == math.floor(exact)


@examples(100)
@given(items_with_ties, abstained, st.integers(1, 100))
def test_areas_grow_with_the_coverage_and_end_at_the_whole(
    answers: list[tuple[float, int]], silent: int, percent: int
) -> None:
    rows = padded(answers, silent)
    loss = np.array([math.nan if held is None else held for held, _ in rows])
    confidence = np.array([float(c) for _, c in rows])
    for area, ties in itertools.product((aurc, augrc), RULES):
        whole = area(loss, confidence, ties=ties)
        part = area(loss, confidence, ties=ties, up_to=percent / 100)
        more = area(loss, confidence, ties=ties, up_to=min(percent + 1, 100) / 100)
        assert -BY_HAND <= part <= more + BY_HAND <= whole + 2 * BY_HAND
        for coverage in (1.0, cmax(loss)):
            assert area(loss, confidence, ties=ties, up_to=coverage) == pytest.approx(whole, rel=0, abs=BY_HAND)
