"""The tables of a selective result say what its summary says, unrounded in CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cli.abstaining import FEW, Abstaining, changed, silent
from cli.command import evidentia
from evidentia.results import loads


@pytest.fixture(scope="module")
def out(runs: Abstaining, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables") / "out"
    assert evidentia("selective", runs.few, "--against", runs.zero, *FEW, "-q", "-o", folder).code == 0
    return folder


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def summary(folder: Path) -> dict:
    return loads((folder / "summary.json").read_text(encoding="utf-8"))


def text(value: object) -> str:
    return "" if value is None else str(value)


def test_every_number_is_in_the_table_of_measures(out: Path) -> None:
    measures = {name: entry for name, entry in summary(out)["measures"].items() if "[item=" not in name}
    found = rows(out, "measures")
    assert len(found) == len(measures)
    for row, (name, entry) in zip(found, measures.items(), strict=True):
        low, high = entry["ci"] or (None, None)
        assert name.partition("[")[0] == row["measure"]
        assert row["confidence"] == entry["details"].get("confidence", "")
        assert [row["value"], row["ci_low"], row["ci_high"]] == [text(v) for v in (entry["value"], low, high)]
        assert (row["degenerate"], row["definition"]) == (text(entry["degenerate"]), entry["definition"])
        assert row["warnings"] == "; ".join(entry["warnings"])


def test_items_stand_in_a_table_of_their_own_with_confusion_matrices_and_cut_offs_beside(out: Path) -> None:
    measures, dataset = summary(out)["measures"], summary(out)["dataset"]
    items = [item["id"] for item in dataset["instrument"]["items"]]
    found = rows(out, "by_item")
    assert [row["item"] for row in found] == [item for item in items for _ in range(3)]
    for row in found:
        entry = measures[f"{row['measure']}[item={row['item']}]"]
        assert (row["value"], row["n"]) == (text(entry["value"]), str(entry["n"]))
    matrix = [row for row in rows(out, "confusion") if row["item"] == "Sleep"]
    heads = [*(f"predicted {score}" for score in range(4)), "abstained"]
    cells = [[int(row[head]) for head in heads] for row in matrix]
    assert cells == measures["WeightedKappa[item=Sleep]"]["details"]["confusion"]
    assert sum(map(sum, cells)) == dataset["participants"]
    cut_offs = rows(out, "cut_offs")
    assert len(cut_offs) == 4 * 5
    decided = next(row for row in cut_offs if row["measure"] == "TotalDecided@cut=10")
    assert sum(int(decided[key]) for key in ("above", "below", "undecided")) == dataset["participants"]


def test_matched_coverage_and_ties_are_those_of_the_measures(out: Path) -> None:
    measures = summary(out)["measures"]
    matched = rows(out, "matched_coverage")
    assert len(matched) == 2 * 10
    for row in matched:
        entry = measures[f"MAE@coverage={float(row['coverage']):g}[confidence={row['confidence']}]"]
        assert (row["value"], row["degenerate"]) == (text(entry["value"]), text(entry["degenerate"]))
    ties = rows(out, "tie_sensitivity")
    assert {(row["measure"], row["confidence"]) for row in ties} == {
        (measure, signal) for measure in ("AURC", "AUGRC", "AUGRC(loss=abs)") for signal in ("llm", "total_evidence")
    }
    for row in ties:
        assert float(row["best"]) <= float(row["expected"]) <= float(row["worst"])
        assert float(row["best"]) <= float(row["in the given order"]) <= float(row["worst"])


def test_every_delta_is_in_the_table_of_its_family_with_its_warnings(out: Path) -> None:
    comparison = summary(out)["comparison"]
    for family in ("measures", "coverage", "truncated"):
        deltas = [delta for delta in comparison["deltas"] if delta["family"] == family]
        found = rows(out, f"deltas_{family}")
        assert len(found) == len(deltas) > 1
        for row, delta in zip(found, deltas, strict=True):
            assert row["delta"] == text(delta["delta"])
            assert row["verdict"] == delta["verdict"]
            assert row["warnings"] == "; ".join(delta["warnings"])
    assert [(row["coverage"], row["valid"]) for row in rows(out, "coverages")] == [
        (str(row["coverage"]), "yes" if row["valid"] else "no") for row in comparison["coverages"]
    ]


def test_latex_tables_round_and_leave_long_words_to_the_csv(out: Path) -> None:
    for path in (out / "tables").glob("*.tex"):
        content = path.read_text(encoding="utf-8")
        assert "nan" not in content.lower().replace("degenerate", "")
        assert content.startswith("% needs \\usepackage{booktabs}\n")
    assert "not compared: the two answer different shares" in (out / "tables" / "deltas_measures.tex").read_text()


def test_a_run_that_answers_nothing_has_no_rank(runs: Abstaining, tmp_path: Path) -> None:
    nothing = changed(runs.few, tmp_path / "nothing.json", silent)
    assert evidentia("selective", nothing, *FEW, "-q", "-o", tmp_path / "out").code == 0
    found = rows(tmp_path / "out", "signals")
    assert [row["rank"] for row in found] == ["", ""]
    assert all(row["degenerate"] for row in found)
