"""Results of tables are compared by the replicates that they hold: the numbers of the same runs in memory, to the bit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

import evidentia
from cli.command import contents, refused
from cli.command import evidentia as command
from engine.made import Here, in_parts
from evidentia import workflow
from evidentia.engine import evaluate as engine
from evidentia.engine.executors import LocalProcesses
from evidentia.errors import InputError
from evidentia.results import Comparison, loads
from evidentia.synth import synthetic_run
from verify.made import Copy, copied

RESAMPLES = 200
ABOUT = {"n", "n_clusters", "system_n", "system_n_clusters", "replicates_left_out", "direction", "family"}
NUMBERS = {"baseline_value", "system_value", "delta", "ci", "p", "p_holm", "verdict"}


@contextmanager
def here() -> Iterator[None]:
    """Blocks of some 400 rows, in this process."""
    work = patch.object(LocalProcesses, "map", lambda self, work, tasks: Here().map(work, tasks))
    with work, patch.object(engine, "rows_of_blocks", lambda memory, workers: 400):
        yield


def evaluated(folder: Path, queries: Path, candidates: Path | None = None, **options: object) -> Path:
    with here():
        workflow.evaluate_tables(queries, candidates, workers=1, **{"resamples": RESAMPLES} | options).save(folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of three systems on the same 60 posts, in folders of some files each, and the results of them."""
    home = tmp_path_factory.mktemp("tables")
    for name, difficulty in {"good": 0.3, "middling": 0.5, "bad": 0.9}.items():
        run = synthetic_run(seed=7, posts=60, criteria=3, folds=2, positives=40, ties=0.3, difficulty=difficulty)
        queries = run.per_query.sample(fraction=1, shuffle=True, seed=len(name))
        in_parts(queries, home / "queries" / name, [50 + len(name)])
        in_parts(run.candidates, home / "candidates" / name, [])
        evaluated(home / name, home / "queries" / name, home / "candidates" / name)
    return home


def in_memory(home: Path, *names: str, **options: object) -> Comparison:
    """The same comparison of runs that are read into memory."""
    runs = []
    for name in names:
        queries, candidates = (pl.read_parquet(home / kind / name / "*.parquet") for kind in ("queries", "candidates"))
        runs.append(evidentia.read_run(queries, candidates=candidates))
    options = {"names": names, "resamples": RESAMPLES, "bootstrap": "poisson", "profile": "contract"} | options
    return evidentia.compare(*runs, **options)


def deltas(comparison: Comparison, keys: set[str]) -> dict[tuple[str, str], str]:
    """What is said of every delta, digit by digit."""
    return {
        (delta.system, delta.name): repr({key: value for key, value in delta.to_dict().items() if key in keys})
        for delta in comparison.deltas
    }


def same(mine: Comparison, other: Comparison) -> None:
    ours, theirs = deltas(mine, ABOUT | NUMBERS), deltas(other, ABOUT | NUMBERS)
    assert ours.keys() == theirs.keys()
    differ = {key: (ours[key], theirs[key]) for key in ours if ours[key] != theirs[key]}
    assert not differ
    for key in ("profile", "systems", "seed", "resamples", "alpha", "queries", "posts", "interval", "design"):
        assert getattr(mine, key) == getattr(other, key), key


def test_two_results_say_what_their_runs_say_in_memory(home: Path) -> None:
    comparison = evidentia.compare(home / "good", home / "bad")
    assert len(comparison.deltas) > 30
    assert {delta.family for delta in comparison.deltas} == {"measures", "criteria"}
    assert comparison["ECE"].ci is not None
    assert {delta.verdict for delta in comparison.deltas} > {"loss", "tie"}
    same(comparison, in_memory(home, "good", "bad"))


def test_every_measure_of_the_contract(home: Path) -> None:
    comparison = evidentia.compare(home / "good", home / "bad", measures="all", ci=0.9, alpha=0.01)
    assert comparison["ECE(debiased)"].p is not None
    assert len(comparison.deltas) > 100
    same(comparison, in_memory(home, "good", "bad", measures="all", ci=0.9, alpha=0.01))


@pytest.mark.parametrize("successive", [False, True])
def test_three_results(successive: bool, home: Path) -> None:
    names = ("bad", "middling", "good")
    comparison = evidentia.compare(*(home / name for name in names), successive=successive)
    same(comparison, in_memory(home, *names, successive=successive))


