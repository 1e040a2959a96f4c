"""What a printed table calls a measure: words and abbreviations of the field, for the names that programs use."""

from __future__ import annotations

import re

from evidentia.errors import UnknownNameError
from evidentia.results.catalogue import is_measure
from evidentia.results.names import Cut, Name, parse_name

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BASES = {  # where the words of the name itself are not what a journal would print
    "Positives": "With evidence",
    "PositiveRate": "Prevalence of evidence",
    "Brier": "Brier score",
    "SelectedK": "Sentences selected",
    "NegRate": "Share skipped",
    "UncertainRate": "Share to look at",
    "PosRate": "Share of alerts",
    "ScreeningFNPer1000": "Evidence skipped per 1,000",
    "AlertsPer1000": "Alerts per 1,000",
    "Cmax": "Coverage",
    "TotalMAE": "MAE of the total",
}
_PARAMS = {
    "avg=criterion": "mean over criteria",
    "avg=item": "mean over items",
    "avg=label_weighted": "mean over criteria, weighted",
    "avg=micro": "all pairs",
    "avg=post": "mean over posts",
    "avg=post_weighted": "mean over posts, weighted",
    "given=gate": "past the gate",
    "level=candidate": "of sentences",
    "level=query": "of queries",
    "order=oracle": "best order",
    "pool=micro": "pooled",
    "pop=all": "all queries",
    "pop=positives": "queries with evidence",
    "t=alert": "alerts",
    "t=gate": "gate",
    "t=returned": "any sentence returned",
    "tuned": "tuned threshold",
    "unit=post": "posts",
}
_COLUMNS = {
    "ci_low": "interval from",
    "ci_high": "interval to",
    "fold_mean": "mean over folds",
    "fold_std": "SD over folds",
    "folds_used": "folds",
    "n_clusters": "clusters",
    "system_n": "n (system)",
    "system_n_clusters": "clusters (system)",
    "degenerate": "a convention because",
    "p_holm": "p (Holm)",
    "replicates_left_out": "resamples left out",
    "mean_prob": "mean probability",
    "positive_share": "share with evidence",
}


def heading(name: str) -> str:
    """What a table prints for a measure, or for one of its own columns; different names have different headings.

    >>> from evidentia.measures import MEASURES  # which fills the catalogue
    >>> heading("nDCG@10"), heading("EvidenceRecall"), heading("F1(t=gate)"), heading("TPR@FPR=5%")
    ('nDCG@10', 'Evidence recall', 'F1 (gate)', 'TPR at FPR 5%')
    >>> heading("AUROC[criterion=A.1]"), heading("ci_low"), heading("selfReport")
    ('AUROC, criterion A.1', 'interval from', 'selfReport')
    """
    if name in _COLUMNS:
        return _COLUMNS[name]
    try:
        parsed = parse_name(name)
    except UnknownNameError:
        return name
    if not is_measure(parsed.base):  # a column of another kind, which may be the user's
        return name
    group = "".join(f", {column} {value}" for column, value in parsed.group)
    return _base(parsed.base) + _cut(parsed.cut) + _params(parsed) + group


def _base(base: str) -> str:
    """Words that were written together, apart; abbreviations stay as they are."""
    if base in _BASES:
        return _BASES[base]
    first, *others = _WORDS.split(base)
    if len(first) == 1:  # nDCG, eAURC: one abbreviation
        return base
    return " ".join([first, *(word if word.isupper() else word.lower() for word in others)])


def _cut(cut: Cut | None) -> str:
    if cut is None:
        return ""
    return f"@{cut}" if cut.kind == "k" else f" at {str(cut).replace('=', ' ')}"


def _params(name: Name) -> str:
    written = [value if not key else f"{key}={value}" for key, value in name.params]
    words = [_PARAMS.get(text, text.replace("=", " = ")) for text in written]
    return f" ({', '.join(words)})" if words else ""
