"""`evidentia explain`: what a measure means, how its definitions differ, and what each gives on a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.source import group_columns, read_source
from evidentia.errors import InputError

if TYPE_CHECKING:
    from evidentia.tables import Run

TIE_RULES = {
    "input": "equal scores in the order of the file",
    "trec": "equal scores by document number, descending, scores as 32-bit floats (trec_eval)",
}


def explain(
    name: Annotated[str, argument("A measure, for example MAP@10, ndcg_cut_10, TPR@FPR=5% or AURC.")],
    run: Annotated[Path | None, argument("A run or a result, to see each definition's value on it.")] = None,
    value: Annotated[
        str | None, option("--value NUMBER", "Which definition, population, tie rule or subset gives this number?")
    ] = None,
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
    """Explain a measure in words and formula and, given a run, show numerator, denominator and value of each definition.

    With --value, find where a number comes from: every definition, population, tie rule and subset is tried.
    """
    from evidentia.evaluation.explain import explain_name
    from evidentia.evaluation.find_value import GivenNumber, find_value
    from evidentia.evaluation.load import load_result
    from evidentia.measures import profile_named, resolve
    from evidentia.report.reference import print_explanation, print_value_search
    from evidentia.results.profiles import SELECTIVE

    chosen = profile_named(profile, of_items=True)
    asked = resolve(name, chosen).definition  # a wrong name should not cost the reading of a large run
    if value is not None:
        GivenNumber.read(value)
    if run is None and qrels is None and trec_run is None:
        if value is not None:
            raise InputError("--value needs a run to look at: evidentia explain NAME RUN --value NUMBER.")
        print_explanation(explain_name(name, chosen))
        return
    if asked.measure.family == SELECTIVE.name or chosen is SELECTIVE:
        raise InputError("Measures of predictors that may abstain are computed by `evidentia selective RUN --seed S`.")

    def read(order: str) -> Run:
        return read_source(
            run,
            candidates=candidates,
            mapping=mapping,
            delimiter=delimiter,
            list_sep=list_sep,
            uids=uids,
            by=group_columns([name]),
            qrels=qrels,
            trec_run=trec_run,
            ties=order,
            allow_disjoint=allow_disjoint,
        )

    if run is not None and run.is_dir():
        if candidates or mapping or list_sep or uids != "run" or delimiter != ",":
            raise InputError(
                f"{run.name} is a result, which holds its run as it was read. "
                "Leave out --candidates, --map, --list-sep, --uids and --delimiter, or name the file instead."
            )
        source = load_result(run).run
    else:
        source = read(ties)
    if value is None:
        print_explanation(explain_name(name, chosen, source))
        return
    runs = {"": source}
    if qrels is not None:
        other = "input" if ties == "trec" else "trec"
        runs[TIE_RULES[other]] = read(other)
    print_value_search(find_value(name, value, chosen, runs))