def test_warnings_are_those_of_memory_but_for_how_many_posts_differ(home: Path) -> None:
    comparison = evidentia.compare(home / "good", home / "middling", measures="all")
    expected = {d.name: d.warnings for d in in_memory(home, "good", "middling", measures="all").deltas}
    found = {d.name: d.warnings for d in comparison.deltas}
    uncounted = {n: tuple(w for w in words if "systems differ in" not in w) for n, words in expected.items()}
    assert found == uncounted
    assert found != expected
    assert any("fewer than 50" in words for own in found.values() for words in own)
    assert comparison.notes[-1].startswith("in how many posts two systems differ is not known")


def test_the_command_writes_numbers_tables_and_what_was_compared(home: Path, tmp_path: Path) -> None:
    ran = command("compare", home / "good", home / "bad", "-o", tmp_path / "out", "--fail-on", "loss")
    assert (ran.code, ran.err) == (1, "")
    assert "180 queries from 60 posts" in ran.out
    written = contents(tmp_path / "out")
    assert {*written} == {
        *("comparison.json", "manifest.json"),
        *(f"tables/deltas_{family}.{kind}" for family in ("measures", "criteria") for kind in ("csv", "tex")),
        *(f"systems/{n}/{f}" for n in ("good", "bad") for f in ("manifest.json", "summary.json", "replicates.parquet")),
    }
    manifest = loads(written["manifest.json"].decode())
    assert manifest["schema"] == "evidentia.tables-comparison-manifest/1"
    assert manifest["command"] == "evidentia compare good bad -o OUT --fail-on loss"
    assert (manifest["seed"], manifest["resamples"]) == (7, RESAMPLES)
    again = command("compare", home / "good", home / "bad", "--json")
    assert again.out == written["comparison.json"].decode()
    refused(command("report", tmp_path / "out"), "no page is drawn of it")


def test_verification_recomputes_the_differences_and_says_what_it_took_on_trust(home: Path, tmp_path: Path) -> None:
    evidentia.compare(home / "good", home / "middling", home / "bad", measures="all", out=tmp_path / "out")
    ran = command("verify", tmp_path / "out")
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert ran.out.splitlines()[-1].endswith("verified in part.")
    assert "replicates of good, middling and bad were taken as their results hold them" in " ".join(ran.out.split())
    assert loads((tmp_path / "out" / "verification.json").read_text())["comparisons"] > 10_000
    assert command("verify", tmp_path / "out", "--read-only").code == 0


def test_each_change_of_such_a_comparison_is_noticed(home: Path, tmp_path: Path) -> None:
    evidentia.compare(home / "good", home / "bad", measures=("AUROC", "ECE"), out=tmp_path / "out")
    sound = evidentia.verify_result(tmp_path / "out", read_only=True)
    assert sound.passed
    for at, (change, where) in enumerate(CHANGES.values()):
        copy = copied(tmp_path / "out", tmp_path / str(at))
        change(copy)
        wrong = [mismatch.where for mismatch in evidentia.verify_result(copy.folder, read_only=True).mismatches]
        assert any(place.startswith(where) for place in wrong), (where, wrong)


def one(key: str, value: object) -> Callable[[Copy], None]:
    return lambda copy: copy.json("comparison.json", lambda content: content["deltas"][0].update({key: value}))


def both(name: str, edit: Callable[[dict], object], file: str = "manifest.json") -> Callable[[Copy], None]:
    """Change a file of a system, with its hash in both manifests."""

    def change(copy: Copy) -> None:
        system = Copy(copy.folder / "systems" / name)
        system.json(file, edit)
        for kept in ("manifest.json", "summary.json", "replicates.parquet"):
            copy.renew(f"systems/{name}/{kept}")

    return change


def shifted(copy: Copy) -> None:
    """The replicates of one system are those of another seed."""
    system = Copy(copy.folder / "systems" / "bad")
    turned = pl.col("values").list.eval(pl.element().shift(1, fill_value=0.5))
    system.parquet("replicates.parquet", lambda frame: frame.with_columns(turned))
    for kept in ("manifest.json", "replicates.parquet"):
        copy.renew(f"systems/bad/{kept}")


