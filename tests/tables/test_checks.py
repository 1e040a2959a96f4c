"""Each thing that can be wrong with the rows of a run has its own code and a message that helps."""

from __future__ import annotations

import pytest

from evidentia.tables import DatasetCard, read_run, validate_run

from .conftest import Write, says, the_problem


def test_duplicate_query(write: Write):
    path = write("post_id,criterion_id,has_evidence", "p1,A.1,1", "p2,A.1,0", "p1,A.1,1", "p1,A.1,1")
    message = the_problem(path, "DUPLICATE_QUERY")
    says(message, "run.csv", "2 rows", "line 4", "'p1'", "'A.1'", "Keep one row per query")


def test_missing_ids(write: Write):
    path = write("post_id,criterion_id,has_evidence", "p1,A.1,1", ",A.1,0", "p2, ,0")
    says(the_problem(path, "MISSING_ID"), "run.csv", "2 rows", "line 3", "Give every row its ids")


def test_pair_that_the_card_promises(write: Write):
    card = DatasetCard("mine", criteria=("A.1", "A.2"), every_pair=True)
    path = write("post_id,criterion_id,has_evidence", "p10,A.1,1", "p9,A.1,0", "p9,A.2,0", "p11,A.2,0")
    message = the_problem(path, "MISSING_PAIR", card=card)
    says(message, "run.csv", "2 pairs", "'mine'", "post 'p10', criterion 'A.2'", "Write a row for every pair")
    assert validate_run(path) == ()
    assert not read_run(path).queries.complete


@pytest.mark.parametrize("column", ["gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"])
def test_duplicate_uid(write: Write, column):
    other = "gold_sent_uids" if column != "gold_sent_uids" else "ranked_sent_uids"
    path = write(f"post_id,criterion_id,{column},{other}", "p1,A.1,a|b,a", "p2,A.1,c|d|c|d,d", "p3,A.1,e|e,e")
    says(the_problem(path, "DUPLICATE_UID"), "run.csv", "2 rows", "line 3", column, "uid 'c'", "remove")


def test_one_uid_under_two_posts(write: Write):
    path = write("post_id,criterion_id,gold_sent_uids,ranked_sent_uids", "p1,A.1,a,a|b", "p2,A.1,,c|a|d", "p2,A.2,,b")
    message = the_problem(path, "UID_IN_TWO_POSTS")
    says(message, "run.csv", "2 rows", "line 3", "'p2'", "uid 'a'", "post id in front")


def test_one_uid_under_two_posts_is_found_in_train_rows_too(write: Write):
    path = write("post_id,criterion_id,split,gold_sent_uids", "p1,A.1,EVAL,a", "p2,A.1,TRAIN,a")
    says(the_problem(path, "UID_IN_TWO_POSTS"), "line 3", "TRAIN rows", "'p2'")


@pytest.mark.parametrize("value", ["", "nan", "NaN"])
def test_prob_missing_in_some_rows(write: Write, value):
    path = write("post_id,criterion_id,has_evidence,prob", "p1,A.1,1,0.5", f"p2,A.1,0,{value}")
    says(the_problem(path, "PROB_MISSING"), "run.csv", "1 row ", "line 3", "Give prob in every row")


@pytest.mark.parametrize("value", ["-0.1", "1.0001", "inf", "-inf"])
def test_prob_outside_its_range(write: Write, value):
    path = write("post_id,criterion_id,has_evidence,prob", "p1,A.1,1,1", f"p2,A.1,0,{value}")
    says(the_problem(path, "PROB_RANGE"), "run.csv", "1 row ", "line 3", value, "calibrated to [0, 1]")


@pytest.mark.parametrize("tau", ["tau", "tau_neg", "tau_pos"])
@pytest.mark.parametrize(("value", "code"), [("", "TAU_MISSING"), ("1.5", "TAU_RANGE")])
def test_taus_missing_or_outside(write: Write, tau, value, code):
    path = write(f"post_id,criterion_id,has_evidence,prob,{tau}", "p1,A.1,1,1,0.5", f"p2,A.1,0,0,{value}")
    says(the_problem(path, code), "run.csv", "1 row ", "line 3", tau)


