"""The documentation says what the program does."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as cli
from evidentia.checks import data
from evidentia.report.reference import measure_reference

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not beside the tests")


def test_the_measure_reference_is_what_the_registry_says() -> None:
    """Refresh with `evidentia measures --markdown > docs/measures.md`."""
    assert (ROOT / "docs" / "measures.md").read_text(encoding="utf-8") == measure_reference()


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))])
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    missing = [link for link in links if not ((ROOT / page).parent / link).exists()]
    assert missing == []


def test_the_python_reference_has_every_public_name() -> None:
    listed = re.findall(r"^::: evidentia\.(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(evidentia.__all__) <= set(listed)
    assert len(listed) == len(set(listed))


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    nav = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(nav) == sorted([*(page.name for page in (ROOT / "docs").glob("*.md")), "decisions/index.md"])


def test_the_check_of_the_recipe_works_as_it_is_written() -> None:
    """The code under "A check" in CONTRIBUTING.md, put where it belongs and run."""
    recipe = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## A check")[2]
    code = textwrap.dedent(recipe.partition("```python\n")[2].partition("   ```")[0])
    scope = vars(data) | {"run_check": lambda *words, **more: lambda function: function}  # not into the registry
    exec(code, scope)
    queries = {
        "post_id": ["p", "p"],
        "criterion_id": ["a", "b"],
        "gold_sent_uids": [["s"], []],
        "ranked_sent_uids": [["s"], []],
    }
    verdict = scope["rankings_not_empty"](evidentia.read_run(pl.DataFrame(queries)))
    assert (verdict.status, verdict.message) == ("failed", "1 are empty; 2 rankings looked at")


def test_the_readme_has_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"<!-- (\w+)-command -->\n```bash\n(.+)\n```", text) == [
        ("demo", "pip install . && evidentia demo"),
        ("test", "pip install -c constraints.txt -e '.[dev]' && pytest"),
    ]


def _example(page: str, name: str) -> list[str]:
    """The lines of the block behind a mark, or behind no mark the first one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.partition(f"<!-- {name} -->" if name else "")[2].split("```")[1].strip("\n").split("\n")


def test_the_example_of_the_readme_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text("\n".join(_example("README.md", "example-run")) + "\n", encoding="utf-8")
    commands = re.findall(
        r"`(evidentia (?:evaluate|explain) [^`]*run\.csv[^`]*)`", (ROOT / "README.md").read_text(encoding="utf-8")
    )
    assert len(commands) == 2
    for command, name in zip(commands, ("example-evaluate", "example-explain"), strict=True):
        more = ("--resamples", "10000") if "evaluate" in command else ()
        printed = cli(*shlex.split(command)[1:], *more).out.splitlines()
        printed = [line.rstrip() for line in printed]
        assert set(_example("README.md", name)) <= set(printed), printed


def test_the_file_of_the_paper_page_is_mended_by_the_line_that_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal of the page's own file ends with the options that the page goes on with."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "your-paper.md").read_text(encoding="utf-8")
    rows = page.split("```")[1].strip("\n")
    Path("mine.csv").write_text(rows + "\n", encoding="utf-8")
    refused = cli("evaluate", "mine.csv", "-o", "out")
    assert refused.code == 2
    mend = re.search(r"If so, add (--map \S+ --uids post)", page)
    assert mend is not None
    assert mend[1] in refused.err
    assert cli("evaluate", "mine.csv", *mend[1].split(), "--no-report", "-o", "out").code == 0
