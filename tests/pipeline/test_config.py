"""The configuration: defaults are what they are said to be, and every mistake is told at once, with a code."""

from __future__ import annotations

import json
import re
import tomllib
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evidentia.errors import InputError
from evidentia.pipeline.config import Config, parse_config, read_config
from evidentia.pipeline.config.models import ModelConfig, settings_of
from evidentia.pipeline.config.reader import subtables
from evidentia.pipeline.config.text import all_tables, config_reference, default_config_text
from evidentia.pipeline.encoders.local import EncoderSettings, LocalSettings
from evidentia.pipeline.encoders.servers import EmbeddingsSettings, RerankSettings
from evidentia.pipeline.neural.settings import graph_settings
from evidentia.pipeline.selection import Policy, Selection
from evidentia.pipeline.settings import read_settings
from evidentia.protocol import Choices, Rule, Targets
from evidentia.protocol.dynamic_k import KPolicy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipeline-config.md"
LEAST = {"corpus": {"path": "synthetic"}}


def config(**tables: Any) -> Config:
    return parse_config(LEAST | tables, base=Path())


def problems(content: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        parse_config(content, base=Path(), name="run.toml")
    return [(problem.code, problem.message) for problem in caught.value.problems]


def the_problem(**tables: Any) -> tuple[str, str]:
    (found,) = problems(LEAST | tables)
    return found


def refused(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_config(path)
    assert [problem.code for problem in caught.value.problems] == ["CONFIG_TOML"]
    return str(caught.value)


# what a configuration is


def test_a_corpus_is_all_that_must_be_named() -> None:
    ((code, message),) = problems({})
    assert code == "CONFIG_MISSING"
    assert message.startswith("run.toml: [corpus] path is missing.")
    assert config().retriever.kind == ("bm25",)


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
    for place, table in all_tables():
        content: Any = named
        for part in place.split("."):
            content = content[part]
        assert [key for key in content if not isinstance(content[key], dict)] == [key for key, _ in settings_of(table)]


def test_the_examples_of_the_file_to_start_from_are_taken() -> None:
    for _, table in all_tables():
        for key, setting in settings_of(table):
            if getattr(table, key, "") is None:
                setting.kind.read(setting.example)


def test_every_field_of_every_table_is_a_key_or_a_table() -> None:
    for _, table in all_tables():
        assert [each.name for each in fields(table)] == [*dict(settings_of(table)), *subtables(table)]


def test_every_default_is_taken_as_itself() -> None:
    for _, table in all_tables():
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
    assert config(three_state={"alert_precision": 0.8}).choices.targets.precision == 0.8


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


# mistakes


def test_every_problem_is_told_at_once() -> None:
    found = problems(
        {
            "corpus": {"pth": "x"},
            "protocol": {"folds": "five", "seed": -1},
            "retreiver": {},
            "selection": {"policy": "fixd", "k_min": 30},
        }
    )
    assert [code for code, _ in found] == [
        "CONFIG_UNKNOWN_KEY",  # the table
        "CONFIG_UNKNOWN_KEY",  # pth
        "CONFIG_MISSING",  # path
        "CONFIG_TYPE",
        "CONFIG_RANGE",
        "CONFIG_CHOICE",
        "CONFIG_CONFLICT",  # hard_cap
    ]
    assert all(message.startswith("run.toml: ") for _, message in found)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"retreiver": {}}, "there is no table [retreiver]. Did you mean [retriever]?"),
        ({"folds": 5}, "folds stands outside the tables. It is a key of [protocol]."),
        ({"selection": {"gama": 1}}, "[selection] has no key 'gama'. Did you mean gamma?"),
        ({"gate": {"conv": "sage"}}, "[gate] has no key 'conv'. It is a key of [graph]."),
        ({"protocol": {"x": 1}}, "[protocol] has no key 'x'. There are: folds, seed, cross_fit, groups."),
        (
            {"retriever": {"model": {"api_key": "sk-1"}}},
            "[retriever.model] has no key 'api_key'. Did you mean api_key_env?",
        ),
    ],
)
def test_an_unknown_key_comes_with_a_guess(tables: dict[str, Any], said: str) -> None:
    assert the_problem(**tables) == ("CONFIG_UNKNOWN_KEY", f"run.toml: {said}")


