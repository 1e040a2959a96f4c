"""Twins of the extraction measures: how many sentences are selected, and whether they are gold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.results.measure import Args
from evidentia.verify.study import Study
from evidentia.verify.twins import COUNT, Column, SumTwin, TwinFamily, by_choice

family = TwinFamily("extraction", {"SelectedK": COUNT})


def _let_through(study: Study, args: Args) -> Bools:
    return study.gate if args["given"] == "gate" else study.everyone


@family.mean("SelectedK", population=_let_through)
def selected(study: Study, args: Args) -> Floats:
    """Selected sentences of every query; a closed gate may count as none."""
    return np.where(study.gate, study.n_selected, 0.0) if args["closed"] == "zero" else study.n_selected


def _recalled(study: Study, args: Args) -> Bools:
    if args["given"] == "gate":
        return study.label & study.gate
    return study.label if args["pool"] == "micro" else by_choice(study, args)


@family.mean("EvidenceRecall", population=_recalled)
def evidence_recall(study: Study, args: Args) -> Floats:
    """Selected gold sentences of all gold ones; without gold it is right to select nothing."""
    return np.where(study.n_gold > 0, study.n_found / np.maximum(study.n_gold, 1), study.n_selected == 0)


def _pooled(study: Study, args: Args) -> Sequence[Column]:
    """Gold sentences that reach the reader, and gold sentences; what the gate stops reaches nobody."""
    there = np.where(study.gate, study.n_gold, 0.0) if args["given"] == "gate" else study.n_gold
    return [np.where(study.gate, study.n_found, 0.0), there]


family.add("EvidenceRecall", SumTwin(population=_recalled, columns=_pooled), when={"pool": "micro"})


@family.mean("EvidencePrecision", population=by_choice)
def evidence_precision(study: Study, args: Args) -> Floats:
    """Gold among the selected sentences; nothing selected is right only over all queries and without gold."""
    empty = (study.n_gold == 0) & (args["pop"] == "all")
    return np.where(study.n_selected > 0, study.n_found / np.maximum(study.n_selected, 1), empty)
