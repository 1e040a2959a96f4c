"""`evidentia predict`: the answers that the run was judged by, in every format, and without a text unless one is asked for."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file, save

from builders.pipelines import small_pipeline
from evidentia.pipeline.store import write_sums
from evidentia.protocol import apply_tuning, read_tuning
from evidentia.tables import read_run
from evidentia.tables.cells import unquoted

from .command import Ran, contents, evidentia, evidentia_apart, refused

COLUMNS = (
    *("post_id", "criterion_id", "prob", "state", "tau_neg", "tau_pos", "selected_sent_uids", "ranked_sent_uids"),
    *("detection_score", "n_candidates"),
)
FORMATS = (".csv", ".jsonl", ".parquet")
MARKER = "seven grey herons stood behind the locked pharmacy"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and in `run` what was learnt from it."""
    return small_pipeline(tmp_path_factory)


@pytest.fixture
def model(home: Path, tmp_path: Path) -> Path:
    """A trained pipeline that may be damaged."""
    return Path(shutil.copytree(home / "run" / "models" / "final", tmp_path / "model"))


def records(home: Path) -> dict[str, dict[str, Any]]:
    lines = (home / "corpus" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["post_id"]: record for record in map(json.loads, lines)}


def lines(path: Path, posts: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(post) + "\n" for post in posts), encoding="utf-8")
    return path


def few_posts(home: Path, folder: Path) -> Path:
    return lines(folder / "few.jsonl", list(records(home).values())[:4])


def read(path: Path) -> pl.DataFrame:
    """Answers as they were meant, whatever the format."""
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    if path.suffix == ".jsonl":
        return pl.read_ndjson(path)
    words = [name for name in COLUMNS if name not in {"prob", "tau_neg", "tau_pos", "detection_score", "n_candidates"}]
    frame = pl.read_csv(path, schema_overrides=dict.fromkeys(words, pl.String))
    return frame.with_columns(unquoted(frame[name].fill_null("")) for name in words)


def answers(model: Path, posts: Path, out: Path, *words: object) -> pl.DataFrame:
    ran = evidentia("predict", model, posts, "-o", out, "--force", *words)
    assert (ran.code, ran.err) == (0, ""), ran
    return read(out)


@pytest.mark.parametrize("fold", ["0", "1"])
def test_eval_posts_get_the_answers_that_the_run_was_judged_by(fold: str, home: Path, tmp_path: Path) -> None:
    run, known = home / "run", records(home)
    judged = read_run(run / "per_query.parquet", candidates=run / "candidates.parquet", tune=run / "tune.parquet")
    applied = apply_tuning(judged, read_tuning(run / "thresholds.json")[0]).frame.filter(fold=fold)
    posts = lines(tmp_path / "posts.jsonl", (known[post] for post in applied["post_id"].unique(maintain_order=True)))
    found = answers(run / "models" / f"fold-{fold}", posts, tmp_path / "answers.parquet")
    wanted = applied.with_columns(pl.col("ranked_sent_uids", "selected_sent_uids").list.join("|")).select(COLUMNS)
    assert found.height == 300
    assert {"NEG", "UNCERTAIN", "POS"} >= set(found["state"]) > {"UNCERTAIN"}
    for name in COLUMNS:
        assert found[name].to_list() == wanted[name].to_list(), name
    evaluated = pl.read_csv(run / "result" / "per_query.csv", schema_overrides={"fold": pl.String}).filter(fold=fold)
    assert found["prob"].to_list() == evaluated["prob"].to_list()
    assert found["state"].to_list() == evaluated["state"].to_list()


def test_neg_returns_no_sentence_and_the_others_lead_their_ranking(home: Path, tmp_path: Path) -> None:
    found = answers(home / "run", home / "corpus", tmp_path / "answers.parquet")
    assert set(found["state"]) == {"NEG", "UNCERTAIN", "POS"}
    for state, selected, ranked in found.select("state", "selected_sent_uids", "ranked_sent_uids").iter_rows():
        assert (state == "NEG") == (selected == "")
        assert f"{ranked}|".startswith(f"{selected}|" if selected else "")


ODD = (
    {"post_id": 17, "text": "Tired"},
    {"post_id": "other letters", "text": "\u4f60\u597d\u3002 \u6211\u5f88\u7d2f\u3002"},
    {"post_id": "no letters", "text": "..."},
    {"post_id": "twice", "sentences": [{"sent_uid": f"t{at}", "text": "I cannot sleep."} for at in range(2)]},
    {"post_id": "long", "sentences": [{"sent_uid": f"l{at}", "text": f"Night {at} was bad."} for at in range(60)]},
)


