"""Invented runs of a PHQ-8 scorer that may abstain, in the layout of the real files; they hold no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError, shown
from evidentia.results import dumps
from evidentia.synth.files import write_files
from evidentia.synth.truth import whole_number_problems
from evidentia.tables.phq8_results import HIGHEST_SCORE, PHQ8_ITEMS

MOST_PARTICIPANTS = 1_000_000
MODES = ("zero_shot", "few_shot")

_FIRST_ID = 1001
_CUTS = (0.15, 0.8, 1.4)  # of the latent severity, between the scores: about 56, 23, 13 and 8 %
_PERSON_SHARE = 0.5  # of the variance of the severity that the items of a participant have in common
_PROGRESS = 0.75  # a mode abstains and errs this much of what the mode before it does
_SPREAD = 1.2  # of the first mode's errors, at middling difficulty
_SILENT_SHARE = 0.05  # of the participants say so little that every item is hard

_SOURCES = {(True, True): "both", (True, False): "llm", (False, True): "keyword", (False, False): None}


@dataclass(frozen=True, eq=False)
class _People:
    """One row per participant, one column per item: the true score, and how hard it is to tell."""

    ids: Ints
    failed: Bools
    gt: Ints
    difficulty: Floats  # mean 0, spread about 1


def synthetic_phq8(
    *,
    seed: int = 7,
    participants: int = 41,
    failures: int = 2,
    abstention: float = 0.4,
    modes: Sequence[str] = MODES,
) -> dict[str, Any]:
    """Draw one experiment per mode over the same participants; the same arguments give the same run.

    ``failures`` participants have no result in any mode. The first mode abstains on the share ``abstention`` of the
    items; each further mode answers more and better. ``token_msp`` tells errors from correct answers,
    ``verbalized_confidence`` hardly does, and the evidence counts are small and mostly tied.

    >>> run = synthetic_phq8(participants=3, failures=1)
    >>> [experiment["results"]["mode"] for experiment in run["experiments"]]
    ['zero_shot', 'few_shot']
    """
    _check(seed, participants, failures, abstention, modes)
    people = _draw_people(participants, failures, rng=np.random.default_rng([seed, 0]))
    experiments = []
    for at, mode in enumerate(modes):
        rng = np.random.default_rng([seed, 1, at])
        results = _results(people, share=abstention * _PROGRESS**at, spread=_SPREAD * _PROGRESS**at, rng=rng)
        experiments.append({"provenance": {"mode": mode}, "results": {"mode": mode, "results": results}})
    return {"run_metadata": {"run_id": f"synthetic-{seed}"}, "experiments": experiments}


def write_phq8(run: Mapping[str, Any], path: Path | str) -> Path:
    """Write a run as strict JSON, and its folder if there is none; the same run gives the same bytes."""
    target = Path(path)
    write_files(target.parent, {target.name: dumps(run).encode()})
    return target


def _check(seed: int, participants: int, failures: int, abstention: float, modes: Sequence[str]) -> None:
    problems = whole_number_problems(
        seed=(seed, 0, None),
        participants=(participants, 1, MOST_PARTICIPANTS),
        failures=(failures, 0, max(participants - 1, 0)),
    )
    if not 0 <= abstention <= 1:
        problems.append(f"abstention is {shown(abstention)}. Give a number from 0 to 1.")
    if not modes or len({*modes}) < len(modes):
        problems.append(f"modes are {', '.join(map(shown, modes)) or 'none'}. Give at least one, each once.")
    if problems:
        raise InputError(*problems)


def _draw_people(participants: int, failures: int, *, rng: np.random.Generator) -> _People:
    shape = (participants, len(PHQ8_ITEMS))
    severity = np.sqrt(_PERSON_SHARE) * rng.standard_normal((participants, 1))
    severity = severity + np.sqrt(1 - _PERSON_SHARE) * rng.standard_normal(shape)
    difficulty = 0.7 * rng.standard_normal((participants, 1)) + 0.7 * rng.standard_normal(shape)
    order = rng.permutation(participants)
    failed = np.zeros(participants, np.bool_)
    failed[order[:failures]] = True
    silent = order[failures:][: max(1, round(_SILENT_SHARE * participants))]
    difficulty[silent] += 10
    return _People(_FIRST_ID + np.arange(participants), failed, np.digitize(severity, _CUTS), difficulty)


def _results(people: _People, *, share: float, spread: float, rng: np.random.Generator) -> list[dict[str, Any]]:
    shape = people.gt.shape
    unease = people.difficulty + 0.5 * rng.standard_normal(shape)
    scale = spread * np.exp(0.7 * np.clip(people.difficulty, -1.5, 1.5))
    pred = np.clip(np.rint(people.gt + scale * rng.standard_normal(shape)), 0, HIGHEST_SCORE).astype(np.int64)
    abstained = _hardest(unease, ~people.failed, share)
    signals = _draw_signals(np.abs(pred - people.gt), unease, abstained, rng=rng)
    return [
        _failure(people, row) if people.failed[row] else _success(people, row, pred, abstained, signals)
        for row in range(shape[0])
    ]


def _hardest(unease: Floats, included: Bools, share: float) -> Bools:
    """Mark the given share of the included participants' items: those where the scorer is least at ease."""
    ranked = np.where(included[:, None], unease, -np.inf).ravel()
    marked = np.zeros(unease.size, np.bool_)
    marked[np.argsort(-ranked, kind="stable")[: round(share * included.sum() * unease.shape[1])]] = True
    return marked.reshape(unease.shape)


