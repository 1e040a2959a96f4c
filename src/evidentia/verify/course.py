"""A verification in the making: one check after the other, counted, and none of them trusted to come through on broken files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evidentia.errors import EvidentiaError, InputError, OutputError, UnknownNameError
from evidentia.results.folder import replace_file
from evidentia.results.strict_json import dumps_by_line
from evidentia.verify.folder import ResultFolder
from evidentia.verify.tally import Mismatch, Tally
from evidentia.verify.twins import NoTwinError

SCHEMA = "evidentia.verification/2"
BROKEN = (
    *(ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError, EvidentiaError),
)


class UnreadableError(InputError):
    """A table whose content cannot be read, in words that may be shown."""


@dataclass(frozen=True)
class CheckCount:
    """One part of a verification: its name, comparisons and mismatches."""

    name: str
    comparisons: int
    mismatches: int


@dataclass(frozen=True)
class Verification:
    """The outcome of verifying one result.

    Attributes
    ----------
    manifest_sha256 : str
        Hash of the manifest of the result that was verified.
    checks : tuple of CheckCount
        Each part of the verification with its comparisons and mismatches.
    mismatches : tuple of Mismatch
        Each place where reported and recomputed values differ.
    in_part : tuple of str, default=()
        What was not compared, or of a sample only; where there is something, the result is verified in part.

    Notes
    -----
    A verification without comparisons does not pass.

    Examples
    --------
    >>> Verification("", checks=(), mismatches=()).passed
    False
    >>> Verification("", checks=(CheckCount("measures", 3, 0),), mismatches=()).passed
    True
    """

    manifest_sha256: str
    checks: tuple[CheckCount, ...]
    mismatches: tuple[Mismatch, ...]
    in_part: tuple[str, ...] = ()

    @property
    def comparisons(self) -> int:
        """Number of comparisons over all checks."""
        return sum(check.comparisons for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether there were comparisons and all of them matched."""
        return self.comparisons > 0 and not self.mismatches

    @property
    def verdict(self) -> str:
        """What a reader may believe."""
        if not self.passed:
            return "This result does not verify."
        return "Everything that was compared matches: verified in part." if self.in_part else "Everything matches."

    def to_dict(self) -> dict[str, Any]:
        """The content of ``verification.json``; ``in_part`` is there only where something was left out."""
        return {
            "schema": SCHEMA,
            "evidentia": version("evidentia"),
            "manifest_sha256": self.manifest_sha256,
            "comparisons": self.comparisons,
            "mismatches": [asdict(mismatch) for mismatch in self.mismatches],
            "checks": [asdict(check) for check in self.checks],
            **({"in_part": list(self.in_part)} if self.in_part else {}),
        }

    def to_json(self) -> str:
        """The text of ``verification.json``: strict JSON, a line for every mismatch and check."""
        return dumps_by_line(self.to_dict(), ("mismatches", "checks"))

    def save(self, folder: Path) -> None:
        """Write ``verification.json`` beside the result, whole or not at all.

        Parameters
        ----------
        folder : Path
            The result folder.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        try:
            replace_file(folder / "verification.json", self.to_json().encode())
        except OSError as error:
            raise OutputError(f"Writing verification.json failed: {error.strerror}.") from None


class Course:
    """Runs one check after the other; a check that cannot be made on the files is a mismatch, not a pass."""

    def __init__(self) -> None:
        self.checks: list[CheckCount] = []
        self.mismatches: list[Mismatch] = []
        self.in_part: list[str] = []

    def check(self, name: str, compare_all: Callable[[Tally], None]) -> None:
        """Make one check."""
        tally = Tally()
        try:
            compare_all(tally)
        except BROKEN as error:
            tally.comparisons += 1
            spoken = isinstance(error, UnknownNameError | NoTwinError | UnreadableError)
            words = str(error) if spoken else type(error).__name__
            tally.mismatches.append(Mismatch(name, f"cannot be read: {words}", None))
        self.checks.append(CheckCount(name, tally.comparisons, len(tally.mismatches)))
        self.mismatches += tally.mismatches

    def verification(self, folder: ResultFolder) -> Verification:
        """All checks so far."""
        findings = tuple(self.checks), tuple(self.mismatches), tuple(self.in_part)
        return Verification(folder.sha256("manifest.json"), *findings)
