"""Answers about new posts, labelled later: judged under the model's own thresholds, never on posts that it learnt from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evidentia as package
from builders.pipelines import small_config, small_corpus, small_pipeline
from evidentia.corpus.write import write_corpus
from evidentia.errors import InputError
from evidentia.synth import synthetic_corpus
from results.schemas import faults

from .command import contents, evidentia, refused

SEEN = "the model was trained on 1 labelled post of 2 (first: '{post}'). Leave their labels out."
TARGETS = ("--target", "ScreeningSensitivity>=0.05", "--target", "AUROC>=0.6")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained pipeline; in `new` posts of their own with labels, and in `answers` what it says of them."""
    trained = small_pipeline(tmp_path_factory)
    home = tmp_path_factory.mktemp("answers")
    write_corpus(synthetic_corpus(posts=60, positives=150, mean_sentences=6, seed=31), home / "new")
    for name in ("documents.jsonl", "labels.csv"):  # ids of their own
        path = home / "new" / name
        path.write_text(path.read_text().replace("synth-", "new-"))
    (home / "run").symlink_to(trained / "run")
    for suffix in ("jsonl", "csv", "parquet"):
        ran = evidentia("predict", home / "run", home / "new", "-o", home / suffix / f"answers.{suffix}", "-q")
        assert ran.code == 0, ran
    return home


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Path:
    """Answers, their thresholds and labels that may be changed."""
    shutil.copy(home / "new" / "labels.csv", tmp_path)
    return Path(shutil.copytree(home / "jsonl", tmp_path, dirs_exist_ok=True))


def evaluated(folder: Path, labels: Path, out: Path, *words: object) -> Any:
    (answers,) = (
        path for path in folder.iterdir() if path.name.startswith("answers.") and "thresholds" not in path.name
    )
    return evidentia("evaluate", answers, "--labels", labels, "-o", out, "--no-report", *words)


def test_predict_labels_evaluate_verify_gate(home: Path, tmp_path: Path) -> None:
    ran = evaluated(home / "jsonl", home / "new" / "labels.csv", tmp_path / "out", "--resamples", 200)
    assert ran.code == 0, ran
    assert faults("thresholds", json.loads((home / "jsonl" / "answers.jsonl.thresholds.json").read_text())) == []
    assert evidentia("verify", tmp_path / "out").code == 0
    gate = evidentia("gate", tmp_path / "out", *TARGETS)
    assert "yes Thresholds come from TUNE: 2 thresholds looked at" in gate.out
    assert gate.code == 0, gate.out
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert faults("manifest", manifest) == []
    assert [source["role"] for source in manifest["inputs"]] == ["run", "labels", "thresholds"]
    kept, written = pl.read_csv(tmp_path / "out" / "per_query.csv"), pl.read_ndjson(home / "jsonl" / "answers.jsonl")
    together = kept.join(written, on=["post_id", "criterion_id"], suffix="_written")
    assert together.height == written.height == 600
    for column in ("prob", "state", "tau_neg", "tau_pos", "detection_score"):
        assert together[column].to_list() == together[f"{column}_written"].to_list()


def test_a_folder_of_parts_is_judged_as_a_file_is(home: Path, tmp_path: Path) -> None:
    labels, folder = home / "new" / "labels.csv", tmp_path / "folder" / "answers.parts"
    words = ("--partition", 25, "--workers", 1, "-q")
    assert evidentia("predict", home / "run", home / "new", "-o", folder, *words).code == 0
    for place, out in ((folder.parent, "of-parts"), (home / "parquet", "of-file")):
        assert evaluated(place, labels, tmp_path / out, "--resamples", 0).code == 0
    one, other = (json.loads((tmp_path / out / "summary.json").read_text()) for out in ("of-parts", "of-file"))
    assert one["measures"] == other["measures"]
    assert evidentia("verify", tmp_path / "of-parts").code == 0
    part = folder / "part-00001.parquet"
    part.write_bytes((folder / "part-00000.parquet").read_bytes())
    refused(evaluated(folder.parent, labels, tmp_path / "out"), "answers.parts/part-00001.parquet was changed")
    (folder / "manifest.json").unlink()
    refused(evaluated(folder.parent, labels, tmp_path / "out"), "answers.parts holds no manifest.json")


def test_answers_under_thresholds_tuned_anew_are_judged_under_those(home: Path, tmp_path: Path) -> None:
    budgets = "ScreeningSensitivity>=0.8,AlertsPer1000<=30"
    assert evidentia("tune", home / "run", "--targets", budgets, "-o", tmp_path / "t.json").code == 0
    words = ("predict", home / "run", home / "new", "-o", tmp_path / "new" / "answers.jsonl", "-q")
    assert evidentia(*words, "--thresholds", tmp_path / "t.json").code == 0
    beside = json.loads((tmp_path / "new" / "answers.jsonl.thresholds.json").read_text())
    assert beside["choices"] == json.loads((tmp_path / "t.json").read_text())["choices"]
    labels = home / "new" / "labels.csv"
    assert evaluated(tmp_path / "new", labels, tmp_path / "out", "--resamples", 0).code == 0
    assert evidentia("verify", tmp_path / "out").code == 0
    kept = pl.read_csv(tmp_path / "out" / "per_query.csv")
    assert kept["tau_neg"].unique().to_list() == [beside["folds"][0]["three_state"]["tau_neg"]]


