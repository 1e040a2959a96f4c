"""The candidates table: aligned, checked, and a source of gold and rankings."""

from __future__ import annotations

import pytest

from evidentia.tables import read_run

from .conftest import Write, says, the_problem

RUN = ("post_id,criterion_id,gold_sent_uids,ranked_sent_uids", "p10,A.1,b,a|b", "p9,A.1,,c", "p9,A.2,,")
POOL = ("post_id,criterion_id,sent_uid,score,is_gold", "p10,A.1,a,0.9,0", "p9,A.1,c,0.5,0", "p10,A.1,b,0.1,1")


def both(write: Write, pool: tuple[str, ...], run: tuple[str, ...] = RUN):
    return write(*run), write(*pool, name="candidates.csv")


def test_candidates_follow_the_order_of_the_queries(write: Write):
    run_path, pool_path = both(write, POOL)
    run = read_run(run_path, candidates=pool_path)
    assert run.frame["post_id"].to_list() == ["p10", "p9", "p9"]
    candidates = run.queries.candidates
    assert candidates.offsets.tolist() == [0, 2, 3, 3]
    assert candidates.score.tolist() == [0.9, 0.1, 0.5]
    assert candidates.is_gold.tolist() == [False, True, False]
    assert candidates.node_prob is None
    assert run.candidates["sent_uid"].to_list() == ["a", "b", "c"]
    assert [(s.role, s.name, s.rows) for s in run.sources] == [
        ("run", "run.csv", 3),
        ("candidates", "candidates.csv", 3),
    ]


def test_gold_and_ranking_are_derived_with_ties_in_file_order(write: Write):
    pool = ("post_id,criterion_id,sent_uid,score,is_gold", "p1,A.1,z,1,0", "p1,A.1,y,2,1", "p1,A.1,a,1,1")
    run_path, pool_path = both(write, pool, ("post_id,criterion_id", "p1,A.1", "p2,A.1"))
    run = read_run(run_path, candidates=pool_path)
    assert run.frame["ranked_sent_uids"].to_list() == [["y", "z", "a"], []]
    assert run.frame["gold_sent_uids"].to_list() == [["y", "a"], []]
    assert run.queries.gold_ranks.values.tolist() == [1, 3]
    assert run.queries.label.tolist() == [True, False]


def test_is_gold_comes_from_the_run_where_the_candidates_do_not_say(write: Write):
    pool = tuple(",".join(line.split(",")[:4]) for line in POOL)
    run_path, pool_path = both(write, pool)
    assert read_run(run_path, candidates=pool_path).queries.candidates.is_gold.tolist() == [False, True, False]


def test_candidates_need_gold_from_somewhere(write: Write):
    pool = tuple(",".join(line.split(",")[:4]) for line in POOL)
    run_path, pool_path = both(write, pool, ("post_id,criterion_id,has_evidence", "p10,A.1,1", "p9,A.1,0"))
    says(the_problem(run_path, "MISSING_COLUMN", candidates=pool_path), "candidates.csv", "is_gold")


def test_only_eval_rows_of_the_candidates_are_used(write: Write):
    pool = ("post_id,criterion_id,sent_uid,score,is_gold,split", "p1,A.1,a,1,1,EVAL", "p1,A.1,a,2,1,TRAIN")
    run_path, pool_path = both(write, pool, ("post_id,criterion_id", "p1,A.1"))
    assert read_run(run_path, candidates=pool_path).queries.candidates.score.tolist() == [1.0]


def test_mapping_of_candidates(write: Write):
    pool = ("post_id,criterion_id,uid,score,is_gold", "p1,A.1,a,1,1")
    run_path, pool_path = both(write, pool, ("post_id,criterion_id", "p1,A.1"))
    assert len(read_run(run_path, candidates=pool_path, candidates_mapping={"sent_uid": "uid"})) == 1


def test_candidate_of_a_query_that_is_not_there(write: Write):
    run_path, pool_path = both(write, (*POOL, "p9,A.7,c,0.5,0"))
    message = the_problem(run_path, "STRAY_CANDIDATE", candidates=pool_path)
    says(message, "candidates.csv", "1 row ", "line 5", "'A.7'", "run.csv", "Add its row")


@pytest.mark.parametrize("score", ["", "nan", "inf"])
def test_score_not_finite(write: Write, score):
    run_path, pool_path = both(write, (*POOL, f"p9,A.1,d,{score},0"))
    says(
        the_problem(run_path, "SCORE_NOT_FINITE", candidates=pool_path), "candidates.csv", "1 row ", "line 5", "finite"
    )


@pytest.mark.parametrize("value", ["", "1.5", "nan"])
def test_node_prob_outside_its_range(write: Write, value):
    pool = (POOL[0] + ",node_prob", *(line + ",0.5" for line in POOL[1:]), f"p9,A.1,d,0,0,{value}")
    run_path, pool_path = both(write, pool)
    says(the_problem(run_path, "NODE_PROB_RANGE", candidates=pool_path), "candidates.csv", "1 row ", "line 5", "[0, 1]")


def test_node_prob_is_kept(write: Write):
    pool = (POOL[0] + ",node_prob", *(line + ",0.5" for line in POOL[1:]))
    run_path, pool_path = both(write, pool)
    assert read_run(run_path, candidates=pool_path).queries.candidates.node_prob.tolist() == [0.5] * 3


