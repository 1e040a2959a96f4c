"""The curves of the run that a selective result is compared with, over the participants that both have."""

from __future__ import annotations

from collections.abc import Sequence

from evidentia.verify.folder import ResultFolder
from evidentia.verify.selective_draws import Plan, Progress, replicate_values
from evidentia.verify.selective_expected import Lines
from evidentia.verify.selective_files import Only, band_wants, check_selective_bands, check_selective_figures
from evidentia.verify.selective_reference import Item
from evidentia.verify.selective_settings import Settings
from evidentia.verify.tally import Tally

PREFIX = "against_"


def check_against_figures(
    folder: ResultFolder,
    settings: Settings,
    other: Sequence[Item],
    tally: Tally,
    progress: Progress | None = None,
) -> list[str]:
    """Every step and every band of the other run's curves; returns the files that there must be."""
    there = {item.cluster for item in settings.items}
    shared = [item for item in other if item.cluster in there]
    compared = [signal for signal in settings.drawn if _has(shared, signal)]
    tally.exact("comparison has curves of the other run", bool(compared), bool(settings.drawn))
    only, lines = Only(PREFIX, compared), Lines(shared, settings.item_max)
    made = check_selective_figures(folder, settings, lines, tally, only=only)
    if settings.resamples:
        plan = Plan(band_wants(compared), settings.item_max, settings.seed, settings.resamples)
        check_selective_bands(folder, settings, lines, replicate_values(shared, plan, progress), tally, only=only)
    return made


def _has(items: Sequence[Item], signal: str) -> bool:
    """Whether every predicted item has a value of this confidence."""
    return all(item.signals.get(signal) is not None for item in items if item.pred is not None)
