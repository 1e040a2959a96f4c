"""The checks of a written result: files against the manifest, tables against the summary, queries that were tampered with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evidentia.checks import check_folder, check_result, read_subject
from evidentia.errors import InputError
from evidentia.results import Finding

from .subjects import save, small_run


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("written") / "out")


@pytest.fixture
def out(written: Path, tmp_path: Path) -> Path:
    return shutil.copytree(written, tmp_path / "out")


def statuses(findings: tuple[Finding, ...]) -> dict[str, str]:
    return {finding.code: finding.status for finding in findings}


def replace_in(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_folder_is_read_back_as_the_result_that_was_written(written: Path) -> None:
    summary = json.loads((written / "summary.json").read_text())
    subject = read_subject(written)
    again = json.loads(subject.evaluation.to_json())
    assert again == summary
    found = statuses(check_folder(written))
    assert found["FILE001"] == "passed"
    in_memory = statuses(check_result(subject.evaluation, subject.run))
    assert {code: status for code, status in found.items() if code in in_memory} == in_memory


def test_a_changed_byte_is_noticed(out: Path) -> None:
    replace_in(out / "figures" / "roc.csv", "0.0", "0.1")
    assert statuses(check_folder(out))["FILE001"] == "failed"


def test_an_added_file_is_noticed(out: Path) -> None:
    (out / "tables" / "better.csv").write_text("AUROC\n0.99\n")
    finding = next(f for f in check_folder(out) if f.code == "FILE001")
    assert (finding.status, "tables/better.csv" in finding.message) == ("failed", True)


@pytest.mark.parametrize("table", ["measures", "folds", "criteria", "states", "evidence", "confusion"])
def test_a_changed_cell_of_a_table_is_noticed(out: Path, table: str) -> None:
    path = out / "tables" / f"{table}.csv"
    rows = path.read_text().splitlines()
    cells = rows[1].split(",")
    cells[1] = str(float(cells[1]) + 1)
    path.write_text("\n".join([rows[0], ",".join(cells), *rows[2:]]) + "\n")
    finding = next(f for f in check_folder(out) if f.code == "SAME001")
    assert (finding.status, f"tables/{table}.csv" in finding.message) == ("failed", True)


@pytest.mark.parametrize("table", ["attribution", "dynamic_k"])
def test_a_changed_charge_is_noticed(out: Path, table: str) -> None:
    path = out / "tables" / f"{table}.csv"
    rows = path.read_text().splitlines()
    cells = rows[1].split(",")
    cells[2] = str(float(cells[2]) + 1)
    path.write_text("\n".join([rows[0], ",".join(cells), *rows[2:]]) + "\n")
    assert statuses(check_folder(out))["LOSS001"] == "failed"


def test_queries_that_can_no_longer_be_read_fail_the_check_that_they_break(out: Path) -> None:
    line = (out / "per_query.csv").read_text().splitlines()[1]
    replace_in(
        out / "per_query.csv", line, line.replace("EVAL,false,", "EVAL,false,1").replace("EVAL,true,", "EVAL,true,1")
    )
    found = statuses(check_folder(out))
    assert found["PROB001"] == "failed"
    assert found["PICK001"] == "skipped"


@pytest.mark.sample(every=3)
@pytest.mark.parametrize(
    ("name", "key", "value", "code"),
    [
        ("AUROC", "definition", "Nonsense", "NAME001"),
        ("MAP@10", "definition", "MAP(norm=found,pop=positives,avg=pooled)@10", "NAME001"),
        ("AUROC", "value", 1.5, "RANGE001"),
        ("AUROC", "ci", [0.9, 0.1], "INT001"),
        ("Recall@10", "n", 240, "POP001"),
        ("FN(t=gate)", "value", 0.0, "SUM001"),
        ("Sensitivity(t=gate)", "value", 1.0, "SUM001"),
        ("nDCG@10[fold=1]", "value", 0.5, "SAME001"),
        ("AUPRC", "details", {"prevalence": 0.5}, "BASE001"),
    ],
)
def test_an_edited_number_fails_its_check(out: Path, name: str, key: str, value: object, code: str) -> None:
    summary = json.loads((out / "summary.json").read_text())
    summary["measures"][name][key] = value
    (out / "summary.json").write_text(json.dumps(summary))
    found = statuses(check_folder(out))
    assert found[code] == found["FILE001"] == "failed"


def test_an_edited_tuning_post_fails_its_check(out: Path) -> None:
    manifest = json.loads((out / "manifest.json").read_text())
    threshold = manifest["thresholds"][0]
    threshold["tuned_on_posts"] = [*threshold["tuned_on_posts"], _judged_post(out, threshold["fold"])]
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert statuses(check_folder(out))["TUNE001"] == "failed"


def _judged_post(out: Path, fold: str) -> str:
    rows = [line.split(",") for line in (out / "per_query.csv").read_text().splitlines()]
    return next(row[0] for row in rows[1:] if row[2] == fold)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a result folder"):
        check_folder(tmp_path)


def test_a_summary_that_is_not_ours_is_refused(out: Path) -> None:
    replace_in(out / "summary.json", '"profile": "contract"', '"profile": "mine"')
    with pytest.raises(InputError, match="not one that Evidentia wrote"):
        check_folder(out)


def test_the_run_in_memory_has_no_files_to_check() -> None:
    import evidentia

    codes = {finding.code for finding in evidentia.evaluate(small_run(), resamples=0).checks}
    assert "FILE001" not in codes
    assert {"SUM001", "TUNE001", "GOOD001"} <= codes
