"""Small PHQ-8 runs to damage, and the problem that reading one gives."""

from __future__ import annotations

from typing import Any

import pytest

from evidentia.errors import InputError
from evidentia.tables import read_items

from .conftest import only

ITEMS = ("NoInterest", "Depressed", "Sleep", "Tired", "Appetite", "Failure", "Concentrating", "Moving")
SECRET = "I have not slept in days"


def signals(llm: Any = 2, keyword: Any = 1, **more: Any) -> dict[str, Any]:
    return {"llm_evidence_count": llm, "keyword_evidence_count": keyword, "evidence_source": "both", **more}


def result(participant: Any = 300, **changes: Any) -> dict[str, Any]:
    """A successful participant: predicted 0 to 3 twice, truth 1 everywhere."""
    return {
        "participant_id": participant,
        "success": True,
        "predicted_items": {item: at % 4 for at, item in enumerate(ITEMS)},
        "ground_truth_items": dict.fromkeys(ITEMS, 1),
        "item_signals": {item: signals() for item in ITEMS},
    } | changes


def failed(participant: Any = 301) -> dict[str, Any]:
    return {"participant_id": participant, "success": False, "error": SECRET}


def experiment(*results: Any, mode: str = "few_shot") -> dict[str, Any]:
    return {"provenance": {"mode": mode}, "results": {"mode": mode, "results": list(results)}}


def run(*results: Any) -> dict[str, Any]:
    return {"run_metadata": {"run_id": "r1"}, "experiments": [experiment(*results)]}


def changed(key: str, item: str, value: Any) -> dict[str, Any]:
    """A participant with one item changed under one key."""
    made = result()
    made[key][item] = value
    return made


def without(key: str, *items: str) -> dict[str, Any]:
    made = result()
    made[key] = {item: value for item, value in made[key].items() if item not in items}
    return made


def the_problem(source: object, code: str, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        read_items(source, **options)
    message = only(raised.value.problems, code)
    assert SECRET not in message
    return message
