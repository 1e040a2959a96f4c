"""Tables in benchmarks/README.md are written by the benchmarks themselves: every one of them can, and none is typed by hand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not beside the tests")
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef main()" in path.read_text(encoding="utf-8"))
WRITTEN = re.compile(
    r"`python benchmarks/(?P<name>\w+)\.py[^`]*` on \d{4}-\d\d-\d\d, commit ([0-9a-f]{10}( with changes)?|unknown); \d+ cores"
)


def test_all_programs_are_here() -> None:
    assert {"bootstrap", "page", "pipeline", "ranking", "selective"} <= set(PROGRAMS)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "launch"])
def test_every_benchmark_writes_its_tables_with_commit_and_date(name: str) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    body = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)
    assert body is not None
    if body[1] == "Not measured yet.\n":
        pytest.skip("it is to be measured on a quiet machine")
    told = WRITTEN.match(body[1])
    assert told is not None, body[1][:200]
    assert told["name"] == name
    assert "\n| " in body[1]
    assert "--write" in (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def test_no_table_stands_outside_the_marks() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    outside = re.sub(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    assert not [line for line in outside.splitlines() if line.startswith("|")]


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import measuring, record
measuring.show("2. Times", ("", "ours s", "target"), [("a | b", "0.5", "at least 1: met")], "both agree")
record.write("x", {"python": "3"}, how="python benchmarks/x.py", readme=Path(sys.argv[2]))
"""


def write(readme: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", SCRIPT, str(FOLDER), str(readme)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_what_is_shown_replaces_what_was_between_the_marks(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# A\n<!-- x -->\nold numbers\n<!-- /x -->\n# B\n")
    for _ in range(2):
        assert write(readme).returncode == 0
        text = readme.read_text()
        assert text.startswith("# A\n<!-- x -->\n`python benchmarks/x.py` on ")
        assert text.endswith(
            "| 2. Times | ours s | target |\n| --- | ---: | --- |\n| a / b | 0.5 | at least 1: met |\n\n"
            "Both agree.\n<!-- /x -->\n# B\n"
        )
        assert "old numbers" not in text


@pytest.mark.parametrize(
    "text", ["no marks", "<!-- x -->\n", "<!-- /x -->\n<!-- x -->\n", "<!-- x -->\n<!-- x -->\n<!-- /x -->"]
)
def test_without_its_marks_nothing_is_written(text: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text)
    done = write(readme)
    assert done.returncode == 1
    assert "must have the marks of x once each" in done.stderr
    assert readme.read_text() == text
