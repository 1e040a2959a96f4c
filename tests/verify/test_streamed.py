"""Results of tables are recomputed from their Parquet files, and every change of them or of the files is noticed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

from cli.command import evidentia as command
from cli.command import refused
from engine.made import MEASURES, Here, Made, in_parts, made
from evidentia import workflow
from evidentia.checks.folder import read_subject
from evidentia.engine import evaluate as engine
from evidentia.engine.executors import LocalProcesses
from evidentia.results import loads
from evidentia.verify.course import Verification
from evidentia.verify.streamed import columns, pool, study, sweeps
from evidentia.verifying import verify_result
from results.schemas import faults

from .made import Copy, copied

Edit = Callable[[Copy], object]
KEY = ["post_id", "criterion_id"]


@contextmanager
def here() -> Iterator[None]:
    """Blocks of some 400 rows, in this process."""
    work = patch.object(LocalProcesses, "map", lambda self, work, tasks: Here().map(work, tasks))
    with work, patch.object(engine, "rows_of_blocks", lambda memory, workers: 400):
        yield


def evaluated(folder: Path, queries: Path, candidates: Path | None = None, **options: Any) -> Path:
    """A result of tables, in a folder."""
    with here():
        workflow.evaluate_tables(queries, candidates, workers=1, **options).save(folder)
    return folder


def verified(folder: Path, *files: Path, **options: Any) -> Verification:
    """What the second implementation finds, with all that there is to read; nothing is written."""
    tables = dict(zip(("run", "candidates"), files, strict=False))
    return verify_result(folder, tables=tables, **{"read_only": True, **options})


def places(verification: Verification) -> list[str]:
    return [mismatch.where for mismatch in verification.mismatches]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def result(run: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evaluated(tmp_path_factory.mktemp("streamed") / "out", *run.files, measures=MEASURES)


@pytest.fixture
def copy(result: Path, tmp_path: Path) -> Copy:
    return copied(result, tmp_path / "out")


def test_a_sound_result_is_verified_with_every_post(result: Path, run: Made) -> None:
    verification = verified(result, *run.files)
    assert places(verification) == []
    assert verification.in_part == ()
    counted = {check.name: check.comparisons for check in verification.checks}
    assert counted["inputs"] == 6
    assert counted["measures"] > 20 * len(MEASURES)
    assert all(counted[name] for name in ("counts", "tables", "figures", "listing", "intervals", "sample"))


def test_everything_that_is_held_in_parts_is_added_up_over_parts(
    result: Path, run: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, candidates, sums and negatives are cut as those of a large run are."""
    for module, name, size in ((columns, "ROWS", 7), (pool, "ROWS", 100), (study, "PART", 5), (sweeps, "PART", 9)):
        monkeypatch.setattr(module, name, size)
    assert places(verified(result, *run.files)) == []


@pytest.mark.parametrize("layout", ["shuffled in folders", "by folders of a fold"])
def test_files_in_any_layout(layout: str, run: Made, tmp_path: Path) -> None:
    queries = run.per_query.sample(fraction=1, shuffle=True, seed=1)
    candidates = run.candidates.sample(fraction=1, shuffle=True, seed=2)
    if layout == "by folders of a fold":
        for (fold,), part in queries.group_by("fold"):
            in_parts(part.drop("fold"), tmp_path / "queries" / f"fold={fold}", [9])
        candidates = candidates.drop("fold")
    else:
        in_parts(queries, tmp_path / "queries", [20, 50])
    in_parts(candidates, tmp_path / "candidates", [400])
    files = tmp_path / "queries", tmp_path / "candidates"
    out = evaluated(tmp_path / "out", *files, measures=MEASURES, by=("subreddit",), resamples=2)
    assert places(verified(out, *files)) == []


def test_sentences_alone(run: Made, tmp_path: Path) -> None:
    long = run.candidates.join(run.per_query.select(*KEY, "prob"), on=KEY, how="left", maintain_order="left")
    long.write_parquet(tmp_path / "long.parquet")
    names = ("AUROC", "AUROC(level=candidate)", "nDCG@10", "MRR", "Positives", "MAP@5")
    out = evaluated(tmp_path / "out", tmp_path / "long.parquet", measures=names, resamples=2)
    assert places(verified(out, tmp_path / "long.parquet")) == []


