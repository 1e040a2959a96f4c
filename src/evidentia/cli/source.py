"""Reading what a command was pointed at: a run table, or TREC files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from evidentia.cli.options import listed, mapping_of
from evidentia.errors import InputError, Problem, counted

if TYPE_CHECKING:
    from evidentia.results import Finding
    from evidentia.tables import Run


def refuse(problems: Sequence[Problem]) -> None:
    """Print every problem and stop with 2; nothing where there is none."""
    for problem in problems:
        print(f"{problem.code}: {problem.message}", file=sys.stderr)
    if problems:
        print(f"evidentia: {counted(len(problems), 'problem')} found.", file=sys.stderr)
        raise typer.Exit(2)


def read_source(
    run: Path | None,
    *,
    candidates: Path | None = None,
    tune: Path | None = None,
    mapping: list[str] | None = None,
    delimiter: str = ",",
    card: str | None = None,
    by: list[str] | None = None,
    qrels: Path | None = None,
    trec_run: Path | None = None,
    ties: str = "input",
    allow_disjoint: bool = False,
) -> Run:
    """The run that the arguments name; an error says which combination is meant."""
    from evidentia.tables import load_card, read_run, read_trec

    _one_of(run, qrels, trec_run)
    order = _ties(ties)
    if run is not None and order != "input":
        raise InputError(
            "--ties applies to TREC files only; a table's rankings are read in the order they are written."
        )
    if run is None and (by or mapping or candidates or tune or card):
        raise InputError("--map, --by, --candidates, --tune and --card do not apply to TREC files.")
    known = None if card is None else load_card(card)
    if run is not None:
        return read_run(
            run,
            candidates=candidates,
            tune=tune,
            mapping=mapping_of(mapping),
            delimiter=delimiter,
            card=known,
            by=listed(by),
            allow_disjoint=allow_disjoint,
        )
    assert qrels is not None
    assert trec_run is not None
    return read_trec(qrels, trec_run, ties=order, allow_disjoint=allow_disjoint)


def problems_of(
    run: Path | None,
    *,
    candidates: Path | None,
    mapping: list[str] | None,
    delimiter: str,
    card: str | None,
    qrels: Path | None,
    trec_run: Path | None,
    allow_disjoint: bool = False,
) -> tuple[Problem, ...]:
    """Everything that is wrong with the input."""
    from evidentia.tables import load_card, validate_run, validate_trec

    _one_of(run, qrels, trec_run)
    if run is None and (mapping or candidates or card):
        raise InputError("--map, --candidates and --card do not apply to TREC files.")
    known = None if card is None else load_card(card)
    if run is not None:
        return validate_run(
            run,
            candidates=candidates,
            mapping=mapping_of(mapping),
            delimiter=delimiter,
            card=known,
            allow_disjoint=allow_disjoint,
        )
    assert qrels is not None
    assert trec_run is not None
    return validate_trec(qrels, trec_run, allow_disjoint=allow_disjoint)


def failed_checks(
    run: Path | None, *, candidates: Path | None, mapping: list[str] | None, delimiter: str, card: str | None
) -> list[Finding]:
    """The checks that a readable run fails before anything is measured."""
    from evidentia.checks import check_run

    if run is None:
        return []
    source = read_source(
        run, candidates=candidates, mapping=mapping, delimiter=delimiter, card=card, allow_disjoint=True
    )
    return [finding for finding in check_run(source) if finding.status == "failed"]


def group_columns(names: Sequence[str]) -> list[str]:
    """The columns that measure names ask for in their groups, beyond those that every run has."""
    from evidentia.measures import parse_name

    standard = {"fold", "criterion", "state", "has_evidence"}
    groups = (parse_name(name).group for name in names if "[" in name)
    return [column for group in groups for column, _ in group if column not in standard]


def _one_of(run: Path | None, qrels: Path | None, trec_run: Path | None) -> None:
    if run is not None and (qrels is not None or trec_run is not None):
        raise InputError("Give either a run table or --qrels with --run, not both.")
    if run is None and (qrels is None or trec_run is None):
        raise InputError("Give a run table, or --qrels FILE together with --run FILE.")


def interval_method(name: str) -> Literal["auto", "percentile", "bca"]:
    """The interval method of that name."""
    return "auto" if name == "auto" else selective_method(name, "auto, percentile or bca")


def selective_method(name: str, choices: str = "percentile or bca") -> Literal["percentile", "bca"]:
    """The interval method of that name, for areas under risk-coverage curves."""
    if name == "percentile":
        return "percentile"
    if name == "bca":
        return "bca"
    raise InputError(f"--ci-method must be {choices}.")


def _ties(ties: str) -> Literal["input", "trec"]:
    if ties == "input":
        return "input"
    if ties == "trec":
        return "trec"
    raise InputError("--ties must be 'input' (keep the file's order) or 'trec' (as trec_eval does).")