def test_a_post_gets_the_same_answer_alone_and_among_others(home: Path, tmp_path: Path) -> None:
    posts = [*list(records(home).values())[:4], *ODD]
    together = answers(home / "run", lines(tmp_path / "all.jsonl", posts), tmp_path / "all.parquet")
    backwards = answers(home / "run", lines(tmp_path / "back.jsonl", posts[::-1]), tmp_path / "back.parquet")
    alone = [answers(home / "run", lines(tmp_path / "one.jsonl", [post]), tmp_path / "one.parquet") for post in posts]
    assert pl.concat(alone).equals(together)
    assert pl.concat(alone[::-1]).equals(backwards)
    assert together["n_candidates"].to_list()[-10:] == [60] * 10


def test_a_run_answers_with_its_model_for_use(home: Path, tmp_path: Path) -> None:
    places = (home / "run", home / "run" / "models", home / "run" / "models" / "final")
    run, models, final = (answers(place, home / "corpus", tmp_path / "a.parquet") for place in places)
    fold = answers(home / "run" / "models" / "fold-0", home / "corpus", tmp_path / "a.parquet")
    assert run.equals(final)
    assert models.equals(final)
    assert not fold.equals(final)
    shutil.copytree(home / "run" / "models" / "fold-0", tmp_path / "without" / "models" / "fold-0")
    assert answers(tmp_path / "without", home / "corpus", tmp_path / "a.parquet").equals(fold)


def test_posts_come_in_a_file_or_a_folder_with_sentences_or_a_text(home: Path, tmp_path: Path) -> None:
    file = home / "corpus" / "documents.jsonl"
    folder = answers(home / "run", home / "corpus", tmp_path / "a.parquet")
    assert answers(home / "run", file, tmp_path / "a.parquet").equals(folder)
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "documents.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert answers(home / "run", tmp_path / "packed", tmp_path / "a.parquet").equals(folder)
    texts = [
        {"post_id": post, "text": "\n".join(one["text"] for one in record["sentences"])}
        for post, record in records(home).items()
    ]
    posts = lines(tmp_path / "texts.jsonl", texts)
    assert answers(home / "run", posts, tmp_path / "a.parquet", "--splitter", "lines").equals(folder)


def test_a_text_is_cut_by_the_splitter_that_was_named(home: Path, tmp_path: Path) -> None:
    posts = lines(tmp_path / "posts.jsonl", [{"post_id": "p", "text": "I cannot sleep. I am tired."}])
    for words, sentences in (
        ((), "p_0 p_1"),
        (("--splitter", "sentencex"), "p_0 p_1"),
        (("--splitter", "lines"), "p_0"),
    ):
        found = answers(home / "run", posts, tmp_path / "a.jsonl", *words)
        assert {" ".join(sorted(ranked.split("|"))) for ranked in found["ranked_sent_uids"]} == {sentences}
    ran = evidentia("predict", home / "run", posts, "-o", tmp_path / "b.csv", "--splitter", "axe")
    one_line(ran, "There is no splitter 'axe'")


FORMULAS = (
    {"post_id": "=cmd()", "sentences": [{"sent_uid": "@a", "text": "I cry."}, {"sent_uid": "-b", "text": "I wake."}]},
    {"post_id": "+p, q", "text": "I feel sad. Nothing tastes of anything."},
    {"post_id": "'=quoted", "text": "I feel sad."},
)


def test_every_format_says_the_same_and_none_is_a_formula(home: Path, tmp_path: Path) -> None:
    posts = lines(tmp_path / "posts.jsonl", [*FORMULAS, *records(home).values()])
    made = {suffix: answers(home / "run", posts, tmp_path / f"answers{suffix}") for suffix in FORMATS}
    assert list(made[".parquet"].columns) == list(COLUMNS)
    assert made[".parquet"]["post_id"].unique(maintain_order=True).to_list()[:3] == ["=cmd()", "+p, q", "'=quoted"]
    assert made[".jsonl"].equals(made[".parquet"])
    assert made[".csv"].equals(made[".parquet"])
    for row in pl.read_csv(tmp_path / "answers.csv", infer_schema=False).iter_rows(named=True):
        for name in ("post_id", "criterion_id", "selected_sent_uids", "ranked_sent_uids"):
            assert not (row[name] or "").startswith(("=", "+", "-", "@")), row
    assert (tmp_path / "answers.csv").read_text().splitlines()[1].startswith("'=cmd(),A.1,")


