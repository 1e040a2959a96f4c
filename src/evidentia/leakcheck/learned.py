"""The learned scorer of interviews before the canaries: labels and words that a fold must not see are changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from evidentia.array_types import Floats
from evidentia.assessment.features import STATEMENT_FEATURES, item_features
from evidentia.assessment.instrument import Instrument
from evidentia.assessment.interviews import Interview, Turn
from evidentia.assessment.learned import (
    FEWEST,
    LearnedModel,
    LearnedScorer,
    LearnedSettings,
    Truth,
    Vectors,
    fold_scorer,
    folds_of,
    shared_vectors,
)
from evidentia.errors import InputError
from evidentia.leakage import Features, Post, canaries
from evidentia.leakage.canaries import labels_of
from evidentia.leakcheck.check import PARTS, Leakcheck
from evidentia.leakcheck.watched import Watched, WatchedPipeline, digest
from evidentia.pipeline.progress import Progress
from evidentia.pipeline.stage import Parts
from evidentia.results import Finding

PARTICIPANTS = 300
FOLDS_RUN = 10  # times that the canaries fit
WORDS = ("CANARY005", "Nothing learnt moves when words of EVAL participants change")
PLANTED = Turn("Zaffre ombrelles drifted over quagga bridges.", True)  # words that nobody else uses
LEARNT = "learnt "


@dataclass(eq=False)
class LearnedPipeline(WatchedPipeline):
    """One fold of `assess fit`, by the function that runs every fold; a participant is a post.

    A criterion is a step of an item, "the score is above k", so that a score is the lowest one plus the steps that hold.
    """

    instrument: Instrument
    settings: LearnedSettings
    vectors: Vectors | None = None
    fold: Callable[..., LearnedScorer] = fold_scorer

    def _run(self, asked: Sequence[Post]) -> Watched:
        everybody = sorted([*self._fitted, *self._new(asked)], key=lambda post: post.post_id)
        known = {post.post_id for post in self._fitted}
        rows = np.array([row for row, post in enumerate(everybody) if post.post_id in known])
        truth = {post.post_id: scores_of(post, self.instrument) for post in everybody}
        scorer = self.fold(
            [interview_of(post) for post in everybody],
            rows,
            truth,
            self.instrument,
            self.settings,
            vectors=self.vectors,
        )
        return watch_scorer(scorer, [interview_of(post) for post in asked])


def interview_of(post: Post) -> Interview:
    """The interview of a participant."""
    if not isinstance(post.content, Interview):
        raise InputError("A post for the learned scorer holds an interview.")
    return post.content


def scores_of(post: Post, instrument: Instrument) -> dict[str, int]:
    """The item scores that labels stand for.

    >>> from evidentia.assessment import load_instrument
    >>> scores_of(Post("1", None, (True, True, False) + (False,) * 21), load_instrument("phq8"))["NoInterest"]
    2
    """
    labels, scores = iter(post.labels), {}
    for item in instrument.items:
        scores[item.id] = item.low + sum(next(labels) for _ in range(item.low, item.high))
    return scores


def participants_of(interviews: Sequence[Interview], truth: Truth, instrument: Instrument) -> list[Post]:
    """Participants as posts, with a label for every step of every item."""
    posts = []
    for interview in interviews:
        scores = truth[interview.participant_id]
        labels = (scores[item.id] > step for item in instrument.items for step in range(item.low, item.high))
        posts.append(Post(interview.participant_id, interview, tuple(labels)))
    return posts


def watch_scorer(scorer: LearnedScorer, interviews: Sequence[Interview]) -> Watched:
    """What was learnt as hashes, then what the model reads, answers and believes, for every participant and step."""
    model = scorer.model
    steps = [item.high - item.low for item in model.instrument.items]
    shape = (len(interviews), sum(steps))
    columns = {f"{LEARNT}{name}": np.full(shape, digest(part)) for name, part in learnt_parts(model).items()}
    stated = item_features(interviews, model.instrument)[:, :, : len(STATEMENT_FEATURES)]
    for place, name in enumerate(STATEMENT_FEATURES):
        columns[f"stated {name}"] = np.repeat(stated[:, :, place], steps, axis=1)
    llm = None if scorer.llm is None else np.array([scorer.llm[own.participant_id] for own in interviews], float)
    if llm is not None:
        columns["LLM's expectation"] = np.repeat(llm, steps, axis=1)
    above = [1 - np.cumsum(distribution, axis=1)[:, :-1] for distribution in model.probabilities(interviews, llm)]
    columns["answer"] = np.repeat(answered_scores(scorer, interviews), steps, axis=1)
    columns["P(above)"] = np.hstack(above)
    stacked = np.column_stack([values.ravel() for values in columns.values()])
    return Watched(Features(tuple(columns), stacked), columns["P(above)"], tuple(columns))


def answered_scores(scorer: LearnedScorer, interviews: Sequence[Interview]) -> Floats:
    """The score of every participant and item; NaN where the scorer abstains."""
    answers = [scorer.assess(interview).values() for interview in interviews]
    return np.array([[np.nan if own.score is None else own.score for own in row] for row in answers], float)


def learnt_parts(model: LearnedModel) -> dict[str, Parts]:
    """Everything in a model that was learnt, in the order in which it was."""
    parts = {}
    for view in model.views:
        parts[f"{view.name} vocabulary"] = Parts({"terms": list(view.terms)}, {"idf": view.idf})
    for view in model.views:
        parts[f"{view.name} weights"] = Parts({}, {"weights": view.weights, "intercept": view.intercept})
    cuts = {f"cuts {place}": own.cuts for place, own in enumerate(model.ordinal)}
    weights = {f"weights {place}": own.weights for place, own in enumerate(model.ordinal)}
    parts["regressions"] = Parts({}, {"center": model.center, "scale": model.scale, **cuts, **weights})
    parts["loss to abstain from"] = Parts({}, {"loss": np.array(model.most_loss)})
    return parts


def label_free(names: Sequence[str]) -> tuple[str, ...]:
    """What no label may move: vocabularies, and what is stated."""
    return tuple(name for name in names if name.endswith(" vocabulary") or name.startswith("stated "))


def words_are_unseen(pipeline: LearnedPipeline, train: Sequence[Post], evaluation: Sequence[Post]) -> Finding:
    """CANARY005: what is learnt is the same bytes when every EVAL participant says further words."""
    spoken = [replace(post, content=_with_planted(interview_of(post))) for post in evaluation]
    before, after = (_learnt(pipeline, train, posts) for posts in (evaluation, spoken))
    moved = [name.removeprefix(LEARNT) for name in before if before[name] != after[name]]
    if moved:
        return Finding(*WORDS, "failed", f"these move: {', '.join(moved)}", len(before))
    return Finding(*WORDS, "passed", f"{len(before)} learnt parts compared", len(before))


def _with_planted(interview: Interview) -> Interview:
    return replace(interview, turns=(*interview.turns, PLANTED))


def _learnt(pipeline: LearnedPipeline, train: Sequence[Post], posts: Sequence[Post]) -> dict[str, float]:
    pipeline.fit(train, labels_of(train))
    features = pipeline.features(posts)
    pairs = zip(features.names, features.values[0].tolist(), strict=True)
    return {name: value for name, value in pairs if name.startswith(LEARNT)}


def leakcheck_learned(
    interviews: Sequence[Interview],
    truth: Truth,
    instrument: Instrument,
    settings: LearnedSettings | None = None,
    *,
    participants: int = PARTICIPANTS,
    fold: Callable[..., LearnedScorer] = fold_scorer,
    progress: Progress | None = None,
) -> Leakcheck:
    """Learn one fold of `assess fit` under labels and words that change, and say what moved that must not.

    The seed of the settings draws the participants, a third of whom is held out.
    """
    settings = settings or LearnedSettings()
    some = _drawn(participants_of(interviews, truth, instrument), participants, settings.seed)
    rows, held = next(folds_of(len(some), PARTS, settings.seed))
    train, evaluation = [some[row] for row in rows], [some[row] for row in held]
    folds = count(1)
    on_fold = None if progress is None else lambda: progress(next(folds), FOLDS_RUN)
    pipeline = LearnedPipeline(instrument, settings, shared_vectors(settings), fold, on_fold=on_fold)
    words = words_are_unseen(pipeline, train, evaluation)
    rng = np.random.default_rng([settings.seed, PARTS])
    findings = canaries(pipeline, train, evaluation, rng=rng, label_free=label_free(pipeline.reported))
    return Leakcheck(len(some), len(held), settings.seed, ("learned",), (*findings, words))


def _drawn(posts: Sequence[Post], number: int, seed: int) -> Sequence[Post]:
    fewest = FEWEST * PARTS // (PARTS - 1)
    if min(len(posts), number) < fewest:
        raise InputError(f"{min(len(posts), number)} labelled participants; the canaries need {fewest} or more.")
    if len(posts) <= number:
        return posts
    chosen = np.sort(np.random.default_rng(seed).choice(len(posts), number, replace=False))
    return [posts[place] for place in chosen]
