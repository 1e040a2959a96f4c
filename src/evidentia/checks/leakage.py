"""Checks that need more than a run: the texts of its posts, and the names of the features that a model was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from evidentia.checks.registry import CHECKS, Verdict, check, looked_at, not_applicable, skipped
from evidentia.checks.subject import Subject, Texts
from evidentia.errors import InputError, Problem, counted, shown
from evidentia.leakage.copies import SIMILARITY, copies_between, forbidden_names
from evidentia.results import Finding
from evidentia.tables import Run
from evidentia.tables.files import load

FEATURE_NAMES = "FEAT001"
CODES = ("FOLD001", "LEAK001", "DUP001", FEATURE_NAMES)


@check(FEATURE_NAMES, title="No feature is named after gold")
def feature_names(subject: Subject) -> Verdict:
    """None of the features that a model was given has a name that speaks of gold."""
    if subject.features is None:
        return skipped("the features are not known here; `evidentia leakage --features FILE` looks at their names")
    wrong = forbidden_names(subject.features)
    fault = f"speak of gold ({', '.join(wrong[:5])})" if wrong else ""
    return looked_at(len(subject.features), "feature name", wrong=len(wrong), fault=fault)


@check("DUP001", title="No near-identical texts in two folds")
def no_copies_between_folds(subject: Subject) -> Verdict:
    """No text has a near-identical one in another fold, or on the other side of TUNE and EVAL in the same fold."""
    if subject.texts is None:
        return skipped("the texts are not known here; `evidentia leakage --texts FILE` compares them")
    places, tuned = ({}, {}) if subject.run is None else (places_of(subject.run), tuned_in(subject.run))
    if len(set(places.values())) < 2 and not tuned:
        return not_applicable("the run has neither two folds nor TUNE rows")
    copies = copies_between(subject.texts.by_post, places, tuned=tuned, similarity=subject.texts.similarity)
    missing = len(places.keys() | tuned.keys()) - copies.compared
    aside = f"; {missing:,} posts have no text" if missing else ""
    first = f" (first group: {', '.join(map(shown, copies.groups[0][:3]))})" if copies.groups else ""
    fault = f"have a near-identical one in another fold, or across TUNE and EVAL, in {counted(len(copies.groups), 'group')}{first}"
    return looked_at(copies.compared, "text", wrong=copies.texts, fault=fault, aside=aside)


def places_of(run: Run) -> dict[str, str]:
    """Where each post is judged: its fold, or one place for all where there are no folds."""
    if "fold" not in run.frame.columns:
        return dict.fromkeys(run.frame["post_id"].unique(maintain_order=True).to_list(), "EVAL")
    return dict(run.frame.select("post_id", "fold").unique("post_id", maintain_order=True).rows())


def tuned_in(run: Run) -> dict[str, tuple[str, ...]]:
    """In which of those places each TUNE post is tuned on; TUNE rows without a fold serve them all."""
    if run.tune_frame is None:
        return {}
    if "fold" in run.frame.columns and "fold" in run.tune_frame.columns:
        pairs = run.tune_frame.select("post_id", "fold").unique().sort("post_id", "fold")
        folds = pairs.group_by("post_id", maintain_order=True).agg("fold")
        return {post: tuple(own) for post, own in folds.rows()}
    everywhere = tuple(dict.fromkeys(places_of(run).values()))
    return dict.fromkeys(run.tune_frame["post_id"].unique().sort().to_list(), everywhere)


def check_leakage(
    run: Run,
    *,
    texts: Mapping[str, str] | None = None,
    similarity: float = SIMILARITY,
    features: Sequence[str] | None = None,
) -> tuple[Finding, ...]:
    """Everything about leakage that a run, its texts and the names of its features can show."""
    known = None if texts is None else Texts(texts, similarity)
    subject = Subject(run=run, features=None if features is None else tuple(features), texts=known)
    return tuple(CHECKS[code](subject) for code in CODES)


def read_texts(path: Path, *, delimiter: str = ",") -> dict[str, str]:
    """The texts of posts: a table with post_id and text. Rows of one post, such as its sentences, are joined in order."""
    loaded = load(path, delimiter=delimiter)
    lacking = [column for column in ("post_id", "text") if column not in loaded.frame.columns]
    if lacking:
        message = f"{loaded.name}: the column {lacking[0]} is missing. Texts have the columns post_id and text."
        raise InputError(Problem("MISSING_COLUMN", message))
    cells = loaded.frame.select(pl.col("post_id", "text").cast(pl.String).fill_null(""))
    return dict(cells.group_by("post_id", maintain_order=True).agg(pl.col("text").str.join("\n")).rows())


def read_names(path: Path) -> tuple[str, ...]:
    """The names of features: the columns of a table, or the lines of a text file."""
    if path.suffix == ".txt":
        try:
            return tuple(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path.name} cannot be read as text ({type(error).__name__}).") from None
    return tuple(load(path).frame.columns)
