"""`evidentia run`: where it may write, what it says of a run that is begun or finished, and that no text gets out."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from evidentia import running
from evidentia.corpus.write import write_corpus
from evidentia.pipeline import extras
from evidentia.pipeline.config import read_config
from evidentia.synth import synthetic_corpus

from .command import Ran, contents, evidentia, evidentia_apart, refused

TINY = """
[corpus]
path = "{corpus}"
[protocol]
folds = 2
seed = {seed}
[run]
workers = {workers}
cache = {cache}
final_model = false
[retriever]
keep = {keep}
[reranker]
kind = "none"
[graph]
kind = "none"
[gate]
kind = "best"
calibrate = "platt"
"""
QUICK = ("--resamples", "0", "--no-report", "--no-verify")
MARKER = "seven grey herons stood behind the locked pharmacy"


def tiny(folder: Path, name: str = "pipeline.toml", **settings: object) -> Path:
    """A configuration that learns next to nothing."""
    values = {"corpus": "corpus", "seed": 7, "workers": 1, "cache": "true", "keep": 24, **settings}
    path = folder / name
    path.write_text(TINY.format(**values), encoding="utf-8")
    return path


def corpus_in(folder: Path, *, seed: int = 3) -> None:
    write_corpus(synthetic_corpus(posts=60, mean_sentences=6, seed=seed), folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a configuration, and in `out` a finished run."""
    home = tmp_path_factory.mktemp("made")
    corpus_in(home / "corpus")
    ran = evidentia("run", tiny(home), "-o", home / "out", "--resamples", "0", "--no-report")
    assert ran.code == 0, ran
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def begun(home: Path) -> Path:
    """The same with a run that was begun only."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    shutil.rmtree(home / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "compute", stop)
        ran = evidentia("run", home / "pipeline.toml", "-o", home / "out", *QUICK)
    assert ran == Ran(130, "", "evidentia: stopped. What was done is kept: continue with --resume.\n")
    assert sorted(contents(home / "out")) == ["work/lock", "work/state.json"]
    return home


OTHERS: dict[str, Callable[[Path], object]] = {
    "configuration": lambda home: tiny(home, keep=5),
    "seed": lambda home: tiny(home, seed=8),
    "corpus": lambda home: (shutil.rmtree(home / "corpus"), corpus_in(home / "corpus", seed=4)),
}


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("other", OTHERS)
def test_another_run_is_not_continued(other: str, begun: Path) -> None:
    OTHERS[other](begun)
    before = contents(begun)
    ran = evidentia("run", begun / "pipeline.toml", "-o", begun / "out", "--resume", *QUICK)
    refused(
        ran, "out was begun with another configuration, corpus or version. Delete it to begin anew, or choose another"
    )
    assert contents(begun) == before


@pytest.mark.parametrize("other", OTHERS)
def test_another_run_is_not_finished(other: str, home: Path) -> None:
    OTHERS[other](home)
    before = contents(home)
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "out", "--resume", *QUICK)
    refused(ran, "out is finished, and was made with another configuration, corpus or version")
    assert contents(home) == before


def test_a_begun_run_is_not_begun_again(begun: Path) -> None:
    before = contents(begun)
    ran = evidentia("run", begun / "pipeline.toml", "-o", begun / "out", *QUICK)
    refused(ran, "out holds a run that was begun. Continue it with --resume")
    assert contents(begun) == before


def test_a_finished_run_is_not_begun_again(home: Path) -> None:
    before = contents(home)
    refused(evidentia("run", home / "pipeline.toml", "-o", home / "out", *QUICK), "out exists and is not empty")
    assert contents(home) == before


def test_a_finished_run_is_finished(home: Path) -> None:
    before = contents(home)
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "out", "--resume", *QUICK)
    assert ran == Ran(0, "out is finished already: nothing was changed.\n", "")
    assert contents(home) == before


def test_what_a_finished_run_had_no_time_to_remove_is_removed(home: Path) -> None:
    before = contents(home)
    (home / "out" / "work" / "0" / "retriever").mkdir(parents=True)
    assert evidentia("run", home / "pipeline.toml", "-o", home / "out", "--resume", "--quiet").code == 0
    assert contents(home) == before
    assert not (home / "out" / "work").exists()


@pytest.mark.parametrize("which", ["verification", "check", "unreadable"])
def test_a_finished_run_that_failed_has_failed(which: str, home: Path) -> None:
    name = "summary.json" if which == "check" else "verification.json"
    path = home / "out" / "result" / name
    document = json.loads(path.read_text())
    if which == "check":
        document["checks"][0]["status"] = "failed"
    else:
        document["mismatches"].append({"where": "AUROC", "reported": 1, "recomputed": 0})
    path.write_text("{" if which == "unreadable" else json.dumps(document))
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "out", "--resume")
    said = "out is finished already, and a check or its verification failed: nothing was changed.\n"
    assert ran == Ran(1, said, "")


@pytest.mark.slow
def test_a_folder_that_is_not_there_is_begun_and_one_that_is_begun_is_continued(begun: Path) -> None:
    for words in (("-o", begun / "new", "--resume"), ("-o", begun / "out", "--resume")):
        assert evidentia("run", begun / "pipeline.toml", *words, *QUICK).code == 0
    first, second = contents(begun / "new"), contents(begun / "out")
    assert sorted(first) == sorted(second)
    assert {name for name in first if first[name] != second[name]} <= {
        "manifest.json",
        "result/manifest.json",
        "run.log",
    }


def test_workers_and_cache_may_differ(home: Path) -> None:
    tiny(home, workers=2, cache="false")
    assert evidentia("run", home / "pipeline.toml", "-o", home / "out", "--resume", *QUICK).code == 0


def test_a_run_that_was_stopped_as_it_opened_its_folder_is_begun(begun: Path) -> None:
    (begun / "out" / "work" / "state.json").rename(begun / "out" / "work" / ".state.json.abcdefgh.partial")
    assert evidentia("run", begun / "pipeline.toml", "-o", begun / "out", "--resume", *QUICK).code == 0
    assert [path.name for path in (begun / "out").rglob(".*")] == []


LEFTOVERS = (
    *(".tune.parquet.abcdefgh.partial", "models/.fold-0.0a1b2c3d.partial/pipeline.json", "work/0/.gate.x.partial/a"),
    *(".result.abcd_fgh.partial/summary.json", ".result.old.abcdefgh.partial/result/summary.json"),
    *("result/.verification.json.abcdefgh.partial", "result/figures/.report.html.abcdefgh.partial"),
)


def test_what_was_half_written_is_swept_away_and_what_is_not_ours_stays(begun: Path) -> None:
    for name in (*LEFTOVERS, ".notes"):
        (begun / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (begun / "out" / name).touch()
    shutil.rmtree(begun / "out" / "result")
    assert evidentia("run", begun / "pipeline.toml", "-o", begun / "out", "--resume", *QUICK).code == 0
    assert [path.name for path in (begun / "out").rglob(".*")] == [".notes"]


def test_a_run_is_continued_though_it_was_killed_while_its_result_was_verified(begun: Path, made: Path) -> None:
    out = begun / "out"
    shutil.copytree(made / "out" / "result", out / "result")
    (out / "result" / ".verification.json.abcdefgh.partial").write_text("{")
    (out / "result" / "figures" / ".report.html.abcdefgh.partial").write_text("<html>")
    assert evidentia("run", begun / "pipeline.toml", "-o", out, "--resume", *QUICK).code == 0
    assert (out / "result" / "summary.json").read_bytes() == (made / "out" / "result" / "summary.json").read_bytes()
    assert [path.name for path in out.rglob(".*")] == []


def test_a_state_that_cannot_be_read_is_said(begun: Path) -> None:
    (begun / "out" / "work" / "state.json").write_text("{")
    ran = evidentia("run", begun / "pipeline.toml", "-o", begun / "out", "--resume", *QUICK)
    refused(ran, "out/work/state.json cannot be read. Delete out and begin anew")


def test_a_file_is_no_folder(home: Path) -> None:
    for out, said in (
        ("file", "file exists and is not a folder"),
        ("file/out", "Cannot write into out: Not a directory"),
    ):
        (home / "file").write_text("mine")
        for resume in ((), ("--resume",)):
            refused(evidentia("run", home / "pipeline.toml", "-o", home / out, *resume, *QUICK), said)
    assert (home / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(home: Path) -> None:
    (home / "closed").mkdir(mode=0o555)
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "closed" / "out", *QUICK)
    refused(ran, "Cannot write into out: Permission denied")


PATCH = """
import sys
if any("evidentia.workers" in word for word in sys.orig_argv):  # in workers alone
    from evidentia.errors import InputError
    from evidentia.pipeline.stages.retrievers import Bm25

    def fit(self, inputs, lesson, *, seed):
        raise {error}

    Bm25.fit = fit