def test_every_format_gives_the_same_numbers(home: Path, tmp_path: Path) -> None:
    measures = []
    for suffix in ("jsonl", "csv", "parquet"):
        assert evaluated(home / suffix, home / "new" / "labels.csv", tmp_path / suffix).code == 0
        measures.append(json.loads((tmp_path / suffix / "summary.json").read_text())["measures"])
    answers, labels = home / "csv" / "answers.csv", home / "new" / "labels.csv"
    measures.append(json.loads(package.evaluate(answers, labels=labels, resamples=0).to_json())["measures"])
    assert all(each == measures[0] for each in measures)


def test_verify_finds_probabilities_that_were_changed(home: Path, tmp_path: Path) -> None:
    assert evaluated(home / "jsonl", home / "new" / "labels.csv", tmp_path / "out").code == 0
    path = tmp_path / "out" / "per_query.csv"
    frame = pl.read_csv(path, infer_schema=False)
    frame.with_columns(prob=pl.lit("0.5")).write_csv(path)
    ran = evidentia("verify", tmp_path / "out")
    assert ran.code == 1
    wrong = [each["where"] for each in json.loads((tmp_path / "out" / "verification.json").read_text())["mismatches"]]
    assert sum("applied_thresholds: fold None: prob of post" in where for where in wrong) > 500


def test_answers_of_the_model_of_one_fold(home: Path, tmp_path: Path) -> None:
    model, answers = home / "run" / "models" / "fold-0", tmp_path / "in" / "answers.parquet"
    assert evidentia("predict", model, home / "new", "-o", answers, "-q").code == 0
    assert evaluated(tmp_path / "in", home / "new" / "labels.csv", tmp_path / "out", "--resamples", 200).code == 0
    assert evidentia("verify", tmp_path / "out").code == 0
    assert "yes Thresholds come from TUNE" in evidentia("gate", tmp_path / "out", *TARGETS).out


def test_answers_under_one_threshold(home: Path, tmp_path: Path) -> None:
    small_corpus(tmp_path / "corpus", criteria=4)
    config = small_config(tmp_path, more='[three_state]\nrule = "max-f1"\n')
    ran = evidentia("run", config, "-o", tmp_path / "run", "--resamples", 0, "--no-report", "--no-verify", "-q")
    assert ran.code == 0, ran
    answers = tmp_path / "in" / "answers.jsonl"
    assert evidentia("predict", tmp_path / "run", home / "new", "-o", answers, "-q").code == 0
    header, *rows = (home / "new" / "labels.csv").read_text().splitlines(keepends=True)
    kept = [row for row in rows if row.split(",")[1] in {"A.1", "A.2", "A.3", "A.4"}]
    (tmp_path / "labels.csv").write_text(header + "".join(kept))
    assert evaluated(tmp_path / "in", tmp_path / "labels.csv", tmp_path / "out", "--resamples", 200).code == 0
    assert evidentia("verify", tmp_path / "out").code == 0
    assert "yes Thresholds come from TUNE" in evidentia("gate", tmp_path / "out", *TARGETS).out


def test_posts_without_a_label_are_left_out_and_counted(home: Path, tmp_path: Path) -> None:
    rows = (home / "new" / "labels.csv").read_text().splitlines(keepends=True)
    (tmp_path / "labels.csv").write_text("".join(rows[: 1 + 40 * 10]))
    assert evaluated(home / "jsonl", tmp_path / "labels.csv", tmp_path / "out").code == 0
    dataset = json.loads((tmp_path / "out" / "summary.json").read_text())["dataset"]
    assert (dataset["posts"], dataset["left_out"]) == (40, {"answers without a label": 200})
    assert evidentia("verify", tmp_path / "out").code == 0


def test_labels_that_only_say_yes_or_no(home: Path, tmp_path: Path) -> None:
    gold = pl.read_csv(home / "new" / "labels.csv", infer_schema=False)
    has = pl.col("gold_sent_uids").fill_null("").str.len_chars() > 0
    gold.select("post_id", "criterion_id", has_evidence=has.cast(pl.Int8)).write_csv(tmp_path / "labels.csv")
    assert evaluated(home / "jsonl", tmp_path / "labels.csv", tmp_path / "out").code == 0
    whole = package.evaluate(home / "jsonl" / "answers.jsonl", labels=home / "new" / "labels.csv", resamples=0)
    measures = json.loads((tmp_path / "out" / "summary.json").read_text())["measures"]
    assert measures["AUROC"]["value"] == whole["AUROC"].value
    assert "nDCG@10" not in measures


