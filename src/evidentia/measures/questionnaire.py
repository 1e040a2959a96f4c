"""Questionnaires: error and agreement by item, and totals that are intervals where items are abstained."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Floats
from evidentia.measures.core import Outcome, Tallied
from evidentia.measures.family import Family
from evidentia.measures.selective import LOSS_CHOICES, NOTHING, PREDICTED, RAW
from evidentia.results.measure import Args, Parameter, Population
from evidentia.tables.answers import Answers

BY_ITEM = Parameter("avg", ("item",), None)
BOUND = Parameter("bound", ("low", "high"), None)
ALIKE = "every answer and every true score are the same: chance alone would agree"
INCOMPLETE = "no participant has every item answered"
COHEN = "Cohen, Weighted kappa, Psychological Bulletin 70 (1968)"
MANSKI = "Manski, Partial identification of probability distributions (2003)"
BOUND_CHOICES = {
    "bound=low": "undecided participants count against the system",
    "bound=high": "undecided participants count for the system",
}
COMPLETE = Population(
    "participants with every item answered",
    "participants with an abstained item",
    lambda queries, args: None,
    unit="participant",
)
EVERYBODY = Population("all participants", "", lambda queries, args: None, unit="participant")
ABOVE = Population(
    "participants whose true total reaches the cut-off",
    "participants whose true total is below it",
    lambda queries, args: None,
    unit="participant",
)
BELOW = Population(
    "participants whose true total is below the cut-off",
    "participants whose true total reaches it",
    lambda queries, args: None,
    unit="participant",
)

family = Family(
    "questionnaire",
    population=PREDICTED,
    requires=("items", "questionnaire"),
    direction="lower",
    bounds=(0.0, None),
    groups=frozenset(),
    reasons=(NOTHING,),
    convention="null",
)


def _losses(answers: Answers, args: Args) -> Floats:
    """The loss of every answer as a whole number, 0 where abstained."""
    error = np.where(answers.held, answers.pred - answers.gt, 0.0)
    if args["loss"] == "zero_one":
        return np.where(error == 0, 0.0, 1.0)
    return np.square(error) if args["loss"] == "squared" else np.abs(error)


def _divided(top: Floats, bottom: Floats) -> Outcome:
    """Divide; nothing to divide by is no value, marked."""
    empty = bottom == 0
    values = np.divide(top, bottom, out=np.full(np.shape(bottom), np.nan), where=~empty)
    return Outcome(values, empty.astype(np.int8))


def _loss_columns(answers: Answers, args: Args) -> Floats:
    return np.concatenate([_losses(answers, args), answers.held], axis=1)


def _halves(sums: Floats) -> tuple[Floats, Floats]:
    half = sums.shape[-1] // 2
    return sums[..., :half], sums[..., half:]


def _mean_over_items(sums: Floats, answers: Answers, args: Args) -> Outcome:
    lost, answered = _halves(sums)
    scale = float(answers.high[0] - answers.low[0]) if args["loss"] == "abs_norm" else 1.0
    means = np.divide(lost, answered, out=np.zeros(np.shape(lost)), where=answered > 0)
    return _divided(means.sum(axis=-1) / scale, np.count_nonzero(answered, axis=-1).astype(np.float64))


def _items_answered(sums: Floats, answers: Answers, args: Args) -> dict[str, object]:
    return {"items": int(np.count_nonzero(_halves(sums)[1]))}


family.add(
    "MAE",
    Tallied(_loss_columns, _mean_over_items, lambda sums, args: _halves(sums)[1].sum(axis=-1), details=_items_answered),
    params=(BY_ITEM, RAW),
    label="Mean loss, averaged over items",
    formula="mean over the items with an answer of (mean loss of the item's answers)",
    meaning="Every item weighs the same, also one that rests on few answers: look at their numbers.",
    reference="Baccianella, Esuli, Sebastiani, Evaluation measures for ordinal regression, ISDA (2009)",
    choices={"avg=item": "items weigh alike", **LOSS_CHOICES},
)


def _moments(answers: Answers, args: Args) -> Floats:
    """Per participant: answers, sums and squares of predicted and true scores, and their squared differences."""
    held = answers.held
    pred = np.where(held, answers.pred - answers.low, 0.0)
    gt = np.where(held, answers.gt - answers.low, 0.0)
    parts = (held, pred, gt, np.square(pred), np.square(gt), np.square(pred - gt))
    return np.stack([part.sum(axis=1) for part in parts], axis=1).astype(np.float64)


def _kappa(sums: Floats, answers: Answers, args: Args) -> Outcome:
    """With quadratic weights, n squared times the mean weight under chance needs the moments of both sides only."""
    n, pred, gt, pred_squares, gt_squares, gaps = (sums[..., at] for at in range(6))
    chance = n * (pred_squares + gt_squares) - 2 * pred * gt
    weights = np.divide(n * gaps, chance, out=np.full(np.shape(n), np.nan), where=chance > 0)
    return Outcome(1.0 - weights, np.where(n == 0, 1, np.where(chance > 0, 0, 2)).astype(np.int8))


def _confusion(sums: Floats, answers: Answers, args: Args) -> dict[str, object]:
    """For one item: how often each true score (rows) was answered by each score; the last column is abstained."""
    if len(answers.items) > 1:
        return {}
    low, high = answers.items[0].low, answers.items[0].high
    size = high - low + 1
    pred = np.where(answers.held, answers.pred - low, size).astype(np.int64)
    cells = (answers.gt - low).astype(np.int64) * (size + 1) + pred
    return {"confusion": np.bincount(cells.ravel(), minlength=size * (size + 1)).reshape(size, -1).tolist()}


family.add(
    "WeightedKappa",
    Tallied(_moments, _kappa, lambda sums, args: sums[..., 0], details=_confusion),
    direction="higher",
    bounds=(-1.0, 1.0),
    groups=frozenset({"item"}),
    reasons=(NOTHING, ALIKE),
    label="Weighted kappa",
    formula="1 - sum(w O) / sum(w E), w the squared difference of scores over the squared width of the range",
    meaning="Agreement of answers with true scores beyond chance, far misses weighing more; 0 is chance, 1 perfect.",
    reference=COHEN,
    conventions={"scikit-learn": "cohen_kappa_score(weights='quadratic')"},
)


def total_limits(answers: Answers) -> tuple[Floats, Floats]:
    """The lowest and the highest total that is possible with the answers of every participant."""
    scores = answers.forward(answers.pred)
    low = np.where(answers.held, scores, answers.low).sum(axis=1)
    high = np.where(answers.held, scores, answers.high).sum(axis=1)
    return low, high


def true_totals(answers: Answers) -> Floats:
    """The true total of every participant."""
    total: Floats = answers.forward(answers.gt).sum(axis=1)
    return total


def _total_errors(answers: Answers, args: Args) -> Floats:
    whole = answers.held.all(axis=1)
    error = np.abs(total_limits(answers)[0] - true_totals(answers))
    return np.stack([np.where(whole, error, 0.0), whole.astype(np.float64)], axis=1)


def _first_over_last(sums: Floats, answers: Answers, args: Args) -> Outcome:
    return _divided(sums[..., 0], sums[..., -1])


def _last(sums: Floats, args: Args) -> Floats:
    return sums[..., -1]


family.add(
    "TotalMAE",
    Tallied(_total_errors, _first_over_last, _last),
    population=COMPLETE,
    reasons=(INCOMPLETE,),
    label="Mean absolute error of the total",
    formula="mean of |predicted total - true total|; a reversed item enters as min + max - score",
    meaning="In points of the total, over those of whom nothing is abstained: never read it without their number.",
    reference="Kroenke et al., The PHQ-8 as a measure of current depression in the general population, J Affect Disord 114 (2009)",
)


def _sides(answers: Answers, args: Args) -> Floats:
    """Certainly at or above the cut-off, certainly below it, and everybody."""
    low, high = total_limits(answers)
    cut = args.level
    return np.stack([low >= cut, high < cut, np.ones(len(low), np.bool_)], axis=1).astype(np.float64)


def _decided(sums: Floats, answers: Answers, args: Args) -> Outcome:
    return _divided(sums[..., 0] + sums[..., 1], sums[..., 2])


def _counts(sums: Floats, answers: Answers, args: Args) -> dict[str, object]:
    above, below, everybody = (int(value) for value in sums)
    return {"cut": int(args.level), "above": above, "below": below, "undecided": everybody - above - below}


def _cut(sums: Floats, answers: Answers, args: Args) -> dict[str, object]:
    return {"cut": int(args.level)}


shares = family.with_common(
    direction="higher", bounds=(0.0, 1.0), reference=MANSKI, choices=BOUND_CHOICES, params=(BOUND,), cut="cut"
)
shares.add(
    "TotalDecided",
    Tallied(_sides, _decided, _last, details=_counts, proportion=True),
    population=EVERYBODY,
    params=(),
    choices={},
    reasons=("there are no participants",),
    label="Decided at a cut-off of the total",
    formula="share of participants whose lowest possible total reaches the cut-off or whose highest lies below it",
    meaning="How many can be placed at the cut-off whatever the abstained items are; the others are undecided.",
)


def _hits(answers: Answers, args: Args) -> Floats:
    low, high = total_limits(answers)
    positive = true_totals(answers) >= args.level
    chosen = low if args["bound"] == "low" else high
    return np.stack([positive & (chosen >= args.level), positive], axis=1).astype(np.float64)


def _rejections(answers: Answers, args: Args) -> Floats:
    low, high = total_limits(answers)
    negative = true_totals(answers) < args.level
    chosen = high if args["bound"] == "low" else low
    return np.stack([negative & (chosen < args.level), negative], axis=1).astype(np.float64)


shares.add(
    "TotalSensitivity",
    Tallied(_hits, _first_over_last, _last, details=_cut, proportion=True),
    population=ABOVE,
    reasons=("no participant's true total reaches the cut-off",),
    label="Sensitivity at a cut-off of the total, as a bound",
    formula="share of those at or above the cut-off whose total certainly (low) or possibly (high) is",
    meaning="Between the two bounds lies the sensitivity, whatever the abstained items are.",
)
shares.add(
    "TotalSpecificity",
    Tallied(_rejections, _first_over_last, _last, details=_cut, proportion=True),
    population=BELOW,
    reasons=("no participant's true total is below the cut-off",),
    label="Specificity at a cut-off of the total, as a bound",
    formula="share of those below the cut-off whose total certainly (low) or possibly (high) is",
    meaning="Between the two bounds lies the specificity, whatever the abstained items are.",
)
