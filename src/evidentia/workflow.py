"""The whole job: read, evaluate, and write every file of the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evidentia.checks import check_result
from evidentia.checks.folder import read_evaluation
from evidentia.errors import InputError, UnknownNameError, counted, typed
from evidentia.evaluation import (
    ensure_writable,
    evaluate_run,
    write_comparison,
    write_folder,
    write_manifest,
    write_result,
)
from evidentia.evaluation.choose import choose
from evidentia.evaluation.compare import NamedRun, align, compare_systems
from evidentia.evaluation.compare_tables import compare_results_of_tables
from evidentia.evaluation.curves import curves_of_systems
from evidentia.evaluation.deltas import OnMismatch
from evidentia.evaluation.files import ResultSource, RunSource, TablesSource, manifest_of, write_tables_comparison
from evidentia.evaluation.intervals import Bootstrap, Method, Resampling
from evidentia.evaluation.load import load_result, result_name
from evidentia.evaluation.replicate_record import ReplicateRecord
from evidentia.evaluation.tables_result import (
    KEPT,
    TablesResult,
    is_result_of_tables,
    read_tables_result,
    refuse_mixed,
    refuse_other_draws,
)
from evidentia.listed import listed
from evidentia.measures import profile_named
from evidentia.protocol import Tuning, apply_tuning, read_tuning, to_document
from evidentia.protocol.answers import labelled_answers
from evidentia.report import (
    start_drawing,
    wants_report,
    write_curves,
    write_delta_tables,
    write_report,
    write_system_curves,
    write_tables,
)
from evidentia.report.paper import Columns, PaperTable, paper_table, rows_of
from evidentia.results import Comparison, Design, Evaluation
from evidentia.results.evaluation import write_evaluation
from evidentia.results.folder import another_folder
from evidentia.results.notebook import Picture, drawing_of
from evidentia.results.profiles import COMPARED_BY_DEFAULT
from evidentia.stats.resampling import Progress
from evidentia.tables import Run, read_run

__all__ = ["compare", "ensure_writable", "evaluate"]


def evaluate(
    run: Run | str | Path | object,
    *,
    profile: str = "contract",
    measures: str | Iterable[str] | None = None,
    by: str | Sequence[str] | None = None,
    k: Sequence[int | str] | None = None,
    dual: bool = False,
    thresholds: Tuning | str | Path | None = None,
    labels: str | Path | None = None,
    resamples: int = 10_000,
    seed: int = 7,
    ci: float = 0.95,
    ci_method: Method = "auto",
    stratify: bool = False,
    bootstrap: Bootstrap = "auto",
    command: str | None = None,
    reading: Mapping[str, Any] | None = None,
    report: bool | None = None,
    allow_disjoint: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Compute every measure of a profile, or the named ones, over a run, its folds, criteria, states and slices.

    Parameters
    ----------
    run : Run, path or data frame
        The run, or a source that ``read_run`` reads.
    profile : {"contract", "e2e", "paper", "audit"}, default="contract"
        Set of definitions: which measures there are and what their names mean.
    measures : str or iterable of str, default=None
        Names of measures, also separated by commas; None takes all measures of the profile.
    by : str or sequence of str, default=None
        Further columns to group by; None takes those that the run was read with.
    k : sequence of int or "ALL", default=None
        Cuts of the ranking measures; None takes those of the profile.
    dual : bool, default=False
        Whether to report ranking measures over all queries too, not only over those with evidence.
    thresholds : Tuning or path, default=None
        Calibrators and thresholds from ``evidentia tune``, applied fold by fold.
    labels : path, default=None
        Labels of new posts, where ``run`` is the file that ``evidentia predict`` wrote; the thresholds are then those beside it.
    resamples : int, default=10_000
        Number of cluster-bootstrap resamples of posts; 0 gives no intervals.
    seed : int, default=7
        Seed of the resamples; not negative.
    ci : float, default=0.95
        Level of the intervals, in (0, 1).
    ci_method : {"auto", "percentile", "bca"}, default="auto"
        Kind of interval; "auto" chooses by the bounds of each measure.
    stratify : bool, default=False
        Whether to resample within folds.
    bootstrap : {"auto", "exact", "poisson"}, default="auto"
        Draw as many posts as there are, or weigh each by a hash of its id; "auto" does the second above 1,000,000 posts.
    command : str, default=None
        Command line to record in the manifest.
    reading : mapping, default=None
        Options with which the run was read, to record in the manifest.
    report : bool, default=None
        Whether ``save`` writes the page and figures; None means yes unless EVIDENTIA_NO_REPORT is set.
    allow_disjoint : bool, default=False
        As in ``read_run``, for a run that is read here.
    progress : callable, default=None
        Called with the number of steps done and of all steps.

    Returns
    -------
    Evaluation
        Estimates by measure name; ``save(folder)`` writes all files.

    Raises
    ------
    InputError
        If the run cannot be read, an option is out of range, no measure can be computed, or thresholds were tuned on a post that
        they would be applied to.

    Notes
    -----
    An undefined value is the convention of its measure (AUROC 0.5 with one class) and has a reason in ``degenerate``. Measures that
    the run has no columns for are in ``not_computed``.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({
    ...     "post_id": [1, 1, 2, 2], "criterion_id": ["A", "B", "A", "B"],
    ...     "has_evidence": [1, 0, 1, 0], "prob": [0.9, 0.3, 0.2, 0.1],
    ... })
    >>> evaluate(table, measures="AUROC", resamples=0)["AUROC"].value
    0.75
    """
    resampling = Resampling(resamples, seed, ci, ci_method, stratify, bootstrap=bootstrap)
    named = None if measures is None else named_measures(measures)
    if isinstance(run, Run) and allow_disjoint:
        raise InputError("This run was read already. Give allow_disjoint to read_run, or a file instead of the run.")
    if labels is not None:
        run, thresholds = _labelled(run, labels, thresholds)
    if not isinstance(run, Run):
        run = read_run(run, by=() if by is None else _words(by), allow_disjoint=allow_disjoint)
    by = tuple(run.queries.slices) if by is None else _words(by)
    run, tuning = _with_thresholds(run, thresholds)
    evaluation = evaluate_run(
        run, profile=profile, measures=named, by=by, k=k, dual=dual, resampling=resampling, progress=progress
    )
    applied = None if tuning is None else to_document(tuning, grids=False)
    checks = check_result(evaluation, run, applied=applied)
    evaluation = replace(evaluation, checks=checks, asked_by_name=named is not None)
    options: Mapping[str, Any] = {
        "measures": None if named is None else list(named),
        "by": list(by),
        "slices": list(run.queries.slices),
        "k": None if k is None else [str(depth) for depth in k],
        "dual": dual,
        "interval": dict(evaluation.interval),
        "reading": dict(reading or {}),
    }
    return replace(
        evaluation, source=RunSource("", run, profile, tuning, options=options, command=command, report=report)
    )


