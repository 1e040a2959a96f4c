"""Trees as arrays say what scikit-learn says."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier

from evidentia.array_types import Bools, Floats
from evidentia.pipeline.stage import Parts
from evidentia.pipeline.stages import boosting
from evidentia.pipeline.stages.boosting import fit_trees, predict_trees


def made(seed: int, rows: int = 200, *, whole: bool = False) -> tuple[Floats, Bools]:
    """Features, whole numbers for ties, and labels that depend on two of them together."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 4, (rows, 5)).astype(float) if whole else rng.normal(size=(rows, 5))
    labels = rng.random(rows) < 1 / (1 + np.exp(-3 * (features[:, 0] - features[:, 0].mean()) * features[:, 1]))
    labels[:2] = [True, False]
    return features, labels


def theirs(
    features: Floats, labels: Bools, *, leaves: int, smallest: int, seed: int, trees: int
) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=trees,
        learning_rate=0.05,
        max_leaf_nodes=leaves,
        min_samples_leaf=smallest,
        max_features=0.7,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    ).fit(features, labels)


def by_hand(model: Parts, row: list[float]) -> float:
    """Rule out leaves question by question, and add up the first that is left of every tree."""
    total = float(model.document["baseline"])
    for feature, threshold, mask, value in zip(
        *(model.arrays[key].tolist() for key in ("feature", "threshold", "mask", "value")), strict=True
    ):
        possible = set(range(16))
        for which, limit, left_over in zip(feature, threshold, mask, strict=True):
            if row[which] > limit:
                possible -= {leaf for leaf in range(16) if not left_over >> leaf & 1}
        total += value[min(possible)]
    return total


def test_one_question_has_two_answers() -> None:
    """A hundred rows at 0 without, a hundred at 1 with the label: one tree of two leaves asks whether it is above 0.5."""
    features = np.repeat([[0.0], [1.0]], 100, axis=0)
    model = fit_trees(features, features[:, 0] > 0, trees=1, rate=0.1, leaves=2, smallest=50, seed=0)
    assert model.document["baseline"] == pytest.approx(0.0)
    assert model.arrays["threshold"][0, 0] == pytest.approx(0.5)
    assert np.isinf(model.arrays["threshold"][0, 1:]).all()
    step = (
        0.1 * 50 / (25 + 1)
    )  # the rate, times the sum of gradients (1/2 each) over that of hessians (1/4 each) and l2 = 1
    assert predict_trees(model, np.array([[0.0], [0.5], [0.5000001], [9.0]])) == pytest.approx(
        [-step, -step, step, step]
    )


@pytest.mark.parametrize(("label", "odds"), [(True, 6.0), (False, -6.0)])
def test_labels_of_one_class_give_a_constant(label: bool, odds: float) -> None:
    model = fit_trees(np.zeros((5, 2)), np.full(5, label), seed=0)
    assert predict_trees(model, np.ones((3, 2))).tolist() == [odds] * 3


def test_too_few_rows_for_a_question_give_the_prior() -> None:
    features, labels = made(0, 40)
    model = fit_trees(features, labels, trees=3, smallest=50, seed=0)
    prior = labels.mean()
    assert predict_trees(model, features[:2]) == pytest.approx([np.log(prior / (1 - prior))] * 2)


def test_no_rows_get_no_answer() -> None:
    features, labels = made(0)
    model = fit_trees(features, labels, trees=2, smallest=5, seed=0)
    assert predict_trees(model, np.zeros((0, 5))).shape == (0,)


def test_the_size_of_the_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels = made(1)
    model = fit_trees(features, labels, trees=10, smallest=5, seed=0)
    whole = predict_trees(model, features)
    monkeypatch.setattr(boosting, "_CHUNK", 7)
    assert predict_trees(model, features).tobytes() == whole.tobytes()
    assert predict_trees(model, features[3:4])[0] == whole[3]


