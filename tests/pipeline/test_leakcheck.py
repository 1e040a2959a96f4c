"""The real stages before the canaries: they pass as they are, and a leak in any of the six is found and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidentia.corpus import Posts
from evidentia.errors import InputError
from evidentia.leakage import Post
from evidentia.leakage.canaries import labels_of
from evidentia.leakcheck import ConfiguredPipeline, annotated_posts, run_canaries
from evidentia.leakcheck.adapter import corpus_of, gold_under
from evidentia.leakcheck.check import names_finding
from evidentia.pipeline.build import system_of
from evidentia.pipeline.config import parse_config
from evidentia.pipeline.outputs import tables_of
from evidentia.pipeline.plan import Plan
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import System, full
from evidentia.pipeline.work import compute
from evidentia.protocol.folds import existing_folds
from evidentia.results import Finding
from evidentia.synth import synthetic_corpus
from pipeline import plants

CHEAP: dict[str, dict[str, Any]] = {
    "corpus": {"path": "synthetic"},
    "protocol": {"cross_fit": 2, "min_posts": 1},  # so that few posts can be learnt by heart
    "retriever": {"kind": "bm25", "keep": 10},
    "reranker": {"model": "logistic", "learners": ["words"], "keep": 8},
    "selection": {"ratio": 0.8},
    "gate": {"model": "logistic"},
}


def system(**tables: dict[str, Any]) -> System:
    """All six stages with settings that take little time, or with others."""
    return system_of(parse_config(CHEAP | tables, base=Path()))


@pytest.fixture(scope="module")
def corpus() -> Posts:
    """75 posts about four criteria."""
    made = synthetic_corpus(posts=75, positives=160, mean_sentences=12, seed=7)
    assert made.gold is not None
    return replace(made, criteria=made.criteria[:4], gold=made.gold[:, :4])


def found_in(posts: Posts, seed: int = 7, **tables: dict[str, Any]) -> dict[str, Finding]:
    return {one.code: one for one in run_canaries(system(**tables), posts, seed=seed).findings}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 8])
def test_the_real_stages_pass(seed: int) -> None:
    """With all ten criteria, 30 EVAL posts and more than 1,000 pairs: enough for a gate that knows labels to be noticed."""
    found = found_in(synthetic_corpus(posts=90, positives=160, mean_sentences=12, seed=seed), seed)
    assert {finding.status for finding in found.values()} == {"passed"}, found
    assert found["CANARY001"].looked == 30 * 10 * 102  # 101 features and the score
    assert found["CANARY002"].looked == 90 * 10 * 11
    assert (found["CANARY003"].looked or 0) > 1000
    assert found["FEAT001"].looked == 46


@pytest.mark.slow
@pytest.mark.parametrize(
    "tables",
    [
        {"reranker": {"kind": "none"}, "graph": {"kind": "none"}, "gate": {"kind": "best"}},
        {"three_state": {"rule": "max-f1"}, "selection": {"policy": "fixed"}},
    ],
    ids=["a retriever alone", "one threshold and a fixed K"],
)
def test_other_configurations_pass_too(tables: dict[str, Any], corpus: Posts) -> None:
    found = found_in(corpus, **tables)
    assert {finding.status for finding in found.values()} <= {"passed", "skipped"}, found


Plant = Callable[[pytest.MonkeyPatch], None]
LEAKS: dict[str, tuple[Plant, dict[str, str]]] = {
    "retriever": (
        plants.retriever_lifts_gold,
        {"CANARY001": "these move: retriever best, retriever mean, ", "CANARY002": "these move: retriever best, "},
    ),
    "retriever, with TRAIN labels": (plants.retriever_learns_in_secret, {"CANARY002": "these move: retriever model, "}),
    "reranker, its learner": (
        plants.learner_is_taught_eval,
        {
            "CANARY001": "these move: words model, words best, ",
            "CANARY003": "it knows labels that nobody could know",
            "CANARY004": "gate hears words best (AUROC 1.000",
        },
    ),
    "reranker, its vocabulary": (plants.words_of_gold_sentences, {"CANARY002": "these move: words space"}),
    "graph reranker": (plants.graph_passes_gold_on, {"CANARY001": "these move: graph best, graph mean, "}),
    "dynamic K": (
        plants.gamma_is_tuned_on_eval,
        {"CANARY001": "node probability of the best, selected K, selected sentences"},
    ),
    "no-evidence gate": (
        plants.gate_counts_gold,
        {
            "CANARY001": "these move: gate hears richness, gate score, ",
            "CANARY003": "AUROC within criteria 1.000",
            "CANARY004": "gate hears richness (AUROC 1.000",
        },
    ),
    "three-state gate": (
        plants.taus_are_tuned_on_eval,
        {"CANARY001": "calibration, tau_neg, tau_pos, calibrated probability, state, selected K"},
    ),
}


@pytest.mark.sample(every=4)
@pytest.mark.parametrize(("plant", "caught_by"), LEAKS.values(), ids=LEAKS.keys())
def test_a_leak_in_any_stage_is_found_and_named(
    plant: Plant, caught_by: dict[str, str], corpus: Posts, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    found = found_in(corpus)
    assert {code for code, finding in found.items() if finding.status == "failed"} == caught_by.keys(), found
    for code, words in caught_by.items():
        assert words in found[code].message


@pytest.mark.slow
def test_a_stage_that_is_not_seeded_is_told_from_a_leak(corpus: Posts, monkeypatch: pytest.MonkeyPatch) -> None:
    plants.retriever_is_not_seeded(monkeypatch)
    finding = found_in(corpus)["CANARY001"]
    assert finding.status == "failed"
    assert finding.message.startswith("two runs on the same labels differ: seed the pipeline")
    assert "(these move: retriever best, " in finding.message


def test_names_that_stages_report_are_looked_at() -> None:
    finding = names_finding(("retriever 1", "graph n_gold", "graph n_gold"))
    assert (finding.code, finding.status, finding.looked) == ("FEAT001", "failed", 2)
    assert "graph_n_gold" in finding.message
    assert names_finding(()).status == "skipped"


def test_it_says_what_a_run_writes(corpus: Posts, tmp_path: Path) -> None:
    """The adapter is no second pipeline: scores and selections are those in the tables of a run with the same fold."""
    ours = annotated_posts(corpus, list(range(len(corpus))))
    asked, learnt = ours[:25], ours[25:]
    pipeline = ConfiguredPipeline(system(), corpus.criteria)
    pipeline.fit(learnt, labels_of(learnt))
    features = pipeline.features(asked)
    part = ["0" if place < 25 else "1" for place in range(len(corpus))]
    folds = existing_folds(corpus.post_ids, part, seed=pipeline.system.seed)
    plan = Plan(pipeline.system, corpus, folds, final=False)
    compute(plan, Checkpoints(tmp_path), workers=1)
    written = tables_of(plan, Checkpoints(tmp_path), full(plan.system)).per_query.head(100)  # of the first fold
    assert written["post_id"].unique(maintain_order=True).to_list() == [post.post_id for post in asked]
    assert pipeline.predict(asked).ravel().tolist() == written["detection_score"].to_list()
    returned = [len(uids.split("|")) if uids else 0 for uids in written["selected_sent_uids"]]
    assert features.values[:, features.names.index("selected K")].tolist() == returned
    assert len(set(returned)) > 2


def test_gold_follows_the_labels(corpus: Posts) -> None:
    assert corpus.gold is not None
    ours = annotated_posts(corpus, list(range(len(corpus))))
    again = corpus_of(ours[::-1], corpus.criteria)
    assert (again.post_ids, again.texts) == (corpus.post_ids, corpus.texts)
    assert np.array_equal(again.gold, corpus.gold)
    for post in ours:
        turned = tuple(not label for label in post.labels)
        gold = gold_under(Post(post.post_id, post.content, turned), corpus.criteria)
        assert gold.sum(0).tolist() == [
            int(label) for label in turned
        ]  # none where there was some, one where there was none
        assert np.array_equal(gold, gold_under(Post(post.post_id, post.content, turned), corpus.criteria))


def test_posts_that_cannot_be_used_are_refused(corpus: Posts) -> None:
    ours = annotated_posts(corpus, list(range(len(corpus))))
    pipeline = ConfiguredPipeline(system(), corpus.criteria)
    pipeline.fit(ours, labels_of(ours))
    with pytest.raises(InputError, match="others to be asked about"):
        pipeline.predict(ours)
    pipeline.fit(ours[:50], np.zeros((50, 4), bool))
    with pytest.raises(InputError, match=r"TUNE has 15 posts, none with evidence; .*\. Give more posts"):
        pipeline.predict(ours[50:])
    pipeline.fit(ours[:50], labels_of(ours[:50]))
    with pytest.raises(InputError, match="holds its sentences"):
        pipeline.predict([Post("other", "a text", (False,) * 4)])
