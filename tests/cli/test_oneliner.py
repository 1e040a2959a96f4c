"""A run says how it does against the one-liner, and warns where it loses."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders.pipelines import small_config, small_corpus
from evidentia import compare, read_run
from evidentia.oneliner import MEASURES, verdict_lines
from evidentia.results import loads
from evidentia.verifying import verify_result

from .command import Ran, evidentia

BRIEF = ("--no-report", "--no-verify")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    small_corpus(home / "corpus", criteria=3)
    return home


@pytest.fixture(scope="module")
def screen(home: Path) -> Ran:
    """What a run printed."""
    return evidentia("run", small_config(home), "-o", home / "run", "--resamples", 100, *BRIEF)


def test_the_differences_are_printed_and_those_of_the_two_results(home: Path, screen: Ran) -> None:
    assert screen.code == 0, screen
    (line,) = [line for line in screen.out.splitlines() if line.startswith("against the one-liner")]
    figures = [
        {name: loads((place / "result" / "summary.json").read_bytes())["measures"][name]["value"] for name in MEASURES}
        for place in (home / "run" / "baseline", home / "run")
    ]
    for name in MEASURES:
        assert f"{name} {figures[1][name] - figures[0][name]:+.4f} (" in line


def test_the_comparison_and_the_result_of_the_one_liner_verify(home: Path, screen: Ran) -> None:
    assert screen.code == 0, screen
    for name in ("comparison-baseline", "baseline/result"):
        verification = verify_result(home / "run" / name)
        assert verification.comparisons
        assert not verification.mismatches


def test_without_resamples_or_a_one_liner_nothing_is_compared(home: Path) -> None:
    without = small_config(home, "none.toml", reranker="none", more='[retriever]\nkind = "bm25"\n')
    for config, resamples in ((without, 20), (small_config(home), 0)):
        out = home / f"quiet-{resamples}"
        ran = evidentia("run", config, "-o", out, "--resamples", resamples, *BRIEF)
        assert ran.code == 0, ran
        assert "one-liner" not in ran.out
        assert not (out / "comparison-baseline").exists()


def table(right: bool) -> pl.DataFrame:
    """Forty posts, every second with evidence that a good system ranks first and gives the larger probability."""
    yes = [at % 2 for at in range(40)]
    return pl.DataFrame(
        {
            "post_id": [f"p{at}" for at in range(40)],
            "criterion_id": ["A"] * 40,
            "has_evidence": yes,
            "prob": [(0.9 if one == right else 0.1) - at / 1000 for at, one in enumerate(yes)],
            "gold_sent_uids": [f"{at}_0" if one else "" for at, one in enumerate(yes)],
            "ranked_sent_uids": [f"{at}_0|{at}_1" if right else f"{at}_1|{at}_0" for at in range(40)],
        }
    )


@pytest.mark.parametrize(("pipeline", "warned"), [(False, True), (True, False)])
def test_an_interval_wholly_below_zero_is_a_warning(pipeline: bool, warned: bool) -> None:
    runs = [read_run(table(right)) for right in (not pipeline, pipeline)]
    told = list(verdict_lines(compare(*runs, names=["one-liner", "pipeline"], measures=MEASURES, resamples=100)))
    assert len(told) == 1 + warned
    if warned:
        assert told[1].startswith("WARNING: the pipeline is worse than the one-liner in nDCG@10, AUROC, AUPRC.")


def test_the_same_system_twice_is_no_loss() -> None:
    run = read_run(table(right=True))
    comparison = compare(run, run, names=["one-liner", "pipeline"], measures=MEASURES, resamples=20)
    assert len(list(verdict_lines(comparison))) == 1
