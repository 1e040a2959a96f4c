"""A selective result is recomputed from its items alone: nothing differs, and whatever is edited is noticed."""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evidentia import selective
from evidentia.results import selective_layout as layout
from evidentia.synth.phq8 import synthetic_phq8
from evidentia.verify.folder import ResultFolder
from evidentia.verify.selective import check_selective
from evidentia.verify.tally import Tally

RESAMPLES = 60


def verified(folder: Path) -> Tally:
    tally = Tally()
    check_selective(ResultFolder(folder), tally)
    return tally


def table(seed: int) -> pl.DataFrame:
    """Clusters of different sizes, real-valued scores, abstentions, many ties."""
    chance = random.Random(seed)
    rows = [
        {
            "cluster_id": f"c{cluster}",
            "item": f"i{item}",
            "pred": None if chance.random() < 0.3 else round(5 * chance.random(), 2),
            "gt": round(5 * chance.random(), 2),
            "confidence": chance.randrange(4),
            "other": round(chance.random(), 1),
        }
        for cluster in range(12)
        for item in range(chance.randint(1, 6))
    ]
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selective") / "result"
    run = synthetic_phq8(seed=5, participants=14, failures=1)
    result = selective.evaluate(run, mode="few_shot", against_mode="zero_shot", seed=7, resamples=RESAMPLES)
    result.save(folder)
    return folder


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"confidence": "all"},
        {"confidence": "token_msp", "loss": "squared"},
        {"loss": "zero_one", "coverage": [0.55, 0.3, 29 / 56]},
        {"ci_method": "bca", "ci": 0.9},
        {"resamples": 0},
        {"measures": ["AURC", "MAE@coverage=0.5"]},
    ],
    ids=str,
)
def test_every_number_of_a_phq8_run_is_found_again(tmp_path: Path, options: dict[str, Any]) -> None:
    run = synthetic_phq8(seed=3, participants=12, failures=1)
    selective.evaluate(run, mode="few_shot", seed=11, **({"resamples": RESAMPLES} | options)).save(tmp_path / "out")
    tally = verified(tmp_path / "out")
    assert tally.mismatches == []
    assert tally.comparisons > (200 if options.get("measures") else 1000)


@pytest.mark.parametrize("options", [{}, {"item_max": 5.0}, {"item_max": 5.0, "loss": "abs_norm"}], ids=str)
def test_every_number_of_a_table_is_found_again(tmp_path: Path, options: dict[str, Any]) -> None:
    result = selective.evaluate(table(1), seed=11, resamples=RESAMPLES, confidence="all", **options)
    result.save(tmp_path / "out")
    assert verified(tmp_path / "out").mismatches == []


def test_every_difference_is_found_again(compared: Path) -> None:
    tally = verified(compared)
    assert tally.mismatches == []
    assert tally.comparisons > 5000


