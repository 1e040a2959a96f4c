"""The page on verification lists every check as the registry has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evidentia.checks import CHECKS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verification.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not beside the tests")
def test_every_check_is_listed_with_its_title() -> None:
    listed = dict(
        re.findall(r"^\| ([A-Z]+\d{3}) \| ([^|]+) \| [^|]+ \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert listed == {code: check.title for code, check in CHECKS.items()}
