"""The page of a selective result: every number is the summary's, nothing runs, nobody is named, nothing unfair is drawn."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evidentia import selective
from evidentia.report.page import Content, read_content, render, unpack
from evidentia.report.page.images import images
from evidentia.report.page.participants import Participants
from evidentia.report.page.render import page_parts
from evidentia.report.page.selective_figures import MOST_POINTS, thinned
from evidentia.report.page.selective_view import SelectiveView, labels
from evidentia.report.show import limits, shown
from evidentia.synth import synthetic_phq8
from evidentia.tables.order import by_number

OPTIONS: dict[str, Any] = {"seed": 3, "resamples": 60}
PARTICIPANTS = 14
SCRIPTS = 2  # app.js and selective.js: nothing that came from a file
EVIL = "</script><script>alert(1)</script>"


@dataclass
class Number:
    """A marked number of a page."""

    marks: dict[str, str]
    text: str = ""


class Walk(HTMLParser):
    """Every marked number, every script element, every event handler, and all visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.numbers: list[Number] = []
        self.scripts: list[dict[str, str]] = []
        self.handlers: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self._open: Number | None = None
        self._quiet = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        marks = {name: value or "" for name, value in attrs}
        self.handlers += [name for name in marks if name.startswith("on")]
        self.ids += [marks["id"]] if "id" in marks else []
        self._quiet = tag in {"script", "style"}
        if tag == "script":
            self.scripts.append(marks)
        if tag == "span" and "data-value" in marks:
            self._open = Number(marks)
            self.numbers.append(self._open)

    def handle_endtag(self, tag: str) -> None:
        self._quiet = False
        if tag == "span":
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open.text += data
        if not self._quiet:
            self.text += data

    def of(self, mark: str) -> list[Number]:
        return [number for number in self.numbers if mark in number.marks]


@dataclass(frozen=True)
class Made:
    """A result folder and its page."""

    folder: Path
    content: Content
    page: str
    walk: Walk
    summary: dict[str, Any] = field(default_factory=dict)


def made(folder: Path, **more: Any) -> Made:
    content = read_content(folder, **more)
    page = render(content)
    return Made(folder, content, page, Walk(page), json.loads((folder / "summary.json").read_text(encoding="utf-8")))


def named_people(document: dict[str, Any]) -> dict[str, Any]:
    """The run with ids that can be found in a text: subject-01 and so on."""
    for experiment in document["experiments"]:
        for result in experiment["results"]["results"]:
            result["participant_id"] = f"subject-{result['participant_id']}"
    return document


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("page") / "compared"
    run = tmp_path_factory.mktemp("run") / "phq8.json"
    run.write_text(json.dumps(named_people(synthetic_phq8(seed=5, participants=PARTICIPANTS, failures=2))))
    selective.evaluate(run, mode="few_shot", against_mode="zero_shot", **OPTIONS).save(folder)
    return made(folder)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("page") / "alone"
    run = synthetic_phq8(seed=5, participants=PARTICIPANTS)
    selective.evaluate(run, mode="few_shot", confidence="all", **OPTIONS).save(folder)
    return made(folder)


def hostile_table() -> pl.DataFrame:
    """Names that would run, break or lie if they were not taken as text."""
    long = "n" * 79
    rows = [
        {
            "cluster_id": f"{EVIL}{cluster}",
            "item": f"=1+1 {item} \u202eright to left",
            "pred": None if (cluster + item) % 4 == 0 else float((cluster * item) % 4),
            "gt": float(cluster % 4),
            f"{EVIL}'\"<b>": float(item),
            "=HYPERLINK(1)": float(cluster % 3),
            "nan": float(cluster + item),
            f"{long}a": float(cluster),
            f"{long}b": float(-cluster),
        }
        for cluster in range(8)
        for item in range(5)
    ]
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("page") / "hostile"
    left = hostile_table()
    right = left.with_columns(pred=pl.when(pl.col("gt") == 1).then(None).otherwise(pl.col("pred")))
    names = (f"{EVIL}${{a}}", f"<img src=x onerror=alert(1)> {'m' * 10_000}")
    selective.evaluate(left, against=right, names=names, confidence="all", item_max=3, **OPTIONS).save(folder)
    return made(folder)


