"""What queries are judged against is a sum of hashes: the same for the same truth in any files, and for no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from engine.made import Here, Made, blocks_of, in_parts
from evidentia.engine.evaluate import Tables, evaluate_blocks
from evidentia.evaluation.intervals import Resampling
from evidentia.stats.poisson import cluster_keys

KEY = ["post_id", "criterion_id"]


def truth(queries: Path, candidates: Path | None = None, rows: int = 400, **reading: object) -> list[dict]:
    """What the manifest would say of these tables."""
    told: list[dict] = []
    with blocks_of(rows):
        evaluate_blocks(
            Tables(queries, candidates, **reading),
            profile="contract",
            names=("Brier",),
            named=True,
            resampling=Resampling(2, bootstrap="poisson"),
            executor=Here(),
            memory=2 * 10**9,
            tell_truth=told.extend,
        )
    return told


def scramble(word: int) -> int:
    """The last step of SplitMix64, in whole numbers."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def test_the_sums_by_hand(tmp_path: Path) -> None:
    columns = {
        "post_id": ["p1", "p2", "p1"],
        "criterion_id": ["A", "A", "B"],
        "gold_sent_uids": [["s1", "s2"], [], []],
        "prob": [0.9, 0.2, 0.1],
    }
    pl.DataFrame(columns).write_parquet(tmp_path / "run.parquet")
    key = {name: int(cluster_keys([name])[0]) for name in ("p1", "p2", "A", "B", "s1", "s2")}
    pairs = (("p1", "A"), ("p2", "A"), ("p1", "B"))
    first, second, third = (scramble((key[post] + scramble(key[criterion])) % 2**64) for post, criterion in pairs)
    gold = sum(scramble((first + key[uid]) % 2**64) for uid in ("s1", "s2"))
    assert truth(tmp_path / "run.parquet") == [
        {
            **{"criterion": "A", "queries": 2, "with_evidence": 1, "queries_hash": f"{(first + second) % 2**64:016x}"},
            **{"evidence_hash": f"{first:016x}", "gold_hash": f"{gold % 2**64:016x}"},
        },
        {
            **{"criterion": "B", "queries": 1, "with_evidence": 0, "queries_hash": f"{third:016x}"},
            **{"evidence_hash": "0" * 16, "gold_hash": "0" * 16},
        },
    ]


@pytest.mark.parametrize("rows", [30, 10**6])
def test_blocks_files_and_order_change_nothing(rows: int, run: Made, tmp_path: Path) -> None:
    shuffled = run.per_query.sample(fraction=1, shuffle=True, seed=3)
    expected = truth(run.files[0])
    assert [entry["criterion"] for entry in expected] == ["A.1", "A.2", "A.3"]
    assert sum(entry["queries"] for entry in expected) == 72
    assert truth(in_parts(shuffled, tmp_path / "queries", [11, 50]), rows=rows) == expected
    assert truth(*run.files, rows=rows) == expected


def test_gold_that_only_candidates_mark_is_the_same(run: Made, tmp_path: Path) -> None:
    expected = truth(*run.files)
    bare = in_parts(run.per_query.drop("gold_sent_uids"), tmp_path / "bare", [7])
    assert truth(bare, run.files[1]) == expected
    long = run.candidates.join(run.per_query.select(*KEY, "prob"), on=KEY, how="left", maintain_order="left")
    assert truth(in_parts(long, tmp_path / "long", [400])) == expected


def test_without_gold_sentences_nothing_is_said_of_them(run: Made, tmp_path: Path) -> None:
    lists = [name for name in run.per_query.columns if name.endswith("_sent_uids")]
    bare = in_parts(run.per_query.drop(lists), tmp_path / "bare", [])
    assert truth(bare) == [entry | {"gold_hash": None} for entry in truth(run.files[0])]


def other_gold(frame: pl.DataFrame) -> pl.DataFrame:
    """The gold of one query is another sentence of its ranking."""
    at = int(np.flatnonzero(frame["has_evidence"].to_numpy())[0])
    row = frame.row(at, named=True)
    uid = next(uid for uid in row["ranked_sent_uids"] if uid not in row["gold_sent_uids"])
    gold = frame["gold_sent_uids"].to_list()
    gold[at] = [uid, *gold[at][1:]]
    return frame.with_columns(pl.Series("gold_sent_uids", gold))


def other_label(frame: pl.DataFrame) -> pl.DataFrame:
    """A query with evidence has none, and another without has some."""
    labels = frame["has_evidence"].to_list()
    one, zero = labels.index(1), labels.index(0)
    labels[one], labels[zero] = 0, 1
    lists = [name for name in frame.columns if name.endswith("_sent_uids")]
    return frame.drop(lists).with_columns(has_evidence=pl.Series(labels))


def other_query(frame: pl.DataFrame) -> pl.DataFrame:
    """A post goes by another name."""
    return frame.with_columns(pl.col("post_id").replace(frame["post_id"][0], "somebody"))


@pytest.mark.parametrize(
    ("change", "differ"),
    [
        (other_gold, {"gold_hash"}),
        (other_label, {"evidence_hash", "gold_hash"}),
        (other_query, {"queries_hash", "evidence_hash", "gold_hash"}),
    ],
)
def test_another_truth_has_other_sums(
    change: Callable[[pl.DataFrame], pl.DataFrame], differ: set[str], run: Made, tmp_path: Path
) -> None:
    change(run.per_query).write_parquet(tmp_path / "other.parquet")
    pairs = zip(truth(run.files[0]), truth(tmp_path / "other.parquet"), strict=True)
    found = {key for mine, other in pairs for key in mine if mine[key] != other[key]}
    assert found - {"with_evidence"} == differ
