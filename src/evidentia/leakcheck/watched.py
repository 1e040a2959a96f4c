"""What is watched of one fold: what every stage heard, learnt and said, and what was decided, for each query."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Bools, Floats, Ints
from evidentia.corpus import Posts
from evidentia.errors import InputError
from evidentia.leakage import Features, Post
from evidentia.leakage.canaries import relabelled
from evidentia.pipeline.decide import Decider, Scored
from evidentia.pipeline.plan import Division
from evidentia.pipeline.selection import CandidateRanking
from evidentia.pipeline.stage import Parts, View, best, ranks
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import GATE, Step, System, Variant
from evidentia.pipeline.tables import query_rows, selected_column
from evidentia.pipeline.work import after, cut_of

Columns = dict[str, Floats]  # each posts x criteria
POOLED = ("best", "mean", "mean by place", "kept", "place of the first")
NAMES = ("features", "arrivals")  # where stages write down what their models read


@dataclass(frozen=True, eq=False)
class FoldRun:
    """One fold that was run: the stages' own files, and what was chosen on its TUNE posts."""

    system: System
    posts: Posts
    division: Division
    store: Checkpoints
    variant: Variant
    decider: Decider


@dataclass(frozen=True, eq=False)
class Watched:
    """All of it as features of queries; the scores for detection; and the names that the stages gave to what they read."""

    features: Features
    detection: Floats
    reported: tuple[str, ...]


@dataclass(eq=False, kw_only=True)
class WatchedPipeline(ABC):
    """A pipeline of which every question runs one whole fold. Nothing is kept from one ``fit`` to the next."""

    on_fold: Callable[[], None] | None = None  # called after every fold
    reported: tuple[str, ...] = ()  # the names of features that the stages gave, as of the last fold
    _fitted: list[Post] = field(default_factory=list)
    _asked: tuple[Post, ...] = ()
    _watched: Watched | None = None

    def fit(self, posts: Sequence[Post], labels: Bools) -> None:
        """Remember what to learn from: learning takes place beside the posts that are asked about, as in a run."""
        self._fitted = relabelled(posts, labels)
        self._asked, self._watched = (), None

    def features(self, posts: Sequence[Post]) -> Features:
        """Everything that is said about the queries of some posts, and what was learnt and tuned for them."""
        return self._about(posts).features

    def predict(self, posts: Sequence[Post]) -> Floats:
        """The score for detection, posts x criteria."""
        return self._about(posts).detection

    def _about(self, posts: Sequence[Post]) -> Watched:
        """One fold; features and scores of the same posts come from the same one."""
        if self._watched is None or self._asked != tuple(posts):
            self._watched = self._run(posts)
            self._asked, self.reported = tuple(posts), self._watched.reported
            if self.on_fold is not None:
                self.on_fold()
        return self._watched

    def _new(self, asked: Sequence[Post]) -> list[Post]:
        """The posts that are asked about and were not learnt from."""
        known = {post.post_id for post in self._fitted}
        new = [post for post in asked if post.post_id not in known]
        if not known or not new:
            raise InputError("The pipeline needs posts to learn from, and others to be asked about.")
        return new

    @abstractmethod
    def _run(self, asked: Sequence[Post]) -> Watched:
        """Learn from the fitted posts beside those that are asked about, and watch."""


def label_free_names(system: System) -> tuple[str, ...]:
    """What no label may move: what every stage learns without them, and all about the stages before the first that learns."""
    first = [step.name for step in takewhile(lambda step: not step.stage.learns, system.steps)]
    columns = [f"{name} {part}" for name in first for part in ("model", *POOLED)]
    return (*(f"{step.name} space" for step in system), *columns)


def watch(run: FoldRun, asked: Ints) -> Watched:
    """Look at everything that a fold says about some of its posts, in pipeline order."""
    columns: Columns = {}
    view, reported = View.of(run.posts), []
    for step in run.system:
        parts = run.store.parts(run.division.fold, step.name)
        columns |= {f"{step.name} {part}": _constant(digest(parts[part]), run.posts) for part in ("space", "model")}
        reported += [name for key in NAMES for name in parts["model"].document.get(key, ())]
        columns |= _inputs_of(step, parts, view)
        scores = run.store.scores(run.division.fold, step.name)
        if step.name == GATE:
            columns["gate score"] = scores
        else:
            before, view = view, after(view, step.name, scores, cut_of(step, run.store, run.division.fold))
            columns |= _pooled(step.name, scores, before, view)
    columns = {name: values[asked] for name, values in columns.items()} | _decided(run, asked)
    stacked = np.column_stack([values.ravel() for values in columns.values()]).astype(np.float64)
    return Watched(Features(tuple(columns), stacked), columns["detection score"], tuple(reported))