def test_every_marked_number_is_that_of_the_summary(compared: Made, alone: Made, hostile: Made) -> None:
    for one in (compared, alone, hostile):
        deltas = {
            f"{d['name']}|{d['system']}|{d['baseline']}": d for d in one.summary.get("comparison", {}).get("deltas", ())
        }
        assert len(one.walk.of("data-of")) > 300
        for number in one.walk.of("data-of"):
            name, what = number.marks["data-of"], number.marks["data-field"]
            entry = deltas[name] if name in deltas else one.summary["measures"][name]
            assert json.loads(number.marks["data-value"]) == entry[what], (name, what)
            assert number.text == (limits(entry[what]) if what == "ci" else shown(entry[what])), (name, what)
        for number in one.walk.of("data-dataset"):
            assert json.loads(number.marks["data-value"]) == one.summary["dataset"][number.marks["data-dataset"]]
        for number in one.walk.of("data-comparison"):
            found: Any = one.summary["comparison"]
            for key in number.marks["data-comparison"].split("."):
                found = found[key]
            assert json.loads(number.marks["data-value"]) == found


def test_every_number_of_the_summary_is_in_the_page(compared: Made, alone: Made) -> None:
    for one in (compared, alone):
        there = {(n.marks["data-of"], n.marks["data-field"]) for n in one.walk.of("data-of")}
        for name, entry in one.summary["measures"].items():
            assert {(name, "value"), (name, "n")} <= there
            assert entry["ci"] is None or (name, "ci") in there
        for delta in one.summary.get("comparison", {}).get("deltas", ()):
            key = f"{delta['name']}|{delta['system']}|{delta['baseline']}"
            wanted = [
                "system_value",
                "baseline_value",
                "delta",
                *(f for f in ("ci", "p", "p_holm") if delta[f] is not None),
            ]
            assert {(key, what) for what in wanted} <= there


def test_the_first_screen_says_what_was_evaluated_and_that_it_is_no_diagnosis(compared: Made) -> None:
    words = " ".join(compared.walk.text.split())
    data = compared.summary["dataset"]
    assert f"{data['items']} items of {data['participants']} participants; {data['predicted']} are answered" in words
    assert "2 further participants gave no result at all" in words
    assert "This is not a diagnosis, and not about any person." in words
    assert "Not yet verified" in words
    assert "Cmax" in words
    cards = [number.marks["data-of"] for number in compared.walk.of("data-of")][:15]
    best = next(iter(SelectiveView(compared.content).excess))
    for base in ("MAE@coverage=0.5", "AURC", "AUGRC", "eAURC"):
        assert f"{base}[confidence={best}]" in cards
    assert cards.count("Cmax") >= 4  # its own card, and beside each of three areas


def test_a_comparison_has_its_section_and_a_run_alone_has_none(compared: Made, alone: Made) -> None:
    assert "comparison" in compared.walk.ids
    assert "comparison" not in alone.walk.ids
    assert {f.name for f in page_parts(alone.content)["figures"]} >= {
        "items",
        "matched",
        "signals",
        "signals_risk",
        "ties_AURC",
    }
    assert not [f for f in page_parts(alone.content)["figures"] if f.name.startswith(("against", "deltas"))]


def test_two_systems_are_drawn_with_bands_for_every_signal(compared: Made) -> None:
    figures = {figure.name: figure for figure in page_parts(compared.content)["figures"]}
    assert {"risk_1_llm", "joint_risk_1_llm", "risk_2_total_evidence", "joint_risk_2_total_evidence"} <= set(figures)
    for name in ("risk_1_llm", "joint_risk_2_total_evidence"):
        rows = figures[name].table.rows
        assert {row[0] for row in rows} == {"few_shot", "zero_shot"}
        for system, key in (("few_shot", "system"), ("zero_shot", "baseline")):
            ends = [row for row in rows if row[:2] == (system, "end")]
            assert [row[2] for row in ends] == [pytest.approx(compared.summary["comparison"]["cmax"][key])]
            assert [row for row in rows if row[:2] == (system, "band")]
    matched = figures["matched_1_llm"].table.rows
    own = compared.summary["measures"]["MAE@coverage=0.5[confidence=llm]"]
    assert ("few_shot", 0.5, own["value"], *own["ci"]) in matched
    theirs = next(row for row in matched if row[:2] == ("zero_shot", 0.5))
    assert None not in theirs


