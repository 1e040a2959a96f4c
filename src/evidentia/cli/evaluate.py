"""`evidentia evaluate`: every number of a profile for a run on disk."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.progress import progress_bar
from evidentia.cli.source import group_columns, read_source
from evidentia.cli.streams import complain
from evidentia.errors import InputError

if TYPE_CHECKING:
    from evidentia.results import Evaluation
    from evidentia.tables import Run

NOT_IN_BLOCKS = (
    "Tables that are read block by block (a folder, --memory, --engine) go without --tune, --card, --thresholds, --labels, "
    "--qrels, --run, --ties, --stratify, --delimiter and --bootstrap exact. Leave these out, or evaluate a file in memory."
)


def evaluate(
    run: Annotated[Path | None, argument("The run: CSV, Parquet, JSONL, JSON or Excel; - is standard input.")] = None,
    candidates: options.CandidatesFile = None,
    tune: options.TuneFile = None,
    mapping: options.RunMapped = None,
    profile: options.ProfileName = "contract",
    dual: Annotated[bool, option("--dual", "Ranking measures over all queries beside the positives.")] = False,
    measures: Annotated[list[str] | None, option("--measures NAMES", "Only these, for example AUROC,nDCG@10.")] = None,
    by: options.By = None,
    card: options.Card = None,
    thresholds: Annotated[
        Path | None, option("--thresholds FILE", "Apply what `evidentia tune` chose, fold by fold.")
    ] = None,
    labels: Annotated[
        Path | None, option("--labels FILE", "Labels of new posts; RUN is then what `evidentia predict` wrote.")
    ] = None,
    k: Annotated[list[str] | None, option("--k LIST", "Depths of ranking measures: 1,5,10.")] = None,
    qrels: options.Qrels = None,
    trec_run: options.TrecRun = None,
    ties: options.Ties = "input",
    delimiter: options.Delimiter = ",",
    list_sep: options.ListSep = None,
    uids: options.Uids = "run",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    allow_disjoint: options.AllowDisjoint = False,
    resamples: Annotated[
        int | None,
        option(
            "--resamples", "Bootstrap resamples of posts; 0: no intervals. Default: 10,000; of tables in blocks 1,000."
        ),
    ] = None,
    seed: options.SampleSeed = 7,
    ci: options.Level = 0.95,
    ci_method: Annotated[str, option("--ci-method", "auto (the best for each measure), percentile or bca.")] = "auto",
    stratify: Annotated[bool, option("--stratify", "Resample within folds.")] = False,
    bootstrap: options.Bootstrap = "auto",
    memory: options.Memory = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    scratch: options.Scratch = None,
    no_report: options.NoReport = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    out: options.Out = None,
) -> None:
    """Evaluate a run: every measure, under a named definition, with folds and groups.

    Exit codes: 0 done, 1 a check failed (everything is written and marked), 2 bad input.
    """
    from evidentia import workflow
    from evidentia.measures import profile_named

    if out is not None:
        workflow.ensure_writable(out, force=force)
    profile_named(profile)  # a wrong name should not cost the reading of a large run
    named = options.listed(measures)
    if measures and not named:
        raise InputError("--measures names nothing. Leave it out for all measures of the profile.")
    columns = [*options.listed(by), *group_columns(named)]
    asked: dict[str, Any] = {
        **{"profile": profile, "measures": named or None, "k": options.depths(k), "dual": dual},
        **{"seed": seed, "ci": ci, "command": command_line(sys.argv[1:])},
    }
    folder = run is not None and labels is None and run.is_dir()  # with labels it is a folder of answers
    if run is not None and (memory or engine or workers is not None or scratch or folder):
        if any(
            (
                tune,
                card,
                thresholds,
                labels,
                qrels,
                trec_run,
                stratify,
                delimiter != ",",
                ties != "input",
                bootstrap == "exact",
            )
        ):
            raise InputError(NOT_IN_BLOCKS)
        with progress_bar("blocks", quiet=quiet or as_json) as progress:
            evaluation = workflow.evaluate_tables(
                run,
                candidates,
                **asked,
                by=columns,
                mapping=options.mapping_of(mapping),
                list_sep=list_sep,
                uids=options.choice("--uids", uids, options.UIDS),
                resamples=1_000 if resamples is None else resamples,
                ci_method=options.choice("--ci-method", ci_method, options.BLOCK_INTERVALS),
                allow_disjoint=allow_disjoint,
                memory=memory or "2GB",
                engine=engine or "local",
                workers=workers,
                scratch=scratch,
                announce=None if quiet else complain,
                progress=progress,
            )
        save_and_show(evaluation, out, force=force, as_json=as_json, quiet=quiet, everything=bool(named))
        return
    if labels is not None:
        others = (candidates, tune, mapping, by, card, qrels, trec_run, list_sep)
        source, thresholds = _labelled(run, labels, thresholds, others)
    else:
        source = read_source(
            run,
            candidates=candidates,
            tune=tune,
            mapping=mapping,
            delimiter=delimiter,
            list_sep=list_sep,
            uids=uids,
            card=card,
            by=columns,
            qrels=qrels,
            trec_run=trec_run,
            ties=ties,
            allow_disjoint=allow_disjoint,
            quiet=quiet,
        )
    with progress_bar("resampling", quiet=quiet or as_json) as progress:
        evaluation = workflow.evaluate(
            source,
            **asked,
            by=options.listed(by),
            thresholds=thresholds,
            resamples=10_000 if resamples is None else resamples,
            ci_method=options.choice("--ci-method", ci_method, options.INTERVALS),
            stratify=stratify,
            bootstrap=options.choice("--bootstrap", bootstrap, options.BOOTSTRAPS),
            reading={
                "map": dict(source.mapping),
                "delimiter": delimiter,
                "list_sep": list_sep,
                "uids": uids,
                "ties": ties,
                "card": card and Path(card).name,
            },
            report=False if no_report else None,
            progress=progress,
        )
    save_and_show(evaluation, out, force=force, as_json=as_json, quiet=quiet, everything=bool(named))


def _labelled(run: Path | None, labels: Path, thresholds: Path | None, others: tuple[object, ...]) -> tuple[Run, Path]:
    """The answers of a model with labels that came later, and the thresholds that it brought along."""
    from evidentia.protocol.answers import labelled_answers

    if run is None or any(others):
        raise InputError(
            "--labels goes with the file that `evidentia predict` wrote, and without --candidates, --tune, --map, --by, --card, "
            "--list-sep, --qrels and --run."
        )
    return labelled_answers(run, labels, thresholds=thresholds)


def save_and_show(
    evaluation: Evaluation, out: Path | None, *, force: bool, as_json: bool, quiet: bool, everything: bool
) -> None:
    """Write the result and print it for a person, or as JSON for a program; exit 1 where a check failed."""
    if out is not None:
        with progress_bar("writing", quiet=quiet or as_json):
            evaluation.save(out, force=force)
    if as_json:
        sys.stdout.write(evaluation.to_json())
    elif not quiet:
        from evidentia.report.console import print_result

        print_result(evaluation, out, everything=everything)
    options.exit_unless(evaluation.passed)


def command_line(arguments: list[str]) -> str:
    """The command as it was given, with file names only and OUT for the folder: no path of a machine.

    >>> command_line(["evaluate", "run.csv", "-o", "/tmp/x", "--by", "w/m"])
    'evidentia evaluate run.csv -o OUT --by w/m'
    """
    words: list[str] = []
    for before, word in zip(["", *arguments], arguments, strict=False):
        if before in {"-o", "--out"}:
            words.append("OUT")
        elif word.startswith("--out="):
            words.append("--out=OUT")
        elif word.startswith("-o") and not word.startswith("--") and word != "-o":
            words.append("-oOUT")
        else:
            option, equals, value = word.partition("=")
            attached = word.startswith("--") and equals
            words.append(f"{option}={_file_name(value)}" if attached else _file_name(word))
    return " ".join(["evidentia", *(shlex.quote(part) for part in words)])


def _file_name(word: str) -> str:
    """The name of what exists; anything else is not a path."""
    try:
        return Path(word).name if word and Path(word).exists() else word
    except OSError:  # too long to be a path
        return word
