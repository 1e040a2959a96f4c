"""The ten labels of ReDSM5 as criteria, in words of our own."""

from __future__ import annotations

from collections.abc import Mapping

from evidentia.corpus.posts import Criterion

SYMPTOMS: Mapping[str, Criterion] = {
    "DEPRESSED_MOOD": Criterion("A.1", "Low mood: the writer is down, tearful, empty inside or without hope."),
    "ANHEDONIA": Criterion("A.2", "Loss of interest: things that used to be fun or to matter no longer do."),
    "APPETITE_CHANGE": Criterion(
        "A.3", "Eating or weight: eats much more or much less than usual, or gains or loses weight."
    ),
    "SLEEP_ISSUES": Criterion("A.4", "Sleep: cannot fall or stay asleep, wakes too early, or sleeps far too long."),
    "PSYCHOMOTOR": Criterion("A.5", "Movement: cannot sit still, or moves and speaks so slowly that it is noticed."),
    "FATIGUE": Criterion("A.6", "Tiredness: has no energy, and even small things are exhausting."),
    "WORTHLESSNESS": Criterion(
        "A.7", "Worthlessness or guilt: thinks of themselves as a failure, a burden or to blame."
    ),
    "COGNITIVE_ISSUES": Criterion(
        "A.8", "Thinking: cannot concentrate, remember, follow a thought or make up their mind."
    ),
    "SUICIDAL_THOUGHTS": Criterion(
        "A.9", "Thoughts of death: wishes to be dead, thinks of suicide, plans it or has tried it."
    ),
    "SPECIAL_CASE": Criterion("A.10", "Other signs: something else in the post that speaks for or against depression."),
}
