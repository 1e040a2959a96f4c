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
    refused(evidentia("report", out, "--format", "tiff"), "tiff", "html")
    refused(evidentia("report", out.parent), "not a result folder")


def test_figures_as_pdf_are_part_of_what_is_verified(out: Path) -> None:
    assert evidentia("report", out, "--format", "pdf").code == 0
    drawn = out / "figures" / "roc.pdf"
    assert drawn.read_bytes().startswith(b"%PDF-")
    assert evidentia("verify", out, "--quiet").code == 0
    (out / "figures" / "pr.pdf").write_bytes(drawn.read_bytes())
    ran = evidentia("verify", out)
    assert ran.code == 1
    assert "figures/pr.pdf" in ran.out


def test_a_title_stands_above_every_format_and_is_part_of_what_is_verified(out: Path) -> None:
    title = "Night shifts </title><b>2 & 3</b>"
    assert evidentia("report", out, "--format", "html,md,latex", "--title", title).code == 0
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<h1><bdi>Night shifts &lt;/title&gt;&lt;b&gt;2 &amp; 3&lt;/b&gt;</bdi></h1>" in page
    assert "<b>2" not in page
    assert (out / "report.md").read_text(encoding="utf-8").startswith("# Night shifts &lt;/title")
    assert r"2 \& 3" in (out / "report.tex").read_text(encoding="utf-8")
    assert evidentia("verify", out, "--quiet").code == 0
    assert evidentia("verify", out / "report.html", "--quiet").code == 0
    record = out / "report.json"
    record.write_text(record.read_text(encoding="utf-8").replace("Night shifts", "Day shifts"), encoding="utf-8")
    assert evidentia("verify", out, "--quiet").code == 1
    for wrong in ("", " ", "two\nlines", "x" * 201):
        refused(evidentia("report", out, "--title", wrong), "A title is one line of 1 to 200 letters")


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
