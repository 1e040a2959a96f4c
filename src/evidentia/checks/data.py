"""Checks of the queries behind a result: what the contract asks of every table, looked at once more after reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from evidentia.checks.registry import Verdict, looked_at, not_applicable, run_check
from evidentia.errors import counted
from evidentia.tables import STATES, Run, check_card
from evidentia.tables.queries import NEG

LISTS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")
COUNTS = ("posts", "criteria", "n_criteria", "queries", "positives", "fold_sizes")


@run_check("CARD001", title="Counts agree with the dataset card")
def card_counts(run: Run) -> Verdict:
    """The counts of the run are those of its dataset card."""
    if run.card is None:
        return not_applicable("no dataset card was given")
    promised = [field for field in COUNTS if getattr(run.card, field) is not None]
    wrong = check_card(run.card, run.queries)
    listed = "; ".join(f"{w.what}: the card says {w.expected}, the run has {w.found}" for w in wrong)
    aside = f" on card {run.card.name}" + (f" ({listed})" if listed else "")
    return looked_at(len(promised), "count", wrong=len(wrong), fault="disagree", aside=aside)


@run_check("GATE001", title="Skipped queries return nothing")
def skipped_queries_return_nothing(run: Run) -> Verdict:
    """A query in state NEG returns no sentence; a query let through that returns none is legal, and counted."""
    queries = run.queries
    if queries.n_selected is None or queries.state is None:
        return not_applicable("the run has no states or no selections")
    skipped = queries.state == NEG
    wrong = int(np.count_nonzero(skipped & (queries.n_selected > 0)))
    empty = int(np.count_nonzero(~skipped & (queries.n_selected == 0)))
    let = f"{counted(empty, 'query', 'queries')} that the gate lets through {'returns' if empty == 1 else 'return'} nothing"
    unit, many, count = "query in state NEG", "queries in state NEG", int(skipped.sum())
    return looked_at(count, unit, many, wrong=wrong, fault=f"{many} return sentences", aside=f"; {let}, which is legal")


@run_check("PROB001", title="Probabilities are finite and in [0, 1]", refused_as=("PROB_MISSING", "PROB_RANGE"))
def probabilities(run: Run) -> Verdict:
    """Every prob, of EVAL and TUNE queries, is a number from 0 to 1."""
    values = [q.prob for q in (run.queries, run.tune) if q is not None and q.prob is not None]
    if not values:
        return not_applicable("the run has no prob column")
    prob = np.concatenate(values)
    wrong = int(np.count_nonzero(~((prob >= 0) & (prob <= 1))))
    return looked_at(len(prob), "probability", "probabilities", wrong=wrong, fault="are not in [0, 1]")


@run_check("LABEL001", title="Labels agree with the gold sentences", refused_as=("GOLD_CONTRADICTS_LABEL",))
def labels(run: Run) -> Verdict:
    """A query has evidence exactly where it has a gold sentence."""
    if run.queries.n_gold is None:
        return not_applicable("the run has no gold sentences")
    wrong = int(np.count_nonzero(run.queries.label != (run.queries.n_gold > 0)))
    return looked_at(len(run), "query", "queries", wrong=wrong, fault="contradict their gold sentences")


@run_check(
    "STATE001",
    title="States agree with prob and the thresholds",
    refused_as=("STATE_CONTRADICTS_PROB", "TAU_ORDER", "UNKNOWN_STATE", "STATE_MISSING", "TAU_RANGE", "TAU_MISSING"),
)
def states(run: Run) -> Verdict:
    """NEG is prob < tau_neg, POS is prob >= tau_pos, UNCERTAIN is between; one tau alone decides its own state."""
    frame, queries = run.frame, run.queries
    taus = [tau for tau in ("tau_neg", "tau_pos") if tau in frame.columns]
    if queries.state is None or queries.prob is None or not taus:
        return not_applicable("the run has no states with prob and thresholds")
    state = np.array(STATES)[queries.state]
    wrong = np.zeros(len(run), bool)
    if "tau_neg" in taus:
        wrong |= (state == "NEG") != (queries.prob < frame["tau_neg"].to_numpy())
    if "tau_pos" in taus:
        wrong |= (state == "POS") != (queries.prob >= frame["tau_pos"].to_numpy())
    return looked_at(len(run), "query", "queries", wrong=int(wrong.sum()), fault="have a state that prob contradicts")


@run_check("FOLD001", title="Every post is in one fold", refused_as=("POST_IN_TWO_FOLDS", "FOLD_MISSING"))
def posts_in_one_fold(run: Run) -> Verdict:
    """Outer folds are disjoint in posts."""
    if "fold" not in run.frame.columns:
        return not_applicable("the run has no folds")
    folds = run.frame.group_by("post_id").agg(pl.col("fold").n_unique())["fold"]
    return looked_at(len(folds), "post", wrong=int((folds > 1).sum()), fault="are in two folds")


@run_check(
    "LEAK001",
    title="Tuning and evaluation posts are disjoint in every fold",
    refused_as=("TUNE_EVAL_OVERLAP", "TRAIN_EVAL_OVERLAP", "TRAIN_TUNE_OVERLAP"),
)
def tuning_never_sees_evaluation_posts(run: Run) -> Verdict:
    """No post that is TUNE in a fold is EVAL in the same fold."""
    if run.tune_frame is None:
        return not_applicable("the run has no TUNE rows")
    both = "fold" in run.frame.columns and "fold" in run.tune_frame.columns
    key = ["fold", "post_id"] if both else ["post_id"]
    tuned = run.tune_frame.select(key).unique()
    shared = tuned.join(run.frame.select(key).unique(), on=key, how="inner")
    fault = "are evaluated in the same fold"
    return looked_at(tuned.height, "TUNE post of a fold", "TUNE posts of folds", wrong=shared.height, fault=fault)


@run_check("RANK001", title="No list names a sentence twice", refused_as=("DUPLICATE_UID", "DUPLICATE_CANDIDATE"))
def no_duplicates(run: Run) -> Verdict:
    """Gold, ranking and selection of a query hold each sentence once."""
    there = [column for column in LISTS if column in run.frame.columns]
    looked = sum(int((run.frame[column].list.len() > 0).sum()) for column in there)
    wrong = sum(
        int((run.frame[column].list.n_unique() < run.frame[column].list.len()).sum()) for column in there
    )  # an empty list has no unique members, and no members
    return looked_at(looked, "list", wrong=wrong, fault="name a sentence twice")


@run_check(
    "RANK002",
    title="Gold sentences are among the candidates",
    refused_as=("GOLD_NOT_CANDIDATE", "IS_GOLD_CONTRADICTION"),
)
def gold_among_candidates(run: Run) -> Verdict:
    """Every gold sentence is a candidate of its query, and marked as gold there."""
    if run.candidates is None or "gold_sent_uids" not in run.frame.columns:
        return not_applicable("the run has no candidates table or no gold sentences")
    key = ["post_id", "criterion_id", "sent_uid"]
    gold = exploded(run.frame, "gold_sent_uids")
    marked = run.candidates.filter("is_gold").select(key)
    lost = gold.join(marked, on=key, how="anti").height
    extra = marked.join(gold, on=key, how="anti").height
    fault = "are not marked among the candidates, or marked without being gold"
    return looked_at(gold.height, "gold sentence", wrong=lost + extra, fault=fault)


@run_check("RANK003", title="A ranking stays within its post", refused_as=("RANKING_LEAVES_POST", "UID_IN_TWO_POSTS"))
def rankings_stay_in_their_post(run: Run) -> Verdict:
    """Ranked sentences are candidates of the same post; without candidates, no uid appears under two posts."""
    if "ranked_sent_uids" not in run.frame.columns:
        return not_applicable("the run has no rankings")
    key = ["post_id", "sent_uid"]
    ranked = exploded(run.frame, "ranked_sent_uids", key[:1]).unique()
    if run.candidates is not None:
        wrong = ranked.join(run.candidates.select(key).unique(), on=key, how="anti").height
    elif run.queries.criterion_ids == ("",):
        return not_applicable("the run is about topics, and topics share documents")
    else:
        wrong = ranked.height - ranked["sent_uid"].n_unique()
    return looked_at(ranked.height, "ranked sentence", wrong=wrong, fault="are not of the post they are ranked for")


@run_check("PICK001", title="Selected sentences were ranked", refused_as=("SELECTED_NOT_RANKED",))
def selected_were_ranked(run: Run) -> Verdict:
    """The selection of a query is part of its ranking."""
    if not {"ranked_sent_uids", "selected_sent_uids"} <= set(run.frame.columns):
        return not_applicable("the run has no rankings with selections")
    selected = pl.col("selected_sent_uids")  # uids occur once in a list: reading refuses others
    counts = selected.list.len(), selected.list.set_difference("ranked_sent_uids").list.len()
    looked, wrong = run.frame.select(count.sum().alias(str(at)) for at, count in enumerate(counts)).row(0)
    return looked_at(looked, "selected sentence", wrong=wrong, fault="were never ranked")


def exploded(frame: pl.DataFrame, column: str, key: Sequence[str] = ("post_id", "criterion_id")) -> pl.DataFrame:
    """One row per sentence of a list column, with its query, or with a part of its key."""
    full = frame.filter(pl.col(column).list.len() > 0)
    return full.select(*key, pl.col(column).alias("sent_uid")).explode("sent_uid")
