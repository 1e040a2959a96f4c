"""Files of people's own: what their columns may be, one line that mends all, and what is certain enough to be taken."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from cli.command import contents, evidentia, refused
from evidentia.errors import InputError
from evidentia.results import loads
from evidentia.tables import read_run, validate_run

from .conftest import Write, says, the_problem

OWN = {  # two posts of two labels: uids are unique in their post only, and joined by ;
    "doc": ["d1", "d1", "d2", "d2", "d3", "d3"],
    "label_id": ["A", "B", "A", "B", "A", "B"],
    "y": [1, 0, 1, 0, 0, 1],
    "p": [0.9, 0.2, 0.6, 0.4, 0.1, 0.8],
    "gold": ["s_1;s_2", "", "s_2", "", "", "s_3"],
    "top": ["s_2;s_3;s_1", "s_1;s_2", "s_1;s_2", "s_2;s_3", "s_1;s_2;s_3", "s_3;s_1"],
    "cv": [0, 0, 1, 1, 0, 0],
}
CERTAIN = {
    "doc_id": "post_id",
    "symptom": "criterion_id",
    "gold_ids": "gold_sent_uids",
    "retrieved_ids": "ranked_sent_uids",
    "probability": "prob",
    "fold_id": "fold",
}
MAPPING = {
    **{"post_id": "doc", "criterion_id": "label_id", "has_evidence": "y", "prob": "p"},
    **{"gold_sent_uids": "gold", "ranked_sent_uids": "top", "fold": "cv"},
}


def canonical(frame: pl.DataFrame) -> pl.DataFrame:
    """The same run as the formats say."""
    uids = [pl.col(c).str.split(";").list.eval(pl.element().filter(pl.element() != "")) for c in ("gold", "top")]
    frame = frame.with_columns(uids).rename({theirs: ours for ours, theirs in MAPPING.items()})
    lists = [
        pl.Series(c, [[f"{post}:{uid}" for uid in uids] for post, uids in frame.select("post_id", c).rows()])
        for c in ("gold_sent_uids", "ranked_sent_uids")
    ]
    return frame.with_columns(lists)


def as_certain() -> pl.DataFrame:
    names = {"doc": "doc_id", "label_id": "symptom", "gold": "gold_ids", "top": "retrieved_ids"}
    return pl.DataFrame(OWN).drop("y").rename({**names, "p": "probability", "cv": "fold_id"})


def line_of(message: str) -> list[str]:
    """The options that a message says to add."""
    found = re.search(r"(--map .*?) \(in Python", message)
    assert found, message
    return shlex.split(found[1])


@pytest.mark.parametrize("sure", [True, False])
def test_one_failing_command_names_the_whole_line_that_mends_it(sure: bool, tmp_path: Path) -> None:
    """In doubt about the separator, because little gold is retrieved, the line names that too."""
    frame = pl.DataFrame(OWN)
    if not sure:
        frame = frame.with_columns(gold=pl.Series(["s_9;s_8", "", "s_9", "", "", "s_3"]))
    frame.write_csv(path := tmp_path / "own.csv")
    ran = evidentia("evaluate", path)
    refused(ran, "own.csv: lacks post_id, criterion_id, gold_sent_uids or has_evidence", "7 columns")
    assert ran.err.count("\n") == 1
    line = line_of(ran.err)
    pairs = ",".join(f"{ours}={theirs}" for ours, theirs in MAPPING.items())
    assert line == ["--map", pairs, *([] if sure else ["--list-sep", ";"]), "--uids", "post"]
    out = tmp_path / "out"
    assert evidentia("evaluate", path, *line, "-o", out, "--no-report").code == 0
    canonical(frame).write_parquet(tmp_path / "plain.parquet")
    assert evidentia("evaluate", tmp_path / "plain.parquet", "-o", tmp_path / "plain", "--no-report").code == 0
    assert (out / "per_query.csv").read_bytes() == (tmp_path / "plain" / "per_query.csv").read_bytes()
    assert evidentia("validate", path, *line).code == 0
    assert evidentia("explain", "MAP@10", path, *line).code == 0
    ran = evidentia("power", path, "--target", "ScreeningSensitivity>=0.1", *line)
    refused(ran, "needs a state column")  # the run is read
    refused(evidentia("tune", path, "-o", tmp_path / "thresholds.json", *line), "TUNE")
    assert evidentia("verify", out, "--quiet").code == 0
    assert evidentia("explain", "MAP@10", out / "per_query.csv").code == 0
    assert evidentia("compare", out, tmp_path / "plain", "--resamples", 10).code == 0
    reading = loads((out / "manifest.json").read_text())["options"]["reading"]
    assert (reading["map"], reading["uids"]) == (MAPPING, "post")


def test_the_line_of_python_mends_it_too() -> None:
    frame = pl.DataFrame(OWN)
    with pytest.raises(InputError) as caught:
        read_run(frame)
    assert f"(in Python evidentia.read_run(..., mapping={MAPPING}, uids='post'))" in str(caught.value)
    run = read_run(frame, mapping=MAPPING, uids="post")
    assert run.frame.equals(read_run(canonical(frame)).frame.select(run.frame.columns))
    assert dict(run.mapping) == MAPPING


@pytest.mark.parametrize(("name", "ours"), CERTAIN.items())
def test_auto_takes_what_is_certain_and_says_so(name: str, ours: str, tmp_path: Path) -> None:
    run = read_run(as_certain(), mapping="auto", uids="post")
    assert dict(run.mapping)[ours] == name
    assert f"{ours} from {name}" in run.notes[0]


def test_what_auto_took_is_printed_and_recorded(tmp_path: Path) -> None:
    as_certain().write_csv(path := tmp_path / "own.csv")
    out = tmp_path / "out"
    words = ("evaluate", path, "--map", "auto", "--uids", "post", "--no-report")
    ran = evidentia(*words, "-o", out)
    assert ran.code == 0
    assert ran.err.startswith(
        "evidentia: columns that were certain by name and content: post_id from doc_id, criterion_id"
    )
    assert ran.err.count("\n") == 1
    mapped = loads((out / "manifest.json").read_text())["options"]["reading"]["map"]
    assert mapped == {ours: name for name, ours in CERTAIN.items()}
    assert evidentia("verify", out, "--quiet").code == 0
    assert evidentia(*words, "--quiet").err == ""


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.rename({"doc_id": "id"}),  # a name that may mean other things
        lambda frame: frame.with_columns(post=pl.col("doc_id")),  # two columns that may be meant
        lambda frame: frame.with_columns(doc_id=pl.lit("d1")),  # no key
        lambda frame: frame.with_columns(symptom=pl.Series(range(6))),  # the number of the row
        lambda frame: frame.with_columns(doc_id=pl.Series(range(6))),
        lambda frame: frame.with_columns(doc_id=pl.lit("I have not slept in days, and nothing helps")),  # a text
        lambda frame: frame.rename({"gold_ids": "gold"}),  # gold sentences, or a label
    ],
)
def test_auto_takes_nothing_in_doubt(change) -> None:
    frame = change(as_certain())
    with pytest.raises(InputError) as caught:
        read_run(frame, mapping="auto", uids="post")
    assert caught.value.problems[0].code == "MISSING_COLUMN"
    assert "slept" not in str(caught.value)


def test_auto_reads_two_tables_with_names_of_their_own_and_is_advised_for_them() -> None:
    run = (
        pl.DataFrame(OWN)
        .select(doc_id="doc", symptom="label_id")
        .with_columns(gold_ids=pl.Series(["d1:s_1", "", "d2:s_1", "", "", "d3:s_1"]))
    )
    keys = run.select(note_id="doc_id", criterion="symptom")
    pool = pl.concat([keys.with_columns(sentence_id=pl.col("note_id") + f":s_{i}", similarity=0.5 * i) for i in (1, 2)])
    message = validate_run(run, candidates=pool)[0].message
    says(message, "All that is needed: --map auto (in Python evidentia.read_run(..., mapping='auto')).")
    note = read_run(run, candidates=pool, mapping="auto").notes[0]
    says(
        note,
        "post_id from doc_id",
        "; of the candidates: post_id from note_id, criterion_id from criterion, sent_uid from",
    )


def test_a_column_with_two_readings_is_only_proposed() -> None:
    """`label` is a criterion, or the truth; its content decides what is proposed."""
    frame = pl.DataFrame(OWN).select(id="doc", label="label_id", target="y")
    says(the_problem(frame, "MISSING_COLUMN"), "--map post_id=id,criterion_id=label,has_evidence=target (in")
    frame = pl.DataFrame(OWN).select(note_id="doc", code="label_id", label="y")
    message = the_problem(frame, "MISSING_COLUMN", mapping="auto")
    says(message, "--map post_id=note_id,criterion_id=code,has_evidence=label (in")


def test_columns_of_unknown_names_are_guessed_by_what_they_hold() -> None:
    frame = pl.DataFrame(OWN).select(eins="doc", zwei="label_id", drei="y")
    message = the_problem(frame, "MISSING_COLUMN")
    says(message, "--map post_id=eins,criterion_id=zwei,has_evidence=drei (in")
    lines = the_problem(frame.with_columns(vier=pl.col("drei")), "MISSING_COLUMN")
    says(lines, "--map post_id=eins,criterion_id=zwei (in", "That leaves what has no guess")
    assert "has_evidence=" not in lines


def test_names_are_read_without_capitals_and_signs() -> None:
    frame = pl.DataFrame(OWN).select("y", **{"Doc ID": "doc", "LabelId": "label_id"})
    line = line_of(the_problem(frame, "MISSING_COLUMN"))
    assert line == ["--map", "post_id=Doc ID,criterion_id=LabelId,has_evidence=y"]


def test_a_split_that_numbers_folds_is_proposed_as_fold() -> None:
    frame = pl.DataFrame(OWN).select("y", doc="doc", symptom="label_id", split="cv")
    line = line_of(the_problem(frame, "MISSING_COLUMN"))
    assert line == ["--map", "post_id=doc,criterion_id=symptom,has_evidence=y,fold=split"]
    named = frame.rename({"doc": "post_id", "symptom": "criterion_id", "y": "has_evidence"})
    assert the_problem(named, "UNKNOWN_SPLIT").endswith("if these are folds, add --map fold=split.")
    assert read_run(named, mapping={"fold": "split"}).queries.fold is not None
    words = frame.with_columns(split=pl.Series(["train", "train", "test", "test", "dev", "dev"]))
    assert "fold" not in line_of(the_problem(words, "MISSING_COLUMN"))[1]


def test_a_header_that_is_a_text_is_not_repeated(write: Write) -> None:
    secret = "I have not slept in days"
    path = write(f"post_id,{secret},has_evidence", "p1,A,1", "p1,B,0", "p2,A,0", "p2,B,1", "p3,A,1", "p3,B,0")
    message = the_problem(path, "MISSING_COLUMN")
    assert secret not in message


def test_optional_columns_of_other_names_are_a_hint(tmp_path: Path) -> None:
    frame = pl.DataFrame(OWN).select(post_id="doc", criterion_id="label_id", has_evidence="y", p="p", cv="cv")
    run = read_run(frame)
    assert run.notes == (
        "<dataframe>: there is no column prob, but one called p, no fold, but one called cv. If it is that, "
        "add --map prob=p,fold=cv.",
    )
    frame.write_csv(path := tmp_path / "run.csv")
    ran = evidentia("validate", path)
    assert (ran.code, ran.out) == (0, "No problems found.\n")
    assert "note: run.csv: there is no column prob, but one called p" in ran.err
    assert evidentia("validate", path, *line_of(f"{ran.err.strip().rstrip('.')} (in Python")).err == ""


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("p", [1, 0, 1, 0, 0, 1]),  # decisions
        pl.Series("p", [1.0, 2.0, 0.5, 0.1, 0.2, 0.3]),  # beyond 1
        pl.Series("gold", ["I was sad", "", "no", "", "", "so tired"]),  # texts
        pl.Series("top", [0.5, 0.1, 0.2, 0.3, 0.7, 0.8]),  # scores
        pl.Series("state", ["NY", "LA", "NY", "LA", "SF", "SF"]).alias("status"),
    ],
)
def test_a_column_that_does_not_hold_what_its_name_says_is_no_hint(column: pl.Series) -> None:
    frame = pl.DataFrame(OWN).select(post_id="doc", criterion_id="label_id", has_evidence="y")
    assert read_run(frame.with_columns(column)).notes == ()


def test_candidates_of_other_names_are_mapped_by_the_same_line(tmp_path: Path) -> None:
    run = canonical(pl.DataFrame(OWN)).rename({"post_id": "doc"}).drop("gold_sent_uids", "ranked_sent_uids")
    rows = [
        {"doc": post, "criterion_id": label, "sid": f"{post}_{at}", "similarity": at / 3, "relevant": int(at <= y)}
        for post, label, y in run.select("doc", "criterion_id", "has_evidence").rows()
        for at in (1, 2)
    ]
    run.write_parquet(tmp_path / "run.parquet")
    pl.DataFrame(rows).write_csv(tmp_path / "pool.csv")
    words = ("validate", tmp_path / "run.parquet", "--candidates", tmp_path / "pool.csv")
    ran = evidentia(*words)
    refused(ran, "run.parquet: lacks post_id", "pool.csv: lacks post_id, sent_uid, score")
    line = line_of(ran.err)
    assert line == ["--map", "post_id=doc,sent_uid=sid,score=similarity,is_gold=relevant"]
    assert evidentia(*words, *line).code == 0


def test_one_post_uid_among_many_is_no_reason_to_say_that_uids_are_of_posts() -> None:
    frame = pl.DataFrame({"post_id": [1, 2, 3], "criterion_id": ["A"] * 3, "gold_sent_uids": ["a", "b|c", "a"]})
    message = the_problem(frame, "UID_IN_TWO_POSTS")
    says(message, "correct the uids, or, if they are unique within their post only", "--uids post")
    assert "Most uids" not in message
    assert read_run(frame, uids="post").frame["gold_sent_uids"].to_list() == [["1:a"], ["2:b", "2:c"], ["3:a"]]


def test_a_post_id_that_becomes_part_of_uids_holds_no_bar() -> None:
    frame = pl.DataFrame({"post_id": ["a|b"], "criterion_id": ["A"], "gold_sent_uids": ["s1"]})
    assert validate_run(frame) == ()
    says(the_problem(frame, "BAR_IN_UID", uids="post"), "post_id")


def test_what_uids_are_unique_in_is_the_run_or_the_post(tmp_path: Path) -> None:
    frame = pl.DataFrame({"post_id": ["a"], "criterion_id": ["A"], "has_evidence": [1]})
    says(the_problem(frame, "UIDS", uids="fold"), "'run' or 'post'")
    says(the_problem(frame, "MAPPING", mapping="all"), "mapping is 'all'", "'auto'")
    frame.write_csv(path := tmp_path / "run.csv")
    refused(evidentia("validate", path, "--uids", "fold"), "--uids must be run or post")
    refused(evidentia("validate", path, "--list-sep", "ab"), "The separator of lists is 'ab'")
    assert contents(tmp_path).keys() == {"run.csv"}
