"""Encoders and rerankers behind an address, against a real server: good days, bad days, and days when it dies."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest

from evidentia.errors import EvidentiaError, InputError, ServerError
from evidentia.pipeline.encoders import wire
from evidentia.pipeline.encoders.make import cache_report, make_encoder, make_pair_scorer

from .server import Answer, Body, Server, embeddings, jina, serving, tei, vector

SECRET = "I have not slept in days"
TEXTS = (SECRET, "my dog is well", "nothing is fun", "never again", "still here")
FAST = {"backoff": 0.001, "timeout": 5.0}


def expected(texts: tuple[str, ...]) -> np.ndarray:
    raw = np.array([vector(text) for text in texts])
    return (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)


def spec(server: Server) -> str:
    return f"openai:{server.url}/v1,some-model"


def first_then(bad: Answer, count: int = 1) -> Callable[[int, Body], Answer]:
    return lambda number, body: bad if number < count else embeddings(number, body)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have slept each time; it does not."""
    pauses: list[float] = []
    monkeypatch.setattr(wire.time, "sleep", pauses.append)
    return pauses


def test_vectors_come_back_in_order_in_batches() -> None:
    told: list[tuple[int, int]] = []
    with serving(embeddings) as server:
        encoder = make_encoder(spec(server), {**FAST, "batch_size": 2}, cache=False)
        made = encoder.encode(TEXTS, kind="passage", progress=lambda done, total: told.append((done, total)))
    np.testing.assert_allclose(made, expected(TEXTS), atol=1e-7)
    assert made.dtype == np.float32
    assert [len(seen.body["input"]) for seen in server.seen] == [2, 2, 1]
    assert {seen.path for seen in server.seen} == {"/v1/embeddings"}
    assert server.seen[0].body == {"model": "some-model", "input": list(TEXTS[:2]), "encoding_format": "float"}
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_prompts_fields_and_dimensions_are_sent() -> None:
    settings = {
        "query_prompt": "Query: ",
        "query_fields": {"input_type": "query"},
        "passage_fields": {"input_type": "passage"},
        "dimensions": 3,
        "normalize": False,
    }
    with serving(embeddings) as server:
        encoder = make_encoder(spec(server), settings, cache=False)
        assert encoder.encode(["sad"], kind="query").tolist() == [vector("Query: sad")]
        encoder.encode(["sad"], kind="passage")
        assert encoder.encode([], kind="passage").shape == (0, 3)
    bodies = [seen.body for seen in server.seen]
    assert [(body["input"], body["input_type"], body["dimensions"]) for body in bodies] == [
        (["Query: sad"], "query", 3),
        (["sad"], "passage", 3),
    ]


def test_the_api_key_comes_from_the_environment_and_only_when_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "placeholder-value")
    monkeypatch.setenv("OPENAI_API_KEY", "another-placeholder")
    with serving(embeddings) as server:
        make_encoder(spec(server), {"api_key_env": "A_KEY"}, cache=False).encode(["a"], kind="query")
        make_encoder(spec(server), cache=False).encode(["a"], kind="query")
        with pytest.raises(InputError, match=r"'NO_KEY' .* is not set"):
            make_encoder(spec(server), {"api_key_env": "NO_KEY"}, cache=False).encode(["a"], kind="query")
    assert [seen.headers.get("Authorization") for seen in server.seen] == ["Bearer placeholder-value", None]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again_with_doubling_pauses(status: int, slept: list[float]) -> None:
    with serving(first_then(Answer({"error": SECRET}, status), 3)) as server:
        made = make_encoder(spec(server), {"backoff": 0.5}, cache=False).encode(TEXTS, kind="query")
    np.testing.assert_allclose(made, expected(TEXTS), atol=1e-7)
    assert len(server.seen) == 4
    assert slept == [0.5, 1.0, 2.0]


def test_the_server_says_how_long_to_wait(slept: list[float]) -> None:
    with serving(first_then(Answer({}, 429, {"Retry-After": "7"}))) as server:
        make_encoder(spec(server), cache=False).encode(TEXTS, kind="query")
    assert slept == [7.0]


def test_or_says_until_when(slept: list[float]) -> None:
    until = formatdate(time.time() + 50, usegmt=True)
    with serving(first_then(Answer({}, 503, {"Retry-After": until}))) as server:
        make_encoder(spec(server), cache=False).encode(TEXTS, kind="query")
    assert 20 < slept[0] <= 50


def test_a_wait_that_is_too_long_is_told_and_not_waited(slept: list[float]) -> None:
    with serving(first_then(Answer({}, 429, {"Retry-After": "86400"}))) as server:
        encoder = make_encoder(spec(server), {"longest_wait": 60}, cache=False)
        with pytest.raises(ServerError, match=r"asks to wait 86400 s; longest_wait"):
            encoder.encode(TEXTS, kind="query")
    assert slept == []


