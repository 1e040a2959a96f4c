"""`evidentia corpus`: exit codes, what is printed, and that no text reaches the screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders.corpora import CRITERIA, DOCUMENTS, LABELS, Make, maker
from corpus.test_redsm5 import written

from .command import contents, evidentia, refused


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return maker(tmp_path / "corpus")


def test_stats_as_a_table(make: Make) -> None:
    ran = evidentia("corpus", "stats", make())
    assert (ran.code, ran.err) == (0, "")
    cells = [line.strip().split("  ") for line in ran.out.splitlines()]
    rows = {row[0]: row[-1].strip() for row in cells}
    assert rows["queries (posts x criteria)"] == "4"
    assert rows["queries with evidence"] == "2 (50.0 %)"
    assert rows["SLEEP"] == "50.0 %"


def test_stats_as_json_and_nothing_else(make: Make) -> None:
    ran = evidentia("corpus", "stats", make(labels=None), "--no-labels", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["evidence"] is None
    refused(evidentia("corpus", "stats", make(labels=b"")), "labels.csv")


def test_stats_say_which_splitter_cut_the_posts(make: Make) -> None:
    folder = make(documents=[{"post_id": "p1", "text": "One.\nTwo."}])
    ran = evidentia("corpus", "stats", folder, "--no-labels", "--splitter", "lines")
    assert "note: documents.jsonl: 1 post given as text, cut into sentences by lines" in ran.out


def test_validate_says_that_there_is_nothing(make: Make) -> None:
    ran = evidentia("corpus", "validate", make())
    assert (ran.code, ran.out, ran.err) == (0, "No problems found.\n", "")


def test_validate_lists_all_problems_and_no_text(make: Make) -> None:
    folder = make(documents=[*DOCUMENTS, DOCUMENTS[0]], criteria=[*CRITERIA, "I sleep badly"], labels=LABELS[1:])
    ran = evidentia("corpus", "validate", folder)
    refused(ran, "DUPLICATE_POST: ", "BROKEN_JSON: ", "MISSING_PAIR: ", "evidentia: 3 problems found.")
    assert "sleep" not in ran.err


def test_validate_names_a_post_without_an_id_though_labels_name_its_sentences(make: Make) -> None:
    folder = make(documents=[{**DOCUMENTS[0], "post_id": "p1 "}, DOCUMENTS[1]])
    ran = evidentia("corpus", "validate", folder)
    refused(ran, "PADDED_ID: documents.jsonl: 1 post with white space", "line 1", "evidentia: 1 problem found.")


@pytest.mark.parametrize("command", ["stats", "validate"])
def test_2_for_a_folder_that_is_not_there(
    command: str, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(labels=None)
    refused(evidentia("corpus", command, "sub/nowhere"), "sub/nowhere: no such folder")
    refused(evidentia("corpus", command, "corpus"), " corpus/labels.csv: no such file")


def test_importing_redsm5_writes_a_corpus_that_validates(tmp_path: Path) -> None:
    folder, out = written(tmp_path / "redsm5"), tmp_path / "out"
    ran = evidentia("corpus", "import-redsm5", folder, "-o", out)
    assert (ran.code, ran.err) == (0, "")
    assert "2 posts, 20 queries, 2 with evidence, 6 sentences." in ran.out
    assert evidentia("corpus", "validate", out).code == 0
    before = contents(out)
    refused(evidentia("corpus", "import-redsm5", folder, "-o", out), "--force")
    again = evidentia("corpus", "import-redsm5", folder, "-o", out, "--force", "--quiet")
    assert (again.code, again.out) == (0, "")
    assert contents(out) == before


def test_importing_what_is_wrong_writes_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "redsm5", rows=[("s_1", "s_1_0", "I was never here at all.", "FATIGUE", "1", "")])
    ran = evidentia("corpus", "import-redsm5", folder, "-o", tmp_path / "out")
    refused(ran, "1 annotated sentence that is not in the text of its post", "'s_1_0'")
    assert "never" not in ran.err
    assert not (tmp_path / "out").exists()
    refused(
        evidentia("corpus", "import-redsm5", folder, "-o", tmp_path / "out", "--splitter", "nltk"), "'nltk'", "lines"
    )
