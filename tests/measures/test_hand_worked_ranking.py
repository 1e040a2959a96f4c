"""Ranking measures on two short rankings and a query without gold."""

from __future__ import annotations

from math import log2

import pytest

from builders.queries import F, estimate, exactly, hand_worked, query, run_of, value
from evidentia.tables import Run


@pytest.fixture(scope="module")
def three() -> Run:
    """p1 has gold at ranks 1 and 4, and one that was not ranked; p2 at rank 2 of 2; p3 has none."""
    return run_of(
        query("p1", "A", gold="a d z", ranked="a b c d e"),
        query("p2", "B", gold="b", ranked="a b"),
        query("p3", "B", gold="", ranked="a b c"),
    )


def checked(three: Run, name: str, on_p1: F | float, on_p2: F | float) -> None:
    """Both populations and both averages at once: p3 scores 0, and criterion B holds p2 and p3."""
    base, cut = name.split("@") if "@" in name else (name, None)
    base, params = base.rstrip(")").split("(") if "(" in base else (base, "")

    def of(*more: str) -> float:
        listed = ",".join(part for part in (params, *more) if part)
        return value(three, base + (f"({listed})" if listed else "") + (f"@{cut}" if cut else ""))

    first, second = float(on_p1), float(on_p2)
    assert of() == exactly((first + second) / 2)
    assert of("pop=all") == exactly((first + second) / 3)
    assert of("avg=criterion") == exactly((first + second) / 2)
    assert of("pop=all", "avg=criterion") == exactly((first + second / 2) / 2)


@hand_worked("Recall@10")
@pytest.mark.parametrize(
    ("k", "on_p1", "on_p2"),
    [("1", F(1, 3), 0), ("2", F(1, 3), 1), ("4", F(2, 3), 1), ("10", F(2, 3), 1), ("ALL", F(2, 3), 1)],
)
def test_recall_is_the_share_of_gold_in_the_top_k(three: Run, k: str, on_p1: F, on_p2: F) -> None:
    checked(three, f"Recall@{k}", on_p1, on_p2)


@hand_worked("Precision@10")
@pytest.mark.parametrize(
    ("k", "on_p1", "on_p2"),
    [("1", 1, 0), ("3", F(1, 3), F(1, 3)), ("10", F(2, 10), F(1, 10)), ("ALL", F(2, 5), F(1, 2))],
)
def test_precision_divides_by_k_even_where_the_ranking_is_shorter(three: Run, k: str, on_p1: F, on_p2: F) -> None:
    checked(three, f"Precision@{k}", on_p1, on_p2)


@hand_worked("Precision(depth=k_eff)@10")
@pytest.mark.parametrize(
    ("k", "on_p1", "on_p2"),
    [("1", 1, 0), ("3", F(1, 3), F(1, 2)), ("10", F(2, 5), F(1, 2)), ("ALL", F(2, 5), F(1, 2))],
)
def test_precision_at_the_effective_depth_divides_by_what_was_ranked(three: Run, k: str, on_p1: F, on_p2: F) -> None:
    checked(three, f"Precision(depth=k_eff)@{k}", on_p1, on_p2)


@hand_worked("HitRate@10")
@pytest.mark.parametrize(("k", "on_p1", "on_p2"), [("1", 1, 0), ("3", 1, 1), ("ALL", 1, 1)])
def test_hit_rate_asks_whether_any_gold_stands_in_the_top_k(three: Run, k: str, on_p1: F, on_p2: F) -> None:
    checked(three, f"HitRate@{k}", on_p1, on_p2)


@hand_worked("MRR")
def test_mrr_looks_at_the_first_gold_only(three: Run) -> None:
    checked(three, "MRR", 1, F(1, 2))


@hand_worked("MRR@10")
@pytest.mark.parametrize(("k", "on_p2"), [("1", 0), ("2", F(1, 2)), ("10", F(1, 2)), ("ALL", F(1, 2))])
def test_mrr_at_k_forgets_what_stands_below(three: Run, k: str, on_p2: F) -> None:
    checked(three, f"MRR@{k}", 1, on_p2)


