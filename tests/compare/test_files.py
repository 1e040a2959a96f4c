"""What a comparison leaves behind: strict JSON, tables that agree with it, all of it or nothing."""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import contents, evidentia_apart, refused
from cli.command import evidentia as command
from evidentia.results import Comparison

from .systems import read, save, strict, system

TABLES = {f"tables/deltas_{family}.{end}" for family in ("measures", "criteria") for end in ("csv", "tex")}
FIGURES = {f"figures/{name}_systems.csv" for name in ("roc", "pr", "reliability")}
FILES = {
    "comparison.json",
    "manifest.json",
    *TABLES,
    *FIGURES,
    *(f"systems/{name}/per_query.csv" for name in ("good", "bad")),
}
QUICK = ("--resamples", 200, "--measures", "AUROC,Brier,nDCG@10,AlertPrecision")


@pytest.fixture(scope="module")
def written(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of everything that the results report, written through the command."""
    out = tmp_path_factory.mktemp("written") / "out"
    ran = command("compare", folders / "good", folders / "bad", "--measures", "all", "--resamples", 200, "-o", out)
    assert (ran.code, ran.err) == (0, "")
    assert "comparison.json, tables, manifest.json" in ran.out
    return out


@pytest.fixture(scope="module")
def content(written: Path) -> dict:
    return strict((written / "comparison.json").read_text(encoding="utf-8"))


def rows_of(folder: Path, family: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"deltas_{family}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_file_is_there_and_in_the_manifest(written: Path) -> None:
    files = contents(written)
    assert set(files) == FILES
    manifest = strict(files["manifest.json"].decode())
    expected = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "manifest.json"}
    assert manifest["files"] == expected
    assert (manifest["profile"], manifest["seed"], manifest["resamples"]) == ("contract", 7, 200)
    chosen = {"on_mismatch": "error", "alpha": 0.05, "design": "against first", "ci": 0.95, "bootstrap": "exact"}
    assert manifest["options"] == chosen | {"profile": None, "measures": None}
    made_with = {"profile": "contract", "measures": None, "k": None, "dual": False}  # nobody named measures
    assert manifest["systems"] == [{"name": name, "folder": name, "made_with": made_with} for name in ("good", "bad")]
    assert manifest["command"].startswith("evidentia compare good bad")
    assert str(written.parent) not in files["manifest.json"].decode()


def test_the_manifest_knows_the_inputs_by_their_hashes(written: Path, folders: Path) -> None:
    manifest = strict((written / "manifest.json").read_text())
    hashes = [hashlib.sha256((folders / s / "per_query.csv").read_bytes()).hexdigest() for s in ("good", "bad")]
    assert [source["sha256"] for source in manifest["inputs"]] == hashes


def test_the_json_is_strict_and_says_what_was_done(content: dict) -> None:
    assert content["schema"] == "evidentia.comparison/1"
    assert content["systems"] == ["good", "bad"]
    assert (content["queries"], content["posts"]) == (120, 40)
    assert (content["seed"], content["resamples"], content["alpha"]) == (7, 200, 0.05)
    made = {"level": 0.95, "method": "t", "stratified_by_fold": False, "bootstrap": "exact"}
    assert content["interval"] == made
    assert len(content["deltas"]) > 100
    assert content["notes"] == []


def test_python_gives_what_the_file_says(content: dict, folders: Path) -> None:
    comparison = evidentia.compare(folders / "good", folders / "bad", measures="all", resamples=200)
    assert isinstance(comparison, Comparison)
    assert comparison.to_dict() == content


def test_the_printed_json_is_the_file(folders: Path, tmp_path: Path) -> None:
    ran = command("compare", folders / "good", folders / "bad", *QUICK, "--json", "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (tmp_path / "out" / "comparison.json").read_text(encoding="utf-8")


def test_the_same_bytes_again_also_in_another_process(written: Path, folders: Path, tmp_path: Path) -> None:
    again = evidentia_apart(
        *(
            "compare",
            folders / "good",
            folders / "bad",
            "--measures",
            "all",
            "--resamples",
            200,
            "-q",
            "-o",
            tmp_path / "again",
        ),
        env={"EVIDENTIA_THREADS": "1", "OMP_NUM_THREADS": "2"},
    )
    assert (again.code, again.out, again.err) == (0, "", "")
    first, second = contents(written), contents(tmp_path / "again")
    assert {name: first[name] for name in first if name != "manifest.json"} == {
        name: second[name] for name in second if name != "manifest.json"
    }


@pytest.mark.parametrize("family", ["measures", "criteria"])
def test_the_csv_tables_hold_the_numbers_of_the_json(family: str, written: Path, content: dict) -> None:
    rows = rows_of(written, family)
    deltas = [delta for delta in content["deltas"] if delta["family"] == family]
    assert len(rows) == len(deltas) > 10
    for row, delta in zip(rows, deltas, strict=True):
        low, high = delta["ci"] or (None, None)
        assert (row["measure"], row["baseline"], row["system"]) == (delta["name"], "good", "bad")
        assert (row["verdict"], row["definition"]) == (delta["verdict"], delta["definition"])
        for column in ("n", "n_clusters", "system_n", "system_n_clusters", "replicates_left_out"):
            assert int(row[column]) == delta[column], (delta["name"], column)
        assert row["warnings"] == "; ".join(delta["warnings"])
        numbers = {
            "baseline value": delta["baseline_value"],
            "system value": delta["system_value"],
            "delta": delta["delta"],
            "ci_low": low,
            "ci_high": high,
            "p": delta["p"],
            "p_holm": delta["p_holm"],
        }
        for column, value in numbers.items():
            assert (float(row[column]) if row[column] else None) == value, (delta["name"], column)


@pytest.mark.parametrize("family", ["measures", "criteria"])
def test_the_latex_tables_have_the_same_rows_rounded(family: str, written: Path, content: dict) -> None:
    text = (written / "tables" / f"deltas_{family}.tex").read_text(encoding="utf-8")
    body = text.split("\\midrule\n")[1].split("\n\\bottomrule")[0].splitlines()
    deltas = [delta for delta in content["deltas"] if delta["family"] == family]
    assert len(body) == len(deltas)
    for line, delta in zip(body, deltas, strict=True):
        cells = line.removesuffix(r" \\").split(" & ")
        assert len(cells) == 16
        value = delta["delta"]
        if value is None:
            assert cells[5] == "--"
        else:
            assert float(cells[5].replace(",", "")) == pytest.approx(
                value, rel=0, abs=5.001e-5 if abs(value) < 10 else 5.001e-3
            )


def test_a_p_value_is_never_none_in_latex(tmp_path: Path) -> None:
    folders = [save(system(difficulty), tmp_path / name) for name, difficulty in (("good", 0.05), ("bad", 1.0))]
    out = tmp_path / "out"
    comparison = evidentia.compare(*folders, resamples=200, out=out, report=False)
    assert 0 <= comparison["AUROC"].p < comparison["AUROC"].p_holm < 0.00005
    path = out / "tables" / "deltas_measures.tex"
    text = path.read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith("AUROC")]
    assert row.split(" & ")[8:10] == [r"\textless{}0.0001"] * 2
    assert evidentia.verify_result(out, read_only=True).passed
    path.write_text(text.replace(r"\textless{}0.0001", "0.0000"), encoding="utf-8")
    wrong = {mismatch.where for mismatch in evidentia.verify_result(out, read_only=True).mismatches}
    assert any("deltas_measures.tex: row 1: cell 9" in where for where in wrong)


def test_names_of_folders_and_criteria_cannot_become_commands_or_formulas(tmp_path: Path) -> None:
    odd = {"=1+1 & 5%": 0.3, "b_2 \\input{x} $#^~": 0.9}
    for name, difficulty in odd.items():
        frame = system(difficulty).with_columns(pl.col("criterion_id").replace("A.1", "50%_of & $"))
        save(frame, tmp_path / name)
    out = tmp_path / "out"
    evidentia.compare(*(tmp_path / name for name in odd), measures=["AUROC"], resamples=20, out=out)
    assert strict((out / "comparison.json").read_text())["systems"] == list(odd)
    rows = rows_of(out, "criteria")
    assert {row["baseline"] for row in rows} == {"'=1+1 & 5%"}
    assert rows[0]["measure"].endswith("[criterion=50%_of & $]")
    for family in ("measures", "criteria"):
        text = (out / "tables" / f"deltas_{family}.tex").read_text(encoding="utf-8")
        body = text.split("\\midrule\n")[1].split("\n\\bottomrule")[0]
        assert r"=1+1 \& 5\%" in body
        assert r"b\_2 \textbackslash{}input\{x\} \$\#\textasciicircum{}\textasciitilde{}" in body
        assert not re.search(r"(?<!\\)[%$#_]", body)
        assert all(len(re.findall(r"(?<!\\)&", line)) == 15 for line in body.splitlines())


def test_one_folder_is_not_a_comparison(folders: Path, tmp_path: Path) -> None:
    refused(command("compare", folders / "good", "-o", tmp_path / "out"), "at least two")
    assert contents(tmp_path) == {}
    assert command("compare").code == 2


def test_what_is_not_a_result_is_refused_by_name(folders: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    shutil.copytree(folders / "bad", tmp_path / "other")
    (tmp_path / "other" / "manifest.json").write_text('{"schema": "something/1"}')
    shutil.copytree(folders / "bad", tmp_path / "broken")
    (tmp_path / "broken" / "manifest.json").write_text("{")
    for name in ("empty", "absent", "other", "broken"):
        ran = command("compare", folders / "good", tmp_path / name, "--resamples", 20, "-o", tmp_path / "out")
        refused(ran, f"{name} is not a result folder")
    refused(command("compare", folders / "good", folders / "bad" / "per_query.csv"), "is not a result folder")
    assert not (tmp_path / "out").exists()


def test_a_result_that_lost_its_queries_is_refused(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "bad", tmp_path / "bad")
    (tmp_path / "bad" / "per_query.csv").unlink()
    refused(command("compare", folders / "good", tmp_path / "bad", "--resamples", 20), "per_query.csv")


def test_a_comparison_is_not_a_result_to_compare(written: Path, folders: Path) -> None:
    refused(command("compare", folders / "good", written, "--resamples", 20), "not a result folder")


BAD_WORDS = {
    "no resamples": (("--resamples", 0), "needs resamples"),
    "one resample": (("--resamples", 1), "resamples"),
    "fewer than none": (("--resamples", -5), "resamples"),
    "a level above 1": (("--ci", 95), "between 0 and 1"),
    "a negative seed": (("--seed", -1), "seed"),
    "another policy": (("--on-mismatch", "ignore"), "--on-mismatch must be error or intersect"),
    "an unknown measure": (("--measures", "Magic"), "Unknown measure"),
    "an unknown profile": (("--profile", "magic"), "Unknown profile"),
}


@pytest.mark.parametrize("what", BAD_WORDS)
def test_a_bad_option_is_refused_and_nothing_is_written(what: str, folders: Path, tmp_path: Path) -> None:
    words, part = BAD_WORDS[what]
    refused(command("compare", folders / "good", folders / "bad", *words, "-o", tmp_path / "out"), part)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_alone_and_replaced_with_force(folders: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    two = (folders / "good", folders / "bad")
    assert command("compare", *two, *QUICK, "-q", "-o", out).code == 0
    before = contents(tmp_path)
    refused(command("compare", *two, "--resamples", 20, "--measures", "MRR", "-o", out), "out exists", "--force")
    assert contents(tmp_path) == before
    assert command("compare", *two, "--resamples", 20, "--measures", "MRR", "-q", "-o", out, "--force").code == 0
    after = contents(tmp_path)
    assert set(before) - set(after) == {"out/figures/roc_systems.csv", "out/figures/pr_systems.csv"}  # MRR has no curve
    assert set(after) <= set(before)
    assert {d["name"] for d in strict(after["out/comparison.json"].decode())["deltas"] if "[" not in d["name"]} == {
        "MRR"
    }


def test_force_does_not_delete_what_is_not_ours(folders: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    two = (folders / "good", folders / "bad")
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    refused(command("compare", *two, *QUICK, "-o", out, "--force"), "was not written by Evidentia")
    (out / "thesis.txt").unlink()
    assert command("compare", *two, *QUICK, "-q", "-o", out).code == 0  # an empty folder is free
    (out / "thesis.txt").write_text("mine")
    before = contents(tmp_path)
    refused(command("compare", *two, *QUICK, "-o", out, "--force"), "thesis.txt")
    assert contents(tmp_path) == before


def test_force_does_not_replace_a_result_that_is_being_compared(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "good", tmp_path / "good")
    before = contents(tmp_path)
    refused(command("compare", tmp_path / "good", folders / "bad", *QUICK, "-o", tmp_path / "good", "--force"))
    assert contents(tmp_path) == before


@pytest.mark.parametrize("there_before", [False, True])
def test_a_failure_while_writing_leaves_nothing_half_written(
    there_before: bool, folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = (folders / "good", folders / "bad")
    words = ("compare", *two, "--resamples", 20, "--measures", "AUROC", "-o", tmp_path / "out", "--force")
    if there_before:
        assert command(*words, "-q").code == 0
    before = contents(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evidentia.workflow.write_comparison", full)  # after the tables have been written
    refused(command(*words), "No space left on device", "Nothing was changed")
    assert contents(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == ({"out"} if there_before else set())


def test_without_out_nothing_is_written(folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = command("compare", folders / "good", folders / "bad", *QUICK)
    assert ran.code == 0
    assert "written to" not in ran.out
    assert list(tmp_path.iterdir()) == []
    assert command("compare", folders / "good", folders / "bad", *QUICK, "-q").out == ""


def test_the_inputs_are_not_touched(written: Path, folders: Path) -> None:
    assert {path.name for path in folders.iterdir()} == {"good", "middling", "bad"}
    manifest = strict((folders / "good" / "manifest.json").read_text())
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((folders / "good" / name).read_bytes()).hexdigest() == digest


def test_what_the_console_says(folders: Path) -> None:
    out = command("compare", folders / "good", folders / "bad", *QUICK).out
    assert "120 queries from 40 posts; profile contract; 200 resamples, seed 7" in out
    assert "bad against good" in out
    row = next(line.split() for line in out.splitlines() if line.startswith("nDCG@10"))
    delta = evidentia.compare(
        *(folders / s for s in ("good", "bad")),
        measures=["AUROC", "Brier", "nDCG@10", "AlertPrecision"],
        resamples=200,
    )["nDCG@10"]
    low, high = delta.ci
    assert "p (Holm, 4)" in out
    assert row == [
        *(
            "nDCG@10",
            f"{delta.baseline_value:.4f}",
            f"{delta.system_value:.4f}",
            f"{delta.delta:+.4f}",
            f"{low:+.4f}",
            "to",
            f"{high:+.4f}",
        ),
        *("<0.001" if delta.p_holm < 0.001 else f"{delta.p_holm:.3f}", delta.verdict, "*"),
    ]


def test_a_p_is_never_printed_as_zero(folders: Path) -> None:
    out = command("compare", folders / "good", folders / "bad", "--resamples", 5000, "--measures", "nDCG@10").out
    row = next(line.split() for line in out.splitlines() if line.startswith("nDCG@10"))
    assert row[-1] == "*"
    assert row[-3] != "0.000"


def test_results_of_trec_files_can_be_compared(tmp_path: Path) -> None:
    topics = [f"t{i}" for i in range(12)]
    (tmp_path / "qrels").write_text("".join(f"{t} 0 {t}a 1\n{t} 0 {t}b 0\n" for t in topics))
    for name, (first, second) in {"one": "ba", "two": "ab"}.items():
        lines = [f"{t} Q0 {t}{first} 1 0.9 x\n{t} Q0 {t}{second} 2 0.8 x\n" for t in topics]
        (tmp_path / "run").write_text("".join(lines))
        trec = ("--qrels", tmp_path / "qrels", "--run", tmp_path / "run")
        assert command("evaluate", *trec, "--resamples", 0, "-q", "-o", tmp_path / name).code == 0
    ran = command("compare", tmp_path / "one", tmp_path / "two", "--measures", "MRR", "--resamples", 20, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert strict(ran.out)["deltas"][0]["delta"] == 0.5


def test_ids_that_a_spreadsheet_would_run_come_back_as_they_were(tmp_path: Path) -> None:
    """They are quoted in per_query.csv; read back with the quote, the gold would not be found in the ranking."""
    frame = pl.DataFrame(
        {
            "post_id": ["-p", "q"],
            "criterion_id": ["A", "A"],
            "gold_sent_uids": ["-a", "c"],
            "ranked_sent_uids": ["b|-a", "c|d"],
        }
    )
    save(frame, tmp_path / "out")
    value = strict((tmp_path / "out" / "summary.json").read_text())["measures"]["nDCG@10"]["value"]
    comparison = evidentia.compare(tmp_path / "out", tmp_path / "out", measures=["nDCG@10"], resamples=20)
    assert comparison["nDCG@10"].baseline_value == value
    with_run = evidentia.compare(read(frame), tmp_path / "out", measures=["nDCG@10"], resamples=20)
    assert with_run["nDCG@10"].delta == 0.0
