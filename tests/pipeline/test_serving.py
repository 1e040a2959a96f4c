"""A model in a program: the answers of `evidentia predict` to the bit, places in the text, threads, and nothing kept."""

from __future__ import annotations

import dataclasses
import gc
import importlib.util
import json
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import evidentia
from builders.pipelines import small_pipeline
from cli.command import contents
from cli.command import evidentia as cli
from evidentia import InputError, PostAnswers, Predictor, UnknownNameError
from evidentia.pipeline.store import write_sums

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARKER = "herons"
TEXT = "It rains today.  I cannot sleep at night.\nNothing tastes of anything, and I feel sad and hopeless all day."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_pipeline(tmp_path_factory)


@pytest.fixture(scope="module")
def model(home: Path) -> Predictor:
    return evidentia.load(home / "run")


@pytest.fixture(scope="module")
def records(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "corpus" / "documents.jsonl").read_text().splitlines()]


def by_command(home: Path, posts: list[dict[str, Any]], folder: Path) -> pl.DataFrame:
    """What `evidentia predict` writes about some posts."""
    (folder / "posts.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts))
    ran = cli("predict", home / "run", folder / "posts.jsonl", "-o", folder / "a.parquet", "--force")
    assert ran.code == 0, ran
    return pl.read_parquet(folder / "a.parquet")


def as_rows(answers: list[PostAnswers]) -> list[tuple[str, str, float, str, str]]:
    return [
        (post.post_id, each.criterion_id, each.prob, each.state, "|".join(one.sent_uid for one in each.evidence))
        for post in answers
        for each in post.answers
    ]


def test_the_answers_are_those_of_the_command_to_the_bit(
    model: Predictor, home: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    texts = [
        {"post_id": f"t{at}", "text": " ".join(one["text"] for one in record["sentences"])}
        for at, record in enumerate(records[:20])
    ]
    for posts in (records, texts):
        written = by_command(home, posts, tmp_path)
        answers = model.predict(posts)
        wanted = written.select("post_id", "criterion_id", "prob", "state", "selected_sent_uids").rows()
        assert as_rows(answers) == wanted
        assert len({state for _, _, _, state, _ in wanted}) > 1
        one_by_one = [answer for post in posts for answer in model.predict([post])]
        assert one_by_one == answers
        frame = model.predict_frame(pl.DataFrame(posts))
        assert frame.select(written.columns).equals(written)


def test_places_are_those_of_the_sentences_in_the_text_given(model: Predictor, records: list[dict[str, Any]]) -> None:
    texts = ["  " + " \n ".join(one["text"] for one in record["sentences"]) for record in records[:20]]
    places = 0
    for text, post in zip(texts, model.predict(texts, splitter="lines"), strict=True):
        lines = [line.strip() for line in text.splitlines()]
        for answer in post.answers:
            for one in answer.evidence:
                assert text[one.start : one.stop] == lines[one.index]
                assert one.sent_uid == f"{post.post_id}_{one.index}"
                places += 1
    assert places
    assert all(
        one.start is one.stop is None for a in model.predict(records[:20]) for b in a.answers for one in b.evidence
    )


def test_a_frame_has_the_same_places_whoever_made_it(model: Predictor, records: list[dict[str, Any]]) -> None:
    texts = [" ".join(one["text"] for one in record["sentences"]) for record in records[:20]]
    columns = {"post_id": [f"p{at}" for at in range(20)], "text": texts}
    frame = model.predict_frame(pl.DataFrame(columns))
    answers = [answer for post in model.predict(texts) for answer in post.answers]
    assert frame["evidence_starts"].to_list() == [[one.start for one in each.evidence] for each in answers]
    assert frame["evidence_stops"].to_list() == [[one.stop for one in each.evidence] for each in answers]
    assert model.predict_frame(columns).equals(frame)
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert model.predict_frame(pandas.DataFrame(columns)).equals(frame)


def test_threads_get_the_answers_that_one_gets(home: Path, records: list[dict[str, Any]]) -> None:
    fresh = evidentia.load(home / "run")
    batches = [records[start : start + 3] for start in range(0, 60, 3)] * 3
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(fresh.predict, batches))
    assert together == [fresh.predict(batch) for batch in batches]


def reachable(roots: list[object]) -> list[str]:
    """Every text that can be reached from some objects, classes and modules left out."""
    seen: set[int] = set()
    texts, waiting = [], list(roots)
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, type | ModuleType):
            continue
        seen.add(id(each))
        if isinstance(each, str):
            texts.append(each)
        elif not callable(each):
            waiting.extend(gc.get_referents(each))
    return texts


