"""A model folder from a stranger: it decides neither where texts and keys go nor which code runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from builders.pipelines import small_config, small_corpus
from evidentia.errors import InputError
from evidentia.pipeline.encoders.make import make_encoder, make_pair_scorer
from evidentia.pipeline.predict import load_trained
from evidentia.pipeline.store import write_sums
from pipeline.encoders.server import Answer, Server, embeddings, serving

from .command import contents, evidentia, evidentia_apart, refused

TOKEN = "the-bank-token-31415"
KIND = '[retriever]\nkind = "openai:{url}/v1,m"\nkeep = 24\n[retriever.model]\napi_key_env = "EMBEDDINGS_KEY"\nretries = 0\n'


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(embeddings) as server:
        yield server


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("MY_BANK_TOKEN", TOKEN)
    monkeypatch.setenv("EMBEDDINGS_KEY", "placeholder-value")
    server.seen.clear()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Path:
    """A run whose retriever asks a server, with a key."""
    home = tmp_path_factory.mktemp("home")
    small_corpus(home / "corpus")
    config = small_config(home, more=KIND.format(url=server.url), graph="none")
    config.write_text(config.read_text().replace("workers = 1", "workers = 1\ncache = false"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBEDDINGS_KEY", "placeholder-value")
        ran = evidentia("run", config, "-o", home / "run", "--resamples", "0", "--no-report", "--no-verify")
    assert ran.code == 0, ran
    assert server.seen[0].headers["Authorization"] == "Bearer placeholder-value"
    (home / "run.txt").write_text(ran.out)
    return home


@pytest.fixture
def model(home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(home / "run" / "models" / "final", tmp_path / "model"))


def edited(model: Path, url: str, **settings: Any) -> Path:
    """A folder that an attacker made: another address, other settings, and hashes that vouch for them."""
    document = json.loads((model / "pipeline.json").read_text())
    document["config"]["retriever"]["kind"] = [f"openai:{url},m"]
    document["config"]["retriever"]["model"].update(settings)
    (model / "pipeline.json").write_text(json.dumps(document))
    learnt = json.loads((model / "retriever" / "model.json").read_text())
    with suppress(InputError):  # no address at all
        learnt["space"]["encoder"] = make_encoder(f"openai:{url},m", cache=False).key
    (model / "retriever" / "model.json").write_text(json.dumps(learnt))
    (model / "sums.json").unlink()
    write_sums(model)
    return model


def test_an_address_of_a_folder_gets_nothing_until_its_user_confirms_it(
    model: Path, home: Path, server: Server, tmp_path: Path
) -> None:
    url = f"{server.url}/collect"
    edited(model, url, api_key_env="MY_BANK_TOKEN")
    ran = evidentia_apart("predict", model, home / "corpus", "-o", tmp_path / "a.csv")
    refused(ran, f"model would send the texts of posts to {url}", f"--allow-endpoint {url}")
    assert not server.seen
    with pytest.raises(InputError, match="would send the texts"):
        load_trained(model)
    assert not (tmp_path / "a.csv").exists()
    ran = evidentia_apart("predict", model, home / "corpus", "-o", tmp_path / "a.csv", "--allow-endpoint", url)
    assert ran.code == 0, ran
    assert "key in the environment variable MY_BANK_TOKEN, which is not sent" in ran.err
    assert server.seen
    assert {seen.path for seen in server.seen} == {"/collect/embeddings"}
    assert not any(TOKEN in str(seen) or "Authorization" in seen.headers for seen in server.seen)


def test_a_key_is_sent_when_its_name_is_confirmed_too(model: Path, home: Path, server: Server, tmp_path: Path) -> None:
    words = ("--allow-endpoint", server.url, "--allow-key", "EMBEDDINGS_KEY")
    ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv", *words)
    assert (ran.code, ran.err) == (0, ""), ran
    assert {seen.headers["Authorization"] for seen in server.seen} == {"Bearer placeholder-value"}
    allowed = load_trained(model, allow_endpoints=[server.url], allow_keys=["EMBEDDINGS_KEY"])
    assert allowed.notes == ()


def test_ones_own_configuration_confirms_what_it_names_and_nothing_else(
    model: Path, home: Path, server: Server, tmp_path: Path
) -> None:
    own = ("--config", home / "pipeline.toml")
    ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv", *own)
    assert (ran.code, ran.err) == (0, ""), ran
    edited(model, f"{server.url}/elsewhere")
    refused(evidentia("predict", model, home / "corpus", "-o", tmp_path / "b.csv", *own), "/elsewhere")


NEIGHBOURS = ("{url}/v2", "{url}/v1/../v2", "{url}/v1/%2e%2e/v2", "{url}/v1x", "http://localhost:{port}/v1")


@pytest.mark.parametrize("other", NEIGHBOURS)
def test_an_address_beside_the_confirmed_one_is_not_confirmed(
    other: str, model: Path, home: Path, server: Server, tmp_path: Path
) -> None:
    edited(model, other.format(url=server.url, port=server.port))
    words = ("--allow-endpoint", f"{server.url}/v1")
    refused(evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv", *words))
    assert not server.seen


@pytest.mark.parametrize("where", ["reranker", "vectors", "space"])
def test_wherever_a_folder_names_a_server(where: str, model: Path, server: Server) -> None:
    document = json.loads((model / "pipeline.json").read_text())
    config = document["config"]
    config["retriever"] = {"kind": ["bm25"]}
    if where == "reranker":
        config["reranker"] = {"kind": f"http:{server.url}/rerank"}
    elif where == "vectors":
        config["reranker"] |= {"learners": ["vectors"], "vectors": f"openai:{server.url}/v1,m"}
    else:
        config["graph"] |= {"kind": "propagation", "space": f"openai:{server.url}/v1,m"}
    (model / "pipeline.json").write_text(json.dumps(document))
    (model / "sums.json").unlink()
    write_sums(model)
    with pytest.raises(InputError, match=r"would send the texts of posts to http://127\.0\.0\.1"):
        load_trained(model)
    assert not server.seen


def test_keys_do_not_travel_in_the_open(model: Path, home: Path, tmp_path: Path) -> None:
    url = "http://embeddings.example.org/v1"
    edited(model, url, api_key_env="EMBEDDINGS_KEY")
    words = ("--allow-endpoint", url, "--allow-key", "EMBEDDINGS_KEY")
    ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv", *words)
    refused(ran, "where everybody on the way can read it", "over https or to this machine only")


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1.example.org", "10.0.0.7", "localhost.example.org", "0.0.0.0"]
)
def test_a_key_goes_over_tls_or_to_this_machine_wherever_it_is_named(host: str, home: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="over https or to this machine"):
        make_encoder(f"openai:http://{host}/v1,m", {"api_key_env": "EMBEDDINGS_KEY"}, cache=False)
    with pytest.raises(InputError, match="over https or to this machine"):
        make_pair_scorer(f"http:http://{host}/rerank", {"api_key_env": "EMBEDDINGS_KEY"}, cache=False)
    for fine in (f"https://{host}/v1", "http://127.0.0.9:1/v1", "http://localhost:1/v1", "http://[::1]:1/v1"):
        make_encoder(f"openai:{fine},m", {"api_key_env": "EMBEDDINGS_KEY"}, cache=False)
    shutil.copytree(home / "corpus", tmp_path / "corpus")
    config = small_config(tmp_path, more=KIND.format(url=f"http://{host}"), graph="none")
    refused(evidentia("run", config, "-o", tmp_path / "out"), "over https or to this machine")
    assert not (tmp_path / "out").exists()


SECRETS = (
    "https://me:hidden-31415@example.org/v1",
    "https://hidden-31415@example.org/v1",
    "https://example.org/v1?api_key=hidden-31415",
    "https://example.org/v1?version=2&access_token=hidden-31415",
    "https://example.org/v1?X-Amz-Signature=hidden-31415",
    "https://example.org/v1?x=hidden31415hidden31415hidden",
    "https://example.org/v1?sk-hidden-31415",
    "https://example.org/v1/sk-hidden-31415",
    "https://example.org/v1#hidden-31415",
    "https://me:hidden-31415%40example.org/v1",
    "ftp://me:hidden-31415@example.org/v1",
    "example.org/v1?key=hidden-31415",
)


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("url", SECRETS)
def test_a_key_inside_an_address_is_refused_and_never_repeated(
    url: str, model: Path, home: Path, tmp_path: Path
) -> None:
    shutil.copytree(home / "corpus", tmp_path / "corpus")
    said = []
    for spec in (f"openai:{url},m", f"openai:{url}"):
        config = small_config(tmp_path, more=f'[retriever]\nkind = "{spec}"\n', graph="none")
        said.append(evidentia("run", config, "-o", tmp_path / "out"))
    (tmp_path / "pipeline.toml").unlink()
    words = ("-o", tmp_path / "a.csv", "--allow-endpoint", url)
    said.append(evidentia("predict", model, home / "corpus", *words))
    said.append(evidentia("predict", edited(model, url), home / "corpus", *words[:2]))
    for ran in said:
        refused(ran)
        assert "31415" not in ran.err
    for make, spec in (
        (make_encoder, f"openai:{url},m"),
        (make_encoder, f"openai:{url}"),
        (make_pair_scorer, f"http:{url}"),
    ):
        with pytest.raises(InputError) as caught:
            make(spec, cache=False)
        assert "31415" not in repr(caught.value)
    shutil.rmtree(model)
    assert not any(b"31415" in content for content in contents(tmp_path).values())


def test_a_harmless_query_stays_where_it_belongs(server: Server) -> None:
    make_encoder(f"openai:{server.url}/v1?api-version=2024-02-01,m", cache=False).encode(["a"], kind="query")
    assert server.seen[0].path == "/v1/embeddings?api-version=2024-02-01"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_carries_texts_or_a_key_elsewhere(
    status: int, model: Path, home: Path, server: Server, tmp_path: Path
) -> None:
    away = Answer({}, status, {"Location": f"{server.url}/elsewhere"})
    with serving(lambda *_: away) as first:
        edited(model, f"{first.url}/v1")
        words = ("--allow-endpoint", first.url, "--allow-key", "EMBEDDINGS_KEY")
        ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv", *words)
    assert (ran.code, len(first.seen), server.seen) == (2, 1, [])
    assert "sends us elsewhere" in ran.err


def test_no_proxy_reads_what_is_meant_for_this_machine(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(embeddings) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        make_encoder(f"openai:{server.url}/v1,m", {"api_key_env": "EMBEDDINGS_KEY"}, cache=False).encode(
            ["a"], kind="query"
        )
    assert (len(server.seen), proxy.seen) == (1, [])


@pytest.mark.parametrize("kind", ["retriever", "reranker"])
def test_code_of_models_needs_its_users_word_too(kind: str, model: Path, home: Path, tmp_path: Path) -> None:
    document = json.loads((model / "pipeline.json").read_text())
    config = document["config"]
    config["retriever"] = {"kind": ["bm25"]}
    if kind == "retriever":
        config["retriever"] = {"kind": ["sentence-transformers:evil/model"], "model": {"trust_remote_code": True}}
    else:
        config["reranker"] = {"kind": "cross-encoder:evil/model", "model_settings": {"trust_remote_code": True}}
    (model / "pipeline.json").write_text(json.dumps(document))
    (model / "sums.json").unlink()
    write_sums(model)
    ran = evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv")
    refused(ran, "asks for trust_remote_code", "--trust-remote-code")
    with pytest.raises(InputError, match="trust_remote_code"):
        load_trained(model)
    assert (
        "trust_remote_code"
        not in evidentia("predict", model, home / "corpus", "-o", tmp_path / "a.csv", "--trust-remote-code").err
    )


def test_a_folder_of_weights_with_code_of_its_own_needs_trust(tmp_path: Path) -> None:
    """sentence-transformers runs the code of a local folder without being asked."""
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "code.Evil"}]')
    with pytest.raises(InputError, match="would run code of its own"):
        make_encoder(f"sentence-transformers:{tmp_path / 'evil'}", cache=False).encode(["a"], kind="query")


def test_a_pinned_hash_knows_the_model_from_any_other(model: Path, home: Path, server: Server, tmp_path: Path) -> None:
    printed = (home / "run.txt").read_text().split("--sha256): ")[1].strip()
    kept = json.loads((home / "run" / "manifest.json").read_text())["models"]
    sums = (home / "run" / "models" / "final" / "sums.json").read_bytes()
    assert printed == kept["final"] == sha256(sums).hexdigest()
    assert sorted(kept) == ["final", "fold-0", "fold-1"]
    words = ("--allow-endpoint", server.url, "--allow-key", "EMBEDDINGS_KEY", "--force", "-o", tmp_path / "a.csv")
    for digest in (printed, printed.upper(), f"sha256:{printed}"):
        ran = evidentia("predict", home / "run", home / "corpus", *words, "--sha256", digest)
        assert ran.code == 0, ran
        assert f"model SHA-256: {printed}" in ran.out
    for wrong in ("1" * 63, "", "hello"):
        refused(evidentia("predict", model, home / "corpus", *words, "--sha256", wrong), "64 digits")
    edited(model, f"{server.url}/v1", batch_size=3)
    server.seen.clear()
    refused(evidentia("predict", model, home / "corpus", *words, "--sha256", printed), "model is another model")
    with pytest.raises(InputError, match="another model"):
        load_trained(model, sha256=printed)
    assert not server.seen