def test_what_is_printed(home: Path, tmp_path: Path) -> None:
    ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "a.csv")
    counts = dict(read(tmp_path / "a.csv")["state"].value_counts().iter_rows())
    *states, warning, total, model, last = ran.out.splitlines()
    assert {line.split()[0]: int(line.split()[1]) for line in states} == counts
    assert warning == "warning: the model was trained or tuned on 60 of these posts"
    assert re.fullmatch("model SHA-256: [0-9a-f]{64}", model)
    assert (total, last) == (
        "60 posts, 600 queries: a.csv, a.csv.thresholds.json",
        "Research software, not a medical device.",
    )
    quiet = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "b.csv", "--quiet")
    assert quiet == Ran(0, "", "")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_warning_counts_the_posts_that_were_learnt_from_or_tuned_on(home: Path, tmp_path: Path) -> None:
    document = json.loads((home / "run" / "models" / "fold-0" / "pipeline.json").read_text())
    trained, tuned = document["trained_on"], document["decisions"]["tuned_on"]["posts"]
    judged = sorted(set(records(home)) - {*trained, *tuned})
    for some, count in ((judged, 0), ([trained[0], *judged], 1), ([*trained[:2], *tuned[:3]], 5)):
        posts = lines(tmp_path / "posts.jsonl", (records(home)[post] for post in some))
        ran = evidentia("predict", home / "run" / "models" / "fold-0", posts, "-o", tmp_path / "a.csv", "--force")
        said = [line for line in ran.out.splitlines() if "warning" in line]
        assert said == [f"warning: the model was trained or tuned on {count} of these posts"][: bool(count)]


def test_texts_are_written_on_request_only(home: Path, tmp_path: Path) -> None:
    known = {one["sent_uid"]: one["text"] for record in records(home).values() for one in record["sentences"]}
    for suffix in (".jsonl", ".parquet"):
        plain = answers(home / "run", home / "corpus", tmp_path / f"a{suffix}")
        found = answers(home / "run", home / "corpus", tmp_path / f"a{suffix}", "--texts")
        assert found.drop("evidence").equals(plain)
        for uids, texts in found.select("selected_sent_uids", "evidence").iter_rows():
            assert texts == [known[uid] for uid in uids.split("|") if uid]
    ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "a.csv", "--texts")
    one_line(ran, "with --texts write .jsonl or .parquet")
    assert not (tmp_path / "a.csv").exists()


def test_no_text_is_in_any_file_or_on_the_screen(home: Path, tmp_path: Path) -> None:
    marked = [{"sent_uid": "a", "text": MARKER}, {"sent_uid": "b", "text": "I cannot sleep."}]
    posts = lines(tmp_path / "posts.jsonl", [{"post_id": "p", "sentences": marked}, {"post_id": "q", "text": MARKER}])
    out = tmp_path / "out"
    ran = [evidentia_apart("predict", home / "run", posts, "-o", out / "apart.csv")]
    ran += [evidentia("predict", home / "run", posts, "-o", out / f"here{suffix}") for suffix in FORMATS]
    assert [(one.code, one.err) for one in ran] == [(0, "")] * 4
    found = contents(out)
    names = ["apart.csv", "here.csv", "here.jsonl", "here.parquet"]
    assert sorted(found) == sorted([*names, *(f"{name}.thresholds.json" for name in names)])
    assert found["apart.csv"] == found["here.csv"]
    found["unpacked"] = str(pl.read_parquet(out / "here.parquet").rows()).encode()
    for name, content in {**found, "screen": "".join(one.out for one in ran).encode()}.items():
        assert b"herons" not in content, name


def one_line(ran: Ran, *parts: str) -> None:
    """The command refused, and said so in one line without a text."""
    refused(ran, *parts)
    assert ran.err.startswith("evidentia: ")
    assert ran.err.count("\n") == 1
    assert "herons" not in ran.err
    assert "--resume" not in ran.err


