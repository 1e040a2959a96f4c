"""The fast way to a checked block: ids are compared as 64-bit hashes, and candidates by the stretches in which they stand.

A block that is plainly right is read this way. Whatever is wrong or unusual is left to `tables.read_run`, which can say what it
is. The other columns of queries are read by it in any case: candidates, rankings and selections are what there is much of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.array_types import Bools, Ints
from evidentia.errors import InputError
from evidentia.measures.kernels import gold_ranks
from evidentia.tables import Run, read_run
from evidentia.tables.cells import MISSING
from evidentia.tables.files import Loaded
from evidentia.tables.queries import Candidates, Ragged
from evidentia.tables.uids import keys, members, owners_count, ranks_of

UID_SEED = 11
SPREAD = 0x1E3779B97F4A7C15  # odd: a word for each (owner, word)
IDS = ("post_id", "criterion_id")
GOLD, RANKED, SELECTED = LISTS = ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")
POOL = (*IDS, "sent_uid", "score", "is_gold")
MORE = ("node_prob", "fold")  # which candidates may have
ODD_UID = r"^\s|\s$|\||^$"

Words = NDArray[np.int64]


def plain_run(queries: Loaded, candidates: Loaded, reading: Mapping[str, Any]) -> tuple[Run, Words] | None:
    """A block as a run, and the different words of its uids, ascending; None where it must be looked at in another way."""
    frame = queries.frame
    if not _is_usual(frame, candidates.frame, reading):
        return None
    lists = [name for name in LISTS if name in frame.columns]
    emptied = frame.with_columns(frame[name].list.head(0) for name in lists if name != GOLD)
    try:
        run = read_run(replace(queries, frame=emptied), allow_disjoint=True, **reading)
    except InputError:
        return None
    pairs = _pairs(run.frame)
    rows, pool = _places(pairs, _pairs(frame)), _by_query(candidates.frame, pairs)
    if run.tune is not None or run.queries.criterion_ids == ("",) or rows is None or pool is None:
        return None
    listed = frame.select(*lists, *(name for name in MORE[1:] if name in frame.columns))
    return _checked(run, listed if _ascending(rows) else listed[rows], *pool)


def words_of(column: pl.Series) -> Words:
    """The hash of every value."""
    return column.hash(UID_SEED).to_numpy().view(np.int64)


def _is_usual(frame: pl.DataFrame, pool: pl.DataFrame, reading: Mapping[str, Any]) -> bool:
    """Whether both tables have the usual columns, under their own names and in types that need no conversion."""
    own, theirs = frame.schema, pool.schema
    if (
        reading["mapping"]
        or reading["candidates_mapping"]
        or reading["uids"] != "run"
        or {"split", "sent_uid"} & {*own}
    ):
        return False
    if not ({*IDS, GOLD} <= {*own} and {*POOL} <= {*theirs} <= {*POOL, *MORE}):
        return False
    lists = [name for name in LISTS if name in own]
    return (
        all(own[name] == pl.List(pl.String) and not frame[name].null_count() for name in lists)
        and all(kind == pl.String for kind in (*(own[name] for name in IDS), *(theirs[name] for name in POOL[:3])))
        and theirs["score"] == pl.Float64 == theirs.get("node_prob", pl.Float64)
        and (theirs["is_gold"] == pl.Boolean or theirs["is_gold"].is_integer())
        and ("fold" not in theirs or own.get("fold") == theirs["fold"])
        and not any(column.null_count() for column in pool.iter_columns())
    )


def _pairs(frame: pl.DataFrame) -> Words:
    return keys(words_of(frame["post_id"]), words_of(frame["criterion_id"]), SPREAD)


def _places(words: Words, among: Words) -> Ints | None:
    """Where each word stands among others; None where one does not, or two stand at the same place."""
    if np.array_equal(words, among):
        return np.arange(len(words))
    order = np.argsort(among)
    places: Ints = order[np.minimum(np.searchsorted(among, words, sorter=order), len(among) - 1)]
    known = np.array_equal(among[places], words) and len(_different(places)) == len(places)
    return places if known else None


def _ascending(places: Ints) -> bool:
    return bool((places[1:] > places[:-1]).all())


def _by_query(pool: pl.DataFrame, queries: Words) -> tuple[pl.DataFrame, Ragged] | None:
    """The candidates by query, and their words; None where one has no query, or those of a query stand apart."""
    pairs = _pairs(pool)
    starts = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    places = _places(pairs[starts], queries)
    if places is None:
        return None
    stretches = Ragged(np.append(starts, len(pairs)), np.arange(len(pairs)))
    if not _ascending(places):
        pool = pool[stretches.take(np.argsort(places)).values]
    lengths = np.zeros(len(queries), np.int64)
    lengths[places] = stretches.lengths
    return pool, Ragged(np.concatenate([[0], np.cumsum(lengths)]), words_of(pool["sent_uid"]))


def _checked(run: Run, listed: pl.DataFrame, pool: pl.DataFrame, uids: Ragged) -> tuple[Run, Words] | None:
    """The run with its candidates, rankings and selections, if they are right."""
    words = {name: _words_of_lists(listed[name]) for name in LISTS if name in listed.columns}
    gold, ranked, selected = words[GOLD], words.get(RANKED), words.get(SELECTED)
    posts = words_of(run.frame["post_id"])
    first = _first_mentions(uids, posts)
    mentioned = Ragged(uids.offsets, np.arange(len(pool))).take(first)
    new = Ragged(mentioned.offsets, uids.values[mentioned.values])
    different, known = _different(new.values), _different(keys(posts[first][new.owner], new.values, SPREAD))
    if not (
        len(different) == len(known)  # else a uid stands under two posts
        and _is_distinct(new)
        and _are_plain(pool["sent_uid"].gather(mentioned.values), listed)
        and _have_values(pool, uids.owner, listed)
        and _is_marked(gold, uids, pool)
        and (ranked is None or _is_ranked(ranked, uids, posts, known))
        and _is_counted(run.frame, uids.lengths if ranked is None else np.maximum(uids.lengths, ranked.lengths))
        and (selected is None or _is_selected(selected, uids if ranked is None else ranked))
    ):
        return None
    scores, marks = pool["score"].to_numpy(), _marks(pool)
    node_prob = pool["node_prob"].to_numpy() if "node_prob" in pool.columns else None
    queries = replace(
        run.queries,
        n_ranked=uids.lengths if ranked is None else ranked.lengths,
        gold_ranks=gold_ranks(scores, marks, uids.offsets) if ranked is None else ranks_of(gold, ranked, SPREAD),
        n_selected=None if selected is None else selected.lengths,
        n_selected_gold=None if selected is None else owners_count(gold, members(gold, selected, SPREAD)),
        candidates=Candidates(uids.offsets, scores, marks, node_prob),
    )
    return replace(run, queries=queries), different


def _words_of_lists(lists: pl.Series) -> Ragged:
    lengths = lists.list.len().to_numpy().astype(np.int64)
    flat = lists.filter(pl.Series(lengths > 0)).explode()  # explode() would make a null of an empty list
    return Ragged(np.concatenate([[0], np.cumsum(lengths)]), words_of(flat))


def _first_mentions(uids: Ragged, posts: Words) -> Ints:
    """The queries that do not list the same sentences, in the same order, as the one before them of the same post."""
    rows = np.flatnonzero(uids.lengths)
    lengths, post = uids.lengths[rows], posts[rows]
    back = np.zeros(len(posts), np.int64)
    back[rows[1:]] = np.where((lengths[1:] == lengths[:-1]) & (post[1:] == post[:-1]), lengths[1:], 0)
    other = uids.values != uids.values[np.arange(len(uids.values)) - back[uids.owner]]
    new = back == 0
    new[uids.owner[other]] = True
    return np.flatnonzero(new)


def _different(words: Words) -> Words:
    ordered = np.sort(words)  # np.unique hashes them, which takes longer
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _is_distinct(lists: Ragged) -> bool:
    """Whether no list names a uid twice."""
    return len(_different(keys(lists.owner, lists.values, SPREAD))) == len(lists.values)


def _are_plain(uids: pl.Series, listed: pl.DataFrame) -> bool:
    """Whether no uid is blank, padded or joined, and none that is alone in its cell is the word for a missing one."""
    lists = [column for column in listed.iter_columns() if column.name in LISTS]
    alone = pl.concat([column.filter(column.list.len() == 1).explode().alias("") for column in lists])
    return not (uids.str.contains(ODD_UID).any() or alone.str.contains(MISSING).any())


def _have_values(pool: pl.DataFrame, owner: Ints, listed: pl.DataFrame) -> bool:
    """Whether scores, marks and probabilities are what they must be, and candidates in the fold of their query."""
    return (
        pool["score"].is_finite().all()
        and (pool["is_gold"].dtype == pl.Boolean or pool["is_gold"].is_between(0, 1).all())
        and ("node_prob" not in pool.columns or pool["node_prob"].is_between(0, 1).all())
        and ("fold" not in pool.columns or np.array_equal(words_of(listed["fold"])[owner], words_of(pool["fold"])))
    )


def _is_marked(gold: Ragged, uids: Ragged, pool: pl.DataFrame) -> bool:
    """Whether the candidates that are marked are the gold of the queries."""
    marked = np.flatnonzero(_marks(pool))
    theirs = np.sort(keys(uids.owner[marked], uids.values[marked], SPREAD))
    return np.array_equal(theirs, np.sort(keys(gold.owner, gold.values, SPREAD)))


def _marks(pool: pl.DataFrame) -> Bools:
    marks: Bools = pool["is_gold"].cast(pl.Boolean).to_numpy()
    return marks


def _is_ranked(ranked: Ragged, uids: Ragged, posts: Words, known: Words) -> bool:
    """Whether rankings name a sentence once, and only what is a candidate of their post."""
    rows = np.flatnonzero((ranked.lengths != uids.lengths) | (_sums(ranked) != _sums(uids)))
    others = ranked.take(rows)  # than those of all candidates of their query
    words = keys(posts[rows][others.owner], others.values, SPREAD)
    return _is_distinct(others) and len(_different(np.concatenate([known, words]))) == len(known)


def _sums(lists: Ragged) -> Words:
    """The sum of the words of every list: the same for the same words in any order."""
    before = np.concatenate([[0], np.cumsum(lists.values)])
    sums: Words = before[lists.offsets[1:]] - before[lists.offsets[:-1]]
    return sums


def _is_counted(frame: pl.DataFrame, lengths: Ints) -> bool:
    """Whether no query has more candidates than it says."""
    return "n_candidates" not in frame.columns or not (frame["n_candidates"] < pl.Series(lengths)).any()


def _is_selected(selected: Ragged, ranked: Ragged) -> bool:
    """Whether selections name a sentence once, and only what is ranked."""
    at = ranked.offsets[selected.owner] + np.arange(len(selected.values)) - selected.offsets[selected.owner]
    inside = at < ranked.offsets[selected.owner + 1]
    rows = _different(selected.owner[~inside | (ranked.values[np.where(inside, at, 0)] != selected.values)])
    others = selected.take(rows)  # than those of the first sentences of their ranking
    return _is_distinct(others) and bool(members(others, ranked.take(rows), SPREAD).all())
