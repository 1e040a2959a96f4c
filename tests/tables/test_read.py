"""What a run is after reading: order, arrays, derived columns, and the same from every source."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidentia.tables import Candidates, Coded, Queries, Ragged, read_run, read_trec
from growth import growth
from sampling import examples

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not beside the project")

ROWS = pl.DataFrame(
    {
        "post_id": [10, 9, 9, 10],
        "criterion_id": ["A.10", "A.2", "A.10", "A.2"],
        "fold": [2, 10, 10, 2],
        "prob": [0.25, 0.5, 1.0, 0.0],
        "gold_sent_uids": [["d"], [], ["a", "b"], []],
        "ranked_sent_uids": [["c", "d"], ["a", "b"], ["b", "x", "a"], []],
        "selected_sent_uids": [["d", "c"], [], ["x"], []],
        "state": ["UNCERTAIN", "POS", "POS", "NEG"],
        "gender": ["f", "m", "m", "f"],
    }
)


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.List(pl.String)).list.join("|"))


def sources(folder: Path) -> dict[str, object]:
    text = as_text(ROWS)
    text.write_csv(folder / "run.csv")
    text.write_csv(folder / "run.tsv", separator="\t")
    text.write_csv(folder / "semicolon.csv", separator=";")
    ROWS.write_parquet(folder / "run.parquet")
    ROWS.write_ndjson(folder / "run.jsonl")
    for name in ("run.csv", "run.jsonl", "run.tsv"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    paths = {path.name: path for path in sorted(folder.iterdir())}
    return {**paths, "polars": ROWS, "lazy": ROWS.lazy(), "pandas": ROWS.to_pandas(), "pyarrow": ROWS.to_arrow()}


def same(a: object, b: object) -> bool:
    if isinstance(a, Queries | Ragged | Coded | Candidates):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if hasattr(a, "items"):
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    return a == b


def test_every_source_gives_the_same_run(tmp_path):
    expected = read_run(ROWS, by=["gender"])
    canonical = expected.frame.drop("gender")
    for name, source in sources(tmp_path).items():
        delimiter = ";" if name == "semicolon.csv" else ","
        run = read_run(source, by=["gender"], delimiter=delimiter)
        assert same(run.queries, expected.queries), name
        assert run.frame.drop("gender").equals(canonical), name
        assert run.frame.schema == expected.frame.schema, name
        assert run.notes == ()


def test_rows_are_sorted_by_post_and_criterion_in_natural_order():
    run = read_run(ROWS)
    assert run.queries.post_ids == ("9", "10")
    assert run.queries.criterion_ids == ("A.2", "A.10")
    assert run.queries.post.tolist() == [0, 0, 1, 1]
    assert run.queries.criterion.tolist() == [0, 1, 0, 1]
    assert run.frame.select("post_id", "criterion_id").rows() == [
        ("9", "A.2"),
        ("9", "A.10"),
        ("10", "A.2"),
        ("10", "A.10"),
    ]
    assert run.queries.complete


def test_arrays_of_a_run_worked_by_hand():
    q = read_run(ROWS).queries
    assert q.label.tolist() == [False, True, False, True]
    assert q.fold.labels == ("2", "10")
    assert q.fold.codes.tolist() == [1, 1, 0, 0]
    assert q.prob.tolist() == [0.5, 1.0, 0.0, 0.25]
    assert q.state.tolist() == [2, 2, 0, 1]
    assert q.gate.tolist() == [True, True, False, True]
    assert q.n_gold.tolist() == [0, 2, 0, 1]
    assert q.n_ranked.tolist() == [2, 3, 0, 2]
    assert q.gold_ranks.offsets.tolist() == [0, 0, 2, 2, 3]
    assert q.gold_ranks.values.tolist() == [1, 3, 2]
    assert q.n_selected.tolist() == [0, 1, 0, 2]
    assert q.n_selected_gold.tolist() == [0, 0, 0, 1]


def test_frame_has_canonical_types():
    schema = read_run(ROWS).frame.schema
    uids = pl.List(pl.String)
    assert [schema[c] for c in ("gold_sent_uids", "ranked_sent_uids", "selected_sent_uids")] == [uids] * 3
    assert [schema[c] for c in ("post_id", "criterion_id", "fold", "state")] == [pl.String] * 4
    assert (schema["has_evidence"], schema["prob"]) == (pl.Boolean, pl.Float64)


def test_what_a_run_does_not_have_is_none():
    q = read_run(ROWS.select("post_id", "criterion_id", has_evidence=pl.lit(True))).queries
    absent = ("fold", "prob", "gate", "state", "n_gold", "n_ranked", "gold_ranks", "n_selected", "candidates")
    assert [q.has(name) for name in absent] == [False] * len(absent)


def test_gate_without_state_uses_tau_and_else_one_half():
    frame = ROWS.drop("state")
    assert read_run(frame).queries.gate.tolist() == [True, True, False, False]
    with_tau = frame.with_columns(tau=pl.Series([0.25, 0.75, 0.75, 0.0]))
    assert read_run(with_tau).queries.gate.tolist() == [False, True, True, True]


def test_state_is_derived_with_inclusive_bounds():
    frame = ROWS.drop("state").with_columns(tau_neg=pl.lit(0.25), tau_pos=pl.lit(0.5))
    run = read_run(frame)
    assert run.frame["state"].to_list() == ["POS", "POS", "NEG", "UNCERTAIN"]
    assert run.queries.gate.tolist() == [True, True, False, True]


def test_a_missing_pair_makes_a_run_incomplete():
    assert not read_run(ROWS.head(3)).queries.complete


def test_source_is_the_hash_of_the_file_as_it_lies_there(tmp_path):
    packed = gzip.compress(b"post_id,criterion_id,has_evidence\np1,A.1,1\n")
    (tmp_path / "run.csv.gz").write_bytes(packed)
    (source,) = read_run(tmp_path / "run.csv.gz").sources
    assert (source.role, source.name, source.rows) == ("run", "run.csv.gz", 1)
    assert source.sha256 == hashlib.sha256(packed).hexdigest()
    (frame_source,) = read_run(ROWS).sources
    assert (frame_source.name, frame_source.sha256, frame_source.rows) == ("<dataframe>", None, 4)


def test_pandas_index_is_not_a_column(tmp_path):
    frame = pd.DataFrame({"post_id": ["a", "b"], "criterion_id": ["x", "x"], "has_evidence": [1, 0]}, index=[7, 3])
    frame.to_parquet(tmp_path / "run.parquet")
    assert read_run(frame).frame.columns == ["post_id", "criterion_id", "has_evidence"]
    assert read_run(tmp_path / "run.parquet").frame.columns == ["post_id", "criterion_id", "has_evidence"]


def test_subsets_keep_their_codes_and_know_whether_they_are_complete():
    q = read_run(ROWS, by=["gender"]).queries
    second = q.take(np.array([2, 3]))
    assert second.post.tolist() == [1, 1]
    assert second.gold_ranks.values.tolist() == [2]
    assert second.complete
    assert not q.take(np.array([1, 3])).complete
    assert [len(block) for block in q.blocks(1)] == [2, 2]


def test_arrays_are_read_only_and_those_of_a_caller_stay_as_they_are():
    q = read_run(ROWS, by=["gender"]).queries
    for table in (q, q.take(np.array([2, 3]))):
        arrays = [table.post, table.label, table.prob, table.gate, table.n_gold, table.fold.codes]
        arrays += [table.gold_ranks.values, table.gold_ranks.offsets, table.gold_ranks.owner]
        arrays += [table.slices["gender"].codes]
        assert not any(array.flags.writeable for array in arrays)
        with pytest.raises(ValueError, match="read-only"):
            table.prob[0] = 0.0
    own = np.array([0, 1])
    assert not Ragged(own, own).values.flags.writeable
    assert own.flags.writeable


def test_reading_the_arrays_does_not_import_polars():
    code = "import sys, evidentia.tables.queries, evidentia.tables.card; assert 'polars' not in sys.modules"
    path = Path(__file__).resolve().parents[2] / "src"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(path)})


uid = st.sampled_from([f"s{n}" for n in range(8)])
lists = st.lists(uid, unique=True, max_size=8)


@st.composite
def queries(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    ranked = draw(lists)
    selected = draw(st.lists(st.sampled_from(ranked), unique=True)) if ranked else []
    return draw(lists), ranked, selected


@examples(60)
@given(st.lists(queries(), min_size=1, max_size=6))
def test_ranks_and_hits_agree_with_plain_python(rows):
    frame = pl.DataFrame(
        {
            "post_id": ["p"] * len(rows),
            "criterion_id": [str(number) for number in range(len(rows))],
            **{f"{c}_sent_uids": [row[at] for row in rows] for at, c in enumerate(("gold", "ranked", "selected"))},
        },
        schema_overrides={f"{c}_sent_uids": pl.List(pl.String) for c in ("gold", "ranked", "selected")},
    )
    q = read_run(as_text(frame)).queries
    for at, (gold, ranked, selected) in enumerate(rows):
        own = q.gold_ranks.values[q.gold_ranks.offsets[at] : q.gold_ranks.offsets[at + 1]]
        assert own.tolist() == [rank for rank, name in enumerate(ranked, 1) if name in gold]
        assert (q.n_gold[at], q.n_ranked[at], q.n_selected[at]) == (len(gold), len(ranked), len(selected))
        assert q.n_selected_gold[at] == len(set(gold) & set(selected))


@needs_data
@pytest.mark.parametrize(("name", "n"), [("baseline-val", 1470), ("final-105736", 1490), ("final-v2-dual", 1490)])
def test_published_runs_are_read_through_a_mapping(name, n):
    mapping = {"gold_sent_uids": "gold_ids", "ranked_sent_uids": "reranked_topk"}
    run = read_run(DATA / "published-runs" / name / "per_query.csv", mapping=mapping)
    assert len(run) == n
    assert run.queries.label.sum() == 140
    assert run.queries.complete
    assert run.queries.criterion_ids == tuple(f"A.{number}" for number in range(1, 11))


@needs_data
def test_trec_eval_test_data_gives_its_published_map():
    run = read_trec(DATA / "trec-eval" / "qrels.test", DATA / "trec-eval" / "results.test", ties="trec")
    q = run.queries
    assert len(run) == 3
    assert q.n_gold.sum() == 561
    assert len(q.gold_ranks.values) == 131
    owner = q.gold_ranks.owner
    nth = np.arange(len(owner)) - q.gold_ranks.offsets[owner] + 1
    average_precision = np.bincount(owner, nth / q.gold_ranks.values, minlength=3) / q.n_gold
    assert round(float(average_precision.mean()), 4) == 0.1785


def test_the_cost_of_reading_grows_with_the_rows(tmp_path: Path):
    def run_of(posts: int) -> Path:
        uids = [[f"s_{1000 + post}_{at}" for at in range(20)] for post in range(posts)]
        lines = [
            f"s_{post},A.{c},{post % 5},{'|'.join(own[c:] + own[:c])},{own[c]}"
            for post, own in enumerate(uids)
            for c in range(1, 11)
        ]
        path = tmp_path / f"{posts}.csv"
        path.write_text("\n".join(["post_id,criterion_id,fold,ranked_sent_uids,gold_sent_uids", *lines]))
        return path

    assert growth(read_run, run_of(370), run_of(1477)) < 10  # 4; with the square 16
    assert len(read_run(tmp_path / "1477.csv")) == 14770
