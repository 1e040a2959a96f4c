"""The scorer that is learnt from labelled participants: words, characters and statements, all items together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.assessment.answers import ItemAnswer, Quote, Signal
from evidentia.assessment.features import item_features, participant_text
from evidentia.assessment.instrument import Instrument
from evidentia.assessment.interviews import Interview
from evidentia.assessment.ordinal import OrdinalModel, expected_loss, fit_ordinal, median_scores
from evidentia.assessment.similarity import minilm
from evidentia.assessment.statements import StatementFinder, sentences
from evidentia.errors import InputError

FEWEST = 50  # participants to learn from
INNER_FOLDS = 5
ALPHAS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
RIDGE = 30.0  # of the ordinal regression, on standardised features
TERM_PARTICIPANTS = 3  # a term that fewer people used could name one of them
Truth = Mapping[str, Mapping[str, int]]
Vectors = Callable[[Sequence[str]], Floats]


@dataclass(frozen=True)
class LearnedSettings:
    """``coverage`` is the share of items to answer, by expected loss; ``vectors`` adds MiniLM (the neural extra)."""

    coverage: float = 0.8
    seed: int = 7
    vectors: bool = False
    term_participants: int = TERM_PARTICIPANTS

    def __post_init__(self) -> None:
        if not 0 < self.coverage <= 1:
            raise InputError("The coverage to aim at must lie above 0 and not above 1.")


@dataclass(frozen=True, eq=False)
class TextView:
    """One way to read a text as numbers, with a ridge regression of every item on it."""

    name: str
    terms: tuple[str, ...]
    idf: Floats
    weights: Floats  # items x terms
    intercept: Floats

    def predictions(self, texts: Sequence[str], vectors: Vectors | None) -> Floats:
        """Every item's prediction (texts x items)."""
        return np.asarray(self.matrix(texts, vectors) @ self.weights.T) + self.intercept

    def matrix(self, texts: Sequence[str], vectors: Vectors | None) -> Any:
        """The texts as numbers (texts x terms)."""
        if self.name != "vectors":
            return self._vectorizer.transform(texts)
        if vectors is None:
            raise InputError("This model reads MiniLM vectors: install the neural extra.")
        return vectors(texts)

    @cached_property
    def _vectorizer(self) -> Any:
        vectorizer = _vectorizer(self.name, vocabulary={term: place for place, term in enumerate(self.terms)})
        vectorizer.idf_ = self.idf
        return vectorizer


@dataclass(frozen=True, eq=False)
class LearnedModel:
    """Everything that `fit` learnt: views, one ordinal regression per item, and the expected loss from which to abstain."""

    instrument: Instrument
    settings: LearnedSettings
    views: tuple[TextView, ...]
    center: Floats  # items x features
    scale: Floats
    ordinal: tuple[OrdinalModel, ...]
    most_loss: float
    participants: int
    with_llm: bool = False
    vectors: Vectors | None = field(default=None, repr=False)

    def probabilities(self, interviews: Sequence[Interview], llm: Floats | None = None) -> list[Floats]:
        """P(score) of every item (participants x scores)."""
        texts = [participant_text(interview) for interview in interviews]
        views = np.stack([view.predictions(texts, self.vectors) for view in self.views])
        stated = item_features(interviews, self.instrument)
        return [
            model.probabilities((_features(views, stated, llm, item) - self.center[item]) / self.scale[item])
            for item, model in enumerate(self.ordinal)
        ]


class LearnedScorer:
    """Predicts the median of P(score) and abstains where the expected loss is too large."""

    def __init__(self, model: LearnedModel, llm: Mapping[str, Sequence[float]] | None = None) -> None:
        if model.with_llm and llm is None:
            raise InputError("This model reads an LLM's expectation as a feature: give the LLM's run with --llm-run.")
        self.model, self.llm = model, llm
        self.finder = StatementFinder(model.instrument)

    def provenance(self) -> Mapping[str, Any]:
        """Settings and size of what it was learnt from."""
        settings = self.model.settings
        return {
            "scorer": "learned/1",
            "trained_on": self.model.participants,
            "coverage": settings.coverage,
            "seed": settings.seed,
            "vectors": settings.vectors,
        }

    def assess(self, interview: Interview) -> Mapping[str, ItemAnswer]:
        """An answer for every item; one without evidence has no evidence source."""
        llm = None if self.llm is None else np.asarray([self.llm[interview.participant_id]], float)
        distributions = [row[0] for row in self.model.probabilities([interview], llm)]
        statements = self.finder.statements(interview)
        answers = {}
        for item, probabilities in zip(self.model.instrument.items, distributions, strict=True):
            quotes = [Quote.of(interview, s.turn, s.start, s.end, "keyword") for s in statements[item.id] if s.counts]
            answers[item.id] = self._answer(item.low, probabilities, tuple(quotes))
        return answers

    def _answer(self, low: int, probabilities: Floats, quotes: tuple[Quote, ...]) -> ItemAnswer:
        score = int(median_scores(probabilities[None])[0])
        loss = float(expected_loss(probabilities[None], np.array([score]))[0])
        entropy = float(-(probabilities * np.log(np.maximum(probabilities, 1e-300))).sum())
        signals: dict[str, Signal] = {
            "expected_loss_confidence": -loss,
            "learned_probability": float(probabilities[score]),
            "learned_entropy_confidence": -entropy,
            "expectation": float(probabilities @ np.arange(len(probabilities))) + low,
        }
        if loss > self.model.most_loss:
            return ItemAnswer(None, quotes, signals, "the expected loss is too large")
        return ItemAnswer(score + low, quotes, signals, "learned")


