"""The checks that an evaluation made of itself, made again: the same states, over as many things, in the same words."""

from __future__ import annotations

from collections.abc import Callable

from evidentia.verify import finding_data as data
from evidentia.verify import finding_numbers as numbers
from evidentia.verify import finding_reports as reports
from evidentia.verify.folder import ResultFolder
from evidentia.verify.points import Points
from evidentia.verify.tally import Tally
from evidentia.verify.verdicts import Subject, Verdict

Remake = Callable[[Subject], Verdict]
KEYS = ["code", "title", "status", "message", "looked"]
FINDINGS: dict[str, tuple[str, Remake | None]] = {
    "BASE001": ("AUPRC stands beside the share of positives, not beside one half", numbers.auprc_baseline),
    "CARD001": ("Counts agree with the dataset card", data.card_counts),
    "DEPTH001": ("Fixed depths lie within the rankings", reports.depths_within_rankings),
    "DUP001": ("No near-identical texts in two folds", reports.no_texts),
    "DYNK001": ("A dynamic K is judged by what it returns", reports.dynamic_k),
    "FEAT001": ("No feature is named after gold", reports.no_features),
    "FOLD001": ("Every post is in one fold", data.one_fold_per_post),
    "GATE001": ("Skipped queries return nothing", data.skipped_return_nothing),
    "GOOD001": ("Results are not too good to be true", reports.not_too_good),
    "INT001": ("Every measurement has its interval", numbers.intervals),
    "KPIN001": ("K is not pinned at its cap or floor", reports.k_is_not_pinned),
    "LABEL001": ("Labels agree with the gold sentences", data.labels_agree),
    "LEAK001": ("Tuning and evaluation posts are disjoint in every fold", data.tuning_is_apart),
    "LOSS001": ("Every missed gold sentence is charged to one stage", reports.losses_add_up),
    "NAME001": ("Every name means its definition", numbers.names_mean_definitions),
    "PICK001": ("Selected sentences were ranked", data.selected_were_ranked),
    "POINT001": ("One operating point is deployed, and reported", reports.one_operating_point),
    "POP001": ("Ranking measures are over queries with evidence, or say otherwise", numbers.ranking_population),
    "PROB001": ("Probabilities are finite and in [0, 1]", data.probabilities),
    "RANGE001": ("Values are finite and within their ranges", numbers.ranges),
    "RANK001": ("No list names a sentence twice", data.no_duplicates),
    "RANK002": ("Gold sentences are among the candidates", data.gold_among_candidates),
    "RANK003": ("A ranking stays within its post", data.rankings_stay),
    "ROWS001": ("Only evaluation rows are measured, and all of them", numbers.evaluation_rows),
    "SAME001": ("One definition has one value wherever it stands", numbers.same_everywhere),
    "STATE001": ("States agree with prob and the thresholds", data.states_agree),
    "SUM001": ("Confusion tables add up", numbers.confusion_sums),
    "TUNE001": ("Thresholds were tuned on posts that they are not applied to", reports.thresholds_from_tune),
    "TUNE002": ("The deployed thresholds say where they were tuned", None),  # made again with the given thresholds
}


def check_findings(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """Every check of the summary comes out the same when it is made again."""
    subject, listed = Subject(folder, points), folder.summary["checks"]
    tally.exact("summary.json: checks", [check["code"] for check in listed], list(FINDINGS))
    for check in listed:
        code = str(check["code"])
        where, (title, remake) = f"summary.json: checks: {code}", FINDINGS.get(code, ("", None))
        tally.exact(f"{where}: keys", list(check), KEYS)
        tally.exact(f"{where}: title", check["title"], title)
        if remake is not None:
            verdict = remake(subject)
            tally.exact(f"{where}: status", check["status"], verdict.status)
            tally.exact(f"{where}: message", check["message"], verdict.message)
            tally.exact(f"{where}: looked", check["looked"], verdict.looked)
