"""The tables of a benchmark in README.md: written by the benchmark itself, between two marks, with commit, date and load."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from measuring import SHOWN, Shown, cores

README = Path(__file__).with_name("README.md")
ROOT = README.parent.parent


def write(section: str, versions: Mapping[str, str], *, how: str, readme: Path = README) -> None:
    """Put everything that was shown between the marks of a section; ``how`` is the command that measured it."""
    body = _about(versions, how) + "".join(_markdown(table) for table in SHOWN)
    readme.write_text(replaced(readme.read_text(encoding="utf-8"), section, body), encoding="utf-8")
    print(f"\nwritten into {readme.name}, section {section}")


def replaced(text: str, section: str, body: str) -> str:
    """The text with another body between the marks of a section.

    >>> replaced("a\\n<!-- x -->\\nold\\n<!-- /x -->\\nb", "x", "new\\n")
    'a\\n<!-- x -->\\nnew\\n<!-- /x -->\\nb'
    """
    first, last = f"<!-- {section} -->\n", f"<!-- /{section} -->"
    if text.count(first) != 1 or text.count(last) != 1 or text.index(first) > text.index(last):
        raise SystemExit(f"README.md must have the marks of {section} once each, in their order.")
    before, _, rest = text.partition(first)
    return before + first + body + last + rest.partition(last)[2]


def _about(versions: Mapping[str, str], how: str) -> str:
    load = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    told = ", ".join(f"{name} {number}" for name, number in versions.items())
    day = datetime.now(UTC).date().isoformat()
    return f"`{how}` on {day}, commit {_commit()}; {cores()} cores{load}. {told}.\n"


def _commit() -> str:
    """The commit that was measured; what is not committed yet is said."""
    try:
        commit = _git("rev-parse", "--short=10", "HEAD")
        changed = _git("status", "--porcelain", "--", "src", "benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit} with changes" if changed else commit


def _git(*words: str) -> str:
    return subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _markdown(table: Shown) -> str:
    ruler = ["---", *("---:" for _ in table.head[1:-1]), "---"]
    lines = [_row((table.title, *table.head[1:])), _row(ruler), *map(_row, table.rows)]
    notes = "".join(f"\n{note[:1].upper()}{note[1:].rstrip('.')}.\n" for note in table.notes)
    return "\n" + "\n".join(lines) + "\n" + notes


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.strip().replace('|', '/') for cell in cells)} |"
