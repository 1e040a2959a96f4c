"""The learned scorer beside a plain baseline on texts with self-reported items, in the same folds.

The baseline is TF-IDF of words (1- and 2-grams, sublinear, at least 2 texts) with a ridge regression per item, clipped to the
item's range, and then the same conditional median as the learned scorer has: an ordinal regression on the ridge's cross-fitted
prediction. Every item is answered by both. The data are two published sets that you need to have, each a CSV with
participant_id, text and the items: texts on worry with nine items from 1 to 9 (Kleinberg and others 2020), and texts on
depression with a PHQ-9 total (`dep_wor_data` of the R package `topics`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import record
from evidentia.array_types import Floats, Ints
from evidentia.assessment.answers import ItemAnswer
from evidentia.assessment.features import participant_text
from evidentia.assessment.instrument import Instrument, Item, load_instrument
from evidentia.assessment.interviews import Interview, check_inputs
from evidentia.assessment.learned import (
    INNER_FOLDS,
    RIDGE,
    LearnedScorer,
    LearnedSettings,
    cross_validated,
    fit_learned,
    folds_of,
)
from evidentia.assessment.ordinal import expected_loss, fit_ordinal, median_scores
from evidentia.assessment.rules import RulesScorer
from evidentia.assessment.statements import mentions
from evidentia.assessment.synth import SyntheticInterviews, synthetic_interviews
from evidentia.evaluation.compare_items import compare_items
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.tables import Items, read_items
from measuring import show, versions

SEED, RESAMPLES = 7, 10_000
PACKAGES = ("evidentia", "numpy", "scipy", "scikit-learn")
COVERAGES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Answers:
    """Scores of every participant and item (participants x items), and confidences that rank them."""

    scores: Ints
    confidences: Mapping[str, Floats]

    def losses(self, truth: Ints) -> Floats:
        """The absolute error of every answer."""
        return np.abs(self.scores - truth).astype(float)


def ridge_predictions(texts: Sequence[str], scores: Ints, others: Sequence[str]) -> Floats:
    """The baseline's ridge: learnt from some texts, and applied to others."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    model = Ridge(alpha=1.0).fit(words.fit_transform(texts), scores)
    return np.asarray(model.predict(words.transform(others))).reshape(len(others), -1)


def baseline(interviews: Sequence[Interview], truth: Ints, instrument: Instrument, folds: int) -> Answers:
    """TF-IDF with ridge, clipped, then the conditional median of an ordinal regression on it."""
    texts = [participant_text(interview) for interview in interviews]
    scores = np.zeros_like(truth)
    loss, chance, plain = (np.zeros(truth.shape) for _ in range(3))
    for rows, held in folds_of(len(texts), folds, SEED):
        learnt = [texts[row] for row in rows]
        crossed = np.zeros((len(rows), truth.shape[1]))
        for inner, out in folds_of(len(rows), INNER_FOLDS, SEED):
            crossed[out] = ridge_predictions(
                [learnt[row] for row in inner], truth[rows][inner], [learnt[row] for row in out]
            )
        asked = ridge_predictions(learnt, truth[rows], [texts[row] for row in held])
        for place, item in enumerate(instrument.items):
            low, count = item.low, item.high - item.low + 1
            first, second = (np.clip(part[:, place], item.low, item.high)[:, None] for part in (crossed, asked))
            center, scale = first.mean(), first.std() or 1.0
            model = fit_ordinal((first - center) / scale, truth[rows, place] - low, count, RIDGE)
            probabilities = model.probabilities((second - center) / scale)
            medians = median_scores(probabilities)
            scores[held, place] = medians + low
            loss[held, place] = expected_loss(probabilities, medians)
            chance[held, place] = probabilities[np.arange(len(held)), medians]
            plain[held, place] = -np.abs(second[:, 0] - medians - low)
    return Answers(scores, {"expected loss": -loss, "probability": chance, "distance to the score": plain})


def learned(
    interviews: Sequence[Interview],
    truth: Mapping[str, Mapping[str, int]],
    instrument: Instrument,
    *,
    folds: int,
    vectors: bool,
    llm: Mapping[str, Sequence[float]] | None = None,
) -> Answers:
    """The learned scorer, out of fold, with every item answered; ``llm`` are expectations of a language model."""
    settings = LearnedSettings(coverage=1.0, seed=SEED, vectors=vectors)
    answers = cross_validated(interviews, truth, instrument, settings, folds=folds, llm=llm)
    rows = [[answers[i.participant_id][item] for item in instrument.item_ids] for i in interviews]
    scores = np.array([[answer.score for answer in row] for row in rows])
    names = {"expected loss": "expected_loss_confidence", "probability": "learned_probability"}
    confidences = {
        words: np.array([[float(answer.signals[name] or 0.0) for answer in row] for row in rows])
        for words, name in names.items()
    }
    return Answers(scores, confidences)


