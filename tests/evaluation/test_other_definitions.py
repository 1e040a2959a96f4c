"""Where other profiles mean something else by a name, and it matters, the result says so beside it."""

from __future__ import annotations

import polars as pl
import pytest

import evidentia
from cli.points import point_estimates

# three gold sentences of which one is found at rank 2: precision there is 1/2
ONE_OF_THREE = pl.DataFrame(
    {"post_id": ["p"], "criterion_id": ["A"], "gold_sent_uids": ["a|b|c"], "ranked_sent_uids": ["x|a"]}
)
MAP_AT_2 = {"contract": 1 / 6, "e2e": 1 / 2, "paper": 1 / 4, "audit": 1 / 4}


@pytest.mark.parametrize("profile", MAP_AT_2)
def test_map_is_listed_under_the_other_profiles_with_their_values(profile: str) -> None:
    result = point_estimates(evidentia.read_run(ONE_OF_THREE), profile=profile, measures=["MAP@2"])
    assert result["MAP@2"].value == pytest.approx(MAP_AT_2[profile])
    others = {name: other.value for other in result.other_definitions for name in other.profiles}
    differing = {name: value for name, value in MAP_AT_2.items() if value != MAP_AT_2[profile]}
    assert others == pytest.approx(differing)
    assert {other.name for other in result.other_definitions} == {"MAP@2"}


def test_definitions_of_one_value_are_not_listed() -> None:
    frame = ONE_OF_THREE.with_columns(gold_sent_uids=pl.lit("a"))
    assert point_estimates(evidentia.read_run(frame), measures=["MAP@2"]).other_definitions == ()


def test_the_definition_is_written_out() -> None:
    result = point_estimates(evidentia.read_run(ONE_OF_THREE), measures=["MAP@2", "Recall@2"])
    written = {other.definition for other in result.other_definitions}
    assert written == {f"MAP(norm={norm},pop=positives,avg=pooled)@2" for norm in ("found", "min", "min_eff")}
