"""The schemas that ship with the package, as validators."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from jsonschema import Draft202012Validator


@cache
def schema(name: str) -> dict:
    return json.loads((resources.files("evidentia.results") / "schemas" / f"{name}.schema.json").read_text("utf-8"))


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))


def faults(name: str, content: object) -> list[str]:
    """What the schema has against a file's content; empty if nothing."""
    return [f"{fault.json_path}: {fault.message[:200]}" for fault in validator(name).iter_errors(content)]


def thinned(summary: dict, *, every: int) -> dict:
    """The summary with all its overall numbers but only some of those of groups: validation is slow, and they are alike."""
    grouped = [name for name in summary["measures"] if "[" in name]
    left_out = set(grouped) - set(grouped[::every])
    return summary | {"measures": {n: entry for n, entry in summary["measures"].items() if n not in left_out}}
