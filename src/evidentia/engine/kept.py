"""What is kept of the rows of a block: narrow columns, in the order in which they are read at the end.

Scores that sweeps and fits need stand cell by cell of a partition as fine as all groupings (positives apart from the others), so
that a group can be read alone. The values behind means stand in ascending order, each with its cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.evaluation.cells import Cells, shared_cells
from evidentia.evaluation.compute import PerQuery, macro_parts
from evidentia.evaluation.curves import bin_shares
from evidentia.evaluation.plan import OVERALL, Grouping, Want, grouping_by
from evidentia.measures import Definition
from evidentia.measures.calibration import reliability_table
from evidentia.measures.core import Additive, Fit, Macro, Sweep
from evidentia.results.measure import Args
from evidentia.stats.poisson import cluster_keys
from evidentia.tables.queries import Queries

Key = tuple[object, ...]
Arrays = dict[Key, NDArray[Any]]
Code = np.int16  # groups of one column are few; crossing them widens
LEVELS = ("query", "candidate")


def kept_columns(
    queries: Queries, wants: Sequence[Want], planned: Sequence[Want], rows: Mapping[Key, PerQuery], *, posts: bool
) -> Arrays:
    """The columns of a block; with the posts behind scores where replicates are asked for."""
    columns: Arrays = {("posts",): cluster_keys(queries.post_ids)} if posts else {}
    for level in LEVELS:
        columns |= _scores(queries, wants, level, posts=posts)
    return columns | _values(queries, planned, rows) | _shares(queries, planned)


def behind(queries: Queries, want: Want) -> tuple[Want, ...]:
    """The definition that a mean over criteria averages, by criterion."""
    definition, grouping = want
    if not isinstance(definition.kind, Macro):
        return ()
    base, criteria = macro_parts(queries, definition, definition.kind)
    return ((base, grouping.crossed(criteria)),)


def score_cells(queries: Queries, wants: Sequence[Want], level: str) -> list[Cells]:
    """Partitions of the queries, each as fine as some groupings of sweeps and fits over the scores of a level; mostly one."""
    mine: dict[tuple[str, ...], Grouping] = {}
    if level == "query" and queries.scores is not None:  # figures show these
        fold = grouping_by(queries, "fold")
        mine = {(): OVERALL} | ({} if fold is None else {fold.columns: fold})
    for definition, grouping in (want for each in wants for want in (each, *behind(queries, each))):
        kind = definition.kind
        if isinstance(kind, Sweep | Fit) and level_of(definition.args) == level:
            mine[grouping.columns] = grouping
    return shared_cells(list(mine.values()))


def level_of(args: Args) -> str:
    """Whether scores of queries or of candidates are meant."""
    return args.get("level") or LEVELS[0]


def value_cells(wants: Sequence[Want]) -> list[Cells]:
    """Partitions of the queries, each as fine as some groupings of means; mostly one."""
    means = kept_statistics(wants)
    return shared_cells(
        list({grouping.columns: grouping for definition, grouping in wants if definition in means}.values())
    )


def kept_statistics(wants: Sequence[Want]) -> dict[Definition, Key]:
    """The definitions that are means of values of queries, and the statistic behind each."""
    return {
        definition: definition.kind.statistic.key(definition.args)
        for definition, _ in wants
        if isinstance(definition.kind, Additive) and definition.kind.per_query is not None
    }


def share_bins(wants: Sequence[Want]) -> set[int]:
    """The numbers of bins of calibration errors, of which one is drawn."""
    return {
        int(d.args["bins"]) for d, _ in wants if isinstance(d.kind, Additive) and d.kind.details is reliability_table
    }


def narrow(codes: Ints, groups: int) -> NDArray[Any]:
    """Codes in as few bytes as the number of groups allows: the same in every block."""
    return codes.astype(Code if groups <= np.iinfo(Code).max else np.int32)


def _codes(queries: Queries, cells: Cells) -> NDArray[Any]:
    return np.zeros(len(queries), Code) if cells.codes is None else narrow(cells.codes, cells.size)


def _scores(queries: Queries, wants: Sequence[Want], level: str, *, posts: bool) -> Arrays:
    """The scores of positives and of the others cell by cell, with their posts where asked for, and how many each cell has."""
    columns: Arrays = {}
    for part, cells in enumerate(score_cells(queries, wants, level)):
        units = _units(queries, level)
        if units is None:
            break
        scores, labels, sizes = units
        codes, post = _codes(queries, cells), queries.post.astype(np.int32)
        owner = codes if sizes is None else np.repeat(codes, sizes)
        of_post = post if sizes is None else np.repeat(post, sizes)
        for name, mask in (("gold", labels), ("other", ~labels)):
            held = owner[mask]
            order = np.argsort(held, kind="stable")
            columns[level, name, part] = scores[mask][order]
            columns[level, "counts", name, part] = np.bincount(held, minlength=cells.size)
            if posts:
                columns[level, "posts", name, part] = of_post[mask][order]
    return columns


def _units(queries: Queries, level: str) -> tuple[Floats, Bools, Ints | None] | None:
    """Scores, labels, and how many of them each query has (None: one)."""
    if level == "query":
        return None if queries.scores is None else (queries.scores, queries.label, None)
    pool = queries.candidates
    if pool is None:
        return None
    scores: Floats = pool.score if pool.node_prob is None else pool.node_prob
    return scores, pool.is_gold, np.diff(pool.offsets)


def _values(queries: Queries, wants: Sequence[Want], rows: Mapping[Key, PerQuery]) -> Arrays:
    """The values behind every mean in ascending order, with their cells."""
    columns: Arrays = {}
    codes = [_codes(queries, cells) for cells in value_cells(wants)]
    for key in set(kept_statistics(wants).values()):
        order = np.flatnonzero(rows[key].counted)
        order = order[np.argsort(rows[key].values[order])]
        columns["values", *key] = rows[key].values[order]
        columns |= {("cells", part, *key): of[order] for part, of in enumerate(codes)}
    return columns


def _shares(queries: Queries, wants: Sequence[Want]) -> Arrays:
    """How many queries of every post lie in every bin, and how many of them have evidence."""
    most = len(queries.criterion_ids)
    return {("shares", bins): narrow(bin_shares(queries, bins), most).ravel() for bins in share_bins(wants)}


def cut_columns(queries: Queries) -> Iterator[tuple[str, Ints]]:
    """The columns whose groups may cut through posts, by the names of their groupings."""
    for column in ("criterion", "has_evidence", "state", "fold", *queries.slices):
        grouping = grouping_by(queries, column)
        if grouping is not None and grouping.codes is not None:
            yield column, grouping.codes


def cuts(queries: Queries) -> Ints:
    """How often each of these columns changes within a post."""
    within = np.diff(queries.post) == 0
    return np.array([np.count_nonzero(within & (np.diff(codes) != 0)) for _, codes in cut_columns(queries)], np.int64)
