"""What a predictor that may abstain said about every item: the arrays that risk and coverage are computed from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from evidentia.array_types import Bools, Floats, Ints
from evidentia.errors import InputError, Problem, UnknownNameError, counted, shown, typed
from evidentia.tables.answers import Answers
from evidentia.tables.order import by_number
from evidentia.tables.queries import Frozen, read_only

if TYPE_CHECKING:
    from evidentia.results.questionnaire import Questionnaire
    from evidentia.tables.run import Source

PHQ8_ROLE = "phq8"  # the role of a source that is a run of PHQ-8 or of another questionnaire
EVIDENCE_COUNTS = {"llm": "llm_evidence_count", "keyword": "keyword_evidence_count"}
TOTAL_EVIDENCE = "total_evidence"
RESERVED = frozenset({"cluster_id", "item", "pred", "gt", "all"})  # columns of the items, and the word for every signal
LONGEST_SIGNAL = 80


def names_a_signal(name: str) -> bool:
    """Whether a signal may have this name, which is printed in results and becomes a column beside those of the items."""
    return 0 < len(name) <= LONGEST_SIGNAL and name.isprintable() and name == name.strip() and name not in RESERVED


@dataclass(frozen=True, eq=False)
class Items(Frozen):
    """Items of a predictor that may abstain, sorted by cluster, item and input row.

    Attributes
    ----------
    name : str
        Name of the file; "items" for a data frame.
    cluster : ndarray of int, shape (n_items,)
        Index of the cluster (participant) of each item in ``cluster_ids``.
    cluster_ids : tuple of str, length n_clusters
        Ids of all clusters, also of those without a prediction.
    item : tuple of str, length n_items
        Id of each item.
    pred : ndarray of float, shape (n_items,)
        Predicted scores; NaN where the predictor abstained.
    gt : ndarray of float, shape (n_items,)
        True scores.
    signals : mapping of str to ndarray of float, shape (n_items,)
        Confidences by name; NaN where a value is missing.
    mode : str or None
        Experiment of the questionnaire file.
    item_max : float or None
        Largest possible error, the divisor of normalised losses.
    failed : tuple of str
        Participants without a result; they have no rows.
    sources : tuple of Source
        Role, name, hash and number of rows of each input.
    notes : tuple of str
        Remarks from reading.
    questionnaire : Questionnaire or None
        Where it is set, every cluster has all its items, in their order.

    Examples
    --------
    >>> items = Items("a.csv", np.array([0, 0]), ("p1",), ("x", "y"), pred=np.array([2.0, np.nan]), gt=np.array([2.0, 1.0]))
    >>> len(items), items.predicted.tolist()
    (2, [True, False])
    """

    name: str
    cluster: Ints
    cluster_ids: tuple[str, ...]
    item: tuple[str, ...]
    pred: Floats
    gt: Floats
    signals: Mapping[str, Floats] = field(default_factory=lambda: MappingProxyType({}))
    mode: str | None = None
    item_max: float | None = None
    failed: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    questionnaire: Questionnaire | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        frozen = {name: read_only(values) for name, values in self.signals.items()}
        object.__setattr__(self, "signals", MappingProxyType(frozen))

    def __len__(self) -> int:
        return len(self.cluster)

    @property
    def predicted(self) -> Bools:
        """Mask of the items that have a prediction, shape (n_items,)."""
        return ~np.isnan(self.pred)

    def confidence(self, name: str) -> Floats:
        """The signal of this name, which every predicted item must have.

        Parameters
        ----------
        name : str
            Name of a signal.

        Returns
        -------
        ndarray of float, shape (n_items,)
            The values; abstained items may be NaN.

        Raises
        ------
        UnknownNameError
            If there is no such signal.
        InputError
            If a predicted item lacks it.
        """
        if name not in self.signals:
            raise UnknownNameError(Problem("UNKNOWN_SIGNAL", self._unknown(name)))
        values = self.signals[name]
        lacking = np.flatnonzero(self.predicted & np.isnan(values))
        if len(lacking):
            counts = [key for short, key in _counts(name).items() if np.isnan(self.signals[short][lacking]).any()]
            needs = f" It needs {' and '.join(counts)}." if self._is_phq8 and counts else ""
            message = (
                f"{self.name}: {counted(len(lacking), 'predicted item')} without {shown(name)} "
                f"(first: {self._where(int(lacking[0]))}).{needs} "
                "Give every predicted item a value, or name another signal as the confidence."
            )
            raise InputError(Problem("MISSING_CONFIDENCE", message))
        return values

    def take(self, rows: Ints) -> Items:
        """Select rows; clusters and their codes stay, also those that lose all rows.

        Parameters
        ----------
        rows : ndarray of int, shape (n_rows,)
            Row numbers, ascending.

        Returns
        -------
        Items
            The rows, without a questionnaire.
        """
        return replace(
            self,
            questionnaire=None,
            cluster=self.cluster[rows],
            item=tuple(self.item[row] for row in rows),
            pred=self.pred[rows],
            gt=self.gt[rows],
            signals={name: values[rows] for name, values in self.signals.items()},
        )

    def restricted_to(self, cluster_ids: Collection[str]) -> Items:
        """Select clusters, coded and sorted anew.

        Parameters
        ----------
        cluster_ids : collection of str
            Clusters to keep; others in it are ignored.

        Returns
        -------
        Items
            The rows of these clusters. Restricted to each other's ids, two runs have the same clusters.
        """
        wanted = set(cluster_ids)
        kept = by_number(name for name in self.cluster_ids if name in wanted)
        code = {name: at for at, name in enumerate(kept)}
        recoded = np.array([code.get(name, -1) for name in self.cluster_ids], np.int64)[self.cluster]
        # without an id that is no number the others may sort as numbers, so the rows move with their clusters
        order = np.argsort(recoded, kind="stable")
        rows = order[recoded[order] >= 0]
        return replace(self.take(rows), cluster=recoded[rows], cluster_ids=kept, questionnaire=self.questionnaire)

    @cached_property
    def answers(self) -> Answers:
        """Scores of a questionnaire run, participants x items."""
        assert self.questionnaire is not None
        return Answers.of(self.questionnaire, self.pred, self.gt)

    @property
    def _is_phq8(self) -> bool:
        return any(source.role == PHQ8_ROLE for source in self.sources)

    def _where(self, row: int) -> str:
        unit = "participant" if self._is_phq8 else "cluster"
        return f"{unit} {shown(self.cluster_ids[self.cluster[row]])}, item {shown(self.item[row])}"

    def _unknown(self, name: str) -> str:
        there = ", ".join(map(shown, self.signals)) or "none at all"
        message = f"{self.name}: there is no signal {typed(name)}; there is {there}."
        lacking = [key for short, key in _counts(name).items() if short not in self.signals]
        if lacking and self._is_phq8:
            return (
                f"{message} {name} needs {' and '.join(lacking)} in item_signals, and none of {counted(len(self), 'item')} "
                "has a value; name another signal as the confidence, or write the run again with it."
            )
        return f"{message} Name one of these as the confidence, or add what is missing to the file."


def _counts(signal: str) -> dict[str, str]:
    """The evidence counts that a signal is made of: their short names, and their keys in a file."""
    return {short: key for short, key in EVIDENCE_COUNTS.items() if signal in {short, TOTAL_EVIDENCE}}
