"""Which numbers a result must hold: every definition that its profile or its user asked for, in every group that it has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evidentia.verify.catalogue import MEASURES, Definition, define
from evidentia.verify.names import Name, Pairs, parse, suffix
from evidentia.verify.populations import needs, unmet
from evidentia.verify.profiles import Profile
from evidentia.verify.study import Study

STANDARD = ("fold", "criterion", "state", "has_evidence")
ELSEWHERE = {
    **{"ndcg_cut": "nDCG@{}", "map_cut": "MAP(norm=gold)@{}", "success": "HitRate@{}", "p": "Precision(depth=k)@{}"},
    **{"recall": "Recall@{}", "r": "Recall@{}", "hit": "HitRate@{}", "hits": "HitRate@{}", "hit_rate": "HitRate@{}"},
    **{"ap": "MAP@{}", "map": "MAP@{}", "ndcg": "nDCG@{}", "mrr": "MRR@{}", "rr": "MRR@{}"},
    **{"precision": "Precision@{}"},
}
WORDS = {
    **{"map": "MAP(norm=gold)@ALL", "ndcg": "nDCG@ALL", "recip_rank": "MRR", "rr": "MRR", "auc": "AUROC"},
    **{"roc_auc": "AUROC", "roc_auc_score": "AUROC", "average_precision": "AUPRC", "brier_score": "Brier"},
    **{"average_precision_score": "AUPRC", "brier_score_loss": "Brier", "log_loss": "LogLoss"},
    **{"matthews_corrcoef": "MCC(t=gate)", "hamming_loss": "HammingLoss", "exact_match": "ExactMatch"},
    **{"avg_k": "SelectedK", "evidence_recall": "EvidenceRecall", "evidence_precision": "EvidencePrecision"},
    **{"alert_precision": "AlertPrecision", "screening_sensitivity": "ScreeningSensitivity"},
}


@dataclass(frozen=True)
class Entry:
    """A number that must be there."""

    name: str
    definition: Definition
    group: Pairs


@dataclass
class Expected:
    """All numbers in their order, what cannot be computed with the reason, and which definitions are known per fold."""

    entries: dict[str, Entry] = field(default_factory=dict)
    gaps: list[tuple[Definition, str]] = field(default_factory=list)
    by_fold: set[str] = field(default_factory=set)


def expected(study: Study, profile: Profile, options: Mapping[str, Any]) -> Expected:
    """What must be reported for this run, from the options that it was evaluated with."""
    listed = options.get("measures")
    asked: list[tuple[Definition, Pairs]]
    if listed is None:
        own = profile.definitions(options.get("k"), dual=bool(options.get("dual")))
        asked = [(definition, ()) for definition in own]
    else:
        asked = [asked_for(name, profile) for name in listed]
    made = Expected()
    wanted: dict[tuple[str, tuple[str, ...]], tuple[Definition, set[Pairs]]] = {}
    for definition, group in asked:
        reason = unmet(study, definition)
        if reason is not None:
            made.gaps += [] if any(d == definition for d, _ in made.gaps) else [(definition, reason)]
            continue
        parts = [(tuple(c for c, _ in group), {group})] if group else groupings(study, definition)
        for columns, groups in parts:
            wanted.setdefault((definition.expanded, columns), (definition, set()))[1].update(groups)
    _fill(made, study, profile, wanted)
    return made


def _fill(
    made: Expected,
    study: Study,
    profile: Profile,
    wanted: Mapping[tuple[str, tuple[str, ...]], tuple[Definition, set[Pairs]]],
) -> None:
    """Put the entries into the order of a summary: those without a group first."""
    for (expanded, columns), (definition, groups) in sorted(wanted.items(), key=lambda item: bool(item[0][1])):
        name = definition.short(profile.defaults)
        for group in _in_order(study, columns):
            if group in groups:
                made.entries[name + suffix(group)] = Entry(name + suffix(group), definition, group)
        if columns == ("fold",):
            made.by_fold.add(expanded)


def _in_order(study: Study, columns: Sequence[str]) -> list[Pairs]:
    groups: list[Pairs] = [()]
    for column in columns:
        groups = [(*group, (column, label)) for group in groups for label in study.labels(column)]
    return groups


def groupings(study: Study, definition: Definition) -> list[tuple[tuple[str, ...], set[Pairs]]]:
    """The whole run and every grouping that makes sense for the definition."""
    allowed = definition.measure.groups
    found: list[tuple[tuple[str, ...], set[Pairs]]] = [((), {()})]
    for column in dict.fromkeys((*STANDARD, *study.by)):
        fits = column in allowed or (column in study.by and "slice" in allowed)
        if definition.averaged and column in {"criterion", "state", "has_evidence"}:
            continue
        if fits and ("complete" not in needs(definition) or _keeps_posts_whole(study, column)):
            groups: set[Pairs] = {((column, label),) for label in study.labels(column)}
            found += [((column,), groups)] if groups else []
    return found


def _keeps_posts_whole(study: Study, column: str) -> bool:
    def look() -> bool:
        posts = study.by_post(study.whole)
        return all(len({study.label_of(study.queries[row], column) for row in rows}) == 1 for rows in posts)

    return study.once(("whole posts", column), look)


def asked_for(text: str, profile: Profile) -> tuple[Definition, Pairs]:
    """The definition and the group of a name that a user gave, also in the words of other tools."""
    head, bracket, group = text.strip().partition("[")
    name = parse(unalias(head.strip(), profile) + bracket + group)
    return define(Name(name.base, name.params, name.cut), profile.defaults), name.group


def named(text: str, profile: Profile) -> str:
    """A name that a user gave, as the profile prints it."""
    definition, group = asked_for(text, profile)
    return definition.short(profile.defaults) + suffix(group)


def unalias(head: str, profile: Profile) -> str:
    """A name in the words of another tool in ours.

    >>> unalias("ndcg_cut_10", Profile({})), unalias("nDCG@10", Profile({}))
    ('nDCG@10', 'nDCG@10')
    """
    word, bases = head.lower(), {measure.base for same in MEASURES.values() for measure in same}
    if word in {"macro_f1", "macrof1"}:
        return f"F1(avg={profile.macro_f1})"
    if head not in bases and word in WORDS:
        return WORDS[word]
    found = re.fullmatch(r"([A-Za-z_]+?)[_@](\d+|all)", head, re.IGNORECASE)
    if found and found[1].lower() in ELSEWHERE and found[1] not in bases:
        return ELSEWHERE[found[1].lower()].format(found[2])
    return head
