"""Two runs of a questionnaire, compared over what both answer: by hand, by a plain loop, and again from the folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.queries import F
from evidentia.evaluation import compare_answers
from evidentia.results import Delta, Evaluation, SelectiveComparison
from evidentia.selective import evaluate
from evidentia.tables import Items, read_items
from evidentia.verify.folder import ResultFolder
from evidentia.verify.selective import check_selective
from evidentia.verify.tally import Tally
from selective.naive import picks
from selective.questionnaires import instrument, participant, random_run, run_file

THREE = tuple((own, 0, 3, own == "c") for own in "abc")
TRUTH = ((1, 1, 0), (3, 3, 1), (0, 1, 3), (2, 1, 1))
ANSWERS_A = ((1, 2, 3), (3, None, 1), (0, None, None), (2, 3, 0))
ANSWERS_B = ((1, 1, None), (2, 3, 1), (0, 2, 3), (2, 1, 1))
Answers = Sequence[Sequence[int | None]]


def results(answers: Answers) -> list[dict[str, Any]]:
    pairs = zip(answers, TRUTH, strict=True)
    return [
        participant(at, dict(zip("abc", own, strict=True)), dict(zip("abc", gt, strict=True)))
        for at, (own, gt) in enumerate(pairs)
    ]


def compared(first: Answers, second: Answers, **options: Any) -> SelectiveComparison:
    run = run_file(instrument(THREE, (5, 6)), A=results(first), B=results(second))
    comparison = evaluate(run, mode="B", against_mode="A", **{"seed": 1, "resamples": 50} | options).comparison
    assert comparison is not None
    return comparison


@pytest.fixture(scope="module")
def four() -> SelectiveComparison:
    """Both answer 8 of 12 items, and every item of the last person; alone A answers 9, and B 11."""
    return compared(ANSWERS_A, ANSWERS_B)


@pytest.mark.parametrize(
    ("name", "a", "b", "n"),
    [
        ("MAE(avg=item)", (0 + F(3, 2) + F(1, 2)) / 3, (F(1, 4) + 0 + 0) / 3, 8),
        ("WeightedKappa", 1 - F(8 * 6, 128), 1 - F(8 * 1, 68), 8),  # n times squares, over those of all pairs
        ("TotalMAE", F(3), F(0), 1),  # the last person: 8 and 5 of 5
        ("TotalDecided@cut=5", F(3, 4), F(3, 4), 4),
        ("TotalDecided@cut=6", F(1, 2), F(1), 4),
        ("TotalSensitivity(bound=low)@cut=6", F(0), F(1), 1),  # the second person: 5 to 8, and 7, of 8
        ("TotalSpecificity(bound=low)@cut=6", F(1, 3), F(1), 3),
        ("MAE[item=b]", F(3, 2), F(0), 2),
        ("MAE[item=c]", F(1, 2), F(0), 2),
        ("Cmax[item=b]", F(1, 2), F(1), 4),
    ],
)
def test_differences_by_hand(four: SelectiveComparison, name: str, a: F, b: F, n: int) -> None:
    delta = four[name]
    assert (delta.baseline_value, delta.system_value) == pytest.approx((float(a), float(b)), abs=1e-12)
    assert delta.delta == pytest.approx(float(b - a), abs=1e-12)
    assert (delta.n, delta.system_n) == (n, n)


def test_how_much_each_answers_alone_stands_beside(four: SelectiveComparison) -> None:
    assert four["MAE(avg=item)"].warnings[0] == (
        "only over the 8 of 12 items that both answer; each alone: A 9 (0.75), B 11 (0.9167)"
    )
    assert four["TotalMAE"].warnings[0] == (
        "only over the 1 of 4 participants of whom both answer every item; each alone: A 2 (0.5), B 3 (0.75)"
    )
    assert four["WeightedKappa[item=b]"].warnings[0].startswith("only over the 2 of 4 items that both answer")
    for name in ("TotalDecided@cut=6", "Cmax[item=b]"):
        assert not any("both answer" in words for words in four[name].warnings), "over everybody"


def test_p_values_of_what_was_compared_before_do_not_depend_on_the_questionnaire(four: SelectiveComparison) -> None:
    families = list(dict.fromkeys(delta.family for delta in four.deltas))
    assert families == ["measures", "coverage", "truncated", "questionnaire", "items"]
    assert {d.name.partition("[item=")[0] for d in four.deltas if d.family == "items"} == {
        "Cmax",
        "MAE",
        "WeightedKappa",
    }
    assert all(("[item=" in d.name) == (d.family == "items") for d in four.deltas)


def test_who_answers_nothing_of_what_the_other_answers_never_wins() -> None:
    only_a = [(own[0], None, None) for own in TRUTH]
    only_b = [(None, own[1], None) for own in ((3, 0, 0), (0, 0, 0), (3, 3, 3), (0, 3, 0))]
    comparison = compared(only_b, only_a, resamples=200)
    for name in ("MAE(avg=item)", "WeightedKappa", "TotalMAE", "MAE[item=a]", "WeightedKappa[item=b]"):
        delta = comparison[name]
        assert (delta.delta, delta.ci, delta.p, delta.verdict, delta.n) == (None, None, None, "undefined", 0)
        assert (delta.to_dict()["baseline_value"], delta.to_dict()["system_value"]) == (None, None)
        assert delta.warnings[-1] == "undefined for at least one of the two"
    assert comparison["MAE"].verdict == "undefined"
    assert any("the two answer other items" in warning for warning in comparison["MAE"].warnings)
    wins = {d.name for d in comparison.deltas if d.verdict == "win"}
    assert not [name for name in wins if not name.startswith(("AURC", "AUGRC", "MAE@coverage", "eAU", "nAU"))]


def test_who_answers_less_never_wins_at_a_cut_off() -> None:
    """An upper bound counts undecided participants for the system: it would reward abstention, and is not compared."""
    little = [(own[0], None, None) for own in TRUTH]
    comparison = compared(TRUTH, little, resamples=200)
    at_cuts = [d for d in comparison.deltas if d.name.startswith(("TotalSensitivity", "TotalSpecificity"))]
    assert at_cuts
    assert all("bound=low" in d.name and d.verdict != "win" for d in at_cuts)


# every draw, by a plain loop


def kappa(pairs: Sequence[tuple[float, float]]) -> float:
    chance = sum((p - g) ** 2 for p, _ in pairs for _, g in pairs)
    return 1 - len(pairs) * sum((p - g) ** 2 for p, g in pairs) / chance if chance else math.nan


def plain(name: str, people: Sequence[list[tuple[float, float, bool]]]) -> float:
    """A number over people, each a list of (answer, truth, whether both answer) by item."""
    if name == "TotalMAE":
        errors = [abs(sum(p - g for p, g, _ in own)) for own in people if all(both for *_, both in own)]
        return sum(errors) / len(errors) if errors else math.nan
    items = [[(p, g) for p, g, both in column if both] for column in zip(*people, strict=True)]
    if name == "WeightedKappa":
        return kappa([pair for column in items for pair in column])
    means = [sum(abs(p - g) for p, g in column) / len(column) for column in items if column]
    return sum(means) / len(means) if means else math.nan


@cache
def twenty() -> tuple[Items, Items, Evaluation]:
    plain_items = tuple((own, 0, 3, False) for own in "abc")
    run = random_run(8, participants=20, abstained=0.2, items=plain_items)
    both = read_items(run, mode="second"), read_items(run, mode="first")
    return *both, evaluate(run, mode="first", against_mode="second", seed=4, resamples=150, ci=0.9)


@pytest.mark.parametrize("name", ["MAE(avg=item)", "WeightedKappa", "TotalMAE"])
def test_limits_are_those_of_a_plain_loop_over_the_same_draws(name: str) -> None:
    first, second, result = twenty()
    assert result.comparison is not None
    grids = [side.answers for side in (first, second)]
    both = grids[0].held & grids[1].held
    sides = [
        [list(zip(p, g, b, strict=True)) for p, g, b in zip(own.pred, own.gt, both.tolist(), strict=True)]
        for own in grids
    ]
    drawn = []
    for replicate in range(150):
        chosen = picks(20, 4, replicate)
        before, after = (plain(name, [side[at] for at in chosen]) for side in sides)
        drawn.append(after - before)
    held = [value for value in drawn if not math.isnan(value)]
    delta: Delta = result.comparison[name]
    assert delta.replicates_left_out == 150 - len(held)
    assert delta.ci == pytest.approx(tuple(np.percentile(held, [5, 95])), abs=1e-12)


# again from the folder


def mismatches(folder: Path) -> list[str]:
    tally = Tally()
    check_selective(ResultFolder(folder), tally)
    return [mismatch.where for mismatch in tally.mismatches]


BUGS = {
    "everything that each answers": ("_answered_by", lambda items, other: items),
    "what one answers counts as answered by both": ("_is_paired", lambda definition: False),
    "what the other leaves open": (
        "_answered_by",
        lambda items, other: compare_answers.replace(items, pred=np.where(other.predicted, np.nan, items.pred)),
    ),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("bug", BUGS)
def test_a_comparison_over_something_else_is_noticed(bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = random_run(3)
    monkeypatch.setattr(compare_answers, *BUGS[bug])
    evaluate(run, mode="first", against_mode="second", seed=1, resamples=30).save(tmp_path / "wrong")
    monkeypatch.undo()
    evaluate(run, mode="first", against_mode="second", seed=1, resamples=30).save(tmp_path / "right")
    assert mismatches(tmp_path / "right") == []
    wrong = mismatches(tmp_path / "wrong")
    assert wrong
    assert all(where.startswith(("comparison: deltas", "comparison: notes")) for where in wrong)


@pytest.mark.parametrize("measures", [None, ["AURC", "TotalMAE"]])
@pytest.mark.parametrize("half", [0.0, 0.5])
def test_a_table_is_compared_where_its_answers_are_scores_of_the_questionnaire(
    half: float, measures: list[str] | None, tmp_path: Path
) -> None:
    rows = [
        {"cluster_id": str(at), "item": item, "pred": answer, "gt": gt, "confidence": 1.0}
        for at, (own, truth) in enumerate(zip(ANSWERS_A, TRUTH, strict=True))
        for item, answer, gt in zip("abc", own, truth, strict=True)
    ]
    rows[0]["pred"] = 1 + half
    frame = pl.DataFrame(rows, schema_overrides={"pred": pl.Float64})
    run = run_file(instrument(THREE, (5, 6)), B=results(ANSWERS_B))
    result = evaluate(
        run, against=read_items(frame, item_max=3), seed=1, resamples=30, measures=measures, names=("A", "B")
    )
    assert result.comparison is not None
    names = [delta.name for delta in result.comparison.deltas if delta.family in {"questionnaire", "items"}]
    assert bool(names) == (half == 0.0)
    result.save(tmp_path / "out")
    assert mismatches(tmp_path / "out") == []
