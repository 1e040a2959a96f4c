"""One outer fold: who learns from whom, and that nothing else leaves a trace in the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from builders.posts import divided, permuted, posts_of
from evidentia.array_types import Floats, Ints
from evidentia.corpus import Criterion, Posts
from evidentia.corpus.posts import rows_of
from evidentia.errors import InputError
from evidentia.pipeline.plan import Division
from evidentia.pipeline.stage import Lesson, Parts, Per, StepResult, View
from evidentia.pipeline.stages.classifiers import Lexical
from evidentia.pipeline.stages.gate import BestCandidate, PooledGate
from evidentia.pipeline.stages.ltr import LearnToRank
from evidentia.pipeline.stages.propagation import Propagation
from evidentia.pipeline.stages.retrievers import Bm25
from evidentia.pipeline.system import Step
from evidentia.pipeline.work import run_step
from evidentia.protocol.folds import InnerSplit
from evidentia.synth import synthetic_corpus

Names = frozenset[str]
STEPS = (
    Step("retriever", Bm25(), keep=8),
    Step("words", Lexical()),
    Step("characters", Lexical("characters")),
    Step("reranker", LearnToRank(trees=10), keep=4),
    Step("linear", LearnToRank("logistic")),
    Step("graph", Propagation()),
    Step("best", BestCandidate()),
    Step("gate", PooledGate(trees=10)),
)


def run(
    posts: Posts,
    steps: tuple[Step, ...] = STEPS,
    *,
    division: Division | None = None,
    seed: int = 0,
    threads: int = 1,
) -> dict[str, StepResult]:
    """All steps of one fold after each other, each under its name."""
    assert posts.gold is not None
    view, outcomes = View.of(posts), {}
    division = divided(posts) if division is None else division
    for step in steps:
        outcomes[step.name] = run_step(step, view, division, posts.gold, seed=seed, threads=threads)
        if step.stage.per == "sentence":
            view = view.with_scores(step.name, outcomes[step.name].scores)
            view = view if step.keep is None else view.narrowed(step.name, step.keep)
    return outcomes


def all_bytes(outcomes: dict[str, StepResult]) -> dict[str, bytes]:
    """Everything that was said or learnt."""
    found = {}
    for name, outcome in outcomes.items():
        found[name] = outcome.scores.tobytes()
        for part in (outcome.space, outcome.model):
            found |= {f"{name} {key}": repr(value).encode() for key, value in part.document.items()}
            found |= {f"{name} {key}": value.tobytes() for key, value in part.arrays.items()}
    return found


@pytest.fixture(scope="module")
def corpus() -> Posts:
    return synthetic_corpus(posts=48, mean_sentences=9, seed=3)


@pytest.fixture(scope="module")
def outcomes(corpus: Posts) -> dict[str, StepResult]:
    return run(corpus)


@dataclass(frozen=True)
class Named:
    """Inputs that are nothing but the names of the posts and how many rows they have."""

    ids: tuple[str, ...]
    lengths: Ints
    criteria: int

    def take(self, posts: Ints) -> Named:
        return Named(tuple(self.ids[post] for post in posts.tolist()), self.lengths[posts], self.criteria)


@dataclass
class Recorder:
    """A stage that writes down what it is shown; its score is the number of the model that was asked."""

    learns: bool = True
    per: Per = "sentence"
    spaces: list[Names] = field(default_factory=list)
    saw: list[Names] = field(default_factory=list)
    saw_gold_of: list[Names] = field(default_factory=list)
    tuned_on: list[Names] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    asked: dict[int, Names] = field(default_factory=dict)

    def space(self, train: View) -> Parts:
        assert train.posts.gold is None
        self.spaces.append(frozenset(train.posts.post_ids))
        return Parts()

    def inputs(self, space: Parts, view: View) -> Named:
        assert view.posts.gold is None
        return Named(view.posts.post_ids, view.posts.lengths, len(view.posts.criteria))

    def fit_each(self, inputs: Named, lessons: Sequence[Lesson], *, seed: int, threads: int) -> list[Parts]:
        return [self.fit(inputs, lesson, seed=seed + number) for number, lesson in enumerate(lessons)]

    def fit(self, inputs: Named, lesson: Lesson, *, seed: int) -> Parts:
        owner = np.repeat(np.arange(len(inputs.ids)), inputs.lengths)
        self.saw.append(frozenset(inputs.ids[post] for post in lesson.posts.tolist()))
        self.saw_gold_of.append(frozenset(inputs.ids[post] for post in owner[lesson.gold.any(axis=1)].tolist()))
        self.tuned_on.append(frozenset(inputs.ids[post] for post in lesson.tune.tolist()))
        self.seeds.append(seed)
        return Parts({"number": len(self.saw)})

    def score(self, space: Parts, model: Parts, inputs: Named) -> Floats:
        number = int(model.document["number"])
        self.asked[number] = self.asked.get(number, frozenset()) | frozenset(inputs.ids)
        rows = len(inputs.ids) if self.per == "post" else int(inputs.lengths.sum())
        return np.full((rows, inputs.criteria), float(number))


def all_gold(lengths: list[int]) -> Posts:
    """Posts of these lengths in which every sentence is gold, so that any look at labels shows."""
    return posts_of(*(["x"] * length for length in lengths), gold=np.ones((sum(lengths), 2)))


def names(posts: Posts, places: Ints) -> Names:
    return frozenset(posts.post_ids[place] for place in places.tolist())


class TestWhoLearnsFromWhom:
    @pytest.fixture
    def posts(self) -> Posts:
        return all_gold([1, 2, 3, 1, 2, 4, 1, 1, 2, 3, 1, 2, 5, 1, 2, 2])

    def test_train_posts_are_scored_by_models_that_never_saw_them_nor_their_gold(self, posts: Posts) -> None:
        stage, division = Recorder(), divided(posts)
        run(posts, (Step("recorder", stage),), division=division)
        train, tune = names(posts, division.train), names(posts, division.tune)
        assert stage.spaces == [train]
        assert stage.saw[0] == train
        assert stage.asked[1] == names(posts, division.others)  # the model of all TRAIN posts speaks of TUNE and EVAL
        assert len(stage.saw) == 4  # and one per part
        for at in (2, 3, 4):
            assert stage.saw[at - 1] == train - stage.asked[at]
            assert not stage.saw_gold_of[at - 1] & stage.asked[at]
        assert frozenset().union(*(stage.asked[at] for at in (2, 3, 4))) == train
        assert all(seen == saw | tune for seen, saw in zip(stage.saw_gold_of, stage.saw, strict=True))
        assert set(stage.tuned_on) == {tune}

    def test_gold_of_eval_posts_is_in_no_lesson(self, posts: Posts) -> None:
        for learns in (True, False):
            stage, division = Recorder(learns=learns), divided(posts)
            run(posts, (Step("recorder", stage),), division=division)
            assert not frozenset().union(*stage.saw_gold_of) & names(posts, division.eval)

    def test_every_score_stands_where_its_post_does(self, posts: Posts) -> None:
        stage, division = Recorder(), divided(posts)
        scores = run(posts, (Step("recorder", stage),), division=division)["recorder"].scores
        assert scores.shape == (33, 2)
        for number, asked in stage.asked.items():
            rows = rows_of(np.array([posts.post_ids.index(name) for name in sorted(asked)]), posts.offsets)
            assert set(scores[rows].ravel().tolist()) == {float(number)}

    def test_a_stage_that_does_not_learn_is_fitted_once_and_speaks_of_all(self, posts: Posts) -> None:
        stage = Recorder(learns=False)
        scores = run(posts, (Step("recorder", stage),))["recorder"].scores
        assert len(stage.saw) == 1
        assert stage.asked == {1: frozenset(posts.post_ids)}
        assert set(scores.ravel().tolist()) == {1.0}

    def test_every_fit_has_a_seed_of_its_own(self, posts: Posts) -> None:
        stage = Recorder()
        run(posts, (Step("recorder", stage),), seed=40)
        assert stage.seeds == [40, 41, 42, 43]

    @pytest.mark.parametrize(
        "lengths", [[1] * 16, [1, 2] * 8, [2] * 16], ids=["one sentence each", "mixed", "two each"]
    )
    @pytest.mark.parametrize(("per", "rows"), [("post", 16), ("sentence", None)])
    def test_a_stage_speaks_of_posts_or_of_sentences_whatever_their_number(
        self, lengths: list[int], per: Per, rows: int | None
    ) -> None:
        posts = all_gold(lengths)
        scores = run(posts, (Step("recorder", Recorder(per=per)),))["recorder"].scores
        assert scores.shape == (rows or sum(lengths), 2)
        asked = divided(posts).others if per == "post" else np.arange(len(scores))  # nothing learns from a gate
        assert scores[asked].min() > 0
        assert not np.delete(scores, asked, axis=0).any()

    def test_a_stage_that_speaks_of_the_wrong_thing_is_caught(self) -> None:
        class Confused(Recorder):
            def score(self, space: Parts, model: Parts, inputs: Named) -> Floats:
                return np.zeros((1, inputs.criteria))

        with pytest.raises(AssertionError):
            run(all_gold([2] * 12), (Step("confused", Confused()),))


class TestDivision:
    def test_parts_are_of_equal_size_and_follow_the_seed(self, corpus: Posts) -> None:
        division = divided(corpus, parts=3)  # 48 posts: 12 EVAL, 25 of the other 36 TRAIN, 11 TUNE
        assert [len(places) for places in (division.train, division.tune, division.eval)] == [25, 11, 12]
        assert sorted(np.bincount(division.part).tolist()) == [8, 8, 9]
        assert np.array_equal(division.part, divided(corpus, parts=3).part)
        assert sorted(np.concatenate([division.train, division.others]).tolist()) == list(range(48))

    def test_more_parts_than_posts_leave_one_out_at_a_time(self) -> None:
        posts, stage = all_gold([1, 1, 1, 1]), Recorder()
        split = InnerSplit("0", ("p0", "p1"), ("p2",), ("p3",))
        run(posts, (Step("recorder", stage),), division=Division.of(split, posts, parts=9, seed=[0]))
        assert sorted(map(sorted, stage.saw)) == [["p0"], ["p0", "p1"], ["p1"]]

    @pytest.mark.parametrize(("train", "parts"), [(("p0", "p1"), 1), (("p0",), 2)])
    def test_a_cross_fit_without_posts_is_refused(self, train: tuple[str, ...], parts: int) -> None:
        split = InnerSplit("0", train, ("p2",), ("p3",))
        with pytest.raises(InputError, match=r"Fold '0': .* cannot be dealt into .* are the least: give more"):
            Division.of(split, all_gold([1, 1, 1, 1]), parts=parts, seed=[0])

    def test_a_step_that_keeps_nothing_is_refused(self) -> None:
        with pytest.raises(InputError, match="1 candidate or more, not 0"):
            Step("retriever", Bm25(), keep=0)


class TestOutcomes:
    def test_every_score_is_finite_and_has_its_place(self, corpus: Posts, outcomes: dict[str, StepResult]) -> None:
        for step in STEPS:
            scores = outcomes[step.name].scores
            assert np.isfinite(scores).all(), step.name
            assert scores.shape == (48 if step.stage.per == "post" else len(corpus.texts), 10)

    def test_the_same_seed_gives_the_same_bytes(self, corpus: Posts, outcomes: dict[str, StepResult]) -> None:
        assert all_bytes(run(corpus)) == all_bytes(outcomes)

    @pytest.mark.parametrize("threads", [2, 3, 9])
    def test_threads_change_no_byte(self, corpus: Posts, outcomes: dict[str, StepResult], threads: int) -> None:
        assert all_bytes(run(corpus, threads=threads)) == all_bytes(outcomes)

    def test_labels_of_eval_posts_change_no_byte(self, corpus: Posts, outcomes: dict[str, StepResult]) -> None:
        assert corpus.gold is not None
        rows = rows_of(divided(corpus).eval, corpus.offsets)
        turned = corpus.gold.copy()
        turned[rows] = ~turned[rows]
        assert all_bytes(run(corpus.relabelled(turned))) == all_bytes(outcomes)

    def test_labels_of_train_posts_do(self, corpus: Posts, outcomes: dict[str, StepResult]) -> None:
        assert corpus.gold is not None
        rows = rows_of(divided(corpus).train, corpus.offsets)
        turned = corpus.gold.copy()
        turned[rows] = turned[rows][:, ::-1]
        changed = run(corpus.relabelled(turned))
        same = {name for name in outcomes if np.array_equal(changed[name].scores, outcomes[name].scores)}
        assert same == {"retriever"}

    def test_texts_of_eval_posts_change_nothing_about_the_others(
        self, corpus: Posts, outcomes: dict[str, StepResult]
    ) -> None:
        division = divided(corpus)
        rows = set(rows_of(division.eval, corpus.offsets).tolist())
        garbled = tuple("so sad ? " + text[::-1] if row in rows else text for row, text in enumerate(corpus.texts))
        other = Posts(corpus.post_ids, corpus.sent_uids, garbled, corpus.offsets, corpus.criteria, corpus.gold)
        changed = run(other)
        rest = np.concatenate([division.train, division.tune])
        for step in STEPS:
            at = rest if step.stage.per == "post" else rows_of(rest, corpus.offsets)
            assert changed[step.name].scores[at].tobytes() == outcomes[step.name].scores[at].tobytes(), step.name
            assert not np.array_equal(changed[step.name].scores, outcomes[step.name].scores)

    def test_a_post_asked_alone_gets_the_scores_it_gets_among_others(
        self, corpus: Posts, outcomes: dict[str, StepResult]
    ) -> None:
        view = View.of(corpus)
        for step in STEPS:
            space, model = outcomes[step.name].space, outcomes[step.name].model
            together = step.stage.score(space, model, step.stage.inputs(space, view))
            for post in (0, 17, 47):
                alone = step.stage.score(space, model, step.stage.inputs(space, view.take(np.array([post]))))
                at = slice(post, post + 1) if step.stage.per == "post" else slice(*corpus.offsets[post : post + 2])
                assert alone.tobytes() == together[at].tobytes(), step.name
            if step.stage.per == "sentence":
                view = view.with_scores(step.name, together)
                view = view if step.keep is None else view.narrowed(step.name, step.keep)

    @pytest.mark.parametrize("seed", [1, 2])
    def test_the_order_of_the_corpus_changes_no_score(
        self, corpus: Posts, outcomes: dict[str, StepResult], seed: int
    ) -> None:
        shuffled, order = permuted(corpus, seed)
        changed = run(shuffled)
        for step in STEPS:
            at = order if step.stage.per == "post" else rows_of(order, corpus.offsets)
            assert changed[step.name].scores.tobytes() == outcomes[step.name].scores[at].tobytes(), step.name


def cut(corpus: Posts, posts: int = 24) -> Posts:
    return corpus.take(np.arange(posts))


def with_gold(corpus: Posts, *places: tuple[int, int]) -> Posts:
    gold = np.zeros((len(corpus.texts), len(corpus.criteria)), bool)
    for place in places:
        gold[place] = True
    return corpus.relabelled(gold)


def with_texts(corpus: Posts, texts: list[str]) -> Posts:
    return Posts(corpus.post_ids, corpus.sent_uids, tuple(texts), corpus.offsets, corpus.criteria, corpus.gold)


def of_one_sentence(corpus: Posts) -> Posts:
    first = corpus.offsets[:-1]
    assert corpus.gold is not None
    texts = tuple(corpus.texts[row] for row in first.tolist())
    return Posts(
        corpus.post_ids, corpus.post_ids, texts, np.arange(len(corpus) + 1), corpus.criteria, corpus.gold[first]
    )


def of_one_criterion(corpus: Posts) -> Posts:
    assert corpus.gold is not None
    return Posts(
        corpus.post_ids,
        corpus.sent_uids,
        corpus.texts,
        corpus.offsets,
        corpus.criteria[:1],
        corpus.gold.any(1)[:, None],
    )


def without_gold_in_train(corpus: Posts) -> Posts:
    assert corpus.gold is not None
    gold = corpus.gold.copy()
    gold[rows_of(divided(corpus).train, corpus.offsets)] = False
    return corpus.relabelled(gold)


def without_gold_in_tune(corpus: Posts) -> Posts:
    assert corpus.gold is not None
    gold = corpus.gold.copy()
    gold[rows_of(divided(corpus).tune, corpus.offsets)] = False
    return corpus.relabelled(gold)


def asked_in_stop_words(corpus: Posts) -> Posts:
    criteria = tuple(Criterion(one.criterion_id, "I am not what you are") for one in corpus.criteria)
    return Posts(corpus.post_ids, corpus.sent_uids, corpus.texts, corpus.offsets, criteria, corpus.gold)


UNICODE = (
    "Ich schlafe schlecht 😴",
    "眠れない",
    "Я не сплю?",
    "naïve café",
    "لا أنام",
    "\u200b",
    "ﬁn\u0301e",
    "İSTANBUL ß",
)
DEGENERATE = {
    "a criterion without gold": lambda corpus: corpus.relabelled(corpus.gold & (np.arange(10) > 0)),
    "one criterion only": of_one_criterion,
    "posts of one sentence": of_one_sentence,
    "texts without a known word": lambda corpus: with_texts(corpus, [f"q{at}z" for at in range(len(corpus.texts))]),
    "texts without any word": lambda corpus: with_texts(corpus, ["..."] * len(corpus.texts)),
    "all texts identical": lambda corpus: with_texts(corpus, ["I sleep badly"] * len(corpus.texts)),
    "one gold in all": lambda corpus: with_gold(corpus, (int(corpus.offsets[divided(corpus).train[0]]), 0)),
    "two gold in all": lambda corpus: with_gold(
        corpus, *((int(corpus.offsets[divided(corpus).train[at]]), 0) for at in (0, 1))
    ),
    "no gold at all": with_gold,
    "everything gold": lambda corpus: corpus.relabelled(np.ones_like(corpus.gold)),
    "no gold in TRAIN": without_gold_in_train,
    "no gold in TUNE": without_gold_in_tune,
    "criteria in stop words": asked_in_stop_words,
    "unicode": lambda corpus: with_texts(corpus, [UNICODE[at % len(UNICODE)] for at in range(len(corpus.texts))]),
}


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_corpora_get_finite_scores(corpus: Posts, kind: str) -> None:
    posts = DEGENERATE[kind](cut(corpus))
    for name, outcome in run(posts).items():
        assert np.isfinite(outcome.scores).all(), name
        assert all(np.isfinite(part).all() for part in outcome.space.arrays.values()), name
        assert outcome.scores.shape[1] == len(posts.criteria)
