"""A wrong separator is refused with the shape of the cells; gold and rankings that never meet are a loud warning."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evidentia
from cli.command import evidentia as run_command
from cli.command import refused
from evidentia.errors import InputError, InputWarning
from evidentia.tables import Run, read_run, read_trec, validate_run

SECRET = "herons"


def rows(
    gold: str = "|", ranked: str | None = "|", selected: str | None = None, *, posts: int = 4, golds: int = 2
) -> pl.DataFrame:
    """A run in which the first two sentences of every post are gold and ranked first."""
    names = [[f"{SECRET}{post}_{i}" for i in range(4)] for post in range(posts)]
    columns: dict[str, list[str]] = {
        "post_id": [str(post) for post in range(posts)],
        "criterion_id": ["A"] * posts,
        "gold_sent_uids": [gold.join(own[:golds]) for own in names],
    }
    if ranked is not None:
        columns["ranked_sent_uids"] = [ranked.join(own) for own in names]
    if selected is not None:
        columns["selected_sent_uids"] = [selected.join(own[:3]) for own in names]
    return pl.DataFrame(columns)


def problem(frame: pl.DataFrame, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_run(frame, **options)  # type: ignore[arg-type]
    assert {one.code for one in caught.value.problems} == {"SEPARATOR"}, caught.value
    message = str(caught.value)
    assert SECRET not in message
    return message


def same_lists(run: Run, other: Run) -> bool:
    columns = [c for c in run.frame.columns if c.endswith("_uids")]
    return run.frame.select(columns).equals(other.frame.select(columns))


def doubtful(gold: str, ranked: str, selected: str | None = None) -> pl.DataFrame:
    """A run whose rankings hold the gold of the first post only, so that nothing but the signs speaks for lists."""
    lost = pl.col("gold_sent_uids").str.replace_all(SECRET, "lost")
    first = pl.col("post_id") == "0"
    return rows(gold, ranked, selected).with_columns(pl.when(first).then("gold_sent_uids").otherwise(lost))


@pytest.mark.parametrize("mark", [";", ",", " ", ", ", "\t", "\n", " ; "])
@pytest.mark.parametrize("golds", [1, 2])
def test_another_separator_is_recognised_where_gold_is_found_in_the_rankings(mark: str, golds: int) -> None:
    name = mark.strip() or "space"
    run = read_run(rows(mark, mark, golds=golds))
    assert same_lists(run, read_run(rows(golds=golds)))
    columns = "gold_sent_uids and ranked_sent_uids" if golds > 1 else "ranked_sent_uids"
    assert run.notes == (f"<dataframe>: the uids of {columns} are read as separated by {name!r}.",)
    assert read_run(rows(mark, mark, golds=golds), allow_disjoint=True).queries.n_ranked.tolist() == [1] * 4


@pytest.mark.parametrize("mark", [";", ", ", "\n"])
def test_one_column_may_be_joined_by_another_separator_than_the_rest(mark: str) -> None:
    for columns in (("|", mark), (mark, "|"), ("|", None, mark), (mark, mark, "|")):
        plain = ["|" if column else None for column in columns]
        assert same_lists(read_run(rows(*columns)), read_run(rows(*plain)))


def test_candidates_tell_what_separates_uids_that_no_ranking_holds() -> None:
    pool = pl.DataFrame(
        {
            "post_id": [str(post) for post in range(4) for _ in range(4)],
            "criterion_id": ["A"] * 16,
            "sent_uid": [f"{SECRET}{post}_{i}" for post in range(4) for i in range(4)],
            "score": [0.1 * i for i in range(16)],
        }
    )
    gold = pl.when(pl.col("post_id") == "0").then(pl.col("gold_sent_uids").str.head(9)).otherwise("gold_sent_uids")
    frame = rows(";", None).with_columns(gold)
    assert read_run(frame, candidates=pool).queries.n_gold.tolist() == [1, 2, 2, 2]
    frame = rows(";", "|", golds=1).with_columns(pl.col("gold_sent_uids") + ";elsewhere")
    problem(frame, candidates=pool)


@pytest.mark.parametrize("mark", [";", ",", " ", ", ", "\t", "\n", " ; "])
def test_in_doubt_the_message_names_the_option_that_mends_it(mark: str) -> None:
    name = mark.strip() or "space"
    message = problem(doubtful(mark, mark))
    assert "4 rows whose ranked_sent_uids holds a separator other than |" in message
    assert repr(mark.join(["id"] * 4))[:20] in message
    assert f"list_sep={name!r})" in message
    assert same_lists(read_run(doubtful(mark, mark), list_sep=name), read_run(doubtful("|", "|")))


@pytest.mark.parametrize(("mark", "wrong"), [(";", ","), (",", ";"), (" ", ";"), (";", "|")])
def test_a_wrong_separator_stays_an_error_that_names_the_right_one(mark: str, wrong: str) -> None:
    """A selection joined by another sign is not in the ranking; that is not told instead of it."""
    message = problem(rows(mark, mark, mark), list_sep=wrong)
    assert f"holds a separator other than {wrong}" in message
    assert f"list_sep={mark.strip() or 'space'!r}" in message


@pytest.mark.parametrize("list_sep", ["ab", "", "s", "'", "["])
def test_a_separator_is_a_sign(list_sep: str) -> None:
    with pytest.raises(InputError, match="The separator of lists is"):
        read_run(rows(), list_sep=list_sep)


@pytest.mark.parametrize(
    ("gold", "ranked"),
    [
        (["d1,s1", "d2,s1"], ["d1,s2", "d2,s3"]),  # as many parts everywhere
        (["d1,s1", "d2,s1"], ["d1,s1", "d2,s1,s3"]),  # whole cells meet
        (["d1,s1,x,s1", "d2,s1"], ["d1,s1,x", "d2,s1,s3"]),  # a part comes twice
        (["d1,s1,", "d2,s1"], ["d1,s1,x", "d2,s1,s3"]),  # an empty part
    ],
)
def test_signs_that_may_belong_to_an_id_are_not_taken_for_separators(gold: list[str], ranked: list[str]) -> None:
    frame = pl.DataFrame({"post_id": [1, 2], "criterion_id": ["A", "A"]})
    frame = frame.with_columns(gold_sent_uids=pl.Series(gold), ranked_sent_uids=pl.Series(ranked))
    codes = {one.code for one in validate_run(frame)}
    assert codes == {"SEPARATOR"} or read_run(frame).queries.n_gold.tolist() == [1, 1]


def simulated(
    form: str, mark: str, ranked: float, alone: float, *, end: str = "", top: int | None = None
) -> pl.DataFrame:
    """60 posts, of which a share has one sentence, and of whose gold a share is ranked."""
    random = np.random.default_rng(7)
    rows = []
    for post in range(60):
        size = 1 if random.random() < alone else int(random.integers(2, 8))
        names = [form.format(post, i) for i in random.permutation(size)]
        gold = names[: random.integers(0, min(size, 3) + 1)]
        kept = random.permutation([name for name in names if name not in gold or random.random() < ranked])[:top]
        lists = [mark.join(part) + (end if len(part) else "") for part in (gold, kept)]
        rows.append(
            {"post_id": f"p{post}", "criterion_id": "A", "gold_sent_uids": lists[0], "ranked_sent_uids": lists[1]}
        )
    return pl.DataFrame(rows)


@pytest.mark.parametrize("form", ["s{}_{}", "p{},{}", "p{} {}"])
@pytest.mark.parametrize(("mark", "end"), [(";", ""), (";", ";"), ("; ", "")])
@pytest.mark.parametrize(("ranked", "alone"), [(0.1, 0.1), (0.3, 0.5), (0.1, 0.9), (0.9, 0.1)])
def test_joined_lists_are_never_read_as_single_ids(form: str, mark: str, end: str, ranked: float, alone: float) -> None:
    plain = read_run(simulated(form, "|", ranked, alone))
    frame = simulated(form, mark, ranked, alone, end=end)
    if codes := {one.code for one in validate_run(frame)}:
        assert codes == {"SEPARATOR"}
        codes = {one.code for one in validate_run(frame, list_sep=";")}
        assert codes == ({"EMPTY_UID"} if end else set())  # which asks for no separator at the ends
    else:
        assert same_lists(read_run(frame), plain)


@pytest.mark.parametrize("form", ["p{},{}", "p{} {}", "post {}, s {}"])
@pytest.mark.parametrize("ranked", [0.1, 0.9])
@pytest.mark.parametrize("top", [None, 1])
def test_ids_that_hold_a_sign_are_read_as_they_are(form: str, ranked: float, top: int | None) -> None:
    assert read_run(simulated(form, "|", ranked, 0.3, top=top)).notes == ()


def test_a_few_ids_with_a_sign_do_not_make_lists_of_a_file_that_has_lists() -> None:
    frame = rows().with_columns(pl.col("ranked_sent_uids") + pl.Series(["", "", "", "|the last"]))
    frame = frame.with_columns(gold_sent_uids=pl.Series([*frame["gold_sent_uids"][:3], ""]))
    assert read_run(frame).queries.n_ranked.tolist() == [4, 4, 4, 5]


def test_native_lists_and_tune_rows_are_looked_at_too() -> None:
    lists = rows(";", ";").with_columns(pl.col("gold_sent_uids", "ranked_sent_uids").str.split("|"))
    assert "whose ranked_sent_uids" in problem(lists)
    tune = doubtful(";", ";").with_columns(post_id=pl.lit("t") + pl.col("post_id"))
    tune = tune.with_columns(pl.col("gold_sent_uids", "ranked_sent_uids").str.replace_all(SECRET, f"{SECRET}t"))
    assert "among the TUNE rows" in problem(rows(), tune=tune)


def test_gold_joined_wrongly_beside_candidates() -> None:
    frame = rows(";", None)
    candidates = pl.DataFrame(
        [
            {"post_id": str(post), "criterion_id": "A", "sent_uid": f"{SECRET}{post}_{i}", "score": 1.0 - i}
            for post in range(4)
            for i in range(4)
        ]
    )
    with pytest.raises(InputError) as caught:
        read_run(frame, candidates=candidates)
    assert SECRET not in "".join(one.message for one in caught.value.problems if one.code == "SEPARATOR")


def test_characters_that_belong_to_the_uids_are_no_separators() -> None:
    frame = pl.DataFrame(
        {
            "post_id": ["1", "2"],
            "criterion_id": ["A", "A"],
            "gold_sent_uids": ["post 1, s 1", "post 2, s 1|post 2, s 2"],
            "ranked_sent_uids": ["post 1, s 2|post 1, s 1", "post 2, s 2"],
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_run(frame).queries.n_gold.tolist() == [1, 2]


def test_gold_and_rankings_that_never_meet_are_a_loud_warning() -> None:
    frame = rows().with_columns(pl.col("ranked_sent_uids").str.replace_all(SECRET, "s"))
    with pytest.warns(InputWarning, match="none of 8 gold uids occurs in any ranking"):
        run = read_run(frame)
    assert "none of 8 gold uids" in run.notes[0]
    with pytest.warns(InputWarning):
        result = evidentia.evaluate(frame, resamples=0)
    assert "none of 8 gold uids" in result.notes[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_run(frame, allow_disjoint=True).notes == ()
        evidentia.evaluate(frame, resamples=0, allow_disjoint=True)


@pytest.mark.filterwarnings("error")
def test_a_run_without_gold_or_without_rankings_is_no_reason_to_warn() -> None:
    read_run(rows("|", None))
    read_run(rows().with_columns(gold_sent_uids=pl.lit("")))
    read_run(rows().with_columns(ranked_sent_uids=pl.lit("")))


def test_trec_files_that_never_meet(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a,b 1\n")
    (tmp_path / "r").write_text("1 Q0 c 1 0.5 x\n")
    with pytest.warns(InputWarning, match="none of 1 gold uid occurs"):
        read_trec(tmp_path / "q", tmp_path / "r")
    ran = run_command("evaluate", "--qrels", tmp_path / "q", "--run", tmp_path / "r", "--quiet")
    assert ran.err.startswith("evidentia: warning: r: none of 1 gold uid")


def test_the_command_refuses_or_warns_and_can_be_told_otherwise(tmp_path: Path) -> None:
    wrong, apart = tmp_path / "wrong.csv", tmp_path / "apart.csv"
    doubtful(";", ";").write_csv(wrong)
    rows().with_columns(pl.col("ranked_sent_uids").str.replace_all(SECRET, "s")).write_csv(apart)
    for command in ("validate", "evaluate"):
        refused(run_command(command, wrong), "4 rows whose ranked_sent_uids", "'id;id;id;id'", "line 2")
        ran = run_command(command, apart)
        assert ran.code == 0
        assert "warning: apart.csv: none of 8 gold uids occurs in any ranking" in ran.err
        for path in (wrong, apart):
            ran = run_command(command, path, "--allow-disjoint")
            assert (ran.code, ran.err) == (0, "")
    ran = run_command("validate", wrong, "--list-sep", ";")
    assert (ran.code, ran.out) == (0, "No problems found.\n")
    assert run_command("validate", apart).out == "No errors found, 1 warning.\n"
    ran = run_command("evaluate", apart, "--json")
    assert json.loads(ran.out)["notes"]


def test_a_result_that_was_warned_about_is_verified_reported_and_compared_in_silence(tmp_path: Path) -> None:
    rows(";", ";").write_csv(tmp_path / "wrong.csv")
    out = tmp_path / "out"
    assert run_command("evaluate", tmp_path / "wrong.csv", "--allow-disjoint", "-o", out, "--quiet").code == 0
    assert run_command("report", out, "--quiet").err == ""
    assert run_command("verify", out, "--quiet").code == 0
    assert run_command("compare", out, out, "--resamples", 10).code == 0
