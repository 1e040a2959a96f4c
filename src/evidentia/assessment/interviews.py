"""Interviews and texts: read from folders of transcripts or from one table, and checked all at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.assessment.instrument import Instrument
from evidentia.errors import InputError, Problem, counted, shown
from evidentia.tables.files import Loaded, load, read_content
from evidentia.tables.order import by_number

PARTICIPANT = frozenset({"participant", "patient", "client", "interviewee", "subject", "person", "p", "pt"})
OTHER = frozenset(
    {
        "ellie",
        "interviewer",
        "doctor",
        "therapist",
        "clinician",
        "counsellor",
        "counselor",
        "i",
        "dr",
        "gp",
        "nurse",
        "q",
    }
)
LARGEST_FILE = 1 << 26
MOST_TURNS = 100_000
_MARK = re.compile(r"^\s*([A-Za-z][\w .'-]{0,39}?)\s*:\s+(.*)$")
_TURN_COLUMNS = ("speaker", "value")
_SUFFIXES = (".tsv", ".tab", ".csv", ".txt", ".jsonl")


@dataclass(frozen=True)
class Turn:
    """What one speaker said; only the participant's own words are evidence."""

    text: str
    is_participant: bool


@dataclass(frozen=True)
class Interview:
    """The turns of one participant's interview; a text is an interview of one turn."""

    participant_id: str
    turns: tuple[Turn, ...]

    @property
    def answers(self) -> Iterator[tuple[int, Turn]]:
        """The participant's turns with their places."""
        return ((place, turn) for place, turn in enumerate(self.turns) if turn.is_participant)

    def question_before(self, place: int) -> str:
        """What the other speaker said right before a turn; empty where nobody did."""
        said = []
        for turn in reversed(self.turns[:place]):
            if turn.is_participant:
                break
            said.append(turn.text)
        return " ".join(reversed(said))


def read_interviews(source: Path, *, speaker: str | None = None, text: str = "text") -> tuple[Interview, ...]:
    """Read a folder of transcripts (one file per participant) or one table with participant_id and a text.

    ``speaker`` names the participant where the marks are unusual. Every problem is raised at once.
    """
    problems: list[Problem] = []
    if source.is_dir():
        interviews = list(_folder(source, speaker, problems))
    else:
        interviews = list(_table(load(source), speaker, text, problems))
    interviews = _distinct(interviews, problems)
    if not interviews and not problems:
        problems.append(Problem("NO_INTERVIEW", f"{source.name}: 0 interviews. {_LAYOUTS}"))
    if problems:
        raise InputError(*problems)
    order = by_number(interview.participant_id for interview in interviews)
    by_id = {interview.participant_id: interview for interview in interviews}
    return tuple(by_id[own] for own in order)


_LAYOUTS = (
    "Give a folder with one transcript per participant (.tsv with speaker and value, .txt with `Speaker: ...` lines, .jsonl), "
    "or one .csv, .jsonl or .parquet with participant_id and text."
)


def _folder(folder: Path, speaker: str | None, problems: list[Problem]) -> Iterator[Interview]:
    paths = sorted(
        path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES and not path.name.startswith(".")
    )
    for path in paths:
        try:
            yield _transcript(path, speaker)
        except InputError as error:
            problems.extend(error.problems)


def _transcript(path: Path, speaker: str | None) -> Interview:
    participant = re.sub(r"_(transcript|transcripts|interview)$", "", path.stem, flags=re.IGNORECASE)
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(Problem("TOO_LARGE", f"{path.name}: more than {LARGEST_FILE:,} bytes. Is it a transcript?"))
    if path.suffix.lower() == ".txt":
        spoken = list(_marked_lines(read_content(path).text().decode()))
    else:
        spoken = list(_rows(_turn_table(path), path.name))
    return _interview(path.name, participant, spoken, speaker)


def _turn_table(path: Path) -> pl.DataFrame:
    """The turns of a transcript; DAIC-WOZ files have tabs also where they are called .csv."""
    delimiter = "\t" if path.suffix.lower() == ".csv" and b"\t" in read_content(path).data[:200] else ","
    frame = load(path, delimiter=delimiter).frame
    return frame.rename({"text": "value"}) if "text" in frame.columns and "value" not in frame.columns else frame


