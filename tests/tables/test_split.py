"""TRAIN, TUNE and EVAL rows: what each is for, and what must not be shared."""

from __future__ import annotations

from pathlib import Path

from evidentia.tables import read_run, validate_run

from .conftest import Write, says, the_problem

HEADER = "fold,split,post_id,criterion_id,has_evidence,prob,state"
NESTED = (
    "10,eval,p1,A.1,1,0.9,POS",
    "10,TUNE,p2,A.1,0,0.1,",
    "10,TRAIN,p3,A.1,1,,",
    "9,EVAL,p2,A.1,0,0.2,NEG",
    "9,Tune,p3,A.1,1,0.3,",
    "9,TUNE,p1,A.1,1,0.4,",
    "9,TRAIN,p4,A.1,1,,",
)


def test_measures_get_eval_rows_and_tuning_gets_tune_rows(write: Write):
    run = read_run(write(HEADER, *NESTED))
    assert run.frame["post_id"].to_list() == ["p1", "p2"]
    assert run.queries.prob.tolist() == [0.9, 0.2]
    assert run.queries.gate.tolist() == [True, False]
    assert run.queries.fold.labels == ("9", "10")
    assert run.queries.fold.codes.tolist() == [1, 0]
    assert dict(run.left_out) == {"TRAIN rows": 2}


def test_tune_rows_are_sorted_by_fold_and_share_the_fold_labels(write: Write):
    run = read_run(write(HEADER, *NESTED))
    assert run.tune_frame.select("fold", "post_id").rows() == [("9", "p1"), ("9", "p3"), ("10", "p2")]
    assert run.tune.fold.labels == run.queries.fold.labels
    assert run.tune.fold.codes.tolist() == [0, 0, 1]
    assert run.tune.prob.tolist() == [0.4, 0.3, 0.1]
    assert run.tune.state is None  # TUNE rows need no state: the thresholds come from them


def test_unknown_split(write: Write):
    path = write(HEADER, *NESTED, "9,DEV,p5,A.1,1,0.5,POS")
    says(the_problem(path, "UNKNOWN_SPLIT"), "run.csv", "1 row ", "line 9", "'DEV'", "TRAIN, TUNE or EVAL")


def test_no_eval_rows(write: Write):
    message = the_problem(write(HEADER, "0,TUNE,p1,A.1,1,0.5,POS"), "NO_EVAL_ROWS")
    says(message, "run.csv", "0 EVAL rows", "line 2", "mark them in split")


def test_a_query_may_be_eval_only_once(write: Write):
    path = write(HEADER, *NESTED, "10,EVAL,p1,A.1,1,0.9,POS")
    says(the_problem(path, "DUPLICATE_QUERY"), "1 row ", "line 9", "'p1'")


def test_a_tune_query_repeated_in_its_fold(write: Write):
    path = write(HEADER, *NESTED, "9,TUNE,p3,A.1,1,0.3,")
    says(the_problem(path, "DUPLICATE_QUERY"), "TUNE rows", "line 9", "fold")


def test_eval_in_two_folds(write: Write):
    path = write(HEADER, *NESTED, "9,EVAL,p1,A.2,1,0.9,POS")
    assert {p.code for p in validate_run(path)} == {"POST_IN_TWO_FOLDS", "TUNE_EVAL_OVERLAP"}


def test_tune_and_eval_share_a_post_in_one_fold(write: Write):
    message = the_problem(write(HEADER, *NESTED, "10,TUNE,p1,A.2,1,0.5,"), "TUNE_EVAL_OVERLAP")
    says(message, "run.csv", "1 row ", "line 9", "'p1'", "fold '10'", "disjoint")


def test_train_and_eval_share_a_post_in_one_fold(write: Write):
    message = the_problem(write(HEADER, *NESTED, "10,TRAIN,p1,A.2,1,,"), "TRAIN_EVAL_OVERLAP")
    says(message, "run.csv", "1 row ", "TRAIN rows", "line 9", "'p1'", "fold '10'", "trained", "judged", "disjoint")


def test_train_and_tune_share_a_post_in_one_fold(write: Write):
    message = the_problem(write(HEADER, *NESTED, "10,TRAIN,p2,A.2,1,,"), "TRAIN_TUNE_OVERLAP")
    says(message, "run.csv", "1 row ", "TRAIN rows", "line 9", "'p2'", "fold '10'", "trained", "tuned", "disjoint")


def test_a_train_query_repeated_in_its_fold(write: Write):
    path = write(HEADER, *NESTED, "9,TRAIN,p4,A.1,1,,", "10,TRAIN,p4,A.1,1,,")
    says(the_problem(path, "DUPLICATE_QUERY"), "1 row ", "TRAIN rows", "line 9", "'p4'", "fold")


