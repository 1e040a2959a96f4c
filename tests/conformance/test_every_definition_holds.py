"""What must hold for every measure with every combination of its choices, whatever the data."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import polars as pl
import pytest
from every_definition import (
    BY_NAME,
    COLUMNS,
    EXPANDED,
    Table,
    all_cells,
    edited,
    nested,
    of,
    read,
    same_bits,
    shuffled,
    with_decisions,
)

from evidentia.evaluation.cluster_sums import ClusterSums
from evidentia.evaluation.plan import OVERALL, Grouping
from evidentia.measures.core import Additive, Macro
from evidentia.synth import SyntheticRun
from evidentia.tables import Queries, Run

every_definition = pytest.mark.parametrize("name", EXPANDED)
EMPTY_LIST = pl.lit([], dtype=pl.List(pl.String))


@cache
def plain() -> Table:
    return all_cells(read(nested()))


def test_the_run_has_what_every_definition_needs() -> None:
    assert plain().unmet == {}
    assert {column for _, column in plain().cells} == set(COLUMNS)


# (a) the order of the rows


@cache
def in_other_orders() -> tuple[Table, ...]:
    return tuple(all_cells(read(shuffled(nested(), seed))) for seed in (1, 2))


@every_definition
def test_shuffling_the_rows_changes_no_bit(name: str) -> None:
    for other in in_other_orders():
        again = of(other, name)
        assert all(same_bits(cell, again[column]) for column, cell in of(plain(), name).items())


# (b) ties


def tied() -> SyntheticRun:
    """Probs and scores in few values, so that most of them tie; rankings and selections stay as they are."""
    tables = nested()
    coarse = edited(tables, (pl.col("prob") * 4).round() / 4)
    unstated = coarse.per_query.with_columns(tau=pl.lit(0.5)).drop("state", "tau_neg", "tau_pos")
    halves = tables.candidates.with_columns(pl.col("score").round(), (pl.col("node_prob") * 2).round() / 2)
    return SyntheticRun(unstated, halves)


@cache
def ties_in_three_orders() -> tuple[Table, ...]:
    return tuple(all_cells(read(shuffled(tied(), seed))) for seed in (3, 4, 5))


@every_definition
def test_with_tied_scores_the_order_of_the_rows_changes_no_bit(name: str) -> None:
    first, *others = ties_in_three_orders()
    if name in first.unmet:
        assert "state" in first.unmet[name]
        return
    for other in others:
        again = of(other, name)
        assert all(same_bits(cell, again[column]) for column, cell in of(first, name).items())


# (c) nothing to measure


def one_group_empty(queries: Queries, column: str) -> Grouping | None:
    """All queries in the first of two groups."""
    codes = np.zeros(len(queries), np.int64)
    return Grouping((column,), codes, (((column, "full"),), ((column, "empty"),)))


def no_evidence(tables: SyntheticRun) -> SyntheticRun:
    per_query = tables.per_query.with_columns(gold_sent_uids=EMPTY_LIST, has_evidence=pl.lit(0))
    return SyntheticRun(per_query, tables.candidates.with_columns(is_gold=pl.lit(0)))


def evidence_everywhere(tables: SyntheticRun) -> SyntheticRun:
    per_query = tables.per_query.with_columns(gold_sent_uids=pl.col("ranked_sent_uids"), has_evidence=pl.lit(1))
    return SyntheticRun(per_query, tables.candidates.with_columns(is_gold=pl.lit(1)))


def everything_skipped(tables: SyntheticRun) -> SyntheticRun:
    return edited(
        tables,
        EMPTY_LIST.alias("selected_sent_uids"),
        pl.lit("NEG").alias("state"),
        pl.lit(0.0).alias("prob"),
        pl.lit(0.5).alias("tau_neg"),
        pl.lit(0.5).alias("tau_pos"),
    )


def everything_an_alert(tables: SyntheticRun) -> SyntheticRun:
    return edited(
        tables,
        pl.lit("POS").alias("state"),
        pl.lit(1.0).alias("prob"),
        pl.lit(0.5).alias("tau_neg"),
        pl.lit(0.5).alias("tau_pos"),
    )


def nothing_ranked(tables: SyntheticRun) -> SyntheticRun:
    return edited(tables, EMPTY_LIST.alias("ranked_sent_uids"), EMPTY_LIST.alias("selected_sent_uids"))


POOR = {
    "no evidence": no_evidence,
    "evidence everywhere": evidence_everywhere,
    "everything skipped": everything_skipped,
    "everything an alert": everything_an_alert,
    "nothing ranked": nothing_ranked,
    "no evidence, everything skipped": lambda tables: everything_skipped(no_evidence(tables)),
    "as it is": lambda tables: tables,
}


@cache
def poor(kind: str) -> Table:
    run = read(POOR[kind](nested()))
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        return all_cells(run, columns=(None, "nobody"), groupings=one_group_empty)


@every_definition
def test_with_little_to_measure_values_are_finite_and_reasons_are_given(name: str) -> None:
    definition = BY_NAME[name]
    for cell in (cell for kind in POOR for cell in of(poor(kind), name).values()):
        assert np.isfinite(cell.outcome.values).all()
        known = 1 if isinstance(definition.kind, Macro) else len(definition.measure.reasons)
        assert cell.outcome.flaws.min() >= 0
        assert cell.outcome.flaws.max() <= known
        if definition.measure.reasons:
            assert (cell.outcome.flaws[cell.n == 0] > 0).all()
        else:
            assert (cell.outcome.values[cell.n == 0] == 0).all()  # a count of nothing is a sound 0


@every_definition
def test_an_empty_group_is_undefined_and_the_full_one_is_the_whole(name: str) -> None:
    cells = of(poor("as it is"), name)
    whole, (full, empty) = cells[None].outcome.values[0], cells["nobody"].outcome.values
    assert full == whole
    assert np.isfinite(empty)
    assert cells["nobody"].n.tolist() == [cells[None].n[0], 0]
    assert (cells["nobody"].outcome.flaws[1] > 0) == bool(BY_NAME[name].measure.reasons)


# (d) weights


def weighted_posts(run: Run, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 4, len(run.queries.post_ids)).astype(float)


def repeated(tables: SyntheticRun, times: dict[str, int]) -> SyntheticRun:
    """EVAL rows of every post as often as it counts, each copy a post of its own with sentences of its own."""
    rest = tables.per_query.filter(pl.col("split") != "EVAL")
    rows, candidates = [rest], []
    for copy in range(max(times.values())):
        posts = [post for post, count in times.items() if count > copy]
        tail = f"#{copy}" if copy else ""
        lists = pl.col("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids").list.eval(pl.element() + tail)
        kept = pl.col("post_id").is_in(posts)
        new_id = (pl.col("post_id") + tail).alias("post_id")
        rows.append(tables.per_query.filter((pl.col("split") == "EVAL") & kept).with_columns(lists, new_id))
        candidates.append(tables.candidates.filter(kept).with_columns(new_id, pl.col("sent_uid") + tail))
    return SyntheticRun(pl.concat(rows), pl.concat(candidates))


def weights_against_copies(times: np.ndarray, run: Run) -> tuple[Table, Table]:
    by_post = {post: int(count) for post, count in zip(run.queries.post_ids, times, strict=True)}
    columns = (None, "fold", "subreddit")
    copies = all_cells(read(repeated(nested(), by_post)), columns=columns)
    return all_cells(run, columns=columns, weights=times), copies


@cache
def any_weights() -> tuple[Table, Table]:
    run = read(nested())
    return weights_against_copies(weighted_posts(run, 1), run)


@cache
def one_post_twice() -> tuple[Table, Table]:
    run = read(nested())
    times = np.ones(len(run.queries.post_ids))
    times[np.flatnonzero(np.bincount(run.queries.post, run.queries.label) > 0)[0]] = 2
    return weights_against_copies(times, run)


@cache
def some_left_out() -> tuple[Table, Table]:
    run = read(nested())
    times = np.ones(len(run.queries.post_ids))
    times[::3] = 0
    return weights_against_copies(times, run)


def assert_same_values(weighted: Table, copies: Table, name: str) -> None:
    expected = of(copies, name)
    for column, cell in of(weighted, name).items():
        np.testing.assert_allclose(cell.outcome.values, expected[column].outcome.values, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(cell.outcome.flaws, expected[column].outcome.flaws)


@every_definition
def test_a_whole_weight_is_that_many_copies_of_the_post(name: str) -> None:
    assert_same_values(*any_weights(), name)


@every_definition
def test_a_post_of_weight_two_counts_as_two_posts(name: str) -> None:
    assert_same_values(*one_post_twice(), name)


@every_definition
def test_a_post_of_weight_zero_is_not_there(name: str) -> None:
    assert_same_values(*some_left_out(), name)


@cache
def weight_one() -> Table:
    run = read(nested())
    return all_cells(run, weights=np.ones(len(run.queries.post_ids)))


@every_definition
def test_weight_one_changes_no_bit(name: str) -> None:
    again = of(weight_one(), name)
    assert all(same_bits(cell, again[column]) for column, cell in of(plain(), name).items())


# (e) blocks


FEW = (None, "fold", "state")


@cache
def in_blocks(size: int) -> Table:
    return all_cells(read(nested()), columns=FEW, block=size)


@every_definition
def test_the_size_of_the_blocks_changes_no_bit(name: str) -> None:
    for size in (3, 50):
        whole = of(plain(), name)
        assert all(same_bits(cell, whole[column]) for column, cell in of(in_blocks(size), name).items())


@cache
def weighted_blocks(size: int) -> Table:
    run = read(nested())
    return all_cells(run, columns=FEW, block=size, weights=weighted_posts(run, 2))


@every_definition
def test_the_size_of_the_blocks_changes_no_bit_of_a_weighted_sum(name: str) -> None:
    again = of(weighted_blocks(3), name)
    assert all(same_bits(cell, again[column]) for column, cell in of(weighted_blocks(10**9), name).items())


# (f) bounds


@every_definition
def test_values_lie_within_the_bounds_of_their_measure(name: str) -> None:
    low, high = BY_NAME[name].measure.bounds
    tables = (plain(), any_weights()[0], ties_in_three_orders()[0], *(poor(kind) for kind in POOR))
    for table in (table for table in tables if name not in table.unmet):
        for cell in of(table, name).values():
            assert low is None or cell.outcome.values.min() >= low
            assert high is None or cell.outcome.values.max() <= high


# what depends on how much there is says so: of Poisson weights its sums are scaled, and a share must not be, which rounds it


@cache
def under_weights() -> dict[str, tuple[bool, ...]]:
    """Whether a definition is sized, and whether twice the weights change it, and change it where it is scaled."""
    queries = with_decisions(read(nested())).queries
    wants = [(d, OVERALL) for d in BY_NAME.values() if isinstance(d.kind, Additive)]
    sums = ClusterSums(queries, wants)
    weights = np.random.default_rng(1).poisson(1.0, (len(queries.post_ids), 20)).astype(np.float64)
    plain, scaled = ([sums.values(m * weights, scaled=how) for m in (1, 2)] for how in (False, True))
    changed = [
        {key: not np.array_equal(one[key], two[key], equal_nan=True) for key in one} for one, two in (plain, scaled)
    ]
    return {d.expanded: (d.kind.sized, *(of[d, ()] for of in changed)) for d, _ in wants}


@every_definition
def test_what_depends_on_how_much_there_is_says_so(name: str) -> None:
    if isinstance(BY_NAME[name].kind, Additive):
        sized, plain, scaled = under_weights()[name]
        assert sized == plain
        assert not scaled
