"""The checks of the numbers, made again: sums, ranges, names, intervals, populations, baselines."""

from __future__ import annotations

import re

from evidentia.results.catalogue import resolve
from evidentia.verify.evidence import Query
from evidentia.verify.expected import Entry
from evidentia.verify.intervals import bounds_of
from evidentia.verify.limits import Pair
from evidentia.verify.plan import averaged, has_values
from evidentia.verify.tally import TOLERANCE
from evidentia.verify.verdicts import Subject, Verdict, absent, looked_at

_CELL = re.compile(r"TP(?P<rest>\((?:t=[^()]*|tuned)\).*)", re.DOTALL)


def confusion_sums(subject: Subject) -> Verdict:
    """SUM001: the four cells add up to the queries of both classes, and the rates are their shares."""
    names = subject.entries.keys()
    found = [match["rest"] for name in names if (match := _CELL.fullmatch(name)) is not None]
    tables = [rest for rest in found if all(f"{cell}{rest}" in names for cell in ("FP", "FN", "TN"))]
    wrong = [rest for rest in tables if not _adds_up(subject, rest)]
    aside = f", first {wrong[0]}" if wrong else ""
    return looked_at(len(tables), "confusion table", wrong=len(wrong), what="do not add up", aside=aside)


def _adds_up(subject: Subject, rest: str) -> bool:
    value = {cell: subject.reported[f"{cell}{rest}"]["value"] for cell in ("TP", "FP", "FN", "TN")}
    entry = subject.entries[f"TP{rest}"]
    yes, no = value["TP"] + value["FN"], value["TN"] + value["FP"]
    counts = subject.counts(entry.group)
    known = counts is None or rest.startswith("(tuned)") or counts == (yes, no)
    rates = (("Sensitivity", value["TP"], yes), ("Specificity", value["TN"], no))
    return bool(known and yes + no == subject.points.number(entry).n) and all(
        _is_share(subject, f"{name}{rest}", hit, of) for name, hit, of in rates
    )


def _is_share(subject: Subject, name: str, hit: float, of: float) -> bool:
    said = subject.reported.get(name)
    return said is None or said["degenerate"] is not None or (of > 0 and said["value"] == hit / of)


def ranges(subject: Subject) -> Verdict:
    """RANGE001: every value and limit is within the range of its measure."""
    values = [
        (name, subject.entries[name].definition, value)
        for name, said in subject.reported.items()
        for value in (said["value"], *(said["ci"] or ()))
        if value is not None
    ]
    values += [
        (str(other["name"]), resolve(other["definition"], subject.points.profile).definition, other["value"])
        for other in subject.folder.summary["other_definitions"]
    ]
    wrong = [name for name, definition, value in values if not _inside(value, bounds_of(definition))]
    aside = f", first {wrong[0]}" if wrong else ""
    return looked_at(len(values), "value", wrong=len(wrong), what="are out of range", aside=aside)


def _inside(value: float, bounds: Pair) -> bool:
    return bounds[0] <= value <= bounds[1]


def names_mean_definitions(subject: Subject) -> Verdict:
    """NAME001: a name, read under the profile, is the definition beside the number."""
    profile, wrong = subject.points.profile, []
    for name, entry in subject.entries.items():
        if resolve(name, profile).definition.expanded != subject.reported[name]["definition"]:
            wrong.append(entry.name)
    aside = f", first {wrong[0]}" if wrong else ""
    return looked_at(len(subject.entries), "name", wrong=len(wrong), what="mean another definition", aside=aside)


def same_everywhere(subject: Subject) -> Verdict:
    """SAME001: a definition on a group has one value: in the summary, elsewhere by its name, as a mean of its parts."""
    first: dict[str, float] = {e.definition.expanded: subject.reported[e.name]["value"] for e in subject.overall}
    pairs: list[tuple[str, float, float, float]] = []
    for other in subject.folder.summary["other_definitions"]:
        before = first.setdefault(other["definition"], other["value"])
        if before is not other["value"]:
            pairs.append((f"other definition of {other['name']}", other["value"], before, 0.0))
    pairs += _means_of_queries(subject) + _means_of_folds(subject)
    wrong = [f"{where} says {value}" for where, value, before, slack in pairs if abs(value - before) > slack]
    aside = f", first: {wrong[0]}" if wrong else ""
    many = "numbers that stand in two places"
    return looked_at(len(pairs), "number that stands in two places", many, wrong=len(wrong), what="differ", aside=aside)


