"""How often `monitor` raises an alarm without and with a drift, for docs/monitoring.md.

``cd tests && python -m slow.courses --write`` puts it there (a quarter of an hour). The default pipeline learns from 1,000
invented posts; every other post is fresh and really scored by it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from evidentia import EvidencePipeline
from evidentia.corpus import Posts
from evidentia.monitoring.course import Settings, judge
from evidentia.monitoring.signals import Observed
from evidentia.pipeline.predict import Trained
from evidentia.synth import synthetic_corpus
from monitoring.planted import one_sentence, other_words, overconfident

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "monitoring.md"
BATCHES, FIRST, SIZE = 50, 200, 100
POOL, PLANTED = 8_000, 40
USUAL = 1379 / 1477  # queries with evidence per post


def trained_model() -> Trained:
    """The default pipeline on 1,000 invented posts."""
    return EvidencePipeline().fit(synthetic_corpus(posts=1000, seed=3)).predictor_._trained


def fresh(posts: int, seed: int, times: float = 1.0) -> Posts:
    """Posts as those of training, with so many times the evidence."""
    return synthetic_corpus(posts=posts, seed=seed, positives=round(posts * USUAL * times))


def labelled(trained: Trained, posts: Posts) -> Observed:
    """What the model says of posts whose labels are known."""
    batch = Observed.of(trained, posts.unlabelled(), "batch")
    return replace(batch, has_evidence=posts.has_evidence(), labelled=np.ones(len(posts), bool))


def alarmed(first: Observed, batches: Iterator[Observed]) -> bool:
    """Whether any batch of a course raises an alarm."""
    return any(judge(first, batch, Settings()).alarms for batch in batches)


def drawn_courses(trained: Trained, courses: int) -> int:
    """Courses with a false alarm, each drawn with replacement from one large pool of scored posts."""
    pool, rng = labelled(trained, fresh(POOL, 99)), np.random.default_rng(1)

    def draw(posts: int) -> Observed:
        return pool.take(rng.integers(0, POOL, posts))

    return sum(alarmed(draw(FIRST), (draw(SIZE) for _ in range(BATCHES))) for _ in range(courses))


def fresh_courses(trained: Trained, courses: int) -> int:
    """Courses with a false alarm, every post of each written for it alone."""
    count = 0
    for course in range(courses):
        whole = labelled(trained, fresh(FIRST + BATCHES * SIZE, 5_000 + course))
        places = np.arange(FIRST, len(whole)).reshape(BATCHES, SIZE)
        count += alarmed(whole.take(np.arange(FIRST)), (whole.take(at) for at in places))
    return count


Plant = Callable[[Trained, int], Observed]
DRIFTS: dict[str, Plant] = {
    "every second word unknown": lambda m, seed: labelled_without(m, other_words(fresh(SIZE, seed))),
    "one sentence per post": lambda m, seed: labelled_without(m, one_sentence(fresh(SIZE, seed))),
    "1.5 times the evidence": lambda m, seed: labelled_without(m, fresh(SIZE, seed, 1.5)),
    "twice the evidence": lambda m, seed: labelled_without(m, fresh(SIZE, seed, 2.0)),
    "three times the evidence": lambda m, seed: labelled_without(m, fresh(SIZE, seed, 3.0)),
    "log odds 0.5 too high": lambda m, seed: overconfident(labelled_without(m, fresh(SIZE, seed)), 0.5),
    "log odds 1 too high": lambda m, seed: overconfident(labelled_without(m, fresh(SIZE, seed)), 1.0),
}


def labelled_without(trained: Trained, posts: Posts) -> Observed:
    """What the model says of posts without labels."""
    return Observed.of(trained, posts.unlabelled(), "batch")


def detected(trained: Trained, plant: Plant) -> int:
    """Of so many batches with a drift, each against a reference of its own, those that raise an alarm."""
    pairs = (
        (labelled_without(trained, fresh(FIRST, 20_000 + at)), plant(trained, 30_000 + at)) for at in range(PLANTED)
    )
    return sum(bool(judge(first, batch, Settings()).alarms) for first, batch in pairs)


def tables(courses: int, own: int) -> str:
    """Both tables as Markdown."""
    trained = trained_model()
    rows = [
        ("drawn from 8,000 scored posts", courses, drawn_courses(trained, courses)),
        ("every post written for its course", own, fresh_courses(trained, own)),
    ]
    lines = [f"| {words} | {of} | {count} | {100 * count / of:.1f} % |" for words, of, count in rows]
    planted = [f"| {words} | {PLANTED} | {detected(trained, plant)} |" for words, plant in DRIFTS.items()]
    return "\n".join(
        [
            f"`python -m slow.courses --courses {courses} --own {own}` on {datetime.now(UTC).date()}, commit {commit()}.",
            "",
            f"| {BATCHES} labelled batches of {SIZE} posts, {FIRST} in the reference, no drift | courses | with an alarm | |",
            "| --- | ---: | ---: | ---: |",
            *lines,
            "",
            f"| one batch of {SIZE} posts with a drift, {FIRST} in the reference, no labels | batches | with an alarm |",
            "| --- | ---: | ---: |",
            *planted,
            "",
        ]
    )


def commit() -> str:
    """The commit that was measured."""
    words = ("git", "rev-parse", "--short=10", "HEAD")
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def write(body: str) -> None:
    """Put the tables between their marks."""
    text = DOCS.read_text(encoding="utf-8")
    marked = re.sub(
        r"(<!-- courses -->\n).*?(<!-- end of courses -->)", lambda m: m[1] + body + m[2], text, flags=re.DOTALL
    )
    DOCS.write_text(marked, encoding="utf-8")


def main() -> None:
    parser: Any = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--courses", type=int, default=500)
    parser.add_argument("--own", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    body = tables(arguments.courses, arguments.own)
    print(body)
    if arguments.write:
        write(body)


if __name__ == "__main__":
    main()
