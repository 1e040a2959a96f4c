"""Simulated runs with known truth: posts whose queries hang together, in three shapes, and calibrated or distorted probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit, ndtr

from evidentia.evaluation.compute import compute
from evidentia.evaluation.groups import OVERALL
from evidentia.measures import PROFILES, Definition, resolve
from evidentia.tables.queries import Bools, Floats, Ints, Queries, Ragged

CONTRACT = PROFILES["contract"]
SHAPES = ("even", "heavy-tailed", "rare")  # 8 queries a post; 2 to 101, mean 8; 10 with 5 % of them positive


def definition(name: str) -> Definition:
    return resolve(name, CONTRACT).definition


def _sizes(shape: str, posts: int, random: np.random.Generator) -> Ints:
    if shape == "heavy-tailed":
        return 2 + np.minimum(np.floor(3 * random.pareto(1.5, posts)), 99).astype(np.int64)
    return np.full(posts, 8 if shape == "even" else 10)


def simulated(shape: str, posts: int, random: np.random.Generator, *, skill: float = 1.7) -> Queries:
    """A run with everything that headline measures need; a post shares how ill, how worded and how well ranked it is."""
    sizes = _sizes(shape, posts, random)
    post = np.repeat(np.arange(posts), sizes)
    illness, tone, ease = random.normal(size=(3, posts))
    base = -3.3 if shape == "rare" else -1.2
    label = random.random(len(post)) < expit(illness[post] + base)
    noise = 0.9 * random.normal(size=len(post))
    prob = expit(2.6 * label + 0.9 * base - 0.6 + 0.6 * tone[post] + 0.5 * illness[post] + noise)
    return _queries(post, sizes, label, prob, ease, random, skill=skill, rare=shape == "rare")


def _queries(
    post: Ints,
    sizes: Ints,
    label: Bools,
    prob: Floats,
    ease: Floats,
    random: np.random.Generator,
    *,
    skill: float,
    rare: bool,
) -> Queries:
    n_gold = np.where(label, 1 + random.poisson(0.4, len(post)), 0)
    owner = np.repeat(np.arange(len(post)), n_gold)
    quality = skill + 0.7 * ease[post[owner]] + 0.9 * random.normal(size=len(owner))
    ranks = _distinct(1 + random.binomial(19, 1 - ndtr(quality)), owner)
    low, high = (0.03, 0.45) if rare else (0.22, 0.7)
    state = np.where(prob < low, 0, np.where(prob >= high, 2, 1))
    selected = np.where(state == 0, 0, 1 + random.binomial(5, 0.35, len(post)))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Queries(
        post=post,
        criterion=np.arange(len(post)) - starts[post],
        label=label,
        post_ids=tuple(map(str, range(len(sizes)))),
        criterion_ids=tuple(f"c{i:03}" for i in range(int(sizes.max()))),
        prob=prob,
        gate=state > 0,
        state=state,
        n_gold=n_gold,
        n_ranked=np.full(len(post), 24),
        gold_ranks=Ragged(np.concatenate([[0], np.cumsum(n_gold)]), ranks),
        n_selected=selected,
        n_selected_gold=np.bincount(owner, ranks <= selected[owner], minlength=len(post)).astype(np.int64),
        complete=True,
    )


def _distinct(ranks: Ints, owner: Ints) -> Ints:
    """The ranks of every query ascending, equal ones moved down."""
    ranks = ranks[np.lexsort((ranks, owner))]
    for i in range(1, len(ranks)):
        if owner[i] == owner[i - 1] and ranks[i] <= ranks[i - 1]:
            ranks[i] = ranks[i - 1] + 1
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
