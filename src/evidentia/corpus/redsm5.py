"""ReDSM5 as its authors distribute it, made into a corpus.

The annotations quote some sentences of every post and number them. Those keep their text and number; the rest of the
post is cut by a splitter around them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import numpy as np

from evidentia.corpus.align import Placed, Quote, arrange, place_quotes
from evidentia.corpus.posts import Criterion, Posts
from evidentia.corpus.read import Corpus, find
from evidentia.corpus.records import read_id
from evidentia.corpus.splitter import DEFAULT, Span, described, split, splitter_named
from evidentia.corpus.write import ensure_corpus_writable, write_corpus
from evidentia.errors import InputError, Problem, counted, shown
from evidentia.tables.document import Faults, Kind
from evidentia.tables.files import Loaded, load
from evidentia.tables.run import Source

_DATA = resources.files("evidentia.corpus") / "redsm5_symptoms.toml"
SYMPTOMS = {name: Criterion(**table) for name, table in tomllib.loads(_DATA.read_text("utf-8")).items()}
POSTS, ANNOTATIONS = "redsm5_posts.csv", "redsm5_annotations.csv"
Progress = Callable[[int, int], None]
_POST_COLUMNS = ("post_id", "text")
_ANNOTATION_COLUMNS = ("post_id", "sentence_id", "sentence_text", "DSM5_symptom", "status")
_STATUS = {"1": True, "0": False, "1.0": True, "0.0": False}
_COLUMNS = {symptom: column for column, symptom in enumerate(SYMPTOMS)}
_REPAIR = "Take the files as their authors distribute them, or correct these rows."

_EMPTY_POST = Kind("EMPTY_POST", "row", "whose text is empty or blank", _REPAIR)
_SAME_POST = Kind("DUPLICATE_POST", "row", "whose post_id an earlier row has", "Keep one row per post.")
_UNKNOWN_POST = Kind("UNKNOWN_POST", "row", f"whose post_id is not in {POSTS}", _REPAIR)
_BAD_SENTENCE_ID = Kind("SENTENCE_ID", "row", "whose sentence_id is not the post_id, _ and a number", _REPAIR)
_NO_QUOTE = Kind("EMPTY_TEXT", "row", "whose sentence_text is empty or blank", _REPAIR)
_SYMPTOM = Kind("UNKNOWN_SYMPTOM", "row", "whose DSM5_symptom is not known", f"Known are {', '.join(SYMPTOMS)}.")
_BAD_STATUS = Kind("WRONG_TYPE", "row", "whose status is neither 0 nor 1", _REPAIR)
_TWO_TEXTS = Kind("TWO_TEXTS", "row", "giving a sentence_id another sentence_text than an earlier row", _REPAIR)
_TWO_STATUSES = Kind("TWO_STATUSES", "row", "contradicting the status of an earlier row", "Keep the one that is right.")
_NOT_FOUND = Kind(
    "UNALIGNED_SENTENCE",
    "annotated sentence",
    "that is not in the text of its post",
    "Take both files from the same release, unchanged; another splitter does not change this.",
)


def import_redsm5(
    folder: Path | str,
    out: Path | str,
    *,
    splitter: str = DEFAULT,
    force: bool = False,
    progress: Progress | None = None,
) -> Corpus:
    """Read redsm5_posts.csv and redsm5_annotations.csv in ``folder`` and write them as a corpus to ``out``.

    The ten symptoms become the criteria A.1 to A.10. A sentence is gold for one if a row says so with status 1; status 0
    says that it is none. Returns what was written; all problems are raised together, and then nothing is written.
    """
    ensure_corpus_writable(Path(out), force=force)
    corpus = read_redsm5(folder, splitter=splitter, progress=progress)
    write_corpus(corpus.posts, out, force=force)
    return corpus


def read_redsm5(folder: Path | str, *, splitter: str = DEFAULT, progress: Progress | None = None) -> Corpus:
    """Read and check both files, find the annotated sentences in the posts, and cut the rest.

    ``progress`` is told how many posts are done, and of how many.
    """
    splitter_named(splitter)
    posts, annotations, sources = _load(Path(folder))
    faults = (Faults(posts.name), Faults(annotations.name))
    texts = _texts(posts, faults[0])
    annotated = _annotations(annotations, texts, faults[1])
    if problems := [problem for fault in faults for problem in fault.problems]:
        raise InputError(*problems)
    cut: list[_Cut] = []
    for post, text in texts.items():
        cut.append(_cut(post, text, annotated.get(post, {}), splitter))
        for index in cut[-1].lost:
            faults[1].add(_NOT_FOUND, f"sentence {shown(f'{post}_{index}')}")
        if progress is not None:
            progress(len(cut), len(texts))
    faults[1].refuse()
    return Corpus(_posts(cut, texts, annotated), sources, _notes(cut, splitter), splitter)


@dataclass(eq=False)
class _Annotated:
    """A sentence that the annotations list, with what they say about it."""

    text: str
    status: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Cut:
    """A post in sentences, and the numbers of those that were not found in it."""

    post: str
    sentences: Sequence[Placed]
    uids: Sequence[str]
    lost: Sequence[int]


_ByIndex = Mapping[int, _Annotated]


def _load(folder: Path) -> tuple[Loaded, Loaded, tuple[Source, ...]]:
    loaded: list[Loaded] = []
    problems: list[Problem] = []
    for name, columns in ((POSTS, _POST_COLUMNS), (ANNOTATIONS, _ANNOTATION_COLUMNS)):
        try:
            loaded.append(load(find(folder, name)))
        except InputError as error:
            problems.extend(error.problems)
            continue
        if lacking := [column for column in columns if column not in loaded[-1].frame.columns]:
            message = f"{loaded[-1].name}: no column {', '.join(lacking)} (line 1). {_REPAIR}"
            problems.append(Problem("MISSING_COLUMN", message))
    if problems:
        raise InputError(*problems)
    roles = zip(("posts", "annotations"), loaded, strict=True)
    return loaded[0], loaded[1], tuple(Source(role, part.name, part.sha256, part.frame.height) for role, part in roles)


def _rows(loaded: Loaded, columns: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The place of every row, and its cells."""
    cells = zip(*(loaded.frame[column].fill_null("").to_list() for column in columns), strict=True)
    return ((loaded.place(row), values) for row, values in enumerate(cells))


