"""The checks of what is reported, made again: thresholds, operating point, depths, K, losses, what is too good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evidentia.results.catalogue import canonical
from evidentia.verify.attribution import attribution_sheets
from evidentia.verify.evidence import Query
from evidentia.verify.expected import Entry
from evidentia.verify.verdicts import Subject, Verdict, absent, looked_at

PINNED = 0.9
TAUS = ("tau", "tau_neg", "tau_pos")


def no_texts(subject: Subject) -> Verdict:
    """DUP001: an evaluation knows no texts."""
    return Verdict("skipped", "the texts are not known here; `evidentia leakage --texts FILE` compares them")


def no_features(subject: Subject) -> Verdict:
    """FEAT001: an evaluation knows no features."""
    told = "the features are not known here; `evidentia leakage --features FILE` looks at their names"
    return Verdict("skipped", told)


def thresholds_from_tune(subject: Subject) -> Verdict:
    """TUNE001: no recorded threshold was chosen on a post of the fold that it judges."""
    records = list(_records(subject.folder.manifest))
    if not records:
        return absent("this result records no threshold")
    judged: dict[str, set[str]] = {}
    for query in subject.queries:
        judged.setdefault(str(query.fold), set()).add(query.post)
    without_folds = set().union(*judged.values()) if "fold" not in subject.columns else set[str]()
    shared, nameless = [], 0
    for fold, posts, chosen in records:
        shared.append(len(judged.get(fold, without_folds) & posts))
        nameless += chosen and not posts
    wrong = sum(map(bool, shared)) + nameless
    told = f", {sum(shared):,} posts in common, {nameless} thresholds without the posts they were tuned on"
    what = "were tuned on what they judge, or on nobody knows what"
    return looked_at(len(records), "threshold", wrong=wrong, what=what, aside=told if wrong else "")


def _records(manifest: Mapping[str, Any]) -> Iterator[tuple[str, set[str], bool]]:
    """The fold of every threshold and calibrator, the posts that it was tuned on, and whether it was tuned at all."""
    for record in manifest["thresholds"]:
        yield str(record["fold"]), set(record["tuned_on_posts"]), record["rule"] != "fixed"
    for fold in (manifest.get("applied_thresholds") or {"folds": ()})["folds"]:
        for kind in ("calibrator", "threshold", "three_state"):
            if fold[kind] is not None:
                tuned_on = fold[kind]["tuned_on"]
                yield str(tuned_on["fold"]), set(tuned_on["posts"]), fold[kind].get("rule") != "fixed"


def one_operating_point(subject: Subject) -> Verdict:
    """POINT001: state and tau agree, a threshold holds for its fold and criterion, and the gate's figures are there."""
    queries = subject.queries
    if not {"state", "prob"} & subject.columns:
        return absent("the run has no yes or no")
    if {"state", "tau", "prob"} <= subject.columns:
        differ = sum(((q.prob or 0.0) >= (q.tau or 0.0)) != q.gate for q in queries)
        if differ:
            told = f"{differ:,} queries are a yes by state and a no by tau, or the reverse"
            return Verdict("failed", told, len(queries))
    moving = next((tau for tau in TAUS if tau in subject.columns and _moves(queries, tau)), None)
    if moving is not None:
        told = f"{moving} changes within a fold and criterion: a threshold is not set query by query"
        return Verdict("warning", told, len(queries))
    named_points = {n.partition("(t=")[2].partition(")")[0] for n in subject.entries if "(t=" in n and "[" not in n}
    if named_points and "gate" not in named_points:
        told = f"figures at t = {', '.join(sorted(named_points))} and none at t = gate, which is deployed"
        return Verdict("warning", told, len(queries))
    aside = "; the deployed point is t = gate"
    return looked_at(len(queries), "query", "queries", wrong=0, what="", aside=aside)


def _moves(queries: Sequence[Query], tau: str) -> bool:
    values: dict[tuple[str | None, str], set[float | None]] = {}
    for query in queries:
        values.setdefault((query.fold, query.criterion), set()).add(getattr(query, tau))
    return any(len(own) > 1 for own in values.values())