@pytest.mark.parametrize("which", ["trained_on", "tuned_on"])
def test_posts_that_the_model_knows_are_refused(which: str, home: Path, tmp_path: Path) -> None:
    corpus = (home / "run").resolve().parent / "corpus"
    document = json.loads((home / "run" / "models" / "final" / "pipeline.json").read_text())
    known = (document["trained_on"] if which == "trained_on" else document["decisions"]["tuned_on"]["posts"])[0]
    records = [json.loads(line) for line in (corpus / "documents.jsonl").read_text().splitlines()]
    new = json.loads((home / "new" / "documents.jsonl").read_text().splitlines()[0])
    posts = [next(record for record in records if record["post_id"] == known), new]
    (tmp_path / "posts.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts))
    assert evidentia("predict", home / "run", tmp_path / "posts.jsonl", "-o", tmp_path / "in" / "answers.csv").code == 0
    header, *rows = (home / "new" / "labels.csv").read_text().splitlines(keepends=True)
    others = (corpus / "labels.csv").read_text().splitlines(keepends=True)
    labelled = [row for row in (*rows, *others) if row.split(",")[0] in {known, new["post_id"]}]
    (tmp_path / "labels.csv").write_text(header + "".join(labelled))
    ran = evaluated(tmp_path / "in", tmp_path / "labels.csv", tmp_path / "out")
    message = (
        SEEN.format(post=known)
        if which == "trained_on"
        else "were tuned on 1 post of the 2 that they would be applied to"
    )
    refused(ran, message)
    assert not (tmp_path / "out").exists()


def drop_first_row(path: Path) -> None:
    header, _, *rows = path.read_text().splitlines(keepends=True)
    path.write_text(header + "".join(rows))


def add(row: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(path.read_text() + row)


LABELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "of another post": (
        add("zz,A.1,\n"),
        "1 label of queries that answers.jsonl does not answer (first: post 'zz', criterion 'A.1')",
    ),
    "of another criterion": (add("{post},A.99,\n"), "1 label of queries that answers.jsonl does not answer"),
    "twice": (add("{post},A.1,\n"), "1 row repeating a post and criterion"),
    "half a post": (drop_first_row, "1 query of labelled posts without a label"),
    "no labels": (
        lambda path: path.write_text("post_id,criterion_id\np,A.1\n"),
        "labels.csv: no column gold_sent_uids",
    ),
}


@pytest.mark.parametrize("which", LABELS)
def test_labels_that_cannot_be_joined(which: str, copy: Path) -> None:
    change, message = LABELS[which]
    labels = copy / "labels.csv"
    change(labels)
    post = json.loads((copy / "answers.jsonl").read_text().splitlines()[0])["post_id"]
    labels.write_text(labels.read_text().replace("{post}", post))
    refused(evaluated(copy, labels, copy / "out"), message)
    assert not (copy / "out").exists()


def test_answers_that_their_thresholds_do_not_give(copy: Path) -> None:
    answers = copy / "answers.jsonl"
    whole = answers.read_text()
    first, *rows = whole.splitlines(keepends=True)
    answers.write_text(json.dumps(json.loads(first) | {"state": "POS", "prob": 0.999}) + "\n" + "".join(rows))
    refused(
        evaluated(copy, copy / "labels.csv", copy / "out"),
        "1 row of 600 with another prob or state than answers.jsonl.thr",
    )
    answers.write_text(whole)
    beside = copy / "answers.jsonl.thresholds.json"
    document = json.loads(beside.read_text())
    beside.write_text(json.dumps({key: value for key, value in document.items() if key != "model"}))
    refused(evaluated(copy, copy / "labels.csv", copy / "out"), "does not say which posts its model was trained on")
    beside.unlink()
    refused(evaluated(copy, copy / "labels.csv", copy / "out"), "answers.jsonl.thresholds.json: no such file")
    assert "out" not in {name.split("/")[0] for name in contents(copy)}


def test_labels_go_with_answers_alone(copy: Path) -> None:
    ran = evaluated(copy, copy / "labels.csv", copy / "out", "--by", "state")
    refused(ran, "--labels goes with the file that `evidentia predict` wrote")
    with pytest.raises(InputError, match="With labels, give the file"):
        package.evaluate(pl.DataFrame({"post_id": ["p"]}), labels=copy / "labels.csv")
    (copy / "run.csv").write_text("post_id,criterion_id,has_evidence,prob\np,A,1,0.5\n")
    (copy / "run.csv.thresholds.json").write_text((copy / "answers.jsonl.thresholds.json").read_text())
    ran = evidentia("evaluate", copy / "run.csv", "--labels", copy / "labels.csv")
    refused(ran, "no column detection_score")