def test_duplicate_candidate(write: Write):
    run_path, pool_path = both(write, (*POOL, "p9,A.1,c,0.4,0"))
    message = the_problem(run_path, "DUPLICATE_CANDIDATE", candidates=pool_path)
    says(message, "candidates.csv", "1 row ", "line 5", "sent_uid 'c'", "once")


def test_gold_that_is_no_candidate(write: Write):
    run_path, pool_path = both(write, POOL, (RUN[0], "p10,A.1,b|x,a|b", *RUN[2:]))
    message = the_problem(run_path, "GOLD_NOT_CANDIDATE", candidates=pool_path)
    says(message, "run.csv", "1 row ", "line 2", "uid 'x'", "candidates.csv", "correct the gold")


def test_is_gold_that_contradicts_the_run(write: Write):
    run_path, pool_path = both(write, (*POOL[:3], "p10,A.1,b,0.1,0"))
    message = the_problem(run_path, "IS_GOLD_CONTRADICTION", candidates=pool_path)
    says(message, "candidates.csv", "1 row ", "line 4", "sent_uid 'b'", "correct one of them")


def test_is_gold_missing(write: Write):
    run_path, pool_path = both(write, (*POOL, "p9,A.1,d,0.5,"))
    says(the_problem(run_path, "IS_GOLD_MISSING", candidates=pool_path), "1 row ", "line 5", "Write 0 or 1")


def test_ranking_that_leaves_the_post(write: Write):
    run_path, pool_path = both(write, POOL, (*RUN[:2], "p9,A.1,,c|w", RUN[3]))
    message = the_problem(run_path, "RANKING_LEAVES_POST", candidates=pool_path)
    says(message, "run.csv", "1 row ", "line 3", "'p9'", "uid 'w'", "same post only")


def test_ranking_may_use_candidates_of_another_criterion_of_the_post(write: Write):
    run_path, pool_path = both(write, POOL, (*RUN[:3], "p9,A.2,,c"))
    assert len(read_run(run_path, candidates=pool_path)) == 3


def test_candidate_without_ids(write: Write):
    run_path, pool_path = both(write, (*POOL, "p9,A.1,,0.4,0"))
    says(the_problem(run_path, "MISSING_ID", candidates=pool_path), "candidates.csv", "line 5", "sent_uid")


def test_candidate_without_a_uid_is_reported_where_the_ranking_is_derived(write: Write):
    pool = ("post_id,criterion_id,sent_uid,score,is_gold", "p1,A.1,,1,1", "p1,A.1,a,1,0")
    run_path, pool_path = both(write, pool, ("post_id,criterion_id", "p1,A.1"))
    says(the_problem(run_path, "MISSING_ID", candidates=pool_path), "candidates.csv", "line 2", "sent_uid")


def test_candidate_whose_fold_is_not_that_of_its_post(write: Write):
    run = (RUN[0] + ",fold", *(f"{line},{fold}" for line, fold in zip(RUN[1:], (0, 1, 1), strict=True)))
    pool = (POOL[0] + ",fold", POOL[1] + ",0", POOL[2] + ",0", POOL[3] + ",")
    run_path, pool_path = both(write, pool, run)
    message = the_problem(run_path, "CANDIDATE_FOLD_CONTRADICTION", candidates=pool_path)
    says(message, "candidates.csv", "1 row ", "line 3", "'p9'", "fold '0'", "run.csv", "correct one of them")
    good = (*pool[:2], POOL[2] + ",1", pool[3])
    assert len(read_run(run_path, candidates=write(*good, name="candidates.csv"))) == 3


def test_more_candidates_than_the_run_says(write: Write):
    run = (RUN[0] + ",n_candidates", RUN[1] + ",2", RUN[2] + ",7", RUN[3] + ",0")
    run_path, pool_path = both(write, POOL, run)
    assert len(read_run(run_path, candidates=pool_path)) == 3  # more than are listed is a cut
    more = (*POOL, "p10,A.1,d,0.05,0")
    message = the_problem(run_path, "N_CANDIDATES_TOO_SMALL", candidates=write(*more, name="candidates.csv"))
    says(message, "run.csv", "1 row ", "line 2", "'p10'", "n_candidates 2, listed 3", "candidates.csv", "correct it")


def test_white_space_or_a_bar_in_a_candidate(write: Write):
    run_path, pool_path = both(write, (*POOL, "p9,A.1,d ,0.4,0"))
    says(the_problem(run_path, "PADDED_ID", candidates=pool_path), "candidates.csv", "1 row ", "line 5", "sent_uid")
    run_path, pool_path = both(write, (*POOL, "p9,A.1,d|e,0.4,0"))
    says(the_problem(run_path, "BAR_IN_UID", candidates=pool_path), "candidates.csv", "1 row ", "line 5", "sent_uid")


def test_further_columns_of_candidates_stay_behind(write: Write):
    run_path, pool_path = both(write, tuple(f"{line},x{at}" for at, line in enumerate(POOL)))
    run = read_run(run_path, candidates=pool_path)
    assert run.candidates.columns == ["post_id", "criterion_id", "sent_uid", "score", "is_gold"]
