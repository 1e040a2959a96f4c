"""documents.jsonl: posts with their sentences, or with a text that is cut into sentences here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evidentia.corpus.records import (
    LOSES_RECORDS,
    Record,
    broken_text,
    has_surrogate,
    read_id,
    read_records,
    read_text,
    unread_keys,
    wrong_type,
)
from evidentia.corpus.splitter import Span, described, split
from evidentia.errors import Problem, counted, shown
from evidentia.tables.document import Faults, Kind
from evidentia.tables.files import Content

_KEYS = ("post_id", "sentences", "text")
_BOTH = Kind(
    "SENTENCES_AND_TEXT", "post", "with both sentences and text", "Keep one: sentences, or a text to be split."
)
_NEITHER = Kind("MISSING_KEY", "post", "with neither sentences nor text", "Give every post one of them.")
_NO_SENTENCES = Kind("EMPTY_POST", "post", "without a sentence", "Leave them out, or give them a text.")
SAME_POST = Kind("DUPLICATE_POST", "post", "whose post_id an earlier one has", "Keep one line per post.")
_SAME_UID = Kind("DUPLICATE_UID", "sentence", "whose sent_uid the same post has before", "Give each a uid of its own.")
OTHER_POST = Kind(
    "UID_IN_TWO_POSTS",
    "sentence",
    "whose sent_uid an earlier post has",
    "Give each a uid of its own in the whole corpus.",
)
_KEEPS_UIDS = {"EMPTY_TEXT", "EMPTY_POST", "DUPLICATE_UID", "UID_IN_TWO_POSTS"}


@dataclass(eq=False)
class Documents:
    """What a file of posts holds. ``starts`` says where in its text each sentence begins, -1 where sentences were given.

    After a problem posts or sentences may be missing here: ``posts_known`` and ``uids_known`` say whether an id that is
    looked up in vain does not exist. A post without an id of its own is not here, nor are its sentences.
    """

    post_ids: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    sent_uids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    cut: int = 0
    posts_known: bool = True
    uids_known: bool = True
    problems: list[Problem] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def read_documents(content: Content, splitter: str) -> Documents:
    """Read and check all posts of a file."""
    faults = Faults(content.name)
    return check_documents(read_records(content, faults), splitter, faults)


def check_documents(records: Iterable[Record], splitter: str | None, faults: Faults) -> Documents:
    """Check posts one after the other; what is wrong with them is noted. Without a ``splitter`` a text stays one sentence."""
    reader = _PostReader(faults, splitter)
    for record in records:
        reader.add(record)
    documents = reader.made
    documents.problems = faults.problems
    codes = {problem.code for problem in documents.problems}
    documents.posts_known = documents.posts_known and codes.isdisjoint(LOSES_RECORDS)
    documents.uids_known = documents.posts_known and codes <= _KEEPS_UIDS
    documents.notes = unread_keys(faults.name, reader.keys, _KEYS)
    if documents.cut and splitter is not None:
        cut = f"{counted(documents.cut, 'post')} given as text, cut into sentences by {described(splitter)}"
        documents.notes = (*documents.notes, f"{faults.name}: {cut}; other versions may cut elsewhere.")
    return documents


@dataclass(eq=False)
class _PostReader:
    """Takes one post after the other, and remembers the ids that were given away."""

    faults: Faults
    splitter: str | None
    made: Documents = field(default_factory=Documents)
    keys: set[str] = field(default_factory=set)
    posts: set[str] = field(default_factory=set)
    owner: dict[str, str] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        self.keys.update(record.members)
        place = record.place
        post = read_id(record.members, "post_id", "post", place, self.faults)
        if post is not None:
            place = f"{place}, post {shown(post)}"
            if post in self.posts:
                self.faults.add(SAME_POST, place)
                return
            self.posts.add(post)
        else:
            self.made.posts_known = False
        before = len(self.made.texts)
        self._sentences(record.members, post or f"<{record.place}>", place)
        if post is None:  # its sentences were checked, and belong to no post
            del self.made.sent_uids[before:], self.made.texts[before:], self.made.starts[before:]
        else:
            self.made.post_ids.append(post)
            self.made.lengths.append(len(self.made.texts) - before)

    def _sentences(self, members: Mapping[str, Any], post: str, place: str) -> None:
        """Take the sentences that are given, or cut the text."""
        sentences, text = members.get("sentences"), members.get("text")
        if sentences is not None and text is not None:
            self.faults.add(_BOTH, place)
        elif text is not None:
            self._cut(text, post, place)
        elif sentences is None:
            self.faults.add(_NEITHER, place)
        elif not isinstance(sentences, list):
            self.faults.add(wrong_type("post", "sentences", "a list"), place)
        elif not sentences:
            self.faults.add(_NO_SENTENCES, place)
        else:
            for index, sentence in enumerate(sentences):
                self._given(sentence, post, place, index)

    def _given(self, sentence: object, post: str, place: str, index: int) -> None:
        where = f"{place}, sentence {index + 1}"
        if not isinstance(sentence, dict):
            self.faults.add(wrong_type("sentence", "entry", "an object with sent_uid and text"), where)
            return
        uid = read_id(sentence, "sent_uid", "sentence", where, self.faults)
        text = read_text(sentence, "text", "sentence", where, self.faults)
        if uid is not None:
            self._keep(uid, text or "", post, where)

    def _cut(self, text: object, post: str, place: str) -> None:
        if not isinstance(text, str):
            self.faults.add(wrong_type("post", "text", "a text"), place)
        elif has_surrogate(text):
            self.faults.add(broken_text("post", "text"), place)
        elif not text.strip():
            self.faults.add(_NO_SENTENCES, place)
        else:
            self.made.cut += 1
            spans = [Span(0, len(text))] if self.splitter is None else split(text, self.splitter)
            for index, span in enumerate(spans):
                where = f"{place}, sentence {index + 1}"
                uid = read_id({"sent_uid": f"{post}_{index}"}, "sent_uid", "sentence", where, self.faults)
                if uid is not None:
                    self._keep(uid, text[span.start : span.stop], post, where, start=span.start)

    def _keep(self, uid: str, text: str, post: str, where: str, *, start: int = -1) -> None:
        earlier = self.owner.get(uid)
        if earlier is None:
            self.owner[uid] = post
            self.made.sent_uids.append(uid)
            self.made.texts.append(text)
            self.made.starts.append(start)
        else:
            self.faults.add(_SAME_UID if earlier == post else OTHER_POST, f"{where}, uid {shown(uid)}")
