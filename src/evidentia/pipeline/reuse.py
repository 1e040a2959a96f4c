"""Steps of an earlier run that need not be trained again: each is known by a key of all that decides what it learns and says.

The key of a step holds its settings and seed, the posts and their division, the labels where it learns, versions, and the keys
of the steps before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evidentia.errors import InputError, counted
from evidentia.pipeline.encoders.make import make_encoder, make_pair_scorer
from evidentia.pipeline.plan import FINAL, Division, Plan, labels_of, texts_of
from evidentia.pipeline.stages.meaning import LSA
from evidentia.pipeline.stages.models import UsesEncoder
from evidentia.pipeline.stages.network import GraphNetwork, NetworkGate
from evidentia.pipeline.stages.pairs import FineTuned, PairReranker
from evidentia.pipeline.stages.tokens import TokenReader
from evidentia.pipeline.store import MODEL, SCORES, Checkpoints, into_place
from evidentia.pipeline.system import Step
from evidentia.pipeline.workspace import Note
from evidentia.results import dumps, loads

STEPS, MODELS = "steps", "models"
COMPUTES = ("evidentia", "numpy", "scipy", "scikit-learn")
BEHIND_TORCH = ("torch", "transformers", "tokenizers", "sentence-transformers", "torch-geometric")
_RECORD, _SCHEMA = "step.json", "evidentia.step/1"
_WITH_TORCH = (PairReranker, FineTuned, TokenReader, GraphNetwork, NetworkGate)
Place = tuple[str, str]  # a fold, and a step


def versions_of(names: Sequence[str]) -> dict[str, str]:
    """The versions of those libraries that are there: what a cache knows needs none."""
    versions = {}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def step_keys(plan: Plan) -> dict[Place, str]:
    """The key of every step of every fold."""
    texts, labels = (_digest(*parts(plan.posts)) for parts in (texts_of, labels_of))
    described = [_described(step) for step in plan.system]
    keys: dict[Place, str] = {}
    for division in plan.divisions():
        before: list[Any] = []
        for number, step in enumerate(plan.system):
            learns = step.stage.learns
            content = [described[number], texts, _posts_read(division, learns=learns), labels if learns else None]
            key = _digest(json.dumps([*content, plan.system.seed + 1000 * number, before], default=str).encode())
            keys[division.fold, step.name] = key
            before = [*before, key, step.name, str(step.keep)]
    return keys


def _posts_read(division: Division, *, learns: bool) -> list[list[int]]:
    """Which posts of a fold serve what; a step that learns nothing reads the TRAIN texts alone."""
    parts = (division.train, division.tune, division.eval, division.part) if learns else (division.train,)
    return [part.tolist() for part in parts]


def _described(step: Step) -> list[Any]:
    """What a stage is set to, and by which code; where things are kept on this machine has no part in it."""
    nested = list(_nested(step.stage))
    torch = any(isinstance(each, _WITH_TORCH) or _asks_model(each) for each in nested)
    return [step.name, versions_of((*COMPUTES, *(BEHIND_TORCH if torch else ()))), _settings(step.stage)]


def _asks_model(value: Any) -> bool:
    return isinstance(value, UsesEncoder) and value.spec != LSA


def _nested(value: Any) -> Iterator[Any]:
    """A dataclass with all that are in it."""
    if is_dataclass(value):
        yield value
        for each in fields(value):
            yield from _nested(getattr(value, each.name))
    elif isinstance(value, tuple):
        for each in value:
            yield from _nested(each)


def _settings(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_settings(each) for each in value]
    if not is_dataclass(value):
        return value
    own: dict[str, Any] = {each.name: getattr(value, each.name) for each in fields(value) if each.name != "cache"}
    if _asks_model(value):
        own |= {"spec": make_encoder(own["spec"], dict(own["settings"]), cache=False).key, "settings": None}
    elif isinstance(value, PairReranker):
        own |= {"spec": make_pair_scorer(own["spec"], dict(own["settings"]), cache=False).key, "settings": None}
    return [type(value).__name__, {name: _settings(each) for name, each in own.items()}]


def _digest(*parts: bytes) -> str:
    digest = sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def keep_steps(plan: Plan, store: Checkpoints, out: Path) -> None:
    """Keep what every step said, under its key, where a later run finds it; what it learnt lies among the models."""
    for (fold, name), key in step_keys(plan).items():
        files = store.files(fold, name, SCORES, *MODEL)
        record = {"schema": _SCHEMA, "key": key, "files": {file: _digest(content) for file, content in files.items()}}

        def fill(folder: Path, files: Mapping[str, bytes] = files, record: Mapping[str, Any] = record) -> None:
            (folder / SCORES).write_bytes(files[SCORES])
            (folder / _RECORD).write_bytes(dumps(record).encode())

        into_place(out / STEPS / fold / name, fill)


@dataclass(frozen=True)
class KeptStep:
    """A step that a run kept: where its files lie, and the hashes that they must have."""

    place: Place
    files: Mapping[str, Path]
    hashes: Mapping[str, str]

    def read(self) -> dict[str, bytes] | None:
        """Its files as they were written; None where one is not."""
        try:
            files = {name: path.read_bytes() for name, path in self.files.items()}
        except OSError:
            return None
        return files if all(_digest(content) == self.hashes.get(name) for name, content in files.items()) else None


def kept_steps(run: Path) -> dict[str, KeptStep]:
    """What a run kept, by key; a folder that keeps nothing is an InputError. A record that cannot be read is passed over."""
    kept = {}
    for path in sorted((run / STEPS).glob(f"*/*/{_RECORD}")):
        fold, name = path.parent.parent.name, path.parent.name
        models = run / MODELS / (fold if fold == FINAL else f"fold-{fold}") / name
        files = {SCORES: path.parent / SCORES, **{file: models / file for file in MODEL}}
        try:
            record = loads(path.read_bytes())
            kept[str(record["key"])] = KeptStep((fold, name), files, dict(record["files"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    if not kept:
        raise InputError(
            f"{run.resolve().name} keeps no steps to reuse: it is no finished run of `evidentia run`, or its folder {STEPS} was "
            "removed. Leave out --reuse, or name another run."
        )
    return kept


def reuse_steps(plan: Plan, store: Checkpoints, kept: Mapping[str, KeptStep], *, note: Note) -> None:
    """Put what an earlier run kept in the place of work; what is damaged there is left to be trained, and named."""
    for (fold, name), key in step_keys(plan).items():
        if store.has(fold, name) or (step := kept.get(key)) is None:
            continue
        files = step.read()
        if files is None:
            note(f"{STEPS}/{'/'.join(step.place)} of the run to reuse is damaged: this step is trained again.")
        else:
            store.put(fold, name, files)
    note(_summary(plan, store.reused()))


def _summary(plan: Plan, counts: Mapping[str, int]) -> str:
    """Which steps come from an earlier run, and which are trained."""
    divisions, names = len(plan.divisions()), [step.name for step in plan.system]
    reused = [
        name if counts[name] == divisions else f"{name} (in {counts[name]} of {divisions})"
        for name in names
        if counts.get(name)
    ]
    trained = [name for name in names if counts.get(name, 0) < divisions]
    folds = counted(len(plan.folds.labels), "fold") + (" and the model for use" if plan.final else "")
    return f"reused: {', '.join(reused) or 'nothing'}; trained: {', '.join(trained) or 'nothing'} ({folds})"