def _means_of_queries(subject: Subject) -> list[tuple[str, float, float, float]]:
    found = []
    for entry in subject.overall:
        if has_values(entry.definition) and subject.points.number(entry).flaw is None:
            own, inside = subject.points.planner.values(entry.definition)
            values = own[inside].tolist()
            if values:
                said = subject.reported[entry.name]["value"]
                found.append((f"mean of per_query {entry.name}", sum(values) / len(values), said, TOLERANCE))
    return found


def _means_of_folds(subject: Subject) -> list[tuple[str, float, float, float]]:
    found = []
    for entry in subject.overall:
        folds = subject.points.folds(entry)
        if folds is not None and folds.mean is not None:
            said = subject.reported[entry.name]["fold_mean"]
            found.append((f"folds {entry.name}", folds.mean, said, TOLERANCE))
    return found


def evaluation_rows(subject: Subject) -> Verdict:
    """ROWS001: what is measured are the EVAL rows, all of them."""
    said, queries = subject.folder.summary["dataset"], subject.queries
    posts = len({query.post for query in queries})
    found = {"queries": len(queries), "positives": sum(query.label for query in queries), "posts": posts}
    differ = [f"{what}: said {said.get(what)}, found {n}" for what, n in found.items() if said.get(what) != n]
    aside = f" ({'; '.join(differ)})" if differ else ""
    what = "rows or counts are not those of EVAL"
    return looked_at(len(queries), "row", wrong=len(differ), what=what, aside=aside)


def intervals(subject: Subject) -> Verdict:
    """INT001: every measurement has an interval, or says why it has none."""
    if not subject.points.resamples:
        return Verdict("skipped", "no resamples were drawn, so there are no intervals")
    measured = {name: said for name, said in subject.reported.items() if said["degenerate"] is None}
    lacking = [
        name
        for name, said in measured.items()
        if said["ci"] is None and not any("no interval" in warning for warning in said["warnings"])
    ]
    reverse = [name for name, said in measured.items() if said["ci"] is not None and not said["ci"][0] <= said["ci"][1]]
    if lacking and not reverse:
        told = f"{len(lacking):,} numbers have no interval and no reason, first {lacking[0]}"
        return Verdict("warning", told, len(measured))
    what = f"have an interval that ends before it begins (first {reverse[0]})" if reverse else ""
    return looked_at(len(measured), "measurement", wrong=len(reverse), what=what)


def ranking_population(subject: Subject) -> Verdict:
    """POP001: a ranking measure over all queries stands beside the one over queries with evidence."""
    ranking = [
        entry
        for entry in subject.entries.values()
        if entry.definition.measure.family == "ranking" and not averaged(entry.definition)
    ]
    if not ranking:
        return absent("no ranking measure over queries that can be counted")
    wrong = [entry.name for entry in ranking if not _counts_its_own(subject, entry)]
    there = {(entry.definition.expanded, entry.group) for entry in ranking}
    alone = [e.name for e in ranking if (_over_positives(e), e.group) not in there]
    if alone and not wrong:
        told = f"{len(alone):,} ranking measures are over all queries, first {alone[0]}"
        return Verdict("warning", f"{told}: report the one over queries with evidence beside it", len(ranking))
    what = f"count other queries than they say (first {wrong[0]})" if wrong else ""
    return looked_at(len(ranking), "ranking measure", wrong=len(wrong), what=what)


def _counts_its_own(subject: Subject, entry: Entry) -> bool:
    counts = subject.counts(entry.group)
    if counts is None:
        return True
    own = sum(counts) if entry.definition.args.get("pop") == "all" else counts[0]
    return subject.points.number(entry).n == own


def _over_positives(entry: Entry) -> str:
    return entry.definition.with_params(pop="positives").expanded


def auprc_baseline(subject: Subject) -> Verdict:
    """BASE001: every AUPRC over queries, and the precision-recall curve, carry the share of positives."""
    found = [
        entry
        for name, entry in subject.entries.items()
        if name.partition("[")[0] == "AUPRC" and entry.definition.args.get("level") == "query"
    ]
    if not found:
        return absent("there is no AUPRC over queries")
    wrong = [entry.name for entry in found if not _has_prevalence(subject, entry)]
    curves = int(all(_scored(query) for query in subject.queries))
    what = f"have another baseline (first {wrong[0]})" if wrong else ""
    return looked_at(len(found) + curves, "baseline", wrong=len(wrong), what=what)


def _scored(query: Query) -> bool:
    return query.score is not None


def _has_prevalence(subject: Subject, entry: Entry) -> bool:
    counts, said = subject.counts(entry.group), subject.points.number(entry).details.get("prevalence")
    if counts is None:
        return True
    return said is not None and abs(said - counts[0] / max(sum(counts), 1)) < 1e-12