def test_what_was_refused_or_not_tested_is_in_words_and_never_drawn(compared: Made) -> None:
    comparison = compared.summary["comparison"]
    untested = [d for d in comparison["deltas"] if d["p"] is None]
    drawn = [f for f in page_parts(compared.content)["figures"] if f.name.startswith("deltas_")]
    assert any(w.startswith("not compared: ") for d in untested for w in d["warnings"])
    tested = [d for d in comparison["deltas"] if d["p"] is not None and not d["name"].startswith("Cmax")]
    errors = [d for d in tested if d["family"] != "questionnaire" and "WeightedKappa" not in d["name"]]
    assert sum(len(f.table.rows) for f in drawn) == len(errors) > 60  # shares and agreement have axes of their own
    assert len({row[0] for f in drawn if f.name == "deltas_items_error" for row in f.table.rows}) == 8
    for row in (row for f in drawn for row in f.table.rows):
        named = row[0] if row[1] == "any" else f"{row[0]}[confidence={row[1]}]"
        assert named not in {d["name"] for d in untested}
        assert row[6] in {"better", "worse", "no difference shown"}
    words = " ".join(compared.walk.text.split())
    assert "refused MAE: the two answer different shares of the items" in words
    assert words.count("not tested") >= 1


def test_nobody_can_be_named_from_a_page(compared: Made) -> None:
    everything = compared.page + json.dumps(compared.content.to_dict())
    assert "subject-" in (compared.folder / "items.csv").read_text()
    assert "(first: 'subject-" in (compared.folder / "summary.json").read_text()
    assert "subject-" not in everything
    raw = pl.read_csv(compared.folder / "items.csv", infer_schema=False)["cluster_id"].to_list()
    hidden = compared.content.items["items"]["cluster_id"]
    assert len(set(hidden)) == len(set(raw))
    named = dict(zip(raw, hidden, strict=True))
    assert [named[one] for one in by_number(set(raw))] == sorted(set(hidden))
    assert set(compared.content.items["against_items"]["cluster_id"]) == set(hidden)


def test_ids_are_shown_only_when_that_is_asked_for(compared: Made) -> None:
    shown_ids = made(compared.folder, show_ids=True)
    assert "subject-" in json.dumps(shown_ids.content.to_dict())
    assert "Shown as in the data." in shown_ids.walk.text
    assert shown_ids.content.summary == (compared.folder / "summary.json").read_text()


@pytest.mark.parametrize(
    "note",
    [
        "it's.json: 2 left out (first: 'secret').",
        'a (first: "secret")',
        "(first: secret)",
        "'known' and (first: 'secret')",
    ],
)
def test_a_note_hides_whom_it_names(note: str) -> None:
    hidden = Participants({"known": "p1-0"}, b"key").note(note.replace("first: secret", "first: 4711"))
    assert "secret" not in hidden
    assert "4711" not in hidden
    assert "known" not in hidden
    assert "x-" in hidden


def test_the_items_are_carried_whole(compared: Made) -> None:
    for name in ("items", "against_items"):
        frame = pl.read_csv(compared.folder / f"{name}.csv", infer_schema=False).fill_null("")
        columns = compared.content.items[name]
        assert list(columns) == frame.columns
        for column in frame.columns[1:]:
            assert columns[column] == frame[column].to_list()


def test_hostile_names_stay_text(hostile: Made) -> None:
    assert len([script for script in hostile.walk.scripts if "type" not in script]) == SCRIPTS
    assert hostile.walk.handlers == []
    assert f"Compared with {EVIL}" in " ".join(hostile.walk.text.split())
    assert EVIL not in hostile.page
    assert "<img" not in hostile.page.partition("evidentia-vega")[0]


