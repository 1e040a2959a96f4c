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
    """The outcome of a check.

    Attributes
    ----------
    status : {"passed", "failed", "warning", "not applicable", "skipped"}
        The outcome.
    message : str
        One sentence for the reader.
    looked : int
        Number of things that were looked at.
    """

    status: Status
    message: str
    looked: int = 0


@dataclass(frozen=True)
class Check:
    """A coded check of a result.

    Attributes
    ----------
    code : str
        Stable code, such as "RANK004".
    title : str
        What must hold.
    judge : callable
        Function from a Subject to a Verdict.
    scope : {"result", "folder"}
        "folder" reads written files, so that a result in memory cannot have it.
    about : {"any", "items"}
        "items" is only for results of predictors that may abstain.
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
    """Register a check of a whole result.

    Parameters
    ----------
    code : str
        A code that is not taken.
    title : str
        What must hold.
    scope : {"result", "folder"}, default="result"
        Whether it reads written files.
    about : {"any", "items"}, default="any"
        Whether it is only for results of predictors that may abstain.

    Returns
    -------
    callable
        Decorator of a function from a Subject to a Verdict.

    Examples
    --------
    >>> @check("DEMO001", title="There are numbers")
    ... def has_numbers(subject):
    ...     return looked_at(len(subject.evaluation), "number", wrong=0, fault="are missing")
    >>> CHECKS.pop("DEMO001").title
    'There are numbers'
    """

    def register(judge: Callable[[Subject], Verdict]) -> Callable[[Subject], Verdict]:
        assert code not in CHECKS, f"{code} is taken"
        CHECKS[code] = Check(code, title, judge, scope, about)
        return judge

    return register


def run_check(
    code: str, *, title: str, refused_as: tuple[str, ...] = ()
) -> Callable[[Callable[[Run], Verdict]], Callable[[Run], Verdict]]:
    """Register a check of the queries behind a result.

    Parameters
    ----------
    code : str
        A code that is not taken.
    title : str
        What must hold.
    refused_as : tuple of str, default=()
        Codes of the problems for which ``read_run`` refuses such queries. Where a folder cannot be read, they fail the check.

    Returns
    -------
    callable
        Decorator of a function from a Run to a Verdict.

    Examples
    --------
    >>> @run_check("DEMO002", title="There are queries")
    ... def has_queries(run):
    ...     return looked_at(len(run), "query", "queries", wrong=0, fault="are missing")
    >>> CHECKS.pop("DEMO002").title
    'There are queries'
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
    """Passed or failed, by the number of wrong things.

    Parameters
    ----------
    count : int
        Number of things that were looked at.
    unit : str
        What one of them is called.
    many : str, default=None
        What several are called; None adds an s.
    wrong : int
        Number of them that are wrong.
    fault : str
        What is wrong with them, a verb phrase in the plural.
    aside : str, default=""
        Text to append to the message.

    Returns
    -------
    Verdict
        Not applicable, never passed, where ``count`` is 0.

    Examples
    --------
    >>> looked_at(3, "row", wrong=1, fault="are empty").message
    '1 are empty; 3 rows looked at'
    >>> looked_at(0, "row", wrong=0, fault="are empty").status
    'not applicable'
    """
    if count == 0:
        return not_applicable(f"there are no {many or unit + 's'} to look at")
    seen = f"{counted(count, unit, many)} looked at"
    if wrong:
        return Verdict("failed", f"{wrong:,} {fault}; {seen}{aside}", count)
    return Verdict("passed", seen + aside, count)


def warned(looked: int, message: str) -> Verdict:
    """Something that a reader must know and that does not make the result wrong.

    >>> warned(3, "1 row is empty").status
    'warning'
    """
    return Verdict("warning", message, looked)


def not_applicable(reason: str) -> Verdict:
    """The result has nothing of the kind.

    >>> not_applicable("there are no rankings").status
    'not applicable'
    """
    return Verdict("not applicable", reason)


def skipped(reason: str) -> Verdict:
    """It should be looked at, but cannot be.

    >>> skipped("the queries cannot be read").status
    'skipped'
    """
    return Verdict("skipped", reason)
