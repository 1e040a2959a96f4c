"""What blocks come to is what the run comes to in memory, to the bit, however the rows lie in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.made import FEW, MEASURES, Made, in_blocks, in_memory, in_parts, made, same
from evidentia.engine.kept import narrow
from evidentia.evaluation import cells
from sampling import examples

KEY = ["post_id", "criterion_id"]


@pytest.mark.parametrize("rows", [pytest.param(1, marks=pytest.mark.slow), 400, 10**6])
def test_blocks_of_any_size(rows: int, run: Made) -> None:
    same(in_blocks(*run.files, rows=rows), run.expected)


def test_every_measure_of_the_contract(run: Made) -> None:
    same(in_blocks(*run.files, measures=None), in_memory(*run.files, measures=None))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["paper", "audit", "e2e", "contract"])
def test_every_measure_of_every_profile_with_slices(profile: str, tmp_path: Path) -> None:
    run, by = made(tmp_path, posts=60, criteria=4, folds=5, positives=22), ("subreddit", "length_band")
    same(
        in_blocks(*run.files, measures=None, profile=profile, by=by, resamples=20),
        in_memory(*run.files, measures=None, profile=profile, by=by, resamples=20),
    )


def test_intervals_of_means_over_criteria_of_candidates(run: Made) -> None:
    names = ("AUROC(level=candidate,avg=criterion)",)
    same(
        in_blocks(*run.files, measures=names, profile="paper", resamples=20),
        in_memory(*run.files, measures=names, profile="paper", resamples=20),
    )


@pytest.mark.parametrize("layout", ["ordered", pytest.param("scattered", marks=pytest.mark.slow)])
def test_intervals(layout: str, run: Made, tmp_path: Path) -> None:
    queries = run.per_query if layout == "ordered" else run.per_query.sample(fraction=1, shuffle=True, seed=3)
    folder = in_parts(queries, tmp_path / "queries", [11, 50])
    same(in_blocks(folder, run.files[1], resamples=70), in_memory(*run.files, resamples=70))


@pytest.mark.slow
def test_a_run_of_the_size_of_the_contract(tmp_path: Path) -> None:
    run = made(tmp_path, posts=1477, criteria=10, positives=1379, folds=5)
    same(in_blocks(*run.files, rows=40_000, measures=None), in_memory(*run.files, measures=None))


def test_slices(run: Made) -> None:
    options = {"by": ("length_band",), "measures": FEW}
    same(in_blocks(*run.files, **options), in_memory(*run.files, **options))


def test_without_candidates(run: Made) -> None:
    names = [name for name in MEASURES if "candidate" not in name]
    same(in_blocks(run.files[0], measures=names), in_memory(run.files[0], measures=names))


def test_sentences_alone(run: Made, tmp_path: Path) -> None:
    """A row per sentence of a query: gold from the marks, rankings from the scores."""
    long = run.candidates.join(run.per_query.select(*KEY, "prob"), on=KEY, how="left", maintain_order="left")
    long.write_parquet(tmp_path / "long.parquet")
    folder = in_parts(long, tmp_path / "parts" / "long.parquet", range(0, long.height, 317))
    names = ("AUROC", "AUROC(level=candidate)", "AUPRC(level=candidate)", "nDCG@10", "MRR", "Brier", "Recall@5")
    same(in_blocks(folder, measures=names), in_memory(tmp_path / "long.parquet", measures=names))


def test_a_query_that_two_files_share(run: Made, tmp_path: Path) -> None:
    queries = in_parts(run.per_query, tmp_path / "queries", [1, 2, 3, 30])
    candidates = in_parts(run.candidates, tmp_path / "candidates", [5, 6, 700])
    same(in_blocks(queries, candidates), run.expected)


def test_candidates_whose_files_are_in_another_order(run: Made, tmp_path: Path) -> None:
    by_post = run.candidates.partition_by("post_id", maintain_order=True)
    turned = pl.concat(reversed(by_post))
    same(in_blocks(run.files[0], in_parts(turned, tmp_path / "candidates", [100, 600])), run.expected)


def test_a_fold_that_only_the_names_of_folders_tell(run: Made, tmp_path: Path) -> None:
    for name, frame in (("queries", run.per_query), ("candidates", run.candidates)):
        for (fold,), rows in frame.partition_by("fold", as_dict=True).items():
            in_parts(rows.drop("fold"), tmp_path / name / f"fold={fold}", [rows.height // 2])
    same(in_blocks(tmp_path / "queries", tmp_path / "candidates"), in_memory(*run.files))


def test_a_criterion_that_only_the_names_of_folders_tell(run: Made, tmp_path: Path) -> None:
    for name, frame in (("queries", run.per_query), ("candidates", run.candidates)):
        for (criterion,), rows in frame.partition_by("criterion_id", as_dict=True).items():
            in_parts(rows.drop("criterion_id"), tmp_path / name / f"criterion_id={criterion}", [])
    same(in_blocks(tmp_path / "queries", tmp_path / "candidates"), run.expected)


@pytest.mark.parametrize(
    "kind",
    [pl.Int64, pytest.param(pl.UInt32, marks=pytest.mark.slow), pytest.param(pl.Categorical, marks=pytest.mark.slow)],
)
def test_ids_that_are_no_texts(kind: type[pl.DataType], run: Made, tmp_path: Path) -> None:
    number = pl.col("post_id").rank("dense").cast(pl.Int64) + 95  # 99 and 100 have another order as texts
    ids = number.cast(pl.String).cast(kind) if kind == pl.Categorical else number.cast(kind)
    queries = in_parts(run.per_query.with_columns(ids.alias("post_id")), tmp_path / "queries", [7])
    candidates = in_parts(run.candidates.with_columns(ids.alias("post_id")), tmp_path / "candidates", [99])
    whole = [pl.read_parquet(folder / "*.parquet") for folder in (queries, candidates)]
    same(in_blocks(queries, candidates), in_memory(*whole))


def test_columns_of_other_names(run: Made, tmp_path: Path) -> None:
    other = {"post_id": "document", "prob": "p"}
    queries = in_parts(run.per_query.rename(other), tmp_path / "queries", [9])
    candidates = in_parts(run.candidates.rename({"post_id": "document"}), tmp_path / "candidates", [])
    same(in_blocks(queries, candidates, mapping=other), run.expected)


def test_uids_that_are_unique_in_a_post_only(run: Made, tmp_path: Path) -> None:
    def short(column: str) -> pl.Expr:
        return pl.col(column).list.eval(pl.element().str.extract(r"(\d+)$"))

    lists = [f"{which}_sent_uids" for which in ("gold", "ranked", "selected")]
    queries = in_parts(run.per_query.with_columns(short(each) for each in lists), tmp_path / "queries", [])
    pool = run.candidates.with_columns(pl.col("sent_uid").str.extract(r"(\d+)$"))
    candidates = in_parts(pool, tmp_path / "candidates", [50])
    whole = [pl.read_parquet(folder / "*.parquet") for folder in (queries, candidates)]
    same(in_blocks(queries, candidates, uids="post"), in_memory(*whole, uids="post"))


def test_rows_that_are_left_out_are_counted_over_all_blocks(run: Made, tmp_path: Path) -> None:
    trained = run.per_query.with_columns(split=pl.lit("TRAIN"), fold=1 - pl.col("fold"))
    both = pl.concat([run.per_query.with_columns(split=pl.lit("EVAL")), trained]).sort("post_id", maintain_order=True)
    queries = in_parts(both, tmp_path / "queries", [10, 20])
    blocks = in_blocks(queries)
    assert blocks.dataset["left_out"] == {"TRAIN rows": 72}
    same(blocks, in_memory(both))


def test_rows_in_any_order(run: Made, tmp_path: Path) -> None:
    queries = in_parts(run.per_query.sample(fraction=1, shuffle=True, seed=1), tmp_path / "queries", [20, 40])
    candidates = in_parts(shuffled(run.candidates, 1), tmp_path / "candidates", range(0, 1500, 200))
    same(in_blocks(queries, candidates, scratch=tmp_path), run.expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["candidates", "queries"]


def shuffled(candidates: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Rows in another order, those of a query among themselves in the same: equal scores keep their order."""
    turn = pl.int_range(pl.len()).over(KEY).alias("turn")
    some = candidates.with_columns(turn).sample(fraction=1, shuffle=True, seed=seed)
    slots = some.select(*KEY, turn)  # the n-th row of a query among the shuffled takes its n-th candidate
    return slots.join(candidates.with_columns(turn), on=[*KEY, "turn"], how="left", maintain_order="left").drop("turn")


