"""The error browser counts what the library counts, marks what the run says, and names nobody."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Page

from browser.conftest import Result, Visit
from evidentia.evaluation.attribution import fates, let_through, oracle
from evidentia.report.page import read_content
from evidentia.report.show import shown

STAGES = {"retriever": "retriever cut", "gate": "gate", "k": "K", "ranking": "ranking"}


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit(tab="errors")


def counts(page: Page) -> dict[str, int]:
    """What the buttons of the kinds say."""
    told = page.eval_on_selector_all(
        "#errors-kinds button", "all => all.map((one) => [one.dataset.kind, one.lastChild.textContent])"
    )
    return {kind: int(text.replace(",", "")) for kind, text in told}


def listed(page: Page) -> list[int]:
    """The rows of the run in the list, over all its pages."""
    rows = []
    while True:
        rows += page.eval_on_selector_all(
            "[data-error-row][role=option]", "all => all.map((one) => +one.dataset.errorRow)"
        )
        if page.locator("#errors-next").is_disabled():
            return rows
        page.click("#errors-next")


def wrong(result: Result) -> dict[str, list[tuple[int, str, list[str]]]]:
    """Kind by kind the queries that went wrong, each with its criterion and the stages that lost sentences of it."""
    frame = result.run.frame
    told = fates(result.run)
    assert told is not None
    lost: dict[int, list[str]] = {}
    for query, fate in zip(told["query"], told["fate"], strict=True):
        if fate != "returned":
            lost.setdefault(query, []).append(fate)
    missed = [(query, frame["criterion_id"][query], stages) for query, stages in lost.items()]
    false = [
        (query, frame["criterion_id"][query], [])
        for query, (state, held) in enumerate(zip(frame["state"], result.run.queries.label, strict=True))
        if state == "POS" and not held
    ]
    return {"missed": missed, "false alert": false}


def wrong_k(result: Result) -> list[int]:
    """The queries with evidence that pass the gate and return another number of sentences than the best one."""
    queries = result.run.queries
    rows = np.flatnonzero(queries.label & let_through(queries))
    assert queries.n_selected is not None
    return rows[queries.n_selected[rows] != oracle(queries, rows)[0]].tolist()


def test_kinds_count_what_the_library_counts(page: Page, result: Result) -> None:
    table = {row[0]: row for row in result.table("attribution").rows()}
    columns, expected = result.table("attribution").columns, wrong(result)
    for kind, cases in expected.items():
        page.click(f'#errors-kinds [data-kind="{kind}"]')
        assert sorted(listed(page)) == sorted(query for query, _, _ in cases)
        assert counts(page)[kind] == len(cases)
    assert counts(page)["false alert"] == int(table["all"][columns.index("false_alerts")])
    lost = page.evaluate(
        "Evidentia.content().then(({ errors }) => errors.rows.flatMap((row) => Object.values(row.lost ?? {})))"
    )
    for column, stage in STAGES.items():
        assert lost.count(stage) == int(table["all"][columns.index(column)])
    assert counts(page)["wrong K"] == len(wrong_k(result))


@pytest.mark.slow
def test_filters_by_criterion_and_stage_leave_what_fits(page: Page, result: Result) -> None:
    table = {row[0]: row for row in result.table("attribution").rows()}
    columns, missed = result.table("attribution").columns, wrong(result)["missed"]
    page.click('#errors-kinds [data-kind="missed"]')
    for criterion in sorted(set(result.run.frame["criterion_id"])):
        page.select_option("#errors-criterion", label=criterion)
        assert sorted(listed(page)) == sorted(query for query, of, _ in missed if of == criterion)
        assert counts(page).get("false alert", 0) == int(table[criterion][columns.index("false_alerts")])
    page.select_option("#errors-criterion", "")
    stages = page.eval_on_selector_all("#errors-stage option", "all => all.map((one) => one.value)")[1:]
    assert set(stages) == {stage for _, _, lost in missed for stage in lost}
    for stage in stages:
        page.select_option("#errors-stage", stage)
        assert sorted(listed(page)) == sorted(query for query, _, lost in missed if stage in lost)
    page.select_option("#errors-stage", "")
    page.fill("#errors-find", "nobody is called so")
    assert page.locator("#errors-none").is_visible()
    assert listed(page) == []


def test_a_query_shows_the_marks_of_the_run(page: Page, result: Result) -> None:
    """Gold, selected and lost sentences, ranks and scores of every query on the first page of the list."""
    queries = read_content(result.folder).queries
    shown_ids = read_content(result.folder, show_ids=True).queries
    for row in listed_first(page)[:12]:
        page.click(f"#errors-row-{row}")
        assert page.get_attribute("#errors-detail", "data-error-row") == str(row)
        if page.locator("#errors-all").count():
            page.click("#errors-all")
        cells = page.eval_on_selector_all(
            "#errors-detail tr[data-sentence]", "all => all.map((one) => ({...one.dataset}))"
        )
        ranked, gold, selected = (_split(queries[f"{name}_sent_uids"][row]) for name in ("ranked", "gold", "selected"))
        assert [cell["sentence"] for cell in cells if cell["rank"]] == ranked
        assert {cell["sentence"] for cell in cells if cell["gold"] == "1"} == set(gold)
        assert {cell["sentence"] for cell in cells if cell["selected"] == "1"} == set(selected)
        assert {cell["sentence"] for cell in cells if "lost" in cell} == set(gold) - set(selected)
        facts = dict(
            page.eval_on_selector_all("[data-fact]", "all => all.map((one) => [one.dataset.fact, one.textContent])")
        )
        assert facts["prob"] == shown(float(shown_ids["prob"][row]))
        assert facts["state"] == shown_ids["state"][row]
        assert facts["k"] == str(len(selected))


def listed_first(page: Page) -> list[int]:
    return page.eval_on_selector_all("[data-error-row][role=option]", "all => all.map((one) => +one.dataset.errorRow)")


def _split(cell: str) -> list[str]:
    return cell.split("|") if cell else []


@pytest.mark.slow
def test_scores_are_those_of_the_candidates(page: Page, result: Result) -> None:
    candidates = _candidates(result)
    for row in listed_first(page)[:5]:
        page.click(f"#errors-row-{row}")
        query = result.run.frame.row(row, named=True)
        expected = [candidates[query["post_id"], query["criterion_id"], uid] for uid in query["ranked_sent_uids"][:10]]
        at = page.eval_on_selector_all(
            "#errors-detail thead th", "all => all.findIndex((one) => one.textContent === 'score')"
        )
        found = page.eval_on_selector_all(
            "#errors-detail tr[data-sentence]", "(all, at) => all.map((one) => one.cells[at].textContent)", at
        )
        assert [float(text) for text in found[: len(expected)]] == [round(one, 4) for one in expected]


def _candidates(result: Result) -> dict[tuple[str, str, str], float]:
    held = pl.read_parquet(result.folder / "candidates.parquet")
    return {
        (post, criterion, uid): score
        for post, criterion, uid, score in held.select("post_id", "criterion_id", "sent_uid", "score").iter_rows()
    }


@pytest.mark.slow
def test_keys_walk_the_list(page: Page) -> None:
    rows = listed_first(page)
    page.focus(f"#errors-row-{rows[0]}")
    for key, at in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("Home", 0)):
        page.keyboard.press(key)
        assert page.get_attribute("#errors-detail", "data-error-row") == str(rows[at])
        assert page.evaluate("document.activeElement.id") == f"errors-row-{rows[at]}"
        assert page.locator("#errors-list [aria-selected=true]").count() == 1
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "errors-detail"


def test_no_id_of_the_run_is_in_the_page(page: Page, result: Result) -> None:
    posts = result.run.frame["post_id"].unique().to_list()
    told = page.content() + page.evaluate("Evidentia.content().then(JSON.stringify)")
    assert [post for post in posts if post in told] == []
    assert [post for post in result.frame["post_id"].unique() if post in told] == []
