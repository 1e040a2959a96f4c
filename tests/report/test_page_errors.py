"""What the error browser is given: which queries, of which kind, with which ranking and scores."""

import json
import subprocess
from pathlib import Path
from shutil import which

import polars as pl
import pytest

import evidentia
from builders.runs import Saved
from evidentia.report.page import Content, read_content, render
from evidentia.report.page.errors import errors_of
from evidentia.report.page.pseudonyms import Aliases

ROWS = [  # post, gold, ranked, selected, prob; the gate is at 0.5, the largest selection holds two
    ("a", "a_1|a_2", "a_1|a_3|a_2", "a_1|a_3", 0.9),  # a_2 is ranked third: the ranking lost it; the best K is 1, or 3
    ("b", "b_1", "b_1|b_2", "", 0.2),  # stopped by the gate
    ("c", "", "c_1", "c_1", 0.8),  # a false alert
    ("d", "d_9", "d_1|d_2", "d_1", 0.7),  # never ranked
    ("e", "e_1", "e_1|e_2", "e_1", 0.6),  # right
]


def run() -> evidentia.Run:
    columns = ("post_id", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids", "prob")
    return evidentia.read_run(pl.DataFrame(ROWS, columns, orient="row").with_columns(criterion_id=pl.lit("A.1")))


def test_every_error_is_told_with_its_kind_its_stage_of_loss_and_the_best_k() -> None:
    rows = errors_of(run(), Aliases({}, {}))["rows"]

    assert rows == [
        {"q": 0, "kinds": ["missed", "wrong K"], "lost": {"a_2": "ranking"}, "best_k": 3},  # F1 0.8 beats 2/3 at K = 1
        {"q": 1, "kinds": ["missed"], "lost": {"b_1": "gate"}},
        {"q": 2, "kinds": ["false alert"]},
        {"q": 3, "kinds": ["missed", "wrong K"], "lost": {"d_9": "retriever cut"}, "best_k": 0},
    ]


def test_lost_sentences_have_the_names_that_the_columns_have() -> None:
    aliases = Aliases({"a": "p1-x", "d": "p4-y"}, {"a_2": "p1-x.2", "d_9": "p1-x.9"})

    rows = {row["q"]: row for row in errors_of(run(), aliases)["rows"]}

    assert rows[0]["lost"] == {"2": "ranking"}
    assert rows[3]["lost"] == {"p1-x.9": "retriever cut"}  # a sentence that is at home in another post


def test_errors_agree_with_the_attribution_table_and_with_the_queries(saved: Saved) -> None:
    content = read_content(saved.folder)
    lost = [stage for row in content.errors["rows"] for stage in row.get("lost", {}).values()]
    table = content.table("attribution")
    assert table is not None
    everything = dict(zip(table.columns, table.rows[-1], strict=True))

    assert len(lost) == everything["gold"] - everything["returned"]
    for row in content.errors["rows"]:
        gold = content.queries["gold_sent_uids"][row["q"]].split("|")
        assert set(row.get("lost", {})) <= set(gold)
        if "false alert" in row["kinds"]:
            assert content.queries["has_evidence"][row["q"]] == "false"
            assert content.queries["state"][row["q"]] == "POS"


def test_scores_are_those_of_the_candidates_in_the_order_of_the_ranking(saved: Saved) -> None:
    content = read_content(saved.folder, show_ids=True)
    frame = pl.read_parquet(saved.folder / "candidates.parquet")
    score = {(p, c, u): s for p, c, u, s in frame.select("post_id", "criterion_id", "sent_uid", "score").iter_rows()}

    compared = 0
    for row in content.errors["rows"]:
        key = content.queries["post_id"][row["q"]], content.queries["criterion_id"][row["q"]]
        ranked = content.queries["ranked_sent_uids"][row["q"]].split("|")[:10]
        assert row["scores"] == pytest.approx([score[*key, uid] for uid in ranked], abs=5.1e-5)
        compared += len(ranked)
    assert compared > 50


def test_misses_and_false_alerts_get_scores_before_wrong_ks(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = read_content(saved.folder).errors["rows"]
    serious = [row["q"] for row in everything if row["kinds"] != ["wrong K"]]
    assert 0 < len(serious) < len(everything)

    monkeypatch.setattr("evidentia.report.page.errors.MOST_SCORES", len(serious))
    cut = read_content(saved.folder).errors

    assert [row["q"] for row in cut["rows"] if "scores" in row] == serious
    assert cut["without_scores"] == len(everything) - len(serious)


def test_rankings_and_selections_are_optional(tmp_path: Path) -> None:
    frame = pl.DataFrame({"post_id": ["a", "b"], "criterion_id": "A", "has_evidence": [0, 1], "prob": [0.9, 0.8]})
    evidentia.evaluate(frame, resamples=0).save(tmp_path / "out")

    content = read_content(tmp_path / "out")

    assert content.errors["rows"] == [{"q": 0, "kinds": ["false alert"]}]
    assert "errors-list" in render(content)


def test_without_selections_the_page_lists_misses_and_names_its_rules() -> None:
    """b_1 is ranked eleventh, c_1 nowhere, d is below one half; e is right."""
    long = "|".join(f"b_{k}" for k in (*range(2, 12), 1))
    rows = [("a", "", "a_1", 0.7), ("b", "b_1|b_2", long, 0.9), ("c", "c_1", "c_2", 0.8), ("d", "d_1", "d_1", 0.4)]
    columns = ("post_id", "gold_sent_uids", "ranked_sent_uids", "prob")
    frame = pl.DataFrame([*rows, ("e", "e_1", "e_1", 0.5)], columns, orient="row").with_columns(
        criterion_id=pl.lit("A")
    )

    errors = errors_of(evidentia.read_run(frame), Aliases({}, {}))

    assert errors["rows"] == [
        {"q": 0, "kinds": ["false alert"]},
        {"q": 1, "kinds": ["missed"], "lost": {"b_1": "below the first 10"}},
        {"q": 2, "kinds": ["missed"], "lost": {"c_1": "retriever cut"}},
        {"q": 3, "kinds": ["missed"], "skipped": "a probability below 0.5"},
    ]
    assert errors["rules"] == [
        "an evidence sentence that is not among the first 10 of its ranking",
        "a query with evidence and a probability below 0.5",
        "one without evidence and a probability of at least 0.5",
    ]
    assert errors_of(run(), Aliases({}, {}))["rules"] == []


def test_a_run_without_errors_says_so(tmp_path: Path) -> None:
    frame = pl.DataFrame({"post_id": ["a", "b"], "criterion_id": "A", "has_evidence": [0, 1], "prob": [0.1, 0.8]})
    evidentia.evaluate(frame, resamples=0).save(tmp_path / "out")

    page = render(read_content(tmp_path / "out"))

    assert "No query with a missed sentence" in page
    assert 'id="errors-list"' not in page


def test_the_queries_of_the_page_are_those_of_the_folder_in_their_order(saved: Saved) -> None:
    """What is read faster is the same: ids by their place, sentences by their number."""
    frame = pl.read_csv(saved.folder / "per_query.csv", infer_schema=False)
    content = read_content(saved.folder)
    name = {post: content.queries["post_id"][row] for row, post in enumerate(frame["post_id"])}

    assert len(set(name.values())) == len(name) == 60
    assert sorted(name.values()) == [name[post] for post in sorted(name)]
    for column in ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"):
        for post, raw, made in zip(frame["post_id"], frame[column], content.queries[column], strict=True):
            assert made == (raw or "").replace(f"{post}_", "")


def test_nothing_is_set_as_html_from_data() -> None:
    script = (Path(evidentia.__file__).parent / "report/page/templates/errors.js").read_text(encoding="utf-8")

    assert not any(
        word in script for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")
    )


@pytest.mark.skipif(which("node") is None, reason="no node here")
def test_the_script_parses() -> None:
    script = Path(evidentia.__file__).parent / "report/page/templates/errors.js"
    subprocess.run(["node", "--check", str(script)], check=True)


def test_the_content_travels(saved: Saved) -> None:
    content = read_content(saved.folder)
    assert Content.from_dict(json.loads(json.dumps(content.to_dict()))).errors == content.errors
