"""What trec_eval prints for its own test run comes out again, to its four decimals, overall and per topic."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command import Ran, evidentia_apart
from evidentia.results import loads

from .data import folder

DEPTHS = "1,5,10,15,20,30,100,200,500,1000,ALL"
WORDS = {"map": "MAP@ALL", "ndcg": "nDCG@ALL", "recip_rank": "MRR"}
CUTS = {"P": "Precision", "recall": "Recall", "map_cut": "MAP", "ndcg_cut": "nDCG", "success": "HitRate"}
MEASURES_OF_A_TOPIC = 9 + 9 + 9 + 9 + 3 + 3  # P, recall, map_cut, ndcg_cut; success at 1 5 10; map, ndcg, recip_rank


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("trec") / "out"
    ran = trec_files("--ties", "trec", "--k", DEPTHS, "-o", target, "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    return target


def trec_files(*words: object) -> Ran:
    source = folder("trec-eval")
    return evidentia_apart("evaluate", "--qrels", source / "qrels.test", "--run", source / "results.test", *words)


def test_every_average_that_trec_eval_prints_is_matched(out: Path) -> None:
    measures = loads((out / "summary.json").read_text())["measures"]
    compared = 0
    for topic, name, printed in expected("out.test.a"):
        assert topic == "all"
        assert measures[name]["n"] == 3
        assert agrees(measures[name]["value"], printed), name
        compared += 1
    assert compared == MEASURES_OF_A_TOPIC == 42


def test_every_value_that_trec_eval_prints_for_a_topic_is_matched(out: Path) -> None:
    with (out / "per_query.csv").open(encoding="utf-8", newline="") as file:
        topics = {row["post_id"]: row for row in csv.DictReader(file)}
    compared = 0
    for topic, name, printed in expected("out.test.aq"):
        if topic != "all":
            assert agrees(float(topics[topic][name]), printed), (topic, name)
            compared += 1
    assert compared == len(topics) * MEASURES_OF_A_TOPIC == 126


def expected(name: str) -> Iterator[tuple[str, str, str]]:
    """Topic, our name and the printed value of every line of trec_eval's output that has a name of ours."""
    for line in (folder("trec-eval") / name).read_text().splitlines():
        measure, topic, printed = line.split()
        word, _, cut = measure.rpartition("_")
        if measure in WORDS:
            yield topic, WORDS[measure], printed
        elif word in CUTS:
            yield topic, f"{CUTS[word]}@{cut}", printed


def agrees(value: float, printed: str) -> bool:
    return f"{value:.4f}" == printed