def edit_json(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "summary.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    return edit


def edit_cell(name: str, row: int, column: str, value: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        with (folder / name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows[row][column] != value
        rows[row][column] = value
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    return edit


def in_measure(name: str, key: str, value: object) -> Callable[[Path], None]:
    def change(content: dict[str, Any]) -> None:
        assert content["measures"][name][key] != value
        content["measures"][name][key] = value

    return edit_json(change)


def in_delta(place: int, key: str, value: object) -> Callable[[Path], None]:
    def change(content: dict[str, Any]) -> None:
        assert content["comparison"]["deltas"][place][key] != value
        content["comparison"]["deltas"][place][key] = value

    return edit_json(change)


def other_pred(folder: Path) -> None:
    with (folder / "items.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    row = next(at for at, row in enumerate(rows) if row["pred"] != "")
    edit_cell("items.csv", row, "pred", "3.0" if rows[row]["pred"] != "3.0" else "0.0")(folder)


def swapped(one: str, other: str) -> Callable[[Path], None]:
    def change(content: dict[str, Any]) -> None:
        measures = content["measures"]
        measures[one], measures[other] = measures[other], measures[one]

    return edit_json(change)


def in_deltas(key: str, value: object) -> Callable[[Path], None]:
    return edit_json(lambda content: [d.update({key: value}) for d in content["comparison"]["deltas"]] and None)


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def without_resamples(folder: Path) -> None:
    for name in ("summary.json", "manifest.json"):
        replaced(name, f'"resamples": {RESAMPLES}', '"resamples": 0')(folder)


def listed_too(folder: Path) -> None:
    (folder / "tables" / "headline.csv").write_text("AURC\n0.0\n", encoding="utf-8")
    replaced("manifest.json", '"files": {', '"files": {"tables/headline.csv": "0", ')(folder)


LLM = "AURC[confidence=llm]"
EDITS: dict[str, Callable[[Path], None]] = {
    "a value": in_measure(LLM, "value", 0.25),
    "a lower limit": in_measure(LLM, "ci", [0.0, 0.9]),
    "n": in_measure("Cmax", "n", 1),
    "participants of a number": in_measure("Cmax", "n_clusters", 5),
    "left-out replicates": in_measure("Cmax", "replicates_left_out", 3),
    "a mark": in_measure(LLM, "degenerate", "no item is predicted"),
    "a direction": in_measure("Cmax", "direction", "lower"),
    "another definition": in_measure(LLM, "definition", "AURC(order=confidence,ties=plateau,loss=abs)"),
    "a measure less": edit_json(lambda content: content["measures"].pop(LLM) and None),
    "a measure more": edit_json(
        lambda content: content["measures"].update({"MAE@coverage=0.99": content["measures"]["MAE"]})
    ),
    "ties": edit_json(lambda c: c["measures"][LLM]["details"]["tie_sensitivity"].update(worst=9.0)),
    "the seed": edit_json(lambda content: content.update(seed=8)),
    "predicted items": edit_json(lambda content: content["dataset"].update(predicted=1)),
    "a delta": in_delta(0, "delta", 0.5),
    "a delta's limits": in_delta(0, "ci", [-0.5, 0.5]),
    "p": in_delta(0, "p", 0.99),
    "a corrected p": in_delta(0, "p_holm", 0.001),
    "a verdict": in_delta(0, "verdict", "win"),
    "the baseline": in_delta(0, "baseline_value", 0.5),
    "the common coverage": edit_json(lambda content: content["comparison"].update(common_coverage=0.9)),
    "a coverage that is not reached": edit_json(lambda c: c["comparison"]["coverages"][-1].update(valid=True)),
    "a prediction": other_pred,
    "a truth": edit_cell("items.csv", 0, "gt", "7.0"),
    "a participant": edit_cell("items.csv", 0, "cluster_id", "1"),
    "a truth of the other run": edit_cell("against_items.csv", 0, "cluster_id", "1"),
    "a table's value": edit_cell("tables/measures.csv", 2, "value", "0.5"),
    "a table's name": edit_cell("tables/measures.csv", 2, "measure", "AUROC"),
    "a table's interval": edit_cell("tables/matched_coverage.csv", 0, "ci_low", "0.5"),
    "a rank": edit_cell("tables/signals.csv", 0, "rank", "2"),
    "a table's delta": edit_cell("tables/deltas_measures.csv", 0, "delta", "0.5"),
    "a point of a curve": edit_cell("figures/risk_coverage_1_llm.csv", 3, "risk", "0.123"),
    "two confidences swapped": swapped(LLM, "AURC[confidence=total_evidence]"),
    "two measures swapped": swapped("MAE", "Cmax"),
    "a plateau for a step": swapped(LLM, "AURC(ties=plateau)[confidence=llm]"),
    "no resamples, but intervals": without_resamples,
    "another alpha": edit_json(lambda content: content["comparison"].update(alpha=0.2)),
    "the sides swapped": in_deltas("baseline", "few_shot"),
    "a family of its own": in_delta(0, "family", "mine"),
    "directions turned": in_deltas("direction", "higher"),
    "other sizes": in_deltas("n", 9999),
    "a test left out": in_delta(0, "p", None),
    "a name of a delta": in_delta(0, "name", "AURC@C=common[confidence=total_evidence]"),
    "the comparison removed": edit_json(lambda content: content.pop("comparison") and None),
    "a LaTeX cell": replaced("tables/signals.tex", "1 & ", "2 & "),
    "a LaTeX head": replaced("tables/matched_coverage.tex", "coverage", "recall"),
    "a table more": listed_too,
    "a method": in_measure(LLM, "ci_method", "bca"),
    "a population": in_measure(LLM, "population", "predicted items"),
    "what was left out": in_measure("MAE", "left_out", {}),
    "a band": edit_cell("figures/risk_coverage_band_1_llm.csv", 3, "risk_low", "0.123"),
    "a point of the other run": edit_cell("figures/against_risk_coverage_2_total_evidence.csv", 3, "risk", "0.123"),
    "a band of the other run": edit_cell("figures/against_risk_coverage_band_1_llm.csv", 3, "joint_risk_high", "9.0"),
}


@pytest.mark.sample(every=16)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_is_noticed(compared: Path, tmp_path: Path, edit: Callable[[Path], None]) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(compared, copy)
    edit(copy)
    assert verified(copy).mismatches


def test_the_curves_of_the_other_run_rest_on_the_shared_participants(tmp_path: Path) -> None:
    both = table(1).with_columns(third=pl.col("gt"))
    left, right = both, both.with_columns(confidence=pl.lit(3) - pl.col("confidence"))
    left = left.filter(pl.col("cluster_id") != "c2")
    right = right.filter(pl.col("cluster_id") != "c5").with_columns(
        other=pl.when(pl.col("item") == "i0").then(None).otherwise(pl.col("other"))
    )
    options = {"seed": 3, "resamples": 20, "item_max": 5.0, "confidence": "all", "on_mismatch": "intersect"}
    selective.evaluate(left, against=right, names=("right", "left"), **options).save(tmp_path / "out")
    tally = verified(tmp_path / "out")
    assert tally.comparisons > 100
    assert tally.mismatches == []
    theirs = sorted(path.name for path in (tmp_path / "out" / "figures").glob("against_risk_coverage_[0-9]*"))
    assert theirs == ["against_risk_coverage_1_confidence.csv", "against_risk_coverage_3_third.csv"]
    shared = right.filter(pl.col("cluster_id") != "c2", pl.col("pred").is_not_null())
    drawn = pl.read_csv(tmp_path / "out" / "figures" / theirs[0])
    assert len(drawn) == len(shared)
    assert drawn["risk"][-1] == pytest.approx((shared["pred"] - shared["gt"]).abs().mean())


@pytest.mark.parametrize("bug", ["ranks", "limits", "rows"])
def test_a_bug_in_the_layout_of_the_tables_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    ranked, cells, build = layout.ranked_signals, layout._cells, layout._layout
    bugs = {
        "ranks": ("ranked_signals", lambda entries: ranked([{**e, "value": -(e["value"] or 0)} for e in entries])),
        "limits": ("_cells", lambda name, entry: cells(name, {**entry, "ci": entry["ci"] and entry["ci"][::-1]})),
        "rows": ("_layout", lambda name, title, columns, entries: build(name, title, columns, entries[1:])),
    }
    monkeypatch.setattr(layout, *bugs[bug])
    run = synthetic_phq8(seed=3, participants=12, failures=1)
    selective.evaluate(run, mode="few_shot", confidence="all", seed=11, resamples=RESAMPLES).save(tmp_path / "out")
    assert any("tables/" in mismatch.where for mismatch in verified(tmp_path / "out").mismatches)
