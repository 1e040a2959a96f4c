"""Simulated runs with known truth: posts whose queries hang together, in three shapes, and stated probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit, ndtr

from evidentia.array_types import Bools, Floats, Ints
from evidentia.evaluation.compute import compute
from evidentia.evaluation.plan import OVERALL
from evidentia.measures import PROFILES, Definition, resolve
from evidentia.tables.queries import Queries, Ragged

CONTRACT = PROFILES["contract"]
SHAPES = ("even", "heavy-tailed", "rare")  # 8 queries a post; 2 to 101, mean 8; 10 with 5 % of them positive


def definition(name: str) -> Definition:
    return resolve(name, CONTRACT).definition


def _sizes(shape: str, posts: int, random: np.random.Generator) -> Ints:
    if shape == "heavy-tailed":
        return 2 + np.minimum(np.floor(3 * random.pareto(1.5, posts)), 99).astype(np.int64)
    return np.full(posts, 8 if shape == "even" else 10)


@dataclass(frozen=True, eq=False)
class Posts:
    """What is true of posts, whoever answers: a post shares how much evidence it holds."""

    shape: str
    sizes: Ints
    illness: Floats
    label: Bools
    n_gold: Ints

    @property
    def base(self) -> float:
        return -3.3 if self.shape == "rare" else -1.2

    @property
    def post(self) -> Ints:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def posts_of(shape: str, posts: int, random: np.random.Generator) -> Posts:
    sizes, illness = _sizes(shape, posts, random), random.normal(size=posts)
    blank = Posts(shape, sizes, illness, np.zeros(0, bool), np.zeros(0, np.int64))
    label = random.random(len(blank.post)) < expit(illness[blank.post] + blank.base)
    return Posts(shape, sizes, illness, label, np.where(label, 1 + random.poisson(0.4, len(label)), 0))


def simulated(shape: str, posts: int, random: np.random.Generator) -> Queries:
    """A run with everything that headline measures need."""
    return answered(posts_of(shape, posts, random), random)


def answered(truth: Posts, random: np.random.Generator) -> Queries:
    """A system's answers; it has a tone of its own for every post, and finds some posts easier to rank than others."""
    post, label = truth.post, truth.label
    tone, ease = random.normal(size=(2, len(truth.sizes)))
    odds = 2.6 * label + 0.9 * truth.base - 0.6 + 0.6 * tone[post] + 0.5 * truth.illness[post]
    prob = expit(odds + 0.9 * random.normal(size=len(post)))
    owner = np.repeat(np.arange(len(post)), truth.n_gold)
    quality = 1.7 + 0.7 * ease[post[owner]] + 0.9 * random.normal(size=len(owner))
    ranks = _distinct(1 + random.binomial(19, 1 - ndtr(quality)), owner)
    low, high = (0.03, 0.45) if truth.shape == "rare" else (0.22, 0.7)
    state = np.where(prob < low, 0, np.where(prob >= high, 2, 1))
    selected = np.where(state == 0, 0, 1 + random.binomial(5, 0.35, len(post)))
    starts = np.concatenate([[0], np.cumsum(truth.sizes)])
    return Queries(
        post=post,
        criterion=np.arange(len(post)) - starts[post],
        label=label,
        post_ids=tuple(map(str, range(len(truth.sizes)))),
        criterion_ids=tuple(f"c{i:03}" for i in range(int(truth.sizes.max()))),
        prob=prob,
        gate=state > 0,
        state=state,
        n_gold=truth.n_gold,
        n_ranked=np.full(len(post), 24),
        gold_ranks=Ragged(np.concatenate([[0], np.cumsum(truth.n_gold)]), ranks),
        n_selected=selected,
        n_selected_gold=np.bincount(owner, ranks <= selected[owner], minlength=len(post)).astype(np.int64),
        complete=True,
    )


def _distinct(ranks: Ints, owner: Ints) -> Ints:
    """The ranks of every query ascending, equal ones moved down."""
    ranks = ranks[np.lexsort((ranks, owner))]
    while len(same := 1 + np.flatnonzero((owner[1:] == owner[:-1]) & (ranks[1:] <= ranks[:-1]))):
        ranks[same] = ranks[same - 1] + 1
    return ranks


@cache
def truth(shape: str, names: tuple[str, ...], posts: int = 400_000, parts: int = 20) -> dict[str, float]:
    """The values of very many posts: the mean over large parts, which is off by next to nothing."""
    random = np.random.default_rng([99, SHAPES.index(shape)])
    wants = [(definition(name), OVERALL) for name in names]
    each = [compute(simulated(shape, posts // parts, random), wants) for _ in range(parts)]
    return {
        name: float(np.mean([part.cell(d, OVERALL).outcome.values[0] for part in each]))
        for name, (d, _) in zip(names, wants, strict=True)
    }


@dataclass(frozen=True)
class Stated:
    """Probabilities that are stated for true log-odds: shifted, and the true expected calibration error of that."""

    shift: float
    error: float

    def __call__(self, odds: Floats) -> Floats:
        return expit(odds + self.shift)


LEVEL, SPREAD = -1.0, 1.5  # of the true log-odds


@cache
def stated(error: float) -> Stated:
    """The shift of the log-odds whose ten-bin calibration error is as given."""
    odds = LEVEL + SPREAD * np.random.default_rng(5).normal(size=1_000_000)

    def of(shift: float) -> float:
        said = expit(odds + shift)
        bins = np.minimum((said * 10).astype(np.int64), 9)
        return float(np.abs(np.bincount(bins, said - expit(odds))).sum() / len(odds))

    low, high = 0.0, 3.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if of(middle) < error else (low, middle)
    return Stated(high if error else 0.0, of(high) if error else 0.0)


def calibrated(posts: int, queries: int, say: Callable[[Floats], Floats], random: np.random.Generator) -> Queries:
    """Posts whose queries share most of their log-odds, and labels that also hang together beyond them."""
    shared, own = random.normal(size=(2, posts, 1)), random.normal(size=(2, posts, queries))
    odds = (LEVEL + SPREAD * (np.sqrt(0.7) * shared[0] + np.sqrt(0.3) * own[0])).ravel()
    luck = ndtr(np.sqrt(0.4) * shared[1] + np.sqrt(0.6) * own[1]).ravel()
    return Queries(
        post=np.repeat(np.arange(posts), queries),
        criterion=np.tile(np.arange(queries), posts),
        label=luck < expit(odds),
        post_ids=tuple(map(str, range(posts))),
        criterion_ids=tuple(map(str, range(queries))),
        prob=say(odds),
    )
