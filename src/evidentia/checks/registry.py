"""The registry of coded checks: a code, a title, and a verdict that proves how much was looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from evidentia.checks.subject import Subject
from evidentia.errors import InputError, counted
from evidentia.results import Finding
from evidentia.results.estimate import Status
from evidentia.tables import Run

Scope = Literal["result", "folder"]
About = Literal["any", "items"]
BROKEN = (InputError, ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)


@dataclass(frozen=True)
class Verdict:
    """What a check says, and how many things it looked at."""

    status: Status
    message: str
    looked: int = 0


@dataclass(frozen=True)
class Check:
    """A coded check. ``scope`` folder means that it reads written files, so that a result in memory cannot have it.

    ``about="items"``: only for results of predictors that may abstain.
    """

    code: str
    title: str
    judge: Callable[[Subject], Verdict]
    scope: Scope = "result"
    about: About = "any"

    def __call__(self, subject: Subject) -> Finding:
        """Look at a result; files that cannot even be looked at are a failure, not a crash."""
        try:
            verdict = self.judge(subject)
        except BROKEN as error:
            if subject.folder is None:
                raise
            verdict = Verdict("failed", f"the files cannot be looked at: {type(error).__name__}")
        assert verdict.status != "passed" or verdict.looked > 0, f"{self.code} passed without looking at anything"
        return Finding(self.code, self.title, verdict.status, verdict.message, verdict.looked)


CHECKS: dict[str, Check] = {}


def check(
    code: str, *, title: str, scope: Scope = "result", about: About = "any"
) -> Callable[[Callable[[Subject], Verdict]], Callable[[Subject], Verdict]]:
    """Register a check of a result."""

    def register(judge: Callable[[Subject], Verdict]) -> Callable[[Subject], Verdict]:
        assert code not in CHECKS, f"{code} is taken"
        CHECKS[code] = Check(code, title, judge, scope, about)
        return judge

    return register


def run_check(
    code: str, *, title: str, refused_as: tuple[str, ...] = ()
) -> Callable[[Callable[[Run], Verdict]], Callable[[Run], Verdict]]:
    """Register a check of the queries behind a result.

    ``refused_as`` names the problems for which the reader refuses such queries: where a folder cannot be read, they decide.
    """

    def register(judge: Callable[[Run], Verdict]) -> Callable[[Run], Verdict]:
        def on_subject(subject: Subject) -> Verdict:
            messages = [problem.message for problem in subject.problems if problem.code in refused_as]
            if messages:
                return Verdict("failed", " ".join(messages), len(messages))
            if subject.problems:
                return skipped(f"the queries cannot be read: {subject.problems[0].message}")
            if subject.run is None:
                return not_applicable("the result is not about queries")
            return judge(subject.run)

        check(code, title=title)(on_subject)
        return judge

    return register


def looked_at(count: int, unit: str, many: str | None = None, *, wrong: int, fault: str, aside: str = "") -> Verdict:
    """Passed or failed by the number of wrong things; with nothing to look at it is not applicable, never a pass.

    ``count`` things called ``unit`` were looked at, and ``wrong`` of them have the ``fault``, a verb phrase in the plural.

    >>> looked_at(3, "row", wrong=1, fault="are empty").message
    '1 are empty; 3 rows looked at'
    """
    if count == 0:
        return not_applicable(f"there are no {many or unit + 's'} to look at")
    seen = f"{counted(count, unit, many)} looked at"
    if wrong:
        return Verdict("failed", f"{wrong:,} {fault}; {seen}{aside}", count)
    return Verdict("passed", seen + aside, count)


def warned(looked: int, message: str) -> Verdict:
    """Something that a reader must know, and that does not make the result wrong."""
    return Verdict("warning", message, looked)


def not_applicable(reason: str) -> Verdict:
    """Nothing of the kind is in the result."""
    return Verdict("not applicable", reason)


def skipped(reason: str) -> Verdict:
    """It should be looked at, but cannot be."""
    return Verdict("skipped", reason)
