"""The two stages of real runs: every delta is the difference of the numbers that the authors published."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import evidentia as command
from shared_data.data import folder

from .systems import strict

RUNS = {"baseline-val": 1, "final-105736": 1, "final-v2-dual": 2}
STAGES = {"retriever": "retriever_topk", "reranked": "reranked_topk"}
POPULATIONS = {"positives_only": "", "all_queries": "(pop=all)"}
NAMES = {"recall": "Recall", "mrr": "MRR", "map": "MAP", "ndcg": "nDCG"}
PER_POPULATION = 4 * 4  # four measures at four depths


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both stages of each published run, evaluated through the command line."""
    home = tmp_path_factory.mktemp("published")
    for run in RUNS:
        per_query = folder("published-runs") / run / "per_query.csv"
        for stage, column in STAGES.items():
            ran = command(
                *("evaluate", per_query, "--map", "gold_sent_uids=gold_ids", "--map", f"ranked_sent_uids={column}"),
                *("--profile", "audit", "--dual", "--resamples", 0, "-o", home / run / stage, "--quiet"),
            )
            assert (ran.code, ran.out, ran.err) == (0, "", "")
    return home


def published_deltas(run: str) -> dict[str, float]:
    """Reranked minus retriever, by the names of the audit profile."""
    summary = strict((folder("published-runs") / run / "summary.json").read_text())
    before, after = (
        s if "positives_only" in s else {"positives_only": s} for s in (summary["retriever"], summary["reranked"])
    )
    found = {}
    for population, suffix in POPULATIONS.items():
        for name, value in after.get(population, {}).items():
            measure, at, k = name.partition("@")
            if at:
                found[f"{NAMES[measure]}{suffix}@{k}"] = value - before[population][name]
    return found


@pytest.mark.parametrize("run", RUNS)
def test_every_delta_is_the_difference_of_the_published_numbers(run: str, stages: Path) -> None:
    expected = published_deltas(run)
    assert len(expected) == RUNS[run] * PER_POPULATION
    ran = command(
        *("compare", stages / run / "retriever", stages / run / "reranked", "--measures", ",".join(expected)),
        *("--resamples", 200, "--json"),
    )
    assert (ran.code, ran.err) == (0, "")
    comparison = strict(ran.out)
    assert comparison["systems"] == ["retriever", "reranked"]
    assert comparison["profile"] == "audit"
    deltas = {d["name"]: d for d in comparison["deltas"] if d["family"] == "measures"}
    compared = 0
    for name, difference in expected.items():
        assert deltas[name]["delta"] == pytest.approx(difference, rel=0, abs=1e-12), name
        compared += 1
    assert compared == len(deltas) == RUNS[run] * PER_POPULATION


def test_there_are_sixty_four_published_differences() -> None:
    assert sum(len(published_deltas(run)) for run in RUNS) == 64


@pytest.mark.parametrize("run", RUNS)
def test_all_measures_of_the_profile_hold_the_first_population(run: str, stages: Path) -> None:
    expected = {name: value for name, value in published_deltas(run).items() if "(" not in name}
    ran = command(
        "compare",
        stages / run / "retriever",
        stages / run / "reranked",
        "--measures",
        "all",
        "--resamples",
        200,
        "--json",
    )
    deltas = {d["name"]: d for d in strict(ran.out)["deltas"]}
    assert len(expected) == PER_POPULATION
    for name, difference in expected.items():
        assert deltas[name]["delta"] == pytest.approx(difference, rel=0, abs=1e-12), name
        low, high = deltas[name]["ci"]
        assert low < high


def test_two_runs_on_other_posts_are_refused(stages: Path) -> None:
    ran = command("compare", stages / "baseline-val" / "reranked", stages / "final-v2-dual" / "reranked")
    assert (ran.code, ran.out) == (2, "")
    assert "that another result lacks" in ran.err
