"""Drifts that are planted raise an alarm that names them; posts as before raise none, in 500 courses of 50 batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from builders.pipelines import small_pipeline
from evidentia.errors import InputError
from evidentia.monitoring.course import BatchReport, Settings, judge
from evidentia.monitoring.signals import Observed
from evidentia.pipeline.predict import Trained

from .planted import able, fresh, missed, model, observed, one_sentence, other_words, overconfident

COURSES, BATCHES = 500, 50


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return model(small_pipeline(tmp_path_factory))


@pytest.fixture(scope="module")
def reference(trained: Trained) -> Observed:
    return observed(trained, fresh(200, 1), labels=True)


def alarms(report: BatchReport) -> set[str]:
    return {alarm.signal for alarm in report.alarms}


PLANTED: dict[str, tuple[Callable[[Trained], Observed], set[str]]] = {
    "vocabulary": (lambda m: observed(m, other_words(fresh(100, 2))), {"UnknownWords"}),
    "prevalence": (lambda m: observed(m, fresh(100, 2, positives=600)), {"Probability"}),
    "miscalibration": (lambda m: overconfident(observed(m, fresh(100, 2))), {"Probability"}),
    "a broken splitter": (lambda m: observed(m, one_sentence(fresh(100, 2))), {"Sentences", "WordsPerSentence"}),
}


@pytest.mark.parametrize("which", PLANTED)
def test_a_planted_drift_is_named(which: str, trained: Trained, reference: Observed) -> None:
    plant, signals = PLANTED[which]
    assert signals <= alarms(judge(reference, plant(trained), Settings()))


def test_only_labels_can_tell_that_evidence_has_moved_elsewhere(trained: Trained, reference: Observed) -> None:
    first, batch = able(reference), able(observed(trained, fresh(100, 2), labels=True))
    assert alarms(judge(first, batch, Settings())) == set()
    unlabelled = replace(missed(batch), labelled=np.zeros(len(batch), bool))
    assert alarms(judge(first, unlabelled, Settings())) == set()
    assert {"AlertPrecision", "ScreeningSensitivity"} <= alarms(judge(first, missed(batch), Settings()))


def test_an_alarm_needs_the_margin_and_the_corrected_p(reference: Observed, trained: Trained) -> None:
    batch = observed(trained, other_words(fresh(100, 2)))
    assert alarms(judge(reference, batch, Settings(shift_margin=0.499, rate_margin=0.99))) <= {"UnknownWords"}
    few = batch.take(np.arange(3))  # however far: three posts say nothing
    assert alarms(judge(reference, few, Settings())) == set()
    for report in (judge(reference, batch, Settings()), judge(reference, few, Settings())):
        for one in report.results:
            assert one.p is not None
            assert one.p_holm is not None
            assert one.p_holm >= one.p
            wanted = abs(one.effect or 0) > one.margin and one.p_holm <= Settings().alpha / Settings().horizon
            assert one.alarm == wanted


def test_what_one_of_the_two_lacks_is_not_tested(trained: Trained, reference: Observed) -> None:
    none = replace(reference, has_evidence=np.zeros_like(reference.has_evidence))
    report = judge(none, observed(trained, fresh(100, 2), labels=True), Settings())
    results = {(one.signal, one.criterion): one for one in report.results}
    lone = results["ScreeningSensitivity(unit=post)", None]
    assert (lone.n_reference, lone.p, lone.p_holm, lone.alarm) == (0, None, None, False)
    assert report.tests == sum(one.p is not None for one in report.results) < len(report.results)


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"horizon": 0}, {"rate_margin": -0.1}, {"shift_margin": 0.5}])
def test_settings_that_promise_nothing(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must lie"):
        Settings(**wrong)  # type: ignore[arg-type]


def false_alarms(pool: Observed, courses: int) -> int:
    """In how many courses of fresh posts without drift there is an alarm; margins would only make it rarer."""
    rng, settings = np.random.default_rng(7), Settings(rate_margin=0.0, shift_margin=0.0)

    def batch(posts: int) -> Observed:
        return pool.take(rng.integers(0, len(pool), posts))

    count = 0
    for _ in range(courses):
        first = batch(200)
        count += any(judge(first, batch(100), settings).alarms for _ in range(BATCHES))
    return count


def test_few_courses_without_drift_raise_an_alarm(trained: Trained) -> None:
    """Of five, two or more do in 2 of 100 at the most; `-m slow` looks at 500."""
    assert false_alarms(observed(trained, fresh(1000, 11), labels=True), 5) <= 1


@pytest.mark.slow
def test_at_most_one_course_in_twenty_has_a_false_alarm(trained: Trained) -> None:
    count = false_alarms(observed(trained, fresh(10_000, 11), labels=True), COURSES)
    print(f"{count} of {COURSES} courses of {BATCHES} batches have a false alarm")
    assert count <= 0.05 * COURSES
