"""Every coded check passes on a sound result and is tripped by the one thing that it is there for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evidentia.checks import CHECKS, Subject, check_subject
from evidentia.evaluation import evaluate_run
from evidentia.results import OtherDefinition
from evidentia.tables import DatasetCard, read_run

from .subjects import edited, found, selective_subject, small_subject, with_estimate, with_frame, with_queries

FOLDER_ONLY = {code for code, check in CHECKS.items() if check.scope == "folder"}


@pytest.fixture(scope="module")
def sound() -> Subject:
    return small_subject()


def first(column: str, cell: object) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Put a cell into the first row of a column."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        cells = [cell, *frame[column].to_list()[1:]]
        return frame.with_columns(pl.Series(column, cells, frame.schema[column]))

    return change


def list_of(subject: Subject, column: str, change: Callable[[list[str]], list[str]]) -> Subject:
    """Change the first list of a column that is not empty."""
    frame = subject.run.frame
    at = int(np.flatnonzero((frame[column].list.len() > 0).to_numpy())[0])
    cells = frame[column].to_list()
    cells[at] = change(cells[at])
    return with_frame(subject, lambda f: f.with_columns(pl.Series(column, cells, f.schema[column])))


def overlapping(subject: Subject) -> Subject:
    fold, post = subject.run.tune_frame.select("fold", "post_id").row(0)
    rows = subject.run.frame.with_columns(
        post_id=pl.when((pl.col("fold") == fold).cum_sum() == 1).then(pl.lit(post)).otherwise("post_id")
    )
    return with_frame(subject, lambda _: rows)


def post_in_two_folds(frame: pl.DataFrame) -> pl.DataFrame:
    other = frame.filter(pl.col("fold") != frame["fold"][0])["fold"][0]
    return first("fold", other)(frame)


def tuned_on_test(subject: Subject) -> Subject:
    record = dict(subject.evaluation.thresholds[0])
    judged = subject.run.frame.filter(pl.col("fold") == record["fold"])["post_id"][0]
    record["tuned_on_posts"] = [*record["tuned_on_posts"], judged]
    return replace(subject, evaluation=replace(subject.evaluation, thresholds=(record,)))


def only(subject: Subject, *names: str) -> Subject:
    measures = {name: subject.evaluation.measures[name] for name in names}
    return replace(subject, evaluation=replace(subject.evaluation, measures=measures))


def contradicting_definition(subject: Subject) -> Subject:
    known = subject.evaluation["AUROC"]
    other = OtherDefinition("AUROC", ("paper",), known.definition, known.value + 1e-6, None)
    return replace(subject, evaluation=replace(subject.evaluation, other_definitions=(other,)))


def with_range(subject: Subject, **changes: int) -> Subject:
    found = subject.evaluation.attribution
    damaged = replace(found, k=replace(found.k, **changes))
    return replace(subject, evaluation=replace(subject.evaluation, attribution=damaged))


def with_losses(subject: Subject, **changes: int) -> Subject:
    found = subject.evaluation.attribution
    damaged = replace(found, losses=replace(found.losses, **changes))
    return replace(subject, evaluation=replace(subject.evaluation, attribution=damaged))


DAMAGE: dict[str, tuple[str, Callable[[Subject], Subject]]] = {
    "BASE001": ("failed", lambda s: with_estimate(s, "AUPRC", details={"prevalence": 0.5})),
    "CARD001": ("failed", lambda s: replace(s, run=replace(s.run, card=DatasetCard("small", posts=61)))),
    "DEPTH001": ("warning", lambda s: with_queries(s, n_ranked=np.minimum(s.run.queries.n_ranked, 5))),
    "DUP001": ("failed", lambda s: replace(s, texts=replace(s.texts, by_post=dict.fromkeys(s.texts.by_post, "alike")))),
    "DYNK001": ("warning", lambda s: only(s, "Recall@10")),
    "FEAT001": ("failed", lambda s: replace(s, features=("bm25", "gold_rank"))),
    "FOLD001": ("failed", lambda s: with_frame(s, post_in_two_folds)),
    "GATE001": ("failed", lambda s: with_queries(s, n_selected=s.run.queries.n_selected + 1)),
    "GOOD001": ("warning", lambda s: with_estimate(s, "AUROC", value=0.99)),
    "INT001": ("failed", lambda s: with_estimate(s, "AUROC", ci=(0.9, 0.8))),
    "KPIN001": ("warning", lambda s: with_range(s, at_cap=s.evaluation.attribution.k.selections)),
    "LABEL001": ("failed", lambda s: with_queries(s, label=edited(s.run.queries.label, 0, not s.run.queries.label[0]))),
    "LEAK001": ("failed", overlapping),
    "LOSS001": ("failed", lambda s: with_losses(s, gate=s.evaluation.attribution.losses.gate + 1)),
    "NAME001": ("failed", lambda s: with_estimate(s, "MAP@10", definition=s.evaluation["MAP@5"].definition)),
    "PICK001": ("failed", lambda s: list_of(s, "selected_sent_uids", lambda ids: [*ids, "stranger"])),
    "POINT001": ("warning", lambda s: with_frame(s, first("tau_pos", 0.999))),
    "POP001": ("failed", lambda s: with_estimate(s, "Recall@10", n=240)),
    "PROB001": ("failed", lambda s: with_queries(s, prob=edited(s.run.queries.prob, 0, np.nan))),
    "RANGE001": ("failed", lambda s: with_estimate(s, "AUROC[fold=1]", value=1.001)),
    "RANK001": ("failed", lambda s: list_of(s, "ranked_sent_uids", lambda ids: [*ids, ids[0]])),
    "RANK002": ("failed", lambda s: list_of(s, "gold_sent_uids", lambda ids: ["stranger", *ids[1:]])),
    "RANK003": ("failed", lambda s: list_of(s, "ranked_sent_uids", lambda ids: [*ids, "stranger"])),
    "ROWS001": ("failed", lambda s: with_frame(s, first("split", "TUNE"))),
    "SAME001": ("failed", contradicting_definition),
    "STATE001": ("failed", lambda s: with_queries(s, state=edited(s.run.queries.state, 0, 2 - s.run.queries.state[0]))),
    "SUM001": ("failed", lambda s: with_estimate(s, "TP(t=gate)[fold=1]", value=99.0)),
    "TUNE001": ("failed", tuned_on_test),
    "TUNE002": ("skipped", lambda s: replace(s, evaluation=replace(s.evaluation, thresholds=()))),
}


def with_point(subject: Subject, joint_risk: float | None) -> Subject:
    """One point of the first curve moved."""
    curve = subject.evaluation.curves[0]
    columns = {**curve.columns, "joint_risk": (joint_risk, *curve.columns["joint_risk"][1:])}
    curves = (replace(curve, columns=columns), *subject.evaluation.curves[1:])
    return replace(subject, evaluation=replace(subject.evaluation, curves=curves))


ITEM_DAMAGE: dict[str, Callable[[Subject], Subject]] = {
    "SEL001": lambda s: replace(s, items=s.items.take(np.arange(1, len(s.items)))),
    "SEL002": lambda s: with_point(s, 0.5),
    "SEL003": lambda s: with_estimate(s, "AURC[confidence=llm]", value=0.0),
}


def test_every_check_has_its_damage() -> None:
    assert {*DAMAGE, *ITEM_DAMAGE} == set(CHECKS) - FOLDER_ONLY
    assert {*ITEM_DAMAGE} == {code for code, check in CHECKS.items() if check.about == "items"}


@pytest.mark.parametrize(("code", "damage"), ITEM_DAMAGE.items())
def test_a_check_of_items_passes_on_a_sound_result_and_notices_the_damage(
    code: str, damage: Callable[[Subject], Subject]
) -> None:
    whole = selective_subject()
    finding = found(code, whole)
    assert (finding.status, f"{finding.looked:,} " in finding.message) == ("passed", True)
    assert found(code, damage(whole)).status == "failed"


def test_a_result_about_queries_is_not_put_through_checks_of_items(sound: Subject) -> None:
    assert not {*ITEM_DAMAGE} & {finding.code for finding in check_subject(sound)}
    assert found("SEL001", sound).status == "not applicable"


def test_a_point_that_is_missing_differs_and_items_that_cannot_be_read_are_not_complete() -> None:
    assert found("SEL002", with_point(selective_subject(), None)).status == "failed"
    assert found("SEL001", replace(selective_subject(), items=None)).status == "failed"


@pytest.mark.parametrize("code", DAMAGE)
def test_a_sound_result_passes_and_the_check_says_how_much_it_looked_at(code: str, sound: Subject) -> None:
    finding = found(code, sound)
    assert finding.status == "passed", finding
    assert finding.looked > 0
    assert f"{finding.looked:,} " in finding.message


@pytest.mark.parametrize(("code", "status", "damage"), [(code, *rest) for code, rest in DAMAGE.items()])
def test_the_damage_is_noticed(code: str, status: str, damage: Callable[[Subject], Subject], sound: Subject) -> None:
    finding = found(code, damage(sound))
    assert finding.status == status, finding


@pytest.mark.parametrize("digit", [1e-16, -1e-16])
def test_sensitivity_is_checked_to_the_last_digit(sound: Subject, digit: float) -> None:
    name = "Sensitivity(t=0.5)"
    wrong = with_estimate(sound, name, value=float(np.nextafter(sound.evaluation[name].value, np.sign(digit))))
    assert found("SUM001", wrong).status == "failed"


def test_a_state_and_a_tau_that_disagree_fail() -> None:
    rows = {"post_id": ["p", "q"], "criterion_id": ["A", "A"], "has_evidence": [1, 0], "prob": [0.6, 0.2]}
    run = read_run(pl.DataFrame(rows | {"tau_neg": [0.5, 0.5], "tau_pos": [0.55, 0.55], "tau": [0.7, 0.7]}))
    finding = found("POINT001", Subject(evaluate_run(run), run))
    assert finding.status == "failed"
    assert finding.message.startswith("1 queries are a yes by state and a no by tau")


def test_figures_without_the_deployed_point_are_a_warning(sound: Subject) -> None:
    finding = found("POINT001", only(sound, "F1(t=0.5)"))
    assert (finding.status, "none at t = gate" in finding.message) == ("warning", True)


def test_recall_over_all_queries_does_not_stand_alone(sound: Subject) -> None:
    alone = evaluate_run(sound.run, measures=["MRR(pop=all)"])
    both = evaluate_run(sound.run, measures=["MRR(pop=all)", "MRR"])
    assert found("POP001", Subject(alone, sound.run)).status == "warning"
    assert found("POP001", Subject(both, sound.run)).status == "passed"


def test_a_retrievers_k_is_not_a_dynamic_k(sound: Subject) -> None:
    queries = sound.run.queries
    whole = with_queries(sound, n_selected=np.where(queries.n_selected > 0, queries.n_ranked, 0))
    finding = found("DYNK001", whole)
    assert (finding.status, "taken for a dynamic K" in finding.message) == ("warning", True)


def test_a_fixed_k_is_told_from_a_dynamic_one(sound: Subject) -> None:
    finding = found("KPIN001", with_range(sound, floor=5, cap=5))
    assert (finding.status, "sentences: K is fixed, or pinned" in finding.message) == ("warning", True)


def test_too_good_means_far_above_what_is_expected(sound: Subject) -> None:
    assert found("GOOD001", with_estimate(sound, "AUROC", value=0.975)).status == "passed"  # half way from 0.95 to 1
    assert found("GOOD001", with_estimate(sound, "AUROC", value=0.9751)).status == "warning"


def test_nothing_to_look_at_is_never_a_pass() -> None:
    run = read_run(pl.DataFrame({"post_id": ["p"], "criterion_id": ["A"], "gold_sent_uids": [""]}))
    subject = Subject(evaluate_run(run, measures=["Queries"]), run)
    for code in set(CHECKS) - FOLDER_ONLY:
        finding = found(code, subject)
        assert finding.status != "passed" or finding.looked, finding
    assert found("RANK001", subject).message == "there are no lists to look at"


def test_a_threshold_is_not_accounted_for_by_another_of_the_same_value(sound: Subject) -> None:
    """tau_neg and tau_pos exchanged in the records, or both recorded as single thresholds: the values are all there."""
    own = [record for record in sound.evaluation.thresholds if record["rule"] == "three_state"]
    others = tuple(record for record in sound.evaluation.thresholds if record["rule"] != "three_state")
    exchanged = tuple(record | {"tau_neg": record["tau_pos"], "tau_pos": record["tau_neg"]} for record in own)
    single = tuple(
        {"rule": "max-f1", "fold": record["fold"], "value": record[tau], "tuned_on_posts": record["tuned_on_posts"]}
        for record in own
        for tau in ("tau_neg", "tau_pos")
    )
    for records in (exchanged, single):
        changed = replace(sound, evaluation=replace(sound.evaluation, thresholds=(*others, *records)))
        assert found("TUNE002", changed).status == "skipped"
    assert found("TUNE002", sound).status == "passed"


def test_given_thresholds_are_accounted_for_by_themselves_alone(sound: Subject) -> None:
    """What the evaluation chose for TPR(tuned) has no say in what was given, even where the value is the same."""
    own = sound.evaluation.thresholds[0]
    run = replace(sound.run, frame=sound.run.frame.drop("tau_neg", "tau_pos", "state").filter(fold=own["fold"]))
    judged = replace(sound, run=replace(run, frame=run.frame.with_columns(tau=pl.lit(own["value"]))))
    assert found("TUNE002", judged).status == "passed"
    on = {"fold": own["fold"], "posts": own["tuned_on_posts"]}
    gate = {"rule": "max-f1", "value": own["value"], "reason": None, "tuned_on": on}
    for value, status in ((own["value"], "passed"), (own["value"] / 2, "skipped")):
        fold = {"calibrator": None, "threshold": gate | {"value": value}, "three_state": None}
        assert found("TUNE002", replace(judged, applied={"folds": [fold]})).status == status
    fold["threshold"]["value"] = own["value"]
    elsewhere = found("TUNE002", replace(judged, applied={"folds": [fold], "choices": {"cross_fit": True}}))
    assert (elsewhere.status, elsewhere.message[:9]) == ("warning", "cross_fit")
