"""The result of evaluating a run: frozen, indexable by measure name, and able to save itself."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evidentia.errors import UnknownNameError
from evidentia.results.attribution import Attribution
from evidentia.results.curve import Curve
from evidentia.results.estimate import Estimate, Finding, NotComputed, OtherDefinition
from evidentia.results.notebook import Picture, drawing_of, notebook_table, printed_as, to_pandas
from evidentia.results.profiles import HEADLINE
from evidentia.results.selective import SelectiveComparison
from evidentia.results.strict_json import dumps_by_line

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SCHEMA = "evidentia.summary/1"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """All numbers of an evaluation under one profile.

    ``evaluation["nDCG@10"]`` finds an estimate by any name that means it, also ``"ndcg_cut_10"`` or ``"AUROC[fold=3]"``.

    Attributes
    ----------
    profile : str
        Name of the profile.
    seed : int
        Seed of the resamples.
    resamples : int
        Number of resamples.
    measures : mapping of str to Estimate
        Estimates by canonical name, groups in brackets.
    interval : mapping
        ``level``, ``method``, ``stratified_by_fold`` and ``bootstrap`` (exact or poisson).
    not_computed : tuple of NotComputed
        Measures that the run cannot have, with the reason.
    checks : tuple of Finding
        Findings of the coded checks.
    other_definitions : tuple of OtherDefinition
        Values of the same names under other profiles, where they differ.
    notes : tuple of str
        Remarks on the run.
    dataset : mapping
        Counts of the run.
    curves : tuple of Curve
        Data of the figures.
    thresholds : tuple of mapping
        Thresholds that this evaluation chose, with the posts they were chosen on.
    comparison : SelectiveComparison or None
        Differences against another run of a predictor that may abstain.
    attribution : Attribution or None
        Evidence lost at each stage.
    per_query : mapping of str to (ndarray of float, ndarray of bool), both of shape (n_queries,)
        Per-query values of each mean, and which of them count.
    asked_by_name : bool
        Whether measures were named one by one; tables then show all of them.
    resolve : callable
        Function from a name to the canonical name.
    source : object
        The inputs and options, for ``save`` and comparisons.

    Examples
    --------
    >>> import evidentia, polars as pl
    >>> table = pl.DataFrame({"post_id": [1, 2], "criterion_id": ["A", "A"], "has_evidence": [1, 0], "prob": [0.9, 0.2]})
    >>> evaluation = evidentia.evaluate(table, measures="AUROC,Brier", resamples=0)
    >>> round(evaluation["roc_auc"].value, 3), round(evaluation["Brier"].value, 3), evaluation.passed
    (1.0, 0.025, True)
    """

    profile: str
    seed: int
    resamples: int
    measures: Mapping[str, Estimate]
    interval: Mapping[str, Any] = field(default_factory=dict)  # level, method, stratified_by_fold, bootstrap
    not_computed: tuple[NotComputed, ...] = ()
    checks: tuple[Finding, ...] = ()
    other_definitions: tuple[OtherDefinition, ...] = ()
    notes: tuple[str, ...] = ()
    dataset: Mapping[str, Any] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()
    thresholds: tuple[Mapping[str, Any], ...] = ()  # chosen by this evaluation, with the posts they were chosen on
    comparison: SelectiveComparison | None = None  # with another run of a predictor that may abstain
    attribution: Attribution | None = None  # where evidence was lost, stage by stage
    per_query: Mapping[str, tuple[Any, Any]] = field(
        default_factory=dict, repr=False
    )  # values, and which of them count
    asked_by_name: bool = False  # measures were listed one by one, and tables leave none of them out
    resolve: Callable[[str], str] = field(default=str, repr=False)
    source: object = field(default=None, repr=False)  # what it was made of, for its files and for comparisons

    def __post_init__(self) -> None:
        for name in ("measures", "dataset", "per_query"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __getitem__(self, name: str) -> Estimate:
        estimate = self.measures.get(name) or self.measures.get(self.resolve(name))
        if estimate is not None:
            return estimate
        for gap in self.not_computed:
            if self.resolve(name).partition("[")[0] in gap.measures:
                raise UnknownNameError(f"{name} was not computed: {gap.reason}")
        close = difflib.get_close_matches(self.resolve(name), self.measures, n=3)
        raise UnknownNameError(f"{name} is not in this result." + (f" Near it: {', '.join(close)}." if close else ""))

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.status != "failed" for check in self.checks)

    def overall(self) -> tuple[Estimate, ...]:
        """Estimates over the whole run, without groups."""
        return tuple(estimate for estimate in self.measures.values() if not estimate.group)

    def grouped(self, column: str) -> tuple[Estimate, ...]:
        """Estimates of every value of one grouping column.

        Parameters
        ----------
        column : str
            Name of the column, such as "fold" or "criterion".

        Returns
        -------
        tuple of Estimate
            Empty where nothing is grouped by it.
        """
        return tuple(e for e in self.measures.values() if len(e.group) == 1 and e.group[0][0] == column)

    def to_dict(self) -> dict[str, Any]:
        """The content of ``summary.json``."""
        return {
            "schema": SCHEMA,
            "profile": self.profile,
            "seed": self.seed,
            "resamples": self.resamples,
            "interval": dict(self.interval),
            "dataset": dict(self.dataset),
            "measures": {name: estimate.to_dict() for name, estimate in self.measures.items()},
            "not_computed": [gap.to_dict() for gap in self.not_computed],
            "other_definitions": [other.to_dict() for other in self.other_definitions],
            "checks": [check.to_dict() for check in self.checks],
            "notes": list(self.notes),
            **({} if self.comparison is None else {"comparison": self.comparison.to_dict()}),
        }

    def to_json(self) -> str:
        """The text of ``summary.json``: strict JSON, a line for every number, the same bytes for the same content."""
        return dumps_by_line(self.to_dict(), ("measures", "not_computed", "other_definitions", "checks"))

    def __repr__(self) -> str:
        return f"<Evaluation of {self._size()}: {len(self):,} numbers, profile {self.profile}>"

    def _repr_html_(self) -> str:
        """The main numbers over the whole run, for a notebook."""
        overall = self.overall()
        main = [e for e in overall if e.name in HEADLINE] if not self.asked_by_name else []
        rows = [(e.name, e.value, *(e.ci or (None, None)), e.n, e.population, e.degenerate) for e in main or overall]
        columns = ("measure", "value", "from", "to", "n", "population", "a convention because")
        return notebook_table(repr(self).strip("<>"), columns, rows, left_out=len(overall) - len(main or overall))

    def _size(self) -> str:
        unit = "queries" if "queries" in self.dataset else "items"
        return f"{self.dataset.get(unit, 0):,} {unit}"

    def to_frame(self) -> pl.DataFrame:
        """One row per number, as a polars frame."""
        import polars as pl

        columns = [
            "value",
            "fold_mean",
            "fold_std",
            "folds_used",
            "n",
            "n_clusters",
            "population",
            "degenerate",
            "definition",
            "family",
        ]
        rows = [
            {"measure": estimate.name.partition("[")[0], "group": _words(estimate.group)}
            | {column: getattr(estimate, column) for column in columns}
            | {"ci_low": estimate.ci and estimate.ci[0], "ci_high": estimate.ci and estimate.ci[1]}
            for estimate in self.measures.values()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_pandas(self) -> pd.DataFrame:
        """One row per number, as a pandas frame."""
        return to_pandas(self.to_frame())

    def to_latex(self, rows: Sequence[str] = (), *, columns: str = "systems") -> str:
        """A table for a paper, as LaTeX: values with intervals, and notes that say what they are.

        Parameters
        ----------
        rows : sequence of str, default=()
            Names of measures; empty takes the main ones.
        columns : {"systems", "criteria", "folds"}, default="systems"
            Whether the values are those over the whole run, or also by criterion or fold.

        Returns
        -------
        str
            A ``table`` environment that needs booktabs and graphicx.

        Raises
        ------
        InputError
            If the result lacks a measure, or has no such groups.
        """
        return printed_as(self, "latex", rows=rows, columns=columns)

    def to_markdown(self, rows: Sequence[str] = (), *, columns: str = "systems") -> str:
        """The table of ``to_latex``, as Markdown.

        Parameters
        ----------
        rows : sequence of str, default=()
            Names of measures; empty takes the main ones.
        columns : {"systems", "criteria", "folds"}, default="systems"
            Whether the values are those over the whole run, or also by criterion or fold.

        Returns
        -------
        str
            Caption, table and notes.

        Raises
        ------
        InputError
            If the result lacks a measure, or has no such groups.
        """
        return printed_as(self, "md", rows=rows, columns=columns)

    def plot(self, name: str) -> Picture:
        """Draw a figure of the report.

        Parameters
        ----------
        name : str
            For example "roc", "pr" or "reliability".

        Returns
        -------
        Picture
            A picture that shows itself in a notebook; ``svg`` holds it and ``save(path)`` writes it.

        Raises
        ------
        UnknownNameError
            If the result has no such figure; the message lists those that it has.
        """
        return drawing_of(self, name)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write all files of the result into a new or empty folder, whole or not at all.

        Parameters
        ----------
        folder : path
            The folder.
        force : bool, default=False
            Whether to replace an existing result of Evidentia; other folders are never replaced.

        Raises
        ------
        OutputError
            If the folder holds files and may not be replaced, or cannot be written.
        """
        write_evaluation(self.source, self, Path(folder), force=force)


@singledispatch
def write_evaluation(source: object, evaluation: Evaluation, folder: Path, *, force: bool) -> None:
    """Write the files of a result that was made of ``source``; whoever makes results registers how."""
    raise UnknownNameError("This result was not made by evidentia.evaluation, so it has no run to save beside it.")


def _words(group: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{column}={value}" for column, value in group)
