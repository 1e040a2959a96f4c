"""Latency and throughput of a loaded model: posts in batches and one by one, with sentences given and as texts.

    python benchmarks/serving.py [--train 1000] [--posts 1000]

The default pipeline, trained on invented posts; other invented posts are asked about all 10 criteria. One thread, CPU times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import record
from evidentia import EvidencePipeline, Predictor
from evidentia.corpus import Posts
from evidentia.synth import synthetic_corpus
from measuring import show, versions

SIZE = 20  # sentences of a post that targets are about
BATCH, SINGLE = 3.0, 25.0  # milliseconds
TURNS = 200


def main() -> None:
    with threadpool_limits(limits=1):
        measure(parsed())


def measure(arguments: argparse.Namespace) -> None:
    model = EvidencePipeline().fit(synthetic_corpus(posts=arguments.train, seed=3)).predictor_
    posts = synthetic_corpus(posts=arguments.posts, seed=11)
    asked = {"sentences given": as_sentences(posts), "texts, cut by pysbd": as_texts(posts)}
    model.predict(asked["texts, cut by pysbd"][:1])  # loading the splitter is not answering
    share = SIZE / posts.lengths.mean()
    rows = [(words, share * per_post(model, given), BATCH) for words, given in asked.items()]
    fast = share * per_post(model, asked["texts, cut by pysbd"], splitter="sentencex")
    rows.append(("texts, cut by sentencex", fast, BATCH))
    title = f"In batches of {len(posts):,}, ms of a core per post of {SIZE} sentences"
    show(title, ("", "ms", "target"), [(words, f"{spent:.2f}", verdict(spent, most)) for words, spent, most in rows])
    alone = np.flatnonzero(posts.lengths == SIZE).tolist()
    head = ("", "median", "99 %", "target for the median")
    show(
        f"One post of {SIZE} sentences at a time, ms",
        head,
        [one_at_a_time(model, n, a, alone) for n, a in asked.items()],
    )
    if arguments.write:
        how = f"python benchmarks/serving.py --train {arguments.train} --posts {arguments.posts}"
        record.write("serving", versions("evidentia", "numpy", "scipy", "scikit-learn"), how=how)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=1000, help="posts to learn from")
    parser.add_argument("--posts", type=int, default=1000, help="posts of a batch")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    return parser.parse_args()


def as_texts(posts: Posts) -> list[Any]:
    pairs = zip(posts.offsets[:-1].tolist(), posts.offsets[1:].tolist(), strict=True)
    return [" ".join(posts.texts[start:stop]) for start, stop in pairs]


def as_sentences(posts: Posts) -> list[Any]:
    triples = zip(posts.post_ids, posts.offsets[:-1].tolist(), posts.offsets[1:].tolist(), strict=True)
    return [{"post_id": post, "sentences": list(posts.texts[start:stop])} for post, start, stop in triples]


def per_post(model: Predictor, posts: Sequence[object], splitter: str | None = None) -> float:
    """Milliseconds of a core per post, the smallest of three batches."""
    spent = []
    for _ in range(3):
        began = time.process_time()
        model.predict(posts, splitter=splitter)
        spent.append(time.process_time() - began)
    return 1000 * min(spent) / len(posts)


def one_at_a_time(model: Predictor, words: str, posts: list[Any], alone: list[int]) -> tuple[str, str, str, str]:
    spent = []
    for turn in range(TURNS):
        post = posts[alone[turn % len(alone)]]
        began = time.process_time()
        model.predict([post])
        spent.append(1000 * (time.process_time() - began))
    median, slow = np.quantile(spent, (0.5, 0.99)).tolist()
    return words, f"{median:.1f}", f"{slow:.1f}", verdict(median, SINGLE)


def verdict(spent: float, most: float) -> str:
    return f"at most {most:g}: {'met' if spent <= most else 'NOT MET'}"


if __name__ == "__main__":
    main()
