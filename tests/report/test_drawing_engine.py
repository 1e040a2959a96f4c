"""Figures are drawn by a process of their own: the same bytes as without it, also when it is gone, and it ends with us."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import vl_convert

from evidentia import workflow
from evidentia.report.page import images
from evidentia.report.page.engine import Engine

POINTS = {"data": {"values": [{"a": 0.1234567890123456, "b": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}
TITLED = json.dumps(POINTS | {"title": "Ä <b> \u2028 line"})


def test_it_draws_what_is_drawn_without_it() -> None:
    engine = Engine()
    try:
        drawn = engine.svg(TITLED)
        assert drawn is not None
        assert images.renumbered(drawn) == images.renumbered(vl_convert.vegalite_to_svg(json.loads(TITLED)))
    finally:
        engine.stop()


@pytest.mark.parametrize("report", [True, False])
def test_it_starts_before_anything_is_written_where_a_report_is_wanted(
    report: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    for step in ("start_drawing", "write_result", "write_manifest", "write_report"):
        monkeypatch.setattr(workflow, step, lambda *_, step=step, **_read: steps.append(step))
    table = {"post_id": [1, 2], "criterion_id": ["A", "A"], "has_evidence": [1, 0], "prob": [0.9, 0.1]}
    workflow.evaluate(table, measures="AUROC", resamples=0, report=report).save(tmp_path / "out")
    drawn = ["start_drawing", "write_result", "write_manifest", "write_report"]
    assert steps == (drawn if report else drawn[1:3])


def test_a_figure_is_drawn_though_the_process_is_gone(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    before = signal.signal(
        signal.SIGPIPE, signal.SIG_DFL
    )  # as commands have it: a pipe without a reader would end them
    request.addfinalizer(lambda: signal.signal(signal.SIGPIPE, before))
    engine = Engine()
    engine.stop()
    assert engine.svg(TITLED) is None
    monkeypatch.setattr(images, "engine", lambda: engine)
    images._svg.cache_clear()
    assert "<text" in images._svg(TITLED)


def test_a_forked_process_leaves_the_engine_of_its_parent_alone() -> None:
    engine = Engine()
    try:
        engine._owner = os.getpid() + 1  # as a fork sees it
        assert engine.svg(TITLED) is None
        engine.stop()
        assert engine._process.poll() is None
    finally:
        engine._owner = os.getpid()
        engine.stop()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no pidfd_open")
@pytest.mark.parametrize("last", ["pass", "os.kill(os.getpid(), 9)"], ids=["at its end", "killed"])
def test_it_ends_with_the_process_that_started_it(last: str) -> None:
    program = f"""
        import os
        from evidentia.report.page.engine import engine
        print(engine()._process.pid, flush=True)
        {last}
    """
    started = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True, check=False, timeout=60
    )
    try:
        watched = os.pidfd_open(int(started.stdout))
    except ProcessLookupError:
        return  # it has ended already
    assert select.select([watched], [], [], 60)[0], "the program that draws goes on"
