"""A target is decided by the interval: wholly inside, wholly outside, or not at this sample size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evidentia.checks.targets import CONTRACT, judge, parse_target, targets_of
from evidentia.errors import InputError
from evidentia.results import Estimate, Evaluation, NotComputed
from evidentia.tables import DatasetCard, load_card
from evidentia.tables.card import Target as CardTarget

AUROC = Estimate("AUROC", 0.9, "AUROC", "detection", "AUROC", 100, 10, "all queries", "higher", "m", ci=(0.86, 0.93))


def result(estimate: Estimate) -> Evaluation:
    return Evaluation("contract", 7, 100, {estimate.name: estimate})


@pytest.mark.parametrize(
    ("target", "decision"),
    [
        ("AUROC>=0.85", "met"),
        ("AUROC>=0.86", "met"),
        ("AUROC>0.86", "not decidable"),
        ("AUROC >= 0.90", "not decidable"),
        ("AUROC>0.93", "not met"),
        ("AUROC>=0.93", "not decidable"),
        ("AUROC>=94%", "not met"),
        ("AUROC<=0.93", "met"),
        ("AUROC<0.93", "not decidable"),
        ("AUROC<0.86", "not met"),
    ],
)
def test_the_interval_decides(target: str, decision: str) -> None:
    assert judge(parse_target(target), result(AUROC)).decision == decision


@pytest.mark.parametrize(
    ("estimate", "reason"),
    [
        (replace(AUROC, ci=None), "no interval"),
        (replace(AUROC, degenerate="one class"), "a convention: one class"),
    ],
)
def test_what_has_no_interval_or_is_a_convention_is_not_decided(estimate: Estimate, reason: str) -> None:
    judgement = judge(parse_target("AUROC>=0.85"), result(estimate))
    assert (judgement.decision, judgement.reason) == ("not decidable", reason)


def test_what_was_not_computed_says_why() -> None:
    gap = NotComputed("gate", "needs a state column", ("AlertPrecision",))
    judgement = judge(parse_target("AlertPrecision>=0.9"), replace(result(AUROC), not_computed=(gap,)))
    assert (judgement.decision, judgement.reason) == ("not decidable", "not computed: needs a state column")


@pytest.mark.parametrize("text", ["AUROC", "AUROC=0.8", ">=0.8", "AUROC>=", "AUROC>=high", "AUROC>=1e999", ""])
def test_a_malformed_target_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_target(text)


def test_a_name_with_a_cut_and_a_group_is_read() -> None:
    target = parse_target("TPR@FPR=5%[fold=3]>=0.6")
    assert (target.name, target.relation, target.bound) == ("TPR@FPR=5%[fold=3]", ">=", 0.6)


def test_named_targets_come_before_those_of_the_card_and_those_before_the_contracts() -> None:
    card = DatasetCard("mine", targets={"MRR": CardTarget(at_least=0.5, at_most=0.9)})
    assert [str(t) for t in targets_of(["ECE<0.1"], card, selective=False)] == ["ECE < 0.1"]
    assert [str(t) for t in targets_of([], card, selective=False)] == ["MRR >= 0.5", "MRR <= 0.9"]
    assert len(targets_of([], None, selective=False)) == len(CONTRACT) == 8
    assert targets_of([], None, selective=True) == ()


@pytest.mark.parametrize("name", ["redsm5", "synthetic"])
def test_the_cards_that_ship_ask_what_the_contract_asks(name: str) -> None:
    contract = [str(parse_target(text)) for text in CONTRACT]
    assert [str(target) for target in targets_of([], load_card(name), selective=False)] == contract
    assert "ECE < 0.05" in contract


def test_a_card_says_whether_the_bound_itself_is_good_enough() -> None:
    strict = DatasetCard("mine", targets={"MRR": CardTarget(above=0.5, below=0.9)})
    assert [str(t) for t in targets_of([], strict, selective=False)] == ["MRR > 0.5", "MRR < 0.9"]


def test_a_name_that_only_groups_have_lists_them() -> None:
    name = "AURC[confidence=llm]"
    judged = judge(parse_target("AURC<=0.1"), result(replace(AUROC, name=name, group=(("confidence", "llm"),))))
    assert judged.reason == f"not computed: the result lacks it, but it has {name}"


def test_a_name_that_is_nearly_there_is_suggested() -> None:
    judged = judge(parse_target("Recall@7>=0.5"), result(replace(AUROC, name="Recall@5")))
    assert judged.reason == "not computed: the result lacks it; did you mean Recall@5?"