def test_long_names_stay_apart_in_figures(hostile: Made) -> None:
    view = SelectiveView(hostile.content)
    assert len(set(view.labels.values())) == len(hostile.summary["dataset"]["signals"]) == 5
    assert max(map(len, view.labels.values())) < 50
    assert labels(["", "a b", "a  b"]) == {"": "(no name)", "a b": "a b", "a  b": "a b (2)"}
    drawn = json.dumps([figure.drawn({}) for figure in page_parts(hostile.content)["figures"]])
    assert "n" * 50 not in drawn
    assert "m" * 50 not in drawn


@pytest.mark.slow
def test_every_figure_can_be_drawn(compared: Made, hostile: Made, tmp_path: Path) -> None:
    for one in (compared, hostile):
        figures = page_parts(one.content)["figures"]
        assert len({figure.name for figure in figures}) == len(figures) > 8
        for text in images(figures, ("svg",)).values():
            assert b"<svg" in text
            assert b"<script" not in text


def test_a_system_that_answers_nothing_is_not_made_to_look_good(tmp_path: Path) -> None:
    table = hostile_table().select("cluster_id", "item", "gt", pred=pl.lit(None, pl.Float64), confidence="nan")
    selective.evaluate(table, item_max=3, **OPTIONS).save(tmp_path / "silent")
    silent = made(tmp_path / "silent")
    assert "Nothing is answered." in silent.walk.text
    assert "no rank" in silent.walk.text
    assert "there is no curve to draw" in silent.walk.text
    assert [figure.name for figure in page_parts(silent.content)["figures"]] == ["items"]
    areas = [n for n in silent.walk.of("data-of") if n.marks["data-of"].startswith("AURC") and n.text == "0.0000"]
    assert areas


def test_no_resamples_few_measures_and_another_loss_have_a_page(tmp_path: Path) -> None:
    run = synthetic_phq8(seed=5, participants=6)
    selective.evaluate(run, mode="few_shot", seed=1, resamples=0, measures=["MAE", "AURC"]).save(tmp_path / "few")
    few = made(tmp_path / "few")
    assert "No resamples, so no intervals." in few.walk.text
    assert [n for n in few.walk.of("data-of") if n.marks["data-field"] == "ci"] == []
    selective.evaluate(run, mode="few_shot", loss="zero_one", coverage=[0.25], ci=0.9, **OPTIONS).save(
        tmp_path / "loss"
    )
    loss = made(tmp_path / "loss")
    words = " ".join(loss.walk.text.split())
    assert "Error at 25 % coverage" in words
    assert "the numbers of this result use the loss zero_one" in words
    assert "90 % interval" in words


def test_the_same_folder_gives_the_same_bytes_and_a_page_gives_itself(
    compared: Made, alone: Made, tmp_path: Path
) -> None:
    for place, one in enumerate((compared, alone)):
        shutil.copytree(one.folder, tmp_path / str(place))
        assert render(read_content(tmp_path / str(place))) == one.page
        assert render(unpack(one.page)) == one.page
        assert len(one.page.encode()) < 3_000_000


def test_curves_are_drawn_with_at_most_500_points() -> None:
    rows = [(k, k / 7) for k in range(12_345)]
    kept = thinned(rows)
    assert len(kept) == MOST_POINTS
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])
    assert thinned(rows[:500]) == rows[:500]
    assert thinned([]) == []


def test_ids_and_signals_that_a_spreadsheet_would_run_are_carried_as_they_are(tmp_path: Path) -> None:
    rows = [(f"=p{i}", item, 1, float(item), 0.5) for i in range(3) for item in range(2)]
    table = pl.DataFrame(rows, schema=["cluster_id", "item", "gt", "pred", "=sure"], orient="row")
    result = selective.evaluate(table, confidence="=sure", item_max=3, **OPTIONS)
    result.save(tmp_path / "formulas", force=False)
    carried = read_content(tmp_path / "formulas", show_ids=True).items["items"]
    assert set(carried["cluster_id"]) == {"=p0", "=p1", "=p2"}
    assert "=sure" in carried
