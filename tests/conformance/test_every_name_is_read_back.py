"""Names: every definition prints a name that means it again, under every profile; groups survive odd characters."""

from __future__ import annotations

import polars as pl
import pytest
from every_definition import EVERY
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evidentia.errors import InputError, UnknownNameError
from evidentia.evaluation import evaluate_run
from evidentia.measures import MEASURES, PROFILES, Name, canonical, parse_name, resolve
from evidentia.measures.core import Selective
from evidentia.results.profiles import SELECTIVE, selective_names
from evidentia.tables import read_run

BY_NAME = {definition.expanded: definition for definition in EVERY}
EXPANDED = tuple(BY_NAME)
ALL_PROFILES = {**PROFILES, SELECTIVE.name: SELECTIVE}
every_definition = pytest.mark.parametrize("name", EXPANDED)
every_profile = pytest.mark.parametrize("profile", ALL_PROFILES)


@every_definition
def test_under_every_profile_the_name_of_a_definition_means_that_definition(name: str) -> None:
    definition = BY_NAME[name]
    for profile in ALL_PROFILES.values():
        printed = definition.name(profile)
        assert resolve(printed, profile).definition == definition
        assert canonical(printed, profile) == printed
        assert len(printed) <= len(name)


@every_definition
def test_the_expanded_name_means_the_same_under_every_profile(name: str) -> None:
    meant = [resolve(name, profile).definition.expanded for profile in ALL_PROFILES.values()]
    assert meant == [name] * len(ALL_PROFILES)


def test_different_definitions_have_different_expanded_names() -> None:
    assert len(set(EXPANDED)) == len(EVERY)


@every_profile
def test_no_two_definitions_share_a_name_under_a_profile(profile: str) -> None:
    assert len({definition.name(ALL_PROFILES[profile]) for definition in EVERY}) == len(EVERY)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_name_that_a_profile_reports_can_be_read(profile: str) -> None:
    names = PROFILES[profile].names()
    assert len({resolve(name, PROFILES[profile]).definition for name in names}) > 100


@pytest.mark.parametrize("loss", [None, "abs", "abs_norm", "zero_one", "squared"])
def test_every_name_that_a_selective_run_reports_can_be_read(loss: str | None) -> None:
    names = selective_names(("0.25", "1"), loss)
    found = [resolve(name, SELECTIVE).definition for name in names]
    assert len(set(found)) == len(names) == 18 + (2 if loss is None else 0) + 2 * 5
    assert all(isinstance(definition.kind, Selective) for definition in found)
    if loss is not None:
        assert {definition.args["loss"] for definition in found if definition.args.params} == {loss}


@every_profile
@pytest.mark.parametrize(
    ("short", "means"),
    [
        ("AURC", "AURC(order=confidence,ties=step,loss=abs)"),
        ("aurc( ties=plateau )", "AURC(order=confidence,ties=plateau,loss=abs)"),
        ("AUGRC", "AUGRC(order=confidence,ties=step,loss=abs_norm)"),
        ("AUGRC(loss=abs)", "AUGRC(order=confidence,ties=step,loss=abs)"),
        ("nAUGRC", "nAUGRC(ties=step,loss=abs_norm)"),
        ("AURC(order=oracle)", "AURC(order=oracle,ties=step,loss=abs)"),
        ("AURC@C=50%", "AURC(ties=step,loss=abs)@C=0.5"),
        ("AUGRC@c=Common", "AUGRC(ties=step,loss=abs_norm)@C=common"),
        ("MAE@coverage=.60", "MAE(loss=abs)@coverage=0.6"),
        ("mae", "MAE(loss=abs)"),
        ("CMAX", "Cmax"),
    ],
)
def test_a_selective_name_means_the_same_under_every_profile(short: str, means: str, profile: str) -> None:
    assert resolve(short, ALL_PROFILES[profile]).definition.expanded == means


