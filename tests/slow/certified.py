"""How often a certified threshold breaks its promise, over samples of a population that is known. Run it to print the figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.array_types import Bools, Floats
from evidentia.protocol import PostScores, Provenance, certify_alerts, certify_screening, score_grid

POSTS, QUERIES, SAMPLE = 200_000, 10, 355  # a TUNE part of the contract's dataset
SCREENING, ALERTS, DELTA = 0.98, 0.9, 0.05
NOWHERE = Provenance()


@dataclass(frozen=True)
class Broken:
    """Thresholds whose true figure lies below the target, among those that were given out, over all draws."""

    certified: int
    given: int
    by_point: int
    draws: int

    @property
    def share(self) -> float:
        return self.certified / self.draws

    @property
    def allowed(self) -> float:
        """Delta plus two standard errors of the draws."""
        return DELTA + 2 * float(np.sqrt(DELTA * (1 - DELTA) / self.draws))


def population(seed: int = 1) -> tuple[Floats, Bools]:
    """Posts whose queries are right and wrong together: they share how much evidence they hold and how they are scored."""
    random = np.random.default_rng(seed)
    severity, tone = random.normal(size=(2, POSTS, 1))
    labels = random.random((POSTS, QUERIES)) < 1 / (1 + np.exp(2.4 - 1.5 * severity))
    logits = 3.4 * labels - 3.6 + 1.0 * tone + 0.5 * severity + 0.8 * random.normal(size=labels.shape)
    return 1 / (1 + np.exp(-logits)), labels


def by_post(scores: Floats, labels: Bools) -> PostScores:
    post = np.repeat(np.arange(len(scores)), QUERIES)
    return PostScores.of(scores.ravel(), labels.ravel(), post)


def screened(posts: PostScores, tau: float) -> float:
    """The share of posts with evidence of which none is skipped."""
    evidence = posts.lowest_evidence[np.isfinite(posts.lowest_evidence)]
    return float((evidence >= tau).mean())


def right(posts: PostScores, tau: float) -> float:
    """The share of alerting posts with only right alerts."""
    return float((posts.highest_wrong[posts.highest >= tau] < tau).mean())


def by_point_estimate(posts: PostScores, grid: Floats) -> tuple[float, float]:
    """What one would choose without a guarantee: the sample's own share reaches the target."""
    low = max(tau for tau in grid if screened(posts, tau) >= SCREENING)
    high = min((tau for tau in grid if right(posts, tau) >= ALERTS), default=float(grid[-1]))
    return float(low), float(high)


def experiment(draws: int, seed: int = 2) -> tuple[Broken, Broken]:
    """Broken promises about screening and about alerts over independent samples of posts."""
    scores, labels = population()
    truth = by_post(scores, labels)
    random = np.random.default_rng(seed)
    counts = np.zeros((2, 3), int)
    for _ in range(draws):
        chosen = random.integers(POSTS, size=SAMPLE)
        sample, grid = by_post(scores[chosen], labels[chosen]), score_grid(scores[chosen].ravel())
        low = certify_screening(sample, SCREENING, grid=grid, delta=DELTA, tuned_on=NOWHERE).value
        high = certify_alerts(sample, ALERTS, grid=grid, delta=DELTA, tuned_on=NOWHERE).value
        plain_low, plain_high = by_point_estimate(sample, grid)
        counts[0] += [
            low is not None and screened(truth, low) < SCREENING,
            low is not None,
            screened(truth, plain_low) < SCREENING,
        ]
        counts[1] += [
            high is not None and right(truth, high) < ALERTS,
            high is not None,
            right(truth, plain_high) < ALERTS,
        ]
    screening, alerts = (Broken(*map(int, row), draws) for row in counts)
    return screening, alerts


if __name__ == "__main__":
    for name, broken in zip(("screening", "alerts"), experiment(500), strict=True):
        print(
            name,
            broken,
            f"{broken.share:.3f} of draws; allowed {broken.allowed:.3f}; point rule {broken.by_point / broken.draws:.3f}",
        )
