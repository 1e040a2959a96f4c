"""Names from a file of a predictor that may abstain become text everywhere, or are refused: never a formula or a command."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from evidentia import selective
from evidentia.results import loads
from evidentia.tables import read_items

from .abstaining import FEW, Abstaining, changed, experiment
from .command import contents, evidentia, refused

NASTY = (
    "=HYPERLINK(1)",
    "[bold]x[/bold]",
    "\\input{/etc/passwd}",
    "50% & $x$ #1 ~^",
    "'-2+3",
    "say 'hi' | <b>",
    "self",
)
LATEX = re.compile(r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textquotedbl)\{\}")


def hostile(runs: Abstaining, target: Path) -> Path:
    """A run with such participant ids, mode and signals."""

    def rename(result: dict) -> None:
        for at, signals in enumerate(result["item_signals"].values()):
            signals |= {name: (at * place) % 5 for place, name in enumerate(NASTY, 2)}

    document = json.loads(changed(runs.few, target, rename).read_text())
    one = experiment(document, "few_shot")
    one["results"]["mode"] = one["provenance"]["mode"] = NASTY[1]
    good = [result for result in one["results"]["results"] if result["success"]]
    for result, name in zip(good, NASTY, strict=False):
        result["participant_id"] = name
    target.write_text(json.dumps(document))
    return target


@pytest.fixture(scope="module")
def folder(runs: Abstaining, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hostile")
    run = hostile(runs, home / "[red]run.json")
    ran = evidentia("selective", run, "--against", run, "--confidence", "all", *FEW, "-o", home / "out")
    assert (ran.code, ran.err) == (0, "")
    (home / "screen.txt").write_text(ran.out)
    return home / "out"


def test_the_screen_shows_them_as_they_are(folder: Path) -> None:
    screen = (folder.parent / "screen.txt").read_text()
    for name in NASTY:
        assert f"Ordered by {name}\n" in screen
    assert "mode [bold]x[/bold];" in " ".join(screen.split())
    assert "[red]run.json" in screen


def test_no_cell_of_any_csv_file_is_a_formula(folder: Path) -> None:
    looked = 0
    for name, content in contents(folder).items():
        if name.endswith(".csv"):
            for row in csv.reader(io.StringIO(content.decode(), newline="")):
                for cell in row:
                    looked += 1
                    assert not re.match(r"[=+@\t\r]", cell), (name, cell)
                    assert not cell.startswith("-") or isinstance(float(cell), float), (name, cell)
    assert looked > 1000


def test_latex_has_no_bare_special_letter(folder: Path) -> None:
    for path in (folder / "tables").glob("*.tex"):
        body = path.read_text(encoding="utf-8").split("\\toprule\n")[1].split("\\bottomrule")[0]
        for line in body.replace("\\midrule\n", "").splitlines():
            assert not line.startswith(("[", "*"))
            text = re.sub(r"\\textsuperscript\{\d+\}", "", line).removesuffix(r" \\")
            text = LATEX.sub("", text.replace("{[}", "").replace("{*}", ""))
            assert not set(re.sub(r"\\[&%$#_{}]", "", text)) & set("\\%$#_{}~^"), (path.name, line)


def test_every_number_can_be_asked_for_by_its_name(runs: Abstaining, folder: Path) -> None:
    names = loads((folder / "summary.json").read_text(encoding="utf-8"))["measures"]
    run = folder.parent / "[red]run.json"
    result = selective.evaluate(run, seed=1, resamples=0, confidence=["all"])
    assert [result[name].value for name in names if "eAURC" in name] == [
        entry["value"] for name, entry in names.items() if "eAURC" in name
    ]


def test_the_items_read_back_the_same(folder: Path) -> None:
    again, first = read_items(folder / "items.csv"), read_items(folder.parent / "[red]run.json")
    assert again.cluster_ids == first.cluster_ids
    assert list(again.signals) == list(first.signals)
    assert {*NASTY} <= {*again.signals}


def test_files_of_curves_have_plain_names(folder: Path) -> None:
    names = [path.name for path in (folder / "figures").iterdir() if path.name != "totals.csv"]
    assert len([name for name in names if name.startswith("against_")]) == len(names) / 2 == 2 * 12
    assert all(re.fullmatch(r"(against_)?risk_coverage_(band_)?\d+_[A-Za-z0-9_]{0,40}\.csv", name) for name in names)


@pytest.mark.parametrize("name", ["pred", "gt", "item", "cluster_id", "all", "", "x" * 81, "two\nlines", " padded"])
def test_a_signal_may_not_have_the_name(name: str, runs: Abstaining, tmp_path: Path) -> None:
    def add(result: dict) -> None:
        for signals in result["item_signals"].values():
            signals[name] = 1

    run = changed(runs.few, tmp_path / "run.json", add)
    ran = evidentia("selective", run, *FEW, "-o", tmp_path / "out")
    refused(ran, "1 signal under a name that cannot be used")
    assert "xxxxx" not in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["all", "", "x" * 81])
def test_a_column_of_a_table_with_such_a_name_is_passed_over(name: str, runs: Abstaining, tmp_path: Path) -> None:
    lines = runs.table.read_text().splitlines()
    text = "\n".join([f"{name},{lines[0]}", *(f"{at},{line}" for at, line in enumerate(lines[1:]))])
    (tmp_path / "run.csv").write_text(text + "\n")
    ran = evidentia("selective", tmp_path / "run.csv", "--confidence", "all", *FEW)
    assert ran.code == 0
    assert "Ordered by confidence" in ran.out
    assert ran.out.count("Ordered by") == 1
    assert "1 column of numbers passed over" in " ".join(ran.out.split())


@pytest.mark.parametrize("cell", ["x" * 201, '"two\nlines"'])
def test_a_text_in_place_of_an_id_is_refused_and_not_shown(cell: str, runs: Abstaining, tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text(runs.table.read_text().replace("ann", cell))
    ran = evidentia("selective", tmp_path / "run.csv", *FEW)
    refused(ran, "looks like a text")
    assert "xxxxx" not in ran.err


def test_hostile_ids_and_items_of_a_table_read_back_the_same(tmp_path: Path) -> None:
    rows = [[name, other, at % 3, 1, at / 7] for at, name in enumerate(NASTY) for other in NASTY]
    path = tmp_path / "run.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["cluster_id", "item", "pred", "gt", "confidence"], *rows])
    ran = evidentia("selective", path, *FEW, "-q", "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    again, first = read_items(tmp_path / "out" / "items.csv"), read_items(path)
    assert (again.cluster_ids, again.item) == (first.cluster_ids, first.item)
    with (tmp_path / "out" / "items.csv").open(newline="") as file:
        assert not [cell for row in csv.reader(file) for cell in row[:2] if re.match(r"[=+\-@]", cell)]


def test_modes_are_quoted_in_messages(runs: Abstaining, tmp_path: Path) -> None:
    document = json.loads(runs.both.read_text())
    document["experiments"][0]["results"]["mode"] = document["experiments"][0]["provenance"]["mode"] = "[red]a[/red]"
    (tmp_path / "run.json").write_text(json.dumps(document))
    refused(evidentia("selective", tmp_path / "run.json", *FEW), "2 experiments")
    long = json.loads(json.dumps(document).replace("[red]a[/red]", "m" * 300))
    (tmp_path / "long.json").write_text(json.dumps(long))
    ran = evidentia("selective", tmp_path / "long.json", *FEW)
    refused(ran, "is not a name")
    assert "mmmm" not in ran.err
