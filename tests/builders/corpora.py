"""A small corpus on disk that tests can damage, and the problems that reading it gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

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
Records = Iterable[object] | bytes | None


def lines(records: Iterable[object] | bytes) -> bytes:
    """Records as JSON Lines; texts are lines already, and bytes a whole file."""
    if isinstance(records, bytes):
        return records
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records).encode()


def maker(folder: Path) -> Make:
    """What writes the small corpus, with some files in other words; None leaves a file out."""
    return partial(_write, folder)


def _write(
    folder: Path, documents: Records = DOCUMENTS, criteria: Records = CRITERIA, labels: Records = LABELS
) -> Path:
    rows = labels if labels is None or isinstance(labels, bytes) else [HEADER, *labels]
    folder.mkdir(exist_ok=True)
    for name, content in (("documents.jsonl", documents), ("criteria.jsonl", criteria), ("labels.csv", rows)):
        if content is not None:
            (folder / name).write_bytes(lines(content))
    return folder


def the_problem(folder: Path, code: str, **options: object) -> str:
    """The message of the only problem that a corpus has."""
    problems = validate_corpus(folder, **options)
    assert [problem.code for problem in problems] == [code], problems
    return problems[0].message


def says(message: str, *parts: str) -> None:
    """The message holds all of these."""
    for part in parts:
        assert part in message, f"{part!r} is not in: {message}"
