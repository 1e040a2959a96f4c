"""The page of a comparison: it says what comparison.json says, in words that claim no more, whatever systems are called."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

import evidentia
from compare.systems import gated, save, system
from evidentia.report.page import Content, read_content, render, unpack
from evidentia.report.page.comparison_page import comparison_page
from evidentia.report.page.render import page_parts
from evidentia.report.page.words import sentences as said_of
from evidentia.synth import synthetic_run

ODD = ("<script>alert(1)</script>\"'|&", "</script><img src=x onerror=alert(2)>", "X" * 10_000)
ODD_CRITERION = "<b onclick=alert(3)>A.1</b> [x]"
LESS_IS_BETTER = " \N{DOWNWARDS ARROW}"
SIDES = ("baseline", "system")
EASY = {"system": 0.9, "better": 0.4, "best": 0.2}


class Walk(HTMLParser):
    """The parts of a page that say where their number comes from, the tags, and the words outside scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.numbers: list[dict[str, str]] = []
        self.counts: list[tuple[dict[str, str], str]] = []
        self.tags: Counter[str] = Counter()
        self.handlers: list[str] = []
        self.words: list[str] = []
        self._open: dict[str, str] | None = None
        self._script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self._script = tag in {"script", "style"}
        self.handlers += [name for name in found if name.startswith("on")]
        self._open = None
        if "data-of" in found or "data-count" in found:
            self._open = found | {"text": ""}
            (self.numbers if "data-of" in found else self.counts).append(self._open)  # type: ignore[arg-type]

    def handle_endtag(self, tag: str) -> None:
        self._open, self._script = None, False

    def handle_data(self, data: str) -> None:
        if not self._script:
            self.words.append(data)
        if self._open is not None:
            self._open["text"] += data


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("comparisons")
    results = [save(system(difficulty), home / name) for name, difficulty in EASY.items()]
    evidentia.compare(*results[:2], measures="all", resamples=300, out=home / "two", report=False)
    evidentia.compare(*results, resamples=8000, out=home / "first", report=False)
    evidentia.compare(*results, resamples=300, successive=True, out=home / "steps", report=False)
    return home


@pytest.fixture(scope="module", params=["two", "first", "steps"])
def content(request: pytest.FixtureRequest, home: Path) -> Content:
    return read_content(home / request.param)


def key(delta: dict) -> str:
    return f"{delta['name']}|{delta['system']}|{delta['baseline']}"


def test_every_number_in_the_page_is_the_one_in_the_comparison(content: Content) -> None:
    deltas = {key(delta): delta for delta in content.numbers["deltas"]}
    seen = Counter()
    for number in Walk(render(content)).numbers:
        of, field = number["data-of"], number["data-field"]
        source = content.numbers if of == "comparison" else deltas[of]
        assert json.loads(number["data-value"]) == source[field], (of, field)
        seen[of, field] += 1
    for name, delta in deltas.items():
        for field in ("baseline_value", "system_value", "delta", "ci", "p", "p_holm", "n"):
            assert seen[name, field] >= 1, (name, field)
        assert (seen[name, "system_n"] >= 1) == (delta["n"] != delta["system_n"])
    assert seen["comparison", "queries"] == seen["comparison", "posts"] == 1


def test_what_is_shown_is_the_number_rounded(content: Content) -> None:
    compared = 0
    for number in Walk(render(content)).numbers:
        value = json.loads(number["data-value"])
        values = value if isinstance(value, list) else [value]
        shown = [float(part) for part in re.findall(r"[-+]?[0-9][0-9,]*\.?[0-9]*", number["text"].replace(",", ""))]
        if value is None:
            assert number["text"] == "\N{EN DASH}"
            continue
        if number["text"].startswith("<"):
            assert value < shown[0]
            continue
        assert shown == pytest.approx(values, rel=0, abs=max(5.001e-5, *(0.005001 * (abs(v) >= 10) for v in values)))
        compared += 1
    assert compared > 500


def test_the_badges_count_the_verdicts(content: Content) -> None:
    numbers = content.numbers
    counts = Counter((d["system"], d["family"], d["verdict"]) for d in numbers["deltas"])
    badges = Walk(render(content)).counts
    assert len(badges) >= 8 * (len(numbers["systems"]) - 1)
    for badge in badges:
        system_name = numbers["systems"][int(badge["data-pair"])]
        assert int(badge["text"]) == counts[system_name, badge["data-family"], badge["data-count"]]
    assert sum(int(badge["text"]) for badge in badges) == len(numbers["deltas"])


