"""Answers of a model that is in use, and labels that came later: together a run, to be judged under the model's own thresholds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import polars as pl

from evidentia.errors import InputError, Problem, counted, shown
from evidentia.protocol.answer_parts import THRESHOLDS, load_answers
from evidentia.protocol.apply import apply_tuning
from evidentia.protocol.document import from_document, read_tuning
from evidentia.protocol.tuning import Tuning
from evidentia.tables import Run, read_run
from evidentia.tables.cells import unquoted
from evidentia.tables.document import read_document
from evidentia.tables.files import Loaded, load, read_content
from evidentia.tables.run import Source

KEY = ["post_id", "criterion_id"]
LABELS = ("gold_sent_uids", "has_evidence")
_DECIDED = ("prob", "state", "tau", "tau_neg", "tau_pos")
_ANSWERS = (*KEY, "detection_score", "prob", "state", "selected_sent_uids", "ranked_sent_uids", "n_candidates")
AGAIN = "Write the answers again with `evidentia predict`."


def thresholds_beside(answers: Path) -> Path:
    """Where `evidentia predict` puts the thresholds of its answers: beside a file, or into a folder.

    >>> thresholds_beside(Path("out/answers.jsonl")).name
    'answers.jsonl.thresholds.json'
    """
    if os.path.isdir(answers):  # the method of Path fails for long names
        return answers / THRESHOLDS
    return answers.with_name(f"{answers.name}.thresholds.json")


def labelled_answers(
    answers: Path | str, labels: Path | str, *, thresholds: Path | str | None = None
) -> tuple[Run, Path]:
    """The answered queries that have labels, and the file of the thresholds that they are judged under.

    Refused: labels of posts that the model was trained on, labels without an answer, posts of which only some criteria are
    labelled, and answers that the thresholds beside them do not give. Posts without labels are left out and counted.
    """
    answers = Path(answers)
    place = thresholds_beside(answers) if thresholds is None else Path(thresholds)
    if not place.is_file():
        raise InputError(
            Problem(
                "MISSING_THRESHOLDS",
                f"{place.name}: no such file. `evidentia predict` writes it beside its answers. {AGAIN}",
            )
        )
    answered, labelled = load_answers(answers), load(labels)
    _refuse_unlike(answered, _ANSWERS)
    tuning, _ = read_tuning(place)
    frame = _joined(answered, labelled)
    _refuse_trained_on(frame, place, answered.name)
    fold = tuning.folds[0].fold
    frame = frame if fold is None else frame.with_columns(fold=pl.lit(fold))
    run = read_run(frame.drop(_DECIDED, strict=False))
    if thresholds is None:
        _refuse_others(run, frame, tuning, answered.name, place.name)
    sources = tuple(
        Source(role, each.name, each.sha256, each.frame.height)
        for role, each in (("run", answered), ("labels", labelled))
    )
    unlabelled = answered.frame.height - frame.height
    left_out = {**run.left_out, **({"answers without a label": unlabelled} if unlabelled else {})}
    return replace(run, sources=sources, left_out=left_out), place


def _refuse_unlike(answered: Loaded, columns: tuple[str, ...]) -> None:
    lacking = [column for column in columns if column not in answered.frame.columns]
    if lacking:
        message = f"{answered.name}: no column {', '.join(lacking)}. With labels, give what `evidentia predict` wrote."
        raise InputError(Problem("MISSING_COLUMN", message))


def _keys(loaded: Loaded) -> list[pl.Series]:
    """The ids as texts, as they were meant."""
    cells = (loaded.frame[name].cast(pl.String, strict=False).fill_null("") for name in KEY)
    return [unquoted(series) if loaded.delimited else series for series in cells]


def _labels(loaded: Loaded) -> pl.DataFrame:
    """The labels by their keys: gold sentences joined as answers have them, or whether there is evidence."""
    there = [column for column in LABELS if column in loaded.frame.columns]
    lacking = [column for column in KEY if column not in loaded.frame.columns] or ([] if there else ["gold_sent_uids"])
    if lacking:
        columns = "post_id, criterion_id, and gold_sent_uids or has_evidence"
        message = f"{loaded.name}: no column {', '.join(lacking)}. Labels have the columns {columns}."
        raise InputError(Problem("MISSING_COLUMN", message))
    cells = [loaded.frame[name] for name in there]
    cells = [each.list.join("|") if each.dtype == pl.List else each for each in cells]
    cells = [unquoted(each) if loaded.delimited else each for each in cells]
    if "gold_sent_uids" in there:
        cells[0] = cells[0].fill_null("")
    return pl.DataFrame([*_keys(loaded), *cells])


def read_labels(loaded: Loaded) -> pl.DataFrame:
    """Whether each labelled query has evidence: post_id, criterion_id, ``has``."""
    labels = _labels(loaded)
    problems = _repeated(labels, loaded.name)
    if "gold_sent_uids" in labels.columns:
        has = pl.col("gold_sent_uids").str.strip_chars().str.len_chars() > 0
    else:
        words = labels["has_evidence"].cast(pl.String, strict=False).fill_null("").str.to_lowercase()
        wrong = words.is_in(["0", "1", "true", "false"]).not_().sum()
        if wrong:
            message = (
                f"{loaded.name}: {counted(int(wrong), 'row')} whose has_evidence is neither 0 nor 1. Write one of them."
            )
            problems.append(Problem("WRONG_LABEL", message))
        has = pl.lit(words.is_in(["1", "true"]))
    if problems:
        raise InputError(*problems)
    return labels.select(*KEY, has=has)


def _joined(answered: Loaded, labelled: Loaded) -> pl.DataFrame:
    """The answers that have a label, in their order, with it."""
    words = [name for name, kind in answered.frame.schema.items() if kind == pl.String and name not in KEY]
    frame = answered.frame.drop("evidence", *LABELS, strict=False).with_columns(*_keys(answered))
    if answered.delimited:
        frame = frame.with_columns(unquoted(frame[name]) for name in words)
    labels = _labels(labelled)
    problems = [*_repeated(frame, answered.name), *_repeated(labels, labelled.name)]
    unknown = labels.join(frame, on=KEY, how="anti")
    if unknown.height:
        message = f"{labelled.name}: {counted(unknown.height, 'label')} of queries that {answered.name} does not answer"
        problems.append(
            Problem("UNKNOWN_QUERY", f"{message} (first: {_first(unknown)}). Leave them out, or predict those posts.")
        )
    partly = frame.join(labels.select("post_id").unique(), on="post_id", how="semi").join(labels, on=KEY, how="anti")
    if partly.height:
        message = f"{labelled.name}: {counted(partly.height, 'query', 'queries')} of labelled posts without a label"
        problems.append(
            Problem("MISSING_PAIR", f"{message} (first: {_first(partly)}). Label every criterion of a post, or none.")
        )
    if problems:
        raise InputError(*problems)
    return frame.join(labels, on=KEY, how="inner", maintain_order="left")


def _repeated(frame: pl.DataFrame, name: str) -> list[Problem]:
    twice = frame.filter(pl.struct(KEY).is_first_distinct().not_())
    if not twice.height:
        return []
    message = f"{name}: {counted(twice.height, 'row')} repeating a post and criterion (first: {_first(twice)}). Keep one each."
    return [Problem("DUPLICATE_QUERY", message)]


def _first(frame: pl.DataFrame) -> str:
    return f"post {shown(frame['post_id'][0])}, criterion {shown(frame['criterion_id'][0])}"


def _refuse_trained_on(frame: pl.DataFrame, place: Path, name: str) -> None:
    """A model says more of posts that it learnt from than it could know of others."""
    document = read_document(read_content(place))
    from_document(document, name=place.name)
    try:
        learnt = {str(post) for post in document["model"]["trained_on"]}
    except (KeyError, TypeError):
        raise InputError(
            f"{place.name} does not say which posts its model was trained on, so nobody can tell whether they are judged. {AGAIN}"
        ) from None
    shared = sorted(learnt & set(frame["post_id"].to_list()))
    if shared:
        message = (
            f"{name}: the model was trained on {counted(len(shared), 'labelled post')} of {frame['post_id'].n_unique():,} "
            f"(first: {shown(shared[0])}). Leave their labels out."
        )
        raise InputError(Problem("TRAINED_ON", message))


def _refuse_others(run: Run, frame: pl.DataFrame, tuning: Tuning, name: str, place: str) -> None:
    """The thresholds beside the answers give the very probabilities and states that are written there."""
    judged = apply_tuning(run, tuning).frame
    own = [column for column in ("prob", "state") if column in judged.columns]  # one threshold alone gives no state
    written = frame.select(*KEY, *(pl.col(column).cast(judged.schema[column], strict=False) for column in own))
    both = judged.select(*KEY, *own).join(written, on=KEY, how="left", suffix="_written")
    wrong = both.filter(~pl.all_horizontal(pl.col(column).eq_missing(pl.col(f"{column}_written")) for column in own))
    if wrong.height:
        message = (
            f"{name}: {counted(wrong.height, 'row')} of {both.height:,} with another prob or state than {place} gives"
        )
        reason = f"(first: {_first(wrong)}). They were changed, or come from another model. {AGAIN}"
        raise InputError(Problem("OTHER_ANSWERS", f"{message} {reason}"))
