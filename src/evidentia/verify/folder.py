"""The written files of a result, read with as little code as can be."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidentia.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, str]


@dataclass(frozen=True)
class ResultFolder:
    """A folder that Evidentia wrote, or what a page of it carries (``carried``): that has no LaTeX and no list of files."""

    path: Path
    carried: bool = False

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What went in, how it was run, and what came out."""
        return self._json("manifest.json")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Every reported number."""
        return self._json("summary.json")

    @cached_property
    def thresholds(self) -> dict[str, Any]:
        """The thresholds that were given to the evaluation."""
        return self._json("thresholds.json")

    @cached_property
    def comparison(self) -> dict[str, Any]:
        """Every reported difference."""
        return self._json("comparison.json")

    @cached_property
    def ablation(self) -> dict[str, Any]:
        """Every configuration of an ablation."""
        return self._json("ablation.json")

    def has(self, name: str) -> bool:
        """Whether a file is there; a link to one is not."""
        path = self.path / name
        return path.is_file() and not path.is_symlink()

    def rows(self, name: str, columns: Collection[str] | None = None) -> list[Row]:
        """The rows of a CSV file as text, with the quotes undone that keep spreadsheets from running cells.

        ``columns`` are those of interest, where not all are.
        """
        with (self.path / name).open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [unquoted(cell) for cell in next(reader, [])]
            places = [(key, at) for at, key in enumerate(header) if columns is None or key in columns]
            rows = list[Row]()
            for row in filter(None, reader):
                if len(row) != len(header):
                    raise ValueError("a row has not as many cells as there are columns")
                rows.append({key: unquoted(row[at]) for key, at in places})
            return rows

    def records(self, name: str) -> list[dict[str, Any]]:
        """The rows of a Parquet file."""
        return self._parquet(name).to_dicts()

    def columns(self, name: str) -> dict[str, list[Any]]:
        """The columns of a Parquet file."""
        return self._parquet(name).to_dict(as_series=False)

    def _parquet(self, name: str) -> pl.DataFrame:
        import polars as pl

        try:
            return pl.read_parquet(self.path / name)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{self.path.name}/{name} cannot be read as Parquet ({type(error).__name__}).") from None

    def sha256(self, name: str) -> str:
        """The hash of a file."""
        return hashlib.sha256((self.path / name).read_bytes()).hexdigest()

    def _json(self, name: str) -> dict[str, Any]:
        try:
            if not self.has(name):
                raise FileNotFoundError(name)
            content = read_json(self.path / name)
        except (OSError, ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, _NotStrictError) else type(error).__name__
            reason = "it ends too early or is not JSON" if isinstance(error, json.JSONDecodeError) else reason
            raise InputError(
                f"{self.path.resolve().name}/{name} cannot be read as strict JSON ({reason}), so there is nothing to verify. "
                "Take the folder from where it is whole, or evaluate again."
            ) from None
        if not isinstance(content, dict):
            raise InputError(f"{self.path.name}/{name} does not hold a JSON object.")
        return content


class _NotStrictError(ValueError):
    """What Python reads as JSON and is not strict."""


def read_json(path: Path) -> Any:
    """The content of a strict JSON file: no NaN, and no key twice, of which one would be read and the other shown."""
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse, object_pairs_hook=_once)


def _refuse(constant: str) -> float:
    raise _NotStrictError(f"{constant} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _NotStrictError("a key is given twice")
    return members


def unquoted(cell: str) -> str:
    """Undo one quote before what a spreadsheet would take for a formula.

    >>> unquoted("'=1+1"), unquoted("'tis")
    ('=1+1', "'tis")
    """
    if not cell.startswith("'"):
        return cell
    return cell[1:] if cell.lstrip("'").startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def as_numbers(ids: Iterable[str]) -> tuple[str, ...]:
    """By value where all are whole numbers, else as text.

    >>> as_numbers(["10", "9"]), as_numbers(["10", "9", "x"])
    (('9', '10'), ('10', '9', 'x'))
    """
    ordered = sorted(ids)
    if all(re.fullmatch(r"[+-]?[0-9]{1,640}", text) for text in ordered):
        return tuple(sorted(ordered, key=lambda text: (int(text), text)))
    return tuple(ordered)


def naturally(ids: Iterable[str]) -> tuple[str, ...]:
    """Digits inside a text count as the number that they are.

    >>> naturally(["A.10", "A.2"])
    ('A.2', 'A.10')
    """
    return tuple(sorted(ids, key=lambda text: ([_weight(part) for part in re.findall(r"[0-9]+|[^0-9]+", text)], text)))


def _weight(part: str) -> tuple[int, int, str]:
    if not part.isascii() or not part.isdigit():
        return (1, 0, part)
    digits = part.lstrip("0")
    return (0, len(digits), digits)
