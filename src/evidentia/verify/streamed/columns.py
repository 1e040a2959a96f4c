"""The queries of a run as narrow columns, read part by part: numbers and codes, and never the texts of all rows at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidentia.array_types import Bools, Floats, Ints
from evidentia.verify.folder import as_numbers, naturally
from evidentia.verify.poisson import hashed
from evidentia.verify.streamed.cells import column
from evidentia.verify.streamed.sources import SourceTable
from evidentia.verify.streamed.truth import TruthSums
from evidentia.verify.study import MISSING, STATES, GoldRanks

ROWS = 100_000  # queries in work at once
KEY = ("post_id", "criterion_id")
Small = np.int32


@dataclass(frozen=True)
class Coded:
    """A column of few different values: the place of each among the labels."""

    codes: NDArray[np.int16]
    labels: tuple[str, ...]


@dataclass(eq=False)
class QueryColumns:
    """Everything that numbers need of the queries; what the run lacks is not among the arrays."""

    posts: pl.Series
    coded: dict[str, Coded] = field(default_factory=dict)  # criterion, fold, state, and the columns to slice by
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    gold_ranks: GoldRanks | None = None
    faults: Counter[str] = field(default_factory=Counter)
    left_out: int = 0  # TRAIN rows
    rows: int = 0
    truth: TruthSums | None = None

    def lookup(self) -> NDArray[np.int32]:
        """The row of every pair of a post and a criterion, -1 where there is none: posts x criteria."""
        coded = self.coded["criterion"]
        table = np.full((len(self.posts), len(coded.labels)), -1, np.int32)
        table[self.arrays["post"], coded.codes] = np.arange(self.rows, dtype=np.int32)
        return table

    def places(self, posts: pl.Series, criteria: pl.Series) -> tuple[Ints, Ints]:
        """The codes of some posts and criteria; -1 for one that no query has."""
        return place_in(posts, self.posts), place_in(
            criteria, pl.Series(self.coded["criterion"].labels, dtype=pl.String)
        )


def kept(rows: pl.DataFrame) -> pl.DataFrame:
    """A copy of a few rows: rows that are taken out of a part would keep all texts of the part in memory."""
    return pl.DataFrame({name: rows[name].to_list() for name in rows.columns}, schema=rows.schema)


def place_in(values: pl.Series, among: pl.Series) -> Ints:
    """The place of each value among different ones; -1 where it is not there."""
    table = pl.DataFrame({"value": among, "place": np.arange(len(among), dtype=np.int32)})
    joined = pl.DataFrame({"value": values}).join(table, on="value", how="left", maintain_order="left")
    return joined["place"].fill_null(-1).to_numpy().astype(np.int64)


def sample_of(posts: pl.Series, size: int) -> pl.Series:
    """The posts whose BLAKE2b hashes are the smallest: anybody can draw them again, and nobody chose them."""
    if size >= len(posts):
        return posts
    smallest = np.argpartition(hashed(posts), size)[:size] if size else np.zeros(0, np.int64)
    return posts.gather(np.sort(smallest))


@dataclass(eq=False)
class QueryReader:
    """Reads the queries of a table, as a second implementation of what the formats say.

    ``gold`` has the gold sentences of every query, where they are marked among the candidates only. With ``truth`` what the
    queries are judged against is added up.
    """

    table: SourceTable
    by: Sequence[str] = ()
    list_sep: str | None = None
    gold: pl.DataFrame | None = None
    sample_size: int = 0
    truth: bool = False
    sample: pl.Series = field(default_factory=lambda: pl.Series([], dtype=pl.String))
    sampled: list[pl.DataFrame] = field(default_factory=list)

    def read(self) -> QueryColumns:
        """All queries."""
        self.by = [name for name in self.by if self.table.has(name)]
        posts, labels = self._labels()
        self.sample = sample_of(posts, self.sample_size)
        queries = QueryColumns(posts, truth=TruthSums(posts, labels["criterion"]) if self.truth else None)
        capacity = sum(self.table.rows.values())
        arrays: dict[str, NDArray[Any]] = {}
        ranks: list[NDArray[np.int64]] = []
        there: Counter[str] = Counter()
        seen: Bools = np.zeros((len(posts), len(labels["criterion"])), np.bool_)
        for part in self.table.parts(self._expressions(), ROWS):
            rows = self._evaluated(part, queries)
            if self.table.is_long:
                rows = _first_of_each(rows, posts, labels["criterion"], seen)
            if not rows.height:
                continue
            known = self._narrow(rows, posts, labels, queries)
            at = queries.rows
            for name, values in known.items():
                if name not in arrays:
                    arrays[name] = np.empty(capacity, values.dtype)
                arrays[name][at : at + rows.height] = values
                there[name] += rows.height
            if queries.truth is not None:
                queries.truth.add(rows, known["post"], known["criterion"], gold=self._has("gold_sent_uids"))
            ranks.append(_gold_ranks(rows, at))
            queries.rows += rows.height
            self.sampled.append(kept(rows.filter(pl.col("post_id").is_in(self.sample.implode()))))
        if not queries.rows:
            raise ValueError("no EVAL rows")
        whole = {name: values[: queries.rows] for name, values in arrays.items() if there[name] == queries.rows}
        for name in ("criterion", "fold", "state", *self.by):
            if name in whole:
                queries.coded[name] = Coded(whole.pop(name), labels.get(name, STATES))
        queries.arrays = whole
        if self._has("ranked_sent_uids"):
            queries.gold_ranks = GoldRanks(*np.concatenate(ranks).T)
        _whole_run(queries)
        return queries

    def _has(self, name: str) -> bool:
        return self.table.has(name) or (name == "gold_sent_uids" and self.gold is not None)

    def _expressions(self) -> dict[str, pl.Expr]:
        names = (
            *(*KEY, "fold", "split", "has_evidence", "prob", "detection_score", "tau", "tau_neg", "tau_pos", "state"),
            *("n_candidates", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids", *self.by),
        )
        return {name: column(self.table, name, self.list_sep) for name in dict.fromkeys(names)}

    def _labels(self) -> tuple[pl.Series, dict[str, tuple[str, ...]]]:
        """The posts in the order in which they come, and the different values of every column of groups."""
        names = ["post_id", "criterion_id", "fold", *self.by]
        names = [name for name in names if self.table.has(name)]
        expressions = {name: column(self.table, name) for name in (*names, "split")}
        values: dict[str, list[pl.Series]] = {name: [] for name in names}
        for part in self.table.parts(expressions, 10 * ROWS):
            rows = part.filter(_is_eval(self.table)) if self.table.has("split") else part
            for name in names:
                values[name].append(kept(rows.select(pl.col(name).unique(maintain_order=True)))[name])
        unique = {name: pl.concat(parts).unique(maintain_order=True) for name, parts in values.items()}
        labels = {"criterion": naturally(unique["criterion_id"].fill_null("").to_list())}
        if "fold" in unique:
            labels["fold"] = as_numbers(set(unique["fold"].drop_nulls()))
        for name in self.by:
            some = set(unique[name].drop_nulls())
            missing = (MISSING,) if unique[name].null_count() or MISSING in some else ()
            labels[name] = (*as_numbers(some - {MISSING}), *missing)
        return unique["post_id"], labels

    def _evaluated(self, part: pl.DataFrame, queries: QueryColumns) -> pl.DataFrame:
        """The EVAL rows of a part, with gold sentences and states that follow from other columns."""
        rows = part.with_columns(pl.col("criterion_id").fill_null(""))
        if self.table.has("split"):
            rows = rows.filter(_is_eval(self.table))
            queries.left_out += part.height - rows.height
        if self.gold is not None:
            rows = rows.drop("gold_sent_uids").join(self.gold, on=KEY, how="left", maintain_order="left")
            rows = rows.with_columns(pl.col("gold_sent_uids").fill_null([]))
        if self._has("gold_sent_uids") and not self.table.has("has_evidence"):
            rows = rows.with_columns(has_evidence=pl.col("gold_sent_uids").list.len() > 0)
        if not rows["state"].null_count() or not self.table.has("prob", "tau_neg", "tau_pos"):
            return rows
        prob, low, high = pl.col("prob"), pl.col("tau_neg"), pl.col("tau_pos")
        state = (
            pl.when(prob < low)
            .then(pl.lit("NEG"))
            .when(prob >= high)
            .then(pl.lit("POS"))
            .otherwise(pl.lit("UNCERTAIN"))
        )
        known = pl.when(prob.is_not_null() & low.is_not_null() & high.is_not_null()).then(state)
        return rows.with_columns(state=pl.coalesce(pl.col("state"), known))

    def _narrow(
        self, rows: pl.DataFrame, posts: pl.Series, labels: Mapping[str, tuple[str, ...]], queries: QueryColumns
    ) -> dict[str, NDArray[Any]]:
        """The columns of a part as numbers and codes, without those that have empty cells."""
        gold, ranked, selected = (pl.col(f"{name}_sent_uids") for name in ("gold", "ranked", "selected"))
        counts = rows.select(
            n_gold=gold.list.len(),
            n_ranked=ranked.list.len(),
            n_selected=selected.list.len(),
            n_found=gold.list.set_intersection(selected).list.len(),
        )
        known: dict[str, NDArray[Any]] = {"post": place_in(rows["post_id"], posts).astype(Small)}
        for name, label in labels.items():
            own = "criterion_id" if name == "criterion" else name
            filled = rows[own].fill_null(MISSING) if name in self.by else rows[own]
            if not filled.null_count():
                known[name] = place_in(filled, pl.Series(label, dtype=pl.String)).astype(np.int16)
        if not rows["state"].null_count():
            known["state"] = place_in(rows["state"], pl.Series(STATES)).astype(np.int16)
        for name in ("prob", "detection_score"):
            if not rows[name].null_count():
                known[name] = rows[name].to_numpy()
        if not rows["has_evidence"].null_count():
            known["label"] = rows["has_evidence"].to_numpy().astype(np.bool_)
        lists = [name for name in ("gold", "ranked", "selected") if self._has(f"{name}_sent_uids")]
        known |= {f"n_{name}": counts[f"n_{name}"].to_numpy().astype(Small) for name in lists}
        if {"gold", "selected"} <= {*lists}:
            known["n_found"] = counts["n_found"].to_numpy().astype(Small)
        if "state" in known:
            known["gate"] = known["state"] != STATES.index("NEG")
        elif "prob" in known:
            known["gate"] = known["prob"] >= rows["tau"].fill_null(0.5).to_numpy()
        queries.faults.update(_faults(rows, lists))
        return known


def _is_eval(table: SourceTable) -> pl.Expr:
    return pl.col("split").str.strip_chars().str.to_uppercase() == "EVAL"


def _first_of_each(rows: pl.DataFrame, posts: pl.Series, criteria: Sequence[str], seen: Bools) -> pl.DataFrame:
    """The first row of every query of which no row was seen before."""
    first = rows.unique(KEY, keep="first", maintain_order=True)
    places = place_in(first[KEY[0]], posts), place_in(first[KEY[1]], pl.Series(criteria, dtype=pl.String))
    fresh = ~seen[places]
    seen[places] = True
    return first.filter(pl.Series(fresh))


def _gold_ranks(rows: pl.DataFrame, start: int) -> NDArray[np.int64]:
    """The query, rank and number of every gold sentence that was ranked."""
    gold, ranked = (pl.col(f"{name}_sent_uids") for name in ("gold", "ranked"))
    some = rows.select(pl.int_range(pl.len()).alias("at"), gold.alias("gold"), ranked.alias("ranked"))
    some = some.filter(pl.col("gold").list.len() > 0)
    places = [
        (start + at, rank, ordinal)
        for at, held, order in some.iter_rows()
        for ordinal, rank in enumerate((n for n, uid in enumerate(order or (), 1) if uid in {*held}), 1)
    ]
    return np.array(places, np.int64).reshape(-1, 3)


def _faults(rows: pl.DataFrame, lists: Sequence[str]) -> dict[str, int]:
    """In how many rows columns cannot be true together."""
    uids = {name: pl.col(f"{name}_sent_uids") for name in lists}
    wrong = {f"{name}: a sentence twice": each.list.n_unique() != each.list.len() for name, each in uids.items()}
    if "gold" in uids:
        wrong["evidence without gold, or gold without evidence"] = pl.col("has_evidence") != (
            uids["gold"].list.len() > 0
        )
    if {"ranked", "selected"} <= {*lists}:
        strange = uids["selected"].list.set_difference(uids["ranked"])
        wrong["selected sentences that are not ranked"] = strange.list.len() > 0
    prob, state, high = pl.col("prob"), pl.col("state"), pl.col("tau_pos")
    tau = pl.when(high.is_null()).then(pl.col("tau"))
    low = pl.coalesce(pl.col("tau_neg"), tau)
    below, above = (prob < low).fill_null(False), (prob >= high).fill_null(False)
    between = (state == "UNCERTAIN") | ((state == "NEG") & low.is_null()) | ((state == "POS") & high.is_null())
    right = pl.when(below).then(state == "NEG").when(above).then(state == "POS").otherwise(between)
    wrong["a state that probability and thresholds do not give"] = ~right & prob.is_not_null() & state.is_not_null()
    wrong["a probability that is none"] = ~prob.is_between(0, 1)
    counted = rows.select(*(each.fill_null(False).sum().alias(name) for name, each in wrong.items()))
    return {name: int(count) for name, count in counted.row(0, named=True).items()}


def _whole_run(queries: QueryColumns) -> None:
    """What only all rows together show: pairs that come twice, and posts in two folds."""
    post, criterion = queries.arrays["post"], queries.coded["criterion"].codes
    pairs: Bools = np.zeros((len(queries.posts), len(queries.coded["criterion"].labels)), np.bool_)
    pairs[post, criterion] = True
    queries.faults["queries that come twice"] += queries.rows - int(pairs.sum())
    if "fold" in queries.coded:
        fold = queries.coded["fold"]
        folds: Bools = np.zeros((len(queries.posts), len(fold.labels)), np.bool_)
        folds[post, fold.codes] = True
        queries.faults["posts in two folds"] += int((folds.sum(axis=1) > 1).sum())


def float_column(values: NDArray[Any] | None, rows: int) -> Floats:
    """A column as numbers; nothing of use where the run lacks it."""
    return np.full(rows, np.nan) if values is None else values.astype(np.float64, copy=False)
