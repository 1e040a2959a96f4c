"""per_query.csv: the values that it gives every query, and whether its columns can be true together."""

from __future__ import annotations

from collections.abc import Sequence

from evidentia.results.catalogue import Definition
from evidentia.verify.evidence import Query
from evidentia.verify.folder import ResultFolder, unquoted
from evidentia.verify.plan import has_values
from evidentia.verify.points import Points
from evidentia.verify.sheet import compare_text, read_cells
from evidentia.verify.tally import Tally

FILE = "per_query.csv"
KNOWN = (
    *("post_id", "criterion_id", "fold", "split", "has_evidence", "prob", "raw_prob", "detection_score", "tau"),
    *("tau_neg", "tau_pos", "state", "n_candidates", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"),
)


def check_own_values(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """Every query's own value of every measure that is a mean of such values."""
    cells = read_cells(folder.path / FILE)
    header = [unquoted(cell) for cell in cells[0]]
    columns = [column for column in dict.fromkeys((*KNOWN, *points.study.by)) if column in header]
    overall = (entry for entry in points.expected.entries.values() if not entry.group)
    owned = {entry.name: entry.definition for entry in overall if has_values(entry.definition)}
    values = {name: _own(points, definition) for name, definition in owned.items() if name not in columns}
    tally.exact(f"{FILE}: header", header, [*columns, *values])
    for number, (row, query) in enumerate(zip(cells[1:], points.study.queries, strict=True)):
        where = f"{FILE}: {query.post}, {query.criterion}"
        tally.exact(f"{where}: cells", len(row), len(header))
        for name, cell in zip(header, row, strict=False):
            if name in values:
                compare_text(f"{where}: {name}", cell, values[name][number], tally)


def _own(points: Points, definition: Definition) -> list[float | None]:
    """The value of every query; None for those outside of the population."""
    values, inside = points.planner.values(definition)
    return [value if held else None for value, held in zip(values.tolist(), inside.tolist(), strict=True)]


def check_rows(folder: ResultFolder, queries: Sequence[Query], tally: Tally) -> None:
    """The columns of a row agree: evidence with gold, state with the thresholds, the selection with the ranking."""
    for row, query in zip(folder.rows(FILE, ("split", "has_evidence")), queries, strict=True):
        where = f"{FILE}: {query.post}, {query.criterion}"
        tally.exact(f"{where}: split", row.get("split", "EVAL"), "EVAL")
        tally.exact(f"{where}: has_evidence is true or false", row["has_evidence"] in {"true", "false"}, True)
        if query.gold is not None:
            tally.exact(f"{where}: has_evidence", query.label, bool(query.gold))
        if query.state is not None and query.prob is not None:
            tally.exact(f"{where}: state", query.state, _state(query))
        _check_lists(where, query, tally)
    folds = {(query.post, query.fold) for query in queries}
    tally.exact(f"{FILE}: posts in one fold each", len(folds), len({query.post for query in queries}))


def _state(query: Query) -> str | None:
    """The state that probability and thresholds leave possible, nearest to the one that is written."""
    prob, low, high = query.prob or 0.0, query.tau_neg, query.tau_pos
    low = query.tau if low is None and high is None else low
    negative, positive = low is not None and prob < low, high is not None and prob >= high
    if negative or positive:
        return "NEG" if negative else "POS"
    possible = ["UNCERTAIN", *(["NEG"] if low is None else []), *(["POS"] if high is None else [])]
    return query.state if query.state in possible else "UNCERTAIN"


def _check_lists(where: str, query: Query, tally: Tally) -> None:
    for name in ("gold", "ranked", "selected"):
        listed = getattr(query, name)
        if listed is not None:
            tally.exact(f"{where}: {name}: different sentences", len(set(listed)), len(listed))
            tally.exact(f"{where}: {name}: sentences without a name", sum(not uid for uid in listed), 0)
    if query.ranked is not None and query.selected is not None:
        strangers = set(query.selected) - set(query.ranked)
        tally.exact(f"{where}: selected sentences that are not ranked", len(strangers), 0)
