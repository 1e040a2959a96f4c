"""The pitfalls of reporting that the contract lists: a right number that says less, or something else, than it seems to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Ints
from evidentia.checks.numbers import class_counts, profile_of
from evidentia.checks.registry import Verdict, check, looked_at, not_applicable, skipped, warned
from evidentia.checks.subject import Subject
from evidentia.measures import resolve
from evidentia.results import Estimate
from evidentia.results.names import group_suffix
from evidentia.tables import Run

_DECIDED = re.compile(r"=(?:gate|alert)\b")  # definitions that rest on a threshold of the run


@check("POP001", title="Ranking measures are over queries with evidence, or say otherwise")
def ranking_population(subject: Subject) -> Verdict:
    """Recall@K or MRR over all queries counts every query without evidence as a miss; it never stands alone."""
    run, measures = subject.run, subject.evaluation.measures
    ranking = [e for e in measures.values() if e.family == "ranking" and "avg=criterion" not in e.definition]
    if run is None or not ranking:
        return not_applicable("no ranking measure over queries that can be counted")
    counts = class_counts(run)
    wrong = [e.name for e in ranking if not _counts_its_population(e, counts.get(group_suffix(e.group)))]
    there = {(e.definition, e.group) for e in ranking}
    alone = [e.name for e in ranking if (e.definition.replace("pop=all", "pop=positives"), e.group) not in there]
    if alone and not wrong:
        detail = f"{len(alone):,} ranking measures are over all queries, first {alone[0]}"
        return warned(len(ranking), f"{detail}: report the one over queries with evidence beside it")
    fault = f"count other queries than they say (first {wrong[0]})" if wrong else ""
    return looked_at(len(ranking), "ranking measure", wrong=len(wrong), fault=fault)


def _counts_its_population(estimate: Estimate, counts: tuple[int, int] | None) -> bool:
    if counts is None:  # a group of two columns
        return True
    return estimate.n == (sum(counts) if "pop=all" in estimate.definition else counts[0])


@check("BASE001", title="AUPRC stands beside the share of positives, not beside one half")
def auprc_baseline(subject: Subject) -> Verdict:
    """A random order has an AUPRC of the prevalence: every AUPRC carries it, and so does the precision-recall curve."""
    estimates = [
        e for e in subject.evaluation.measures.values() if e.measure == "AUPRC" and "level=query" in e.definition
    ]
    if subject.run is None or not estimates:
        return not_applicable("there is no AUPRC over queries")
    counts = class_counts(subject.run)
    prevalences = {e.name: (e.details.get("prevalence"), counts.get(group_suffix(e.group))) for e in estimates}
    wrong = [name for name, (share, count) in prevalences.items() if not _has_prevalence(share, count)]
    lines = [curve.columns.get("prevalence", ()) for curve in subject.evaluation.curves if curve.name == "pr"]
    wrong += ["the curve" for line in lines if not line or not all(_has_prevalence(x, counts[""]) for x in line)]
    fault = f"have another baseline (first {wrong[0]})" if wrong else ""
    return looked_at(len(estimates) + len(lines), "baseline", wrong=len(wrong), fault=fault)


def _has_prevalence(prevalence: object, counts: tuple[int, int] | None) -> bool:
    if counts is None:
        return True
    return isinstance(prevalence, float | int) and abs(prevalence - counts[0] / max(sum(counts), 1)) < 1e-12


@check("TUNE001", title="Thresholds were tuned on posts that they are not applied to")
def thresholds_from_tune(subject: Subject) -> Verdict:
    """No threshold that this result records was chosen on a post of the fold that it judges."""
    records, run = subject.thresholds, subject.run
    if run is None or not records:
        return not_applicable("this result records no threshold")
    judged = _posts_of_folds(run)
    elsewhere = set() if run.queries.fold is not None else set(run.queries.post_ids)  # of folds that the run lacks
    origins = [_origin(record) for record in records]
    shared = [judged.get(fold, elsewhere) & posts for fold, posts in origins]
    chosen = [record.get("rule") != "fixed" for record in records]  # a fixed value was tuned on nothing
    nameless = sum(of and not posts for of, (_, posts) in zip(chosen, origins, strict=True))
    detail = f", {sum(map(len, shared)):,} posts in common, {nameless} thresholds without the posts they were tuned on"
    wrong = sum(map(bool, shared)) + nameless
    fault = "were tuned on what they judge, or on nobody knows what"
    return looked_at(len(records), "threshold", wrong=wrong, fault=fault, aside=detail if wrong else "")


def _origin(record: Mapping[str, Any]) -> tuple[str, set[str]]:
    """The fold of a threshold, and the posts that it was tuned on."""
    tuned_on = record.get("tuned_on") or {"fold": record.get("fold"), "posts": record.get("tuned_on_posts") or ()}
    return str(tuned_on["fold"]), set(tuned_on["posts"])


def _posts_of_folds(run: Run) -> dict[str, set[str]]:
    queries = run.queries
    if queries.fold is None:
        return {}
    posts = np.array(queries.post_ids)[queries.post]
    return {fold: set(posts[queries.fold.codes == code].tolist()) for code, fold in enumerate(queries.fold.labels)}


@check("TUNE002", title="The deployed thresholds say where they were tuned")
def deployed_thresholds_have_provenance(subject: Subject) -> Verdict:
    """Every tau of the run is a threshold that this result records, with the posts it was tuned on."""
    run, deciding = subject.run, [e.name for e in subject.evaluation.overall() if _DECIDED.search(e.definition)]
    if subject.rows_are_elsewhere and (deciding or any(e.family == "gate" for e in subject.evaluation.overall())):
        return skipped("the rows are not in the folder, so nobody can tell where the thresholds of the run were tuned")
    taus = () if run is None else tuple(tau for tau in ("tau", "tau_neg", "tau_pos") if tau in run.frame.columns)
    if run is None or not (taus or run.queries.has("state")):
        return not_applicable("the run has no thresholds of its own")
    if not taus:
        return skipped(
            "the run has states without the thresholds behind them, so nobody can tell where they were tuned"
        )
    records = subject.thresholds if subject.applied is None else subject.given
    known = {(_origin(r)[0], name, value) for r in records for name, value in _columns(r).items()}
    frame = run.frame if "fold" in run.frame.columns else run.frame.with_columns(fold=pl.lit("None"))
    applied = {(fold, tau, value) for tau in taus for fold, value in frame.select("fold", tau).unique().rows()}
    unknown = len(applied - known)
    if unknown:
        return skipped(
            f"{unknown:,} of {len(applied):,} thresholds in the run come without the posts they were tuned on, "
            "so nobody can tell whether those posts are judged here"
        )
    if (subject.applied or {}).get("choices", {}).get("cross_fit"):
        fault = "cross_fit: chosen on other folds, whose scores come from models that saw the posts judged here"
        return warned(len(applied), f"{fault}; only thresholds from TUNE are free of that")
    return looked_at(len(applied), "threshold", wrong=0, fault="")


def _columns(record: Mapping[str, Any]) -> dict[str, object]:
    """The columns of a run that a record is about: a threshold is a tau, and no tau_neg is accounted for by a tau_pos."""
    if "value" not in record:
        return {key: value for key, value in record.items() if key in {"tau", "tau_neg", "tau_pos"}}
    rejects = record.get("reason") == "reject_all" and "tuned_on" in record  # given, and applied as the largest tau
    return {"tau": 1.0 if rejects else record["value"]}


@check("POINT001", title="One operating point is deployed, and reported")
def one_operating_point(subject: Subject) -> Verdict:
    """State and tau give the same yes or no, a tau is not set query by query, and the gate's figures are reported."""
    run, measures = subject.run, subject.evaluation.measures
    if run is None or run.queries.gate is None:
        return not_applicable("the run has no yes or no")
    if {"state", "tau", "prob"} <= set(run.frame.columns):
        differ = int(np.count_nonzero((run.frame["prob"] >= run.frame["tau"]).to_numpy() != run.queries.gate))
        if differ:
            return Verdict("failed", f"{differ:,} queries are a yes by state and a no by tau, or the reverse", len(run))
    moving = _thresholds_within_a_fold(run)
    if moving:
        detail = f"{moving[0]} changes within a fold and criterion"
        return warned(len(run), f"{detail}: a threshold is not set query by query")
    points = {name.partition("(t=")[2].partition(")")[0] for name in measures if "(t=" in name and "[" not in name}
    if points and "gate" not in points:
        return warned(len(run), f"figures at t = {', '.join(sorted(points))} and none at t = gate, which is deployed")
    return looked_at(len(run), "query", "queries", wrong=0, fault="", aside="; the deployed point is t = gate")