@pytest.mark.parametrize(
    ("table", "content", "code", "said"),
    [
        ("protocol", {"folds": 5.0}, "CONFIG_TYPE", "folds must be a whole number from 2 to 100, not 5.0."),
        ("protocol", {"folds": True}, "CONFIG_TYPE", "not true."),
        ("protocol", {"cross_fit": 11}, "CONFIG_RANGE", "cross_fit must be a whole number from 2 to 10, not 11."),
        ("protocol", {"seed": 16**5000}, "CONFIG_RANGE", "not a number of that size."),
        ("protocol", {"groups": ["none"]}, "CONFIG_TYPE", "not a list."),
        ("protocol", 5, "CONFIG_TYPE", "[protocol] must be a table, not 5."),
        ("graph", {"hidden": 66}, "CONFIG_RANGE", "hidden must be a multiple of 4 from 4 to 4096, not 66."),
        ("run", {"final_model": 1}, "CONFIG_TYPE", "final_model must be true or false, not 1."),
        ("run", {"cache": ""}, "CONFIG_RANGE", "cache must be true or false, or a folder"),
        ("retriever", {"b": float("nan")}, "CONFIG_RANGE", "b must be a number from 0 to 1, not nan."),
        ("retriever", {"kind": []}, "CONFIG_RANGE", "not a list of 0. Give 1 to 8."),
        ("retriever", {"kind": ["bm25", "bm25"]}, "CONFIG_RANGE", "not the same one twice."),
        ("retriever", {"kind": "mini"}, "CONFIG_CHOICE", "Did you mean minilm?"),
        ("retriever", {"kind": "openai:http://h"}, "CONFIG_RANGE", "It names no model."),
        ("reranker", {"kind": "http:localhost"}, "CONFIG_RANGE", "one like http://127.0.0.1:8000/v1."),
        ("reranker", {"kind": "http://localhost/rerank"}, "CONFIG_RANGE", "one like http://127.0.0.1:8000/v1."),
        ("reranker", {"kind": "cross-encoder:"}, "CONFIG_CHOICE", '"cross-encoder:NAME_OR_PATH"'),
        ("reranker", {"learners": ["words", "wrods"]}, "CONFIG_CHOICE", "not 'wrods'. Did you mean words?"),
        ("reranker", {"vectors": "bm25"}, "CONFIG_CHOICE", '"minilm", "none"'),
        ("selection", {"gamma": 0}, "CONFIG_RANGE", 'gamma must be "tune", or a number above 0 and at most 1, not 0.'),
        ("selection", {"gamma": "tuned"}, "CONFIG_CHOICE", "Did you mean tune?"),
        ("selection", {"uncertain": {"gamma": "tune"}}, "CONFIG_TYPE", "[selection.uncertain] gamma must be a number"),
        ("three_state", {"rule": "best"}, "CONFIG_CHOICE", '"max-f1", "max-mcc"'),
        ("three_state", {"rule": date(2026, 1, 1)}, "CONFIG_TYPE", "not a date or a time."),
    ],
)
def test_a_value_that_is_not_taken_is_told_with_what_is(table: str, content: object, code: str, said: str) -> None:
    found, message = the_problem(**{table: content})
    assert found == code
    assert said in message


