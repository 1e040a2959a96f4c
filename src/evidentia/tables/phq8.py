"""Runs of a questionnaire scorer that may abstain (PHQ-8 or another), as its JSON files hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.errors import counted, shown, typed
from evidentia.results.questionnaire import Questionnaire
from evidentia.tables.document import Faults, read_document
from evidentia.tables.files import read_content
from evidentia.tables.instrument import questionnaire_of
from evidentia.tables.items import PHQ8_ROLE, Items
from evidentia.tables.kinds import refuse
from evidentia.tables.order import by_number
from evidentia.tables.phq8_results import Form, Participant, label, read_participants, read_signals
from evidentia.tables.run import Source

_LAYOUT = (
    "A PHQ-8 run is {experiments: [{provenance: {mode}, results: {mode, results: [one object per participant]}}]}."
)


@dataclass(frozen=True, eq=False)
class _Experiment:
    mode: str | None
    results: Sequence[object]


def read_phq8(source: Path | Mapping[str, Any], *, mode: str | None = None) -> Items:
    """Read one experiment of a run of PHQ-8 or of another questionnaire, from a JSON file (gzip too) or as it was parsed elsewhere.

    Participants with success = false are named in ``failed`` and have no rows; those of whom nothing was predicted
    stay in. ``mode`` chooses the experiment where there are several.
    """
    if isinstance(source, Mapping):
        return _items("<mapping>", source, mode, None)
    content = read_content(source)
    return _items(content.name, read_document(content), mode, content.sha256)


def _items(name: str, document: object, mode: str | None, sha256: str | None) -> Items:
    experiment = _chosen(name, _experiments(name, document), mode)
    form = Form(questionnaire_of(name, document), Faults(name))
    read = {participant.id: participant for participant in read_participants(experiment.results, form)}
    failed = by_number(own for own, participant in read.items() if not participant.success)
    included = [read[own] for own in by_number(read.keys() - {*failed})]
    signals = read_signals(included, form)
    form.faults.refuse()
    if not included:
        message = f"{name}: 0 of {counted(len(read), 'participant')} with success = true. There is nothing to judge."
        raise refuse("NO_SUCCESS", message)
    source = Source(PHQ8_ROLE, name, sha256, len(included) * len(form.asked.items))
    items = _built(included, signals, source, form.asked)
    return replace(items, mode=experiment.mode, failed=failed, notes=_notes(name, failed))


def _built(
    included: Sequence[Participant], signals: Mapping[str, list[float]], source: Source, asked: Questionnaire
) -> Items:
    return Items(
        name="items" if source.sha256 is None else source.name,
        cluster=np.repeat(np.arange(len(included)), len(asked.items)),
        cluster_ids=tuple(participant.id for participant in included),
        item=asked.item_ids * len(included),
        pred=np.array([participant.pred for participant in included]).ravel(),
        gt=np.array([participant.gt for participant in included]).ravel(),
        signals={signal: np.array(values) for signal, values in signals.items()},
        item_max=asked.item_max,
        sources=(source,),
        questionnaire=asked,
    )


def _notes(name: str, failed: Sequence[str]) -> tuple[str, ...]:
    if not failed:
        return ()
    count = counted(len(failed), "participant")
    return (f"{name}: {count} with success = false, left out (first: {shown(failed[0])}).",)


def _experiments(name: str, document: object) -> list[_Experiment]:
    listed = _part(name, "", document, "experiments", list)
    if not listed:
        raise refuse("SHAPE", f"{name}: experiments is empty. {_LAYOUT}")
    read = []
    for at, experiment in enumerate(listed):
        where = f"experiments[{at}]"
        results = _part(name, where, experiment, "results", Mapping)
        entries = _part(name, f"{where}.results", results, "results", list)
        read.append(_Experiment(_mode(name, where, experiment, results), entries))
    return read


def _part(name: str, where: str, whole: object, key: str, kind: type) -> Any:
    """The member of an object, of the right kind, or an error that says what is missing where."""
    if not isinstance(whole, Mapping):
        raise refuse("SHAPE", f"{name}: {where or 'the document'} is not an object. {_LAYOUT}")
    if key not in whole:
        raise refuse("SHAPE", f"{name}: {where or 'the document'} lacks the key {key}. {_LAYOUT}")
    if not isinstance(whole[key], kind):
        path, wanted = f"{where}.{key}".lstrip("."), "a list" if kind is list else "an object"
        raise refuse("SHAPE", f"{name}: {path} is not {wanted}. {_LAYOUT}")
    return whole[key]


def _mode(name: str, where: str, experiment: Mapping[str, Any], results: Mapping[str, Any]) -> str | None:
    """The mode as results and provenance say it; either may be silent, and they may not differ."""
    parts = {"results": results, "provenance": experiment.get("provenance")}
    modes = {
        key: part["mode"] for key, part in parts.items() if isinstance(part, Mapping) and part.get("mode") is not None
    }
    for key, mode in modes.items():
        if not isinstance(mode, str) or label(mode) is None:
            message = f"{name}: {where}.{key}.mode is not a name ({shown(mode)}). Write a short text."
            raise refuse("MODE", message)
    if len({*modes.values()}) > 1:
        both = " and ".join(f"{shown(mode)} in {key}" for key, mode in modes.items())
        raise refuse("MODE", f"{name}: {where} has two modes: {both}. Correct one of them.")
    return next(iter(modes.values()), None)


def _chosen(name: str, experiments: Sequence[_Experiment], mode: str | None) -> _Experiment:
    modes = [experiment.mode for experiment in experiments]
    listed = ", ".join("one without a mode" if m is None else shown(m) for m in dict.fromkeys(modes))
    twice = next((m for m in modes if modes.count(m) > 1), "")
    if twice != "":
        which = "without a mode" if twice is None else f"of the mode {shown(twice)}"
        message = f"{name}: {modes.count(twice)} experiments {which}. Keep one experiment per mode."
        raise refuse("MODE", message)
    if mode is None and len(modes) > 1:
        message = f"{name}: {len(modes)} experiments, and no mode was chosen. Name one of the modes: {listed}."
        raise refuse("MODE", message)
    if mode is not None and mode not in modes:
        message = f"{name}: there is no mode {typed(mode)}. Name one of the modes that it has: {listed}."
        raise refuse("MODE", message)
    return experiments[0 if mode is None else modes.index(mode)]