def _rows(frame: pl.DataFrame, name: str) -> Iterator[tuple[str, str]]:
    missing = [column for column in _TURN_COLUMNS if column not in frame.columns]
    if missing:
        message = f"{name}: there is no column {' or '.join(missing)}. A transcript has start_time, stop_time, speaker, value."
        raise InputError(Problem("MISSING_COLUMN", message))
    if "turn" in frame.columns:
        frame = frame.sort("turn", maintain_order=True)
    for spoken_by, value in frame.select(_TURN_COLUMNS).iter_rows():
        yield str(spoken_by or ""), str(value or "")


def _marked_lines(text: str) -> Iterator[tuple[str, str]]:
    """Lines with a speaker before a colon; a line without one goes on, and a file without any is one text."""
    speaker, lines = "", list[str]()
    for line in text.splitlines():
        match = _MARK.match(line)
        if match is not None and _is_speaker(match[1]):
            if lines:
                yield speaker, " ".join(lines)
            speaker, lines = match[1], [match[2]]
        elif line.strip():
            lines.append(line.strip())
    if lines:
        yield speaker, " ".join(lines)


def _is_speaker(mark: str) -> bool:
    return mark.strip().lower() in PARTICIPANT | OTHER or mark.istitle() or mark.isupper()


def _interview(name: str, participant: str, spoken: Sequence[tuple[str, str]], speaker: str | None) -> Interview:
    if len(spoken) > MOST_TURNS:
        raise InputError(Problem("TOO_LARGE", f"{name}: {len(spoken):,} turns; at most {MOST_TURNS:,} are read."))
    marks = {mark.strip().lower() for mark, _ in spoken}
    own = {speaker.strip().lower()} if speaker is not None else marks & PARTICIPANT
    if marks == {""}:
        own = {""}  # a text without marks is the participant's
    if not marks & own:
        known = f"Name the participant's mark with --speaker; {counted(len(marks), 'mark')} in the file."
        raise InputError(Problem("NO_PARTICIPANT", f"{name}: no turn is marked as the participant's. {known}"))
    turns = tuple(Turn(" ".join(text.split()), mark.strip().lower() in own) for mark, text in spoken if text.strip())
    if not any(turn.is_participant for turn in turns):
        raise InputError(Problem("EMPTY_TEXT", f"{name}: the participant says nothing. Leave the file out."))
    return Interview(participant, turns)


def _table(loaded: Loaded, speaker: str | None, text: str, problems: list[Problem]) -> Iterator[Interview]:
    frame, name = loaded.frame, loaded.name
    if "participant_id" not in frame.columns or (text not in frame.columns and "value" not in frame.columns):
        lacking = [column for column in ("participant_id", text) if column not in frame.columns]
        problems.append(
            Problem("MISSING_COLUMN", f"{name}: there is no column {' and no column '.join(lacking)}. {_LAYOUTS}")
        )
        return
    ids = frame["participant_id"].cast(pl.String, strict=False)
    empty = ids.is_null() | (ids.str.strip_chars() == "")
    if empty.any():
        first = loaded.place(int(empty.arg_max() or 0))
        problems.append(
            Problem(
                "PARTICIPANT_ID",
                f"{name}: {counted(int(empty.sum()), 'row')} without a participant_id (first: {first}).",
            )
        )
        return
    if "speaker" in frame.columns:
        column = text if text in frame.columns else "value"
        turns = frame.with_columns(participant_id=ids).rename({} if column == "value" else {column: "value"})
        for own, part in turns.group_by("participant_id", maintain_order=True):
            try:
                yield _interview(name, str(own[0]), list(_rows(part, name)), speaker)
            except InputError as error:
                problems.extend(error.problems)
        return
    yield from _texts(loaded, ids, frame[text].cast(pl.String, strict=False), problems)


