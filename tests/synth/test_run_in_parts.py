"""A run in parts is one run: valid, with exactly the evidence asked for, and the same whoever draws which part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evidentia
from evidentia.errors import InputError, OutputError
from evidentia.synth import write_parts

SETTINGS: dict[str, Any] = {"seed": 5, "posts": 61, "criteria": 4, "positives": 37, "mean_candidates": 6, "folds": 3}


def drawn(folder: Path, **more: Any) -> dict[str, list[pl.DataFrame]]:
    """The parts of each table, in the order of their names."""
    paths = write_parts(folder, **{"part_posts": 15, "workers": 1, **SETTINGS, **more})
    return {path.name: [pl.read_parquet(part) for part in sorted(path.iterdir())] for path in paths}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[pl.DataFrame]]:
    return drawn(tmp_path_factory.mktemp("parts") / "big")


def test_the_parts_together_are_a_run_that_reads(parts: dict[str, list[pl.DataFrame]]) -> None:
    run = evidentia.read_run(pl.concat(parts["per_query"]), candidates=pl.concat(parts["candidates"]))
    assert (run.frame.height, run.frame["post_id"].n_unique()) == (244, 61)
    assert run.frame["has_evidence"].sum() == 37


def test_posts_go_on_over_the_parts_and_stay_whole(parts: dict[str, list[pl.DataFrame]]) -> None:
    ids = [part["post_id"].unique(maintain_order=True).to_list() for part in parts["per_query"]]
    assert [len(each) for each in ids] == [15, 15, 15, 16]
    assert [post for each in ids for post in each] == [f"post-{number:05d}" for number in range(1, 62)]
    assert ids == [part["post_id"].unique(maintain_order=True).to_list() for part in parts["candidates"]]
    assert pl.concat(parts["per_query"]).group_by("post_id").agg(pl.col("fold").n_unique())["fold"].max() == 1


def test_uids_belong_to_one_post_of_the_whole_run(parts: dict[str, list[pl.DataFrame]]) -> None:
    candidates = pl.concat(parts["candidates"])
    assert candidates.select("criterion_id", "sent_uid").is_unique().all()
    assert candidates.select("sent_uid", "post_id").unique().height == candidates["sent_uid"].n_unique()


def test_every_part_has_its_share_of_the_evidence_and_of_the_folds(parts: dict[str, list[pl.DataFrame]]) -> None:
    # 37 x 15, 30, 45 and 61 of 61 posts, rounded down: 9, 18, 27, 37
    assert [part["has_evidence"].sum() for part in parts["per_query"]] == [9, 9, 9, 10]
    folds = [
        part.unique("post_id")["fold"].value_counts().sort("fold")["count"].to_list() for part in parts["per_query"]
    ]
    assert folds == [[5, 5, 5], [5, 5, 5], [5, 5, 5], [5, 5, 6]]


def test_all_parts_go_by_the_same_thresholds(parts: dict[str, list[pl.DataFrame]]) -> None:
    taus = [part.select("fold", "tau_neg", "tau_pos").unique().sort("fold").rows() for part in parts["per_query"]]
    assert len(taus[0]) == 3
    assert taus == [taus[0]] * 4


def test_parts_differ_from_each_other_and_have_the_columns_of_a_run_in_one_file(
    parts: dict[str, list[pl.DataFrame]],
) -> None:
    assert len({part["prob"][0] for part in parts["per_query"]}) == 4
    whole = evidentia.synth.synthetic_run(**SETTINGS)
    assert parts["per_query"][0].schema == whole.per_query.schema
    assert parts["candidates"][0].schema == whole.candidates.schema


def test_the_bytes_depend_on_the_seed_and_not_on_who_draws(tmp_path: Path) -> None:
    for name, more in (("alone", {}), ("together", {"workers": 2}), ("other", {"seed": 6})):
        drawn(tmp_path / name, **more)
    assert contents(tmp_path / "alone") == contents(tmp_path / "together")
    assert contents(tmp_path / "alone").keys() == contents(tmp_path / "other").keys()
    assert contents(tmp_path / "alone") != contents(tmp_path / "other")


def test_rows_of_all_splits_have_every_query_once_a_fold(tmp_path: Path) -> None:
    table = pl.concat(drawn(tmp_path / "big", splits=True)["per_query"])
    assert table.height == 3 * 244
    assert table.filter(split="EVAL").select("post_id", "criterion_id").is_unique().all()
    assert table.group_by("fold", "post_id").agg(pl.col("split").n_unique())["split"].max() == 1
    assert set(table["split"]) == {"TRAIN", "TUNE", "EVAL"}


def test_every_fold_has_posts_in_every_part(tmp_path: Path) -> None:
    parts = drawn(tmp_path / "big", folds=20)["per_query"]
    assert [part["fold"].n_unique() for part in parts] == [20, 20, 20]


def test_what_is_there_is_replaced_on_demand_and_only_if_it_is_a_run_in_parts(tmp_path: Path) -> None:
    drawn(tmp_path / "big")
    before = contents(tmp_path)
    with pytest.raises(OutputError, match="big already holds candidates, per_query"):
        drawn(tmp_path / "big", seed=6)
    assert contents(tmp_path) == before
    drawn(tmp_path / "big", seed=6, force=True)
    assert contents(tmp_path) != before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("precious")
    with pytest.raises(OutputError, match=r"mine holds other files \(notes\.txt\)"):
        drawn(tmp_path / "mine", force=True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_nothing_is_there_when_a_part_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OutputError, match=r"Cannot write per_query/part-00000\.parquet: No space left on device\."):
        drawn(tmp_path / "big")
    assert list(tmp_path.iterdir()) == []


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="part_posts is 0"):
        drawn(tmp_path / "big", part_posts=0)
    with pytest.raises(InputError, match="positives is 300"):
        drawn(tmp_path / "big", positives=300)
    assert list(tmp_path.iterdir()) == []
