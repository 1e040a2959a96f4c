"""What is certain to fail after training is refused before it, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.posts import MOOD, SLEEP, posts_of
from evidentia.corpus import Posts
from evidentia.errors import InputError
from evidentia.pipeline.build import system_of
from evidentia.pipeline.outputs import final_decider, tables_of
from evidentia.pipeline.plan import FINAL, Plan, refuse_too_few
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import full
from evidentia.pipeline.work import compute
from sampling import examples

from .configs import config

WORDS = ("sleep", "night", "mood", "rain", "bread", "river", "train", "coffee", "book", "walk", "cat", "cry")
NOTHING = {
    "retriever": {"kind": "bm25", "keep": 24},
    "reranker": {"kind": "none"},
    "graph": {"kind": "none"},
}  # learns


def corpus(evidence: list[bool], texts: list[int] | None = None) -> Posts:
    """Posts of two sentences, the first of which is gold for one criterion or for none; equal numbers are copies."""
    chosen = range(len(evidence)) if texts is None else texts
    said = [[f"{WORDS[at % 12]} {WORDS[at // 12]} {at}", f"{WORDS[at // 12]} here {at}"] for at in chosen]
    gold = [row for has in evidence for row in ([has, False], [False, False])]
    return posts_of(*said, criteria=(SLEEP, MOOD), gold=gold)


def plan_of(posts: Posts, *, folds: int = 2, final: bool = False, **tables: Any) -> Plan:
    return Plan.of(system_of(config(**tables)), posts, folds=folds, final=final)


def refusal(plan: Plan) -> str:
    """Why a plan is refused; empty where it is not."""
    try:
        refuse_too_few(plan)
    except InputError as error:
        return str(error)
    return ""


def half(posts: int, seed: int) -> Posts:
    """Every second post, by chance, has evidence."""
    return corpus((np.random.default_rng(seed).permutation(posts) < posts // 2).tolist())


def test_what_tune_lacks_is_counted_and_what_would_do_is_said() -> None:
    said = refusal(plan_of(corpus([True] + [False] * 9), folds=5))
    assert said.startswith("Scores in 5 of 5 folds (first: fold 0) cannot be made probabilities: TUNE has 3 posts, ")
    assert said.endswith("at least 2 are needed to compare calibrators. Give the corpus more such posts.")
    said = refusal(plan_of(corpus([False] * 12), gate={"calibrate": "platt"}))
    assert "none with evidence; at least 1 is needed. Give the corpus more such posts." in said


def test_another_calibrator_is_named_exactly_where_it_would_do() -> None:
    named = set()
    for seed in range(30):
        said, other = (
            refusal(plan_of(half(14, seed), protocol={"seed": seed}, gate={"calibrate": calibrate}))
            for calibrate in ("auto", "isotonic")
        )
        if said:
            named.add('or set [gate] calibrate = "isotonic", which compares nothing' in said)
            assert (other == "") == ("isotonic" in said)
    assert named == {True, False}


@pytest.mark.slow
def test_the_model_for_use_can_be_left_out() -> None:
    found = {
        refusal(plan_of(half(16, seed), protocol={"seed": seed}, final=True))
        for seed in range(200)
        if not refusal(plan_of(half(16, seed), protocol={"seed": seed}))
    }
    found.remove("")
    assert found
    for said in found:
        assert said.startswith("Scores of the model for use cannot be made probabilities: TUNE has 5 posts, ")
        assert said.endswith("or set [run] final_model = false.")


def test_copies_of_one_text_cannot_be_cross_fitted_on() -> None:
    posts = corpus([True, False] * 9, texts=[at % 5 for at in range(18)])
    plan = plan_of(posts, gate={"calibrate": "isotonic"})
    assert "TRAIN posts are copies of one text and must not be parted" in refusal(plan)
    assert refusal(plan_of(posts, gate={"calibrate": "isotonic", "kind": "best"}, **NOTHING)) == ""


@examples(40)
@given(
    st.lists(st.booleans(), min_size=6, max_size=20),
    st.sampled_from(["auto", "isotonic"]),
    st.sampled_from([2, 3]),
    st.integers(0, 2**20),
)
def test_a_plan_is_refused_exactly_where_it_would_fail(
    evidence: list[bool], calibrate: str, folds: int, seed: int
) -> None:
    gate = {"calibrate": calibrate, "kind": "best"}
    plan = plan_of(corpus(evidence), folds=folds, final=True, protocol={"seed": seed}, gate=gate, **NOTHING)
    with TemporaryDirectory() as folder:
        assert bool(refusal(plan)) == fails(plan, Checkpoints(Path(folder)))


def fails(plan: Plan, store: Checkpoints) -> bool:
    """Whether a run would fail, up to the last thing that is tuned."""
    try:
        compute(plan, store, workers=1)
        tables_of(plan, store, full(plan.system))
        (last,) = (division for division in plan.divisions() if division.fold == FINAL)
        final_decider(plan, store, last, full(plan.system))
    except InputError:
        return True
    return False
