"""What a run writes: tables that read back, and an answer instead of an accident where a fold cannot be tuned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evidentia.corpus import Posts
from evidentia.errors import InputError
from evidentia.pipeline.build import system_of
from evidentia.pipeline.config import parse_config
from evidentia.pipeline.outputs import final_decider, tables_of, write_tables
from evidentia.pipeline.plan import Plan
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import ablation, baseline, full
from evidentia.pipeline.work import compute
from evidentia.pipeline.workspace import start
from evidentia.protocol import apply_tuning
from evidentia.synth import synthetic_corpus
from evidentia.tables import read_run

LOGISTIC = {"learners": ["words"], "model": "logistic"}
CHEAP = {
    "corpus": {"path": "synthetic"},
    "protocol": {"folds": 2},
    "reranker": LOGISTIC,
    "graph": {"kind": "propagation"},
    "gate": {"model": "logistic"},
}


def begun(posts: Posts, folder: Path) -> tuple[Plan, Checkpoints]:
    system = system_of(parse_config(CHEAP, base=Path()))
    plan = Plan.of(system, posts, folds=2, final=False)
    store = start(folder, "mark", resume=False)
    compute(plan, store, workers=1)
    return plan, store


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Checkpoints]:
    return begun(synthetic_corpus(posts=60), tmp_path_factory.mktemp("run") / "out")


def test_every_query_is_judged_once_and_tuned_on_in_the_folds_where_it_is_not(run: tuple[Plan, Checkpoints]) -> None:
    plan, store = run
    tables = tables_of(plan, store, full(plan.system))
    assert tables.per_query.height == 600
    assert tables.per_query.select("post_id", "criterion_id").is_unique().all()
    for fold in ("0", "1"):
        judged = set(tables.per_query.filter(fold=fold)["post_id"])
        tuned = set(tables.tune.filter(fold=fold)["post_id"])
        assert judged
        assert tuned
        assert not judged & tuned
        (made,) = [one for one in tables.deciders if one.tuning.fold == fold]
        assert set(made.tune_posts) == tuned
        assert made.tuning.posts == tuned


def test_selected_sentences_lead_the_ranking_and_neg_returns_nothing(
    run: tuple[Plan, Checkpoints], tmp_path: Path
) -> None:
    plan, store = run
    tables = write_tables(tables_of(plan, store, full(plan.system)), tmp_path)
    read = read_run(
        tmp_path / "per_query.parquet", candidates=tmp_path / "candidates.parquet", tune=tmp_path / "tune.parquet"
    )
    applied = apply_tuning(read, tables.tuning)
    frame = applied.frame
    for state, ranked, selected in frame.select("state", "ranked_sent_uids", "selected_sent_uids").iter_rows():
        assert ranked[: len(selected)] == selected
        assert (state == "NEG") == (not selected)
        assert len(ranked) <= 10
    # the thresholds empty nothing: the selection was made under the very same states
    assert frame["selected_sent_uids"].to_list() == read.frame["selected_sent_uids"].to_list()


def test_candidates_are_all_sentences_and_those_cut_off_come_last(run: tuple[Plan, Checkpoints]) -> None:
    plan, store = run
    tables = tables_of(plan, store, full(plan.system))
    assert tables.candidates.height == len(plan.posts.texts) * 10
    ranked = {
        (post, criterion): uids.split("|")
        for post, criterion, uids in tables.per_query.select("post_id", "criterion_id", "ranked_sent_uids").iter_rows()
    }
    for (post, criterion), group in tables.candidates.group_by("post_id", "criterion_id"):
        ordered = group.sort("score", descending=True, maintain_order=True)["sent_uid"].to_list()
        kept = ranked[post, criterion]
        assert ordered[: len(kept)] == kept
        cut = group.filter(~group["sent_uid"].is_in(kept))
        assert (cut["node_prob"] == 0).all()


def test_an_ablation_has_six_configurations_and_a_baseline(run: tuple[Plan, Checkpoints]) -> None:
    plan, store = run
    variants = ablation(plan.system)
    names = [variant.name for variant in variants]
    assert names == [
        *("retriever", "+ reranker", "+ graph reranker", "+ dynamic K", "+ no-evidence gate", "+ three-state gate"),
    ]
    first = baseline(plan.system)
    assert first is not None
    uncut = tables_of(plan, store, first).per_query
    lengths = uncut["ranked_sent_uids"].str.split("|").list.len()
    assert lengths.to_list() == uncut["n_candidates"].to_list()
    assert "selected_sent_uids" not in uncut.columns
    open_gate = tables_of(plan, store, variants[3])
    assert (open_gate.per_query["selected_sent_uids"] != "").all()


def test_a_retriever_may_learn(tmp_path: Path) -> None:
    system = system_of(
        parse_config(
            CHEAP | {"retriever": {"kind": "words", "keep": 4}, "reranker": {"keep": 4, **LOGISTIC}}, base=Path()
        )
    )
    plan = Plan.of(system, synthetic_corpus(posts=60), folds=2, final=False)
    store = start(tmp_path / "out", "mark", resume=False)
    compute(plan, store, workers=1)
    np.testing.assert_array_equal(store.scores("0", "retriever"), store.scores("0", "words"))
    assert tables_of(plan, store, full(system)).per_query["ranked_sent_uids"].str.split("|").list.len().max() == 4


def test_a_fold_without_evidence_to_tune_on_is_an_input_error(tmp_path: Path) -> None:
    posts = synthetic_corpus(posts=30)
    assert posts.gold is not None
    gold = np.zeros_like(posts.gold)
    gold[0, 0] = True
    plan, store = begun(posts.relabelled(gold), tmp_path / "out")
    with pytest.raises(InputError, match=r"Give more posts with evidence|cannot be made probabilities"):
        tables_of(plan, store, full(plan.system))


def test_a_model_for_use_that_may_say_nothing_says_nothing(tmp_path: Path) -> None:
    """Where no threshold keeps the rule on TUNE, everything is rejected, in use as in every fold."""
    posts = synthetic_corpus(posts=40)
    noise = np.random.default_rng(1).random((len(posts.texts), len(posts.criteria))) < 0.05
    rule = {"three_state": {"rule": "fpr=0.001%"}, "gate": {"kind": "best", "calibrate": "isotonic"}}
    rule |= {"protocol": {"folds": 2, "min_posts": 1}, "retriever": {"kind": "bm25"}, "reranker": {"kind": "none"}}
    plan = Plan.of(system_of(parse_config(CHEAP | rule, base=Path())), posts.relabelled(noise), folds=2)
    store = start(tmp_path / "out", "mark", resume=False)
    compute(plan, store, workers=1)
    final = final_decider(plan, store, plan.divisions()[-1], full(plan.system))
    assert final.tuning.taus == {"tau": None}
    assert set(final.states(np.linspace(0, 1, 9))[1].tolist()) == {0}