def fit_learned(
    interviews: Sequence[Interview],
    truth: Truth,
    instrument: Instrument,
    settings: LearnedSettings | None = None,
    *,
    llm: Mapping[str, Sequence[float]] | None = None,
    vectors: Vectors | None = None,
) -> LearnedModel:
    """Learn from labelled participants; nothing of anybody else is looked at."""
    _refuse_few(interviews, instrument)
    return _fit(interviews, truth, instrument, settings or LearnedSettings(), llm=llm, vectors=vectors)


def _fit(
    interviews: Sequence[Interview],
    truth: Truth,
    instrument: Instrument,
    settings: LearnedSettings,
    *,
    llm: Mapping[str, Sequence[float]] | None,
    vectors: Vectors | None,
) -> LearnedModel:
    if settings.vectors and vectors is None:
        vectors = minilm_vectors()
    texts = [participant_text(interview) for interview in interviews]
    scores = np.array([[truth[i.participant_id][item] for item in instrument.item_ids] for i in interviews])
    fitted = [_fit_view(name, texts, scores, settings, vectors) for name in _view_names(settings)]
    views, crossed = tuple(view for view, _ in fitted), np.stack([predictions for _, predictions in fitted])
    stated = item_features(interviews, instrument)
    expectation = None if llm is None else np.array([llm[i.participant_id] for i in interviews], float)
    center, scale, models, losses = [], [], [], []
    for place, item in enumerate(instrument.items):
        features = _features(crossed, stated, expectation, place)
        center.append(features.mean(axis=0))
        scale.append(np.where(features.std(axis=0) > 1e-9, features.std(axis=0), 1.0))
        standard = (features - center[-1]) / scale[-1]
        counted, count = scores[:, place] - item.low, item.high - item.low + 1
        models.append(fit_ordinal(standard, counted, count, RIDGE))
        losses.append(_crossed_losses(standard, counted, count, settings.seed))
    most = float(np.quantile(np.concatenate(losses), settings.coverage)) if settings.coverage < 1 else np.inf
    return LearnedModel(
        instrument=instrument,
        settings=settings,
        views=views,
        center=np.array(center),
        scale=np.array(scale),
        ordinal=tuple(models),
        most_loss=most,
        participants=len(interviews),
        with_llm=llm is not None,
        vectors=vectors,
    )


def _refuse_few(interviews: Sequence[Interview], instrument: Instrument) -> None:
    if len(interviews) < FEWEST:
        raise InputError(
            f"{len(interviews)} labelled participants; the learned scorer needs {FEWEST} or more. Use rules or llm for "
            f"{instrument.name} until then."
        )


def _view_names(settings: LearnedSettings) -> tuple[str, ...]:
    return ("words", "characters", "vectors") if settings.vectors else ("words", "characters")


def _features(views: Floats, stated: Floats, llm: Floats | None, item: int) -> Floats:
    """What the ordinal regression of an item reads: every item's prediction, the views of its own apart, and its statements."""
    together = views.mean(axis=0)
    apart = views[1:, :, item].T - views[0, :, item][:, None]
    parts = [together, apart, stated[:, item]]
    if llm is not None:
        parts.append(llm[:, item][:, None])
    return np.column_stack(parts)