def paired(first: Floats, second: Floats) -> tuple[float, float, float]:
    """The mean difference of losses, averaged over items, with a bootstrap interval by participant."""
    difference = (second - first).mean(axis=1)
    rng = np.random.default_rng(SEED)
    draws = rng.integers(len(difference), size=(RESAMPLES, len(difference)))
    low, high = np.percentile(difference[draws].mean(axis=1), [2.5, 97.5])
    return float(difference.mean()), float(low), float(high)


def areas(answers: Answers, confidence: str, truth: Ints, instrument: Instrument) -> dict[str, float]:
    """AURC, AUGRC and mean losses at coverages, by our own evaluation."""
    people, items = truth.shape
    frame = pl.DataFrame(
        {
            "cluster_id": np.repeat(np.arange(people), items),
            "item": list(instrument.item_ids) * people,
            "pred": answers.scores.ravel(),
            "gt": truth.ravel(),
            "confidence": answers.confidences[confidence].ravel(),
        }
    )
    largest = max(item.high - item.low for item in instrument.items)
    names = ["AURC", "AUGRC", *(f"MAE@coverage={coverage}" for coverage in COVERAGES)]
    result = evaluate_items(read_items(frame, item_max=largest), measures=names, resampling=Resampling(0))
    return {name: result[name].value for name in names}


def rows_of(name: str, answers: Answers, truth: Ints, instrument: Instrument) -> list[tuple[str, ...]]:
    """One row for every confidence of a system, and one for its answers in random order."""
    losses = answers.losses(truth)
    correlation = np.mean([np.corrcoef(answers.scores[:, i], truth[:, i])[0, 1] for i in range(truth.shape[1])])
    shuffled = np.random.default_rng(SEED).random(truth.shape)
    everything = Answers(answers.scores, {**answers.confidences, "random order": shuffled})
    rows = []
    for confidence in everything.confidences:
        values = areas(everything, confidence, truth, instrument)
        numbers = [f"{value:.4f}" for value in (losses.mean(), correlation, *values.values())]
        rows.append((name, confidence, *numbers))
    return rows


@dataclass(frozen=True)
class Corpus:
    """A table of texts with self-reports; ``like`` is the PHQ-8 item whose words its items have."""

    title: str
    items: tuple[str, ...]
    low: int
    high: int
    folds: int
    like: str | None = None

    def instrument(self) -> Instrument:
        """Its items as a questionnaire."""
        known = {item.id: item for item in load_instrument("phq8").items}
        words = known[self.like] if self.like else None
        keywords, abilities = (words.keywords, words.abilities) if words else ((), ())
        items = tuple(
            Item(name, name, self.low, self.high, keywords=keywords, abilities=abilities) for name in self.items
        )
        return Instrument("texts", self.title, items)


CORPORA = {
    "worry": Corpus(
        "Texts on worry, nine items from 1 to 9",
        ("worry", "anger", "disgust", "fear", "anxiety", "sadness", "happiness", "relaxation", "desire"),
        *(1, 9, 5),
    ),
    "depression": Corpus("Texts on depression, PHQ-9 total", ("phq9_total",), 0, 27, 10, "Depressed"),
}


def measure(path: Path, corpus: Corpus, *, vectors: bool) -> None:
    """Both systems on one table of texts."""
    instrument = corpus.instrument()
    interviews, scores = check_inputs(path, instrument, path)
    assert scores is not None
    truth = np.array([[scores[i.participant_id][item] for item in instrument.item_ids] for i in interviews])
    started = time.monotonic()
    ours = learned(interviews, scores, instrument, folds=corpus.folds, vectors=vectors)
    seconds = time.monotonic() - started
    plain = baseline(interviews, truth, instrument, corpus.folds)
    difference, low, high = paired(plain.losses(truth), ours.losses(truth))
    constant = np.abs(truth - np.median(truth, axis=0)).mean()
    name = "learned, MiniLM" if vectors else "learned"
    rows = rows_of(name, ours, truth, instrument) + rows_of("TF-IDF + ridge", plain, truth, instrument)
    show(
        corpus.title,
        ("system", "ranked by", "MAE", "r", "AURC", "AUGRC", *(f"MAE@{c}" for c in COVERAGES)),
        rows,
        f"{len(interviews):,} participants, {corpus.folds} folds, every item answered; constant median: MAE {constant:.4f}",
        f"{name} minus baseline in MAE, by participant: {difference:+.4f} [{low:+.4f}, {high:+.4f}]",
        f"the learned scorer took {seconds:.0f} s for all folds",
    )


