"""`evidentia report`: every format, ids and texts only on request, and nothing computed again."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders.runs import Files
from evidentia.report.page import unpack

from .command import contents, evidentia, refused

FEW = ("--measures", "AUROC,nDCG@10,SelectedK,EvidenceRecall", "--quiet")


@pytest.fixture
def out(files: Files, tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    assert evidentia("evaluate", files.per_query, "--candidates", files.candidates, "-o", folder, *FEW).code == 0
    assert not (folder / "report.html").exists()  # switched off for tests
    return folder


def test_a_report_is_drawn_beside_the_result_and_changes_none_of_its_files(out: Path) -> None:
    before = contents(out)
    ran = evidentia("report", out)
    assert (ran.code, "report.html" in ran.out) == (0, True)
    assert {"report.html", "figures/roc.svg", "figures/roc.png"} <= contents(out).keys()
    assert {name: data for name, data in contents(out).items() if name in before} == before
    page = (out / "report.html").read_bytes()
    assert evidentia("report", out, "--quiet").out == ""
    assert (out / "report.html").read_bytes() == page
    assert evidentia("verify", out, "--quiet").code == 0
    assert unpack((out / "report.html").read_text(encoding="utf-8")).verification is not None


def test_formats_are_chosen_and_a_wrong_one_is_refused(out: Path) -> None:
    assert evidentia("report", out, "--format", "md,latex").code == 0
    assert {"report.md", "report.tex"} <= contents(out).keys()
    assert not (out / "report.html").exists()
    refused(evidentia("report", out, "--format", "pdf"), "pdf", "html")
    refused(evidentia("report", out.parent), "not a result folder")


def test_ids_and_texts_are_in_the_page_only_on_request(out: Path, files: Files, tmp_path: Path) -> None:
    uids = pl.read_csv(files.candidates)["sent_uid"].unique().to_list()
    texts = tmp_path / "texts.csv"
    pl.DataFrame({"sent_uid": uids, "text": [f"words of number {i}" for i in range(len(uids))]}).write_csv(texts)

    def carried(*words: object) -> str:
        assert evidentia("report", out, "--format", "html", *words).code == 0
        return str(unpack((out / "report.html").read_text(encoding="utf-8")).to_dict())

    plain = carried()
    assert "words of number" not in plain
    assert uids[0] not in plain
    assert uids[0] in carried("--show-ids")
    assert "words of number" in carried("--include-text", texts)
