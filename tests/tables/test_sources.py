"""JSON arrays, Excel files, standard input and plain Python: the same run from each, and what is wrong with some."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from cli.command import evidentia, program, refused
from evidentia.results import loads
from evidentia.tables import read_run, validate_run

from .conftest import Write, says, the_problem

ROWS = [
    {"post_id": "p1", "criterion_id": "A", "prob": 0.75, "gold_sent_uids": "s1|s2", "ranked_sent_uids": "s2|s1"},
    {"post_id": "p2", "criterion_id": "A", "prob": 1, "gold_sent_uids": None, "ranked_sent_uids": "s3"},
    {"post_id": "p10", "criterion_id": "A", "prob": 0.5, "gold_sent_uids": "s4", "ranked_sent_uids": "s5|s4"},
]
EXPECTED = read_run(pl.DataFrame(ROWS, schema_overrides={"prob": pl.Float64})).frame
CSV = b"post_id,criterion_id,prob,gold_sent_uids,ranked_sent_uids\np1,A,0.75,s1|s2,s2|s1\np2,A,1,,s3\np10,A,0.5,s4,s5|s4\n"


def sheet(rows: list[dict[str, object]], *further: list[dict[str, object]]) -> bytes:
    """A small Excel file with a sheet of each table, as its parts are said to be."""

    def cell(value: object) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    def data(rows: list[dict[str, object]]) -> str:
        lines = [list(rows[0]), *([row[name] for name in rows[0]] for row in rows)] if rows else []
        return "".join(f"<row>{''.join(map(cell, line))}</row>" for line in lines)

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbered = list(enumerate((rows, *further), 1))
    named = "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="r{n}"/>' for n, _ in numbered)
    targets = "".join(
        f'<Relationship Id="r{n}" Type="{rel}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n, _ in numbered
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{rel}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{targets}</Relationships>',
        **{
            f"xl/worksheets/sheet{n}.xml": f'<worksheet xmlns="{main}"><sheetData>{data(table)}</sheetData></worksheet>'
            for n, table in numbered
        },
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def parquet() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(ROWS, schema_overrides={"prob": pl.Float64}).write_parquet(buffer)
    return buffer.getvalue()


ARRAY = json.dumps(ROWS, indent=1).encode()
BYTES = {
    "run.csv": CSV,
    "run.tsv": CSV.replace(b",", b"\t"),
    "run.json": ARRAY,
    "run.json.gz": gzip.compress(ARRAY),
    "run.jsonl": "\n".join(map(json.dumps, ROWS)).encode(),
    "run.parquet": parquet(),
    "run.xlsx": sheet(ROWS),
}


@pytest.mark.parametrize("name", BYTES)
def test_every_file_gives_the_same_run_also_from_standard_input(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(BYTES[name])
    assert read_run(tmp_path / name).frame.equals(EXPECTED)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(BYTES[name])))
    run = read_run("-")
    assert run.frame.equals(EXPECTED)
    assert run.sources[0].name == "<stdin>"


PLAIN = {
    "rows": ROWS,
    "columns": {name: [row[name] for row in ROWS] for name in ROWS[0]},
    "tuples": {name: tuple(row[name] for row in ROWS) for name in ROWS[0]},
    "arrays": {name: np.array([row[name] for row in ROWS], object) for name in ROWS[0]},
    "series": {name: pl.Series([row[name] for row in ROWS], strict=False) for name in ROWS[0]},
    "rows that lack a key": [{k: v for k, v in row.items() if v is not None} for row in ROWS],
    "lists": [
        row | {"gold_sent_uids": (row["gold_sent_uids"] or "").split("|")[: row["gold_sent_uids"] is not None and 9]}
        for row in ROWS
    ],
    "nan for nothing": [row | {"gold_sent_uids": row["gold_sent_uids"] or float("nan")} for row in ROWS],
}


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_python_is_a_table(kind: str) -> None:
    assert read_run(PLAIN[kind]).frame.equals(EXPECTED)


def test_ids_of_which_some_are_numbers_are_texts() -> None:
    run = read_run({"post_id": [1, "x"], "criterion_id": ["A", "A"], "has_evidence": [True, False]})
    assert run.queries.post_ids == ("1", "x")


@pytest.mark.parametrize("values", [[True, 2], [0.5, "a"], [["a"], "b"], [object(), object()]])
def test_a_column_of_several_types_is_refused(values: list[object]) -> None:
    source = {"post_id": [1, 2], "criterion_id": ["A", "A"], "has_evidence": [1, 0], "prob": values}
    assert [one.code for one in validate_run(source)] in (["MIXED_TYPES"], ["WRONG_TYPE"])


def test_columns_of_different_lengths_are_no_table() -> None:
    says(the_problem({"post_id": [1, 2], "criterion_id": ["A"]}, "NOT_A_TABLE"), "different lengths (1, 2)")


def test_standard_input_of_the_command(tmp_path: Path) -> None:
    import subprocess

    out = tmp_path / "out"
    words = [*program(), "evaluate", "-", "--resamples", "0", "--no-report", "-q", "-o", str(out)]
    done = subprocess.run(words, input=ARRAY, capture_output=True, check=False, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    manifest = loads((out / "manifest.json").read_text())
    assert (manifest["inputs"][0]["name"], manifest["inputs"][0]["rows"]) == ("<stdin>", 3)
    assert manifest["command"].startswith("evidentia evaluate - ")
    assert evidentia("verify", out, "--quiet").code == 0


def test_standard_input_that_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    says(the_problem("-", "EMPTY_FILE"), "<stdin>: 0 rows")


@pytest.mark.parametrize("text", ['{"post_id": []}', "3", "[1]", '[{"a": 1}, [2]]'])
def test_json_that_is_no_list_of_rows(write: Write, text: str) -> None:
    says(
        the_problem(write(text, name="run.json"), "BROKEN_JSON"),
        "run.json: a table in JSON is a list of objects",
        "PHQ-8",
    )


def test_json_is_read_strictly(write: Write) -> None:
    assert the_problem(write("[]", name="run.json"), "EMPTY_FILE")
    assert the_problem(write('[{"post_id": "p1", "post_id": "p2"}]', name="run.json"), "DUPLICATE_KEY")
    assert the_problem(write('[{"prob": NaN}]', name="run.json"), "BROKEN_JSON")
    mixed = '[{"post_id": "p1", "prob": 0.5},\n\n{"post_id": "p2", "prob": true}]'
    says(the_problem(write(mixed, name="run.json"), "MIXED_TYPES"), "float in row 1, bool in row 2")
    wrong = json.dumps([row | {"prob": 7.5} if row["post_id"] == "p2" else row for row in ROWS], indent=2)
    says(the_problem(write(wrong, name="run.json"), "PROB_RANGE"), "(first: row 2, post 'p2'")


def test_excel_files_that_are_none_or_too_large(write: Write, tmp_path: Path) -> None:
    says(the_problem(write("x", name="run.xlsx"), "BROKEN_XLSX"), "run.xlsx: not an Excel file")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "b")
    (tmp_path / "run.xlsx").write_bytes(buffer.getvalue())
    says(the_problem(tmp_path / "run.xlsx", "BROKEN_XLSX"), "run.xlsx: not an Excel file")
    (tmp_path / "run.xlsx").write_bytes(sheet(ROWS))
    says(the_problem(tmp_path / "run.xlsx", "TOO_LARGE", max_bytes=500), "--max-bytes")
    wrong = sheet([row | {"prob": 7.5} if row["post_id"] == "p2" else row for row in ROWS])
    (tmp_path / "run.xlsx").write_bytes(wrong)
    says(the_problem(tmp_path / "run.xlsx", "PROB_RANGE"), "(first: row 2, post 'p2'")


def test_excel_files_name_the_extra_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.xlsx").write_bytes(sheet(ROWS))
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    refused(evidentia("evaluate", tmp_path / "run.xlsx"), "run.xlsx", "pip install 'evidentia[xlsx]'")


def test_excel_sheets_with_a_repeated_column_blank_rows_or_further_sheets(tmp_path: Path) -> None:
    path = tmp_path / "run.xlsx"
    path.write_bytes(sheet([row | {"pro&#98;": 0.25} for row in ROWS]))  # the same name, spelled otherwise in XML
    says(the_problem(path, "DUPLICATE_COLUMN"), "1 repeated column name (row of names: 'prob')")
    blank = dict.fromkeys(ROWS[0])
    path.write_bytes(sheet([ROWS[0], blank, blank, ROWS[1] | {"prob": 7.5}, ROWS[2]]))
    says(the_problem(path, "PROB_RANGE"), "1 row ", "(first: row 4, post 'p2'")
    path.write_bytes(sheet([ROWS[0], blank, *ROWS[1:]], ROWS, [], ROWS))
    run = read_run(path)
    assert run.frame.equals(EXPECTED)
    assert run.notes == ("run.xlsx: the first sheet is read, and not what is in 2 further sheets.",)
