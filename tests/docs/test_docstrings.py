"""Exported functions document every parameter, what they return and an example; results document every field."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import evidentia
from evidentia import arrays, integrations, measures, selective

EXPORTED = {
    f"{m.__name__}.{name}": getattr(m, name) for m in (evidentia, arrays, integrations, selective) for name in m.__all__
}
CLASSES = {name: value for name, value in EXPORTED.items() if inspect.isclass(value)}
METHODS = {
    f"{name}.{method}": function
    for name, value in CLASSES.items()
    for method, function in vars(value).items()
    if inspect.isfunction(function) and not method.startswith("_") and len(inspect.signature(function).parameters) > 1
}
REGISTRY = {name: getattr(measures, name) for name in measures.__all__ if name.islower()}
FUNCTIONS = {name: value for name, value in EXPORTED.items() if inspect.isfunction(value)} | REGISTRY


def sections(documented: object) -> dict[str, str]:  # texts by underlined heading
    parts = re.split(r"^(\w+)\n-+\n", inspect.getdoc(documented) or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section: str) -> dict[str, str]:  # types by name
    return dict(re.findall(r"^\*{0,2}(\w+) : (.+)$", section, re.MULTILINE))


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in (FUNCTIONS | METHODS).items()])
def test_every_parameter_and_its_default_are_documented(function: Any) -> None:
    signature = {n: p for n, p in inspect.signature(function).parameters.items() if n != "self"}
    written = entries(sections(function).get("Parameters", ""))
    assert list(written) == list(signature)
    for name, parameter in signature.items():
        _, default, value = written[name].partition(", default=")
        assert bool(default) == (parameter.default is not parameter.empty), name
        assert not default or ast.literal_eval(value) == parameter.default, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_document_what_they_return_and_an_example(name: str) -> None:
    found = sections(FUNCTIONS[name])
    assert ">>> " in found["Examples"]
    assert "Returns" in found or inspect.signature(FUNCTIONS[name]).return_annotation == "None"


@pytest.mark.parametrize("name", CLASSES)
def test_results_document_every_field_and_an_example(name: str) -> None:
    found, cls = sections(CLASSES[name]), CLASSES[name]
    assert ">>> " in found["Examples"]
    assert not is_dataclass(cls) or list(entries(found["Attributes"])) == [field.name for field in fields(cls)]
