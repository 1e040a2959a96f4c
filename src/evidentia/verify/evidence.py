"""The queries of an evidence run as plain records, read from the files of a result folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.verify.folder import ResultFolder

COLUMNS = (
    *("post_id", "criterion_id", "has_evidence", "fold", "prob", "raw_prob", "detection_score", "tau", "tau_neg"),
    *("tau_pos", "state", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"),
)


class Candidate(NamedTuple):
    """A sentence of the query's post with its score."""

    uid: str
    score: float
    gold: bool
    node_prob: float | None = None


@dataclass(frozen=True)
class Query:
    """One (post, criterion) pair with what the system said about it. What the run lacks is None."""

    post: str
    criterion: str
    label: bool
    fold: str | None = None
    prob: float | None = None
    raw_prob: float | None = None  # before calibration
    detection_score: float | None = None
    tau: float | None = None
    tau_neg: float | None = None
    tau_pos: float | None = None
    state: str | None = None
    gold: tuple[str, ...] | None = None
    ranked: tuple[str, ...] | None = None
    selected: tuple[str, ...] | None = None
    candidates: tuple[Candidate, ...] | None = None
    slices: Mapping[str, str] = field(default_factory=dict)

    @property
    def gate(self) -> bool | None:
        """The system's yes or no: not NEG where there is a state, else prob against tau, else against one half."""
        if self.state is not None:
            return self.state != "NEG"
        if self.prob is None:
            return None
        return self.prob >= (0.5 if self.tau is None else self.tau)

    @property
    def score(self) -> float | None:
        """What detection sweeps over: prob, else the detection score."""
        return self.detection_score if self.prob is None else self.prob

    @cached_property
    def gold_ranks(self) -> list[int]:
        """Where the gold sentences stand in the ranking, from 1 on; those that were not ranked are not among them."""
        gold = set(self.gold or ())
        return [rank for rank, uid in enumerate(self.ranked or (), 1) if uid in gold]

    @cached_property
    def candidate_scores(self) -> Floats:
        """What sweeps over candidates read: the node probability where there is one, else the score."""
        return np.array([c.score if c.node_prob is None else c.node_prob for c in self.candidates or ()], np.float64)

    @cached_property
    def candidate_marks(self) -> Bools:
        """Which candidates are gold."""
        return np.array([candidate.gold for candidate in self.candidates or ()], bool)


def read_queries(folder: ResultFolder) -> list[Query]:
    """The evaluated queries in the order of the file."""
    options = folder.manifest.get("options", {})
    by = [str(column) for column in options.get("slices", options.get("by", []))]
    return read_plain_queries(folder, by)


def read_plain_queries(folder: ResultFolder, by: Iterable[str] = (), name: str = "per_query.csv") -> list[Query]:
    """The queries of a folder that may have no manifest, with the named slices."""
    candidates = _candidates(folder) if folder.has("candidates.parquet") else None
    by = list(by)
    return [query_of(row, by, candidates) for row in folder.rows(name, {*COLUMNS, *by})]


def read_tune(folder: ResultFolder) -> list[Query]:
    """The TUNE queries, on which thresholds were chosen."""
    return [query_of(row, [], None) for row in folder.records("tune.parquet")] if folder.has("tune.parquet") else []


def query_of(
    row: Mapping[str, Any], by: Iterable[str], candidates: Mapping[tuple[str, str], list[Candidate]] | None
) -> Query:
    """A query from its row, with the named slices and its candidates."""
    post, criterion = str(row["post_id"]), str(row["criterion_id"])
    prob, low, high = (_number(row.get(name)) for name in ("prob", "tau_neg", "tau_pos"))
    state = row.get("state") or None
    if state is None and prob is not None and low is not None and high is not None:
        state = "NEG" if prob < low else "POS" if prob >= high else "UNCERTAIN"
    return Query(
        post,
        criterion,
        str(row["has_evidence"]).lower() in {"true", "1"},
        fold=None if row.get("fold") in {None, ""} else str(row["fold"]),
        prob=prob,
        raw_prob=_number(row.get("raw_prob")),
        detection_score=_number(row.get("detection_score")),
        tau=_number(row.get("tau")),
        tau_neg=low,
        tau_pos=high,
        state=state,
        gold=_uids(row, "gold_sent_uids"),
        ranked=_uids(row, "ranked_sent_uids"),
        selected=_uids(row, "selected_sent_uids"),
        candidates=None if candidates is None else tuple(candidates.get((post, criterion), ())),
        slices={column: str(row[column]) for column in by},
    )


def _uids(row: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    cell = row.get(name)
    if name not in row or cell is None:
        return None
    return tuple(cell) if not isinstance(cell, str) else tuple(cell.split("|")) if cell else ()


def _number(cell: object) -> float | None:
    return None if cell is None or cell == "" else float(str(cell))


def _candidates(folder: ResultFolder) -> dict[tuple[str, str], list[Candidate]]:
    columns, candidates = folder.columns("candidates.parquet"), dict[tuple[str, str], list[Candidate]]()
    nothing = [None] * len(columns["post_id"])
    names = ("split", "post_id", "criterion_id", "sent_uid", "score", "is_gold", "node_prob")
    cells = (columns.get(name, nothing) if name in {"split", "node_prob"} else columns[name] for name in names)
    for split, post, criterion, uid, score, gold, node_prob in zip(*cells, strict=True):
        if split in {None, "EVAL"}:
            candidate = Candidate(str(uid), float(score), bool(gold), node_prob)
            candidates.setdefault((str(post), str(criterion)), []).append(candidate)
    return candidates
