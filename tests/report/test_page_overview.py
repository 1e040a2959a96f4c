"""What the first screen says and what it leaves to others: targets that somebody set, warnings about numbers, the command."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from evidentia.report.page import read_content, render

CARD = 'name = "ours"\n[targets]\nAUROC = { at_least = 0.85 }\nECE = { below = 0.05 }\n'
ROWS = [("a", "a_1", "a_1|a_2", 0.9, 20), ("b", "", "b_1|b_2", 0.2, 20), ("c", "c_1", "c_3|c_1", 0.7, 20)]


def result(home: Path, *options: object) -> str:
    """The page of three queries, evaluated by the command."""
    columns = ("post_id", "gold_sent_uids", "ranked_sent_uids", "prob", "n_candidates")
    frame = pl.DataFrame(ROWS, columns, orient="row").with_columns(criterion_id=pl.lit("A.1"))
    frame.write_csv(home / "ours.csv")
    ran = command("evaluate", home / "ours.csv", "-o", home / "out", "--resamples", "0", "--quiet", *options)
    assert ran.code == 0, ran
    return render(read_content(home / "out"))


def overview(page: str) -> str:
    return page[page.index('id="overview"') : page.index('id="numbers"')]


def test_targets_are_those_of_a_card_and_nobody_elses(tmp_path: Path) -> None:
    assert "<h2>Targets</h2>" not in result(tmp_path)
    (tmp_path / "card.toml").write_text(CARD)
    page = overview(result(tmp_path, "--card", tmp_path / "card.toml", "--force"))
    targets = page[page.index("<h2>Targets</h2>") :]
    assert re.findall(r'<th scope="row">(.*?)</th>', targets) == ["AUROC &gt;= 0.85", "ECE &lt; 0.05"]


def test_a_warning_about_depths_stands_beside_the_rankings_it_is_about(tmp_path: Path) -> None:
    page = result(tmp_path)
    first, after = overview(page), page[page.index('id="numbers"') :]
    assert "DEPTH001" not in first
    assert "note warning" not in first
    assert "badge warned" not in first
    assert "No check failed" in first
    assert re.search(r"Ranking of sentences <span class=\"mark warn\">DEPTH001: 3 rankings are cut", after)
    assert "<td>Fixed depths lie within the rankings</td>" in after  # among all checks


@pytest.mark.parametrize("made", ["command", "python"])
def test_the_command_says_what_it_needs(made: str, tmp_path: Path) -> None:
    if made == "command":
        page = result(tmp_path)
        assert "Run it in the folder that holds <bdi>ours.csv</bdi>, and write the name of a new folder" in page
        assert 'id="copy-command"' in page
    else:
        frame = pl.DataFrame({"post_id": ["a", "b"], "criterion_id": "A", "has_evidence": [0, 1], "prob": [0.1, 0.8]})
        evidentia.evaluate(frame, resamples=0).save(tmp_path / "out")
        page = render(read_content(tmp_path / "out"))
        assert "There is none: this was made from Python." in page
        assert 'id="copy-command"' not in page


def test_the_page_says_that_posts_were_weighed(tmp_path: Path) -> None:
    drawn, weighed = (
        result(tmp_path, "--force", "--resamples", "20", "--bootstrap", bootstrap) for bootstrap in ("exact", "poisson")
    )
    assert "20, Poisson weights</td>" in weighed
    assert "Poisson" not in drawn


def test_a_bootstrap_that_cannot_be_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    result(tmp_path)
    for wrong in (("bayes",), ("poisson", "--stratify"), ("poisson", "--ci-method", "bca")):
        ran = command("evaluate", tmp_path / "ours.csv", "-o", tmp_path / "new", "--bootstrap", *wrong)
        assert ran.code == 2
        assert "bootstrap" in ran.err
        assert not (tmp_path / "new").exists()