def _texts(loaded: Loaded, ids: pl.Series, texts: pl.Series, problems: list[Problem]) -> Iterator[Interview]:
    blank = texts.is_null() | (texts.str.strip_chars() == "")
    if blank.any():
        first = loaded.place(int(blank.arg_max() or 0))
        remedy = "Leave them out, or write them."
        problems.append(
            Problem(
                "EMPTY_TEXT",
                f"{loaded.name}: {counted(int(blank.sum()), 'row')} without a text (first: {first}). {remedy}",
            )
        )
        return
    for own, words in zip(ids, texts, strict=True):
        yield Interview(str(own), (Turn(" ".join(str(words).split()), True),))


def _distinct(interviews: Iterable[Interview], problems: list[Problem]) -> list[Interview]:
    listed = list(interviews)
    ids = [interview.participant_id for interview in listed]
    repeated = [own for own in dict.fromkeys(ids) if ids.count(own) > 1] if len(set(ids)) < len(ids) else []
    if repeated:
        message = f"{counted(len(repeated), 'participant')} more than once (first: {shown(repeated[0])}). Keep one interview each."
        problems.append(Problem("DUPLICATE_PARTICIPANT", message))
    return listed


def read_truth(source: Path, instrument: Instrument) -> dict[str, dict[str, int]]:
    """The item scores of every participant: a CSV with participant_id and one column per item."""
    loaded = load(source)
    frame, problems = loaded.frame, list[Problem]()
    missing = [column for column in ("participant_id", *instrument.item_ids) if column not in frame.columns]
    if missing:
        message = f"{loaded.name}: {counted(len(missing), 'column')} missing ({', '.join(map(shown, missing[:12]))})."
        raise InputError(
            Problem(
                "MISSING_COLUMN",
                f"{message} The truth has participant_id and one column per item of {instrument.name}.",
            )
        )
    ids = [str(value) for value in frame["participant_id"]]
    if len(set(ids)) < len(ids):
        problems.append(
            Problem(
                "DUPLICATE_PARTICIPANT",
                f"{loaded.name}: {counted(len(ids) - len(set(ids)), 'row')} for a participant who has one already.",
            )
        )
    truth: dict[str, dict[str, int]] = {own: {} for own in ids}
    for item in instrument.items:
        scores = frame[item.id].cast(pl.Float64, strict=False)
        sound = (scores == scores.round()) & (scores >= item.low) & (scores <= item.high)
        wrong = ~sound.fill_null(False)
        if wrong.any():
            first = loaded.place(int(wrong.arg_max() or 0))
            problems.append(
                Problem(
                    "SCORE",
                    f"{loaded.name}: {counted(int(wrong.sum()), 'row')} whose {shown(item.id)} is not a whole number from "
                    f"{item.low} to {item.high} (first: {first}).",
                )
            )
            continue
        for own, score in zip(ids, scores, strict=True):
            truth[own][item.id] = int(score)
    if problems:
        raise InputError(*problems)
    return truth


def check_inputs(
    source: Path, instrument: Instrument, truth: Path | None = None, **options: Any
) -> tuple[tuple[Interview, ...], Mapping[str, Mapping[str, int]] | None]:
    """Interviews and truth, read together: every problem of both at once, and nobody without a truth."""
    problems: list[Problem] = []
    interviews: tuple[Interview, ...] = ()
    scores: dict[str, dict[str, int]] | None = None
    try:
        interviews = read_interviews(source, **options)
    except InputError as error:
        problems += error.problems
    try:
        scores = None if truth is None else read_truth(truth, instrument)
    except InputError as error:
        problems += error.problems
    if truth is not None and scores is not None and interviews:
        lacking = [i.participant_id for i in interviews if i.participant_id not in scores]
        if lacking:
            problems.append(
                Problem(
                    "MISSING_TRUTH",
                    f"{truth.name}: {counted(len(lacking), 'participant')} of {source.name} without a truth (first: "
                    f"{shown(lacking[0])}). Add them, or leave out --truth.",
                )
            )
    if problems:
        raise InputError(*problems)
    return interviews, scores