def synthetic(participants: int = 200) -> None:
    """Rules and the learned scorer on invented interviews of one bank of phrases, learnt from the other bank, beside plain ways."""
    instrument = load_instrument("phq8")
    train, new = (synthetic_interviews(participants, seed=SEED, bank=bank) for bank in ("a", "b"))
    model = fit_learned(train.interviews, train.truth, instrument, LearnedSettings(seed=SEED))
    scorers = {"learned": LearnedScorer(model), "rules": RulesScorer(instrument)}
    answers = {name: [scorer.assess(interview) for interview in new.interviews] for name, scorer in scorers.items()}
    known, asked = (_score_table(part, instrument) for part in (train, new))
    signals = {"learned": "expected_loss_confidence", "rules": "rules_confidence"}
    systems = {name: _answer_table(answers[name], signals[name], instrument) for name in scorers}
    medians = np.tile(np.median(known, axis=0), (participants, 1))
    spread = np.tile(-np.abs(known - np.median(known, axis=0)).mean(axis=0), (participants, 1))
    counts = [_keyword_counts(part.interviews, instrument) for part in (train, new)]
    plain = {
        "constant median": (medians, spread),
        "keyword count": (_by_count(*counts, known), counts[1]),
        "TF-IDF + ridge, split by item means": _split_total(train, new, known),
        "constant, learned abstention": (
            np.where(np.isnan(systems["learned"][0]), np.nan, medians),
            systems["learned"][1],
        ),
    }
    rows = []
    for name, system in systems.items():
        for other, baseline_answers in plain.items():
            pair = [_items_of(*side, asked, instrument) for side in (baseline_answers, system)]
            deltas = compare_items(*pair, names=(other, name), resampling=Resampling(RESAMPLES, SEED)).deltas
            delta = next(d for d in deltas if d.name == "AURC@C=common")
            limits = "" if delta.ci is None else f"{delta.ci[0]:+.4f} to {delta.ci[1]:+.4f}"
            numbers = [f"{delta.baseline_value:.4f}", f"{delta.system_value:.4f}", f"{delta.delta:+.4f}", limits]
            rows.append((name, other, *numbers, delta.verdict))
    show(
        "Invented interviews: learnt from one bank of phrases, judged on the other",
        ("system", "baseline", "AURC@C=common, baseline", "system", "difference", "interval", "verdict"),
        rows,
        f"{participants} participants each; phrases and rules have the same authors: this says nothing about real speech",
    )


def _score_table(drawn: SyntheticInterviews, instrument: Instrument) -> Floats:
    return np.array(
        [[drawn.truth[i.participant_id][item] for item in instrument.item_ids] for i in drawn.interviews], float
    )


def _answer_table(
    answers: Sequence[Mapping[str, ItemAnswer]], signal: str, instrument: Instrument
) -> tuple[Floats, Floats]:
    """Scores (NaN where abstained) and confidences of a scorer."""
    rows = [[answer[item] for item in instrument.item_ids] for answer in answers]
    scores = [[np.nan if answer.score is None else answer.score for answer in row] for row in rows]
    return np.array(scores, float), np.array([[float(answer.signals[signal] or 0.0) for answer in row] for row in rows])


def _keyword_counts(interviews: Sequence[Interview], instrument: Instrument) -> Floats:
    """How many turns have words of each item."""

    def count(interview: Interview, item: Item) -> float:
        return float(sum(mentions(item, turn.text) for _, turn in interview.answers))

    return np.array([[count(interview, item) for item in instrument.items] for interview in interviews])


def _by_count(learnt: Floats, asked: Floats, scores: Floats) -> Floats:
    """The median score of those who have as many keywords (three stands for more), item by item."""
    answers = np.zeros(asked.shape)
    for item in range(asked.shape[1]):
        for count in range(4):
            group = scores[np.minimum(learnt[:, item], 3) == count, item]
            answers[np.minimum(asked[:, item], 3) == count, item] = np.floor(np.median(group)) if len(group) else 0
    return answers


def _split_total(train: SyntheticInterviews, new: SyntheticInterviews, known: Floats) -> tuple[Floats, Floats]:
    """A regression of the total, shared out by the items' means."""
    texts = [[participant_text(interview) for interview in part.interviews] for part in (train, new)]
    total = ridge_predictions(texts[0], known.sum(axis=1, keepdims=True), texts[1])[:, :1]
    scores = np.clip(np.rint(total * known.mean(axis=0) / known.sum(axis=1).mean()), 0, 3)
    return scores, -np.abs(total - known.sum(axis=1).mean()) * np.ones(scores.shape)


def _items_of(scores: Floats, confidence: Floats, truth: Floats, instrument: Instrument) -> Items:
    people, items = truth.shape
    frame = {
        "cluster_id": np.repeat(np.arange(people), items),
        "item": list(instrument.item_ids) * people,
        "pred": pl.Series(scores.ravel(), nan_to_null=True),
        "gt": truth.ravel(),
        "confidence": confidence.ravel(),
    }
    return read_items(pl.DataFrame(frame), item_max=3)


def main() -> None:
    """Measure on the tables that are given, print, and write where that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in CORPORA:
        parser.add_argument(f"--{name}", type=Path, metavar="CSV")
    parser.add_argument("--vectors", action="store_true", help="also with MiniLM (needs the neural extra)")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    options = parser.parse_args()
    synthetic()
    for name, corpus in CORPORA.items():
        for vectors in (False, True) if options.vectors else (False,):
            if (path := getattr(options, name)) is not None:
                measure(path, corpus, vectors=vectors)
    if options.write:
        command = " ".join(f"--{name} CSV" for name in CORPORA)
        extra = " --vectors" if options.vectors else ""
        record.write("assessment", versions(*PACKAGES), how=f"python benchmarks/assessment.py {command}{extra} --write")


if __name__ == "__main__":
    main()