POSTS = {
    "empty": ("", "posts.jsonl: 0 rows"),
    "blank": ("\n \n", "posts.jsonl: 0 rows"),
    "not JSON": (f"{MARKER}\n", "1 line that cannot be read as a JSON object (first: line 1"),
    "cut short": (f'{{"post_id": "p", "text": "{MARKER}', "1 line that cannot be read as a JSON object"),
    "a list": (f'["{MARKER}"]\n', "1 line that cannot be read as a JSON object"),
    "no id": (f'{{"text": "{MARKER}"}}\n', "1 post without a post_id (first: line 1)"),
    "a text as id": (f'{{"post_id": "{MARKER} {"x" * 200}", "text": "a"}}\n', "1 post whose post_id looks like a text"),
    "no sentence": ('{"post_id": "p", "sentences": []}\n', "1 post without a sentence (first: line 1, post 'p')"),
    "twice": (f'{{"post_id": "p", "text": "{MARKER}"}}\n' * 2, "1 post whose post_id an earlier one has"),
}


@pytest.mark.parametrize("which", POSTS)
def test_posts_that_cannot_be_read(which: str, home: Path, tmp_path: Path) -> None:
    content, said = POSTS[which]
    (tmp_path / "posts.jsonl").write_text(content)
    ran = evidentia("predict", home / "run", tmp_path / "posts.jsonl", "-o", tmp_path / "a.csv")
    one_line(ran, said)
    assert sorted(contents(tmp_path)) == ["posts.jsonl"]


