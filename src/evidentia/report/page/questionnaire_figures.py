"""The figures of a questionnaire: totals, cut-offs and confusion matrices. They draw what the result holds."""

from __future__ import annotations

from evidentia.report.page.figure import Figure, Row, draw, table_of
from evidentia.report.page.selective_view import SelectiveView
from evidentia.report.page.theme import BLUE, ORANGE
from evidentia.results.selective_layout import confusion_columns

MOST_CELLS = 2_000  # of all confusion matrices together; larger ones are in the table only
WIDE = 680  # pixels of a row of the page
OUTCOMES = {"certainly below": BLUE, "certainly at or above": ORANGE, "undecided": "#a3afbb"}
COUNTS = {"below": "certainly below", "above": "certainly at or above", "undecided": "undecided"}


def questionnaire_figures(view: SelectiveView) -> list[Figure | None]:
    """Totals against the truth, what is certain at the cut-offs, and answers against true scores."""
    return [_totals(view), _cut_offs(view), _confusion(view)]


def _totals(view: SelectiveView) -> Figure | None:
    table = view.content.figure("totals")
    if table is None or not table.rows:
        return None
    totals = [cell for row in table.rows for cell in row[:3] if isinstance(cell, int | float)]
    ends = [min(totals), max(totals)]
    cuts = [{"cut": cut} for cut in view.dataset["instrument"]["cuts"] if ends[0] < cut <= ends[1]]
    return draw(
        "totals",
        table,
        ends=ends,
        corners=[{"end": end} for end in ends],
        cuts=cuts,
        cuts_in_words=" Grey lines are the cut-offs." if cuts else "",
    )


def _cut_offs(view: SelectiveView) -> Figure | None:
    decided = [e["details"] for e in view.measures.values() if "undecided" in e["details"]]
    rows: list[Row] = [
        (f"at {details['cut']}", outcome, details[count]) for details in decided for count, outcome in COUNTS.items()
    ]
    table = table_of(("cut", "outcome", "participants"), rows)
    return draw("cut_offs", table, outcomes=list(OUTCOMES), range=list(OUTCOMES.values()))


def _confusion(view: SelectiveView) -> Figure | None:
    """Every matrix that has a row; a score that an item cannot have is no cell."""
    known = view.content.table("confusion")
    if known is None or "instrument" not in view.dataset:
        return None
    answers = [column.rpartition(" ")[2] for column in confusion_columns(view.dataset["instrument"])[2:]]
    rows: list[Row] = [
        (item, str(truth), "open" if answer == "abstained" else answer, count)
        for item, truth, *counts in known.rows
        for answer, count in zip(answers, counts, strict=True)
        if count is not None
    ]
    if not 0 < len(rows) <= MOST_CELLS:
        return None
    across = max(1, WIDE // (24 * len(answers) + 60))
    table = table_of(("item", "truth", "answer", "items"), rows)
    return draw(
        "confusion",
        table,
        columns_of_items=across,
        items=[{"item": item} for item in dict.fromkeys(row[0] for row in rows)],
    )