def test_it_gives_up_after_the_retries(slept: list[float]) -> None:
    with serving(lambda *_: Answer({}, 503)) as server:
        encoder = make_encoder(spec(server), {"retries": 2}, cache=False)
        with pytest.raises(
            ServerError, match=r"failed 3 times, last with status 503 Service Unavailable\. .*run again"
        ):
            encoder.encode(TEXTS, kind="query")
    assert len(server.seen) == 3


def test_a_server_that_never_answers_times_out() -> None:
    with serving(lambda *_: Answer(hang=True)) as server:
        encoder = make_encoder(spec(server), {"timeout": 0.1, "retries": 1, "backoff": 0.0}, cache=False)
        with pytest.raises(ServerError, match=r"failed 2 times, last with no answer within 0\.1 s"):
            encoder.encode(TEXTS, kind="query")


def test_an_answer_cut_short_is_asked_for_again() -> None:
    def behave(number: int, body: Body) -> Answer:
        answer = embeddings(number, body)
        answer.cut = number == 0
        return answer

    with serving(behave) as server:
        made = make_encoder(spec(server), FAST, cache=False).encode(TEXTS, kind="query")
    np.testing.assert_allclose(made, expected(TEXTS), atol=1e-7)
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            Answer({"error": {"message": SECRET, "code": "too_long"}}, 400),
            r"status 400 Bad Request \('too_long'\).*batch",
        ),
        (Answer({"error": {"message": SECRET, "code": SECRET}}, 422), r"<24 characters, not shown>"),
        (Answer({"error": SECRET}, 401), r"401 Unauthorized\. .*api_key_env"),
        (Answer(SECRET.encode(), 404), r"404 Not Found\. Check the address"),
        (Answer({}, 302, {"Location": "http://127.0.0.1:9/other"}), r"sends us elsewhere"),
        (Answer(SECRET.encode()), r"answered 24 bytes that are not JSON"),
        (Answer([SECRET]), r"no list 'data'"),
        (Answer({"data": [{"index": 0, "embedding": [1.0]}]}), r"sent 5 texts and answered for 1"),
        (Answer({"data": [{"index": 0, "embedding": [1.0]}] * 5}), r"without gap or repeat"),
        (Answer({"data": [{"index": i} for i in range(5)]}), r"lacks index or embedding"),
        (Answer({"data": [{"index": i, "embedding": [1.0] * (i + 1)} for i in range(5)]}), r"of one length"),
        (Answer({"data": [{"index": i, "embedding": SECRET} for i in range(5)]}), r"of one length"),
        (Answer({"data": [{"index": i, "embedding": []} for i in range(5)]}), r"of one length"),
        (Answer({"data": [{"index": i, "embedding": [1e99]} for i in range(5)]}), r"NaN or infinity for 5 texts"),
    ],
)
def test_an_answer_that_makes_no_sense_is_told_at_once_without_any_text(answer: Answer, message: str) -> None:
    with serving(lambda *_: answer) as server:
        with pytest.raises(EvidentiaError, match=message) as caught:
            make_encoder(spec(server), FAST, cache=False).encode(TEXTS, kind="query")
        assert len(server.seen) == 1
    whole = f"{caught.value!r} {caught.value.__cause__!r}"
    assert "slept" not in whole
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_model_that_changes_its_dimension_is_told(tmp_path: Path) -> None:
    def behave(number: int, body: Body) -> Answer:
        width = 3 if number == 0 else 4
        return Answer({"data": [{"index": i, "embedding": [1.0] * width} for i, _ in enumerate(body["input"])]})

    with serving(behave) as server:
        with pytest.raises(ServerError, match="a vector has 4 numbers, expected 3"):
            make_encoder(spec(server), {"batch_size": 3}, cache=tmp_path).encode(TEXTS, kind="query")
        with pytest.raises(InputError, match="gives 4 numbers per text, the cache has 3"):
            make_encoder(spec(server), {"batch_size": 3}, cache=tmp_path).encode(TEXTS, kind="query")


def test_a_server_that_dies_midway_and_comes_back_is_not_asked_twice(tmp_path: Path) -> None:
    """Three of five texts are embedded, the server goes, the run fails; the next run asks for the other two."""
    died: list[bool] = []

    def behave(number: int, body: Body) -> Answer:
        answer = embeddings(number, body)
        if number == 3 and not died:
            died.append(True)
            answer.cut = True
        return answer

    settings = {"batch_size": 1, "retries": 0, "backoff": 0.0}
    server = Server(behave)
    try:
        with pytest.raises(ServerError, match=r"the connection broke .* run again to continue"):
            make_encoder(spec(server), settings, cache=tmp_path).encode(TEXTS, kind="query")
        server.stop()
        with pytest.raises(ServerError, match="no connection"):
            make_encoder(spec(server), settings, cache=tmp_path).encode(TEXTS, kind="query")
        server.start()
        again = make_encoder(spec(server), settings, cache=tmp_path)
        np.testing.assert_allclose(again.encode(TEXTS, kind="query"), expected(TEXTS), atol=1e-7)
    finally:
        server.stop()
    report = cache_report(again)
    assert report is not None
    assert (report.hits, report.misses) == (3, 2)
    assert len(server.seen) == 4 + 2