@pytest.mark.parametrize("lacking", [["gold_sent_uids"], ["ranked_sent_uids", "selected_sent_uids"]])
def test_gold_and_rankings_from_candidates(lacking: list[str], run: Made, tmp_path: Path) -> None:
    run.per_query.drop(lacking).write_parquet(tmp_path / "run.parquet")
    files = tmp_path / "run.parquet", run.files[1]
    names = ("nDCG@10", "MRR", "Recall@5", "EvidenceRecall", "SelectedK")
    out = evaluated(tmp_path / "out", *files, measures=names, resamples=2)
    assert places(verified(out, *files)) == []


def test_other_names_and_joined_lists(run: Made, tmp_path: Path) -> None:
    joined = pl.col("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids").list.join("; ")
    run.per_query.with_columns(joined).rename({"post_id": "doc", "prob": "p"}).write_parquet(tmp_path / "run.parquet")
    run.candidates.rename({"post_id": "doc"}).write_parquet(tmp_path / "candidates.parquet")
    files = tmp_path / "run.parquet", tmp_path / "candidates.parquet"
    reading = {"mapping": {"post_id": "doc", "prob": "p"}, "list_sep": ";", "resamples": 2}
    out = evaluated(tmp_path / "out", *files, measures=("AUROC", "nDCG@10", "EvidenceRecall"), **reading)
    assert places(verified(out, *files)) == []


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["contract", "paper", "audit", "e2e"])
def test_every_measure_of_every_profile(profile: str, tmp_path: Path) -> None:
    run = made(tmp_path, posts=60, criteria=4, folds=5, positives=22)
    by = ("subreddit", "length_band")
    out = evaluated(tmp_path / "out", *run.files, profile=profile, by=by, dual=True)
    assert places(verified(out, *run.files)) == []