def test_the_same_content_gives_the_same_page_and_the_page_carries_it(content: Content) -> None:
    page = render(content)
    assert render(content) == page
    assert unpack(page) == content
    assert render(unpack(page)) == page
    assert unpack(page).summary == content.summary


def test_a_tie_is_never_called_an_equality(content: Content) -> None:
    words = " ".join(Walk(render(content)).words).lower()
    assert "no difference shown is not proof that there is none" in words
    assert not re.search(r"\b(equal|equally|same performance|as good as|tie|ties|tied)\b", words)


def test_headlines_say_who_is_better_or_worse(home: Path) -> None:
    page = comparison_page(read_content(home / "first"))
    for versus in page["compared"]:
        for sentence in versus.sentences:
            verdict = sentence.delta["verdict"]
            assert (sentence.who == versus.system) == (verdict in {"win", "loss", "differs"})
            assert sentence.does.startswith("No difference shown") == (verdict == "tie")
    ranks = [s for v in page["compared"] for s in v.sentences if s.delta["name"] == "nDCG@10"]
    assert [(s.who, s.does) for s in ranks] == [("better", "ranks better"), ("best", "ranks better")]


def test_a_small_p_that_correction_takes_away_is_told(home: Path) -> None:
    sentences = comparison_page(read_content(home / "two"))["compared"][0].sentences
    told = {s.delta["name"]: s for s in sentences}["nDCG@10"]
    (more,) = said_of([{**told.delta, "verdict": "tie", "p": 0.04}], 0.05)
    assert more.does == "No difference shown after correction in ranking"


def test_what_is_undefined_is_not_drawn_and_says_so(tmp_path: Path) -> None:
    silent, loud = gated(["NEG"] * 40, [1, 0] * 20), gated(["POS", "NEG"] * 20, [1, 0] * 20)
    out = tmp_path / "out"
    evidentia.compare(silent, loud, measures=["AlertPrecision"], resamples=20, out=out, report=False)
    content = read_content(out)
    assert [figure.name for figure in page_parts(content)["figures"]] == ["verdicts"]
    words = " ".join("".join(Walk(render(content)).words).split())
    assert "Not to be compared in alerts that are right: AlertPrecision has no difference" in words
    assert "undefined for at least one of the two" in words


def test_the_figures_draw_the_deltas(content: Content) -> None:
    numbers = content.numbers
    figures = {figure.name: figure for figure in page_parts(content)["figures"]}
    pairs = len(numbers["systems"]) - 1
    expected = {f"{kind}_{place}" for kind in ("forest", "dumbbells") for place in range(1, pairs + 1)}
    assert expected | {"forest_units", "verdicts"} <= set(figures)
    assert ("steps" in figures) == (numbers["design"] == "successive")
    deltas = {key(delta): delta for delta in numbers["deltas"]}
    for name, figure in figures.items():
        if not name.startswith("forest"):
            continue
        for measure, baseline, of, before, after, delta, low, high, p, _, n in figure.table.rows:
            source = deltas[f"{measure.removesuffix(LESS_IS_BETTER)}|{of}|{baseline}"]
            assert (before, after, delta) == (source["baseline_value"], source["system_value"], source["delta"])
            assert ([low, high], p, n) == (source["ci"] or [None, None], source["p_holm"], source["n"])
    assert sum(row[3] for row in figures["verdicts"].table.rows) == len(numbers["deltas"])


def test_counts_and_shares_do_not_share_an_axis(home: Path) -> None:
    figures = {figure.name: figure for figure in page_parts(read_content(home / "two"))["figures"]}
    shares, others = ({str(row[0]) for row in figures[name].table.rows} for name in ("forest_1", "forest_units"))
    assert {"AUROC", "nDCG@10"} <= shares
    assert "SelectedK" in others
    assert not shares & others


