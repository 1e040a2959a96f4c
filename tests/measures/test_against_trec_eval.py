"""Where trec_eval defines the same thing it gives the same number: ties, empty gold, short lists, K beyond the list."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidentia.evaluation import evaluate_run
from evidentia.evaluation.compute import compute
from evidentia.evaluation.plan import OVERALL
from evidentia.measures import PROFILES, kernels, resolve
from evidentia.tables import Run, read_trec

pytrec_eval = pytest.importorskip("pytrec_eval")
KS = (1, 3, 5, 10, 20)
CUTS = ",".join(map(str, KS))
ASKED = {f"{name}.{CUTS}" for name in ("P", "recall", "map_cut", "ndcg_cut", "success")} | {"map", "ndcg", "recip_rank"}
OURS = {
    **{f"P_{k}": f"Precision(depth=k,pop=all)@{k}" for k in KS},
    **{f"recall_{k}": f"Recall(pop=all)@{k}" for k in KS},
    **{f"map_cut_{k}": f"MAP(norm=gold,pop=all)@{k}" for k in KS},
    **{f"ndcg_cut_{k}": f"nDCG(pop=all)@{k}" for k in KS},
    **{f"success_{k}": f"HitRate(pop=all)@{k}" for k in KS},
    "map": "MAP(norm=gold,pop=all)@ALL",
    "ndcg": "nDCG(pop=all)@ALL",
    "recip_rank": "MRR(pop=all)",
}
# few values force ties; two that only float32 makes equal are among them
scores = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 2.5]), st.floats(-1e6, 1e6, width=32))
Topics = dict[str, tuple[dict[str, int], dict[str, float]]]


@st.composite
def topics(draw: Any) -> Topics:
    """Topics with judgments and scored documents; not every document is judged, nor every judged one found."""
    found = {}
    for topic in range(draw(st.integers(1, 4))):
        docs = [f"d{number}" for number in draw(st.lists(st.integers(0, 40), min_size=1, max_size=25, unique=True))]
        judged = {doc: draw(st.integers(-1, 2)) for doc in docs if draw(st.booleans())} or {docs[0]: 0}
        ranked = {doc: draw(scores) for doc in docs if draw(st.booleans())} or {docs[0]: 0.5}
        found[f"t{topic}"] = (judged, ranked)
    return found


def reference(data: Topics) -> dict[str, dict[str, float]]:
    binary = {topic: {doc: int(rel >= 1) for doc, rel in judged.items()} for topic, (judged, _) in data.items()}
    ranked = {topic: ranked for topic, (_, ranked) in data.items()}
    return pytrec_eval.RelevanceEvaluator(binary, ASKED).evaluate(ranked)  # type: ignore[no-any-return]


def written(data: Topics, folder: Path) -> tuple[Path, Path]:
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    qrels.write_text("".join(f"{t} 0 {d} {rel}\n" for t, (judged, _) in data.items() for d, rel in judged.items()))
    run.write_text("".join(f"{t} Q0 {d} 0 {s!r} me\n" for t, (_, ranked) in data.items() for d, s in ranked.items()))
    return qrels, run


def read(data: Topics) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        return read_trec(*written(data, Path(folder)), ties="trec")


def per_topic(run: Run) -> dict[str, dict[str, float]]:
    """Every value of every topic, as this package has them."""
    definitions = {name: resolve(ours, PROFILES["contract"]).definition for name, ours in OURS.items()}
    computation = compute(run.queries, [(definition, OVERALL) for definition in definitions.values()])
    found: dict[str, dict[str, float]] = {topic: {} for topic in run.queries.post_ids}
    for name, definition in definitions.items():
        behind = computation.per_query(definition)
        assert behind is not None
        for topic, value in zip(run.queries.post_ids, behind.values, strict=True):
            found[topic][name] = value
    return found


@settings(max_examples=80, deadline=None)
@given(topics())
def test_every_topic_scores_what_trec_eval_says(data: Topics) -> None:
    ours = per_topic(read(data))
    theirs = reference(data)
    assert set(ours) == set(theirs)
    for topic, expected in theirs.items():
        assert ours[topic] == pytest.approx(expected, rel=0, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(topics())
def test_the_means_over_all_topics_are_those_of_trec_eval(data: Topics) -> None:
    evaluation = evaluate_run(read(data), measures=OURS.values())
    theirs = reference(data)
    for name, ours in OURS.items():
        expected = np.mean([topic[name] for topic in theirs.values()])
        assert evaluation[ours].value == pytest.approx(expected, rel=0, abs=1e-12)
        assert evaluation[ours].n == len(data)


@settings(max_examples=80, deadline=None)
@given(topics())
def test_the_kernels_on_plain_arrays_agree_with_trec_eval(data: Topics) -> None:
    # trec_eval breaks ties by document number descending: that order of the input, and stable ranks, do the same
    ordered = {topic: sorted(ranked.items(), reverse=True) for topic, (_, ranked) in data.items()}
    flat = np.array([score for docs in ordered.values() for _, score in docs])
    is_gold = np.array([data[t][0].get(doc, 0) >= 1 for t, docs in ordered.items() for doc, _ in docs], bool)
    offsets = np.concatenate([[0], np.cumsum([len(docs) for docs in ordered.values()])])
    n_gold = np.array([sum(rel >= 1 for rel in judged.values()) for judged, _ in data.values()])
    ranks = kernels.gold_ranks(flat, is_gold, offsets)
    theirs = reference(data)

    def expected(name: str) -> Any:
        return pytest.approx([theirs[topic][name] for topic in data], rel=0, abs=1e-12)

    for k in KS:
        assert kernels.recall(ranks, n_gold, k).tolist() == expected(f"recall_{k}")
        assert kernels.precision(ranks, k).tolist() == expected(f"P_{k}")
        assert kernels.ndcg(ranks, n_gold, k).tolist() == expected(f"ndcg_cut_{k}")
        assert (kernels.hits(ranks, k) > 0).astype(float).tolist() == expected(f"success_{k}")
        average = kernels.precision_sum(ranks, k) / np.maximum(n_gold, 1)
        assert average.tolist() == expected(f"map_cut_{k}")
    assert kernels.reciprocal_rank(ranks, None).tolist() == expected("recip_rank")
    assert kernels.ndcg(ranks, n_gold, None).tolist() == expected("ndcg")


def test_scores_that_only_float32_makes_equal_are_tied_as_in_trec_eval() -> None:
    data: Topics = {"t": ({"a": 1, "b": 0}, {"a": 1.00000001, "b": 1.0})}
    assert per_topic(read(data))["t"]["recip_rank"] == reference(data)["t"]["recip_rank"] == 0.5


def test_a_topic_that_the_run_lacks_scores_0_and_stays_in_the_mean(tmp_path: Path) -> None:
    qrels, run = written({"t1": ({"a": 1}, {"a": 1.0}), "t2": ({"b": 1}, {})}, tmp_path)
    found = evaluate_run(read_trec(qrels, run), measures=["nDCG@10"])["nDCG@10"]
    assert (found.value, found.n) == (0.5, 2)