def test_taus_in_the_wrong_order(write: Write):
    path = write("post_id,criterion_id,has_evidence,tau_neg,tau_pos", "p1,A.1,1,0.2,0.2", "p2,A.1,0,0.8,0.2")
    says(the_problem(path, "TAU_ORDER"), "1 row ", "line 3", "tau_neg 0.8", "tau_pos 0.2", "swap")


@pytest.mark.parametrize("value", ["", "nan", "inf"])
def test_detection_score_not_finite(write: Write, value):
    path = write("post_id,criterion_id,has_evidence,detection_score", "p1,A.1,1,-7.5", f"p2,A.1,0,{value}")
    says(the_problem(path, "DETECTION_SCORE_NOT_FINITE"), "1 row ", "line 3", "finite detection_score")


def test_unknown_state(write: Write):
    path = write("post_id,criterion_id,has_evidence,state", "p1,A.1,1,POS", "p2,A.1,0,MAYBE")
    says(the_problem(path, "UNKNOWN_STATE"), "1 row ", "line 3", "'MAYBE'", "NEG, UNCERTAIN, POS")


def test_state_missing_in_some_rows(write: Write):
    path = write("post_id,criterion_id,has_evidence,state", "p1,A.1,1,POS", "p2,A.1,0,")
    says(the_problem(path, "STATE_MISSING"), "1 row ", "line 3", "Give every row a state")


def test_state_that_contradicts_prob_and_taus(write: Write):
    header = "post_id,criterion_id,has_evidence,prob,tau_neg,tau_pos,state"
    fine = ("p1,A.1,1,0.2,0.2,0.8,UNCERTAIN", "p2,A.1,1,0.8,0.2,0.8,POS", "p3,A.1,1,0.19,0.2,0.8,NEG")
    assert validate_run(write(header, *fine)) == ()
    message = the_problem(write(header, *fine, "p4,A.1,1,0.8,0.2,0.8,UNCERTAIN"), "STATE_CONTRADICTS_PROB")
    says(message, "1 row ", "line 5", "prob 0.8", "state 'UNCERTAIN'", "correct the state or the taus")


@pytest.mark.parametrize(
    ("taus", "fine", "wrong"),
    [
        ("tau_neg", ("0.1,0.2,NEG", "0.2,0.2,UNCERTAIN", "0.9,0.2,POS"), ("0.2,0.2,NEG", "0.1,0.2,POS")),
        ("tau_pos", ("0.1,0.8,NEG", "0.7,0.8,UNCERTAIN", "0.8,0.8,POS"), ("0.7,0.8,POS", "0.8,0.8,UNCERTAIN")),
        ("tau", ("0.1,0.5,NEG", "0.5,0.5,UNCERTAIN", "0.5,0.5,POS"), ("0.5,0.5,NEG", "0.4,0.5,UNCERTAIN")),
    ],
)
def test_state_that_contradicts_the_one_threshold_there(write: Write, taus, fine, wrong):
    header = f"post_id,criterion_id,has_evidence,prob,{taus},state"
    rows = [f"p{number},A.1,1,{row}" for number, row in enumerate((*fine, *wrong))]
    assert validate_run(write(header, *rows[:3])) == ()
    message = the_problem(write(header, *rows), "STATE_CONTRADICTS_PROB")
    says(message, "2 rows", "line 5", f"prob and {taus} ", f"{taus} {wrong[0].split(',')[1]}", "correct the state")


def test_tau_says_nothing_about_the_state_beside_the_other_thresholds(write: Write):
    header = "post_id,criterion_id,has_evidence,prob,tau,tau_neg,tau_pos,state"
    assert validate_run(write(header, "p1,A.1,1,0.3,0.5,0.2,0.8,UNCERTAIN")) == ()


