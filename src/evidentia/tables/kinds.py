"""The kinds of faults that inputs can have, from `problems.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from evidentia.errors import InputError, Problem, counted


@dataclass(frozen=True)
class Kind:
    """One kind of fault: its code, what has it, what is wrong, and what to do."""

    code: str
    unit: str
    fault: str
    remedy: str

    def problem(self, name: str, count: int, first: str, among: str = "") -> Problem:
        """The problem of so many faults in a file: how many, where the first is, what to do."""
        message = f"{name}: {counted(count, self.unit)} {self.fault}{among} (first: {first})."
        return Problem(self.code, f"{message} {self.remedy}")


@cache
def _wordings() -> dict[str, dict[str, str]]:
    text = resources.files("evidentia.tables").joinpath("problems.toml").read_text(encoding="utf-8")
    wordings: dict[str, dict[str, str]] = tomllib.loads(text)
    return wordings


def kind(key: str, /, **values: object) -> Kind:
    """The kind of fault under a key, with its values filled in."""
    words = {"code": key, "unit": "row"} | _wordings()[key]
    return Kind(words["code"], words["unit"], *(words[part].format(**values) for part in ("fault", "remedy")))


def problem(key: str, /, **values: object) -> Problem:
    """The problem of an input as a whole, with its values filled in."""
    words = {"code": key} | _wordings()[key]
    return Problem(words["code"], words["message"].format(**values))


def refusal(key: str, /, **values: object) -> InputError:
    """The error of a single problem."""
    return InputError(problem(key, **values))


def refuse(code: str, message: str) -> InputError:
    """The error of a single problem that is said in one place only."""
    return InputError(Problem(code, message))
