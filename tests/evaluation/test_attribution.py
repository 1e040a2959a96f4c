"""Where evidence was lost, worked out by hand."""

from __future__ import annotations

import polars as pl
import pytest

import evidentia
from evidentia.evaluation.attribution import attribute
from evidentia.results import Attribution, Losses
from evidentia.tables import Run, read_run

# post, criterion, gold, ranked, selected, state; letters are sentences, and the largest selection has 3
ROWS = (
    ("p1", "A", "ab", "axby", "ax", "POS"),  # b at rank 3: a K that is used elsewhere would have returned it
    ("p2", "A", "cd", "dxyz", "", "NEG"),  # c was never ranked; d was, but the gate stopped its query
    ("p3", "A", "e", "wxyze", "wxy", "POS"),  # e at rank 5: too deep for any K that is used
    ("p4", "B", "fghi", "fgxhyi", "fg", "UNCERTAIN"),  # h, i too deep; 4 gold do not fit into 3 places: i is K's
    ("p5", "B", "", "xy", "x", "POS"),  # a false alert
    ("p6", "B", "", "xy", "x", "UNCERTAIN"),  # returns something, but is no alert
    ("p7", "B", "", "xy", "", "NEG"),
)


def run_of(rows: tuple[tuple[str, ...], ...], *, states: bool = True) -> Run:
    cells = [
        {
            "post_id": post,
            "criterion_id": criterion,
            **{
                f"{name}_sent_uids": "|".join(f"{post}{letter}" for letter in letters)
                for name, letters in (("gold", gold), ("ranked", ranked), ("selected", selected))
            },
            **({"state": state} if states else {}),
        }
        for post, criterion, gold, ranked, selected, state in rows
    ]
    return read_run(pl.DataFrame(cells))


@pytest.fixture(scope="module")
def found() -> Attribution:
    made = attribute(run_of(ROWS))
    assert made is not None
    return made


def test_every_missed_sentence_is_charged_to_one_stage(found: Attribution) -> None:
    a = Losses(gold=5, returned=1, retriever=1, gate=1, k=1, ranking=1, false_alerts=0, false_returns=0)
    b = Losses(gold=4, returned=2, retriever=0, gate=0, k=1, ranking=1, false_alerts=1, false_returns=2)
    assert dict(found.losses_by_criterion) == {"A": a, "B": b}
    assert found.losses == Losses(9, 3, 1, 1, 2, 2, 1, 2)
    assert found.losses.missed == found.losses.charged == 6


def test_the_regret_is_against_the_k_with_the_largest_f1(found: Attribution) -> None:
    """p1: top 3 has F1 4/5, chosen 2/4. p3: top 5 has 2/6, chosen 0. p4: top 6 has 8/10, chosen 4/6."""
    regret = found.regret
    assert regret is not None
    assert (regret.queries, regret.too_small, regret.too_large) == (3, 3, 0)
    assert regret.mean_k == pytest.approx(7 / 3)
    assert regret.mean_oracle_k == pytest.approx((3 + 5 + 6) / 3)
    assert regret.f1 == pytest.approx((1 / 2 + 0 + 2 / 3) / 3)
    assert regret.oracle_f1 == pytest.approx((4 / 5 + 1 / 3 + 4 / 5) / 3)
    assert regret.regret == pytest.approx(regret.oracle_f1 - regret.f1)


def test_of_two_ks_with_the_same_f1_the_smaller_is_best() -> None:
    """Two gold sentences at ranks 1 and 4: the top 1 has F1 2/3, the top 4 has 4/6."""
    made = attribute(run_of((("p1", "A", "ab", "axyb", "axyb", "POS"),)))
    assert made is not None
    assert made.regret is not None
    assert (made.regret.mean_oracle_k, made.regret.too_large) == (1.0, 1)


def test_a_gold_sentence_that_the_selection_passes_over_is_charged_to_k() -> None:
    made = attribute(run_of((("p1", "A", "a", "axy", "x", "POS"),)))
    assert made is not None
    assert (made.losses.k, made.losses.ranking) == (1, 0)


def test_a_query_without_ranked_gold_has_nothing_to_regret() -> None:
    made = attribute(run_of((("p1", "A", "a", "xy", "x", "POS"),)))
    assert made is not None
    assert made.regret is not None
    assert (made.losses.retriever, made.regret.mean_oracle_k, made.regret.regret) == (1, 0.0, 0.0)


def test_without_a_gate_there_are_no_false_alerts() -> None:
    made = attribute(run_of(ROWS, states=False))
    assert made is not None
    assert (made.losses.gate, made.losses.false_alerts, made.losses.false_returns) == (0, 0, 2)
    assert made.losses.k == 3  # d of p2 is now let through, and was within reach of a K of 3


def test_the_range_of_k_and_how_crowded_its_ends_are(found: Attribution) -> None:
    k = found.k
    assert (k.selections, k.floor, k.cap, k.at_floor, k.at_cap) == (5, 1, 3, 2, 1)
    assert k.pinned == 0.4


def test_without_selections_nothing_is_charged() -> None:
    rows = {"post_id": ["p"], "criterion_id": ["A"], "gold_sent_uids": ["a"], "ranked_sent_uids": ["a"]}
    assert attribute(read_run(pl.DataFrame(rows))) is None


def test_the_charges_agree_with_the_pooled_recall() -> None:
    result = evidentia.evaluate(run_of(ROWS), measures=["EvidenceRecall(pool=micro)"], resamples=0)
    assert result.attribution is not None
    assert result["EvidenceRecall(pool=micro)"].value == result.attribution.losses.returned / 9