def test_the_steps_start_where_the_first_configuration_stands(home: Path) -> None:
    content = read_content(home / "steps")
    rows = [row for row in page_parts(content)["figures"][0].table.rows if row[0] == "nDCG@10"]
    assert [row[-2] for row in rows] == ["0. system", "1. better", "2. best"]
    first, second = (d for d in content.numbers["deltas"] if d["name"] == "nDCG@10")
    assert [row[-1] for row in rows] == [first["baseline_value"], first["system_value"], second["system_value"]]
    assert [list(row[6:8]) for row in rows] == [[None, None], first["ci"], second["ci"]]


def test_a_comparison_without_a_design_is_one_against_the_first(home: Path) -> None:
    content = read_content(home / "first")
    older = {name: value for name, value in content.numbers.items() if name != "design"}
    page = comparison_page(replace(content, summary=json.dumps(older)))
    assert not page["successive"]
    assert [versus.baseline for versus in page["compared"]] == ["system", "system"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Content:
    home = tmp_path_factory.mktemp("hostile")
    runs = []
    for difficulty in EASY.values():
        frame = system(difficulty)
        renamed = frame.with_columns(frame["criterion_id"].replace("A.1", ODD_CRITERION))
        runs.append(evidentia.read_run(renamed))
    evidentia.compare(*runs, names=ODD, resamples=50, successive=True, out=home / "out", report=False)
    return read_content(home / "out")


def test_hostile_names_are_words_and_nothing_else(hostile: Content, home: Path) -> None:
    page = render(hostile)
    walk, plain = Walk(page), Walk(render(read_content(home / "steps")))
    assert walk.handlers == []
    assert walk.tags["script"] == plain.tags["script"]
    assert (walk.tags["img"], walk.tags["b"]) == (0, plain.tags["b"])
    assert "<script>alert(1)" not in page
    assert "</script><img" not in page
    words = "".join(walk.words)
    assert ODD[0] in words
    assert ODD_CRITERION in words
    assert render(unpack(page)) == page


def test_a_name_of_ten_thousand_letters_is_cut_beside_numbers_but_not_in_the_result(hostile: Content) -> None:
    page = render(hostile)
    assert "X" * 200 not in re.sub(r"<tr><th scope=\"row\"><bdi>X+</bdi>", "", page)
    assert len(page) < 3_000_000
    assert unpack(page).numbers["systems"][2] == ODD[2]


def test_the_page_shows_no_query(content: Content) -> None:
    assert (content.queries, content.errors, content.texts) == ({}, {}, {})
    assert "post-0" not in render(content)


def test_every_system_is_drawn_on_the_same_axes(content: Content) -> None:
    figures = {figure.name: figure.table for figure in page_parts(content)["figures"]}
    names = content.numbers["systems"]
    depths = {d["name"] for d in content.numbers["deltas"] if re.fullmatch(r"Recall@\d+", d["name"])}
    drawn = ("roc_systems", "pr_systems", "reliability_systems", *(["recall_systems"] if len(depths) > 1 else []))
    assert ("recall_systems" in figures) == (len(depths) > 1)
    for name in drawn:
        assert list(dict.fromkeys(row[0] for row in figures[name].rows)) == names
    values = {
        d[f"{side}"]: d[f"{side}_value"] for d in content.numbers["deltas"] if d["name"] == "AUROC" for side in SIDES
    }
    for system_name in names:
        points = [row[1:] for row in figures["roc_systems"].rows if row[0] == system_name]
        area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
        assert area == pytest.approx(values[system_name], abs=1e-9)
    if len(depths) < 2:
        return
    recall = {(row[0], row[1]): row[2] for row in figures["recall_systems"].rows}
    for delta in content.numbers["deltas"]:
        if delta["name"] == "Recall@5":
            assert recall[delta["system"], 5] == delta["system_value"]


def test_names_of_digits_and_names_too_long_to_be_told_apart_have_their_curves(tmp_path: Path) -> None:
    runs = [synthetic_run(seed=7, posts=30, criteria=2, positives=None).per_query.drop("state")] * 3
    names = ["01", "x" * 70 + "a", "x" * 70 + "b"]
    evidentia.compare(*runs, names=names, measures="AUROC", resamples=20, out=tmp_path / "out", report=False)
    figures = {figure.name: figure for figure in page_parts(read_content(tmp_path / "out"))["figures"]}
    drawn = list(dict.fromkeys(row[0] for row in figures["roc_systems"].table.rows))
    assert [name[:5] for name in drawn] == ["0. 01", "1. xx", "2. xx"]
    assert "recall_systems" not in figures  # no depth was compared