def test_a_train_row_without_a_fold(write: Write):
    says(the_problem(write(HEADER, *NESTED, ",TRAIN,p5,A.1,1,,"), "FOLD_MISSING"), "TRAIN rows", "line 9")


def test_train_posts_of_a_split_without_folds(write: Write):
    header = "split,post_id,criterion_id,has_evidence"
    path = write(header, "EVAL,p1,A.1,1", "TRAIN,p2,A.1,0", "TRAIN,p1,A.2,0")
    says(the_problem(path, "TRAIN_EVAL_OVERLAP"), "line 4", "'p1'")


def test_prob_is_checked_in_tune_rows_too(write: Write):
    says(the_problem(write(HEADER, *NESTED, "9,TUNE,p5,A.1,1,3,"), "PROB_RANGE"), "TUNE rows", "line 9")


def test_tune_rows_of_a_fold_without_eval_rows_are_left_out_and_counted(write: Write):
    run = read_run(write(HEADER, *NESTED, "11,TUNE,p1,A.1,1,0.5,"))
    assert run.left_out["TUNE rows of folds without EVAL rows"] == 1
    assert len(run.tune) == 3


def test_no_tune_rows_means_no_tune_table(write: Write):
    run = read_run(write(HEADER, "0,EVAL,p1,A.1,1,0.5,POS"))
    assert run.tune is None
    assert run.tune_frame is None


def test_a_split_without_folds_is_one_fold(write: Write):
    header = "split,post_id,criterion_id,has_evidence"
    assert read_run(write(header, "EVAL,p1,A.1,1", "TUNE,p2,A.1,0")).queries.fold is None
    the_problem(write(header, "EVAL,p1,A.1,1", "TUNE,p1,A.2,0"), "TUNE_EVAL_OVERLAP")


def apart(write: Write, *more: str) -> tuple[Path, Path]:
    """The nested run without its TUNE rows, and the TUNE rows in a table of their own, which need no split there."""
    tune = [row for row in (*NESTED, *more) if row.split(",")[1].upper() == "TUNE"]
    without = [",".join(cell for i, cell in enumerate(row.split(",")) if i != 1) for row in (HEADER, *tune)]
    return write(HEADER, *(row for row in NESTED if row not in tune)), write(*without, name="tune.csv")


def test_tune_rows_in_a_table_of_their_own_are_tune_rows(write: Write):
    whole = read_run(write(HEADER, *NESTED))
    path, tune = apart(write)
    run = read_run(path, tune=tune)
    assert run.tune_frame.equals(whole.tune_frame.drop("split"))
    assert run.tune.fold.codes.tolist() == whole.tune.fold.codes.tolist()
    assert [(source.role, source.name, source.rows) for source in run.sources] == [
        ("run", "run.csv", 4),
        ("tune", "tune.csv", 3),
    ]


def test_tune_rows_in_a_table_of_their_own_obey_the_same_rules(write: Write):
    path, tune = apart(write, "10,TUNE,p1,A.2,1,0.5,", "9,TUNE,p5,A.1,1,3,")
    problems = {p.code: p.message for p in validate_run(path, tune=tune)}
    assert set(problems) == {"TUNE_EVAL_OVERLAP", "PROB_RANGE"}
    says(problems["TUNE_EVAL_OVERLAP"], "tune.csv", "1 row ", "line 5", "'p1'", "fold '10'")
    says(problems["PROB_RANGE"], "tune.csv", "1 row ", "line 6")


def test_a_text_in_place_of_a_label_is_found_in_the_tune_table_too(write: Write):
    path, tune = apart(write, f"9,TUNE,{'x' * 201},A.1,1,0.5,")
    (problem,) = validate_run(path, tune=tune)
    says(problem.message, "tune.csv", "1 row ", "200 characters")


def test_tune_rows_in_two_places_are_refused(write: Write):
    _, tune = apart(write)
    (problem,) = validate_run(write(HEADER, *NESTED), tune=tune)
    assert problem.code == "TUNE_TWICE"
    says(problem.message, "run.csv", "3 rows beside those of tune.csv", "line 3", "in one table")


def test_a_tune_table_without_labels_says_what_it_lacks(write: Write):
    path, _ = apart(write)
    (problem,) = validate_run(path, tune=write("fold,post_id,criterion_id,prob", "9,p3,A.1,0.3", name="tune.csv"))
    says(problem.message, "tune.csv: lacks gold_sent_uids or has_evidence", "4 columns")