def _texts(loaded: Loaded, faults: Faults) -> dict[str, str]:
    texts: dict[str, str] = {}
    for place, (post_id, text) in _rows(loaded, _POST_COLUMNS):
        post = read_id({"post_id": post_id}, "post_id", "row", place, faults)
        if post is None:
            continue
        if post in texts or not text.strip():
            faults.add(_SAME_POST if post in texts else _EMPTY_POST, f"{place}, post {shown(post)}")
        texts.setdefault(post, text)
    return texts


def _annotations(loaded: Loaded, texts: Mapping[str, str], faults: Faults) -> dict[str, dict[int, _Annotated]]:
    """What the annotations say, by post and number of the sentence."""
    annotated: dict[str, dict[int, _Annotated]] = {}
    for place, (post, sentence, text, symptom, status) in _rows(loaded, _ANNOTATION_COLUMNS):
        index = _index(post, sentence)
        wrong = {
            _UNKNOWN_POST: post not in texts,
            _BAD_SENTENCE_ID: index is None,
            _NO_QUOTE: not text.strip(),
            _BAD_STATUS: status.strip() not in _STATUS,
        }
        for kind in (kind for kind, is_wrong in wrong.items() if is_wrong):
            faults.add(kind, f"{place}, post {shown(post)}")
        if symptom.strip() not in SYMPTOMS:
            faults.add(_SYMPTOM, f"{place}, {shown(symptom)}")
        elif index is not None and not any(wrong.values()):
            there = annotated.setdefault(post, {}).setdefault(index, _Annotated(text))
            where = f"{place}, sentence {shown(sentence)}"
            if there.text.split() != text.split():
                faults.add(_TWO_TEXTS, where)
            if there.status.setdefault(symptom.strip(), _STATUS[status.strip()]) != _STATUS[status.strip()]:
                faults.add(_TWO_STATUSES, where)
    return annotated


