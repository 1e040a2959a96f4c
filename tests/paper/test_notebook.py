"""What a notebook and a prompt show of runs and results: a screen at most, nothing of a user's as markup, no text."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import evidentia as package
from cli.command import evidentia, refused
from evidentia.results import Evaluation

EVIL = "<img src=x>"


@pytest.fixture(scope="module")
def evaluation(results: Path) -> Evaluation:
    return package.evaluate(results / "plain" / "per_query.csv", resamples=0, report=False)


def test_a_run_says_what_it_holds_in_a_few_lines(results: Path) -> None:
    run = package.read_run(results / "plain" / "per_query.csv")
    first, *others = repr(run).splitlines()
    assert first == "<Run of 240 queries from 60 posts and 4 criteria, 22 with evidence"
    assert [line.split(":")[0].strip() for line in others] == ["columns", "folds"]
    assert "post-00001" not in repr(run)
    assert "60 posts and 4 criteria" in run._repr_html_()


def test_the_names_of_a_run_are_no_markup() -> None:
    frame = pl.DataFrame({"post_id": [1, 2], "criterion_id": ["A", "A"], "has_evidence": [1, 0], EVIL: ["a", "b"]})
    shown = package.read_run(frame, by=EVIL)._repr_html_()
    assert "&lt;img" in shown
    assert "<img" not in shown


def test_a_comparison_says_what_came_out(results: Path) -> None:
    two = [results / "plain", results / "better_5%"]
    comparison = package.compare(*two, names=["old", EVIL], measures="all", resamples=200)
    first, second = repr(comparison).splitlines()
    assert first == "<Comparison of 2 systems on 240 queries from 60 posts, profile contract"
    verdicts = [delta.verdict for delta in comparison.deltas if delta.family == "measures"]
    assert second.startswith(f"  {EVIL} against old: ")
    assert f"{verdicts.count('win')} win" in second
    assert second.endswith(f"(Holm, {comparison.tests(EVIL)})>")
    shown = comparison._repr_html_()
    assert "<img" not in shown
    assert shown.count("<tr>") == 22  # the heading and the main measures
    assert f"and {len(verdicts) - 21} more" in shown


def test_a_result_fits_a_screen(evaluation: Evaluation) -> None:
    assert len(repr(evaluation).splitlines()) == 1
    shown = evaluation._repr_html_()
    assert shown.count("<tr>") == 22
    assert f"and {len(evaluation.overall()) - 21} more" in shown


def test_named_measures_are_all_shown(results: Path) -> None:
    named = package.evaluate(results / "plain" / "per_query.csv", measures="LogLoss,AUROC", resamples=0)
    assert named._repr_html_().count("<tr>") == 3


def test_python_is_told_python_words_and_a_command_those_of_commands(
    evaluation: Evaluation, results: Path, tmp_path: Path
) -> None:
    evaluation.save(tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    for name, words in {"out": "give force=True to replace it", "mine": "force=True"}.items():
        for _ in range(2):  # a command in between changes nothing
            with pytest.raises(package.OutputError, match=words) as caught:
                evaluation.save(tmp_path / name, force=name == "mine")
            assert "--" not in str(caught.value)
            assert " -o" not in str(caught.value)
            force = ["--force"] if name == "mine" else []
            run = results / "plain" / "per_query.csv"
            refused(evidentia("evaluate", run, "-o", tmp_path / name, "--no-report", *force), "--force")
    fewer = pl.read_csv(results / "plain" / "per_query.csv").filter(pl.col("post_id") != "post-00001")
    with pytest.raises(package.InputError, match='on_mismatch="intersect"') as mismatch:
        package.compare(results / "plain", fewer, resamples=20)
    assert "--" not in str(mismatch.value)
