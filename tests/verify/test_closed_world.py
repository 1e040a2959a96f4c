"""`evidentia verify` overwrites nothing that it has not compared, and says of a report what was recorded of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import evidentia
from cli.command import contents, refused
from cli.command import evidentia as command
from evidentia.report import write_report
from evidentia.report.page import unpack
from evidentia.results import loads
from results.schemas import faults

from .made import small_run

PAGE = "report.html"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("closed")
    run = small_run(home / "run", posts=12, criteria=2, positives=8)
    evidentia.evaluate(evidentia.read_run(run / "per_query.csv"), resamples=10, report=False).save(home / "out")
    write_report(home / "out", formats=("html", "svg", "md"))
    return home / "out"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def page_of(folder: Path) -> str:
    return (folder / PAGE).read_text(encoding="utf-8")


def edited(path: Path, old: str, new: str) -> bytes:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path.read_bytes()


def number_of(folder: Path, name: str = "AUROC") -> str:
    return f"{loads((folder / 'summary.json').read_text())['measures'][name]['value']:.4f}"


def test_an_edited_page_is_named_and_left_in_place(folder: Path) -> None:
    assert command("verify", folder, "-q").code == 0
    forged = edited(folder / PAGE, f">{number_of(folder)}<", ">0.9999<")
    ran = command("verify", folder)
    assert ran.code == 1
    assert f"report.html: AUROC: value\n  reported   0.9999\n  recomputed {number_of(folder)}" in ran.out
    assert (folder / PAGE).read_bytes() == forged
    assert loads((folder / "verification.json").read_text())["mismatches"]


@pytest.mark.slow
def test_a_sound_page_of_a_result_that_fails_says_so(folder: Path) -> None:
    assert command("verify", folder, "-q").code == 0
    assert "Independently verified" in page_of(folder)
    forged = edited(folder / "report.md", number_of(folder), "0.9999")
    assert command("verify", folder, "-q").code == 1
    assert "Verification failed" in page_of(folder)
    assert (folder / "report.md").read_bytes() == forged
    write_report(folder, formats=("md",))
    assert command("verify", folder, "-q").code == 0
    assert "Independently verified" in page_of(folder)
    assert command("verify", folder, "-q", "--read-only").code == 0


def test_read_only_writes_nothing(folder: Path) -> None:
    before = contents(folder)
    assert command("verify", folder, "--read-only", "-q").code == 0
    assert contents(folder) == before
    refused(command("verify", folder, "--read-only", "--redraw"), "Nothing can be redrawn read-only")


@pytest.mark.slow
@pytest.mark.parametrize("key", ["evidentia", "vl_convert"])
def test_other_versions_are_not_compared_and_redraw_replaces_them(key: str, folder: Path) -> None:
    record = loads((folder / "report.json").read_text())
    for entry in record["formats"].values():
        entry[key] = "0.0.1"
    (folder / "report.json").write_text(json.dumps(record, indent=1) + "\n")
    forged = edited(folder / "report.md", number_of(folder), "0.9999")
    ran = command("verify", folder)
    assert ran.code == 1
    assert "recomputed not compared" in ran.out
    assert "0.0.1" in ran.out
    assert (folder / "report.md").read_bytes() == forged
    assert command("verify", folder, "--redraw", "-q").code == 0
    assert "0.9999" not in (folder / "report.md").read_text()
    assert command("verify", folder, "-q", "--read-only").code == 0


@pytest.mark.slow
def test_redraw_leaves_what_was_compared_and_differs(folder: Path) -> None:
    forged = edited(folder / "report.md", number_of(folder), "0.9999")
    assert command("verify", folder, "--redraw", "-q").code == 1
    assert (folder / "report.md").read_bytes() == forged


@pytest.mark.slow
def test_a_report_without_a_record_is_drawn_again_as_it_was(folder: Path) -> None:
    write_report(folder, formats=("html",), show_ids=True)
    (folder / "report.json").unlink()
    ran = command("verify", folder)
    assert ran.code == 1
    assert "there is no report.json" in ran.out
    assert command("verify", folder, "--redraw", "-q").code == 0
    assert unpack(page_of(folder)).ids == "shown"


@pytest.mark.slow
def test_options_are_recorded_and_followed(folder: Path, tmp_path: Path) -> None:
    uid = unpack_uid(folder)
    texts = tmp_path / "texts.csv"
    texts.write_text(f"sent_uid,text\n{uid},a sentence of somebody\n")
    write = ("report", folder, "--format", "html", "--show-ids", "--include-text", texts, "-q")
    assert command(*write).code == 0
    record = loads((folder / "report.json").read_text())
    assert faults("report", record) == []
    assert record["formats"]["html"]["ids"] == "shown"
    assert command("verify", folder, "-q").code == 0
    assert command("verify", folder, "-q", "--read-only", "--include-text", texts).code == 0
    texts.write_text(f"sent_uid,text\n{uid},another sentence\n")
    ran = command("verify", folder, "--read-only", "--include-text", texts)
    assert ran.code == 1
    assert "sentence of somebody" not in ran.out
    assert "another sentence" not in ran.out


@pytest.mark.slow
def test_sentences_that_were_changed_are_noticed(folder: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text(f"sent_uid,text\n{unpack_uid(folder)},a sentence of somebody\n")
    assert command("report", folder, "--format", "html", "--include-text", texts, "-q").code == 0
    record = (folder / "report.json").read_bytes()
    texts.write_text(texts.read_text().replace("somebody", "nobody"))
    assert command("report", folder, "--format", "html", "--include-text", texts, "-q").code == 0
    (folder / "report.json").write_bytes(record)
    ran = command("verify", folder, "--read-only")
    assert ran.code == 1
    assert "report.html: its sentences" in ran.out


def unpack_uid(folder: Path) -> str:
    """A sentence of a query that went wrong, so that the page shows it."""
    write_report(folder, formats=("html",), show_ids=True)
    content = unpack(page_of(folder))
    row = content.errors["rows"][0]["q"]
    cells = [content.queries[column][row] for column in ("gold_sent_uids", "ranked_sent_uids")]
    write_report(folder, formats=("html",))
    return next(cell for cell in cells if cell).split("|")[0]


def test_of_a_run_its_result_is_meant_and_a_link_is_none(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    shutil.copytree(folder, run / "result")
    assert evidentia.verify_result(run, read_only=True).passed
    shutil.rmtree(run / "result")
    (run / "result").symlink_to(folder)
    refused(command("verify", run), "is a link")


def test_a_report_layout_that_the_schema_knows(folder: Path) -> None:
    record: dict[str, Any] = loads((folder / "report.json").read_text())
    assert faults("report", record) == []
    for wrong in ({"schema": "x"}, {"formats": {}}, {"formats": {"pdf": record["formats"]["md"]}}, {"more": 1}):
        assert faults("report", record | wrong), wrong


@pytest.mark.sample(every=12)
@pytest.mark.parametrize("content", ["[", "[" * 100_000, '{"schema": NaN}', "\x00", '{"formats": []}'])
@pytest.mark.parametrize("name", ["report.json", "verification.json", "summary.json", "manifest.json"])
def test_a_file_that_is_no_json_is_told_without_a_traceback(name: str, content: str, folder: Path) -> None:
    (folder / name).write_text(content)
    ran = command("verify", folder, "--read-only")
    assert ran.code in {1, 2}
    assert "Traceback" not in ran.err


def test_a_key_given_twice_in_a_row_of_jsonl_is_refused(tmp_path: Path) -> None:
    rows = [{"post_id": f"p{i}", "criterion_id": "A", "has_evidence": i % 2, "prob": 0.5} for i in range(4)]
    lines = [json.dumps(row) for row in rows]
    lines[2] = lines[2].replace('"prob": 0.5', '"prob": 0.5, "prob": 0.9')
    (tmp_path / "run.jsonl").write_text("\n".join(lines) + "\n")
    ran = command("validate", tmp_path / "run.jsonl")
    assert ran.code in {1, 2}
    assert "1 line with a key given twice" in (ran.out + ran.err)
    assert "line 3" in (ran.out + ran.err)
    refused(command("evaluate", tmp_path / "run.jsonl", "-o", tmp_path / "out"), "given twice")
