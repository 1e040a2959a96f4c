"""What the explorer starts from is what summary.json says of the run, and the command that it hands out works."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from builders.runs import Files, Saved
from cli.command import evidentia as command
from evidentia.report.page import read_content, render
from evidentia.report.page.content import Content
from evidentia.report.page.explorer import FIGURES, NUMBERS, Explorer, explorer_of, tune_command
from evidentia.report.tables import Table

SCREENING = Table(
    "operating_screening",
    "Screening at every threshold",
    ("tau", "skipped", "missed", "neg_rate", "sensitivity", "fn_per_1000"),
    ((0.0, 0, 0, 0.0, 1.0, 0.0), (0.5, 230, 12, 0.958, 0.454, 50.0)),
)
ALERTS = Table(
    "operating_alerts",
    "Alerts at every threshold",
    ("tau", "alerts", "right", "alert_precision", "alerts_per_1000", "tpr", "fpr", "likelihood_ratio"),
    ((0.1, 60, 18, 0.3, 250.0, 0.81, 0.19, 4.2), (0.5, 10, 10, 1.0, 41.6, 0.45, 0.0, None)),
)


def with_points(content: Content) -> Content:
    """The content with two thresholds of each kind."""
    others = tuple(figure for figure in content.figures if figure.name not in FIGURES)
    return replace(content, figures=(*others, SCREENING, ALERTS))


@pytest.fixture(scope="module")
def content(saved: Saved) -> Content:
    return with_points(read_content(saved.folder))


@pytest.fixture(scope="module")
def explorer(content: Content) -> Explorer:
    found = explorer_of(content)
    assert found is not None
    return found


def test_without_values_at_other_thresholds_there_is_no_explorer(content: Content):
    bare = replace(content, figures=tuple(figure for figure in content.figures if figure.name not in FIGURES))
    assert explorer_of(bare) is None
    assert explorer_of(replace(bare, figures=(*bare.figures, SCREENING))) is None
    assert explorer_of(replace(bare, figures=(SCREENING, replace(ALERTS, rows=())))) is None
    assert 'id="tab-explorer"' not in render(bare)


def test_the_start_is_the_summary_of_the_run(saved: Saved, explorer: Explorer):
    measures = saved.summary["measures"]
    assert explorer.deployed is not None
    assert {name: number["of"] for name, number in explorer.deployed.numbers.items()} == NUMBERS
    for number in explorer.deployed.numbers.values():
        entry = measures[number["of"]]
        assert (number["value"], number["flaw"]) == (entry["value"], entry["degenerate"])
        assert [number["low"], number["high"]] == (entry["ci"] or [None, None])
    assert explorer.prevalence == measures["PositiveRate"]["value"]


def test_counts_by_state_are_those_of_the_summary(saved: Saved, explorer: Explorer):
    measures, deployed = saved.summary["measures"], explorer.deployed
    assert deployed is not None
    assert (deployed.skipped, deployed.missed) == (
        measures["Queries[state=NEG]"]["value"],
        measures["Positives[state=NEG]"]["value"],
    )
    assert (deployed.alerts, deployed.right) == (
        measures["Queries[state=POS]"]["value"],
        measures["Positives[state=POS]"]["value"],
    )


def test_a_run_without_states_has_nothing_deployed(content: Content):
    queries = {name: cells for name, cells in content.queries.items() if name not in {"state", "tau_neg", "tau_pos"}}
    found = explorer_of(replace(content, queries=queries))
    assert found is not None
    assert (found.deployed, found.tau_neg, found.tau_pos) == (None, (), ())
    page = render(replace(content, queries=queries))
    assert re.search(r'id="explorer-deployed"[^>]* hidden>', page)


@pytest.mark.parametrize(
    ("folds", "tau_neg", "spread", "distinct"),
    [
        (["0", "0", "1"], ["0.1", "0.1", "0.1"], "one", (0.1,)),
        (["0", "0", "1"], ["0.2", "0.2", "0.1"], "fold", (0.1, 0.2)),
        (["0", "0", "1"], ["0.2", "0.3", "0.1"], "query", (0.1, 0.2, 0.3)),
        (["0"] * 60, [f"0.{i:02}" for i in range(60)], "query", ()),  # too many to be settings, so none is marked
    ],
)
def test_what_deployed_thresholds_differ_among(content: Content, folds, tau_neg, spread, distinct):
    size = len(folds)
    queries = {"fold": folds, "tau_neg": tau_neg, "tau_pos": ["0.7"] * size}
    queries |= {"state": ["NEG"] * size, "has_evidence": ["false"] * size}
    found = explorer_of(replace(content, queries=queries))
    assert found is not None
    assert (found.spread, found.tau_neg, found.tau_pos) == (spread, distinct, (0.7,))


def test_one_class_leaves_no_other_share_to_look_at(explorer: Explorer):
    assert explorer.mixed
    assert not replace(explorer, positives=0).mixed
    assert not replace(explorer, positives=explorer.queries).mixed


def manifest(name: str | None, **reading: object) -> dict:
    return {
        "inputs": [{"role": "candidates", "name": "c.csv"}, {"role": "run", "name": name}],
        "options": {"reading": reading},
    }


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (manifest("run.csv"), ["run.csv", "--three-state"]),
        (manifest("<dataframe>"), ["RUN", "--three-state"]),
        (manifest("it's; rm -rf $HOME.csv"), ["it's; rm -rf $HOME.csv", "--three-state"]),
        (manifest("-o.csv"), ["./-o.csv", "--three-state"]),
        (manifest("r.csv", map={"prob": "p 1"}), ["r.csv", "--three-state", "--map", "prob=p 1"]),
        (manifest("r.tsv", map={}, delimiter="\t"), ["r.tsv", "--three-state", "--delimiter", "\t"]),
        (manifest("<stdin>", list_sep=None, uids="run"), ["RUN", "--three-state"]),
        (manifest("r.csv", list_sep=";", uids="post"), ["r.csv", "--three-state", "--list-sep", ";", "--uids", "post"]),
    ],
)
def test_a_shell_reads_the_command_as_it_is_meant(made, words):
    assert shlex.split(tune_command(made)) == ["evidentia", "tune", *words, "-o", "thresholds.json"]


def test_the_command_runs(split_files: Files, split_saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = explorer_of(with_points(read_content(split_saved.folder)))
    assert found is not None
    assert found.tunable
    monkeypatch.chdir(tmp_path)
    (tmp_path / split_files.per_query.name).write_bytes(split_files.per_query.read_bytes())
    ran = command(*shlex.split(found.command)[1:])
    assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / "thresholds.json").is_file()


def test_a_run_without_tune_rows_is_said_to_have_none(explorer: Explorer):
    assert not explorer.tunable


def start_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="explorer-start">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_carries_the_start_and_a_place_for_every_number(content: Content, explorer: Explorer):
    page = render(content)
    assert start_of(page) == json.loads(json.dumps(explorer.start))
    for name in NUMBERS:
        assert page.count(f'data-explorer="{name}"') == 1
    for control in ("tau-neg", "tau-pos", "prevalence"):
        assert f'<label for="{control}">' in page
        assert f'type="range" id="{control}"' in page


def test_a_hostile_file_name_stays_text(content: Content):
    name = "</script><script>alert(1)</script><!--.csv"
    inputs = [dict(source, name=name) if source["role"] == "run" else source for source in content.manifest["inputs"]]
    page = render(replace(content, manifest=dict(content.manifest, inputs=inputs)))
    assert shlex.split(start_of(page)["command"])[2] == name
    assert "<script>alert" not in page
