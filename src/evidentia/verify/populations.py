"""Whom a number speaks about, in words and query by query; and what a run must have for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from evidentia.verify.catalogue import Definition
from evidentia.verify.evidence import Query
from evidentia.verify.study import Scope, Study

NEEDS = {
    "prob": "needs a prob column (calibrated probability that evidence exists)",
    "score": "needs a prob or a detection_score column",
    "gate": "needs a yes/no for every query: a state column, or prob",
    "state": "needs a state column, or prob with tau_neg and tau_pos",
    "gold": "needs gold_sent_uids",
    "ranking": "needs gold_sent_uids and ranked_sent_uids",
    "selection": "needs selected_sent_uids",
    "candidates": "needs a candidates table with scores and gold marks (--candidates)",
    "complete": "needs one query for every (post, criterion) pair",
    "tune": "needs folds and TUNE rows (a split column) with the same score column as EVAL, to choose thresholds on",
}
UNTUNED = "queries of folds that cannot be tuned"
YES, NO, WITH, WITHOUT = (
    "queries answered yes",
    "queries answered no",
    "queries with evidence",
    "queries without evidence",
)
OPEN = "queries that the gate lets through"
WITH_OPEN = f"{WITH} that the gate lets through"


@dataclass(frozen=True)
class Population:
    """The units, what is said of the others, and whether they are queries, posts or candidates."""

    words: str = "all queries"
    others: str = ""
    unit: str = "query"


def population(definition: Definition) -> Population:
    """The population of a definition in words."""
    found = _population(definition)
    if definition.get("threshold") != "tuned":
        return found
    return Population(found.words, f"{found.others}, or {UNTUNED}" if found.others else UNTUNED)


def _population(definition: Definition) -> Population:
    if definition.get("level") == "candidate":
        return Population("all (query, candidate) pairs", unit="candidate")
    base, average = definition.base, definition.get("avg") or ""
    if definition.get("unit") == "post":
        what = "evidence" if base == "ScreeningSensitivity" else "an alert"
        return Population(f"posts with {what}", f"posts without {what}", "post")
    if base in {"ExactMatch", "HammingScore", "HammingLoss"} or average.startswith("post"):
        return Population("all posts", unit="post")
    return Population(*_of_queries(definition))


def _of_queries(definition: Definition) -> tuple[str, str]:
    """Which queries count, and what is said of the others."""
    base, get = definition.base, definition.get
    about_evidence = base in {"Sensitivity", "FNR", "ScreeningSensitivity"} or get("pop") == "positives"
    rules = (
        (get("given") == "gate" and base == "SelectedK", (OPEN, "queries that the gate stops")),
        (get("given") == "gate", (WITH_OPEN, "queries without evidence or stopped by the gate")),
        (base == "AlertPrecision", ("queries in state POS", "queries in another state")),
        (about_evidence or get("pool") == "micro", (WITH, WITHOUT)),
        (base == "TPR" and get("threshold") == "tuned", (WITH, WITHOUT)),
        (base in {"Specificity", "FPR"}, (WITHOUT, WITH)),
        (base == "Precision" and get("pop") is None, (YES, NO)),
        (base == "NPV", (NO, YES)),
    )
    return next((words for holds, words in rules if holds), ("all queries", ""))


def members(study: Study, definition: Definition) -> list[bool]:
    """For every query of the run whether it belongs to the population."""
    found, tuned = population(definition), definition.get("threshold") == "tuned"
    about_answers = found.words in {YES, NO}
    point = definition.get("t") if about_answers else None
    key = ("members", found, point, definition.cut if tuned else None)
    return study.once(key, lambda: _members(study, definition, found.words, about_answers, tuned))


def _members(study: Study, definition: Definition, words: str, about_answers: bool, tuned: bool) -> list[bool]:
    if about_answers:
        return [said is (words == YES) for said in study.decisions(definition)]
    belongs = _TESTS.get(words, _always)
    if not tuned:
        return [belongs(query) for query in study.queries]
    decided = study.decisions(definition)
    return [belongs(query) and said is not None for query, said in zip(study.queries, decided, strict=True)]


def _always(query: Query) -> bool:
    return True


_TESTS: dict[str, Callable[[Query], bool]] = {
    WITH: lambda query: query.label,
    WITHOUT: lambda query: not query.label,
    OPEN: lambda query: bool(query.gate),
    WITH_OPEN: lambda query: query.label and bool(query.gate),
    "queries in state POS": lambda query: query.state == "POS",
    "posts with evidence": lambda query: query.label,
    "posts with an alert": lambda query: query.state == "POS",
}


def sizes(study: Study, definition: Definition, scope: Scope) -> tuple[int, int]:
    """How many units of the population a group holds, and from how many posts."""
    inside = members(study, definition)
    rows = scope.once(("inside", id(inside)), lambda: [row for row in scope.rows if inside[row]])
    posts = scope.once(("posts inside", id(inside)), lambda: len({study.queries[row].post for row in rows}))
    unit = population(definition).unit
    if unit == "post":
        return posts, posts
    if unit == "candidate":
        return sum(len(study.queries[row].candidates or ()) for row in rows), posts
    return len(rows), posts


def left_out(study: Study, definition: Definition, scope: Scope) -> dict[str, int]:
    """How many units of the group do not belong to the population, under the words that say why."""
    found = population(definition)
    total = len(study.by_post(scope)) if found.unit == "post" else len(scope.rows)
    count = total - sizes(study, definition, scope)[0]
    return {found.others: count} if found.others and count > 0 else {}


def needs(definition: Definition) -> tuple[str, ...]:
    """What a run must have, in the order in which it is asked for."""
    base, get, family = definition.base, definition.get, definition.measure.family
    gated = get("given") == "gate" or get("pool") == "micro" or get("closed") == "zero"
    rules = (
        (get("level") == "candidate", ("candidates",)),
        (get("threshold") == "tuned", ("tune",)),
        (family == "multi-label", ("gate", "complete")),
        (base == "SelectedK", ("selection", "gate") if gated else ("selection",)),
        (family == "extraction", ("gold", "selection", "gate") if gated else ("gold", "selection")),
        (get("t") is not None, {"gate": ("gate",), "returned": ("selection",)}.get(str(get("t")), ("prob",))),
        (base in {"AUROC", "AUPRC", "TPR"}, ("score",)),
    )
    of_family = {"calibration": ("prob",), "ranking": ("ranking",), "gate": ("state",)}
    return next((named for holds, named in rules if holds), of_family.get(family, ()))


def unmet(study: Study, definition: Definition) -> str | None:
    """The words for what the run lacks, or None if nothing is missing."""
    for need in needs(definition):
        if not study.once(("need", need), partial(_met, study, need)):
            return NEEDS[need]
    return None


def _met(study: Study, need: str) -> bool:
    if need == "complete":
        return study.complete
    if need == "tune":
        both = (*study.queries, *study.tune)
        shared = all(q.prob is not None for q in both) or all(q.detection_score is not None for q in both)
        return bool(study.tune) and bool(study.folds) and shared
    if need == "ranking":
        return all(query.gold is not None and query.ranked is not None for query in study.queries)
    column = {"selection": "selected"}.get(need, need)
    return all(getattr(query, column) is not None for query in study.queries)
