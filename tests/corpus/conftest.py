"""A small corpus on disk that tests can damage, and the problems that reading it gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evidentia.corpus import validate_corpus

DOCUMENTS = (
    {
        "post_id": "p1",
        "sentences": [{"sent_uid": "a", "text": "I sleep badly."}, {"sent_uid": "b", "text": "It rains."}],
    },
    {"post_id": "p2", "sentences": [{"sent_uid": "c", "text": "All is well."}]},
)
CRITERIA = (
    {"criterion_id": "SLEEP", "text": "Sleeps too little or too much."},
    {"criterion_id": "MOOD", "text": "Feels low.", "prototypes": ["I am sad.", "Nothing cheers me up."]},
)
LABELS = ("p1,SLEEP,a", "p1,MOOD,a|b", "p2,SLEEP,", "p2,MOOD,")
HEADER = "post_id,criterion_id,gold_sent_uids"

Make = Callable[..., Path]


def lines(records: object) -> bytes:
    """Records as JSON Lines; bytes stay as they are."""
    if isinstance(records, bytes):
        return records
    return "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records).encode()  # type: ignore[attr-defined]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write the small corpus with some files in other words; None leaves a file out."""

    def maker(documents: object = DOCUMENTS, criteria: object = CRITERIA, labels: object = LABELS) -> Path:
        rows = labels if labels is None or isinstance(labels, bytes) else [HEADER, *labels]  # type: ignore[misc]
        folder = tmp_path / "corpus"
        folder.mkdir(exist_ok=True)
        for name, content in (("documents.jsonl", documents), ("criteria.jsonl", criteria), ("labels.csv", rows)):
            if content is not None:
                (folder / name).write_bytes(lines(content))
        return folder

    return maker


def the_problem(folder: Path, code: str, **options: object) -> str:
    """The message of the only problem that a corpus has."""
    problems = validate_corpus(folder, **options)
    assert [problem.code for problem in problems] == [code], problems
    return problems[0].message


def says(message: str, *parts: str) -> None:
    """The message holds all of these."""
    for part in parts:
        assert part in message, f"{part!r} is not in: {message}"
