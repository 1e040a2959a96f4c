"""A table for a paper: values with intervals, the best in bold, marks of significance, and notes that say what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from evidentia.errors import InputError, UnknownNameError, counted
from evidentia.report.show import NONE, chance, rounded
from evidentia.results import Comparison, Delta, Estimate, Evaluation
from evidentia.results.headings import heading
from evidentia.results.names import group_suffix
from evidentia.results.profiles import HEADLINE, PER_CRITERION

Columns = Literal["systems", "criteria", "folds"]
COLUMNS: tuple[Columns, ...] = ("systems", "criteria", "folds")
GROUPS = {"criteria": "criterion", "folds": "fold"}
ARROWS = {"higher": " \N{UPWARDS ARROW}", "lower": " \N{DOWNWARDS ARROW}"}
DIFFERS, CONVENTION = "*", "\N{DAGGER}"
COUNTS = frozenset({"Queries", "Positives", "TP", "TN", "FP", "FN"})
BY_CRITERION = ("Positives", *PER_CRITERION)
DIGITS = 3
SAME = 1e-9  # sums in another order differ by less
LINE = 90  # letters in a line of a page: tables that are wider are turned


@dataclass(frozen=True)
class PaperCell:
    """A value with its interval and marks, as printed."""

    value: str
    limits: str = ""
    marks: str = ""
    best: bool = False

    @property
    def text(self) -> str:
        """The cell without type."""
        return f"{self.value}{self.marks}{self.limits and ' '}{self.limits}"


@dataclass(frozen=True)
class PaperTable:
    """Rows of cells under printed headings, with the notes that belong below."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PaperCell, ...]], ...]
    notes: tuple[str, ...]

    @property
    def width(self) -> int:
        """Letters in a line."""
        lengths = [[len(column) for column in self.columns]]
        lengths += [[len(first), *(len(cell.text) for cell in cells)] for first, cells in self.rows]
        return sum(max(column) + 2 for column in zip(*lengths, strict=True))

    def turned(self, corner: str) -> PaperTable:
        """The same with rows as columns."""
        columns = (corner, *(first for first, _ in self.rows))
        cells = zip(*(cells for _, cells in self.rows), strict=True)
        rows = tuple(zip(self.columns[1:], map(tuple, cells), strict=True))
        return replace(self, columns=columns, rows=rows)


def paper_table(
    systems: Mapping[str, Evaluation],
    *,
    rows: Sequence[str] = (),
    columns: Columns = "systems",
    comparison: Comparison | None = None,
) -> PaperTable:
    """The table of one result or of several, of which the first is the baseline; ``comparison`` has its tests."""
    names = rows_of(systems, rows, columns)
    first = next(iter(systems.values()))
    cells: dict[str, dict[str, Estimate | None]]
    if columns == "systems":
        cells = {name: {s: _estimate(e, name, s) for s, e in systems.items()} for name in names}
    else:
        cells = {name: _by_group(first, name, GROUPS[columns]) for name in names}
    if comparison is not None:
        _refuse_other_values(systems, comparison)
    tested = {(d.system, d.name): d for d in comparison.deltas} if comparison is not None else {}
    differing = {
        key for key, d in tested.items() if comparison and d.p_holm is not None and d.p_holm <= comparison.alpha
    }
    body = []
    for name, estimates in cells.items():
        line = tuple(_cell(e, DIFFERS if (column, name) in differing else "") for column, e in estimates.items())
        if columns == "systems" and len(systems) > 1:
            line = _with_best(line, tuple(estimates.values()))
        if columns == "folds":
            line = (*line, _over_folds(first[name]))
        body.append((heading(name) + ARROWS.get(first[name].direction, ""), line))
    heads = [*next(iter(cells.values())), *(["mean ± SD"] if columns == "folds" else [])]
    table = PaperTable(_caption(systems, columns), ("Measure", *heads), tuple(body), ())
    turned = table.turned({"systems": "System", "criteria": "Criterion", "folds": "Fold"}[columns])
    fitting = table if table.width <= max(LINE, turned.width) else turned
    shown_estimates = [e for estimates in cells.values() for e in estimates.values() if e is not None]
    return replace(fitting, notes=_notes(fitting, systems, shown_estimates, comparison))


def _refuse_other_values(systems: Mapping[str, Evaluation], comparison: Comparison) -> None:
    """A mark of significance belongs to the value that is printed: the rows of a result must give both."""
    for d in (d for d in comparison.deltas if d.family == "measures"):
        for system, value in ((d.baseline, d.baseline_value), (d.system, d.system_value)):
            reported = systems[system][d.name].value
            if not math.isclose(value, reported, rel_tol=SAME, abs_tol=SAME) and not math.isnan(value + reported):
                raise InputError(
                    f"{system}: {d.name} in summary.json is not what the queries of the result give, so a test would not be "
                    "about it. Run `evidentia verify` on that folder: it lists what was changed."
                )


