"""`evidentia power`, with and without a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.runs import make_files
from cli.command import evidentia as command
from cli.command import refused

from .runs import frame


def said(*words: object) -> str:
    """What the command prints, on one line."""
    ran = command("power", *words)
    assert (ran.code, ran.err) == (0, "")
    return " ".join(ran.out.split())


@pytest.fixture
def spotless(tmp_path: Path) -> Path:
    """60 posts of two positives each, none missed."""
    frame([(2, 0)] * 60).write_csv(tmp_path / "run.csv")
    return tmp_path / "run.csv"


def test_without_a_run() -> None:
    assert said("--target", "ScreeningSensitivity>=0.995") == (
        "To show ScreeningSensitivity >= 0.995 with 95 % confidence, 598 independent posts with evidence without a single "
        "miss are needed. With misses: 947 with 1, 1,258 with 2, 1,549 with 3, 1,829 with 4, 2,100 with 5."
    )


def test_alert_precision_and_another_confidence() -> None:
    assert "AlertPrecision >= 0.9 with 95 % confidence, 29 independent posts with queries in state POS" in said(
        "--target", "AlertPrecision>=0.9"
    )
    assert "with 99 % confidence, 44 independent" in said("--target", "AlertPrecision>=0.9", "--confidence", 0.99)


@pytest.mark.parametrize(
    "target", ["ScreeningSensitivity >= 0.995", "ScreeningSensitivity>=.995", " ScreeningSensitivity>= 99.5 % "]
)
def test_ways_to_write_a_target(target: str) -> None:
    assert "ScreeningSensitivity >= 0.995 with 95 % confidence, 598" in said("--target", target)


def test_with_a_run_that_certifies(spotless: Path) -> None:
    out = said(spotless, "--target", "ScreeningSensitivity>=0.95")
    assert "59 independent posts with evidence without a single miss are needed" in out
    assert "The run has 120 queries with evidence from 60 posts with evidence, 0 misses, a share of 1.0000" in out
    assert "clustering within posts inflates the variance 2.00 times" in out
    assert "On this run the target is certified at that confidence." in out
    assert "needs about 59 posts with evidence to be certified 80 % of the time" in out


def test_with_a_run_that_is_too_small(spotless: Path) -> None:
    out = said(spotless, "--target", "ScreeningSensitivity>=0.995", "--power", 0.9)
    assert "On this run the target cannot be certified at that confidence." in out
    assert "needs about 598 posts with evidence to be certified 90 % of the time" in out


def test_with_a_run_below_the_target(tmp_path: Path) -> None:
    frame([(2, 1)] * 10 + [(2, 0)] * 30).write_csv(tmp_path / "run.csv")
    out = said(tmp_path / "run.csv", "--target", "ScreeningSensitivity>=0.9")
    assert "80 queries with evidence from 40 posts with evidence, 10 misses, a share of 0.8750" in out
    assert "The observed share is not above the target: no sample size would certify it." in out


def test_columns_can_be_mapped(tmp_path: Path) -> None:
    frame([(1, 0)] * 30).rename({"state": "gate"}).write_csv(tmp_path / "run.csv", separator=";")
    words = (tmp_path / "run.csv", "--delimiter", ";", "--map", "state=gate", "--target", "ScreeningSensitivity>=0.9")
    assert "is certified" in said(*words)


BAD_TARGETS = {
    "nothing": "",
    "no number": "ScreeningSensitivity",
    "a sharp inequality": "ScreeningSensitivity>0.9",
    "the other direction": "ScreeningSensitivity<=0.9",
    "everything": "ScreeningSensitivity>=1",
    "everything in percent": "ScreeningSensitivity>=100%",
    "nothing at all": "ScreeningSensitivity>=0.0",
    "more than everything": "ScreeningSensitivity>=150%",
    "a word": "ScreeningSensitivity>=high",
    "not a number": "ScreeningSensitivity>=nan",
    "an unknown measure": "Magic>=0.9",
    "no share": "AUROC>=0.9",
    "a mean, not a share": "nDCG@10>=0.9",
    "a share that should be low": "FNR(t=gate)>=0.9",
    "a missing parameter": "Sensitivity(avg=criterion)>=0.9",
}


@pytest.mark.parametrize("what", BAD_TARGETS)
def test_a_bad_target_is_refused(what: str) -> None:
    refused(command("power", "--target", BAD_TARGETS[what]), "evidentia: ")


@pytest.mark.parametrize("option", ["--confidence", "--power"])
@pytest.mark.parametrize("value", [0, 1, 95, -0.5, "nan"])
def test_a_confidence_or_power_that_is_no_share_is_refused(option: str, value: object) -> None:
    refused(command("power", "--target", "ScreeningSensitivity>=0.9", option, value), "must lie between 0 and 1")


def test_other_bad_input_is_refused(tmp_path: Path, spotless: Path) -> None:
    assert command("power").code == 2
    refused(command("power", tmp_path / "absent.csv", "--target", "ScreeningSensitivity>=0.9"), "absent.csv")
    refused(command("power", spotless, "--target", "Sensitivity(t=0.5)>=0.9"), "Sensitivity", "prob")
    refused(command("power", "--target", "ScreeningSensitivity>=0.9", "--profile", "magic"), "Unknown profile")


def test_a_share_without_a_direction_is_refused() -> None:
    refused(command("power", "--target", "PosRate>=0.9"), "not a share that should be high")


def test_a_target_of_a_group_is_answered_for_the_group_or_refused(tmp_path: Path) -> None:
    frame([(2, 1)] * 30).write_csv(tmp_path / "run.csv")  # A.1 is always missed, A.2 never
    ran = command("power", tmp_path / "run.csv", "--target", "ScreeningSensitivity[criterion=A.2]>=0.9")
    assert ran.code == 2 or "30 queries with evidence from 30 posts with evidence, 0 misses" in " ".join(
        ran.out.split()
    )


def test_a_share_at_a_tuned_threshold_can_be_asked_for_where_there_is_tune(tmp_path: Path) -> None:
    files = make_files(tmp_path, splits=True)
    ran = command("power", files.per_query, "--target", "TPR(tuned)@FPR=5%>=0.3")
    assert ran.code in {0, 2}, ran.err


def test_a_share_barely_above_the_target_is_not_called_below_it(tmp_path: Path) -> None:
    """0.99 is above 0.98999; it would take more posts than the search goes up to, which is another answer."""
    frame([(1, 1)] + [(1, 0)] * 99).write_csv(tmp_path / "run.csv")
    assert "not above the target" not in said(tmp_path / "run.csv", "--target", "ScreeningSensitivity>=0.98999")


def test_one_is_said_in_the_singular(tmp_path: Path) -> None:
    frame([(1, 1)]).write_csv(tmp_path / "run.csv")
    out = said(tmp_path / "run.csv", "--target", "ScreeningSensitivity>=0.95")
    assert "The run has 1 query with evidence from 1 post with evidence, 1 miss, a share of 0.0000" in out
