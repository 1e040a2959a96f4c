"""Verify a selective result: every number, word, interval, difference, table cell and curve point from its items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any

from evidentia.verify.draws import Floats
from evidentia.verify.folder import ResultFolder
from evidentia.verify.selective_against import check_against_figures
from evidentia.verify.selective_agree import agree
from evidentia.verify.selective_comparison import check_comparison
from evidentia.verify.selective_draws import Plan, Want, clusters_of, draws, leave_one_out_values, replicate_values
from evidentia.verify.selective_expected import Expected, Lines
from evidentia.verify.selective_files import (
    band_wants,
    check_selective_bands,
    check_selective_figures,
    check_selective_tables,
)
from evidentia.verify.selective_reference import Item, read_items, value_of
from evidentia.verify.selective_settings import Settings
from evidentia.verify.tally import Tally

Progress = Callable[[int, int], None]
LOOPED = 5  # replicates that are also built as plain lists


def check_selective(folder: ResultFolder, tally: Tally, progress: Progress | None = None) -> None:
    """Recompute everything that a selective result folder says."""
    items = read_items(folder, "items.csv")
    settings = Settings.of(folder, items)
    values, without = _replicated(settings, tally, progress)
    expected = Expected(settings, values, without)
    _check_summary(folder.summary, expected.summary(), tally)
    made = [*check_selective_tables(folder, tally), *check_selective_figures(folder, settings, expected.lines, tally)]
    if "comparison" in folder.summary and "against_items" in _roles(folder):
        other = read_items(folder, "against_items.csv")
        check_comparison(folder, settings, other, tally, progress)
        made += check_against_figures(folder, settings, other, tally, progress)
    _check_listing(folder, made, tally)
    if settings.resamples:
        check_selective_bands(folder, settings, expected.lines, values, tally)


def _replicated(
    settings: Settings, tally: Tally, progress: Progress | None
) -> tuple[Mapping[Want, Floats], Mapping[Want, Floats]]:
    """Every number and every band of a figure in every draw, in one pass; and for BCa limits without each cluster."""
    if not settings.resamples:
        return {}, {}
    wants = settings.wants | band_wants(settings.drawn)
    plan = Plan(wants, settings.item_max, settings.seed, settings.resamples)
    values = replicate_values(settings.items, plan, progress)
    alone = Plan(settings.wants, settings.item_max, settings.seed, settings.resamples)
    _check_by_plain_lists(settings.items, alone, values, tally)
    bca = settings.options["ci_method"] == "bca"
    return values, leave_one_out_values(settings.items, alone) if bca else {}


def _check_summary(said: Mapping[str, Any], found: Mapping[str, Any], tally: Tally) -> None:
    """Every key of the summary, and no other; the order of names that are not computed is free."""
    reported = {key: value for key, value in said.items() if key != "comparison"}
    if "not_computed" in said:
        reported["not_computed"] = [{**gap, "measures": sorted(gap["measures"])} for gap in said["not_computed"]]
    agree(tally, "summary.json", reported, found)


def _check_by_plain_lists(items: Sequence[Item], plan: Plan, values: Mapping[Want, Floats], tally: Tally) -> None:
    """A few replicates again, as lists that repeat the items of the drawn participants, sorted and read step by step."""
    clusters = clusters_of(items)
    for b in range(min(LOOPED, plan.resamples)):
        times = dict(zip(clusters, draws(len(clusters), plan.seed, b).tolist(), strict=True))
        lines = Lines([item for item in items for _ in range(times[item.cluster])], plan.item_max)
        for want, measure in plan.wants.items():
            value, sound = value_of(measure, lines.of(measure, want[1]))
            drawn = float(values[want][b])
            tally.number(f"{want[0]} replicate {b}", None if isnan(drawn) else drawn, value if sound else None)


def _roles(folder: ResultFolder) -> set[str]:
    return {str(given["role"]) for given in folder.manifest["inputs"]}


def _check_listing(folder: ResultFolder, made: Sequence[str], tally: Tally) -> None:
    """The files are those that such a result has, and no others."""
    if folder.carried:
        return
    compared = "against_items" in _roles(folder)
    tally.exact("summary.json comparison", "comparison" in folder.summary, compared)
    expected = {"summary.json", "items.csv", *(["against_items.csv"] if compared else []), *made}
    tally.exact("manifest.json files", sorted(folder.manifest["files"]), sorted(expected))
    tally.exact("manifest.json profile", folder.manifest["profile"], "selective")
