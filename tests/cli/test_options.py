"""Options do what they say: lists, JSON, depths, delimiters, ties, quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.runs import Files
from evidentia.results import loads

from .command import Ran, contents, evidentia


def names(ran: Ran) -> set[str]:
    """The measures, without their groups, that --json printed."""
    assert (ran.code, ran.err) == (0, "")
    return {name.partition("[")[0] for name in loads(ran.out)["measures"]}


@pytest.mark.parametrize(
    "words",
    [
        ("--measures", "AUROC,F1(avg=post,empty=1),MRR"),
        ("--measures", "AUROC", "--measures", "F1(avg=post,empty=1)", "--measures", "MRR"),
        ("--measures", " AUROC , F1(avg=post,empty=1)", "--measures", "MRR,"),
        ("--measures=AUROC,MRR", "--measures", "F1( avg=post , empty=1 )"),
    ],
)
def test_a_list_is_repeated_or_separated_by_commas_outside_brackets(words: tuple[str, ...], files: Files) -> None:
    ran = evidentia("evaluate", files.per_query, "--json", *words)
    assert names(ran) == {"AUROC", "F1(avg=post,empty=1)", "MRR"}


def test_a_group_in_a_list_keeps_its_comma_and_its_quotes(tmp_path: Path) -> None:
    run = tmp_path / "run.csv"
    run.write_text('post_id,criterion_id,has_evidence,site\np1,A,1,"a,b"\np2,A,0,c\n')
    words = ("--by", "site", "--measures", 'Queries[site="a,b"],Positives')
    ran = evidentia("evaluate", run, "--json", *words)
    assert ran.code == 0, ran
    assert loads(ran.out)["measures"]['Queries[site="a,b"]']["value"] == 1


def test_slices_and_depths_are_lists_too(files: Files) -> None:
    once = evidentia("evaluate", files.per_query, "--json", "--by", "subreddit,length_band", "--k", "2,all")
    twice = evidentia(
        *("evaluate", files.per_query, "--json", "--by", "subreddit", "--by", "length_band", "--k", "2", "--k", "ALL")
    )
    assert once == twice
    assert {"Recall@2", "nDCG@ALL"} <= names(once)
    assert not {"Recall@10", "nDCG@10"} & names(once)
    assert "[length_band=short]" in once.out


def test_json_is_all_that_is_printed_and_equals_the_file(files: Files, tmp_path: Path) -> None:
    ran = evidentia("evaluate", files.per_query, "--json", "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    assert loads(ran.out) == loads((tmp_path / "out" / "summary.json").read_text())
    assert ran.out.startswith("{\n")
    assert ran.out.endswith("}\n")


def test_without_out_nothing_is_written(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert evidentia("evaluate", files.per_query).code == 0
    assert contents(tmp_path) == {}


def test_quiet_prints_nothing(files: Files, tmp_path: Path) -> None:
    ran = evidentia("evaluate", files.per_query, "-q", "-o", tmp_path / "out")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_dual_puts_all_queries_beside_the_positives(files: Files) -> None:
    single = names(evidentia("evaluate", files.per_query, "--json"))
    dual = names(evidentia("evaluate", files.per_query, "--json", "--dual"))
    assert dual - single == {name.replace("@", "(pop=all)@") for name in single & RANKED} | {"MRR(pop=all)"}


RANKED = {f"{name}@{k}" for name in ("Recall", "Precision", "HitRate", "MAP", "nDCG") for k in (1, 3, 5, 10, 20)}


def test_another_delimiter_is_read(files: Files, tmp_path: Path) -> None:
    other = tmp_path / "run.csv"
    other.write_text(files.per_query.read_text().replace(",", ";"))
    given = ("--json", "--measures", "AUROC,nDCG@10")
    assert evidentia("evaluate", other, "--delimiter", ";", *given) == evidentia("evaluate", files.per_query, *given)


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_every_format_gives_the_same_numbers(kind: str, files: Files, tmp_path: Path) -> None:
    assert evidentia("synth", "--posts", "60", "--criteria", "4", "-o", tmp_path, "--format", kind).code == 0
    words = ("--by", "subreddit", "--json")
    csv = evidentia("evaluate", files.per_query, "--candidates", files.candidates, *words)
    same = evidentia(
        "evaluate", tmp_path / f"per_query.{kind}", "--candidates", tmp_path / f"candidates.{kind}", *words
    )
    assert loads(same.out) == loads(csv.out)


def test_columns_of_other_names_are_mapped(files: Files, tmp_path: Path) -> None:
    other = tmp_path / "run.csv"
    head, _, rows = files.per_query.read_text().partition("\n")
    other.write_text(f"{head.replace('prob', 'p_yes').replace('fold', 'part')}\n{rows}")
    given = ("--json", "--measures", "AUROC")
    mapped = evidentia("evaluate", other, "--map", "prob=p_yes,fold=part", *given)
    assert mapped == evidentia("evaluate", files.per_query, *given)
    assert mapped == evidentia("evaluate", other, "--map", "prob=p_yes", "--map", "fold=part", *given)


@pytest.mark.parametrize(("ties", "first"), [("input", "b"), ("trec", "c")])
def test_equal_scores_keep_the_order_of_the_file_or_go_as_in_trec_eval(ties: str, first: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("t Q0 b 1 0.5 x\nt Q0 a 2 0.5 x\nt Q0 c 3 0.5 x\n")
    for doc in "abc":
        (tmp_path / "qrels").write_text(f"t 0 {doc} 1\n")
        words = ("--qrels", tmp_path / "qrels", "--run", tmp_path / "run", "--ties", ties, "--measures", "HitRate@1")
        hit = loads(evidentia("evaluate", *words, "--json").out)["measures"]["HitRate@1"]["value"]
        assert hit == (doc == first)


def test_a_topic_that_the_run_lacks_counts_and_is_noted(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("t1 0 a 1\nt2 0 b 1\n")
    (tmp_path / "run").write_text("t1 Q0 a 1 0.5 x\nt3 Q0 b 1 0.5 x\n")
    ran = evidentia("evaluate", "--qrels", tmp_path / "qrels", "--run", tmp_path / "run", "--json")
    summary = loads(ran.out)
    assert (summary["measures"]["MRR"]["value"], summary["measures"]["MRR"]["n"]) == (0.5, 2)
    assert len(summary["notes"]) == 3  # the third says that every topic is a cluster
    assert summary["dataset"]["left_out"] == {"topics that are not in the qrels": 1}


def test_measures_as_json_lists_the_registry() -> None:
    rows = loads(evidentia("measures", "--json").out)
    assert len(rows) > 40
    assert {tuple(row) for row in rows} == {("name", "family", "label", "direction", "meaning")}


def test_explain_understands_what_other_tools_call_it() -> None:
    assert evidentia("explain", "ndcg_cut_10") == evidentia("explain", "nDCG@10")
    assert evidentia("explain", "map_cut_10", "--profile", "audit").out.startswith("MAP(norm=gold)@10  ")


def test_explain_on_a_run_without_the_column_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("post_id,criterion_id,has_evidence\np1,A,1\n")
    ran = evidentia("explain", "AUROC", tmp_path / "run.csv")
    assert ran.code == 0
    assert "needs a prob or a detection_score column" in ran.out


def test_explain_of_a_group_speaks_about_that_group(files: Files) -> None:
    """A number over all queries under the name of a group would be wrong without a word."""
    ran = evidentia("explain", "Positives[fold=3]", files.per_query)
    value = loads(evidentia("evaluate", files.per_query, "--json").out)["measures"]["Positives[fold=3]"]["value"]
    assert ran.code == 2 or f"= {value:g} (n = 48: " in ran.out