@every_profile
@pytest.mark.parametrize(
    ("alias", "means"),
    [
        ("ndcg_cut_10", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("map", "MAP(norm=gold)@ALL"),
        ("map_cut_5", "MAP(norm=gold)@5"),
        ("P_5", "Precision(depth=k)@5"),
        ("recall_20", "Recall@20"),
        ("success_1", "HitRate@1"),
        ("recip_rank", "MRR"),
        ("roc_auc_score[fold=3]", "AUROC[fold=3]"),
        ("TPR(same)@FPR=0.05", "TPR(same)@FPR=5%"),
        ("TPR( same )@fpr=5.0%", "TPR(same)@FPR=5%"),
    ],
)
def test_names_of_other_tools_are_understood(alias: str, means: str, profile: str) -> None:
    assert canonical(alias, ALL_PROFILES[profile]) == canonical(means, ALL_PROFILES[profile])


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            "nDCG",
            "nDCG@0",
            "nDCG@-1",
            "nDCG(norm=gold)@10",
            "AUROC@10",
            "F1(avg=pooled)",
            "F1(t=1.5)",
            "ECE(bins=0)",
            "ECE(bins=1001)",
            "nDCG@9999999",
        ),
        *("MAP(norm=x)@5", "TPR@FPR=500%", "TPR@FPR=nan", "Nonsense@10", "AUROC[fold]", "F1(t=gate,t=0.5)"),
        *("ECE(bins=0)", ""),
        *("AURC@10", "AURC@C=0", "AURC@C=1.5", "AURC@coverage=0.5", "AURC(order=oracle)@C=0.5", "AURC(ties=none)"),
        *("nAURC@C=0.5", "MAE@coverage=common", "MAE@coverage=0", "MAE@C=0.5", "MAE(ties=plateau)", "Cmax(loss=abs)"),
    ],
)
def test_what_is_no_definition_is_refused(wrong: str) -> None:
    with pytest.raises(UnknownNameError):
        resolve(wrong, PROFILES["contract"])


column_names = st.text(min_size=1).filter(lambda text: text == text.strip() and not set(text) & set('=[]",'))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(column_names, st.text()), min_size=1, max_size=3), st.sampled_from(EXPANDED))
@example([("site", "")], "AUROC(level=query,avg=pooled)")
@example([("site", 'a "quoted" \\ value]')], "AUROC(level=query,avg=pooled)")
@example([("site", " padded\n")], "AUROC(level=query,avg=pooled)")
@example([("site", "a=b,c=[d]")], "AUROC(level=query,avg=pooled)")
def test_a_group_of_any_text_is_read_back(group: list[tuple[str, str]], base: str) -> None:
    pairs = tuple(group)
    printed = base + str(Name("", group=pairs))
    assert parse_name(printed).group == pairs
    assert resolve(printed, PROFILES["contract"]).group == pairs
    assert resolve(printed, PROFILES["contract"]).definition.expanded == base


LABELS = st.characters(codec="utf-8", exclude_characters="\n\r\x0b\x0c\x85\u2028\u2029")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(LABELS, max_size=6), min_size=1, max_size=4))
def test_slices_of_any_text_are_found_under_their_printed_names(sites: list[str]) -> None:
    frame = pl.DataFrame(
        {
            "post_id": [str(i) for i in range(len(sites))],
            "criterion_id": "A",
            "has_evidence": 1,
            "site": sites,
        },
        schema_overrides={"site": pl.String},
    )
    evaluation = evaluate_run(read_run(frame, by=["site"]), measures=["Queries"], by=["site"])
    slices = evaluation.grouped("site")
    assert sum(found.value for found in slices) == len(sites)
    for found in slices:
        assert evaluation[found.name] is found
        assert evaluation[" " + found.name.replace("Queries", "queries")] is found


@pytest.mark.parametrize("column", ["a b", "weiß", "a,b", "a=b", 'a"b', "x[y]", " padded"])
def test_a_column_of_any_name_is_refused_or_its_groups_are_read_back(column: str) -> None:
    frame = pl.DataFrame({"post_id": ["1", "2"], "criterion_id": "A", "has_evidence": 1, column: ["u", "v"]})
    try:
        evaluation = evaluate_run(read_run(frame, by=[column]), measures=["Queries"], by=[column])
    except InputError:
        return
    slices = evaluation.grouped(column)
    assert [found.group for found in slices] == [((column, "u"),), ((column, "v"),)]
    for found in slices:
        assert resolve(found.name, PROFILES["contract"]).group == found.group


def test_a_group_by_two_columns_is_computed_and_found() -> None:
    frame = pl.DataFrame(
        {"post_id": ["1", "2", "3"], "criterion_id": "A", "has_evidence": [1, 0, 0], "fold": [0, 0, 1]}
    )
    evaluation = evaluate_run(read_run(frame), measures=["Queries[fold=0,has_evidence=0]"])
    assert evaluation["Queries[fold=0,has_evidence=0]"].value == 1
    assert list(evaluation) == ["Queries[fold=0,has_evidence=0]"]


def test_every_measure_says_what_a_reader_needs() -> None:
    for measure in MEASURES:
        assert all([measure.label, measure.formula, measure.meaning, measure.reference]), measure.base