def test_posts_that_are_not_there(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for posts, name in (("none.jsonl", "none.jsonl"), ("empty", "documents.jsonl")):
        ran = evidentia("predict", home / "run", tmp_path / posts, "-o", tmp_path / "a.csv")
        one_line(ran, f"{name}: no such file")
    assert contents(tmp_path) == {}


def test_a_folder_without_a_model(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    said = "holds no trained pipeline. Give the folder of `evidentia run`"
    for place, name in ((home / "corpus", "corpus"), (tmp_path / "none", "none"), (".", "empty")):
        ran = evidentia("predict", place, home / "corpus", "-o", tmp_path / "a.csv")
        one_line(ran, f"evidentia: {name} {said}")
    assert contents(tmp_path) == {}


def changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "shorter": lambda path: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path: os.truncate(path, 0),
    "changed": changed,
    "removed": Path.unlink,
}


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("how", DAMAGE)
def test_a_model_that_is_not_what_was_written(how: str, model: Path, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "a.csv"
    steps = ("words", "bm25", "retriever", "reranker", "graph", "gate")
    names = [f"{step}/{file}" for step in steps for file in ("model.json", "model.safetensors")]
    assert sorted(contents(model)) == sorted([*names, "pipeline.json", "sums.json"])
    for name in (*names, "pipeline.json"):
        before = (model / name).read_bytes()
        DAMAGE[how](model / name)
        ran = evidentia("predict", model, home / "corpus", "-o", out)
        gone = how == "removed" and name == "pipeline.json"
        one_line(ran, "model holds no trained pipeline" if gone else f"model/{name} is damaged or missing. Train again")
        (model / name).write_bytes(before)
    assert not out.parent.exists()
    assert answers(model, home / "corpus", out).height == 600


@pytest.mark.parametrize("how", ["shorter", "emptied", "removed"])
def test_hashes_that_are_not_what_was_written(how: str, model: Path, home: Path, tmp_path: Path) -> None:
    DAMAGE[how](model / "sums.json")
    ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv")
    one_line(ran, "model/sums.json is damaged or missing. Train again with `evidentia run`.")


@pytest.mark.parametrize("sums", ["{}", "[]"])
def test_hashes_of_nothing_vouch_for_nothing(sums: str, model: Path, home: Path, tmp_path: Path) -> None:
    (model / "sums.json").write_text(sums)
    ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv")
    one_line(ran, "is damaged or missing. Train again with `evidentia run`.")


def test_weights_of_another_fold(model: Path, home: Path, tmp_path: Path) -> None:
    shutil.copy(home / "run" / "models" / "fold-0" / "gate" / "model.safetensors", model / "gate")
    ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv")
    one_line(ran, "model/gate/model.safetensors is damaged or missing")


@pytest.mark.parametrize(
    "content", ["[]", "null", '{"schema": "evidentia.model/2"}', '{"schema": "evidentia.model/1"}', '{"schema": NaN}']
)
def test_a_pipeline_of_another_kind(content: str, model: Path, home: Path, tmp_path: Path) -> None:
    (model / "pipeline.json").write_text(content)
    (model / "sums.json").unlink()
    write_sums(model)
    ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv")
    one_line(ran, "model/pipeline.json cannot be read. Train again with `evidentia run`.")


@pytest.mark.parametrize("name", ["answers.txt", "answers.json", "answers.csv.gz", "answers.CSV"])
def test_a_suffix_that_is_not_known(name: str, home: Path, tmp_path: Path) -> None:
    ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / name)
    one_line(ran, f"{name}: write to one of .csv, .jsonl, .parquet, or name a folder.")
    assert contents(tmp_path) == {}


def test_a_file_is_replaced_with_force_only(model: Path, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    out.write_text("mine")
    one_line(evidentia("predict", model, home / "corpus", "-o", out), "a.csv exists", "--force")
    assert out.read_text() == "mine"
    changed(model / "gate" / "model.safetensors")
    one_line(evidentia("predict", model, home / "corpus", "-o", out, "--force"), "damaged")
    assert out.read_text() == "mine"
    assert answers(home / "run", home / "corpus", out).height == 600


PLACES = {
    "under a file": ("file/a.csv", "Cannot write a.csv: "),
    "a folder": ("folder.csv", "Cannot write folder.csv: Is a directory"),
    "a long name": (f"{'a' * 300}.csv", "File name too long"),
}


@pytest.mark.parametrize("which", PLACES)
def test_a_place_that_cannot_be_written(which: str, home: Path, tmp_path: Path) -> None:
    name, said = PLACES[which]
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / name, "--force")
    one_line(ran, said, "Choose another file with -o.")
    assert contents(tmp_path) == {"file": b"mine"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(home: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "closed" / "a.csv")
    one_line(ran, "Cannot write a.csv: Permission denied. Choose another file with -o.")


def test_a_full_disk_leaves_what_was_there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.csv").write_text("mine")
    monkeypatch.setattr(Path, "replace", no_room)
    ran = evidentia("predict", home / "run", home / "corpus", "-o", tmp_path / "a.csv", "--force")
    one_line(ran, "Cannot write a.csv: No space left on device. Choose another file with -o.")
    assert contents(tmp_path) == {"a.csv": b"mine"}


def places(content: Any) -> list[tuple[Any, Any]]:
    """Every member of a document and of what is inside it: where it is, and under which key."""
    members = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [place for key, inner in members for place in ((content, key), *places(inner)[:40])]


@pytest.mark.sample(every=16)
@pytest.mark.parametrize("seed", range(16))
def test_a_model_that_was_edited_with_new_hashes_is_refused_or_applied(
    seed: int, model: Path, home: Path, tmp_path: Path
) -> None:
    random, posts = np.random.default_rng(seed), few_posts(home, tmp_path)
    files = sorted(path for path in model.rglob("*.json") if path.name != "sums.json")
    for path in files:
        before = path.read_bytes()
        for _ in range(3):
            document = json.loads(before)
            options = places(document)
            holder, key = options[random.integers(len(options))]
            new: list[Any] = [None, [], {}, "x", -1, 1e308, 10**30, [[]], True, {"constructor": 1}]
            holder[key] = new[random.integers(len(new))]
            path.write_text(json.dumps(document))
            renew(model)
            ran = evidentia("predict", model, posts, "-o", tmp_path / "a.csv", "--force")
            assert ran.code in {0, 2}, (path.name, key, holder[key], ran)
            assert ran.code == 0 or "evidentia: " in ran.err
        path.write_bytes(before)


@pytest.mark.slow
def test_arrays_that_were_exchanged_with_new_hashes_are_refused(model: Path, home: Path, tmp_path: Path) -> None:
    posts = few_posts(home, tmp_path)
    for path in sorted(model.rglob("*.safetensors")):
        before = path.read_bytes()
        for content in (b"", before[: len(before) // 2], before[::-1], *other_arrays(path)):
            path.write_bytes(content)
            renew(model)
            ran = evidentia("predict", model, posts, "-o", tmp_path / "a.csv", "--force")
            assert ran.code in {0, 2}, (path, ran)
        path.write_bytes(before)


def other_arrays(path: Path) -> list[bytes]:
    arrays = load_file(path)
    return [
        save({}),
        save({name: array[:0] for name, array in arrays.items()}),
        save({name: np.concatenate([array, array]) for name, array in arrays.items() if array.ndim}),
        save({name: array.astype(np.int8) for name, array in arrays.items()}),
        save({f"x/{name}": array for name, array in arrays.items()}),
    ]


def renew(model: Path) -> None:
    (model / "sums.json").unlink()
    write_sums(model)
