"""What a check must have said of a result, and what it could look at to say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evidentia.errors import counted
from evidentia.verify.evidence import Query
from evidentia.verify.expected import Entry
from evidentia.verify.folder import ResultFolder, unquoted
from evidentia.verify.points import Points
from evidentia.verify.sheet import read_cells
from evidentia.verify.study import Group

GROUPED = ("fold", "criterion", "state", "has_evidence")


@dataclass(frozen=True)
class Verdict:
    """The state of a check, its words, and how many things it looked at."""

    status: str
    message: str
    looked: int = 0


def looked_at(count: int, one: str, many: str | None = None, *, wrong: int, what: str, aside: str = "") -> Verdict:
    """Passed or failed by what is wrong; nothing to look at is not a pass."""
    if not count:
        return absent(f"there are no {many or one + 's'} to look at")
    seen = f"{counted(count, one, many)} looked at{aside}"
    return Verdict("failed", f"{wrong:,} {what}; {seen}", count) if wrong else Verdict("passed", seen, count)


def absent(reason: str) -> Verdict:
    """The result has nothing of the kind."""
    return Verdict("not applicable", reason)


@dataclass(frozen=True, eq=False)
class Subject:
    """A result folder and the numbers that it must report, as the checks see them."""

    folder: ResultFolder
    points: Points

    @property
    def queries(self) -> Sequence[Query]:
        """The evaluated queries."""
        return self.points.study.queries

    @property
    def entries(self) -> Mapping[str, Entry]:
        """Every number that must be there."""
        return self.points.expected.entries

    @property
    def reported(self) -> Mapping[str, Mapping[str, Any]]:
        """Every number that is there."""
        entries: Mapping[str, Mapping[str, Any]] = self.folder.summary["measures"]
        return entries

    @cached_property
    def overall(self) -> list[Entry]:
        """The numbers over the whole run."""
        return [entry for entry in self.entries.values() if not entry.group]

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of the written queries."""
        return frozenset(unquoted(cell) for cell in read_cells(self.folder.path / "per_query.csv")[0])

    @property
    def has_candidates(self) -> bool:
        """Whether the candidates of every query are there."""
        return self.folder.has("candidates.parquet")

    @property
    def card(self) -> Mapping[str, Any] | None:
        """The dataset card that the run was read with."""
        card: Mapping[str, Any] | None = self.folder.manifest["read"]["card"]
        return card

    def counts(self, group: Group) -> tuple[int, int] | None:
        """How many queries of a group have evidence, and how many have none; None for a group of two columns."""
        if len(group) > 1:
            return None
        rows, label = self.points.study.members(group), self.points.study.label
        return int((rows & label).sum()), int((rows & ~label).sum())
