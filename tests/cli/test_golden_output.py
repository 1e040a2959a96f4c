"""What the commands print, letter by letter.

After a change that is meant, write the files anew and read the difference:

    EVIDENTIA_UPDATE_GOLDEN=1 pytest -n0 tests/cli/test_golden_output.py && git diff tests/cli/golden
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from builders.runs import Files

from .abstaining import FEW, Abstaining
from .command import Ran, evidentia

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("EVIDENTIA_UPDATE_GOLDEN") == "1"


def same_as_golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"{path.name} is missing: run with EVIDENTIA_UPDATE_GOLDEN=1, see the top of this file"
    difference = difflib.unified_diff(path.read_text(encoding="utf-8").splitlines(), text.splitlines(), "golden", "now")
    told = "\n".join(difference)
    assert not told, f"{told}\nIf this is meant, run with EVIDENTIA_UPDATE_GOLDEN=1, see the top of this file"
    assert path.read_bytes() == text.encode()


def printed(ran: Ran, code: int = 0) -> str:
    assert (ran.code, ran.err) == (code, "")
    return ran.out


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_evaluate_with_everything(split_files: Files) -> None:
    words = ("evaluate", split_files.per_query, "--candidates", split_files.candidates, "--by", "subreddit")
    same_as_golden("evaluate", printed(evidentia(*words, "-o", "OUT")))


def test_evaluate_says_what_it_could_not_compute(files: Files) -> None:
    labels = Path("labels.csv")
    rows = [line.split(",") for line in files.per_query.read_text().splitlines()]
    kept = [rows[0].index(column) for column in ("post_id", "criterion_id", "gold_sent_uids", "ranked_sent_uids")]
    labels.write_text("".join(",".join(row[at] for at in kept) + "\n" for row in rows))
    same_as_golden("evaluate_rankings_only", printed(evidentia("evaluate", labels)))


def test_evaluate_shows_the_measures_that_were_named(files: Files) -> None:
    text = printed(evidentia("evaluate", files.per_query, "--measures", "MRR,FNR(t=gate),AUROC[fold=3]"))
    assert all(name in text for name in ("MRR", "FNR(t=gate)", "AUROC[fold=3]")), text


def test_evaluate_marks_a_failed_check() -> None:
    head = "post_id,criterion_id,gold_sent_uids,ranked_sent_uids,selected_sent_uids,state"
    Path("run.csv").write_text(f"{head}\np1,A,s1,s1,s1,NEG\np2,A,,s2,,NEG\n")
    same_as_golden("evaluate_failed_check", printed(evidentia("evaluate", "run.csv", "-o", "OUT"), code=1))


def test_measures() -> None:
    same_as_golden("measures", printed(evidentia("measures")))


@pytest.mark.parametrize("profile", ["contract", "e2e", "paper", "audit"])
def test_measures_of_a_profile_by_name(profile: str) -> None:
    same_as_golden(f"measures_names_{profile}", printed(evidentia("measures", "--names", "--profile", profile)))


def test_explain() -> None:
    same_as_golden("explain", printed(evidentia("explain", "MAP@10")))


def test_explain_with_a_run(files: Files) -> None:
    same_as_golden("explain_run", printed(evidentia("explain", "MAP@10", files.per_query)))


def test_explain_a_selective_measure() -> None:
    same_as_golden("explain_selective", printed(evidentia("explain", "AURC")))


def test_selective_against_another_run(runs: Abstaining) -> None:
    words = ("selective", runs.few, "--against", runs.zero, *FEW, "-o", "OUT")
    same_as_golden("selective", printed(evidentia(*words)))


def test_selective_of_a_table(runs: Abstaining) -> None:
    same_as_golden("selective_table", printed(evidentia("selective", runs.table, *FEW)))


def test_validate_without_problems(files: Files) -> None:
    assert printed(evidentia("validate", files.per_query)) == "No problems found.\n"


def test_validate_lists_every_problem() -> None:
    Path("bad.csv").write_text(
        "post_id,criterion_id,fold,has_evidence,prob,gold_sent_uids,ranked_sent_uids,state\n"
        "p1,A.1,0,1,1.5,s1,s1|s1,POS\n"
        "p1,A.1,0,0,0.5,,s2,MAYBE\n"
        "p2,A.1,,0,0.5,s3,s3,NEG\n"
    )
    ran = evidentia("validate", "bad.csv")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") >= 6
    same_as_golden("validate_problems", ran.err)
