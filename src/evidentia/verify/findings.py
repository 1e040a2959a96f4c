"""The checks that an evaluation made of its own data, made again: the same outcome, over as many things."""

from __future__ import annotations

import re
from collections.abc import Iterable

from evidentia.verify.evidence import Query
from evidentia.verify.folder import ResultFolder
from evidentia.verify.points import Points
from evidentia.verify.tally import Tally

PASSED, FAILED, ABSENT = "passed", "failed", "not applicable"
Outcome = tuple[str, int]  # the state, and how many things were looked at
CODES = (
    *("BASE001", "CARD001", "DEPTH001", "DUP001", "DYNK001", "FEAT001", "FOLD001", "GATE001", "GOOD001", "INT001"),
    *("KPIN001", "LABEL001", "LEAK001", "LOSS001", "NAME001", "PICK001", "POINT001", "POP001", "PROB001", "RANGE001"),
    *("RANK001", "RANK002", "RANK003", "ROWS001", "SAME001", "STATE001", "SUM001", "TUNE001", "TUNE002"),
)
_CELL = re.compile(r"TP(?P<rest>.*)", re.DOTALL)


def check_findings(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """Every check that the files allow to be made again comes out the same."""
    queries, summary = points.study.queries, folder.summary
    found = {
        "GATE001": _skipped_return_nothing(queries),
        "FOLD001": _one_fold_per_post(queries),
        "LABEL001": _labels_agree(queries),
        "PICK001": _selected_were_ranked(queries),
        "RANK001": _no_duplicates(queries),
        "STATE001": _states_agree(queries),
        "SUM001": _confusion_tables(points.expected.entries),
        "RANGE001": (PASSED, _values(folder)),
    }
    codes = [str(check["code"]) for check in summary["checks"]]
    tally.exact("summary.json: checks", codes, sorted(CODES))
    said = {check["code"]: (check["status"], check["looked"]) for check in summary["checks"]}
    for code, outcome in found.items():
        tally.exact(f"summary.json: checks: {code}", said.get(code), outcome)
    if summary["dataset"]["card"] is None:
        tally.exact("summary.json: checks: CARD001", said.get("CARD001"), (ABSENT, 0))


def _outcome(looked: int, wrong: int) -> Outcome:
    if wrong:
        return FAILED, looked
    return (PASSED if looked else ABSENT), looked


def _skipped_return_nothing(queries: Iterable[Query]) -> Outcome:
    there = [query for query in queries if query.selected is not None and query.state is not None]
    skipped = [query for query in there if query.state == "NEG"]
    return _outcome(len(skipped), sum(bool(query.selected) for query in skipped))


def _one_fold_per_post(queries: Iterable[Query]) -> Outcome:
    folds: dict[str, set[str]] = {}
    for query in queries:
        if query.fold is not None:
            folds.setdefault(query.post, set()).add(query.fold)
    return _outcome(len(folds), sum(len(own) > 1 for own in folds.values()))


def _labels_agree(queries: Iterable[Query]) -> Outcome:
    there = [query for query in queries if query.gold is not None]
    return _outcome(len(there), sum(query.label != bool(query.gold) for query in there))


def _selected_were_ranked(queries: Iterable[Query]) -> Outcome:
    pairs = [(q.selected, q.ranked) for q in queries if q.selected is not None and q.ranked is not None]
    looked = sum(len(selected) for selected, _ in pairs)
    return _outcome(looked, sum(len(set(selected) - set(ranked)) for selected, ranked in pairs))


def _no_duplicates(queries: Iterable[Query]) -> Outcome:
    lists = [uids for q in queries for uids in (q.gold, q.ranked, q.selected) if uids]
    return _outcome(len(lists), sum(len(set(uids)) < len(uids) for uids in lists))


def _states_agree(queries: Iterable[Query]) -> Outcome:
    there = [
        q
        for q in queries
        if q.state is not None and q.prob is not None and not (q.tau_neg is None and q.tau_pos is None)
    ]
    return _outcome(len(there), sum(_contradicted(query) for query in there))


def _contradicted(query: Query) -> bool:
    assert query.prob is not None
    low, high = query.tau_neg, query.tau_pos
    wrong_low = low is not None and (query.state == "NEG") != (query.prob < low)
    return wrong_low or (high is not None and (query.state == "POS") != (query.prob >= high))


def _confusion_tables(names: Iterable[str]) -> Outcome:
    there = set(names)
    rests = [found["rest"] for name in there if (found := _CELL.fullmatch(name)) is not None]
    return _outcome(sum(all(f"{cell}{rest}" in there for cell in ("FP", "FN", "TN")) for rest in rests), 0)


def _values(folder: ResultFolder) -> int:
    """Values and limits that can be out of range."""
    entries = folder.summary["measures"].values()
    known = sum((entry["value"] is not None) + len(entry["ci"] or ()) for entry in entries)
    return known + len(folder.summary["other_definitions"])