@write_evaluation.register
def save_result(source: ResultSource, evaluation: Evaluation, folder: Path, *, force: bool) -> None:
    """Write every file of a result into a new folder, all or nothing."""

    drawn = wants_report(source.report) and not isinstance(source, TablesSource)  # a page lists queries

    def fill(temporary: Path) -> None:
        if drawn:
            start_drawing()
        write_result(temporary, source, evaluation)
        write_tables(evaluation, temporary / "tables")
        write_curves(evaluation, temporary / "figures")
        write_manifest(temporary, source, evaluation)
        if drawn:
            write_report(temporary, read=source.run if isinstance(source, RunSource) else None)

    write_folder(folder, fill, force=force)


@drawing_of.register
def draw_figure(result: Evaluation, name: str) -> Picture:
    """One figure of the report that this result would have."""
    from evidentia.report.page.images import images
    from evidentia.report.page.read import read_content
    from evidentia.report.page.render import page_parts

    source = result.source
    with TemporaryDirectory() as home:
        folder = Path(home) / "result"
        silent = replace(source, report=False) if isinstance(source, ResultSource) else source
        write_evaluation(silent, result, folder, force=False)
        figures = {figure.name: figure for figure in page_parts(read_content(folder))["figures"]}
    if name not in figures:
        raise UnknownNameError(f"There is no figure {typed(name)} of this result. Figures are: {', '.join(figures)}.")
    return Picture(name, images([figures[name]], {"svg"})[f"{name}.svg"].decode())


