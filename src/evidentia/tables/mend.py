"""What to add to a command so that a file can be read that cannot be read as it is: found by trying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from evidentia.errors import Problem
from evidentia.tables.candidates import WITHIN_POST
from evidentia.tables.guess import splits_are_folds
from evidentia.tables.inputs import POST, RUN, Given, Reading, as_mapping, guessed, taken_from, with_certain
from evidentia.tables.kinds import kind
from evidentia.tables.lists import JOINING

Attempt = Callable[[Reading], tuple[Problem, ...]]
_MENDABLE = ("MISSING_COLUMN", "UNKNOWN_SPLIT", "SEPARATOR", "UID_IN_TWO_POSTS")

_AUTO = "All that is needed: --map auto (in Python evidentia.read_run(..., mapping='auto'))."


def mended(problems: Sequence[Problem], given: Given, reading: Reading, attempt: Attempt) -> tuple[Problem, ...]:
    """The problems, the first that options can mend with all the options that are needed; ``attempt`` reads again."""
    best, left = reading, tuple(problems)
    for _ in _MENDABLE:
        better = _better(best, left, given, attempt)
        if better is None:
            break
        best, left = better, attempt(better)
    if best == reading:
        return tuple(problems)
    if len(best.options) == 1 and best.options[0] in problems[0].message:
        return tuple(problems)
    at = next(at for at, one in enumerate(problems) if one.code in _MENDABLE)
    advice = _AUTO if left and _auto_reads(given, reading, attempt) else _advice(best, reading, left)
    message = f"{problems[at].message} {advice}"
    return (*problems[:at], replace(problems[at], message=message), *problems[at + 1 :])


def _auto_reads(given: Given, reading: Reading, attempt: Attempt) -> bool:
    """Whether a mapping of its own for each table, as auto makes them, leaves no problem where one for both does."""
    if given.candidates is None or reading.is_auto or reading.mapping:
        return False
    return not attempt(with_certain(replace(reading, is_auto=True), given))


def _better(reading: Reading, problems: Sequence[Problem], given: Given, attempt: Attempt) -> Reading | None:
    """The reading with one more option, for what is still wrong."""
    codes = {problem.code for problem in problems}
    if "MISSING_COLUMN" in codes:
        both = as_mapping(guessed(given.candidates, "candidates")) | as_mapping(guessed(given.run, "run"))
        mapping = both | dict(reading.mapping)
        return None if mapping == reading.mapping else replace(reading, mapping=mapping)
    if "UNKNOWN_SPLIT" in codes:
        folds = given.run is not None and splits_are_folds(given.run.frame) and "fold" not in reading.mapping
        return replace(reading, mapping={**reading.mapping, "fold": "split"}) if folds else None
    if "SEPARATOR" in codes:
        trials = [replace(reading, list_sep=name) for name in JOINING if name != reading.list_sep]
        # with any other problem the lists of a trial were not compared
        return next((t for t in trials if {one.code for one in attempt(t)} <= {"UID_IN_TWO_POSTS"}), None)
    within_post = kind(WITHIN_POST, column="").remedy
    if reading.uids == RUN and any(problem.message.endswith(within_post) for problem in problems):
        return replace(reading, uids=POST)
    return None


def _advice(best: Reading, reading: Reading, left: Sequence[Problem]) -> str:
    guesses = {name: column for name, column in best.mapping.items() if name not in reading.mapping}
    listed = ", ".join(f"{name} may be {column}" for name, column in guesses.items())
    auto = (
        f"auto took {taken_from(reading.mapping) or 'nothing'}, and stops where it is not certain. "
        if reading.is_auto
        else ""
    )
    opening = f"By names and content, {listed}. If so, add" if guesses else "All that is needed:"
    lacking = any(problem.code == "MISSING_COLUMN" for problem in left)
    rest = " That leaves what has no guess: map it in the same way." if lacking else ""
    return f"{auto}{opening} {best.words}.{rest}"