def _draw_signals(error: Ints, unease: Floats, abstained: Bools, *, rng: np.random.Generator) -> dict[str, Any]:
    """Arrays of the signals; those of the scorer itself are only meant where it did not abstain."""
    ease = np.clip(-unease, -2, 2)
    llm = np.where(abstained, rng.poisson(0.2, error.shape), 1 + rng.poisson(np.exp(0.8 * ease - 0.7)))
    logit = 1.5 - 0.8 * error + 0.5 * ease + 0.8 * rng.standard_normal(error.shape)
    stated = np.rint(4.3 - 0.1 * error + 0.7 * rng.standard_normal(error.shape))
    return {
        "llm_evidence_count": np.minimum(llm, 6),
        "keyword_evidence_count": np.minimum(rng.poisson(0.3, error.shape), 3),
        "verbalized_confidence": np.clip(stated, 1, 5).astype(np.int64),
        "token_msp": np.round(1 / (1 + np.exp(-logit)), 4),
    }


def _failure(people: _People, row: int) -> dict[str, Any]:
    return {"participant_id": int(people.ids[row]), "success": False, "error": "synthetic failure"}


def _success(people: _People, row: int, pred: Ints, abstained: Bools, signals: Mapping[str, Any]) -> dict[str, Any]:
    scores = [None if left_out else int(score) for score, left_out in zip(pred[row], abstained[row], strict=True)]
    own = [_item_signals(signals, row, at, abstained=bool(abstained[row, at])) for at in range(len(PHQ8_ITEMS))]
    return {
        "participant_id": int(people.ids[row]),
        "success": True,
        "predicted_items": dict(zip(PHQ8_ITEMS, scores, strict=True)),
        "ground_truth_items": dict(zip(PHQ8_ITEMS, people.gt[row].tolist(), strict=True)),
        "item_signals": dict(zip(PHQ8_ITEMS, own, strict=True)),
    }


def _item_signals(signals: Mapping[str, Any], row: int, item: int, *, abstained: bool) -> dict[str, Any]:
    value = {name: column[row, item].item() for name, column in signals.items()}
    source = _SOURCES[value["llm_evidence_count"] > 0, value["keyword_evidence_count"] > 0]
    scored = {name: None if abstained else value[name] for name in ("verbalized_confidence", "token_msp")}
    return value | {"evidence_source": source} | scored