def test_a_server_that_comes_back_in_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(embeddings)
    server.stop()
    monkeypatch.setattr(wire.time, "sleep", lambda _: server.start())
    try:
        made = make_encoder(spec(server), FAST, cache=False).encode(TEXTS, kind="query")
    finally:
        server.stop()
    np.testing.assert_allclose(made, expected(TEXTS), atol=1e-7)


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://127.0.0.1/v1", "file:///etc/passwd", "http://", "http://x:99999999/"]
)
def test_an_address_must_be_one(url: str) -> None:
    with pytest.raises(InputError, match="is not an address"):
        make_encoder(f"openai:{url},model", cache=False)
    with pytest.raises(InputError, match=r"is not an address|no scorer"):
        make_pair_scorer(f"http:{url}", cache=False)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(InputError, match="user name or password") as caught:
        make_encoder("openai:http://me:hidden@127.0.0.1:1/v1,model", cache=False)
    assert "hidden" not in str(caught.value)


def test_a_model_must_be_named() -> None:
    with pytest.raises(InputError, match="names no model"):
        make_encoder("openai:http://127.0.0.1:1/v1", cache=False)


def test_the_key_knows_what_decides_the_vectors() -> None:
    def key(model: str = "m", **settings: object) -> str:
        return make_encoder(f"openai:http://127.0.0.1:1/v1,{model}", settings, cache=False).key

    assert key() == key(batch_size=3, timeout=1.0, retries=0, backoff=0.0, longest_wait=1.0, api_key_env="X")
    changed = [key("n"), key(version="2"), key(query_prompt="q"), key(dimensions=8), key(query_fields={"a": 1})]
    assert len({key(), *changed}) == 6


@pytest.mark.parametrize(("form", "behave", "texts"), [("jina", jina, "documents"), ("tei", tei, "texts")])
def test_a_reranker_scores_pairs_in_either_form(
    form: str, behave: Callable[[int, Body], Answer], texts: str, tmp_path: Path
) -> None:
    queries, passages = ["qq", "q", "qq", "qq"], ["a", "bb", "ccc", "a"]
    with serving(behave) as server:
        scorer = make_pair_scorer(f"http:{server.url}/rerank,some-model", {"form": form}, cache=tmp_path)
        np.testing.assert_allclose(scorer.score(queries, passages), [2.1, 1.2, 2.3, 2.1], atol=1e-6)
        scorer.score(queries, passages)
    assert len(server.seen) == 2
    assert [(seen.body["query"], seen.body[texts]) for seen in server.seen] == [("q", ["bb"]), ("qq", ["a", "ccc"])]
    assert {seen.path for seen in server.seen} == {"/rerank"}
    assert server.seen[1].body.get("top_n") == (2 if form == "jina" else None)
    assert server.seen[1].body["model"] == "some-model"


def test_without_a_cache_neighbours_go_together_in_batches() -> None:
    told: list[tuple[int, int]] = []
    with serving(jina) as server:
        scorer = make_pair_scorer(f"http:{server.url}/", {"batch_size": 2, "fields": {"x": 1}}, cache=False)
        scorer.score(["q"] * 3 + ["r"], ["a", "b", "c", "d"], progress=lambda done, total: told.append((done, total)))
    assert [seen.body["documents"] for seen in server.seen] == [["a", "b"], ["c"], ["d"]]
    assert all(seen.body["x"] == 1 and "model" not in seen.body for seen in server.seen)
    assert told == [(2, 4), (3, 4), (4, 4)]


def test_a_listwise_reranker_sees_whole_lists(tmp_path: Path) -> None:
    with serving(jina) as server:
        settings = {"batch_size": 2, "listwise": True}
        scorer = make_pair_scorer(f"http:{server.url}/rerank", settings, cache=tmp_path)
        scorer.score(["q"] * 3 + ["r", "q"], ["a", "b", "c", "d", "a"])
    assert [seen.body["documents"] for seen in server.seen] == [["a", "b", "c"], ["d"], ["a"]]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer({"results": [{"index": 0, "relevance_score": 0.5}]}), "sent 2 texts and answered for 1"),
        (Answer([{"index": 0, "score": 0.5}]), "no list 'results'"),
        (Answer({"results": [{"index": i, "relevance_score": "high"} for i in range(2)]}), "not numbers"),
        (Answer({"results": [{"index": i, "relevance_score": [1, 2]} for i in range(2)]}), "finite"),
        (Answer({"results": [{"index": i + 1, "relevance_score": 1} for i in range(2)]}), "gap or repeat"),
    ],
)
def test_scores_that_make_no_sense_are_told(answer: Answer, message: str) -> None:
    with serving(lambda *_: answer) as server, pytest.raises(ServerError, match=message):
        make_pair_scorer(f"http:{server.url}/rerank", cache=False).score(["q", "q"], ["a", "b"])