def _refuse_mixed(systems: Mapping[str, Evaluation], columns: Columns) -> None:
    """Columns of one table have one meaning."""
    if columns != "systems" and len(systems) > 1:
        raise InputError(f"A table by {columns} is about one result. Give one, or ask for the columns systems.")
    if any(e.profile == "selective" for e in systems.values()):
        raise InputError(
            "Results of predictors that may abstain have no such table: their folder has tables/*.tex for a paper."
        )
    profiles = {e.profile for e in systems.values()}
    levels = {e.interval.get("level") for e in systems.values() if e.resamples}
    if len(profiles) > 1 or len(levels) > 1:
        setting = "profiles" if len(profiles) > 1 else "levels of intervals"
        raise InputError(f"The results were made with different {setting}. Evaluate them alike for one table.")


def rows_of(systems: Mapping[str, Evaluation], rows: Sequence[str], columns: Columns) -> tuple[str, ...]:
    """The measures of a table: those that are named, else the main ones that every result has."""
    _refuse_mixed(systems, columns)
    first, *others = systems.values()
    if rows:
        return tuple(dict.fromkeys(_named(first, name) for name in rows))
    known = {e.name for e in first.overall()}.intersection(*(other.measures for other in others))
    if columns != "systems":
        known &= {e.measure for e in first.grouped(GROUPS[columns])}
    usual = [name for name in (BY_CRITERION if columns == "criteria" else HEADLINE) if name in known]
    chosen = usual or [e.name for e in first.overall() if e.name in known]
    if not chosen:
        of = "in common" if columns == "systems" else f"by {GROUPS[columns]}"
        raise InputError(f"There is no measure {of} to put into a table.")
    return tuple(chosen)


def _named(evaluation: Evaluation, name: str) -> str:
    estimate = evaluation[name]
    if estimate.group:
        raise InputError(f"{name}: rows are measures without groups. The columns criteria and folds give the groups.")
    return estimate.name


def _estimate(evaluation: Evaluation, name: str, system: str) -> Estimate:
    try:
        return evaluation[name]
    except UnknownNameError as error:
        raise UnknownNameError(f"{system}: {error}") from None


def _by_group(evaluation: Evaluation, name: str, column: str) -> dict[str, Estimate | None]:
    """The measure in every group of a column, and over all."""
    values = dict.fromkeys(e.group[0][1] for e in evaluation.grouped(column))
    estimates = {value: evaluation.measures.get(name + group_suffix(((column, value),))) for value in values}
    if not any(estimates.values()):
        raise InputError(f"{name} is not reported by {column} in this result.")
    whole = (
        "all (pooled)" if "all (pooled)" not in values else f"every {column}"
    )  # somebody's criterion may be called so
    return {**estimates, whole: evaluation[name]}


def printed(value: float, *, count: bool = False) -> str:
    """A number of a paper's table: three decimals, two from ten on, and whole counts.

    >>> printed(0.92050035), printed(47.123), printed(1.0, count=True), printed(-0.0004)
    ('0.921', '47.12', '1', '0.000')
    """
    if math.isnan(value):
        return NONE
    words = f"{int(value):,}" if count else f"{rounded(value, 2 if abs(value) >= 10 else DIGITS):,}"
    return words if words.strip("-0.") else words.lstrip("-")


def _limits(ci: tuple[float, float] | None, form: Callable[[float], str] = printed) -> str:
    return "" if ci is None else f"[{form(ci[0])}, {form(ci[1])}]"


def _cell(estimate: Estimate | None, marks: str = "") -> PaperCell:
    if estimate is None or math.isnan(estimate.value):
        return PaperCell(NONE)
    count = estimate.measure.partition("(")[0] in COUNTS
    marks += CONVENTION if estimate.degenerate else ""
    return PaperCell(printed(estimate.value, count=count), "" if count else _limits(estimate.ci), marks)


def _with_best(cells: Sequence[PaperCell], estimates: Sequence[Estimate | None]) -> tuple[PaperCell, ...]:
    """The cells with the best of them marked, and what is printed like it: a reader sees no difference."""
    measured = [(e.value, c.value) for e, c in zip(estimates, cells, strict=True) if e and not e.degenerate]
    direction = next((e.direction for e in estimates if e is not None), "neither")
    if direction == "neither" or not measured:
        return tuple(cells)
    best = (max if direction == "higher" else min)(measured)[1]
    return tuple(
        replace(c, best=c.value == best and e is not None and not e.degenerate)
        for e, c in zip(estimates, cells, strict=True)
    )


def _over_folds(estimate: Estimate) -> PaperCell:
    if estimate.fold_mean is None:
        return PaperCell(NONE)
    spread = "" if estimate.fold_std is None else f" ± {printed(estimate.fold_std)}"
    return PaperCell(printed(estimate.fold_mean) + spread)


