"""Transcripts in every layout are read alike, and everything that is wrong is said at once."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from evidentia.assessment import Interview, Turn, load_instrument, read_interviews, read_truth
from evidentia.assessment.interviews import check_inputs
from evidentia.errors import InputError

TURNS = (Turn("How do you sleep?", False), Turn("Badly, every night.", True))


def transcript(folder: Path, layout: str) -> Path:
    """The same interview of participant 300."""
    folder.mkdir(exist_ok=True)
    if layout in ("tsv", "daic"):
        rows = [
            "start_time\tstop_time\tspeaker\tvalue",
            "0\t1\tEllie\tHow do you sleep?",
            "2\t3\tParticipant\tBadly, every night.",
        ]
        name = "300.tsv" if layout == "tsv" else "300_TRANSCRIPT.csv"
        (folder / name).write_text("\n".join(rows) + "\n")
    elif layout == "txt":
        (folder / "300.txt").write_text("Interviewer: How do you sleep?\nParticipant: Badly,\nevery night.\n")
    else:
        rows = [
            {"participant_id": 300, "turn": n, "speaker": s, "text": t.text}
            for n, (s, t) in enumerate(zip(("Doctor", "Patient"), TURNS, strict=True))
        ]
        (folder / "300.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("layout", ["tsv", "daic", "txt", "jsonl"])
def test_every_layout_of_a_transcript_is_read_alike(layout: str, tmp_path: Path) -> None:
    assert read_interviews(transcript(tmp_path / "in", layout)) == (Interview("300", TURNS),)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_table_of_texts_is_one_turn_each_in_the_order_of_ids(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"participant_id": [10, 9], "text": ["I am tired.", "I am fine."]})
    path = tmp_path / f"people.{kind}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind](path)
    read = read_interviews(path)
    assert [(i.participant_id, i.turns[0].text, i.turns[0].is_participant) for i in read] == [
        ("9", "I am fine.", True),
        ("10", "I am tired.", True),
    ]


def test_unusual_marks_are_named_by_the_user(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("Anna: hello\nBert: I am tired\n")
    with pytest.raises(InputError, match="--speaker"):
        read_interviews(tmp_path)
    assert [turn.is_participant for turn in read_interviews(tmp_path, speaker="bert")[0].turns] == [False, True]


def test_every_problem_of_interviews_and_truth_is_said_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.tsv").write_text("who\twhat\na\tb\n")
    (folder / "2.txt").write_text("Interviewer: secret words of somebody?\n")
    truth = tmp_path / "truth.csv"
    items = load_instrument("phq8").item_ids
    truth.write_text(",".join(["participant_id", *items]) + "\n" + ",".join(["1", "7", *["0"] * 7]) + "\n")
    with pytest.raises(InputError) as refused:
        check_inputs(folder, load_instrument("phq8"), truth)
    codes = [problem.code for problem in refused.value.problems]
    assert codes == ["MISSING_COLUMN", "NO_PARTICIPANT", "SCORE"]
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("participant_id,text\n1,\n", "EMPTY_TEXT"),
        ("participant_id,text\n1,a\n1,b\n", "DUPLICATE_PARTICIPANT"),
        ("person,text\n1,a\n", "MISSING_COLUMN"),
        ("participant_id,text\n,a\n", "PARTICIPANT_ID"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(content: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(content)
    with pytest.raises(InputError) as refused:
        read_interviews(path)
    assert [problem.code for problem in refused.value.problems] == [code]


def test_missing_items_of_the_truth_are_named(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("participant_id,Sleep\n1,2\n")
    with pytest.raises(InputError, match="7 columns missing"):
        read_truth(path, load_instrument("phq8"))