CHANGES: dict[str, tuple[Callable[[Copy], None], str]] = {
    "a delta": (one("delta", -0.3), "comparison.json: deltas[0]: delta"),
    "a limit": (one("ci", [-0.3, -0.2]), "comparison.json: deltas[0]: ci"),
    "a p": (one("p", 0.01), "comparison.json: deltas[0]: p"),
    "a verdict": (one("verdict", "win"), "comparison.json: deltas[0]: verdict"),
    "a warning": (one("warnings", ["none"]), "comparison.json: deltas[0]: warnings"),
    "notes": (lambda copy: copy.json("comparison.json", lambda c: c.update(notes=[])), "comparison.json: notes"),
    "replicates": (shifted, "comparison.json: deltas[0]: ci"),
    "a value": (
        both("bad", lambda s: s["measures"]["AUROC"].update(value=0.5), "summary.json"),
        "comparison.json: deltas[0]: system_value",
    ),
    "other gold": (
        both("bad", lambda m: m["truth"][0].update(gold_hash="0" * 16)),
        "systems/bad/manifest.json: truth[0]: gold_hash",
    ),
    "another seed": (both("bad", lambda m: m.update(seed=8)), "systems/bad/manifest.json: seed"),
    "a file of another result": (
        both("bad", lambda m: m["files"].update({"summary.json": "0" * 64})),
        "systems/bad/summary.json: SHA-256",
    ),
    "alpha": (lambda copy: copy.manifest(lambda m: m["options"].update(alpha=0.2)), "comparison.json: alpha"),
    "a system": (
        lambda copy: copy.manifest(lambda m: m["systems"].reverse()),
        "comparison.json: systems",
    ),
    "intersect": (
        lambda copy: copy.manifest(lambda m: m["options"].update(on_mismatch="intersect")),
        "manifest.json: options: on_mismatch",
    ),
}