BOTH = {"kind": ["bm25", "minilm"]}
VECTORS = {"learners": ["vectors"], "vectors": "sentence-transformers:a"}


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"corpus": {"path": "folder", "posts": 100}}, 'posts is for path = "synthetic" only'),
        ({"corpus": {"path": "synthetic", "posts": 4}}, "posts = 4 cannot be dealt into [protocol] folds = 5"),
        ({"retriever": {"keep": 8}}, "[reranker] keep = 10 is more than [retriever] keep = 8 lets through"),
        ({"retriever": {"kind": ["bm25", "words"]}}, "learns from labels and is not fused"),
        ({"retriever": {"weights": [1, 2]}}, "weights are for several kinds"),
        ({"retriever": {"fusion": "weights"}}, "needs several kinds"),
        ({"retriever": BOTH | {"fusion": "weights"}}, "needs weights: 2 numbers"),
        ({"retriever": BOTH | {"weights": [1, 2]}}, 'not read by fusion = "rrf"'),
        ({"retriever": BOTH | {"fusion": "weights", "weights": [1, 2, 3]}}, "has 3 weights for 2 kinds"),
        ({"retriever": BOTH | {"fusion": "weights", "weights": [0, 0]}}, "are all 0"),
        ({"retriever": BOTH | {"model": {"timeout": 1}}}, "timeout concerns none of the models here"),
        ({"reranker": {"model_settings": {"trust_remote_code": True}}}, "They take no settings."),
        ({"reranker": VECTORS | {"vectors": "none"}}, "names no encoder"),
        (
            {"retriever": {"kind": VECTORS["vectors"]}, "reranker": VECTORS | {"model_settings": {"batch_size": 1}}},
            "Set it in [retriever.model] alone.",
        ),
        ({"selection": {"hard_cap": 1}}, "hard_cap = 1 is below k_min = 2"),
        ({"selection": {"policy": "fixed", "k": 11}}, "k = 11 is outside"),
        ({"selection": {"uncertain": {"policy": "fixed", "k": 1}}}, "[selection.uncertain] k = 1 is outside"),
        ({"selection": {"policy": "elbow", "gamma": "tune"}}, '"elbow" has no gamma. Leave it out.'),
        ({"selection": {"mean_k_at_most": 1.5}}, "mean_k_at_most = 1.5 cannot be kept"),
        ({"three_state": {"rule": "youden", "alert_precision": 0.8}}, "alert_precision is a target of two thresholds"),
    ],
)
def test_settings_that_are_wrong_together_are_told(tables: dict[str, Any], said: str) -> None:
    code, message = the_problem(**tables)
    assert code == "CONFIG_CONFLICT"
    assert said in message


def test_a_value_that_was_refused_is_in_no_conflict() -> None:
    assert the_problem(retriever={"keep": "8"}, reranker={"keep": 30})[0] == "CONFIG_TYPE"


def test_a_stage_can_be_switched_and_nothing_else_be_touched() -> None:
    config(reranker={"kind": "none", "keep": 50, "trees": 300}, graph={"kind": "none", "layers": 3})


# what must not be told


@pytest.mark.parametrize(
    "tables",
    [
        {"retriever": {"model": {"api_key_env": "sk-secret-1"}}},
        {"retriever": {"model": {"api_key_env": 12345}}},
        {"retriever": {"kind": "openai:http://me:sk-secret-1@h/v1,m"}},
        {"reranker": {"kind": "http:http://sk-secret-1@h/rerank"}},
        {"reranker": {"kind": "http:ftp://sk-secret-1@h/rerank"}},
        {"reranker": {"kind": "htp:http://sk-secret-1@h/rerank"}},
    ],
)
def test_a_key_or_a_password_is_never_repeated(tables: dict[str, Any]) -> None:
    message = the_problem(**tables)[1]
    assert "secret" not in message
    assert "12345" not in message


LONG = "I have not slept in days and nobody knows about it"


@pytest.mark.parametrize("place", ["table", "key", "value"])
def test_a_text_of_the_file_is_never_repeated(place: str) -> None:
    tables = {"table": {LONG: {}}, "key": {"gate": {LONG: 1}}, "value": {"gate": {"kind": LONG}}}[place]
    message = the_problem(**tables)[1]
    assert LONG not in message
    assert "50 characters, not shown" in message


