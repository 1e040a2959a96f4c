"""Per-post multi-label figures: is the whole list of criteria of a post right? The yes/no of each is the gate's."""

from __future__ import annotations

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.measures.confusion import CONFUSION, F1_PARTS, f1_fraction, f1_score
from evidentia.measures.core import Kind, Macro, Statistic, ratio_of_sums
from evidentia.measures.family import Family
from evidentia.measures.populations import ALL, POSTS
from evidentia.results.measure import Args, Parameter
from evidentia.stats.exact import add_up
from evidentia.tables.queries import Queries

AVG = Parameter("avg", ("micro", "post", "criterion", "post_weighted", "label_weighted"), None)
EMPTY = Parameter("empty", ("0", "1"), "0")
AT = Parameter("t", ("gate",), "gate")
family = Family(
    "multi-label",
    population=POSTS,
    requires=("gate", "complete"),
    bounds=(0.0, 1.0),
    reasons=("no posts",),
    reference="Tsoumakas and Katakis, Multi-label classification: an overview, IJDWM 3 (2007)",
    groups=frozenset({"fold", "slice"}),
)


def _gate(queries: Queries) -> Bools:
    assert queries.gate is not None
    return queries.gate


def _per_post(queries: Queries, *masks: Bools) -> list[Floats]:
    """Count each mask within every post that occurs."""
    _, at = np.unique(queries.post, return_inverse=True)
    posts = int(at.max(initial=-1)) + 1
    return [add_up(at, mask, posts) for mask in masks]


def _agreement(queries: Queries, args: Args) -> Floats:
    """Per post: all right; share right; one."""
    right = _gate(queries) == queries.label
    hits, size = _per_post(queries, right, np.ones(len(right), bool))
    return np.column_stack([hits == size, hits / size, np.ones(len(size))])


AGREEMENT = Statistic("agreement", _agreement, unit="post", bound=1.0)


@family.ratio(
    "ExactMatch",
    AGREEMENT,
    parts=("posts with every criterion right", "posts"),
    proportion=True,
    direction="higher",
    label="Exact match rate (subset accuracy)",
    formula="posts with every criterion right / posts",
    meaning="The share of posts whose whole list of criteria is right.",
    conventions={"scikit-learn": "accuracy_score on label matrices: the same"},
)
def _exact(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., 0], sums[..., 2]


@family.ratio(
    "HammingScore",
    AGREEMENT,
    parts=("sum of the per-post shares of right criteria", "posts"),
    direction="higher",
    label="Hamming score",
    formula="mean over posts of (criteria right / criteria)",
    meaning="The share of single criteria that is right; high by itself when most criteria are absent.",
    conventions={"some papers": "call it subset accuracy, which is the exact match rate; or use the Jaccard overlap"},
)
def _hamming_score(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., 1], sums[..., 2]


@family.ratio(
    "HammingLoss",
    AGREEMENT,
    parts=("sum of the per-post shares of wrong criteria", "posts"),
    direction="lower",
    label="Hamming loss",
    formula="1 - Hamming score",
    meaning="The share of single criteria that is wrong.",
    conventions={"scikit-learn": "hamming_loss: the same"},
)
def _hamming_loss(sums: Floats, args: Args) -> tuple[Floats, Floats]:
    return sums[..., 2] - sums[..., 1], sums[..., 2]


def _post_f1(queries: Queries, args: Args) -> Floats:
    """Per post: F1; one; F1 times its weight; weight; one if nothing is positive anywhere.

    The weight is the number of gold criteria over a power of two, which keeps every column within [0, 1].
    """
    yes, label = _gate(queries), queries.label
    tp, fp, fn = _per_post(queries, yes & label, yes & ~label, ~yes & label)
    score = f1_score(tp, fp, fn)
    empty = score.flaws > 0
    f1 = np.where(empty, float(args["empty"]), score.values)
    weight = (tp + fn) / 2.0 ** np.ceil(np.log2(max(len(queries.criterion_ids), 1)))
    return np.column_stack([f1, np.ones(len(f1)), f1 * weight, weight, empty])


POST_F1 = Statistic("f1 by post", _post_f1, uses=("empty",), unit="post", bound=1.0)


def empty_posts(sums: Floats, args: Args) -> dict[str, object]:
    """How many posts have no gold and no predicted criterion: they decide how far a perfect system can get."""
    return {"posts_with_nothing_to_find_and_nothing_said": int(sums[4])}


PER_CRITERION: dict[str, str | None] = {"t": "gate", "avg": "pooled", "empty": None}
VARIANTS: dict[tuple[str, str], Kind] = {
    ("avg", "post"): ratio_of_sums(
        POST_F1,
        lambda sums, args: (sums[..., 0], sums[..., 1]),
        parts=("sum of the per-post F1", "posts"),
        details=empty_posts,
    ),
    ("avg", "post_weighted"): ratio_of_sums(
        POST_F1,
        lambda sums, args: (sums[..., 2], sums[..., 3]),
        parts=("sum of the per-post F1 times gold criteria (scaled)", "gold criteria (scaled)"),
    ),
    ("avg", "criterion"): Macro(PER_CRITERION),
    ("avg", "label_weighted"): Macro(PER_CRITERION, weighted=True),
}
family.ratio(
    "F1",
    CONFUSION,
    parts=F1_PARTS,
    population=lambda args: POSTS if args["avg"].startswith("post") else ALL,
    reasons=("nothing to find and nothing said, or nothing to weigh by",),
    params=(AVG, EMPTY, AT),
    variants=VARIANTS,
    moot={("avg", value): ("empty",) for value in ("micro", "criterion", "label_weighted", "post_weighted")},
    direction="higher",
    label="F1 of the criteria, averaged",
    formula="2 TP / (2 TP + FP + FN), over all pairs (micro), or per post or per criterion and then averaged",
    meaning="How well the criteria of a post are recovered; the average decides whether rare criteria or busy posts weigh more.",
    choices={
        "avg=micro": "all (post, criterion) pairs pooled: the same as F1(t=gate)",
        "avg=post": "mean over posts; a post with nothing to find and nothing said has 0/0 = 0, so a perfect system stays below 1",
        "avg=post,empty=1": "the same, but such a post scores 1",
        "avg=criterion": "mean over criteria; a criterion where F1 is 0/0 is left out and counted",
        "avg=post_weighted": "mean over posts, weighted by the post's number of gold criteria",
        "avg=label_weighted": "mean over criteria, weighted by the criterion's number of positives (scikit-learn's weighted)",
    },
    conventions={
        "scikit-learn": "f1_score: average='micro' is avg=micro, 'macro' is avg=criterion (0/0 counted as 0 there), "
        "'samples' is avg=post, 'weighted' is avg=label_weighted"
    },
)(f1_fraction)
