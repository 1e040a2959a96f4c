"""Systems are compared on the same queries, the same truth and the same definitions, or not at all."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from cli.command import refused

from .systems import FEW, POSTS, numbers, read, save, strict, system

FEWER = ("post-00007", "post-00031")


def without_posts(frame: pl.DataFrame, *posts: str) -> pl.DataFrame:
    return frame.filter(~pl.col("post_id").is_in(posts))


def without_query(frame: pl.DataFrame, post: str, criterion: str) -> pl.DataFrame:
    return frame.filter((pl.col("post_id") != post) | (pl.col("criterion_id") != criterion))


def test_a_mismatch_is_an_error_that_says_how_many_and_names_the_first() -> None:
    whole, fewer = read(system(0.5)), read(without_posts(system(0.9), *FEWER))
    with pytest.raises(evidentia.InputError) as caught:
        evidentia.compare(whole, fewer, names=["whole", "fewer"], resamples=20)
    message = str(caught.value)
    assert message.startswith(
        "whole has 6 queries that another result lacks (first: post 'post-00007', criterion 'A.1')"
    )
    assert 'evidentia.compare(..., on_mismatch="intersect")' in message
    with pytest.raises(evidentia.InputError, match="whole has 6 queries that another result lacks"):
        evidentia.compare(fewer, whole, names=["fewer", "whole"], resamples=20)


def test_one_query_is_one_query() -> None:
    lacks = read(without_query(system(0.9), "post-00012", "A.3"))
    with pytest.raises(evidentia.InputError, match=r"has 1 query that .* post 'post-00012', criterion 'A\.3'"):
        evidentia.compare(read(system(0.5)), lacks, resamples=20)


def test_the_message_does_not_show_what_may_be_text() -> None:
    text = "I have not slept in days"
    odd = system(0.9).with_columns(pl.col("post_id").replace("post-00003", text))
    with pytest.raises(evidentia.InputError) as caught:
        evidentia.compare(read(odd), read(without_posts(odd, text)), resamples=20)
    assert text not in str(caught.value)
    assert "24 characters, not shown" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["posts", "one query", "different on each side"])
def test_intersect_equals_comparing_files_that_were_cut_before(kind: str) -> None:
    one, other = system(0.5), system(0.9)
    if kind == "posts":
        other = cut = without_posts(other, *FEWER)
        cuts = without_posts(one, *FEWER), cut
    elif kind == "one query":
        other = cut = without_query(other, "post-00012", "A.3")
        cuts = without_query(one, "post-00012", "A.3"), cut
    else:
        one, other = without_posts(one, FEWER[0]), without_query(other, FEWER[1], "A.1")
        cuts = without_query(one, FEWER[1], "A.1"), without_posts(other, FEWER[0])
    met = evidentia.compare(read(one), read(other), measures="all", on_mismatch="intersect", resamples=200)
    before = evidentia.compare(*map(read, cuts), measures="all", resamples=200)
    assert (met.queries, met.posts) == (before.queries, before.posts) == (len(cuts[0]), cuts[0]["post_id"].n_unique())
    assert numbers(met) == numbers(before)
    assert len(met.deltas) > 50
    left_out = [note for note in met.notes if "left out" in note]
    assert len(left_out) == (2 if kind == "different on each side" else 1)
    assert not [note for note in before.notes if "left out" in note]
    assert ("ExactMatch" in {d.name for d in met.deltas}) == (kind == "posts")  # it needs whole posts


def test_intersect_leaves_a_note_with_the_name_and_the_number(tmp_path: Path) -> None:
    save(system(0.5), tmp_path / "whole")
    save(without_posts(system(0.9), *FEWER), tmp_path / "fewer")
    two = (tmp_path / "whole", tmp_path / "fewer")
    refused(command("compare", *two, "--resamples", 20), "whole has 6 queries that another result lacks", "post-00007")
    remedy = "`evidentia compare --on-mismatch intersect`"  # whichever command says so, it may lack the option itself
    refused(command("table", *two, "-o", tmp_path / "t.md"), remedy)
    refused(command("gate", two[1], "--against", two[0], "--max-drop", "AUROC:0.1"), remedy)
    asked = ("--on-mismatch", "intersect", "--resamples", 200, "--measures", "AUROC")
    ran = command("compare", *two, *asked)
    assert ran.code == 0
    assert f"{3 * (POSTS - 2)} queries from {POSTS - 2} posts" in ran.out
    assert "note whole: 6 queries that not all results have are left out" in ran.out
    content = strict(command("compare", *two, *asked, "--json").out)
    assert content["notes"] == ["whole: 6 queries that not all results have are left out"]


def test_intersect_of_the_same_queries_changes_nothing_and_notes_nothing() -> None:
    runs = [read(system(d)) for d in (0.5, 0.9)]
    plain, met = (
        evidentia.compare(*runs, measures=FEW, resamples=200, on_mismatch=policy) for policy in ("error", "intersect")
    )
    assert plain == met
    assert not [note for note in met.notes if "left out" in note]


def test_three_systems_meet_in_what_all_of_them_have() -> None:
    frames = [system(0.3), without_posts(system(0.5), FEWER[0]), without_posts(system(0.9), FEWER[1])]
    met = evidentia.compare(*map(read, frames), measures=FEW, resamples=200, on_mismatch="intersect")
    assert met.posts == POSTS - 2
    assert [note.split(":")[0] for note in met.notes if "left out" in note] == ["system 1", "system 2", "system 3"]


@pytest.mark.parametrize("policy", ["error", "intersect"])
def test_nothing_in_common_is_an_error(policy: str) -> None:
    other = system(0.9).with_columns((pl.lit("x") + pl.col("post_id")).alias("post_id"))
    with pytest.raises(evidentia.InputError, match=r"no query in common|that another result lacks"):
        evidentia.compare(read(system(0.5)), read(other), resamples=20, on_mismatch=policy)


def test_another_label_is_an_error_also_when_intersecting() -> None:
    labels = system(0.5).select("post_id", "criterion_id", "has_evidence", "prob")
    first = labels["has_evidence"].arg_max()
    turned = labels.with_columns(
        pl.when(pl.int_range(pl.len()) == first).then(0).otherwise(pl.col("has_evidence")).alias("has_evidence")
    )
    key = labels.row(first, named=True)
    for policy in ("error", "intersect"):
        with pytest.raises(evidentia.InputError) as caught:
            evidentia.compare(read(labels), read(turned), names=["a", "b"], resamples=20, on_mismatch=policy)
        assert "a and b disagree about the gold of 1 query" in str(caught.value)
        assert f"post '{key['post_id']}', criterion '{key['criterion_id']}'" in str(caught.value)


def test_other_gold_sentences_under_the_same_label_are_an_error(tmp_path: Path) -> None:
    frame = system(0.5)
    other = frame.with_columns(
        pl.when(pl.col("has_evidence") == 1)
        .then(pl.col("ranked_sent_uids").list.head(1))
        .otherwise(pl.col("gold_sent_uids"))
        .alias("gold_sent_uids")
    )
    changed = (frame["gold_sent_uids"].list.sort().list.join("|") != other["gold_sent_uids"].list.join("|")).sum()
    assert changed > 3
    save(frame, tmp_path / "a")
    save(other, tmp_path / "b")
    refused(
        command("compare", tmp_path / "a", tmp_path / "b", "--resamples", 20),
        f"a and b disagree about the gold of {changed} queries",
        "only be compared on the same truth",
    )


def test_the_order_of_the_gold_of_a_query_does_not_matter() -> None:
    frame = system(0.5)
    turned = frame.with_columns(pl.col("gold_sent_uids").list.reverse())
    assert (frame["gold_sent_uids"].list.len() > 1).any()
    assert evidentia.compare(read(frame), read(turned), measures=["nDCG@10"], resamples=20)["nDCG@10"].delta == 0.0


def test_results_of_two_profiles_are_refused_unless_one_is_named(folders: Path, tmp_path: Path) -> None:
    save(system(0.9), tmp_path / "audited", profile="audit")
    two = (folders / "good", tmp_path / "audited")
    refused(command("compare", *two, "--resamples", 20), "different profiles (contract, audit)", "--profile")
    for profile, value in (("contract", "MAP(norm=gold"), ("audit", "MAP(norm=min")):
        ran = command("compare", *two, "--resamples", 20, "--profile", profile, "--measures", "MAP@10", "--json")
        assert ran.code == 0
        content = strict(ran.out)
        assert content["profile"] == profile
        assert content["deltas"][0]["definition"].startswith(value)


def test_the_profile_of_the_results_is_the_one_that_is_used(tmp_path: Path) -> None:
    for name, difficulty in {"a": 0.3, "b": 0.9}.items():
        save(system(difficulty), tmp_path / name, profile="paper")
    comparison = evidentia.compare(tmp_path / "a", tmp_path / "b", measures=["MAP@10"], resamples=20)
    assert comparison.profile == "paper"
    assert comparison.deltas[0].definition.startswith("MAP(norm=min_eff")


@pytest.mark.parametrize("label", [0, 1])
def test_ids_that_are_numbers_in_one_result_only_stay_paired(label: int) -> None:
    """Posts 1, 2, 10 are ordered as numbers; with a post x beside them they are ordered as text."""
    ids = ["1", "2", "10", "11"]
    whole = pl.DataFrame({"post_id": ids, "criterion_id": "A", "has_evidence": label, "prob": [0.1, 0.2, 0.3, 0.4]})
    more = pl.concat(
        [whole, pl.DataFrame({"post_id": ["x"], "criterion_id": "A", "has_evidence": [label], "prob": [0.5]})],
        how="vertical_relaxed",
    )
    met = evidentia.compare(read(whole), read(more), measures=["Brier"], resamples=200, on_mismatch="intersect")
    assert met["Brier"].delta == 0.0
    assert met["Brier"].ci is None  # every resample gives the same difference: none
    assert met["Brier"].p == 1.0


def test_criteria_that_are_numbers_in_one_result_only_stay_paired() -> None:
    def frame(criteria: list[str]) -> pl.DataFrame:
        rows = [(post, c) for post in ("p", "q", "r") for c in criteria]
        golds = [f"{post}{c}" for post, c in rows]
        return pl.DataFrame(
            {
                "post_id": [post for post, _ in rows],
                "criterion_id": [c for _, c in rows],
                "gold_sent_uids": golds,
                "ranked_sent_uids": golds,
            }
        )

    one, other = frame(["1", "2", "10"]), frame(["1", "2", "10", "x"])
    met = evidentia.compare(read(one), read(other), measures=["nDCG@10"], resamples=20, on_mismatch="intersect")
    assert [delta.delta for delta in met.deltas] == [0.0] * 4
