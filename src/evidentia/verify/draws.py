"""The draws of the bootstrap, made again: which posts each resample holds, and how often."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.verify.evidence import Query
from evidentia.verify.folder import as_numbers
from evidentia.verify.poisson import Words, hashed, weights_by_name

Progress = Callable[[int, int], None]

CELLS = 1 << 19  # multiplicities in work at once


@dataclass(frozen=True, eq=False)
class Draws:
    """Resamples of posts 0..n-1 with replacement, within each stratum; without strata there is one that holds all."""

    posts: int
    resamples: int
    seed: int
    strata: tuple[Ints, ...]
    width: int = 0  # cells that a replicate takes in memory, where these are more than its posts

    def picks(self, replicate: int) -> Ints:
        """The posts that a replicate draws."""
        generator = np.random.Generator(np.random.Philox(key=[self.seed, replicate]))
        return np.concatenate([part[generator.integers(len(part), size=len(part))] for part in self.strata])

    def weights(self, start: int, stop: int) -> Floats:
        """How often each post is drawn: posts x replicates."""
        drawn = [np.bincount(self.picks(replicate), minlength=self.posts) for replicate in range(start, stop)]
        return np.array(drawn, np.float64).T.copy()

    def blocks(self) -> Iterator[tuple[slice, Callable[[], Floats]]]:
        """Ranges of replicates with what makes their weights."""
        for part in _ranges(self.resamples, max(self.posts, self.width)):
            yield part, partial(self.weights, part.start, part.stop)

    def factors(self, totals: Floats) -> Floats:
        """What numbers of things in replicates are multiplied by, which draw so many posts: nothing, they are as many."""
        return np.ones(len(totals))

    def first(self, count: int) -> list[int]:
        """Some replicates to look at one by one; one without any post has nothing to look at."""
        return [replicate for replicate in range(min(count, self.resamples)) if len(self.picks(replicate))]


@dataclass(frozen=True, eq=False)
class PoissonDraws(Draws):
    """Resamples in which every post counts as often as its name says, so that they hold n posts on average only."""

    names: Words = field(default_factory=lambda: hashed([]))

    def picks(self, replicate: int) -> Ints:
        """Every post as often as it counts."""
        return np.repeat(np.arange(self.posts), self.weights(replicate, replicate + 1)[:, 0].astype(np.int64))

    def weights(self, start: int, stop: int) -> Floats:
        """How often each post counts: posts x replicates."""
        return weights_by_name(self.names, self.seed, range(start, stop))

    def factors(self, totals: Floats) -> Floats:
        """To as many as there are posts; a replicate without any says nothing."""
        return np.array([self.posts / total if total else np.nan for total in totals.tolist()])


@dataclass(frozen=True)
class LeftOut:
    """The jackknife: every post is left out once."""

    posts: int
    width: int = 0

    @property
    def resamples(self) -> int:
        """One for every post."""
        return self.posts

    def blocks(self) -> Iterator[tuple[slice, Callable[[], Floats]]]:
        """Ranges of posts with the weights that leave each of them out."""
        for part in _ranges(self.posts, max(self.posts, self.width)):
            yield part, partial(self._weights, part)

    def factors(self, totals: Floats) -> Floats:
        """One post less is one post less."""
        return np.ones(len(totals))

    def _weights(self, part: slice) -> Floats:
        weights = np.ones((self.posts, part.stop - part.start))
        weights[np.arange(part.start, part.stop), np.arange(part.stop - part.start)] = 0.0
        return weights


def draws_over(names: Sequence[str], resamples: int, seed: int, *, poisson: bool, width: int = 0) -> Draws:
    """The plan over clusters of these names, in their order."""
    everyone = (np.arange(len(names)),)
    if poisson:
        return PoissonDraws(len(names), resamples, seed, everyone, width, hashed(names))
    return Draws(len(names), resamples, seed, everyone, width)


def draws_of(
    queries: Sequence[Query], resamples: int, seed: int, *, stratified: bool = False, poisson: bool = False
) -> Draws:
    """The plan over the posts of these queries; strata are the folds in their own order."""
    posts = as_numbers({query.post for query in queries})
    if not stratified:
        return draws_over(posts, resamples, seed, poisson=poisson)
    place = {post: at for at, post in enumerate(posts)}
    members: dict[str, set[int]] = {}
    for query in queries:
        members.setdefault(str(query.fold), set()).add(place[query.post])
    return Draws(len(posts), resamples, seed, tuple(np.array(sorted(members[fold])) for fold in as_numbers(members)))


def counter(progress: Progress | None, total: int) -> Callable[[int], None]:
    """Adds up what is done and tells it to whoever watches."""
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    return report


def over_blocks(
    draws: Draws | LeftOut, work: Callable[[slice, Floats], None], report: Callable[[int], None] = lambda done: None
) -> None:
    """Run ``work`` on every block of weights on all cores, few at a time so that memory stays bounded."""
    from threadpoolctl import threadpool_limits

    def one(rows: slice, make: Callable[[], Floats]) -> int:
        work(rows, make())
        return int(rows.stop - rows.start)

    blocks = list(draws.blocks())
    if len(blocks) == 1:
        report(one(*blocks[0]))
        return
    workers = os.cpu_count() or 1
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[int]] = deque()
        for rows, make in blocks:
            waiting.append(pool.submit(one, rows, make))
            if len(waiting) > workers:
                report(waiting.popleft().result())
        while waiting:
            report(waiting.popleft().result())


def _ranges(count: int, posts: int) -> Iterator[slice]:
    size = max(8, min(512, CELLS // max(posts, 1)))
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
