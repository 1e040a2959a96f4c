"""Throughput and memory of `evidentia predict` into a folder, and a kill in the middle.

    python benchmarks/predicting.py [--train 1000] [--sizes 10000,100000]

The default pipeline, trained on invented posts; other invented posts of five sentences, repeated under new ids, are asked about 10
criteria. One process for every core; wall, CPU times and memory are those of all processes together.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import record
from cold import Spent, started
from evidentia.corpus import Posts
from evidentia.synth import synthetic_corpus
from measuring import cores, show, versions

SENTENCES, DISTINCT = 5, 20_000
PART = 5_000  # so that the smallest size is enough for two processes


def main() -> None:
    arguments = parsed()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        train(folder, arguments.train)
        posts = synthetic_corpus(posts=min(DISTINCT, max(sizes)), mean_sentences=SENTENCES, seed=11)
        for words, as_texts in (("sentences given", False), ("texts, cut by pysbd", True)):
            show_sizes(words, {size: answered(folder, posts, size, as_texts=as_texts) for size in sizes})
        show_kill(folder, posts, min(sizes))
    if arguments.write:
        how = f"python benchmarks/predicting.py --train {arguments.train} --sizes {arguments.sizes}"
        record.write("predicting", versions("evidentia", "numpy", "scipy", "scikit-learn", "polars"), how=how)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=1000, help="posts to learn from")
    parser.add_argument("--sizes", default="10000,100000", help="how many posts are answered")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    return parser.parse_args()


def train(folder: Path, posts: int) -> None:
    settings = f'[corpus]\npath = "synthetic"\nposts = {posts}\n[protocol]\nfolds = 2\n'
    (folder / "pipeline.toml").write_text(settings, encoding="utf-8")
    bare = ("--resamples", "0", "--no-report", "--no-verify", "-q")
    started(("evidentia", "run", "pipeline.toml", "-o", "run", *bare), folder, "words.txt")


def answered(folder: Path, posts: Posts, size: int, *, as_texts: bool) -> Spent:
    """Time and memory of answering so many posts."""
    write(folder / "posts.jsonl", posts, size, as_texts=as_texts)
    return started(command("answers", "--force"), folder, "words.txt")


def command(out: str, *more: str, part: int = PART) -> tuple[str, ...]:
    return ("evidentia", "predict", "run", "posts.jsonl", "-o", out, "--partition", str(part), "-q", *more)


def write(path: Path, posts: Posts, size: int, *, as_texts: bool) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, texts in zip(range(size), again_and_again(posts), strict=False):
            given = {"sentences": [{"sent_uid": f"{number}_{at}", "text": text} for at, text in enumerate(texts)]}
            content = {"text": " ".join(texts)} if as_texts else given
            file.write(json.dumps({"post_id": str(number), **content}) + "\n")


def again_and_again(posts: Posts) -> Iterator[tuple[str, ...]]:
    offsets = posts.offsets.tolist()
    while True:
        for start, stop in pairwise(offsets):
            yield posts.texts[start:stop]


def show_sizes(words: str, spent: dict[int, Spent]) -> None:
    head = ("", "wall s", "CPU s", "posts per s and core", "peak MiB, all processes", "")
    rows = [
        (
            f"{size:,}",
            f"{s.seconds:.0f}",
            f"{s.cpu_seconds:.0f}",
            f"{size / s.cpu_seconds:,.0f}",
            f"{s.peak_mib:.0f}",
            "",
        )
        for size, s in spent.items()
    ]
    first, last = min(spent), max(spent)
    growth = spent[last].peak_mib / spent[first].peak_mib
    show(f"Short posts, {words}", head, rows, f"{last / first:g} times the posts: {growth:.2f} times the memory.")


def show_kill(folder: Path, posts: Posts, size: int) -> None:
    """Kill a command in the middle, continue it, and compare every byte with one that was left alone."""
    write(folder / "posts.jsonl", posts, size, as_texts=False)
    part = max(1, size // 10)
    started(command("whole", part=part), folder, "words.txt")
    program = Path(sysconfig.get_path("scripts")) / "evidentia"
    stopped = subprocess.Popen([str(program), *command("killed", part=part)[1:]], cwd=folder)
    while len(list((folder / "killed" / "work").glob("part-*.json"))) < 3 and stopped.poll() is None:
        time.sleep(0.01)
    stopped.send_signal(signal.SIGKILL)
    stopped.wait()
    kept = len(list((folder / "killed" / "work").glob("part-*.json")))
    started(command("killed", "--resume", part=part), folder, "words.txt")
    same = all(
        path.read_bytes() == (folder / "killed" / path.name).read_bytes() for path in (folder / "whole").iterdir()
    )
    if not same or len(list((folder / "killed").iterdir())) != len(list((folder / "whole").iterdir())):
        sys.exit("a killed command ended in other bytes")
    rows = [(f"{size:,} posts on {cores()} cores", "10", str(kept), "the same bytes in the end")]
    show("Killed and continued", ("", "parts", "kept after the kill", ""), rows)


if __name__ == "__main__":
    main()