def test_one_row_and_several_rows_are_both_grammatical(write: Write):
    header = "post_id,criterion_id,has_evidence,ranked_sent_uids,selected_sent_uids"
    rows = ("p1,A.1,1,a|a,b", "p1,A.1,1,a|a,b", "p1,A.1,1,a|a,b")
    for count in (2, 3):
        messages = " ".join(problem.message for problem in validate_run(write(header, *rows[:count])))
        says(messages, "repeating the post_id and", "naming a sentence twice", "selecting a sentence that is not")
        assert "row that" not in messages


def test_label_that_contradicts_gold(write: Write):
    path = write("post_id,criterion_id,has_evidence,gold_sent_uids", "p1,A.1,1,a", "p2,A.1,1,", "p3,A.1,0,b")
    says(the_problem(path, "GOLD_CONTRADICTS_LABEL"), "2 rows", "line 3", "'p2'", "correct one of them")


def test_label_missing_in_some_rows(write: Write):
    path = write("post_id,criterion_id,has_evidence", "p1,A.1,1", "p2,A.1,")
    says(the_problem(path, "HAS_EVIDENCE_MISSING"), "1 row ", "line 3", "Write 0 or 1")


def test_fold_missing_in_some_rows(write: Write):
    path = write("post_id,criterion_id,has_evidence,fold", "p1,A.1,1,0", "p2,A.1,0,")
    says(the_problem(path, "FOLD_MISSING"), "1 row ", "line 3", "Give every row a fold")


def test_post_in_two_folds(write: Write):
    path = write("post_id,criterion_id,has_evidence,fold", "p1,A.1,1,0", "p1,A.2,0,1")
    says(the_problem(path, "POST_IN_TWO_FOLDS"), "1 row ", "line 3", "'p1'", "disjoint")


def test_selection_outside_the_ranking(write: Write):
    header = "post_id,criterion_id,has_evidence,ranked_sent_uids,selected_sent_uids"
    path = write(header, "p1,A.1,1,a|b,b", "p2,A.1,0,c|d,d|e")
    says(the_problem(path, "SELECTED_NOT_RANKED"), "1 row ", "line 3", "uid 'e'", "correct one of them")


def test_ranking_longer_than_its_candidates(write: Write):
    path = write("post_id,criterion_id,has_evidence,ranked_sent_uids,n_candidates", "p1,A.1,1,a|b,2", "p2,A.1,0,c|d,1")
    says(the_problem(path, "RANKING_TOO_LONG"), "1 row ", "line 3", "n_candidates 1", "correct n_candidates")


def test_what_is_legal_stays_legal(write: Write):
    path = write(
        "post_id,criterion_id,gold_sent_uids,ranked_sent_uids,selected_sent_uids,state",
        "p1,A.1,x,a|b,a,NEG",  # a NEG query with selections is a result check; gold beyond the ranking is a cut
        "p2,A.1,,c,,POS",  # the gate says yes and nothing is returned
        "p3,A.1,,,,UNCERTAIN",
    )
    assert validate_run(path) == ()


def test_all_problems_are_found_in_one_pass(write: Write):
    path = write(
        "post_id,criterion_id,has_evidence,prob,state,ranked_sent_uids",
        "p1,A.1,1,2,POS,a|a",
        "p1,A.1,1,,WHAT,b",
        ",A.1,1,0.5,POS,c",
    )
    codes = {problem.code for problem in validate_run(path)}
    assert codes == {"MISSING_ID", "DUPLICATE_QUERY", "PROB_RANGE", "PROB_MISSING", "UNKNOWN_STATE", "DUPLICATE_UID"}


def test_uids_that_clash_with_the_post_in_front_are_not_answered_with_the_same_option(write: Write) -> None:
    path = write("post_id,criterion_id,gold_sent_uids", "a,A,b:s1", "a:b,A,s1")
    message = the_problem(path, "UID_IN_TWO_POSTS", uids="post")
    says(message, "1 row ", "line 3", "without colons")
    assert "--uids" not in message