def _thresholds_within_a_fold(run: Run) -> list[str]:
    key = [column for column in ("fold", "criterion_id") if column in run.frame.columns]
    taus = [tau for tau in ("tau", "tau_neg", "tau_pos") if tau in run.frame.columns]
    return [tau for tau in taus if (run.frame.group_by(key).agg(pl.col(tau).n_unique())[tau] > 1).any()]


@check("DEPTH001", title="Fixed depths lie within the rankings")
def depths_within_rankings(subject: Subject) -> Verdict:
    """Where a retriever stops at a fixed depth, a measure beyond it says nothing about the ranking."""
    run = subject.run
    if run is None or run.queries.n_ranked is None:
        return not_applicable("the run has no rankings")
    offered = _offered(run)
    if offered is None:
        return not_applicable("the run does not say how many candidates there were before a cut")
    cut = run.queries.n_ranked < offered
    depths = _reported_depths(subject)
    depth = int(run.queries.n_ranked[cut].max(initial=0))
    beyond = [name for name, k in depths.items() if k is None or k > depth] if cut.any() else []
    if beyond:
        detail = f"{int(cut.sum()):,} rankings are cut, the longest at {depth}"
        return warned(len(run), f"{detail}: {', '.join(beyond[:3])} reach below the cut")
    return looked_at(len(depths), "reported depth", wrong=0, fault="")