EDITS: dict[str, tuple[Edit, str]] = {
    "a value": (lambda copy: copy.measure("AUROC", value=0.5), "summary.json: AUROC: value"),
    "a value over candidates": (
        lambda copy: copy.measure("AUROC(level=candidate)", value=0.5),
        "summary.json: AUROC(level=candidate): value",
    ),
    "a value of a group": (
        lambda copy: copy.measure("Brier[fold=1]", value=0.5),
        "summary.json: Brier[fold=1]: value",
    ),
    "a size": (lambda copy: copy.measure("MRR", n=3), "summary.json: MRR: n"),
    "posts": (lambda copy: copy.measure("MRR", n_clusters=3), "summary.json: MRR: n_clusters"),
    "a mean over folds": (lambda copy: copy.measure("Brier", fold_mean=0.5), "summary.json: Brier: fold_mean"),
    "a spread over folds": (lambda copy: copy.measure("Brier", fold_std=0.5), "summary.json: Brier: fold_std"),
    "a reason": (lambda copy: copy.measure("Brier", degenerate="no queries"), "summary.json: Brier: degenerate"),
    "a median": (
        lambda copy: copy.summary(lambda s: s["measures"]["LogLoss"]["distribution"].update(median=0.1)),
        "summary.json: LogLoss: distribution: median",
    ),
    "a detail": (
        lambda copy: copy.summary(lambda s: s["measures"]["ECE"]["details"]["bins"][0].update(n=1)),
        "summary.json: ECE: details: bins[0]: n",
    ),
    "an interval": (lambda copy: copy.measure("AUROC", ci=[0.4, 0.6]), "summary.json: AUROC: interval"),
    "a count": (
        lambda copy: copy.summary(lambda s: s["dataset"].update(posts=99)),
        "summary.json: dataset: posts",
    ),
    "a note": (lambda copy: copy.summary(lambda s: s["notes"].append("all is well")), "summary.json: notes"),
    "a check": (lambda copy: copy.summary(lambda s: s["checks"].append({"code": "X"})), "summary.json: checks"),
    "what else it would be": (
        lambda copy: copy.summary(lambda s: s["other_definitions"].pop()),
        "summary.json: other_definitions",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_number_or_word_is_noticed(edit: str, copy: Copy, run: Made) -> None:
    change, where = EDITS[edit]
    change(copy)
    assert any(place.startswith(where) for place in places(verified(copy.folder, *run.files)))


def test_changed_files_are_noticed(copy: Copy, run: Made) -> None:
    (copy.folder / "figures" / "more.csv").write_text("a\n1\n")
    text = (copy.folder / "tables" / "folds.csv").read_text()
    (copy.folder / "tables" / "folds.csv").write_text(text.replace("AUROC", "AUR0C", 1))
    wrong = places(verified(copy.folder, *run.files))
    assert "figures/more.csv: known" in wrong
    assert "tables/folds.csv: SHA-256" in wrong
    assert any(place.startswith("tables/folds.csv: row") for place in wrong)


def test_a_point_of_a_curve_is_compared(copy: Copy, run: Made) -> None:
    path = copy.folder / "figures" / "roc_points.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], "0.5,0.5", *lines[3:]]) + "\n")
    copy.renew("figures/roc_points.csv")
    assert "figures/roc_points.csv: row 2: fpr" in places(verified(copy.folder, *run.files))


@pytest.mark.parametrize("table", [0, 1])
def test_another_input_is_noticed(table: int, result: Path, run: Made, tmp_path: Path) -> None:
    """A probability, or a score, that was changed after the result was made."""
    files = [Path(shutil.copy(file, tmp_path / file.name)) for file in run.files]
    column = ("prob", "node_prob")[table]
    frame = pl.read_parquet(files[table])
    moved = pl.when(pl.int_range(pl.len()) == 5).then(1 - pl.col(column)).otherwise(column)
    frame.with_columns(moved.alias(column)).write_parquet(files[table])
    wrong = places(verified(result, *files))
    assert f"{('run', 'candidates')[table]}: {files[table].name}: SHA-256" in wrong
    assert "summary.json: AUROC(level=candidate): value" in wrong if table else "summary.json: Brier: value" in wrong


def test_files_that_are_missing_or_too_many_are_noticed(run: Made, tmp_path: Path) -> None:
    folder = in_parts(run.per_query, tmp_path / "queries", [30])
    out = evaluated(tmp_path / "out", folder, measures=("Brier",))
    run.per_query[:3].write_parquet(folder / "part-002.parquet")
    assert "run: files" in places(verified(out, folder))
    (folder / "part-002.parquet").unlink()
    (folder / "part-001.parquet").unlink()
    wrong = places(verified(out, folder))
    assert "run: files" in wrong
    assert "summary.json: Brier: value" in wrong


CONTRADICTIONS = {
    "run: evidence without gold, or gold without evidence": {"has_evidence": 1 - pl.col("has_evidence")},
    "run: a state that probability and thresholds do not give": {"state": pl.lit("POS")},
    "run: ranked: a sentence twice": {"ranked_sent_uids": pl.concat_list("ranked_sent_uids", "ranked_sent_uids")},
    "run: posts in two folds": {"fold": pl.int_range(pl.len()) % 2},
    "run: queries that come twice": {"criterion_id": pl.lit("A.1")},
    "run: selected sentences that are not ranked": {"selected_sent_uids": pl.concat_list(pl.lit("nobody"))},
    "run: a probability that is none": {"prob": pl.col("prob") + 1},
}


@pytest.mark.parametrize("where", CONTRADICTIONS)
def test_rows_that_contradict_themselves_are_noticed(where: str, result: Path, run: Made, tmp_path: Path) -> None:
    run.per_query.with_columns(**CONTRADICTIONS[where]).write_parquet(tmp_path / "per_query.parquet")
    assert where in places(verified(result, tmp_path / "per_query.parquet", run.files[1]))


def test_candidates_that_contradict_the_run_are_noticed(result: Path, run: Made, tmp_path: Path) -> None:
    """In the sample: marks that are not the gold sentences. In all rows: candidates of no query."""
    first = pl.int_range(pl.len()) == 0
    marked = pl.when(first).then(1 - pl.col("is_gold")).otherwise("is_gold")
    run.candidates.with_columns(marked.alias("is_gold")).write_parquet(tmp_path / "candidates.parquet")
    wrong = places(verified(result, run.files[0], tmp_path / "candidates.parquet"))
    assert any(place.endswith(": marked as gold") for place in wrong)
    stray = pl.when(first).then(pl.lit("nobody")).otherwise("post_id")
    run.candidates.with_columns(stray.alias("post_id")).write_parquet(tmp_path / "candidates.parquet")
    assert "run: candidates of no query" in places(verified(result, run.files[0], tmp_path / "candidates.parquet"))


def test_sums_of_one_block_that_are_wrong_are_caught(run: Made, tmp_path: Path) -> None:
    """A bug of the engine: the last block of posts is added up twice."""
    plus = engine.Totals.plus

    def twice(self: engine.Totals, other: engine.Totals) -> engine.Totals:
        return plus(plus(self, other), other) if self.sums else plus(self, other)

    with patch.object(engine.Totals, "plus", twice):
        out = evaluated(tmp_path / "out", *run.files, measures=("Brier", "MRR", "AUROC", "Positives"))
    wrong = places(verified(out, *run.files))
    assert "summary.json: Positives: value" in wrong
    assert "summary.json: Brier: n" in wrong
    assert not any(place.startswith("summary.json: AUROC: value") for place in wrong)  # of columns, not of sums


@pytest.fixture(scope="module")
def drawn(run: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with intervals, and the replicates that they were made of."""
    return evaluated(tmp_path_factory.mktemp("drawn") / "out", *run.files, measures=MEASURES, resamples=40)


def test_intervals_are_made_again_from_replicates_and_some_of_these_from_rows(drawn: Path, run: Made) -> None:
    verification = verified(drawn, *run.files)
    assert places(verification) == []
    assert verification.in_part == (
        "Replicates drawn again: 3 of 40 replicates, by the hash of replicates.parquet. Limits: of all.",
    )
    counted = {check.name: check.comparisons for check in verification.checks}
    numbers = len(loads((drawn / "summary.json").read_text())["measures"])
    assert counted["intervals"] > 5 * numbers
    assert counted["redrawn"] > 3 * numbers
    assert verified(drawn).in_part[0] == "The intervals were not recomputed."


def other(at: int | None) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Another value of AUROC in one replicate, or in all of them."""

    def edit(frame: pl.DataFrame) -> pl.DataFrame:
        rows = frame.to_dicts()
        row = next(
            row for row in rows if row["definition"].startswith("AUROC(level=query,avg=pooled") and not row["group"]
        )
        row["values"] = [v - 0.01 if at is None or at == n else v for n, v in enumerate(row["values"])]
        return pl.DataFrame(rows, frame.schema)

    return edit


def moved(definition: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Other values of a number over all queries, and the same gaps."""
    mine = pl.col("definition").str.starts_with(definition) & (pl.col("group") == "") & pl.col("gap").is_null()
    return lambda f: f.with_columns(
        pl.when(mine).then(pl.col("values").list.eval(pl.element() + 0.1)).otherwise("values")
    )


def truth(copy: Copy, **changes: object) -> None:
    """Another account of what the queries of the first criterion are judged against."""
    copy.manifest(lambda manifest: manifest["truth"][0].update(changes))


REPLICATES: dict[str, tuple[Edit, str]] = {
    "a limit": (lambda copy: copy.measure("AUROC", ci=[0.4, 0.6]), "AUROC: ci low"),
    "a limit of a group": (lambda copy: copy.measure("Brier[fold=1]", ci=[0.4, 0.6]), "Brier[fold=1]: ci low"),
    "a method": (lambda copy: copy.measure("ECE", ci_method="bca"), "ECE: ci_method"),
    "left out": (lambda copy: copy.measure("MRR", replicates_left_out=3), "MRR: replicates_left_out"),
    "no interval": (lambda copy: copy.measure("MRR", ci=None), "MRR: ci low"),
    "a warning": (lambda copy: copy.measure("MRR", warnings=[]), "MRR: warnings about the interval"),
    "a replicate": (lambda copy: copy.parquet("replicates.parquet", other(7)), "AUROC: ci "),
    "all replicates": (
        lambda copy: copy.parquet("replicates.parquet", other(None)),
        "replicates.parquet: AUROC(level=query,avg=pooled): replicate ",
    ),
    "a number less": (
        lambda copy: copy.parquet("replicates.parquet", lambda frame: frame[1:]),
        "replicates.parquet: numbers that are missing",
    ),
    "a number more": (
        lambda copy: copy.parquet("replicates.parquet", lambda frame: frame.with_columns(group=pl.lit("[site=x]"))),
        "replicates.parquet: numbers that nobody asked for",
    ),
    "a replicate less": (
        lambda copy: copy.parquet("replicates.parquet", lambda f: f.with_columns(pl.col("values").list.head(39))),
        "replicates.parquet: rows of another length",
    ),
    "more posts in effect": (
        lambda copy: copy.parquet("replicates.parquet", lambda f: f.with_columns(pl.col("effective_posts") + 1)),
        "replicates.parquet: AUROC: effective posts",
    ),
    "another ECE in all replicates": (
        lambda copy: copy.parquet("replicates.parquet", moved("ECE(")),
        "replicates.parquet: ECE(bins=10): replicate ",
    ),
    "another criterion": (lambda copy: truth(copy, criterion="A.9"), "manifest.json: truth[0]: criterion"),
    "other queries": (lambda copy: truth(copy, queries_hash="0" * 16), "manifest.json: truth[0]: queries_hash"),
    "other evidence": (lambda copy: truth(copy, evidence_hash="0" * 16), "manifest.json: truth[0]: evidence_hash"),
    "other gold": (lambda copy: truth(copy, gold_hash=None), "manifest.json: truth[0]: gold_hash"),
    "more evidence": (lambda copy: truth(copy, with_evidence=9), "manifest.json: truth: with_evidence"),
    "another seed": (
        lambda copy: (copy.summary(lambda s: s.update(seed=8)), copy.manifest(lambda m: m.update(seed=8))),
        "replicates.parquet: Positives: replicate ",
    ),
    "another bootstrap": (
        lambda copy: copy.summary(lambda s: s["interval"].update(bootstrap="exact")),
        "summary.json: interval: bootstrap",
    ),
}


@pytest.mark.parametrize("edit", REPLICATES)
def test_a_changed_interval_or_replicate_is_noticed(edit: str, drawn: Path, run: Made, tmp_path: Path) -> None:
    copy = copied(drawn, tmp_path / "out")
    change, where = REPLICATES[edit]
    change(copy)
    assert any(place.startswith(where) for place in places(verified(copy.folder, *run.files, sample=0)))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["contract", "audit", "e2e"])
def test_every_interval_of_every_profile(profile: str, tmp_path: Path) -> None:
    run = made(tmp_path, posts=60, criteria=4, folds=5, positives=22)
    options: dict[str, Any] = {"profile": profile, "by": ("subreddit", "length_band"), "resamples": 50}
    out = evaluated(tmp_path / "out", *run.files, **options)
    assert places(verified(out, *run.files)) == []


def test_without_its_tables_a_result_is_verified_in_part(result: Path, copy: Copy) -> None:
    verification = verified(result)
    assert verification.passed
    assert "rows were not given (--run and --candidates)" in verification.in_part[0]
    assert verification.comparisons > 500
    copy.measure("Brier", fold_mean=0.5)
    assert "summary.json: Brier: fold_mean" in places(verified(copy.folder))
    copy.measure("Positives", value=3.0)
    wrong = places(verified(copy.folder))
    assert "summary.json: dataset: positives" in wrong
    assert any(place.startswith("tables/measures.csv") for place in wrong)


def test_the_sample_is_said_and_is_one_that_nobody_chose(result: Path, run: Made) -> None:
    verification = verified(result, *run.files, sample=5)
    assert verification.passed
    assert verification.in_part[0].startswith(
        "Candidates against gold and rankings: 5 of 24 posts (those whose BLAKE2b"
    )
    assert verified(result, *run.files, sample=0).in_part[0].startswith("Candidates against gold and rankings: 0 of 24")
    posts = pl.Series([f"p{at}" for at in range(50)])
    assert set(columns.sample_of(posts, 9)) == set(columns.sample_of(posts.reverse(), 9))


def test_nothing_compared_never_passes() -> None:
    assert not Verification("", (), (), ("everything",)).passed
    assert Verification("", (), (), ("everything",)).verdict == "This result does not verify."


def test_the_command_says_how_far_it_went(copy: Copy, run: Made) -> None:
    ran = command("verify", copy.folder, "--inputs", run.folder, "--sample", 3)
    assert (ran.code, ran.err) == (0, "")
    assert "in part: Candidates against gold and rankings: 3 of 24 posts" in ran.out
    assert ran.out.splitlines()[-1].endswith("Everything that was compared matches: verified in part.")
    said = loads((copy.folder / "verification.json").read_text())
    assert faults("verification", said) == []
    assert len(said["in_part"]) == 1
    whole = command("verify", copy.folder, "--run", run.files[0], "--candidates", run.files[1])
    assert whole.out.splitlines()[-1].endswith("Everything matches.")
    assert "in_part" not in loads((copy.folder / "verification.json").read_text())
    assert command("verify", copy.folder, "--read-only").code == 0


def test_an_earlier_verification_of_another_result_is_noticed(copy: Copy, run: Made) -> None:
    assert command("verify", copy.folder, "--inputs", run.folder).code == 0
    path = copy.folder / "verification.json"
    path.write_text(json.dumps(loads(path.read_text()) | {"manifest_sha256": "0" * 64}))
    ran = command("verify", copy.folder, "--read-only")
    assert ran.code == 1
    assert "verification.json: manifest_sha256" in ran.out


def test_what_cannot_be_read_is_refused(result: Path, run: Made, tmp_path: Path) -> None:
    refused(command("verify", result, "--run", tmp_path / "none"), "none is no Parquet file")
    refused(command("verify", result, "--sample", -1), "sample has -1 posts")
    tables = ("--run", run.files[0], "--candidates", run.files[1])
    refused(command("verify", result, *tables, "--scratch", tmp_path / "none"), "none is no folder")
    alone = evaluated(tmp_path / "out", run.files[0], measures=("Brier",))
    both = ("--run", run.files[0], "--candidates", run.files[1])
    refused(command("verify", alone, *both), "was made without candidates")
    folder = in_parts(run.per_query, tmp_path / "queries", [30])
    parts = evaluated(tmp_path / "parts", folder, measures=("Brier",))
    refused(command("verify", parts, "--inputs", tmp_path), "--run FOLDER")


@pytest.mark.parametrize("key", ["inputs", "options", "profile", "read", "files", "engine", "resamples"])
def test_a_manifest_that_says_too_little_is_a_mismatch(key: str, copy: Copy, run: Made) -> None:
    copy.manifest(lambda manifest: manifest.pop(key))
    assert not verified(copy.folder).passed
    if key not in {"inputs", "options"}:  # which say what the tables are
        assert not verified(copy.folder, *run.files).passed


@pytest.mark.parametrize("key", ["measures", "dataset", "notes", "resamples", "interval", "not_computed"])
def test_a_summary_that_says_too_little_is_a_mismatch(key: str, copy: Copy, run: Made) -> None:
    copy.summary(lambda summary: summary.pop(key))
    assert not verified(copy.folder).passed
    assert not verified(copy.folder, *run.files).passed


def test_a_damaged_table_is_a_mismatch_and_no_crash(result: Path, run: Made, tmp_path: Path) -> None:
    damaged = tmp_path / "per_query.parquet"
    content = bytearray(run.files[0].read_bytes())
    content[20:400] = bytes(380)
    damaged.write_bytes(content)
    wrong = places(verified(result, damaged, run.files[1]))
    assert any(place.endswith("SHA-256") for place in wrong)
    assert "rows" in wrong
    damaged.write_bytes(content[:300])
    refused(command("verify", result, "--run", damaged), "per_query.parquet cannot be read as Parquet")


def test_the_gate_takes_no_part_for_the_whole_unless_told(copy: Copy, run: Made) -> None:
    closed = command("gate", copy.folder, "--target", "AUROC>=0.1")
    assert closed.code == 1
    assert "in part (--accept-sampled lets it pass)" in " ".join(closed.out.split())
    conditions = loads(command("gate", copy.folder, "--target", "AUROC>=0.1", "--accept-sampled", "--json").out)[
        "conditions"
    ]
    assert conditions[0]["holds"] is True
    command("verify", copy.folder, "--inputs", run.folder, "--sample", 3)
    trusted = ("gate", copy.folder, "--target", "AUROC>=0.1", "--trust-verification", "--json")
    assert loads(command(*trusted).out)["conditions"][0]["holds"] is False
    assert loads(command(*trusted, "--accept-sampled").out)["conditions"][0]["holds"] is True
    command("verify", copy.folder, "--inputs", run.folder)
    assert loads(command(*trusted).out)["conditions"][0]["holds"] is True


def test_checks_of_rows_that_are_elsewhere_were_not_made(result: Path) -> None:
    from evidentia.checks import check_subject

    findings = {finding.code: finding for finding in check_subject(read_subject(result))}
    for code in ("RANK001", "DEPTH001", "BASE001", "TUNE002"):
        assert findings[code].status == "skipped", findings[code]
    assert findings["SAME001"].status == "passed"


def test_steps_by_hand() -> None:
    """Positives at 0.9 and 0.5 (twice); negatives at 0.95, 0.5, 0.4."""
    steps = sweeps.steps_of(np.array([0.9, 0.5, 0.5, 0.95, 0.5, 0.4]), np.array([1, 1, 1, 0, 0, 0], bool))
    passed = steps.passed()
    assert passed.hits[:, 0].tolist() == [1, 3]
    assert passed.alarms[:, 0].tolist() == [1, 2]
    assert passed.tied[:, 0].tolist() == [0, 1]
    assert [(point.tp, point.fp) for point in steps.points()] == [(1, 1), (3, 2), (3, 3)]