@pytest.fixture(scope="module")
def others(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that cannot be compared with `good`."""
    folder = tmp_path_factory.mktemp("others")
    queries, candidates = home / "queries" / "bad", home / "candidates" / "bad"
    frame = pl.read_parquet(queries / "*.parquet").sort("post_id", "criterion_id")
    few = {"measures": ("AUROC", "Brier"), "resamples": 20}
    evaluated(folder / "good", home / "queries" / "good", **few)
    evaluated(folder / "seed", queries, **few | {"seed": 8})
    evaluated(folder / "more", queries, **few | {"resamples": 30})
    evaluated(folder / "none", queries, **few | {"resamples": 0})
    evaluated(folder / "ranked", queries, candidates, measures=("nDCG@10",), resamples=20)
    lists = [name for name in frame.columns if name.endswith("_sent_uids")]
    gold = pl.when(pl.int_range(pl.len()) == frame["has_evidence"].arg_max()).then(pl.lit(["nothing"]))
    made = {
        "fewer": frame[1:],
        "renamed": frame.with_columns(pl.col("post_id").replace(frame["post_id"][0], "somebody")),
        "criteria": frame.with_columns(pl.col("criterion_id").replace("A.1", "B.1")),
        "labels": frame.drop(lists).with_columns(has_evidence=1 - pl.col("has_evidence")),
        "gold": frame.drop(lists[1:]).with_columns(gold_sent_uids=gold.otherwise("gold_sent_uids")),
        "bare": frame.drop(lists),
    }
    for name, rows in made.items():
        evaluated(folder / name, in_parts(rows, folder / "queries" / name, []), **few)
    shutil.copytree(folder / "good", folder / "old")
    manifest = loads((folder / "old" / "manifest.json").read_text())
    del manifest["truth"]
    (folder / "old" / "manifest.json").write_text(json.dumps(manifest))
    shutil.copytree(folder / "good", folder / "cut")
    kept = pl.read_parquet(folder / "cut" / "replicates.parquet")
    kept.drop("effective_posts").write_parquet(folder / "cut" / "replicates.parquet")
    run = pl.read_parquet(queries / "*.parquet")
    evidentia.evaluate(run, measures="AUROC", resamples=0, report=False).save(folder / "memory")
    return folder


REFUSED = {
    "seed": ("good and seed were resampled differently: their seed is 7 and 8.", "--seed 7"),
    "more": ("their number of resamples is 20 and 30.", "--resamples 30"),
    "none": ("none holds no replicates to compare.", "--resamples 1000"),
    "old": ("old does not say which queries it judged", "Evaluate its tables again."),
    "cut": ("cut/replicates.parquet is not one that this version wrote", "Evaluate its tables again."),
    "fewer": ("good and fewer hold other queries under criterion A.1 (60 and 59 under A.1).", "evaluate these"),
    "renamed": ("hold other queries under criterion A.1, A.2, A.3 (60 and 60 under A.1).", "evaluate these"),
    "criteria": ("hold other criteria: only one of them has A.1, B.1.", "evaluate these"),
    "labels": ("disagree about which queries have evidence under criterion A.1, A.2, A.3.", "on the same truth"),
    "gold": ("good and gold disagree about the gold sentences under criterion A.", "on the same truth"),
    "memory": ("good was read block by block, and its rows are not in the folder", "with --memory and --resamples"),
    "ranked": ("The results have no measure in common", "--measures"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_paired_is_refused_in_one_sentence_with_the_remedy(
    name: str, others: Path, tmp_path: Path
) -> None:
    ran = command("compare", others / "good", others / name, "-o", tmp_path / "out")
    refused(ran, *REFUSED[name])
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


OPTIONS = {
    "--resamples": ("50", "its replicates are those of resamples 20, not 50. Leave out --resamples"),
    "--seed": ("3", "those of seed 7, not 3. Leave out --seed"),
    "--bootstrap": ("exact", "those of bootstrap poisson, not exact. Leave out --bootstrap"),
    "--on-mismatch": ("intersect", "so queries cannot be left out. Evaluate the tables with the same queries"),
    "--alpha": ("2", "alpha must lie between 0 and 1"),
    "--ci": ("2", "The level of an interval must lie between 0 and 1"),
    "--measures": ("nDCG@10", "Nothing is left to compare: not compared, because not every result holds them: nDCG@10"),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_that_the_replicates_cannot_follow_are_refused(option: str, others: Path) -> None:
    value, words = OPTIONS[option]
    refused(command("compare", others / "good", others / "bare", option, value), words)


def test_gold_that_one_of_them_does_not_know_cannot_differ(others: Path) -> None:
    """As in memory: labels are compared, and gold sentences where both have them."""
    comparison = evidentia.compare(others / "good", others / "bare", resamples=20, seed=7, bootstrap="poisson")
    assert [delta.name for delta in comparison.deltas][:2] == ["AUROC", "Brier"]
    asked = evidentia.compare(others / "good", others / "bare", measures=("Brier", "nDCG@10"))
    assert asked.notes[0] == "not compared, because not every result holds them: nDCG@10"


@pytest.mark.parametrize(
    ("file", "key"), [("manifest.json", "options"), ("summary.json", "seed"), ("summary.json", "dataset")]
)
def test_a_folder_that_lacks_something_is_refused(file: str, key: str, others: Path, tmp_path: Path) -> None:
    shutil.copytree(others / "good", tmp_path / "cut")
    content = loads((tmp_path / "cut" / file).read_text())
    del content[key]
    (tmp_path / "cut" / file).write_text(json.dumps(content))
    words = ("cut is not a result that Evidentia wrote", "(KeyError). Evaluate its tables again.")
    refused(command("compare", others / "good", tmp_path / "cut"), *words)


def test_replicates_that_are_no_parquet_file_are_refused(others: Path, tmp_path: Path) -> None:
    shutil.copytree(others / "good", tmp_path / "cut")
    (tmp_path / "cut" / "replicates.parquet").write_bytes(b"PAR1")
    refused(
        command("compare", others / "good", tmp_path / "cut"),
        "cut/replicates.parquet is not one that this version wrote",
    )


def test_a_result_with_itself(others: Path) -> None:
    shutil.copytree(others / "good", others / "twin", dirs_exist_ok=True)
    comparison = evidentia.compare(others / "good", others / "twin")
    assert {(d.delta, d.ci, d.p, d.verdict) for d in comparison.deltas} == {(0.0, None, 1.0, "tie")}
    with pytest.raises(InputError, match="same name"):
        evidentia.compare(others / "good", others / "twin", names=("a", "a"))
    with pytest.raises(InputError, match="at least two results"):
        evidentia.compare(others / "good")


def test_an_evaluation_that_was_not_saved_is_told_to_be(home: Path) -> None:
    with here():
        result = workflow.evaluate_tables(home / "queries" / "bad", measures="Brier", workers=1, resamples=20)
    with pytest.raises(InputError, match="Save it, and name its folder"):
        evidentia.compare(result, result)


def test_the_gate_holds_a_result_against_a_baseline_by_the_same_interval(home: Path) -> None:
    words = ("gate", home / "bad", "--against", home / "good", "--max-drop", "AUROC:0.01,Recall@10:90%", "--json")
    closed = command(*words)
    assert (closed.code, closed.err) == (1, "")
    verdict = loads(closed.out)
    interval = evidentia.compare(home / "good", home / "bad", measures=("AUROC", "Recall@10"))["AUROC"].ci
    assert next((drop["decision"], tuple(drop["ci"])) for drop in verdict["drops"]) == ("not met", interval)
    assert verdict["drops"][1]["decision"] == "met"
    named = {condition["title"]: condition["holds"] for condition in verdict["conditions"]}
    accepted = {c["title"]: c["holds"] for c in loads(command(*words, "--accept-sampled").out)["conditions"]}
    assert {name for name in named if named[name] != accepted[name]} == {
        *("Independently verified", "Baseline independently verified"),
    }
    refused(command(*words, "--resamples", 50), "its replicates are those of resamples 200, not 50")