def test_trees_survive_a_file_without_code() -> None:
    features, labels = made(2)
    model = fit_trees(features, labels, trees=10, smallest=5, seed=0)
    file = io.BytesIO()
    np.savez(file, **model.arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as saved:
        again = Parts({"baseline": float(repr(model.document["baseline"]))}, dict(saved))
    assert predict_trees(again, features).tobytes() == predict_trees(model, features).tobytes()


def test_the_same_seed_gives_the_same_trees_and_another_one_others() -> None:
    features, labels = made(3)
    one, same, other = (fit_trees(features, labels, trees=5, smallest=5, seed=seed) for seed in (0, 0, 1))
    assert one.arrays["threshold"].tobytes() == same.arrays["threshold"].tobytes()
    assert one.arrays["threshold"].tobytes() != other.arrays["threshold"].tobytes()


def test_another_layout_of_the_nodes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = boosting._questions
    monkeypatch.setattr(boosting, "_questions", lambda nodes: (right(nodes)[0], right(nodes)[1][::-1]))
    features, labels = made(4)
    with pytest.raises(RuntimeError, match="lays out its trees in another way"):
        fit_trees(features, labels, trees=2, smallest=5, seed=0)


@settings(max_examples=20, deadline=None)
@given(leaves=st.integers(2, 16), seed=st.integers(0, 1000), whole=st.booleans(), single=st.booleans())
def test_against_scikit_learn_and_against_a_walk_by_hand(leaves: int, seed: int, whole: bool, single: bool) -> None:
    features, labels = made(seed, whole=whole)
    given_ = features.astype(np.float32) if single else features
    model = fit_trees(given_, labels, trees=6, leaves=leaves, smallest=3, seed=seed)
    peer = theirs(given_, labels, leaves=leaves, smallest=3, seed=seed, trees=6)
    np.testing.assert_allclose(predict_trees(model, given_), peer.decision_function(given_), atol=1e-12)
    unseen = np.random.default_rng(seed + 1).normal(scale=3, size=(50, 5))
    np.testing.assert_allclose(predict_trees(model, unseen), peer.decision_function(unseen), atol=1e-12)
    assert predict_trees(model, unseen[:3]) == pytest.approx(
        [by_hand(model, row) for row in unseen[:3].tolist()], abs=1e-12
    )


@settings(max_examples=20, deadline=None)
@given(leaves=st.integers(2, 16), seed=st.integers(0, 1000), whole=st.booleans())
def test_rows_exactly_at_a_threshold_and_beside_it(leaves: int, seed: int, whole: bool) -> None:
    features, labels = made(seed, whole=whole)
    model = fit_trees(features, labels, trees=4, leaves=leaves, smallest=3, seed=seed)
    peer = theirs(features, labels, leaves=leaves, smallest=3, seed=seed, trees=4)
    asked = np.isfinite(model.arrays["threshold"])
    which, limits = model.arrays["feature"][asked], model.arrays["threshold"][asked]
    rows = []
    for feature, limit in zip(which.tolist(), limits.tolist(), strict=True):
        for value in (np.nextafter(limit, -np.inf), limit, np.nextafter(limit, np.inf)):
            row = features[len(rows) % len(features)].copy()
            row[feature] = value
            rows.append(row)
    np.testing.assert_allclose(predict_trees(model, np.array(rows)), peer.decision_function(np.array(rows)), atol=1e-12)


@given(seed=st.integers(0, 2**16), rows=st.integers(1, 700))
@settings(max_examples=20)
def test_few_rows_get_the_bits_of_many(seed: int, rows: int) -> None:
    features, labels = made(seed, 700, whole=seed % 2 == 0)
    model = fit_trees(features, labels, trees=30, smallest=5, seed=0)
    together = boosting._sum_of_leaves(model, np.ascontiguousarray(features.T))
    alone = boosting._sum_of_few(model, np.ascontiguousarray(features[:rows].T))
    assert alone.tobytes() == together[:rows].tobytes()
