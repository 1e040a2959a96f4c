"""Verify a selective result: every number, word, interval, difference, table cell and curve point from its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from evidentia.array_types import Floats
from evidentia.verify.folder import ResultFolder
from evidentia.verify.points import compare
from evidentia.verify.selective_comparison import check_comparison
from evidentia.verify.selective_draws import (
    DrawPlan,
    Progress,
    Want,
    leave_one_out_values,
    points_of,
    replicate_values,
)
from evidentia.verify.selective_expected import ExpectedItems
from evidentia.verify.selective_files import (
    DrawnCurves,
    band_wants,
    check_selective_figures,
    check_selective_tables,
    other_curves,
)
from evidentia.verify.selective_items import ItemRows, read_items
from evidentia.verify.selective_settings import SelectiveSettings
from evidentia.verify.tally import Tally

LOOPED = 5  # replicates that are also built row by row


def check_selective(folder: ResultFolder, tally: Tally, progress: Progress | None = None) -> None:
    """Recompute everything that a selective result folder says."""
    settings = SelectiveSettings(folder.manifest, read_items(folder, "items.csv"))
    values, without = _replicated(settings, tally, progress)
    _check_summary(folder.summary, ExpectedItems(settings, values, without).summary(), tally)
    curves = DrawnCurves(settings.items, settings.drawn, values)
    files = [*check_selective_tables(folder, tally), *check_selective_figures(folder, settings, curves, tally)]
    if "comparison" in folder.summary and "against_items" in _roles(folder):
        other = read_items(folder, "against_items.csv")
        check_comparison(folder, settings, other, tally, progress)
        curves = other_curves(settings, other, progress)
        tally.exact("comparison has curves of the other run", bool(curves.signals), bool(settings.drawn))
        files += check_selective_figures(folder, settings, curves, tally)
    _check_listing(folder, files, tally)


def _replicated(
    settings: SelectiveSettings, tally: Tally, progress: Progress | None
) -> tuple[Mapping[Want, Floats], Mapping[Want, Floats]]:
    """Every number and every band of a figure in every draw, in one pass; and for BCa limits without each cluster."""
    if not settings.resamples:
        return {}, {}
    alone = settings.plan(settings.wants)
    values = replicate_values(settings.items, settings.plan(settings.wants, band_wants(settings.drawn)), progress)
    for b in range(min(LOOPED, settings.resamples)):
        _check_by_repeated_rows(settings.items, alone, values, b, tally)
    bca = settings.options["ci_method"] == "bca"
    return values, leave_one_out_values(settings.items, alone) if bca else {}


def _check_by_repeated_rows(
    items: ItemRows, plan: DrawPlan, values: Mapping[Want, Floats], b: int, tally: Tally
) -> None:
    """A replicate again, as rows that repeat the items of the drawn participants."""
    repeated = items.repeated(plan.times(len(items.clusters), b))
    for want, point in points_of(plan, [repeated]).items():
        drawn, again = float(values[want][b]), point.values[0]
        where = f"{want[0]} replicate {b}"
        tally.number(where, None if isnan(drawn) else drawn, None if isnan(again) else again)


def _check_summary(summary: Mapping[str, Any], expected: Mapping[str, Any], tally: Tally) -> None:
    """Every key of the summary, and no other."""
    reported = {key: value for key, value in summary.items() if key != "comparison"}
    compare("summary.json", reported, expected, tally)


def _roles(folder: ResultFolder) -> set[str]:
    return {str(source["role"]) for source in folder.manifest["inputs"]}


def _check_listing(folder: ResultFolder, files: Sequence[str], tally: Tally) -> None:
    """The files are those that such a result has, and no others."""
    if folder.carried:
        return
    compared = "against_items" in _roles(folder)
    tally.exact("summary.json comparison", "comparison" in folder.summary, compared)
    expected = {"summary.json", "items.csv", *(["against_items.csv"] if compared else []), *files}
    tally.exact("manifest.json files", sorted(folder.manifest["files"]), sorted(expected))
    tally.exact("manifest.json profile", folder.manifest["profile"], "selective")
