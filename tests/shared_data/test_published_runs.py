"""Every number that the authors of three real runs published comes out again, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import evidentia_apart
from evidentia.results import loads

from .data import folder

STAGES = {"retriever": "retriever_topk", "reranked": "reranked_topk"}
POPULATIONS = {"positives_only": "", "all_queries": "(pop=all)"}
NAMES = {"recall": "Recall", "mrr": "MRR", "map": "MAP", "ndcg": "nDCG"}
DEPTHS = (1, 5, 10, 20)
NUMBERS_OF_A_STAGE = len(NAMES) * len(DEPTHS) + 3


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("run", "populations"), [("baseline-val", 1), ("final-105736", 1), ("final-v2-dual", 2)], ids=str
)
def test_the_audit_profile_reproduces_every_published_number(
    run: str, populations: int, stage: str, tmp_path: Path
) -> None:
    source = folder("published-runs") / run
    measures = evaluated(source / "per_query.csv", STAGES[stage], tmp_path / "out")
    published = loads((source / "summary.json").read_text())[stage]
    compared = 0
    for population, numbers in by_population(published).items():
        compared += numbers_that_agree(numbers, POPULATIONS[population], measures)
    assert compared == populations * NUMBERS_OF_A_STAGE == populations * 19


def evaluated(per_query: Path, ranking: str, out: Path) -> dict[str, dict]:
    ran = evidentia_apart(
        *("evaluate", per_query, "--map", "gold_sent_uids=gold_ids", "--map", f"ranked_sent_uids={ranking}"),
        *("--profile", "audit", "--dual", "-o", out, "--quiet"),
    )
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    summary = loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["profile"] == "audit"
    return summary["measures"]


def by_population(published: dict) -> dict[str, dict]:
    return published if "positives_only" in published else {"positives_only": published}


def numbers_that_agree(numbers: dict, population: str, measures: dict[str, dict]) -> int:
    """Compare one block of published numbers, all of them, and say how many there were."""
    expected = dict(numbers)
    skips = expected.pop("skip_no_positives")
    assert skips is (population == "")
    assert expected.pop("queries_total") == measures["Queries"]["value"]
    assert expected.pop("queries_with_positives") == measures["Positives"]["value"]
    evaluated_queries = expected.pop("queries_evaluated")
    for name, value in expected.items():
        measure, k = name.split("@")
        entry = measures[f"{NAMES[measure]}{population}@{k}"]
        assert entry["value"] == pytest.approx(value, rel=0, abs=1e-12), name
        assert entry["n"] == evaluated_queries
    return len(expected) + 3
