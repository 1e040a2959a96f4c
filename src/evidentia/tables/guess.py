"""Which columns of a file stand for which canonical ones, by their names and what they hold.

A guess is only proposed. It is certain, so that ``auto`` may take it, where its name says nothing else, no other column
could be meant, and the column holds what it should.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from evidentia.tables.cells import COUNT, FLAG, NUMBER, converted, filled
from evidentia.tables.lists import WORD, is_printed, unprinted
from evidentia.tables.queries import STATES

# by canonical name: names that mean nothing else, and names that may mean it
NAMES: Mapping[str, tuple[str, str]] = {
    "post_id": (
        "post doc doc_id document document_id note_id text_id post_uid doc_uid docid documentid noteid postid report_id",
        "id note text_nr item_id record_id message_id case_id qid query_id topic_id patient_id participant_id subject_id user_id",
    ),
    "criterion_id": (
        "criterion criteria criterion_code label_id label_code symptom symptom_id question_id code_id criterionid",
        "label code question class category aspect target_id query concept attribute item tag",
    ),
    "sent_uid": (
        "sent_id sentence_id sentence_uid sentid sentenceid sent_uid passage_id segment_id chunk_id",
        "sent sentence sid uid passage segment chunk candidate candidate_id",
    ),
    "score": ("retrieval_score rank_score similarity", "sim relevance_score prediction pred prob probability logit"),
    "is_gold": (
        "gold_label is_evidence is_relevant relevant_label",
        "gold relevant relevance rel evidence label target y y_true truth",
    ),
    "has_evidence": (
        "y_true true_label ground_truth has_gold evidence_present gold_label",
        "y label target truth true gold gt class is_positive positive present outcome evidence status",
    ),
    "prob": (
        "probability probabilities proba probs score_prob y_prob pred_prob p_evidence y_proba predicted_probability",
        "p score confidence conf prediction pred y_score y_pred y_hat yhat certainty",
    ),
    "gold_sent_uids": (
        "gold_ids gold_uids gold_sent_ids gold_sentence_ids relevant_ids evidence_ids gold_sents relevant_uids evidence_uids",
        "gold relevant evidence gold_sentences truth gt relevant_sentences evidence_sentences rationale rationales",
    ),
    "ranked_sent_uids": (
        "ranking ranked ranked_ids ranked_uids retrieved_ids ranked_sent_ids retrieved_uids topk_ids",
        "top topk top_k top_ids retrieved predictions predicted results hits candidates reranked reranked_topk",
    ),
    "selected_sent_uids": (
        "selected_ids selected_uids selected_sent_ids selection",
        "selected chosen predicted_ids extracted returned predictions predicted",
    ),
    "fold": ("fold_id outer_fold cv_fold kfold fold_nr", "cv split_id partition"),
    "state": ("triage_state", "decision status triage"),
    "n_candidates": ("num_candidates candidate_count n_sentences", "n_sents num_sentences pool_size"),
    "detection_score": ("detection", "score logit y_score decision_function"),
}
_MEANS: dict[str, list[str]] = {}  # the canonical names that a name may stand for
for _canonical, _names in NAMES.items():
    for _name in dict.fromkeys((_canonical, *" ".join(_names).split())):
        _MEANS.setdefault(_name, []).append(_canonical)
LONG_ONLY = ("sent_uid", "is_gold", "score")
_ROW_LISTS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")
_PRINTABLE = re.compile(r"[\w.:#@/+ -]{1,64}", re.ASCII)
_MOST_FOLDS = 100
_MOST_IDS = 20


@dataclass(frozen=True)
class Guess:
    """A canonical column and the column that seems to hold it; ``certain`` where nothing else can be meant."""

    canonical: str
    column: str
    certain: bool


def guesses(frame: pl.DataFrame, wanted: Collection[str], required: Sequence[str] = ()) -> tuple[Guess, ...]:
    """Guess each wanted column that the frame lacks by name, and the required ones also by what is left.

    A long table is guessed as one where a column seems to hold the uid of a sentence.
    """
    there = {*frame.columns}
    schema = {name: dtype for name, dtype in frame.schema.items() if required or _normal(name) in _MEANS}
    free = [c for c, dtype in schema.items() if c not in NAMES and _can_be_mapped(c) and _is_plain(dtype)]
    by_name = {name: _named(frame, free, name) for name in wanted if name in NAMES and name not in there}
    is_long = "sent_uid" in wanted and ("sent_uid" in there or _has_repeated_keys(frame, by_name))
    possible = {*wanted} - {*(_ROW_LISTS if is_long else LONG_ONLY)}
    by_name = {name: columns for name, columns in by_name.items() if name in possible}
    taken: dict[str, str] = {}
    for name, columns in by_name.items():
        if column := next((c for c in columns if c not in taken.values()), None):
            taken[name] = column
    taken |= _by_content(frame, free, taken, required) if required else {}
    unique = bool({*_KEY} & {*taken}) and _is_key(frame, taken, is_long)
    return tuple(
        Guess(name, column, (unique or name not in _KEY) and _is_certain(name, column, by_name, possible))
        for name, column in sorted(taken.items(), key=lambda pair: [*NAMES].index(pair[0]))
    )


_KEY = ("post_id", "criterion_id", "sent_uid")


def _normal(name: str) -> str:
    """A name without capitals and signs.

    >>> _normal("Post ID"), _normal("docId"), _normal("y_true")
    ('post_id', 'doc_id', 'y_true')
    """
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")


def _can_be_mapped(name: str) -> bool:
    """Whether a name can be printed and typed after --map: a header that is a text of a post cannot."""
    known = _normal(name) in _MEANS
    return _PRINTABLE.fullmatch(name) is not None and (" " not in name or known) and name == name.strip()


def _is_plain(dtype: pl.DataType) -> bool:
    """Whether cells are texts, numbers, flags, or lists of them."""
    inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else dtype
    return inner in (pl.String, pl.Boolean) or inner.is_numeric()


def _named(frame: pl.DataFrame, free: Sequence[str], canonical: str) -> list[str]:
    """The free columns whose name may mean the canonical one and which hold what it should, the likeliest first."""
    order = [canonical, *" ".join(NAMES[canonical]).split()]
    named = [c for c in free if canonical in _MEANS.get(_normal(c), ()) and _FITS[canonical](frame[c])]
    return sorted(named, key=lambda c: order.index(_normal(c)))


def _is_certain(canonical: str, column: str, by_name: Mapping[str, Sequence[str]], possible: Collection[str]) -> bool:
    """Whether the name is one of those that mean only this, and no other column could be meant."""
    name = _normal(column)
    sure = name in {canonical, *NAMES[canonical][0].split()}
    means = [other for other in _MEANS.get(name, ()) if other in possible]
    return sure and means == [canonical] and by_name.get(canonical) == [column]


def _has_repeated_keys(frame: pl.DataFrame, by_name: Mapping[str, Sequence[str]]) -> bool:
    """Whether a table without lists has a column of sentences, and queries that stand in several rows."""
    if not by_name.get("sent_uid") or any(name in frame.columns for name in _ROW_LISTS):
        return False
    key = [name if name in frame.columns else next(iter(by_name.get(name, ())), None) for name in _KEY[:2]]
    return None not in key and bool(frame.select(pl.struct(key).is_duplicated().any()).item())


def _is_key(frame: pl.DataFrame, taken: Mapping[str, str], is_long: bool) -> bool:
    """Whether the ids name every row once, with fold and split where they are there."""
    columns = [taken.get(name, name) for name in (*_KEY[: 3 if is_long else 2], "fold", "split")]
    there = [c for c in columns if c in frame.columns]
    unique = bool(there) and not frame.select(pl.struct(there).is_duplicated().any()).item()
    query = columns[:2]
    return unique and (not {*query} <= {*there} or _are_queries(frame, *query))


def _are_queries(frame: pl.DataFrame, post: str, criterion: str) -> bool:
    """Whether posts outnumber criteria and stand in several queries, which no number of a row does; a lone criterion may be."""
    posts, criteria, queries = (
        frame[post].n_unique(),
        frame[criterion].n_unique(),
        frame.select(post, criterion).n_unique(),
    )
    return criteria == 1 or criteria < posts < queries


def _by_content(
    frame: pl.DataFrame, free: Sequence[str], taken: Mapping[str, str], required: Sequence[str]
) -> dict[str, str]:
    """Required columns of unknown names: the pair of columns that names every row, and the only column of 0 and 1."""
    left = [c for c in free if c not in taken.values()]
    missing = [name for name in required if name not in frame.columns and name not in taken]
    more: dict[str, str] = {}
    if not any(name in frame.columns or name in taken for name in ("has_evidence", "gold_sent_uids", "is_gold")):
        flags = [c for c in left if _is_flag(frame[c])]
        more |= {"has_evidence": flags[0]} if len(flags) == 1 else {}
    ids = [c for c in left if c not in more.values() and _is_id(frame[c])]
    known = [taken.get(name, name) for name in _KEY[:2] if name not in missing]
    ids = ids if len(ids) <= _MOST_IDS else []  # every pair of them is tried
    pairs = [(a, b) for a in ids for b in ids if a != b] if len(missing) == 2 else [(c,) for c in ids]
    fitting = [pair for pair in pairs if missing and _names_rows(frame, missing, pair, known)]
    return more | (dict(zip(missing, fitting[0], strict=True)) if len(fitting) == 1 else {})


def _names_rows(frame: pl.DataFrame, missing: Sequence[str], pair: Sequence[str], known: Sequence[str]) -> bool:
    """Whether these columns are a key, neither by itself; there are more posts than criteria."""
    if set(missing) - {*_KEY[:2]} or any(c not in frame.columns for c in known):
        return False
    given = [name for name in _KEY[:2] if name not in missing]
    by_name = dict(zip([*missing, *given], [*pair, *known], strict=True))
    sizes = {name: frame[column].n_unique() for name, column in by_name.items()}
    return (
        1 < sizes["criterion_id"] < sizes["post_id"] < frame.height
        and not frame.select(pl.struct([*by_name.values()]).is_duplicated().any()).item()
    )


def _filled(column: pl.Series) -> pl.Series:
    return column.filter(filled(column))


def _is_flag(column: pl.Series) -> bool:
    return _all_are(FLAG)(column) and bool(filled(column).all())


def _all_are(kind: str) -> Callable[[pl.Series], bool]:
    """A test whether a column has values, and all of them are of a kind."""

    def test(column: pl.Series) -> bool:
        cells = _filled(column)
        return len(cells) > 0 and not column.dtype.is_nested() and converted(cells, kind).null_count() == 0

    return test


def _is_id(column: pl.Series) -> bool:
    """Whether every cell is a short word or number, and not all are 0 or 1, or fractions."""
    if column.dtype.is_nested() or column.dtype.is_float() or _all_are(FLAG)(column):
        return False
    text = _filled(column).cast(pl.String, strict=False)
    plain = (text.str.len_chars() <= 80) & (text.str.count_matches(r"\S+") <= 3)
    fraction = text.str.contains(r"^-?\d*\.\d+(e-?\d+)?$").all()
    return len(text) == len(column) and bool(plain.fill_null(False).all()) and not fraction


def _is_probability(column: pl.Series) -> bool:
    if not _all_are(NUMBER)(column) or not filled(column).all():
        return False
    numbers = converted(column, NUMBER)
    return bool(numbers.is_between(0, 1).all() and ((numbers > 0) & (numbers < 1)).any())


def _is_score(column: pl.Series) -> bool:
    return _all_are(NUMBER)(column) and not _all_are(FLAG)(column) and bool(converted(column, NUMBER).is_finite().all())


def _holds_uids(column: pl.Series) -> bool:
    """Whether cells hold ids: words that nearly all have a digit, which those of a sentence have not."""
    if isinstance(column.dtype, pl.List | pl.Array):
        return not column.dtype.inner.is_nested()
    if column.dtype != pl.String or _all_are(FLAG)(column):
        return False
    text = _filled(column)
    if is_printed(text).any():
        return unprinted(text).null_count() == 0
    parts = text.str.extract_all(WORD).explode().drop_nulls()
    return len(parts) > 0 and bool(parts.str.contains(r"\d").mean() >= 0.9) and not _is_score_text(text)  # type: ignore[operator]


def _is_score_text(text: pl.Series) -> bool:
    return bool(text.str.contains(r"^-?\d*\.\d+(e-?\d+)?$").all())


def _is_fold(column: pl.Series) -> bool:
    return bool(filled(column).all()) and _is_id_or_flag(column) and 2 <= column.n_unique() <= _MOST_FOLDS


def splits_are_folds(frame: pl.DataFrame) -> bool:
    """Whether the column split numbers folds; a table with folds of its own has none there."""
    if "split" not in frame.columns or "fold" in frame.columns:
        return False
    return _is_fold(frame["split"]) and _all_are(COUNT)(frame["split"])


def _is_id_or_flag(column: pl.Series) -> bool:
    return _all_are(FLAG)(column) or _is_id(column)


def _is_state(column: pl.Series) -> bool:
    return column.dtype == pl.String and len(column) > 0 and bool(column.is_in(STATES).fill_null(False).all())


_FITS: Mapping[str, Callable[[pl.Series], bool]] = {
    **dict.fromkeys(_KEY, _is_id),
    **dict.fromkeys(("is_gold", "has_evidence"), _is_flag),
    **dict.fromkeys(("score", "detection_score"), _is_score),
    **dict.fromkeys(_ROW_LISTS, _holds_uids),
    **{"prob": _is_probability, "fold": _is_fold, "state": _is_state, "n_candidates": _all_are(COUNT)},
}