# files


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[corpus]\npath = here\n", "line 2, column 8: invalid value"),
        ("[corpus]\npath = 'a'\npath = 'b'\n", "line 3, column 11: a key or a table is given twice"),
        ("[corpus]\n[corpus]\n", "line 2, column 8: a key or a table is given twice"),
        ("[corpus]\npath = 'a", "line 2"),
        ("[corpus]\npath = [", "line 2"),
        ("a = {x = 1, x = 2}", "line 1, column 18: a key or a table is given twice"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "9" * 5_000, "a number has too many digits"),
        ("\n\nalso this", "line 3"),
    ],
)
def test_a_file_that_is_not_toml_is_told_with_the_line(tmp_path: Path, text: str, said: str) -> None:
    message = refused(tmp_path / "run.toml", text)
    assert message.startswith("run.toml: not TOML (")
    assert said in message
    assert len(message) < 200


def test_a_reason_holds_no_text_of_the_file(tmp_path: Path) -> None:
    assert LONG not in refused(tmp_path / "run.toml", f'["{LONG}"]\n["{LONG}"]\n')


def test_an_empty_file_lacks_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes(b"\n")
    with pytest.raises(InputError, match=r"path is missing"):
        read_config(tmp_path / "run.toml")


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.toml: no such file"):
        read_config(tmp_path / "run.toml")


# anything at all

KEYS = sorted({key for place, table in all_tables() for key in (*place.split("."), *dict(settings_of(table)))})
SPECS = (
    "minilm",
    "none",
    "http:",
    "openai:http://[,m",
    "openai:http://h:99999,m",
    "sentence-transformers:\0",
    "fpr=9e9",
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**4000),
    st.floats(),
    st.text(max_size=90),
    st.sampled_from((*SPECS, *KEYS, "tune", "fixed", "synthetic", "weights", "x" * 100_000)),
    st.dates(),
    st.times(),
)
keys = st.one_of(st.sampled_from(KEYS), st.text(max_size=90))
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6), max_leaves=30
)
tables = st.dictionaries(st.one_of(st.sampled_from(list(subtables(Config))), keys), values, max_size=8)


def _texts(content: Any) -> list[str]:
    if isinstance(content, dict):
        return [text for pair in content.items() for each in pair for text in _texts(each)]
    if isinstance(content, list):
        return [text for each in content for text in _texts(each)]
    return [content] if isinstance(content, str) else []


def _keys(content: Any) -> Any:
    return {key: _keys(value) for key, value in content.items()} if isinstance(content, dict) else None


def outcome(content: Any) -> Config | InputError:
    try:
        return parse_config(content, base=Path())
    except InputError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(st.one_of(tables, values, tables.map(lambda content: LEAST | content)))
@example({"corpus": {"path": "x", "posts": -1}, "protocol": []})
@example({1: {2: 3}})
def test_anything_is_a_configuration_or_an_input_error(content: Any) -> None:
    before = repr(content)
    found = outcome(content)
    if isinstance(found, Config):
        json.dumps(found.to_dict(), allow_nan=False)
        assert parse_config(found.to_dict(), base=Path()).digest() == found.digest()
    else:
        assert found.problems
        assert all(len(problem.message) < 400 for problem in found.problems)
        assert not any(text in str(found) for text in _texts(content) if len(text) > 64)
    assert repr(content) == before


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_one_key_of_any_value_is_taken_or_told_by_its_name(data: st.DataObject) -> None:
    place, table = data.draw(st.sampled_from(list(all_tables())))
    key, _ = data.draw(st.sampled_from(list(settings_of(table))))
    content: dict[str, Any] = deepcopy(LEAST)
    inner: dict[str, Any] = content
    for part in place.split("."):
        inner = inner.setdefault(part, {})
    inner[key] = data.draw(scalars)
    found = outcome(content)
    assert isinstance(found, Config) or key in str(found)


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