def _index(post: str, sentence: str) -> int | None:
    """The number of a sentence in its id; the post before it may itself hold underscores."""
    number = sentence.removeprefix(f"{post}_")
    return int(number) if number != sentence and re.fullmatch(r"\d{1,6}", number, re.ASCII) else None


def _cut(post: str, text: str, annotated: _ByIndex, splitter: str) -> _Cut:
    spans: Sequence[Span] = split(text, splitter)
    quotes = [Quote(index, annotated[index].text) for index in sorted(annotated)]
    placed = place_quotes(text, quotes, spans)
    lost = [quote.index for quote, one in zip(quotes, placed, strict=True) if one is None]
    sentences = arrange(text, [one for one in placed if one is not None], spans)
    return _Cut(post, sentences, [f"{post}_{name}" for name in numbered(sentences)], lost)


def numbered(sentences: Sequence[Placed]) -> list[str]:
    """Names for the sentences of a post: the numbers that are given, and those between them for the others.

    Where the splitter finds more sentences between two numbers than there is room for, the rest is counted from the
    sentence before, as ``3+1``, so that the number of an annotated sentence is never given to another.

    >>> numbered([Placed(Span(0, 1)), Placed(Span(1, 2), 1), Placed(Span(2, 3)), Placed(Span(3, 4), 2)])
    ['0', '1', '1+1', '2']
    """
    names: list[str] = []
    numbers = [sentence.index for sentence in sentences]
    last, extra = -1, 0
    for at, index in enumerate(numbers):
        following = next((number for number in numbers[at:] if number is not None), None)
        if index is not None or following is None or last + 1 < following:
            last, extra = (last + 1 if index is None else index), 0
            names.append(str(last))
        else:
            extra += 1
            names.append(f"{'start' if last < 0 else last}+{extra}")
    return names


def _posts(cut: Sequence[_Cut], texts: Mapping[str, str], annotated: Mapping[str, _ByIndex]) -> Posts:
    uids = tuple(uid for one in cut for uid in one.uids)
    gold = np.zeros((len(uids), len(SYMPTOMS)), np.bool_)
    row_of = {uid: row for row, uid in enumerate(uids)}
    for post, by_index in annotated.items():
        for index, sentence in by_index.items():
            for symptom, is_evidence in sentence.status.items():
                gold[row_of[f"{post}_{index}"], _COLUMNS[symptom]] = is_evidence
    return Posts(
        post_ids=tuple(one.post for one in cut),
        sent_uids=uids,
        texts=tuple(texts[one.post][s.span.start : s.span.stop] for one in cut for s in one.sentences),
        offsets=np.cumsum([0, *(len(one.sentences) for one in cut)], dtype=np.int64),
        criteria=tuple(SYMPTOMS.values()),
        gold=gold,
    )


def _notes(cut: Sequence[_Cut], splitter: str) -> tuple[str, ...]:
    """What a reader of the corpus should know about how it was made."""
    quoted = [sentence for post in cut for sentence in post.sentences if sentence.index is not None]
    inexact = sum(not sentence.exact for sentence in quoted)
    crowded = sum("+" in uid.removeprefix(f"{post.post}_") for post in cut for uid in post.uids)
    rest = sum(len(post.sentences) for post in cut) - len(quoted)
    notes = [
        f"{counted(len(quoted), 'sentence')} as annotated; {counted(rest, 'sentence')} around them cut by "
        f"{described(splitter)}; other versions may cut elsewhere."
    ]
    if inexact:
        notes.append(
            f"{counted(inexact, 'annotated sentence')} found by their words only: letters, case or marks differ."
        )
    if crowded:
        notes.append(f"{counted(crowded, 'sentence')} between two numbers of the authors have a uid with a +.")
    return tuple(notes)