def _offered(run: Run) -> Ints | None:
    if run.queries.candidates is not None:
        return np.diff(run.queries.candidates.offsets)
    if "n_candidates" in run.frame.columns and not run.frame["n_candidates"].null_count():
        return run.frame["n_candidates"].to_numpy()
    return None


def _reported_depths(subject: Subject) -> dict[str, int | None]:
    profile = profile_of(subject.evaluation)
    names = [e.name for e in subject.evaluation.overall() if e.family == "ranking" and "@" in e.name]
    return {name: resolve(name, profile).definition.args.k for name in names}


@check("DYNK001", title="A dynamic K is judged by what it returns")
def dynamic_k_is_judged_by_evidence_recall(subject: Subject) -> Verdict:
    """Recall@10 of a system that returns K sentences speaks of a list nobody sees: evidence recall stands beside it."""
    run, overall = subject.run, subject.evaluation.overall()
    if run is None or run.queries.n_selected is None or run.queries.n_ranked is None:
        return not_applicable("the run has no selections from rankings")
    sizes = run.queries.n_selected[run.queries.n_selected > 0]
    fixed = [e.name for e in overall if e.measure.startswith("Recall") and e.family == "ranking"]
    if not len(sizes) or not fixed:
        return not_applicable("no selection, or no Recall@K, is reported")
    if not any(e.measure.startswith("EvidenceRecall") for e in overall):
        detail = f"{fixed[0]} is reported, but the system returns {sizes.min()} to {sizes.max()} sentences"
        return warned(len(sizes), f"{detail}: report EvidenceRecall, which judges what is returned")
    whole = int(np.count_nonzero((run.queries.n_selected == run.queries.n_ranked) & (run.queries.n_selected > 0)))
    if whole == len(sizes) and sizes.min() < sizes.max():
        return warned(len(sizes), "every selection is its whole ranking: the retriever's K was taken for a dynamic K")
    return looked_at(len(sizes), "selection", wrong=0, fault="")


@check("GOOD001", title="Results are not too good to be true")
def not_too_good(subject: Subject) -> Verdict:
    """A value further above its expected range than half of what is left to a perfect one is a symptom, not a success."""
    card, evaluation = None if subject.run is None else subject.run.card, subject.evaluation
    if card is None or not card.expected:
        return not_applicable("no dataset card says what is expected")
    looked, detail = 0, []
    for name, (low, high) in card.expected.items():
        estimate = evaluation.measures.get(evaluation.resolve(name))
        if estimate is None:
            continue
        looked += 1
        if _far_beyond(estimate, low, high):
            detail.append(f"{name} is {estimate.value:.4f}, expected {low:g} to {high:g}")
    if detail:
        return warned(looked, f"{'; '.join(detail)}: look for leakage before you celebrate")
    return looked_at(looked, "expected range", wrong=0, fault="")


def _far_beyond(estimate: Estimate, low: float, high: float) -> bool:
    if estimate.direction == "lower":
        return estimate.value < low / 2
    return estimate.value > high + (1 - high) / 2
