"""Runs of a questionnaire whose items have ranges of their own, one of them reversed."""

from __future__ import annotations

import random
from typing import Any

ITEMS = (("Fear", 1, 5, False), ("Calm", 0, 3, True), ("=Sleep", 0, 3, False))


def instrument(items: tuple[tuple[str, int, int, bool], ...] = ITEMS, cuts: tuple[int, ...] = (4, 7)) -> dict[str, Any]:
    keys = ("id", "low", "high", "reversed")
    listed = [dict(zip(keys, item, strict=True)) for item in items]
    return {"name": "worries", "title": "Three questions", "items": listed, "cuts": list(cuts)}


def run_file(instrument: dict[str, Any] | None, **modes: list[dict[str, Any]]) -> dict[str, Any]:
    experiments = [
        {"provenance": {"mode": mode}, "results": {"mode": mode, "results": results}} for mode, results in modes.items()
    ]
    metadata = {"run_id": "r"} | ({} if instrument is None else {"instrument": instrument})
    return {"run_metadata": metadata, "experiments": experiments}


def participant(own: object, pred: dict[str, int | None], gt: dict[str, int], sure: float = 1.0) -> dict[str, Any]:
    return {
        "participant_id": own,
        "success": True,
        "predicted_items": pred,
        "ground_truth_items": gt,
        "item_signals": {item: {"confidence": sure} for item in pred},
    }


def random_run(
    seed: int, participants: int = 20, abstained: float = 0.3, items: tuple[tuple[str, int, int, bool], ...] = ITEMS
) -> dict[str, Any]:
    """Scores at random, near the truth, some abstained; two modes about the same truth, and one failure."""
    chance = random.Random(seed)
    truth = [{own: chance.randint(low, high) for own, low, high, _ in items} for _ in range(participants)]

    def answer(score: int, low: int, high: int) -> int | None:
        if chance.random() < abstained:
            return None
        return min(max(score + chance.choice((-1, 0, 0, 1)), low), high)

    def results() -> list[dict[str, Any]]:
        listed = [
            participant(
                at, {own: answer(gt[own], low, high) for own, low, high, _ in items}, gt, round(chance.random(), 1)
            )
            for at, gt in enumerate(truth)
        ]
        return [*listed, {"participant_id": 999, "success": False, "error": "server"}]

    return run_file(instrument(items), first=results(), second=results())
