"""Counts, the three-state gate, pooled recall and whole posts, each by its definition."""

from __future__ import annotations

import math

from evidentia.verify.catalogue import Definition
from evidentia.verify.detection import Cells, cells, from_cells
from evidentia.verify.outcome import Outcome, mean, share
from evidentia.verify.study import Scope, Study

EMPTY, NO_POSTS = "no queries", "no posts"
NO_EVIDENCE, NO_ALERTS = "no evidence in the population", "no alerts"
NOTHING = "nothing to find and nothing said, or nothing to weigh by"
STATE_OF = {"NegRate": "NEG", "UncertainRate": "UNCERTAIN", "PosRate": "POS", "AlertsPer1000": "POS"}


def counts(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """How many queries, how many with evidence, and their share."""
    positives = study.positives(scope)
    if definition.base == "PositiveRate":
        return share(positives, len(scope.rows), EMPTY)
    return Outcome(float(positives if definition.base == "Positives" else len(scope.rows)))


def gate(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """What the three states cost and bring, per query or per post."""
    if definition.get("unit") == "post":
        return _by_post(study, definition, scope)
    pairs = [(study.queries[row].state, study.queries[row].label) for row in scope.rows]
    base, total = definition.base, len(pairs)
    if base in STATE_OF:
        times = 1000 if base == "AlertsPer1000" else 1
        return share(times * sum(state == STATE_OF[base] for state, _ in pairs), total, EMPTY)
    missed = pairs.count(("NEG", True))
    if base == "ScreeningFNPer1000":
        return share(1000 * missed, total, EMPTY)
    if base == "ScreeningSensitivity":
        evidence = sum(label for _, label in pairs)
        return share(evidence - missed, evidence, NO_EVIDENCE)
    right = pairs.count(("POS", True))
    return share(right, right + pairs.count(("POS", False)), NO_ALERTS)


def _by_post(study: Study, definition: Definition, scope: Scope) -> Outcome:
    posts = [[study.queries[row] for row in rows] for rows in study.by_post(scope)]
    if definition.base == "ScreeningSensitivity":
        with_evidence = [[q for q in post if q.label] for post in posts if any(q.label for q in post)]
        good = sum(all(q.state != "NEG" for q in post) for post in with_evidence)
        return share(good, len(with_evidence), NO_EVIDENCE)
    with_alert = [[q for q in post if q.state == "POS"] for post in posts if any(q.state == "POS" for q in post)]
    return share(sum(all(q.label for q in post) for post in with_alert), len(with_alert), NO_ALERTS)


def pooled_recall(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """Gold sentences that reach the reader over gold sentences; what the gate stops reaches nobody."""
    queries = [study.queries[row] for row in scope.rows]
    there = [q for q in queries if q.gate or definition.get("given") == "all"]
    found, gold = sum(q.right for q in queries if q.gate), sum(len(q.gold or ()) for q in there)
    return share(found, gold, "no gold sentences in the population")


def whole_posts(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """Exact match and the Hamming figures: how much of a post's list of criteria is right."""
    shares = []
    for rows in study.by_post(scope):
        right = sum(study.queries[row].gate == study.queries[row].label for row in rows)
        shares.append((right, len(rows)))
    if definition.base == "ExactMatch":
        return share(sum(right == size for right, size in shares), len(shares), NO_POSTS)
    if definition.base == "HammingScore":
        return mean([right / size for right, size in shares], NO_POSTS)
    return mean([(size - right) / size for right, size in shares], NO_POSTS)


def f1_of_criteria(study: Study, definition: Definition, scope: Scope) -> Outcome:
    """F1 over all pairs, or per post and then averaged; the averages over criteria are made elsewhere."""
    average = definition.get("avg")
    if average == "micro":
        found = from_cells("F1", cells(study, definition, scope))
        return found if found.flaw is None else Outcome(0.0, NOTHING)
    scores, weights, empty = [], [], 0
    for rows in study.by_post(scope):
        kinds = [(study.queries[row].gate, study.queries[row].label) for row in rows]
        tp, fp, fn = (kinds.count(kind) for kind in ((True, True), (True, False), (False, True)))
        found = from_cells("F1", Cells(tp, fp, fn, 0))
        empty += found.flaw is not None
        scores.append(found.value if found.flaw is None else float(str(definition.get("empty"))))
        weights.append(tp + fn)
    if average == "post_weighted":
        return share(math.fsum(s * w for s, w in zip(scores, weights, strict=True)), sum(weights), NOTHING)
    found = mean(scores, NOTHING)
    return Outcome(found.value, found.flaw, {"posts_with_nothing_to_find_and_nothing_said": empty})
