"""The configuration: defaults are what they are said to be, and what is written reads back."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from evidentia.pipeline.config import parse_config, read_config
from evidentia.pipeline.config.reader import all_tables
from evidentia.pipeline.config.tables import ModelConfig, settings_of, subtables
from evidentia.pipeline.config.text import config_reference, default_config_text
from evidentia.pipeline.encoders.local import EncoderSettings, LocalSettings
from evidentia.pipeline.encoders.servers import EmbeddingsSettings, RerankSettings
from evidentia.pipeline.neural.networks import graph_settings
from evidentia.pipeline.selection import Policy, Selection
from evidentia.pipeline.settings import read_settings
from evidentia.protocol import Choices, Rule, Targets
from evidentia.protocol.dynamic_k import KPolicy

from .configs import LEAST, config, problems

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipeline-config.md"


# what a configuration is


def test_a_corpus_is_all_that_must_be_named() -> None:
    ((code, message),) = problems({})
    assert code == "CONFIG_MISSING"
    assert message.startswith("run.toml: [corpus] path is missing.")
    assert config().retriever.kind == ("words", "bm25")


def test_the_defaults_are_those_of_the_pipeline_itself() -> None:
    found = config()
    assert found.selection.made == Selection(Policy("mass"), Policy("mass", gamma=0.5), KPolicy(2, 10, 0.5))
    assert found.mean_k_at_most == 3.5
    assert found.three_state.targets == Targets()
    assert found.choices == Choices(calibrate="auto")


def test_the_file_to_start_from_has_every_key_and_exactly_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(default_config_text(), encoding="utf-8")
    assert read_config(path) == config()
    uncommented = re.sub(r"(?m)^# (\w+ = )", r"\1", default_config_text())
    named = tomllib.loads(uncommented)
    for place, table in all_tables().items():
        content: Any = named
        for part in place.split("."):
            content = content[part]
        assert [key for key in content if not isinstance(content[key], dict)] == [key for key, _ in settings_of(table)]


def test_the_examples_of_the_file_to_start_from_are_taken() -> None:
    for table in all_tables().values():
        for key, setting in settings_of(table):
            if getattr(table, key, "") is None:
                setting.kind.read(setting.example)


def test_every_field_of_every_table_is_a_key_or_a_table() -> None:
    for table in all_tables().values():
        assert [each.name for each in fields(table)] == [*dict(settings_of(table)), *subtables(table)]


def test_every_default_is_taken_as_itself() -> None:
    for table in all_tables().values():
        for key, setting in settings_of(table):
            default = getattr(table, key, None)
            assert default is None or setting.kind.read(default) == default


def test_tables_are_frozen_and_hashable() -> None:
    found = config()
    with pytest.raises(FrozenInstanceError):
        found.protocol.folds = 3  # type: ignore[misc]
    assert hash(found) == hash(config())


def test_paths_start_from_the_folder_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text('[corpus]\npath = "here"\ncard = "mine.toml"\n[run]\ncache = "kept"\n', encoding="utf-8")
    found = read_config(path)
    assert (found.corpus_folder, found.card, found.cache) == (
        tmp_path / "here",
        tmp_path / "mine.toml",
        tmp_path / "kept",
    )
    assert config(corpus={"path": "synthetic", "card": "redsm5"}).card == "redsm5"
    assert config().corpus_folder is None
    assert config(corpus={"path": "./synthetic"}).corpus_folder == Path("synthetic")


def test_a_model_beside_the_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    found = parse_config(LEAST, base=tmp_path)
    assert found.located("cross-encoder:mine") == f"cross-encoder:{tmp_path / 'mine'}"
    assert found.located("cross-encoder:some/name") == "cross-encoder:some/name"
    assert found.located("bm25") == "bm25"
    assert found.located("cross-encoder:" + "x" * 400) == "cross-encoder:" + "x" * 400


# the form that is written


def _keys(content: Any) -> Any:
    return {key: _keys(value) for key, value in content.items()} if isinstance(content, dict) else None


def test_what_is_written_has_every_key_and_reads_back_as_the_same() -> None:
    given = {
        "retriever": {"kind": ["bm25", "openai:http://127.0.0.1:8000/v1,m"], "fusion": "weights", "weights": [1, 2]},
        "selection": {"policy": "fixed"},
        "three_state": {"rule": "fpr=0.001%"},
    }
    for found in (config(), config(**given)):
        written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert parse_config(written, base=Path()) == found
        assert _keys(written) == _keys(config().to_dict())
    assert written["three_state"]["rule"] == "fpr=0.00001"
    assert written["selection"]["gamma"] is None


def test_an_absolute_path_is_written_without_its_folders() -> None:
    tables = {"corpus": {"path": "/somewhere/of/mine/corpus", "card": "C:\\cards\\a.toml"}, "run": {"cache": "/tmp/c"}}
    written = parse_config(tables, base=Path("/base")).to_dict()
    assert [written["corpus"]["path"], written["corpus"]["card"], written["run"]["cache"]] == ["corpus", "a.toml", "c"]
    assert config(corpus={"path": "../a/b"}).to_dict()["corpus"]["path"] == "../a/b"


def test_the_digest_does_not_change_with_what_changes_no_result() -> None:
    server = {"kind": "openai:http://127.0.0.1:8000/v1,m"}
    asked = config(retriever=server)
    same = config(
        run={"workers": 2, "cache": False},
        retriever=server | {"model": {"timeout": 3, "retries": 1, "api_key_env": "KEY", "batch_size": 8}},
    )
    assert asked != same
    assert asked.digest() == same.digest()
    assert asked.digest() != config().digest()
    assert config(three_state={"fn_per_1000": 5}).digest() == config().digest()
    assert config(reranker={"learners": ["characters", "words"]}).digest() == config().digest()
    assert parse_config(LEAST, base=Path("elsewhere")).digest() == config().digest()
    assert re.fullmatch("[0-9a-f]{64}", asked.digest())


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("protocol", "seed", 8),
        ("run", "final_model", False),
        ("retriever", "k1", 0.9),
        ("gate", "trees", 10),
        ("selection", "uncertain", {"k": 2}),
    ],
)
def test_the_digest_changes_with_everything_else(table: str, key: str, value: object) -> None:
    assert config(**{table: {key: value}}).digest() != config().digest()


# what the parts of the pipeline get


def test_a_rule_takes_the_place_of_the_two_thresholds() -> None:
    assert config(three_state={"rule": "fpr=5%"}).choices.rule == Rule("fpr", 0.05)
    assert config(three_state={"alert_precision": 0.8}).choices.targets["AlertPrecision>="] == 0.8


def test_gamma_is_tuned_or_given() -> None:
    given = config(selection={"gamma": 1}).selection
    assert given.made.standard == Policy("mass", gamma=1.0)
    assert not given.tunes_gamma
    assert config(selection={"gamma": 0.9}).mean_k_at_most is None
    fixed = config(selection={"policy": "fixed", "k": 4})
    assert (fixed.selection.made.standard.k, fixed.mean_k_at_most) == (4, None)


def test_a_model_gets_the_settings_that_it_takes_and_no_others() -> None:
    spec = "openai:http://127.0.0.1:8000/v1,m"
    found = config(
        retriever={"kind": ["bm25", "sentence-transformers:a/b", spec], "model": {"retries": 2, "query_prompt": "q: "}},
        reranker={"kind": "http:http://127.0.0.1:9000/rerank", "form": "tei", "model_settings": {"timeout": 9}},
    )
    assert found.model_settings(spec) == {"retries": 2, "query_prompt": "q: "}
    assert found.model_settings("sentence-transformers:a/b") == {"query_prompt": "q: ", "trust_remote_code": False}
    assert found.model_settings(found.reranker.kind) == {"timeout": 9.0, "form": "tei"}
    assert found.model_settings("bm25") == found.model_settings("minilm") == {}


def test_the_learner_over_vectors_has_settings_of_its_own() -> None:
    spec = "sentence-transformers:a/b"
    table = {"learners": ["vectors"], "vectors": spec, "model_settings": {"max_seq_length": 64}}
    assert config(reranker=table).model_settings(spec) == {"max_seq_length": 64, "trust_remote_code": False}
    assert config(reranker=table | {"learners": [], "model_settings": {}}).model_settings(spec) == {}


@pytest.mark.parametrize(
    ("spec", "made_of"),
    [
        ("sentence-transformers:a", EncoderSettings),
        ("openai:http://h,m", EmbeddingsSettings),
        ("cross-encoder:a", LocalSettings),
        ("http:http://h", RerankSettings),
    ],
)
def test_what_goes_to_a_model_is_what_it_takes(spec: str, made_of: Any) -> None:
    every = {key: setting.example for key, setting in settings_of(ModelConfig) if setting.example is not None}
    given = ModelConfig(**every, trust_remote_code=True).given(spec)
    assert set(given) == {each.name for each in fields(made_of)} & {each.name for each in fields(ModelConfig)}
    read_settings(made_of, given, spec)


def test_a_network_takes_every_width_that_is_taken_here() -> None:
    found = config(graph={"hidden": 12})
    graph_settings({"conv": found.graph.conv, "hidden": found.graph.hidden, "layers": found.graph.layers})


# the page


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not beside the tests")
def test_the_page_has_every_key_as_the_tables_have_it() -> None:
    """Refresh by putting what `config_reference()` gives between the two marks."""
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- /keys -->") == 1
    assert text.partition("<!-- keys -->\n")[2].partition("<!-- /keys -->")[0] == config_reference()


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not beside the tests")
def test_the_example_of_the_page_is_a_configuration() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert parse_config(tomllib.loads(text), base=Path()).retriever.kind == ("bm25", "minilm")
