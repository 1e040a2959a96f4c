"""Throughput of the pipeline: training and answering at 1 to 10 times a corpus, peak memory, and embedding with and without cache.

    python benchmarks/pipeline.py [--posts 300] [--times 1,2,5,10] [--embed]

Every size runs in a process of its own, so that the peak of memory is its own. One thread; texts are invented.
``--embed`` needs the neural extra.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import record
from measuring import show, versions

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def main() -> None:
    arguments = parsed()
    if arguments.one is not None:
        print(json.dumps(embedding(arguments.one) if arguments.embed else one_size(arguments.one)))
        return
    if arguments.embed:
        show_embedding(apart(arguments.posts, "--embed"))
    sizes = [arguments.posts * factor for factor in map(int, arguments.times.split(","))]
    show_sizes([apart(size) for size in sizes])
    if arguments.write:
        embed = " --embed" if arguments.embed else ""
        how = f"python benchmarks/pipeline.py --posts {arguments.posts} --times {arguments.times}{embed}"
        record.write("pipeline", versions("evidentia", "numpy", "scipy", "scikit-learn"), how=how)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=300, help="posts of the smallest corpus")
    parser.add_argument("--times", default="1,2,5,10", help="how many times as large the corpora are")
    parser.add_argument("--embed", action="store_true", help="also embed the smallest corpus with MiniLM, twice")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def apart(posts: int, *more: str) -> dict[str, Any]:
    """Measure in a process of its own."""
    words = [sys.executable, __file__, "--one", str(posts), *more]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | ONE_THREAD)
    content: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return content


def one_size(size: int) -> dict[str, Any]:
    """Train one fold of the default pipeline, then ask it about all posts as if they were new."""
    from evidentia.pipeline.build import system_of
    from evidentia.pipeline.config import parse_config
    from evidentia.pipeline.plan import Plan
    from evidentia.pipeline.stage import View
    from evidentia.pipeline.system import GATE
    from evidentia.pipeline.work import after, run_step
    from evidentia.synth import synthetic_corpus

    posts = synthetic_corpus(posts=size)
    system = system_of(parse_config({"corpus": {"path": "synthetic"}}, base=Path()))
    division = Plan.of(system, posts, folds=5, final=False).divisions()[0]
    assert posts.gold is not None
    training, answering, view, new = {}, {}, View.of(posts), View.of(posts)
    for number, step in enumerate(system):
        began = time.process_time()
        made = run_step(step, view, division, posts.gold, seed=7 + 1000 * number)
        trained = time.process_time()
        said = step.stage.score(made.space, made.model, step.stage.inputs(made.space, new))
        training[step.name], answering[step.name] = trained - began, time.process_time() - trained
        if step.name != GATE:
            keep = step.cut(lambda made=made: made.model)
            view, new = after(view, step.name, made.scores, keep), after(new, step.name, said, keep)
    first = {"words", "bm25", "retriever"}
    later = sum(seconds for name, seconds in answering.items() if name not in first)
    return {
        "posts": size,
        "sentences": len(posts.texts),
        "queries": size * len(posts.criteria),
        "training": training,
        "answering": answering,
        "queries_per_second": size * len(posts.criteria) / later,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def embedding(size: int) -> dict[str, Any]:
    """Embed the sentences of a corpus twice, the second time from the cache."""
    from evidentia.pipeline.encoders.make import make_encoder
    from evidentia.synth import synthetic_corpus

    texts = list(dict.fromkeys(synthetic_corpus(posts=size).texts))
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        make_encoder("minilm", cache=False).encode(texts[:8], kind="passage")  # loading is not embedding
        for _ in range(2):
            encoder = make_encoder("minilm", cache=Path(folder))
            began = time.perf_counter()
            encoder.encode(texts, kind="passage")
            seconds.append(time.perf_counter() - began)
    return {"texts": len(texts), "without_cache": len(texts) / seconds[0], "with_cache": len(texts) / seconds[1]}


def show_embedding(found: dict[str, Any]) -> None:
    slow, fast = found["without_cache"], found["with_cache"]
    show(
        f"MiniLM, {found['texts']:,} sentences",
        ("", "sentences/s", "times", ""),
        [("embedded", f"{slow:,.0f}", "", ""), ("from the cache", f"{fast:,.0f}", f"{fast / slow:,.0f}", "")],
    )


def show_sizes(sizes: list[dict[str, Any]]) -> None:
    first, last = sizes[0], sizes[-1]
    grown = last["queries"] / first["queries"]
    ratios = [
        f"{what}: {grown:.0f} times the queries take {sum(last[what].values()) / sum(first[what].values()):.1f} times the CPU time"
        for what in ("training", "answering")
    ]
    show(
        "posts",
        (
            "posts",
            "queries",
            "sentences",
            "training, CPU s",
            "answering, CPU s",
            "queries/s through stages 2 to 6",
            "peak, MiB",
        ),
        [
            (
                *(f"{one[name]:,}" for name in ("posts", "queries", "sentences")),
                *(f"{sum(one[name].values()):.1f}" for name in ("training", "answering")),
                f"{one['queries_per_second']:,.0f}",
                f"{one['peak_mib']:,.0f}",
            )
            for one in sizes
        ],
        *ratios,
        f"memory: {last['peak_mib'] / first['peak_mib']:.1f} times",
    )
    show(
        f"stage, {last['posts']:,} posts",
        ("", "training, CPU s", "answering, CPU s", ""),
        [(name, f"{last['training'][name]:.1f}", f"{last['answering'][name]:.1f}", "") for name in last["training"]],
    )


if __name__ == "__main__":
    main()
