"""What TUNE lacks is known before there is a score, and a second implementation that has scores agrees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evidentia
from evidentia.protocol import Provenance, choose_calibrator
from evidentia.protocol.calibration import shortage
from evidentia.verify import calibrators
from evidentia.verify.tuning import TuneRow

WITH, WITHOUT = (True, False), (False, False)


def lacks(*posts: tuple[bool, ...], method: str = "auto", seed: int = 7) -> str | None:
    """The counts of posts with these labels of their queries."""
    names = [f"p{at}" for at in range(len(posts))]
    labels = np.array([label for post in posts for label in post], bool)
    owner = np.repeat(np.arange(len(posts)), [len(post) for post in posts])
    found = shortage(labels, owner, names, method=method, seed=seed)
    return None if found is None else found.counts


@pytest.mark.parametrize(
    ("posts", "method", "counts"),
    [
        ((), "auto", "0 posts, none with evidence; at least 2 are needed to compare calibrators"),
        ((WITHOUT,) * 3, "auto", "3 posts, none with evidence; at least 2 are needed to compare calibrators"),
        ((WITHOUT,) * 3, "platt", "3 posts, none with evidence; at least 1 is needed"),
        (((True, True),) * 3, "isotonic", "3 posts, none with a query without evidence; at least 1 is needed"),
        ((WITH,), "auto", "1 post, 1 with evidence; at least 2 are needed to compare calibrators"),
        ((WITH, WITHOUT, WITHOUT), "auto", "3 posts, 1 with evidence; at least 2 are needed to compare calibrators"),
        (
            (WITH, (True, True)),
            "auto",
            "2 posts, 1 with a query without evidence; at least 2 are needed to compare calibrators",
        ),
        ((WITH, WITHOUT, WITHOUT), "isotonic", None),
        ((WITH, WITH), "auto", None),
        ((WITH, WITH, WITHOUT, WITHOUT, WITHOUT), "auto", None),
    ],
)
def test_posts_are_counted(posts: tuple[tuple[bool, ...], ...], method: str, counts: str | None) -> None:
    assert lacks(*posts, method=method) == counts


def test_two_posts_with_evidence_may_be_held_out_together() -> None:
    """Of nine posts the last of five parts has five: six posts with evidence cannot all be in one part."""
    found = {lacks(WITH, WITH, *[WITHOUT] * 7, seed=seed) for seed in range(30)}
    together = "all in one of the parts that calibrators are compared on, and 6 are always enough"
    assert found == {None, f"9 posts, 2 with evidence; {together}"}
    assert {lacks(*[WITH] * 6, *[WITHOUT] * 3, seed=seed) for seed in range(30)} == {None}


@settings(deadline=None)
@given(
    st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=12),
    st.sampled_from(["auto", "isotonic"]),
    st.integers(0, 2**20),
)
def test_a_second_implementation_refuses_the_same(posts: list[list[bool]], method: str, seed: int) -> None:
    names = [f"p{at}" for at in range(len(posts))]
    rng = np.random.default_rng(seed)
    rows = [
        TuneRow(name, str(at), label, score, score)
        for name, labels in zip(names, posts, strict=True)
        for at, (label, score) in enumerate(zip(labels, rng.random(len(labels)).tolist(), strict=True))
    ]
    labels, owner = np.array([row.label for row in rows]), np.array([names.index(row.post) for row in rows])
    found = shortage(labels, owner, names, method=method, seed=seed)
    theirs = calibrators.choose(method, "none", rows, seed, is_prob=True)
    assert (None if found is None else found.reason) == theirs.reason


def test_a_score_that_is_no_probability_is_refused_with_counts() -> None:
    made = Provenance("3", "detection_score", ("a", "b", "c"))
    labels = np.array([True, False, False, False, False, False])

    def choose(method: str) -> object:
        return choose_calibrator(
            np.array([2.0, 1.0, 0.0, 0.5, 0.3, 0.1]),
            labels,
            np.repeat(np.arange(3), 2),
            method=method,
            tuned_on=made,
            seed=7,
        )

    with pytest.raises(evidentia.InputError) as caught:
        choose("auto")
    assert str(caught.value) == (
        "The scores of fold 3 cannot be made probabilities: TUNE has 3 posts, 1 with evidence; at least 2 are needed to compare "
        "calibrators. Give more such posts, or calibrate by isotonic."
    )
    with pytest.raises(evidentia.InputError, match=r"labels that are separated\. Give more posts, or calibrate by iso"):
        choose("platt")
    assert choose("isotonic") is not None