def depths_within_rankings(subject: Subject) -> Verdict:
    """DEPTH001: no reported depth reaches below where a ranking was cut."""
    if "ranked_sent_uids" not in subject.columns:
        return absent("the run has no rankings")
    offered = _offered(subject)
    if offered is None:
        return absent("the run does not say how many candidates there were before a cut")
    lengths = [len(query.ranked or ()) for query in subject.queries]
    cut = [length for length, there in zip(lengths, offered, strict=True) if length < there]
    ranking = [
        e for e in subject.overall if e.definition.measure.family == "ranking" and e.definition.args.cut is not None
    ]
    beyond = [e.name for e in ranking if cut and (e.definition.args.k or max(cut) + 1) > max(cut)]
    if beyond:
        told = f"{len(cut):,} rankings are cut, the longest at {max(cut)}: {', '.join(beyond[:3])} reach below the cut"
        return Verdict("warning", told, len(lengths))
    return looked_at(len(ranking), "reported depth", wrong=0, what="")


def _offered(subject: Subject) -> list[int] | None:
    """How many candidates every query had."""
    if subject.has_candidates:
        return [len(query.candidates or ()) for query in subject.queries]
    cells = [row.get("n_candidates") for row in subject.folder.rows("per_query.csv")]
    return None if any(cell in {None, ""} for cell in cells) else [int(float(str(cell))) for cell in cells]


def dynamic_k(subject: Subject) -> Verdict:
    """DYNK001: evidence recall stands beside Recall@K of a system that selects."""
    if not {"selected_sent_uids", "ranked_sent_uids"} <= subject.columns:
        return absent("the run has no selections from rankings")
    sizes = [len(query.selected) for query in subject.queries if query.selected]
    fixed = [e for e in subject.overall if e.definition.measure.base == "Recall"]
    if not sizes or not fixed:
        return absent("no selection, or no Recall@K, is reported")
    if not any(entry.definition.measure.base == "EvidenceRecall" for entry in subject.overall):
        told = f"{fixed[0].name} is reported, but the system returns {min(sizes)} to {max(sizes)} sentences"
        return Verdict("warning", f"{told}: report EvidenceRecall, which judges what is returned", len(sizes))
    whole = sum(bool(q.selected) and len(q.selected or ()) == len(q.ranked or ()) for q in subject.queries)
    if whole == len(sizes) and min(sizes) < max(sizes):
        told = "every selection is its whole ranking: the retriever's K was taken for a dynamic K"
        return Verdict("warning", told, len(sizes))
    return looked_at(len(sizes), "selection", wrong=0, what="")


def not_too_good(subject: Subject) -> Verdict:
    """GOOD001: no value is further beyond its expected range than half of what is left to a perfect one."""
    expected = (subject.card or {}).get("expected") or {}
    if not expected:
        return absent("no dataset card says what is expected")
    looked, told = 0, []
    for name, (low, high) in expected.items():
        entry = subject.entries.get(canonical(name, subject.points.profile))
        if entry is None:
            continue
        looked += 1
        value = subject.points.number(entry).value
        if _far_beyond(entry, value, low, high):
            told.append(f"{name} is {value:.4f}, expected {low:g} to {high:g}")
    if told:
        return Verdict("warning", f"{'; '.join(told)}: look for leakage before you celebrate", looked)
    return looked_at(looked, "expected range", wrong=0, what="")


def _far_beyond(entry: Entry, value: float, low: float, high: float) -> bool:
    return value < low / 2 if entry.definition.measure.direction == "lower" else value > high + (1 - high) / 2


def losses_add_up(subject: Subject) -> Verdict:
    """LOSS001: every missed gold sentence is charged to one stage."""
    sheets = attribution_sheets(subject.points.study)
    if not sheets:
        return absent("the run has no gold sentences with rankings and selections")
    whole = sheets[0].rows[-1]
    gold = sum(len(query.gold or ()) for query in subject.queries)
    assert whole[1] == gold
    return looked_at(gold, "gold sentence", wrong=0, what="sums do not agree")


def k_is_not_pinned(subject: Subject) -> Verdict:
    """KPIN001: fewer than nine in ten selections have the smallest or the largest size."""
    sizes = [len(query.selected) for query in subject.queries if query.selected]
    if not attribution_sheets(subject.points.study) or len(sizes) < 2:
        return absent("there are no selections to compare")
    count, floor, cap = len(sizes), min(sizes), max(sizes)
    if floor == cap:
        return Verdict("warning", f"all {count:,} selections hold {cap} sentences: K is fixed, or pinned", count)
    at_cap, at_floor = sizes.count(cap), sizes.count(floor)
    share = max(at_cap, at_floor) / count
    if share >= PINNED:
        end, size = ("cap", cap) if at_cap >= at_floor else ("floor", floor)
        return Verdict("warning", f"{share:.1%} of {count:,} selections are pinned at the {end} of {size}", count)
    return looked_at(count, "selection", wrong=0, what="", aside=f", of {floor} to {cap} sentences")