def folds_of(count: int, folds: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """The rows to learn from and the rows held out, fold by fold."""
    order = np.random.default_rng(seed).permutation(count)
    for part in np.array_split(order, folds):
        held = np.sort(part)
        yield np.setdiff1d(np.arange(count), held), held


def _fit_view(
    name: str, texts: Sequence[str], scores: Ints, settings: LearnedSettings, vectors: Vectors | None
) -> tuple[TextView, Floats]:
    """A view fitted on everybody, and predictions of everybody by views fitted on the others."""
    empty = _terms(name, texts, settings)
    matrix = empty.matrix(texts, vectors)
    gram = _gram(matrix)
    crossed = np.zeros((len(ALPHAS), *scores.shape))
    for rows, held in folds_of(len(texts), INNER_FOLDS, settings.seed):
        dual = _DualRidge(gram[np.ix_(rows, rows)], scores[rows])
        for place, alpha in enumerate(ALPHAS):
            crossed[place, held] = dual.predictions(gram[np.ix_(held, rows)], alpha)
    best = int(np.argmin(np.square(crossed - scores).mean(axis=(1, 2))))
    weights = _DualRidge(gram, scores).dual(ALPHAS[best])
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    weights = np.asarray(matrix.T @ weights).T - np.outer(weights.sum(axis=0), mean)
    return TextView(name, empty.terms, empty.idf, weights, scores.mean(axis=0) - weights @ mean), crossed[best]


def _gram(matrix: Any) -> Floats:
    """The products of all pairs of rows."""
    product = matrix @ matrix.T
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


class _DualRidge:
    """Ridge regression of all items through the products of the rows, which are few; one decomposition for every penalty."""

    def __init__(self, gram: Floats, scores: Ints) -> None:
        self.row_means, self.mean = gram.mean(axis=0), gram.mean()
        self.center = scores.mean(axis=0)
        centered = gram - self.row_means[:, None] - self.row_means[None, :] + self.mean
        self.values, self.vectors = np.linalg.eigh(centered)
        self.onto = self.vectors.T @ (scores - self.center)

    def dual(self, alpha: float) -> Floats:
        """The weight of every row (rows x items)."""
        weights: Floats = self.vectors @ (self.onto / (np.maximum(self.values, 0.0) + alpha)[:, None])
        return weights

    def predictions(self, products: Floats, alpha: float) -> Floats:
        """What is predicted for new rows, given their products with the rows that were learnt from."""
        centered = products - products.mean(axis=1)[:, None] - self.row_means[None, :] + self.mean
        predictions: Floats = centered @ self.dual(alpha) + self.center
        return predictions


def _terms(name: str, texts: Sequence[str], settings: LearnedSettings) -> TextView:
    """The vocabulary of a view, without weights; terms of few participants are left out."""
    nothing = np.zeros((0, 0))
    if name == "vectors":
        return TextView(name, (), np.zeros(0), nothing, np.zeros(0))
    vectorizer = _vectorizer(name, min_df=settings.term_participants)
    try:
        vectorizer.fit(texts)
    except ValueError:
        raise InputError(
            f"No term occurs in {settings.term_participants} or more of {len(texts)} texts. Give more or longer texts."
        ) from None
    return TextView(name, tuple(vectorizer.get_feature_names_out()), vectorizer.idf_, nothing, np.zeros(0))


def _vectorizer(name: str, **options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    if name == "words":
        return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **options)
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, max_features=60_000, **options)


def minilm_vectors() -> Vectors:
    """MiniLM's vectors of texts, each the mean over its sentences and scaled so that ridge penalties compare."""
    encoder = minilm()

    def vectors(texts: Sequence[str]) -> Floats:
        cut = [sentences(text) or [text] for text in texts]
        flat = [sentence for part in cut for sentence in part]
        encoded = np.asarray(encoder.encode(flat, kind="passage"), np.float64)
        ends = np.cumsum([len(part) for part in cut])
        means = np.stack([encoded[end - len(part) : end].mean(axis=0) for part, end in zip(cut, ends, strict=True)])
        return np.asarray(means * 2.0)

    return vectors


def _crossed_losses(features: Floats, scores: Ints, count: int, seed: int) -> Floats:
    """The expected loss of everybody under a regression fitted on the others."""
    losses = np.zeros(len(scores))
    for rows, held in folds_of(len(scores), INNER_FOLDS, seed):
        probabilities = fit_ordinal(features[rows], scores[rows], count, RIDGE).probabilities(features[held])
        losses[held] = expected_loss(probabilities, median_scores(probabilities))
    return losses


def cross_validated(
    interviews: Sequence[Interview],
    truth: Truth,
    instrument: Instrument,
    settings: LearnedSettings | None = None,
    *,
    folds: int = 5,
    llm: Mapping[str, Sequence[float]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Mapping[str, ItemAnswer]]:
    """Answers for everybody by models that never saw them: everything is learnt anew in every fold."""
    _refuse_few(interviews, instrument)
    settings = settings or LearnedSettings()
    vectors = shared_vectors(settings)
    answers: dict[str, Mapping[str, ItemAnswer]] = {}
    for number, (rows, held) in enumerate(folds_of(len(interviews), folds, settings.seed), 1):
        scorer = fold_scorer(interviews, rows, truth, instrument, settings, llm=llm, vectors=vectors)
        answers |= {interviews[row].participant_id: scorer.assess(interviews[row]) for row in held}
        if progress is not None:
            progress(number, folds)
    return answers


def fold_scorer(
    interviews: Sequence[Interview],
    rows: Ints,
    truth: Truth,
    instrument: Instrument,
    settings: LearnedSettings,
    *,
    llm: Mapping[str, Sequence[float]] | None = None,
    vectors: Vectors | None = None,
) -> LearnedScorer:
    """The scorer of one fold, learnt from the interviews of its rows only; `leakcheck` tries that it is so."""
    learnt = [interviews[row] for row in rows]
    return LearnedScorer(_fit(learnt, truth, instrument, settings, llm=llm, vectors=vectors), llm)


def shared_vectors(settings: LearnedSettings) -> Vectors | None:
    """MiniLM, if it is wanted; vectors depend on the text alone, so that folds may share them."""
    if not settings.vectors:
        return None
    vectors, known = minilm_vectors(), dict[str, Floats]()

    def recall(texts: Sequence[str]) -> Floats:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, vectors(new), strict=True))
        return np.stack([known[text] for text in texts])

    return recall
