"""A page can be verified alone: its numbers follow from what it carries, and it shows what it carries."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evidentia import workflow
from evidentia.errors import InputError
from evidentia.report.page import Content, render, unpack
from evidentia.report.page.verification import verify_page
from evidentia.results import dumps_by_line
from evidentia.synth import synthetic_run
from evidentia.tables import read_run
from evidentia.verify.tally import Mismatch
from evidentia.verifying import verify_result

LINES = ("measures", "not_computed", "other_definitions", "checks")


@pytest.fixture(scope="module", params=[True, False], ids=["with candidates and TUNE rows", "queries alone"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "result"
    made = synthetic_run(seed=3, splits=request.param, posts=40, criteria=3, positives=None)
    run = read_run(made.per_query, candidates=made.candidates if request.param else None, by=("subreddit",))
    workflow.evaluate(run, by=("subreddit",), resamples=50, report=True).save(folder)
    return folder / "report.html"


def edited(page: Path, change: Callable[[Content], Content], folder: Path) -> Path:
    made = folder / "edited.html"
    made.write_text(render(change(unpack(page.read_text(encoding="utf-8")))), encoding="utf-8")
    return made


@pytest.mark.sample(every=2)
def test_an_honest_page_verifies_and_says_what_it_does_not_carry(page: Path) -> None:
    made = verify_page(page)
    assert made.verification.passed, made.verification.mismatches[:5]
    assert made.verification.comparisons > 10_000
    carried = "candidates.parquet" not in unpack(page.read_text(encoding="utf-8")).manifest["files"]
    assert carried == (not made.left_out)


@pytest.mark.sample(every=2)
def test_a_visible_number_that_the_page_does_not_carry_is_noticed(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = unpack(text).numbers["measures"]["AUROC"]["value"]
    forged = tmp_path / "forged.html"
    forged.write_text(text.replace(f">{shown:.4f}<", ">0.9999<", 1), encoding="utf-8")
    [difference] = verify_page(forged).verification.mismatches
    assert difference == Mismatch("the page: AUROC: value", "0.9999", f"{shown:.4f}")


@pytest.mark.sample(every=2)
def test_a_number_that_does_not_follow_from_the_queries_is_noticed(page: Path, tmp_path: Path) -> None:
    def better(content: Content) -> Content:
        numbers = content.numbers
        numbers["measures"]["AUROC"]["value"] += 0.001
        return replace(content, summary=dumps_by_line(numbers, LINES))

    found = verify_page(edited(page, better, tmp_path)).verification
    assert "AUROC value" in {one.where for one in found.mismatches} or any("AUROC" in m.where for m in found.mismatches)


@pytest.mark.slow
def test_a_query_that_was_changed_is_noticed(page: Path, tmp_path: Path) -> None:
    def easier(content: Content) -> Content:
        probs = content.queries["prob"]
        at = content.queries["has_evidence"].index("true")
        return replace(content, queries={**content.queries, "prob": [*probs[:at], "1.0", *probs[at + 1 :]]})

    assert not verify_page(edited(page, easier, tmp_path)).verification.passed


def test_a_page_of_damaged_files_keeps_its_numbers_and_says_that_they_failed(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(page.parent, folder)
    (folder / "per_query.csv").write_bytes(b"\xff\x00 not a table")
    assert not verify_result(folder).passed
    after = (folder / "report.html").read_text(encoding="utf-8")
    assert "Verification failed" in after
    assert unpack(after).summary == unpack(page.read_text(encoding="utf-8")).summary


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<meta name="robots" content="noindex">', ""),
        ("Skip to the numbers", "Skip it"),
        ("not a medical device", "a medical device"),
    ],
)
def test_what_differs_beside_numbers_is_said_too(page: Path, tmp_path: Path, old: str, new: str) -> None:
    text = page.read_text(encoding="utf-8")
    assert old in text
    forged = tmp_path / "forged.html"
    forged.write_text(text.replace(old, new, 1), encoding="utf-8")
    [difference, *_] = verify_page(forged).verification.mismatches
    assert difference.where.startswith("the page: ")
    assert difference.reported != difference.recomputed


@pytest.mark.slow
def test_a_point_of_a_figure_is_named(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    head, mark, specs = text.partition('id="evidentia-specs">')
    number = re.search(r":(0\.[0-9]{4,})", specs)
    assert number is not None
    forged = tmp_path / "forged.html"
    forged.write_text(head + mark + specs.replace(number[1], "0.123456", 1), encoding="utf-8")
    [difference] = verify_page(forged).verification.mismatches
    assert difference.where.startswith("the page: figure: ")
    assert (difference.reported, difference.recomputed) == (0.123456, float(number[1]))


def test_the_key_stays_beside_the_result_for_its_owner_alone(page: Path) -> None:
    key = page.parent / "report.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.read_text(encoding="ascii").strip() not in page.read_text(encoding="utf-8")


def test_another_file_is_refused_in_words(tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    other.write_text("<p>hello</p>", encoding="utf-8")
    with pytest.raises(InputError, match="carries no result"):
        verify_page(other)
