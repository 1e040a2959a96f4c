"""The retriever that adapts: what it weighs, and where it cuts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builders.posts import posts_of, taught
from evidentia.errors import InputError
from evidentia.pipeline.build import system_of
from evidentia.pipeline.config import parse_config
from evidentia.pipeline.outputs import tables_of
from evidentia.pipeline.plan import Plan
from evidentia.pipeline.stage import View, ranks
from evidentia.pipeline.stages.adaptive import Adaptive, AutoCut
from evidentia.pipeline.stages.classifiers import Lexical
from evidentia.pipeline.stages.retrievers import Bm25, Heard
from evidentia.pipeline.system import AUTO, Step, full
from evidentia.pipeline.work import compute, cut_of
from evidentia.pipeline.workspace import start
from evidentia.synth import synthetic_corpus
from pipeline.stages.bench import after, claims_of_a_stage, corpus, division

STAGE = Adaptive((Heard("words"), Bm25()), AutoCut(least=2, most=6))


@pytest.fixture(scope="module")
def view() -> View:
    return after([Step("words", Lexical())], corpus(), division())


@pytest.mark.parametrize(
    "stage", [STAGE, Adaptive((Bm25(),), AutoCut(0.5, least=1)), Adaptive((Heard("words"), Bm25()))]
)
def test_a_retriever_that_adapts_keeps_its_promises(stage: Adaptive, view: View) -> None:
    claims_of_a_stage(stage, view, corpus(), division())


@pytest.mark.parametrize(
    ("share", "least", "most", "keep"),
    [
        (0.5, 1, 99, 2),
        (0.51, 1, 99, 4),
        (0.75, 1, 99, 4),
        (0.76, 1, 99, 10),
        (1.0, 1, 99, 10),
        (1.0, 1, 8, 8),
        (0.5, 5, 99, 5),
    ],
)
def test_the_smallest_cut_that_keeps_the_share(share: float, least: int, most: int, keep: int) -> None:
    """Gold at ranks 1, 2, 4 and 10: two keep half of it, four keep three quarters, ten keep all."""
    place = np.array([3, 0, 9, 1])
    chosen = AutoCut(share, least, most).chosen(place)
    assert chosen == {"keep": keep, "tune_recall": (place < keep).mean(), "tune_gold": 4}


def test_without_gold_in_tune_the_cut_is_the_largest() -> None:
    assert AutoCut(most=30).chosen(np.array([], int)) == {"keep": 30, "tune_recall": None, "tune_gold": 0}


@pytest.mark.parametrize("settings", [(0.0, 1, 2), (1.1, 1, 2), (0.9, 0, 2), (0.9, 3, 2)])
def test_a_cut_that_cannot_be_is_refused(settings: tuple[float, int, int]) -> None:
    with pytest.raises(InputError, match="A cut keeps"):
        AutoCut(*settings)


def test_a_stage_that_learns_is_no_part() -> None:
    with pytest.raises(InputError, match="learn nothing from labels"):
        Adaptive((Lexical(),))


def test_the_cut_keeps_what_it_says_of_tune(view: View) -> None:
    posts, parted = corpus(), division()
    outcome = claims_of_a_stage(STAGE, view, posts, parted)
    tune, rows = posts.take(parted.tune), posts.sentences_of(parted.tune)
    assert tune.gold is not None
    place = ranks(outcome.scores[rows], np.ones_like(tune.gold), tune.offsets)[tune.gold]
    keep = outcome.model.document["keep"]
    assert outcome.model.document["tune_recall"] == (place < keep).mean()
    assert keep == 6 or (place < keep - 1).mean() < 0.99 <= (place < keep).mean()


def test_a_ranking_that_is_noise_hardly_counts() -> None:
    """The step before knows the gold, BM25 finds the words of the criterion in the other sentences."""
    posts = posts_of(*[["it rains", "sleeps badly at night"]] * 40, gold=[[1, 0], [0, 0]] * 40)
    told = np.zeros((80, 2))
    told[::2, 0] = 1.0
    view = View.of(posts).with_scores("words", told + 0.01 * np.random.default_rng(0).normal(size=told.shape))
    _, model, scores = taught(Adaptive((Heard("words"), Bm25())), posts, view)
    assert model.arrays["weights"][0] > 0 > model.arrays["weights"][1]
    assert (scores[::2, 0] > scores[1::2, 0]).all()


def test_a_criterion_that_nobody_was_labelled_for_is_ranked_by_its_words(view: View) -> None:
    """The classifier says the same of every sentence there, and BM25 orders them."""
    posts = corpus()
    assert posts.gold is not None
    told = np.array(view.scores["words"])
    told[:, 0] = -6.0
    blind = View.of(posts).with_scores("words", told)
    _, _, scores = taught(Adaptive((Heard("words"), Bm25())), posts, blind)
    lexical = taught(Bm25(), posts)[2][:, 0]
    assert (np.diff(scores[np.argsort(lexical), 0]) >= 0).all()
    assert len(np.unique(scores[:, 0])) == len(np.unique(lexical)) > 1


def test_the_default_learns_words_once_and_its_cut_travels_with_the_fold(tmp_path: Path) -> None:
    tables = {"corpus": {"path": "synthetic"}, "reranker": {"model": "logistic", "learners": ["words"]}}
    system = system_of(parse_config(tables, base=Path()))
    assert [step.name for step in system.steps][:4] == ["words", "bm25", "retriever", "reranker"]
    assert system.steps[2].keep == AUTO
    plan = Plan.of(system, synthetic_corpus(posts=60), folds=2, final=False)
    store = start(tmp_path / "out", "mark", resume=False)
    compute(plan, store, workers=1)
    for decider in tables_of(plan, store, full(system)).deciders:
        keep = cut_of(system.steps[2], store, str(decider.tuning.fold))
        assert decider.to_dict()["keep"] == {"retriever": keep}
        assert 24 <= keep <= 64  # type: ignore[operator]


def test_a_list_without_words_is_fused_and_cut_too() -> None:
    text = {"corpus": {"path": "synthetic"}, "retriever": {"kind": ["bm25", "minilm"], "fusion": "rrf"}}
    first = system_of(parse_config(text, base=Path())).steps[1]
    assert isinstance(first.stage, Adaptive)
    assert (len(first.stage.parts), first.keep) == (1, AUTO)


def test_the_ablation_of_the_contract_is_still_there() -> None:
    text = {"corpus": {"path": "synthetic"}, "retriever": {"kind": "bm25", "keep": 24}}
    first = system_of(parse_config(text, base=Path())).steps[0]
    assert first == Step("retriever", Bm25(min_posts=3), 24)