@given(data=st.data())
@examples(30)
def test_any_layout(data: st.DataObject, run: Made, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Files cut anywhere, row groups and blocks of any size, rows in or out of order, in either table or both."""
    folder = tmp_path_factory.mktemp("layout")
    tables = {"queries": run.per_query, "candidates": run.candidates}
    for name, frame in tables.items():
        seed = data.draw(st.none() | st.integers(0, 99), label=f"order of {name}")
        rows = (
            frame
            if seed is None
            else shuffled(frame, seed)
            if name == "candidates"
            else frame.sample(fraction=1, shuffle=True, seed=seed)
        )
        cuts = data.draw(st.lists(st.integers(1, frame.height - 1), max_size=6), label=f"files of {name}")
        in_parts(rows, folder / name, cuts, group=data.draw(st.sampled_from([9, 64, None]), label="row group"))
    size = data.draw(st.integers(200, 3000), label="rows of a block")
    same(in_blocks(folder / "queries", folder / "candidates", rows=size, measures=FEW), run.few)


def test_more_groups_than_fit_into_one_partition_of_the_candidates(run: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cells, "MOST", 8
    )  # as 50 subreddits x 10 criteria x 5 folds x 3 lengths would need more than 4,096
    options = {"measures": ("AUROC(level=candidate)", "MRR"), "by": ("subreddit", "length_band"), "resamples": 3}
    same(in_blocks(*run.files, **options), in_memory(*run.files, **options))


def test_codes_are_as_wide_as_the_number_of_groups_asks_for() -> None:
    assert narrow(np.array([40_000]), 50_000).tolist() == [40_000]
    assert {narrow(np.array([1]), size).dtype.itemsize for size in (2, 32_767)} == {2}