def test_nothing_of_the_posts_is_kept(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fresh, before = evidentia.load(home / "run"), contents(home / "run")
    assert len(reachable([vars(fresh)])) > 100  # the vocabulary: this looks where it should
    (post,) = fresh.predict([f"{MARKER} stood here. I cannot sleep."])
    assert not [text for text in reachable([vars(fresh), post]) if MARKER in text]
    assert contents(tmp_path) == {}
    assert contents(home / "run") == before


def test_no_post_no_answer(model: Predictor) -> None:
    assert model.predict([]) == []


def test_a_criterion_is_looked_up_by_its_id(model: Predictor) -> None:
    (post,) = model.predict([TEXT])
    assert [answer.criterion_id for answer in post.answers] == list(model.criterion_ids)
    assert post["A.4"] is post.answers[3]
    assert json.loads(json.dumps(post.to_dict()))["answers"][3]["prob"] == post["A.4"].prob
    with pytest.raises(UnknownNameError, match=r"no criterion 'A\.99'\. This model knows 'A\.1', 'A\.2'"):
        post["A.99"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        post.post_id = "other"  # type: ignore[misc]


BAD: dict[str, tuple[Any, str]] = {
    "a text": (f"{MARKER} alone", "Give a list of posts"),
    "a generator": ((text for text in (MARKER,)), "Give a list of posts"),
    "a number": ([17], "1 post that is neither a text nor an object (first: post 1)"),
    "blank": (["I sleep.", " \n"], "posts: 1 post without a sentence (first: post 2, post '1')"),
    "twice": (
        [{"post_id": "p", "text": MARKER}] * 2,
        "1 post whose post_id an earlier one has (first: post 2, post 'p')",
    ),
    "no id": ([{"text": MARKER}], "1 post without a post_id (first: post 1)"),
    "both": ([{"post_id": "p", "text": MARKER, "sentences": [MARKER]}], "1 post with both sentences and text"),
    "half a character": (["\ud83d " + MARKER], "half a character"),
}


@pytest.mark.parametrize("which", BAD)
def test_posts_that_cannot_be_read(which: str, model: Predictor) -> None:
    posts, message = BAD[which]
    with pytest.raises(InputError) as caught:
        model.predict(posts)
    assert message in str(caught.value)
    assert MARKER not in str(caught.value)


def test_frames_that_cannot_be_read(model: Predictor) -> None:
    for frame, message in (
        ({"id": ["p"], "text": [MARKER]}, "no column post_id"),
        ({"post_id": ["p"], "body": [MARKER]}, "no column text"),
        (pl.DataFrame({"post_id": [], "text": []}), "0 rows"),
        ({"post_id": ["p", "q"], "text": ["I sleep.", None]}, "1 post with neither sentences nor text (first: post 2"),
    ):
        with pytest.raises(InputError, match=r"posts|<dataframe>") as caught:
            model.predict_frame(frame)
        assert message in str(caught.value)
        assert MARKER not in str(caught.value)


def test_a_model_of_a_stranger_is_refused_as_predict_refuses_it(home: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(home / "run" / "models" / "final", tmp_path / "model"))
    document = json.loads((folder / "pipeline.json").read_text())
    document["config"]["retriever"]["kind"] = ["openai:http://127.0.0.1:9/v1,m"]
    (folder / "pipeline.json").write_text(json.dumps(document))
    (folder / "sums.json").unlink()
    write_sums(folder)
    with pytest.raises(InputError, match=r"would send the texts of posts to http://127\.0\.0\.1:9/v1"):
        evidentia.load(folder)
    with pytest.raises(InputError, match="is another model: its SHA-256 is"):
        evidentia.load(home / "run", sha256="0" * 64)
    assert evidentia.load(home / "run", sha256=evidentia.load(home / "run").sha256).criterion_ids


def test_posts_that_are_cut_differently_bring_a_warning(model: Predictor, records: list[dict[str, Any]]) -> None:
    whole = [" ".join(one["text"] for one in record["sentences"]) for record in records]
    with pytest.warns(UserWarning, match="seem to be cut differently"):
        model.predict(whole, splitter="lines")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(records)


def test_the_example_of_the_page_serves_the_same_answers(
    home: Path, model: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastapi", reason="fastapi is not installed; it is no dependency")
    pytest.importorskip("httpx", reason="httpx, which the test client of fastapi needs, is not installed")
    from fastapi.testclient import TestClient

    code = (DOCS / "serving.md").read_text().partition("<!-- service -->")[2].split("```")[1].removeprefix("python\n")
    assert len(code.strip().splitlines()) <= 30
    (tmp_path / "service.py").write_text(code)
    monkeypatch.setenv("EVIDENTIA_MODEL", str(home / "run"))
    spec = importlib.util.spec_from_file_location("service", tmp_path / "service.py")
    assert spec is not None
    assert spec.loader is not None
    service = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "service", service)
    spec.loader.exec_module(service)
    client = TestClient(service.app)
    assert client.get("/model").json()["sha256"] == model.sha256
    answered = client.post("/answers", json={"texts": [TEXT, "I feel sad."]})
    assert answered.status_code == 200
    assert answered.json() == json.loads(json.dumps([post.to_dict() for post in model.predict([TEXT, "I feel sad."])]))
    refused = client.post("/answers", json={"texts": [" "]})
    assert refused.status_code == 422
    assert "without a sentence" in refused.json()["detail"][0]