def evaluate_tables(
    queries: str | Path,
    candidates: str | Path | None = None,
    *,
    profile: str = "contract",
    measures: str | Iterable[str] | None = None,
    by: str | Sequence[str] = (),
    k: Sequence[int | str] | None = None,
    dual: bool = False,
    mapping: Mapping[str, str] | None = None,
    candidates_mapping: Mapping[str, str] | None = None,
    list_sep: str | None = None,
    uids: str = "run",
    resamples: int = 0,
    seed: int = 7,
    ci: float = 0.95,
    ci_method: Method = "auto",
    allow_disjoint: bool = False,
    memory: str | int = "2GB",
    engine: str = "local",
    workers: int | None = None,
    scratch: str | Path | None = None,
    command: str | None = None,
    announce: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compute the measures of a run in Parquet files that may be larger than memory.

    Parameters
    ----------
    queries : path
        A Parquet file, or a folder of any number of them: a row per query, or per sentence of a query.
    candidates : path, default=None
        The same for the candidates.
    profile, measures, by, k, dual
        As in ``evaluate``.
    mapping, candidates_mapping, list_sep, uids, allow_disjoint
        As in ``read_run``.
    resamples, seed, ci, ci_method
        As in ``evaluate``; the bootstrap is the Poisson one.
    memory : str or int, default="2GB"
        How much memory all processes together may take, as a size or in bytes.
    engine : str, default="local"
        Where blocks are read: "local" for processes of this machine, "dask" for a Dask cluster of this machine, or
        "dask:HOST:PORT" for one that is there.
    workers : int, default=None
        How many processes; None takes one for each core.
    scratch : path, default=None
        Folder for temporary files; None takes that of the system.
    command : str, default=None
        Command line to record in the manifest.
    announce : callable, default=None
        Called with a sentence that says where the dashboard of a Dask cluster is.
    progress : callable, default=None
        Called with the number of blocks done and of all blocks.

    Returns
    -------
    Evaluation
        The estimates of ``evaluate``, to the bit; ``save(folder)`` writes them without the rows.

    Raises
    ------
    InputError
        If the tables cannot be read, hold TUNE rows, or need more memory.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> table = {"post_id": [1, 2], "criterion_id": ["A", "A"], "has_evidence": [1, 0], "prob": [0.9, 0.2]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pl.DataFrame(table).write_parquet(f"{folder}/run.parquet")
    ...     evaluate_tables(f"{folder}/run.parquet", measures="AUROC", workers=1)["AUROC"].value
    1.0
    """
    from evidentia.engine.datasets import hashed
    from evidentia.engine.evaluate import Tables, evaluate_blocks, memory_of
    from evidentia.engine.executors import DaskWorkers, executor_named

    named = None if measures is None else named_measures(measures)
    chosen = profile_named(profile)
    tables = Tables(
        Path(queries),
        None if candidates is None else Path(candidates),
        mapping=dict(mapping or {}),
        candidates_mapping=dict(candidates_mapping or {}),
        list_sep=list_sep,
        uids=uids,
        by=_words(by),
        allow_disjoint=allow_disjoint,
    )
    names = named or chosen.names(ks=None if k is None else tuple(str(depth) for depth in k), dual=dual)
    limit = memory if isinstance(memory, int) else memory_of(memory)
    record = ReplicateRecord() if resamples else None
    truth: list[dict[str, Any]] = []
    bootstrap: Bootstrap = "poisson" if resamples else "exact"
    with executor_named(engine, workers) as executor, hashed(tables.files) as sources:
        if announce is not None and isinstance(executor, DaskWorkers):
            announce(f"The dashboard of the cluster: {executor.dashboard}")
        evaluation = evaluate_blocks(
            tables,
            profile=profile,
            names=names,
            named=named is not None,
            resampling=Resampling(resamples, seed, ci, ci_method, bootstrap=bootstrap, record=record),
            executor=executor,
            memory=limit,
            scratch=None if scratch is None else Path(scratch),
            progress=progress,
            tell_truth=truth.extend,
        )
        inputs = sources()
    options: dict[str, Any] = {
        "measures": None if named is None else list(named),
        "by": list(tables.by),
        "dual": dual,
        "reading": {},
    }
    options |= {"k": None if k is None else [str(depth) for depth in k], "reading": tables.reading}
    about = {"name": engine.partition(":")[0], "memory": limit, "workers": executor.workers}
    source = TablesSource(options=options, command=command, inputs=inputs, engine=about, replicates=record, truth=truth)
    return replace(evaluation, source=source, asked_by_name=named is not None)


def _labelled(run: object, labels: str | Path, thresholds: object) -> tuple[Run, Path]:
    """The answers of a model with labels that came later, and the file of its thresholds."""
    if not isinstance(run, str | Path) or isinstance(thresholds, Tuning):
        raise InputError(
            "With labels, give the file that `evidentia predict` wrote, and thresholds as a file or not at all."
        )
    return labelled_answers(run, labels, thresholds=None if thresholds is None else Path(str(thresholds)))


def _with_thresholds(run: Run, thresholds: Tuning | str | Path | None) -> tuple[Run, Tuning | None]:
    """The run under tuned thresholds, and what they are."""
    if thresholds is None:
        return run, None
    tuning, source = (thresholds, None) if isinstance(thresholds, Tuning) else read_tuning(thresholds)
    return apply_tuning(run, tuning, source=source), tuning


def compare(
    *results: str | Path | Run | Evaluation | object,
    names: Sequence[str] | None = None,
    profile: str | None = None,
    measures: str | Iterable[str] | None = None,
    resamples: int | None = None,
    seed: int | None = None,
    ci: float = 0.95,
    bootstrap: Bootstrap = "auto",
    alpha: float = 0.05,
    on_mismatch: OnMismatch = "error",
    successive: bool = False,
    out: str | Path | None = None,
    force: bool = False,
    command: str | None = None,
    report: bool | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compute paired differences of results against the first one, on the same queries and resamples.

    Parameters
    ----------
    *results : path, Run, Evaluation or data frame
        Two results or more: folders, runs, or tables that ``read_run`` reads. Folders of ``evaluate_tables`` are compared with
        each other only, by the replicates that they hold.
    names : sequence of str, default=None
        A name for each result; None takes the names of the folders.
    profile : str, default=None
        Profile of the measures; None takes that of the results.
    measures : str or iterable of str, default=None
        Names of measures; None takes the main ones that all evaluated results have, "all" every one of them.
    resamples : int, default=None
        Number of cluster-bootstrap resamples of posts; None takes 10,000, or those that results of tables hold.
    seed : int, default=None
        Seed of the resamples; not negative. None takes 7, or that of results of tables.
    ci : float, default=0.95
        Level of the intervals, in (0, 1).
    bootstrap : {"auto", "exact", "poisson"}, default="auto"
        As in ``evaluate``.
    alpha : float, default=0.05
        Level of the tests, after Holm's correction.
    on_mismatch : {"error", "intersect"}, default="error"
        Refuse results with different queries, or compare the queries that all have.
    successive : bool, default=False
        Compare each result with the one before it, as in an ablation.
    out : path, default=None
        Folder to write the comparison into.
    force : bool, default=False
        Whether to replace an existing result of Evidentia; other folders are never replaced.
    command : str, default=None
        Command line to record in the manifest.
    report : bool, default=None
        Whether to write the page; None means yes unless EVIDENTIA_NO_REPORT is set.
    progress : callable, default=None
        Called with the number of steps done and of all steps.

    Returns
    -------
    Comparison
        Deltas by measure name.

    Raises
    ------
    InputError
        If there are fewer than two results, queries or labels differ, or an option is out of range.
    OutputError
        If ``out`` cannot be written.

    Notes
    -----
    Where a measure is undefined for one of the two, its verdict is "undefined" and it has no p value.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({
    ...     "post_id": [1, 1, 2, 2], "criterion_id": ["A", "B", "A", "B"],
    ...     "has_evidence": [1, 0, 1, 0], "prob": [0.9, 0.3, 0.2, 0.1],
    ... })
    >>> better = table.with_columns(prob=pl.Series([0.9, 0.3, 0.4, 0.1]))
    >>> compare(table, better, measures="AUROC", resamples=50)["AUROC"].delta
    0.25
    """
    named = None if measures is None else named_measures(measures)
    every = named == ("all",)
    named = None if every else named
    design: Design = "successive" if successive else "against first"
    options: dict[str, Any] = {"on_mismatch": on_mismatch, "alpha": alpha, "design": design, "ci": ci}
    options |= {"profile": profile, "measures": list(named) if named else None if every else COMPARED_BY_DEFAULT}
    refuse_mixed(results)
    if results and is_result_of_tables(results[0]):
        asked = {"seed": seed, "resamples": resamples, "bootstrap": bootstrap}
        folders = _tables_results(results, names, asked, on_mismatch)
        return _compare_tables(folders, options, out=out, force=force, command=command)
    loaded = [_loaded(result) for result in results]
    systems = _systems(loaded, names)
    evaluated = [one for one in loaded if isinstance(one, RunSource)]
    choice = choose(evaluated, profile=profile, measures=named, every=every)
    if out is not None:
        _ensure_comparison_writable(Path(out), results, force=force)
    resampling = Resampling(
        10_000 if resamples is None else resamples, 7 if seed is None else seed, ci, bootstrap=bootstrap
    )
    comparison = compare_systems(
        systems, choice, resampling, alpha=alpha, on_mismatch=on_mismatch, design=design, progress=progress
    )
    if out is not None:
        options |= {"bootstrap": comparison.interval["bootstrap"]}
        made_with = [
            _made_with(one, profile=profile, measures=named) if isinstance(one, RunSource) else None for one in loaded
        ]
        runs = {system.name: system.run for system in systems}

        def fill(temporary: Path) -> None:
            write_delta_tables(comparison, temporary / "tables")
            aligned = ((system.name, system.run.queries) for system in align(systems, on_mismatch)[0])
            names = {delta.name for delta in comparison.deltas}
            write_system_curves(curves_of_systems(aligned, names), temporary / "figures")
            write_comparison(temporary, comparison, runs, command=command, options=options, made_with=made_with)
            if wants_report(report):
                write_report(temporary)

        write_folder(Path(out), fill, force=force)
    return comparison


def _tables_results(
    results: Sequence[object], names: Sequence[str] | None, asked: Mapping[str, object], on_mismatch: OnMismatch
) -> list[TablesResult]:
    """Results of tables under their names, where they can answer what is asked."""
    _refuse_other_count(results, names)
    read = [read_tables_result(Path(str(result))) for result in results]
    called = _numbered([each.name for each in read]) if names is None else names
    read = [replace(each, name=name) for each, name in zip(read, called, strict=True)]
    for each in read:
        refuse_other_draws(each, asked)
    if on_mismatch != "error":
        raise InputError(
            f"{read[0].name} was read block by block, and its rows are not in the folder, so queries cannot be left out. Evaluate "
            "the tables with the same queries."
        )
    return read


def _compare_tables(
    results: Sequence[TablesResult],
    options: Mapping[str, Any],
    *,
    out: str | Path | None,
    force: bool,
    command: str | None,
) -> Comparison:
    """Compare results of tables as the options say, and write what was found."""
    measures = options["measures"]
    named, every = (measures if isinstance(measures, list) else None), measures is None
    choice = choose(results, profile=options["profile"], measures=named, every=every)
    if out is not None:
        _ensure_comparison_writable(Path(out), [result.folder for result in results], force=force)
    comparison = compare_results_of_tables(
        results, choice, level=options["ci"], alpha=options["alpha"], design=options["design"]
    )

    def fill(temporary: Path) -> None:
        write_delta_tables(comparison, temporary / "tables")
        write_tables_comparison(
            temporary,
            comparison,
            {result.name: result.folder for result in results},
            command=command,
            options=dict(options) | {"bootstrap": comparison.interval["bootstrap"]},
            kept=KEPT,
        )

    if out is not None:
        write_folder(Path(out), fill, force=force)
    return comparison


def tabulate(
    results: Sequence[Path],
    *,
    rows: Sequence[str] = (),
    columns: Columns | None = None,
    names: Sequence[str] | None = None,
    resamples: int = 10_000,
    seed: int = 7,
    alpha: float = 0.05,
    progress: Progress | None = None,
) -> PaperTable:
    """The table for a paper of one result folder, or of several with tests against the first."""
    _refuse_other_count(results, names)
    evaluations = [read_evaluation(folder.resolve(), manifest_of(folder)) for folder in results]
    columns = columns or ("systems" if len(results) > 1 else "criteria")
    rows = rows_of({str(i): e for i, e in enumerate(evaluations)}, rows, columns)
    if len(evaluations) == 1:
        (called,) = names if names is not None else [result_name(results[0].resolve())]
        return paper_table({called: evaluations[0]}, rows=rows, columns=columns)
    comparison = compare(
        *results, names=names, measures=rows, resamples=resamples, seed=seed, alpha=alpha, progress=progress
    )
    systems = dict(zip(comparison.systems, evaluations, strict=True))
    return paper_table(systems, rows=rows, columns=columns, comparison=comparison)


def _made_with(result: RunSource, *, profile: str | None, measures: Sequence[str] | None) -> dict[str, Any]:
    """What of a result decided which measures are compared, where nobody named them."""
    decides = {"profile": result.profile} if profile is None else {}
    return decides | (
        {name: result.options.get(name) for name in ("measures", "k", "dual")} if measures is None else {}
    )


def _refuse_other_count(results: Sequence[object], names: Sequence[str] | None) -> None:
    if names is not None and len(names) != len(results):
        raise InputError(
            f"{counted(len(results), 'result')} but {counted(len(names), 'name')}: give each a name, or none."
        )


def _systems(results: Sequence[Run | RunSource], names: Sequence[str] | None) -> list[NamedRun]:
    _refuse_other_count(results, names)
    called = list(names) if names is not None else _called(results)
    runs = [result if isinstance(result, Run) else result.run for result in results]
    return [NamedRun(name, run) for name, run in zip(called, runs, strict=True)]


def _loaded(result: object) -> Run | RunSource:
    if isinstance(result, str | Path):
        return load_result(Path(result))
    if not isinstance(result, Evaluation):
        return result if isinstance(result, Run) else read_run(result)
    if isinstance(result.source, TablesSource):
        raise InputError("This Evaluation was read block by block and holds no run. Save it, and name its folder.")
    if not isinstance(result.source, RunSource):
        raise InputError(
            "This Evaluation holds no run to compare. Give one that evidentia.evaluate made, or the folder of a result; "
            "items of a predictor that may abstain are compared by evidentia.selective.compare."
        )
    return result.source


def _ensure_comparison_writable(out: Path, results: Sequence[object], *, force: bool) -> None:
    if any(isinstance(result, str | Path) and Path(result).resolve() == out.resolve() for result in results):
        raise InputError(f"The comparison cannot be written over a result that it compares. {another_folder()}.")
    ensure_writable(out, force=force)


def _called(results: Sequence[Run | RunSource]) -> list[str]:
    """A name for every result: its folder's, numbered where two folders are called the same."""
    return _numbered(
        f"system {i}" if isinstance(result, Run) else result.name or f"system {i}"
        for i, result in enumerate(results, 1)
    )


def _numbered(names: Iterable[str]) -> list[str]:
    """Names of which the later ones have a number where an earlier one is the same."""
    plain = list(names)
    return [name if name not in plain[:i] else f"{name} ({i + 1})" for i, name in enumerate(plain)]


def named_measures(measures: str | Iterable[str]) -> tuple[str, ...]:
    """The names of measures, which may be separated by commas."""
    names = listed(measures)
    if not names:
        raise InputError("measures names nothing. Leave it out for all measures of the profile.")
    return names


def _words(names: str | Iterable[str]) -> tuple[str, ...]:
    """A single name is one name, not its letters."""
    return (names,) if isinstance(names, str) else tuple(names)
