"""A peer of `scale.py`, as a process of its own within some memory: it reads a run as its users would and prints its means.

Usage: python scale_peers.py PEER RUN_FOLDER BYTES
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl

from scale_floor import tables

CUT = 10
TOPIC = pl.concat_str("post_id", "criterion_id", separator="::")
Means = dict[str, float]


def pytrec_eval(folder: Path) -> Means:
    """Dicts of dicts, as it takes them."""
    import pytrec_eval as peer

    run, qrels = _as_dicts(folder)
    evaluated = peer.RelevanceEvaluator(qrels, {f"ndcg_cut.{CUT}", "recip_rank"}).evaluate(run)
    return {
        ours: sum(query[theirs] for query in evaluated.values()) / len(evaluated)
        for ours, theirs in ((f"nDCG@{CUT}", f"ndcg_cut_{CUT}"), ("MRR", "recip_rank"))
    }


def ir_measures(folder: Path) -> Means:
    """Data frames of pandas, as it takes them."""
    import ir_measures as peer

    pool = _candidates(folder)
    run = pool.select(query_id="topic", doc_id="sent_uid", score="score").to_pandas()
    qrels = pool.select(query_id="topic", doc_id="sent_uid", relevance="is_gold").to_pandas()
    means = peer.calc_aggregate([peer.nDCG @ CUT, peer.RR], qrels, run)
    return {f"nDCG@{CUT}": means[peer.nDCG @ CUT], "MRR": means[peer.RR]}


def ranx(folder: Path) -> Means:
    """Data frames of pandas, from which it makes its own tables."""
    from ranx import Qrels, Run, evaluate

    pool = _candidates(folder)
    run = Run.from_df(pool.select(q_id="topic", doc_id="sent_uid", score="score").to_pandas())
    qrels = Qrels.from_df(pool.select(q_id="topic", doc_id="sent_uid", score="is_gold").to_pandas())
    means = evaluate(qrels, run, [f"ndcg@{CUT}", "mrr"])
    return {f"nDCG@{CUT}": means[f"ndcg@{CUT}"], "MRR": means["mrr"]}


def scikit_learn(folder: Path) -> Means:
    """Two arrays over all candidates."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    columns = pl.read_parquet(tables(folder)[1], columns=["is_gold", "node_prob"])
    gold, scores = columns["is_gold"].to_numpy(), columns["node_prob"].to_numpy()
    return {
        "AUROC(level=candidate)": float(roc_auc_score(gold, scores)),
        "AUPRC(level=candidate)": float(average_precision_score(gold, scores)),
    }


PEERS: dict[str, Callable[[Path], Means]] = {
    "scikit-learn": scikit_learn,
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
}


def _candidates(folder: Path) -> pl.DataFrame:
    """The candidates of all queries, with a topic for each query."""
    columns = ["post_id", "criterion_id", "sent_uid", "score", "is_gold"]
    pool = pl.read_parquet(tables(folder)[1], columns=columns)
    return pool.select("sent_uid", "score", pl.col("is_gold").cast(pl.Int64), topic=TOPIC)


def _as_dicts(folder: Path) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for topic, uid, score, gold in _candidates(folder).select("topic", "sent_uid", "score", "is_gold").iter_rows():
        run.setdefault(topic, {})[uid] = score
        qrels.setdefault(topic, {})[uid] = gold
    return run, qrels


def answer() -> None:
    name, folder, most = sys.argv[1:]
    if sys.platform == "linux":  # elsewhere the limit is not kept to
        resource.setrlimit(resource.RLIMIT_AS, (int(most), int(most)))
    print(json.dumps(PEERS[name](Path(folder))))


if __name__ == "__main__":
    answer()
