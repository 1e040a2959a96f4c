"""Write a corpus: the same posts give the same bytes, all files or none."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from evidentia.corpus.posts import Criterion, Posts
from evidentia.corpus.read import CRITERIA, DOCUMENTS, LABELS, read_corpus
from evidentia.errors import OutputError, counted
from evidentia.results.folder import replace_folder
from evidentia.tables.cells import defused

_OURS = {name + packed for name in (DOCUMENTS, CRITERIA, LABELS) for packed in ("", ".gz")}


def write_corpus(posts: Posts, folder: Path | str, *, force: bool = False) -> None:
    """Write documents.jsonl, criteria.jsonl and, where gold is known, labels.csv; read_corpus gives the same posts back.

    The folder appears when everything is written. One that exists is replaced only with ``force``, and only if it holds
    a corpus and nothing else. Posts that could not be read back are an InputError, and nothing is written.
    """
    folder = Path(folder)
    ensure_corpus_writable(folder, force=force)

    def fill(temporary: Path) -> None:
        (temporary / DOCUMENTS).write_bytes(_lines(_documents(posts)))
        (temporary / CRITERIA).write_bytes(_lines(map(_criterion, posts.criteria)))
        if posts.gold is not None:
            (temporary / LABELS).write_bytes(_labels(posts))
        read_corpus(temporary, splitter="lines", labels=posts.gold is not None)

    replace_folder(folder, fill, force=force)


def ensure_corpus_writable(folder: Path, *, force: bool) -> None:
    """Refuse a place where a corpus may not be written, so that nobody waits for nothing."""
    name = folder.resolve().name
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise OutputError(f"{name} exists and is not a folder. Choose another folder with -o.")
    if folder.resolve() == Path.cwd():
        raise OutputError("A corpus goes into a folder of its own, not into the one you stand in. Choose one with -o.")
    there = {path.name for path in folder.iterdir()}
    if there and not force:
        raise OutputError(f"{name} exists. Choose another folder with -o, or replace it with --force.")
    if strangers := sorted(there - _OURS):
        raise OutputError(
            f"{name} holds {counted(len(strangers), 'entry', 'entries')} that no corpus has (first: {strangers[0]}): "
            "--force leaves it alone. Choose another folder with -o."
        )
    if there and there.isdisjoint({DOCUMENTS, DOCUMENTS + ".gz"}):
        raise OutputError(f"{name} has no {DOCUMENTS}, so it is no corpus: --force leaves it alone.")


def _lines(records: Iterable[Mapping[str, object]]) -> bytes:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return text.encode("utf-8", "surrogatepass")  # half a character is refused when it is read back, with its place


def _documents(posts: Posts) -> Iterable[Mapping[str, object]]:
    bounds = posts.offsets.tolist()
    for post, start, stop in zip(posts.post_ids, bounds[:-1], bounds[1:], strict=True):
        pairs = zip(posts.sent_uids[start:stop], posts.texts[start:stop], strict=True)
        yield {"post_id": post, "sentences": [{"sent_uid": uid, "text": text} for uid, text in pairs]}


def _criterion(criterion: Criterion) -> Mapping[str, object]:
    record: dict[str, object] = {"criterion_id": criterion.criterion_id, "text": criterion.text}
    return record | {"prototypes": list(criterion.prototypes)} if criterion.prototypes else record


def _labels(posts: Posts) -> bytes:
    assert posts.gold is not None
    cells: dict[tuple[int, int], list[str]] = {}
    owner = posts.owner.tolist()
    for sentence, criterion in np.argwhere(posts.gold).tolist():
        cells.setdefault((owner[sentence], criterion), []).append(posts.sent_uids[sentence])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("post_id", "criterion_id", "gold_sent_uids"))
    for place, post in enumerate(posts.post_ids):
        for column, name in enumerate(posts.criterion_ids):
            row = (post, name, "|".join(cells.get((place, column), ())))
            writer.writerow([defused(cell) for cell in row])
    return out.getvalue().encode("utf-8", "surrogatepass")
