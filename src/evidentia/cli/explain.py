"""`evidentia explain`: what a measure means, how its definitions differ, and what each gives on a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import argument
from evidentia.cli.source import group_columns, read_source
from evidentia.errors import InputError


def explain(
    name: Annotated[str, argument("A measure, for example MAP@10, ndcg_cut_10, TPR@FPR=5% or AURC.")],
    run: Annotated[Path | None, argument("A run, to see each definition's value on it.")] = None,
    profile: options.ProfileName = "contract",
    candidates: options.CandidatesFile = None,
    mapping: options.RunMapped = None,
    qrels: options.Qrels = None,
    trec_run: options.TrecRun = None,
    ties: options.Ties = "input",
    delimiter: options.Delimiter = ",",
    list_sep: options.ListSep = None,
    uids: options.Uids = "run",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    allow_disjoint: options.AllowDisjoint = False,
) -> None:
    """Explain a measure in words and formula and, given a run, show numerator, denominator and value of each definition."""
    from evidentia.evaluation.explain import explain_name
    from evidentia.measures import profile_named, resolve
    from evidentia.report.reference import print_explanation
    from evidentia.results.profiles import SELECTIVE

    chosen = profile_named(profile, of_items=True)
    asked = resolve(name, chosen).definition  # a wrong name should not cost the reading of a large run
    source = None
    if run is not None or qrels is not None or trec_run is not None:
        if asked.measure.family == SELECTIVE.name or chosen is SELECTIVE:
            raise InputError(
                "Measures of predictors that may abstain are computed by `evidentia selective RUN --seed S`."
            )
        source = read_source(
            run,
            candidates=candidates,
            mapping=mapping,
            delimiter=delimiter,
            list_sep=list_sep,
            uids=uids,
            by=group_columns([name]),
            qrels=qrels,
            trec_run=trec_run,
            ties=ties,
            allow_disjoint=allow_disjoint,
        )
    print_explanation(explain_name(name, chosen, source))