def _caption(systems: Mapping[str, Evaluation], columns: Columns) -> str:
    data = next(iter(systems.values())).dataset
    by = {"systems": "", "criteria": ", by criterion", "folds": ", by fold"}[columns]
    name = next(iter(systems))
    about = f" of {name}" if name and len(systems) == 1 else ""
    size = f"{counted(data['queries'], 'query', 'queries')} from {counted(data['posts'], 'post')}"
    return f"Results{about}{by} ({size})"


def _notes(
    table: PaperTable, systems: Mapping[str, Evaluation], estimates: Sequence[Estimate], comparison: Comparison | None
) -> tuple[str, ...]:
    """What brackets, bold type, arrows and marks mean, and what every measure is."""
    cells = [cell for _, line in table.rows for cell in line]
    level = next((e.interval["level"] for e in systems.values() if e.resamples), None)
    reasons = dict.fromkeys(e.degenerate for e in estimates if e.degenerate)
    words = {
        f"In brackets: {100 * (level or 0):g} % intervals.": any(cell.limits for cell in cells),
        "Bold: the best value.": any(cell.best for cell in cells),
        _arrows(table): bool(_arrows(table)),
        _tests(comparison): bool(_tests(comparison)),
        f"{CONVENTION} A convention, not a measurement: {', '.join(map(str, reasons))}.": bool(reasons),
    }
    return (*(word for word, applies in words.items() if applies), *_legend(estimates))


def _legend(estimates: Sequence[Estimate]) -> Iterator[str]:
    """What every measure is, those over the same units together."""
    over: dict[str, dict[str, str]] = {}
    for e in estimates:
        label, short = e.label.partition(" (")[0], heading(e.measure)
        repeated = label.lower().startswith(short.partition(" (")[0].lower())
        over.setdefault(e.population, {})[short] = short if repeated else f"{short}: {label}"
    for population, words in over.items():
        yield f"Over {population}: {'; '.join(words.values())}."
    if any("t=gate" in e.measure for e in estimates):
        yield "Gate: the system says yes; its state is not NEG, else prob >= tau, else prob >= 0.5."
    if any("t=alert" in e.measure for e in estimates):
        yield "Alerts: the system's state is POS, against the rest."


def _arrows(table: PaperTable) -> str:
    heads = " ".join([*table.columns, *(first for first, _ in table.rows)])
    words = [f"{arrow.strip()} {way} is better" for way, arrow in ARROWS.items() if arrow in heads]
    return f"{', '.join(words)}." if words else ""


def _tests(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    sizes = sorted({comparison.tests(s) for s in comparison.systems[1:]})
    holm_note = [
        f"{DIFFERS} Differs from {comparison.systems[0]}: p at most {comparison.alpha:g}, paired by post "
        f"({comparison.resamples:,} bootstrap resamples, seed {comparison.seed}), corrected by Holm's method for "
        f"{' or '.join(counted(size, 'test') for size in sizes)} of each system."
    ]
    return " ".join((holm_note if any(sizes) else []) + [f"{note[:1].upper()}{note[1:]}." for note in comparison.notes])


def comparison_table(comparison: Comparison) -> PaperTable:
    """The differences over the whole run: both values, the difference with its interval, and the corrected p."""
    deltas = [d for d in comparison.deltas if d.family == "measures"]
    several = len({d.system for d in deltas}) > 1
    sizes = {comparison.tests(system) for system in comparison.systems[1:]}
    rows = tuple(
        (f"{heading(d.name)}{ARROWS.get(d.direction, '')}{f', {d.system} - {d.baseline}' if several else ''}", _row(d))
        for d in deltas
    )
    names = ("Baseline", "System") if several else comparison.systems[:2]
    p = f"p (Holm, {', '.join(map(str, sorted(sizes)))})"
    caption = (
        f"Differences ({counted(comparison.queries, 'query', 'queries')} from {counted(comparison.posts, 'post')})"
    )
    table = PaperTable(caption, ("Measure", *names, "Difference", p), rows, ())
    level = 100 * comparison.interval.get("level", 0)
    brackets = (
        f"In brackets: {level:g} % intervals of paired differences, by post ({comparison.resamples:,} resamples)."
    )
    holm = "p: two-sided, corrected by Holm's method for the number of tests in brackets."
    return replace(table, notes=tuple(filter(None, (brackets, _arrows(table), holm))))


def _row(delta: Delta) -> tuple[PaperCell, ...]:
    values = (PaperCell(printed(value)) for value in (delta.baseline_value, delta.system_value))
    change = PaperCell(_signed(delta.delta), _limits(delta.ci, _signed))
    return (*values, change, PaperCell(chance(delta.p_holm, DIGITS)))


def _signed(value: float | None) -> str:
    if value is None:
        return NONE
    words = printed(value)
    return words if value < 0 or not words.strip("0.") else f"+{words}"
