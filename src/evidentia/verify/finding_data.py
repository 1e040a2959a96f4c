"""The checks of the queries, made again from the written rows."""

from __future__ import annotations

from collections.abc import Iterable

from evidentia.errors import counted
from evidentia.verify.evidence import Query
from evidentia.verify.verdicts import Subject, Verdict, absent, looked_at


def card_counts(subject: Subject) -> Verdict:
    """CARD001: the counts are those that the card promises; the order of its criteria carries no meaning."""
    card, study = subject.card, subject.points.study
    if card is None:
        return absent("no dataset card was given")
    found: dict[str, object] = {
        "posts": len({query.post for query in study.queries}),
        "criteria": study.criteria,
        "n_criteria": len(study.criteria),
        "queries": len(study.queries),
        "positives": sum(query.label for query in study.queries),
        "fold_sizes": _fold_sizes(study.queries),
    }
    promised = {what: _frozen(card[what]) for what in found if card[what] is not None}
    if set(card["criteria"] or ()) == set(study.criteria):
        promised["criteria"] = study.criteria
    wrong = [what for what, said in promised.items() if found[what] is not None and said != found[what]]
    told = "; ".join(f"{what}: the card says {promised[what]}, the run has {found[what]}" for what in wrong)
    aside = f" on card {card['name']}" + (f" ({told})" if told else "")
    return looked_at(len(promised), "count", wrong=len(wrong), what="disagree", aside=aside)


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _fold_sizes(queries: Iterable[Query]) -> tuple[int, ...] | None:
    home = {query.post: query.fold for query in queries}
    if None in home.values():
        return None
    return tuple(sorted(list(home.values()).count(fold) for fold in set(home.values())))


def skipped_return_nothing(subject: Subject) -> Verdict:
    """GATE001: a query in state NEG returns no sentence."""
    if not {"state", "selected_sent_uids"} <= subject.columns:
        return absent("the run has no states or no selections")
    skipped = [query for query in subject.queries if query.state == "NEG"]
    wrong = sum(bool(query.selected) for query in skipped)
    empty = sum(query.state != "NEG" and not query.selected for query in subject.queries)
    let = f"{counted(empty, 'query', 'queries')} that the gate lets through {'returns' if empty == 1 else 'return'} nothing"
    one, many = "query in state NEG", "queries in state NEG"
    return looked_at(
        len(skipped), one, many, wrong=wrong, what=f"{many} return sentences", aside=f"; {let}, which is legal"
    )


def probabilities(subject: Subject) -> Verdict:
    """PROB001: every prob is a number from 0 to 1."""
    probs = [query.prob for query in (*subject.queries, *subject.points.study.tune) if query.prob is not None]
    if not probs:
        return absent("the run has no prob column")
    wrong = sum(not 0 <= prob <= 1 for prob in probs)
    return looked_at(len(probs), "probability", "probabilities", wrong=wrong, what="are not in [0, 1]")


def labels_agree(subject: Subject) -> Verdict:
    """LABEL001: a query has evidence exactly where it has a gold sentence."""
    if "gold_sent_uids" not in subject.columns:
        return absent("the run has no gold sentences")
    wrong = sum(query.label != bool(query.gold) for query in subject.queries)
    return looked_at(len(subject.queries), "query", "queries", wrong=wrong, what="contradict their gold sentences")


def states_agree(subject: Subject) -> Verdict:
    """STATE001: states are those that prob and the thresholds give."""
    if not {"state", "prob"} <= subject.columns or not {"tau_neg", "tau_pos"} & subject.columns:
        return absent("the run has no states with prob and thresholds")
    wrong = sum(_contradicted(query) for query in subject.queries)
    what = "have a state that prob contradicts"
    return looked_at(len(subject.queries), "query", "queries", wrong=wrong, what=what)


def _contradicted(query: Query) -> bool:
    prob, low, high = query.prob or 0.0, query.tau_neg, query.tau_pos
    wrong_low = low is not None and (query.state == "NEG") != (prob < low)
    return wrong_low or (high is not None and (query.state == "POS") != (prob >= high))


def one_fold_per_post(subject: Subject) -> Verdict:
    """FOLD001: every post is in one fold."""
    if "fold" not in subject.columns:
        return absent("the run has no folds")
    folds: dict[str, set[str | None]] = {}
    for query in subject.queries:
        folds.setdefault(query.post, set()).add(query.fold)
    return looked_at(len(folds), "post", wrong=sum(len(own) > 1 for own in folds.values()), what="are in two folds")


def tuning_is_apart(subject: Subject) -> Verdict:
    """LEAK001: no post is TUNE and EVAL in the same fold."""
    tune = subject.points.study.tune
    if not tune:
        return absent("the run has no TUNE rows")
    in_folds = "fold" in subject.columns and any(query.fold is not None for query in tune)
    tuned, judged = ({(q.fold if in_folds else None, q.post) for q in part} for part in (tune, subject.queries))
    what = "are evaluated in the same fold"
    return looked_at(len(tuned), "TUNE post of a fold", "TUNE posts of folds", wrong=len(tuned & judged), what=what)


def no_duplicates(subject: Subject) -> Verdict:
    """RANK001: no list names a sentence twice."""
    lists = [uids for q in subject.queries for uids in (q.gold, q.ranked, q.selected) if uids]
    wrong = sum(len(set(uids)) < len(uids) for uids in lists)
    return looked_at(len(lists), "list", wrong=wrong, what="name a sentence twice")


def gold_among_candidates(subject: Subject) -> Verdict:
    """RANK002: gold sentences are the candidates that are marked as gold."""
    if not subject.has_candidates or "gold_sent_uids" not in subject.columns:
        return absent("the run has no candidates table or no gold sentences")
    gold, wrong = 0, 0
    for query in subject.queries:
        mine, marked = set(query.gold or ()), {one.uid for one in query.candidates or () if one.gold}
        gold += len(query.gold or ())
        wrong += len(mine ^ marked)
    what = "are not marked among the candidates, or marked without being gold"
    return looked_at(gold, "gold sentence", wrong=wrong, what=what)


def rankings_stay(subject: Subject) -> Verdict:
    """RANK003: ranked sentences belong to the post that they are ranked for."""
    if "ranked_sent_uids" not in subject.columns:
        return absent("the run has no rankings")
    ranked = {(query.post, uid) for query in subject.queries for uid in query.ranked or ()}
    if subject.has_candidates:
        known = {(query.post, one.uid) for query in subject.queries for one in query.candidates or ()}
        wrong = len(ranked - known)
    elif subject.points.study.criteria == ("",):
        return absent("the run is about topics, and topics share documents")
    else:
        wrong = len(ranked) - len({uid for _, uid in ranked})
    return looked_at(len(ranked), "ranked sentence", wrong=wrong, what="are not of the post they are ranked for")


def selected_were_ranked(subject: Subject) -> Verdict:
    """PICK001: what is selected was ranked."""
    if not {"ranked_sent_uids", "selected_sent_uids"} <= subject.columns:
        return absent("the run has no rankings with selections")
    looked = sum(len(query.selected or ()) for query in subject.queries)
    wrong = sum(len(set(query.selected or ()) - set(query.ranked or ())) for query in subject.queries)
    return looked_at(looked, "selected sentence", wrong=wrong, what="were never ranked")