def _pooled(name: str, scores: Floats, before: View, left: View) -> Columns:
    """The scores of a query pooled in ways that any change of any of them moves, and what the stage let through."""
    offsets = before.posts.offsets
    place = np.arange(len(scores)) - offsets[:-1][before.posts.owner]
    size = before.posts.lengths[:, None]
    first = (ranks(scores, before.kept, offsets) == 0) * place[:, None]
    columns = (
        best(scores, before.kept, offsets),
        np.add.reduceat(scores, offsets[:-1], axis=0) / size,
        np.add.reduceat(scores * (place[:, None] + 1), offsets[:-1], axis=0) / size,
        np.add.reduceat(left.kept.astype(np.float64), offsets[:-1], axis=0),
        np.add.reduceat(first.astype(np.float64), offsets[:-1], axis=0),
    )
    return {f"{name} {part}": values for part, values in zip(POOLED, columns, strict=True)}


def _inputs_of(step: Step, parts: Mapping[str, Parts], view: View) -> Columns:
    """What the model of a stage reads, where the stage names it: of candidates the mean and the best of every query."""
    names = parts["model"].document.get("features")
    if names is None:
        return {}
    inputs: Any = step.stage.inputs(parts["space"], view)
    values, offsets = np.asarray(inputs.features, np.float64), view.posts.offsets
    columns: Columns = {}
    for at, name in enumerate(names):
        column, label = values[:, :, at], f"{step.name} hears {name}"
        if step.stage.per == "post":
            columns[label] = column
        else:
            total, count = (np.add.reduceat(np.where(view.kept, of, 0.0), offsets[:-1], axis=0) for of in (column, 1.0))
            columns |= {f"{label}: best": best(column, view.kept, offsets), f"{label}: mean": total / count}
    return columns


def _decided(run: FoldRun, asked: Ints) -> Columns:
    """What was tuned, and what it makes of every query: by the functions that write the tables of a run."""
    decider, by = run.decider, run.variant.ranked_by
    posts, gold = run.posts, run.posts.gold
    assert gold is not None
    scored = Scored.of(posts, run.division, run.system, run.store, run.variant)
    rows = query_rows(scored, gold, asked, split="EVAL", ranked_by=by)
    detection = rows["detection_score"].to_numpy()
    prob, state = decider.states(detection)
    sentences = posts.sentences_of(asked)
    kept, offsets = scored.view.kept[sentences], posts.take(asked).offsets
    ranking = CandidateRanking.of(scored.view.scores[by][sentences], kept, offsets, decider.nodes)
    returned = selected_column(scored, asked, decider, ranked_by=by)
    places = np.arange(len(posts.texts)) - posts.offsets[:-1][posts.owner]
    place = dict(zip(posts.sent_uids, places.tolist(), strict=True))
    columns = {
        **{name: np.full(len(detection), value) for name, value in _tuned(decider).items()},
        "node probability of the best": ranking.node_prob[ranking.offsets[:-1]],
        "ranking": _by_place(rows["ranked_sent_uids"], place),
        "detection score": detection,
        "calibrated probability": prob,
        "state": state.astype(np.float64),
        "selected K": ranking_sizes(returned),
        "selected sentences": _by_place(returned, place),
    }
    return {name: np.asarray(values, np.float64).reshape(len(asked), -1) for name, values in columns.items()}


def _tuned(decider: Decider) -> dict[str, float]:
    """The values that were chosen on TUNE, as numbers."""
    tuning, chosen = decider.tuning, {"node calibration": _number(dict(decider.nodes.parameters))}
    if decider.selection.standard.name == "mass":
        chosen["gamma"] = decider.selection.standard.gamma
    if tuning.calibrator is not None:
        chosen["calibration"] = _number([tuning.calibrator.method, dict(tuning.calibrator.parameters)])
    if tuning.three_state is not None:
        assert tuning.three_state.tau_neg is not None
        assert tuning.three_state.tau_pos is not None
        return chosen | {"tau_neg": tuning.three_state.tau_neg, "tau_pos": tuning.three_state.tau_pos}
    assert tuning.threshold is not None
    return chosen | {"threshold": _number(tuning.threshold.to_dict())}


def ranking_sizes(lists: pl.Series) -> Floats:
    """How many sentences each list names.

    >>> ranking_sizes(pl.Series(["a|b", "", "c"])).tolist()
    [2.0, 0.0, 1.0]
    """
    return np.array([len(uids.split("|")) if uids else 0 for uids in lists], np.float64)


def _by_place(lists: pl.Series, place: Mapping[str, int]) -> Floats:
    """A number for every list that moves with what it names and in which order, whatever the sentences are called."""
    weighted = (
        sum(1 / (at + 1) ** 0.5 * (place[uid] + 1) for at, uid in enumerate(uids.split("|") if uids else ()))
        for uids in lists
    )
    return np.array(list(weighted), np.float64)


def digest(parts: Parts) -> float:
    """What was learnt as one number: any change of it is another number."""
    arrays = {
        name: [str(array.dtype), array.shape, sha256(array.tobytes()).hexdigest()]
        for name, array in parts.arrays.items()
    }
    return _number([dict(parts.document), arrays])


def _number(content: Any) -> float:
    encoded = json.dumps(content, sort_keys=True, default=list).encode()
    return float(int.from_bytes(sha256(encoded).digest()[:6]))  # 48 bits: a float holds them exactly


def _constant(value: float, posts: Posts) -> Floats:
    return np.full((len(posts), len(posts.criteria)), value)