@hand_worked("MAP@10")
@pytest.mark.parametrize(
    ("norm", "k", "on_p1", "on_p2"),
    [
        # p1 gathers 1/1 at rank 1 and 2/4 at rank 4, p2 gathers 1/2 at rank 2
        ("gold", "2", F(1) / 3, F(1, 2)),
        ("gold", "4", F(3, 2) / 3, F(1, 2)),
        ("gold", "ALL", F(3, 2) / 3, F(1, 2)),
        ("found", "2", F(1) / 1, F(1, 2)),
        ("found", "4", F(3, 2) / 2, F(1, 2)),
        ("found", "ALL", F(3, 2) / 2, F(1, 2)),
        ("min", "1", F(1) / 1, 0),
        ("min", "2", F(1) / 2, F(1, 2)),
        ("min", "4", F(3, 2) / 3, F(1, 2)),
        ("min", "ALL", F(3, 2) / 3, F(1, 2)),
        ("min_eff", "2", F(1) / 2, F(1, 2)),
        ("min_eff", "4", F(3, 2) / 3, F(1, 2)),
    ],
)
def test_map_divides_by_what_its_norm_says(three: Run, norm: str, k: str, on_p1: F, on_p2: F) -> None:
    checked(three, f"MAP(norm={norm})@{k}", on_p1, on_p2)


@hand_worked("MAP(norm=min_eff)@10")
@pytest.mark.parametrize(
    ("norm", "k", "expected"),
    [
        ("min", "2", F(1, 2)),
        ("min_eff", "2", 1),
        ("min", "ALL", F(1, 3)),
        ("min_eff", "ALL", 1),
        ("gold", "2", F(1, 3)),
    ],
)
def test_only_the_effective_norm_lets_a_short_ranking_reach_1(norm: str, k: str, expected: F) -> None:
    run = run_of(query(gold="a b c", ranked="a"))
    assert value(run, f"MAP(norm={norm})@{k}") == exactly(expected)


@hand_worked("MAP@2")
@pytest.mark.parametrize(
    ("profile", "norm"), [("contract", "gold"), ("e2e", "found"), ("paper", "min_eff"), ("audit", "min")]
)
def test_every_profile_has_its_own_map(three: Run, profile: str, norm: str) -> None:
    assert value(three, "MAP@2", profile) == value(three, f"MAP(norm={norm})@2")


@hand_worked("nDCG@10")
@pytest.mark.parametrize(
    ("k", "on_p1", "on_p2"),
    [
        ("1", 1, 0),
        ("3", 1 / (1 + 1 / log2(3) + 1 / 2), 1 / log2(3)),
        ("4", (1 + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2), 1 / log2(3)),
        ("ALL", (1 + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2), 1 / log2(3)),
    ],
)
def test_ndcg_discounts_by_log2_and_its_ideal_holds_all_gold(three: Run, k: str, on_p1: float, on_p2: float) -> None:
    checked(three, f"nDCG@{k}", on_p1, on_p2)


RANKED = ("Recall@3", "Precision@3", "HitRate@3", "MRR", "MRR@3", "MAP@3", "nDCG@3")


@hand_worked(*RANKED)
@pytest.mark.parametrize("name", RANKED)
def test_an_empty_ranking_scores_0_and_is_not_degenerate(name: str) -> None:
    assert value(run_of(query(gold="a", ranked="")), name) == 0.0


@hand_worked(*RANKED)
@pytest.mark.parametrize("name", RANKED)
def test_without_any_evidence_the_mean_over_positives_is_undefined(name: str) -> None:
    found = estimate(run_of(query(gold="", ranked="a b")), name)
    assert (found.value, found.degenerate, found.n) == (0.0, "no queries in the population", 0)


@hand_worked("Recall@10")
def test_a_mean_carries_the_spread_of_its_queries(three: Run) -> None:
    spread = estimate(three, "Recall@10").distribution  # 2/3 and 1
    assert spread is not None
    assert spread.std == exactly(F(1, 6) * 2**0.5)
    assert [spread.p25, spread.median, spread.p75] == [exactly(F(9, 12)), exactly(F(10, 12)), exactly(F(11, 12))]
