"""The page of a questionnaire: items, cut-offs, totals and confusion matrices, as the result has them, and no diagnosis."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from evidentia import selective
from evidentia.report.page import Content, read_content, render
from evidentia.report.page.figure import Figure
from evidentia.report.page.render import page_parts
from evidentia.verifying import verify_result
from selective.questionnaires import instrument, participant, random_run, run_file

EVIL = "</script><b>Calm"
ITEMS = (("constructor", 0, 3, False), (EVIL, 0, 3, False), ("=c", 0, 3, True))
TRUTH = ((1, 1, 0), (3, 3, 1), (0, 1, 3), (2, 1, 1))
ANSWERS = ((1, 2, 3), (3, None, 1), (0, None, None), (2, 3, 0))
IDS = [own for own, *_ in ITEMS]


def four_people() -> dict[str, Any]:
    results = [
        participant(at, dict(zip(IDS, own, strict=True)), dict(zip(IDS, gt, strict=True)))
        for at, (own, gt) in enumerate(zip(ANSWERS, TRUTH, strict=True))
    ]
    return run_file(instrument(ITEMS, (5, 6)), only=[*results, {"participant_id": 9, "success": False}])


def page_of(folder: Path, run: dict[str, Any], **options: Any) -> tuple[Content, str, dict[str, Figure]]:
    selective.evaluate(run, **{"seed": 1, "resamples": 40} | options).save(folder)
    content = read_content(folder)
    return content, render(content), {figure.name: figure for figure in page_parts(content)["figures"]}


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> tuple[Content, str, dict[str, Figure]]:
    return page_of(tmp_path_factory.mktemp("page") / "four", four_people())


def test_totals_are_drawn_as_ranges_where_items_are_open(four: tuple[Content, str, dict[str, Figure]]) -> None:
    figure = four[2]["totals"]
    assert figure.table.columns == ("truth", "low", "high", "participants")
    assert figure.table.rows == ((1, 0, 6, 1), (5, 3, 3, 1), (5, 8, 8, 1), (8, 5, 8, 1))
    assert "not a diagnosis" in figure.caption
    assert figure.spec["layer"][0]["data"]["values"] == [{"end": 0}, {"end": 8}]


def test_cut_offs_say_what_is_certain(four: tuple[Content, str, dict[str, Figure]]) -> None:
    rows = four[2]["cut_offs"].table.rows
    assert [row for row in rows if row[0] == "at 5"] == [
        ("at 5", "certainly below", 1),
        ("at 5", "certainly at or above", 2),
        ("at 5", "undecided", 1),
    ]
    assert [row[2] for row in rows if row[0] == "at 6"] == [1, 1, 2]


def test_every_matrix_is_drawn_with_what_is_open(four: tuple[Content, str, dict[str, Figure]]) -> None:
    rows = four[2]["confusion"].table.rows
    assert [(truth, answer, count) for item, truth, answer, count in rows if item == "=c" and count] == [
        ("0", "3", 1),
        ("1", "0", 1),
        ("1", "1", 1),
        ("3", "open", 1),
    ]
    assert [panel["title"]["text"] for panel in four[2]["confusion"].spec["concat"]] == IDS, (
        "in the order of the questionnaire"
    )


def test_items_and_cut_offs_have_their_tables_with_intervals(four: tuple[Content, str, dict[str, Figure]]) -> None:
    content, page, _ = four
    section = page.partition('id="questionnaire"')[2].partition("</section>")[0]
    marked = set(re.findall(r'data-of="([^"]*)" data-field="(\w+)"', section))
    items = [name for name in content.numbers["measures"] if "[item=" in name and "<" not in name]
    cuts = [name for name in content.numbers["measures"] if "@cut=" in name]
    assert (len(items), len(cuts)) == (6, 10)
    for name in (*items, *cuts):
        assert (name, "value") in marked
        assert content.numbers["measures"][name]["ci"] is None or (name, "ci") in marked
    assert all((name, "n") in marked for name in items)
    words = " ".join(re.sub(r"<[^>]*>", "", section).split())
    assert "Reliability: 1 of 5 participants gave no result at all" in words
    assert "Research software, not a diagnosis." in words
    assert EVIL not in page


def test_a_table_has_no_such_section(tmp_path: Path) -> None:
    selective.evaluate(four_people(), seed=1, resamples=0).save(tmp_path / "run")
    table = selective.evaluate(tmp_path / "run" / "items.csv", item_max=3, seed=1, resamples=0)
    table.save(tmp_path / "table")
    content = read_content(tmp_path / "table")
    assert 'id="questionnaire"' not in render(content)
    assert not {"totals", "cut_offs", "confusion"} & {figure.name for figure in page_parts(content)["figures"]}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    ("measures", "figures"),
    [
        (["MAE[item=Fear]"], set()),
        (["TotalMAE"], {"totals"}),
        (["TotalSensitivity(bound=high)@cut=5", "AURC"], {"totals"}),
        (["WeightedKappa"], {"confusion"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("abstained", [0.3, 1.0])
def test_few_measures_have_the_figures_that_belong_to_them(
    measures: list[str], figures: set[str], abstained: float, tmp_path: Path
) -> None:
    against = "second" if abstained < 1 else None
    run = random_run(5, participants=9, abstained=abstained)
    content, page, drawn = page_of(
        tmp_path / "out", run, mode="first", against_mode=against, measures=measures, report=True
    )
    assert {"totals", "cut_offs", "confusion"} & {*drawn} == figures
    assert 'id="questionnaire"' in page
    assert (content.figure("totals") is not None) == ("totals" in figures)
    verification = verify_result(tmp_path / "out")
    assert verification.passed, verification
