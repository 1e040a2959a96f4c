"""Mistakes in a configuration: every one is told at once, with a code, and nothing private is repeated."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evidentia.errors import InputError
from evidentia.pipeline.config import Config, parse_config, read_config
from evidentia.pipeline.config.reader import all_tables
from evidentia.pipeline.config.tables import settings_of, subtables
from sampling import examples

from .configs import LEAST, config, problems, refused, the_problem

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
        ({"protocol": {"x": 1}}, "[protocol] has no key 'x'. There are: folds, seed, cross_fit, groups, min_posts."),
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
        (
            {"retriever": {"keep_at_least": 8}},
            "[reranker] keep = 10 is more than [retriever] keep_at_least = 8 lets through",
        ),
        ({"retriever": {"keep_at_most": 20}}, "keep_at_least = 24 is more than keep_at_most = 20. Change one."),
        ({"retriever": {"kind": "bm25", "weights": [1, 2]}}, "weights are for several kinds"),
        ({"retriever": {"kind": "bm25", "fusion": "weights"}}, "needs several kinds"),
        ({"retriever": {"fusion": "weights"}}, "needs weights: 2 numbers"),
        ({"retriever": BOTH | {"fusion": "weights"}}, "needs weights: 2 numbers"),
        ({"retriever": BOTH | {"fusion": "rrf", "weights": [1, 2]}}, 'not read by fusion = "rrf"'),
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
    assert the_problem(retriever={"keep": "8"}, reranker={"keep": 30})[0] == "CONFIG_CHOICE"


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

KEYS = sorted({key for place, table in all_tables().items() for key in (*place.split("."), *dict(settings_of(table)))})
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


def outcome(content: Any) -> Config | InputError:
    try:
        return parse_config(content, base=Path())
    except InputError as error:
        return error


@examples(300)
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


@examples(200)
@given(st.data())
def test_one_key_of_any_value_is_taken_or_told_by_its_name(data: st.DataObject) -> None:
    place, table = data.draw(st.sampled_from(list(all_tables().items())))
    key, _ = data.draw(st.sampled_from(list(settings_of(table))))
    content: dict[str, Any] = deepcopy(LEAST)
    inner: dict[str, Any] = content
    for part in place.split("."):
        inner = inner.setdefault(part, {})
    inner[key] = data.draw(scalars)
    found = outcome(content)
    assert isinstance(found, Config) or key in str(found)
