"""Results of other questionnaires than PHQ-8 verify from their folders alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evidentia import selective
from evidentia.verify.folder import ResultFolder
from evidentia.verify.selective import check_selective
from evidentia.verify.tally import Tally
from evidentia.verifying import verify_result
from selective.questionnaires import ITEMS, random_run

ONE_RANGE = tuple((own, 1, 9, turned) for own, _, _, turned in ITEMS)


@pytest.mark.parametrize("items", [ITEMS, ONE_RANGE], ids=["ranges of their own", "one range"])
@pytest.mark.parametrize("against", [None, "second"])
def test_a_run_of_another_questionnaire_verifies(
    items: tuple[tuple[str, int, int, bool], ...], against: str | None, tmp_path: Path
) -> None:
    run = random_run(3, items=items)
    result = selective.evaluate(run, mode="first", against_mode=against, seed=1, resamples=40)
    result.save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["options"]["instrument"] == run["run_metadata"]["instrument"]
    assert result.dataset["instrument"] == manifest["options"]["instrument"]
    assert result.dataset["unit"] == "participant"
    verification = verify_result(tmp_path / "out")
    assert verification.passed, verification


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questionnaire") / "out"
    selective.evaluate(random_run(4), mode="first", seed=1, resamples=30).save(folder)
    return folder


def mismatches(folder: Path) -> list[str]:
    tally = Tally()
    check_selective(ResultFolder(folder), tally)
    return [mismatch.where for mismatch in tally.mismatches]


def test_a_sound_result_has_no_mismatch(sound: Path) -> None:
    assert mismatches(sound) == []


@pytest.mark.parametrize("table", ["tables/by_item", "tables/confusion", "tables/cut_offs", "figures/totals"])
def test_an_edited_cell_of_a_table_is_noticed(sound: Path, table: str, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "out")
    path = tmp_path / "out" / f"{table}.csv"
    head, first, *rest = path.read_text(encoding="utf-8").splitlines()
    cells = first.split(",")
    cells[2] = "77"
    path.write_text("\n".join([head, ",".join(cells), *rest]) + "\n", encoding="utf-8")
    assert any(table in where for where in mismatches(tmp_path / "out"))


@pytest.mark.parametrize(("key", "value"), [("reversed", False), ("high", 4), ("low", -1)])
def test_another_range_or_direction_in_the_manifest_is_noticed(
    sound: Path, key: str, value: object, tmp_path: Path
) -> None:
    shutil.copytree(sound, tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["options"]["instrument"]["items"][1][key] = value
    path.write_text(json.dumps(manifest), encoding="utf-8")
    places = mismatches(tmp_path / "out")
    assert any("Total" in where for where in places)
    assert any("instrument" in where for where in places)


def test_another_count_of_decided_people_is_noticed(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "out")
    path = tmp_path / "out" / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    summary["measures"]["TotalDecided@cut=4"]["details"]["undecided"] += 1
    path.write_text(json.dumps(summary), encoding="utf-8")
    assert "summary.json: measures: TotalDecided@cut=4: details: undecided" in mismatches(tmp_path / "out")


@pytest.mark.parametrize(
    "options",
    [
        {"ci_method": "bca"},
        {"resamples": 0},
        {"loss": "squared"},
        {"measures": "WeightedKappa,AURC,MAE[item=Fear],TotalSensitivity(bound=low)@cut=5"},
    ],
    ids=str,
)
@pytest.mark.parametrize("abstained", [0.0, 0.4, 1.0])
def test_every_way_of_asking_verifies(options: dict[str, Any], abstained: float, tmp_path: Path) -> None:
    run = random_run(6, participants=12, abstained=abstained)
    selective.evaluate(run, mode="first", seed=1, **{"resamples": 30} | options).save(tmp_path / "out")
    assert mismatches(tmp_path / "out") == []
