"""How far a training is: what is done, what is at hand and the time left, worked out by hand; and the log of a run."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from builders.pipelines import small_config, small_corpus
from cli.command import PROGRESS, evidentia
from evidentia.errors import OutputError
from evidentia.pipeline.progress import RunLog, Training, Watch

STEPS = ("words", "bm25", "retriever", "reranker", "graph", "gate")
LINE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "


def test_what_is_new_at_hand_and_left() -> None:
    """Two folds of steps that take 2 and 10 seconds: the first is done, of the second the long step is missing."""
    heard: list[Training] = []
    watch = Watch(("0", "1", "final"), ("a", "b"), 2, heard.append)
    spent = {("0", "a"): 2.0}
    watch.look(spent)
    for place, seconds in ((("0", "b"), 10.0), (("1", "a"), 4.0)):
        spent[place] = seconds
        watch.look(spent)
    assert [training.just_done for training in heard] == [{}, {("0", "b"): 10.0}, {("1", "a"): 4.0}]
    assert [training.at_hand for training in heard] == [
        *((("0", "b"), ("1", "a")), (("1", "a"), ("final", "a")), (("1", "b"), ("final", "a"))),
    ]
    # left are b, a and b: while nobody has done b nobody knows; then (10 + 2 + 2 + 10) / 2, and with a at 3 on average less
    assert [training.left for training in heard] == [None, 12.0, (10.0 + 3.0 + 10.0) / 2]
    assert heard[-1].words == "fold 1 b and fold final a, 3 of 6 stages, about 12 s left"
    assert heard[-1].lines_with_counts() == ["fold 1 a 4.0 s (3 of 6 stages, about 12 s left)"]


def test_a_log_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "run.log").mkdir()
    with pytest.raises(OutputError, match=r"Cannot write run\.log: Is a directory\. Make room"):
        RunLog(tmp_path / "run.log").add(["fold 0 words 0.1 s"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run, and what it said on its way."""
    home = tmp_path_factory.mktemp("logged")
    small_corpus(home / "corpus", criteria=4)
    small_config(home)
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "run", "--resamples", 0, "--no-report", "--no-verify")
    assert ran.code == 0, ran
    return home, ran.err


def test_a_pipe_gets_a_line_for_every_stage(trained: tuple[Path, str]) -> None:
    _, err = trained
    lines = err.splitlines(keepends=True)
    assert len(lines) == 3 * len(STEPS)
    assert all(PROGRESS.fullmatch(line) for line in lines)
    places = [tuple(line.split()[2:4]) for line in lines]
    assert places == [(fold, step) for fold in ("0", "1", "final") for step in STEPS]


def test_the_log_has_them_and_what_came_after_and_no_text(trained: tuple[Path, str]) -> None:
    home, _ = trained
    lines = (home / "run" / "run.log").read_text(encoding="utf-8").splitlines()
    stages = [line for line in lines if " fold " in line]
    assert [tuple(line.split()[2:4]) for line in stages] == [(f, s) for f in ("0", "1", "final") for s in STEPS]
    form = (
        rf"{LINE}(fold \w+ \w+|training on 60 posts|deciding|comparing with the one-liner|resampling|writing) \d+\.\d s"
    )
    assert [line for line in lines if not re.fullmatch(form, line)] == []
    assert lines[-1].split()[1] == "comparing"
    assert stat.S_ISREG((home / "run" / "run.log").stat().st_mode)


def test_quiet_is_quiet_and_the_log_is_written_all_the_same(trained: tuple[Path, str]) -> None:
    home, _ = trained
    words = ("--resamples", 0, "--no-report", "--no-verify", "-q")
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "quiet", *words, "--reuse", home / "run")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    first = (home / "quiet" / "run.log").read_text(encoding="utf-8").splitlines()[0]
    assert re.fullmatch(rf"{LINE}18 stages reused 0\.0 s", first)
