"""labels.csv: a row for every post and criterion, with the uids of the gold sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from evidentia.array_types import Bools
from evidentia.corpus.criteria import Criteria
from evidentia.corpus.documents import Documents
from evidentia.errors import Problem, counted, shown
from evidentia.tables.cells import unquoted
from evidentia.tables.document import Faults, Kind
from evidentia.tables.files import Loaded

COLUMNS = ("post_id", "criterion_id", "gold_sent_uids")
_KEEP_UID = "Name sentences of documents.jsonl."
_NO_POST = Kind("MISSING_ID", "row", "without a post_id", "Give every row one.")
_NO_CRITERION = Kind("MISSING_ID", "row", "without a criterion_id", "Give every row one.")
_UNKNOWN_POST = Kind("UNKNOWN_POST", "row", "whose post_id no document has", "Label the posts of documents.jsonl only.")
_UNKNOWN_CRITERION = Kind(
    "UNKNOWN_CRITERION",
    "row",
    "whose criterion_id is not in criteria.jsonl",
    "Add the criterion, or leave the rows out.",
)
_TWICE = Kind(
    "DUPLICATE_QUERY", "row", "repeating the post_id and criterion_id of an earlier row", "Keep one per query."
)
_EMPTY = Kind("EMPTY_UID", "row", "with an empty uid in gold_sent_uids", "Write no | at the ends or twice in a row.")
_REPEATED = Kind("DUPLICATE_UID", "row", "naming a gold sentence twice", "Name every gold sentence once.")
_UNKNOWN_UID = Kind("UNKNOWN_UID", "gold uid", "that no sentence has", _KEEP_UID)
_ELSEWHERE = Kind("GOLD_IN_OTHER_POST", "gold uid", "of a sentence of another post", "Gold comes from the post itself.")


@dataclass(frozen=True, eq=False)
class Labels:
    """Gold as a matrix sentences x criteria; it may be used only if there are no problems."""

    gold: Bools
    problems: list[Problem]


def parse_labels(loaded: Loaded, documents: Documents, criteria: Criteria) -> Labels:
    """Read and check the labels against the posts and criteria."""
    shape = (len(documents.sent_uids), len(criteria.criteria))
    lacking = [column for column in COLUMNS if column not in loaded.frame.columns]
    if lacking:
        message = f"{loaded.name}: no column {', '.join(lacking)} (line 1). Write the columns {', '.join(COLUMNS)}."
        return Labels(np.zeros(shape, np.bool_), [Problem("MISSING_COLUMN", message)])
    reader = _LabelReader(loaded, documents, criteria)
    for row, (post, criterion, cell) in enumerate(reader.rows()):
        reader.add(row, post, criterion, cell)
    gold = np.zeros(shape, np.bool_)
    if not reader.faults.places and not documents.problems and not criteria.problems:
        gold[reader.sentences, reader.columns] = True
    return Labels(gold, reader.faults.problems + reader.missing())


@dataclass(eq=False)
class _LabelReader:
    """Takes one row after the other, and remembers which pairs it has seen."""

    loaded: Loaded
    documents: Documents
    criteria: Criteria
    sentences: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        documents = self.documents
        self.faults = Faults(self.loaded.name)
        self.posts = set(documents.post_ids)
        self.place_of = {uid: place for place, uid in enumerate(documents.sent_uids)}
        lengths = documents.lengths
        self.owner = [post for post, length in zip(documents.post_ids, lengths, strict=True) for _ in range(length)]

    def rows(self) -> Iterator[tuple[str, str, str]]:
        cells = (unquoted(self.loaded.frame[column]).fill_null("").to_list() for column in COLUMNS)
        return zip(*cells, strict=True)

    def add(self, row: int, post: str, criterion: str, cell: str) -> None:
        if not post or not criterion:
            self._fault(row, _NO_CRITERION if post else _NO_POST)
            return
        if post not in self.posts and self.documents.posts_known:
            self._fault(row, _UNKNOWN_POST, f"post {shown(post)}")
        if criterion not in self.criteria.ids and self.criteria.known:
            self._fault(row, _UNKNOWN_CRITERION, f"criterion {shown(criterion)}")
        if (post, criterion) in self.seen:
            self._fault(row, _TWICE, f"post {shown(post)}, criterion {shown(criterion)}")
        self.seen.add((post, criterion))
        if cell and not cell.isspace():
            self._gold(row, post, criterion, cell.split("|"))

    def _gold(self, row: int, post: str, criterion: str, uids: list[str]) -> None:
        if len(set(uids)) < len(uids):
            self._fault(row, _REPEATED if all(uids) else _EMPTY)
        elif not all(uids):
            self._fault(row, _EMPTY)
        column = self.criteria.ids.get(criterion, 0)
        for uid in uids:
            place = self.place_of.get(uid)
            if place is not None and self.owner[place] == post:
                self.sentences.append(place)
                self.columns.append(column)
            elif place is not None and post in self.posts:
                self._fault(row, _ELSEWHERE, f"post {shown(post)}, uid {shown(uid)}")
            elif place is None and uid and self.documents.uids_known:
                self._fault(row, _UNKNOWN_UID, f"post {shown(post)}, uid {shown(uid)}")

    def _fault(self, row: int, kind: Kind, detail: str = "") -> None:
        place = self.loaded.place(row)
        self.faults.add(kind, f"{place}, {detail}" if detail else place)

    def missing(self) -> list[Problem]:
        """The pairs that have no row; a pair without gold has one too, so that nothing is left out by accident."""
        posts, ids = self.documents.post_ids, self.criteria.ids
        absent = [(post, criterion) for post in posts for criterion in ids if (post, criterion) not in self.seen]
        if not absent:
            return []
        post, criterion = absent[0]
        message = (
            f"{self.loaded.name}: {counted(len(absent), 'pair')} of post and criterion without a row "
            f"(first: post {shown(post)}, criterion {shown(criterion)}). "
            "Write a row for every pair; gold_sent_uids is empty where there is no evidence."
        )
        return [Problem("MISSING_PAIR", message)]