"""


def with_marker(home: Path) -> None:
    path = home / "corpus" / "documents.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        record["sentences"][0]["text"] = MARKER
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        ("InputError('Too few posts.')", 2, "evidentia: Too few posts.\n"),
        (
            f"KeyError({MARKER!r})",
            70,
            "evidentia: internal error, KeyError in sitecustomize.py, line 8. EVIDENTIA_DEBUG=1 shows the traceback.\n",
        ),
    ],
)
def test_what_fails_in_a_worker_is_one_line_without_text(error: str, code: int, said: str, home: Path) -> None:
    with_marker(home)
    (home / "patch").mkdir()
    (home / "patch" / "sitecustomize.py").write_text(PATCH.format(error=error))
    path = os.pathsep.join([str(home / "patch"), os.environ.get("PYTHONPATH", "")])
    words = ("run", home / "pipeline.toml", "-o", home / "failed", "--workers", 2, *QUICK)
    ran = evidentia_apart(*words, env={"PYTHONPATH": path})
    assert ran == Ran(code, "", said)
    assert not any(MARKER.encode() in content for content in contents(home / "failed").values())


def test_no_text_is_in_any_file_or_on_the_screen(home: Path) -> None:
    with_marker(home)
    tiny(home)
    text = (home / "pipeline.toml").read_text()
    text = text.replace('[reranker]\nkind = "none"', '[reranker]\nlearners = ["words"]\nmodel = "logistic"')
    (home / "pipeline.toml").write_text(text.replace('"best"', '"pooled"\nmodel = "logistic"'))
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "new", *QUICK)
    assert ran.code == 0, ran
    found = {**contents(home / "new"), "stdout": ran.out.encode(), "stderr": ran.err.encode()}
    assert {"per_query.parquet", "models/fold-0/words/model.json", "result/summary.json"} <= set(found)
    for name, content in found.items():
        for words in (MARKER, "grey herons stood", "the locked pharmacy"):  # a vocabulary has words and pairs of them
            assert words.encode() not in content, name


# a run is where its result is


def test_a_run_is_verified_compared_and_judged_by_its_folder(home: Path) -> None:
    ran = evidentia("verify", home / "out")
    assert ran.code == 0, ran
    assert "Everything matches." in ran.out
    shutil.copytree(home / "out", home / "other")
    ran = evidentia("compare", home / "out", home / "other", "--resamples", 20, "--measures", "AUROC", "--json")
    assert ran.code == 0, ran
    assert [(one["baseline"], one["system"]) for one in json.loads(ran.out)["deltas"]][:1] == [("out", "other")]
    assert evidentia("gate", home / "out", "--target", "AUROC>=0").code in {0, 1}
    ran = evidentia("report", home / "out", "--format", "md")
    assert ran.code == 0, ran
    refused(evidentia("verify", home), "home is not a result folder")


# what cannot be run leaves nothing


NEURAL = {
    "graph": ("torch_geometric", '[graph] kind = "gnn" needs torch_geometric'),
    "gate": ("torch_geometric", '[gate] kind = "gnn" needs torch_geometric'),
    "reranker": ("torch", '[reranker] kind = "fine-tuned" needs torch'),
}


@pytest.mark.parametrize("table", NEURAL)
def test_a_missing_library_is_told_before_anything_is_begun(
    table: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    kind = "fine-tuned" if table == "reranker" else "gnn"
    text = tiny(home).read_text()
    (home / "neural.toml").write_text(re.sub(rf'\[{table}\]\nkind = "\w+"', f'[{table}]\nkind = "{kind}"', text))
    ran = evidentia("run", home / "neural.toml", "-o", home / "neural", *QUICK)
    refused(ran, NEURAL[table][1], "pip install -c constraints.txt '.[neural]'")
    assert not (home / "neural").exists()


def test_a_run_that_did_nothing_is_not_in_the_way(home: Path) -> None:
    """A server that is not there is found before the first step: the same folder can be used for another try."""
    more = '[retriever]\nkind = "openai:http://127.0.0.1:9/v1,none"\n[retriever.model]\nretries = 0\n'
    text = tiny(home).read_text().replace("cache = true", 'cache = "cache"')
    (home / "server.toml").write_text(text.replace("[retriever]\nkeep = 24\n", more))
    ran = evidentia("run", home / "server.toml", "-o", home / "again", *QUICK)
    assert ran.code == 2, ran
    assert not (home / "again").exists()
    assert evidentia("run", tiny(home), "-o", home / "again", *QUICK).code == 0


@pytest.mark.slow
def test_invented_posts_are_said_to_be(home: Path) -> None:
    path = tiny(home, "invented.toml", corpus="synthetic")
    path.write_text(path.read_text().replace('path = "synthetic"', 'path = "synthetic"\nposts = 60'))
    said: list[str] = []

    def bar(words: str) -> AbstractContextManager[None]:
        said.append(words)
        return nullcontext()

    for name in ("pipeline.toml", "invented.toml"):
        judging = running.Judging(0, verify=False, report=False)
        running.run(read_config(home / name), home / f"of-{name}", judging=judging, bar=bar)
    assert [words for words in said if "training" in words] == ["training on 60 posts", "training on 60 invented posts"]
