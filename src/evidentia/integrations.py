"""Results in experiment trackers: numbers with their limits, how they were made, and the files that hold no text of a post."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from evidentia.checks.folder import read_evaluation
from evidentia.errors import InputError
from evidentia.evaluation.files import manifest_of
from evidentia.report.page.read import read_content
from evidentia.report.page.record import PAGE, read_record
from evidentia.results import Evaluation, dumps, loads
from evidentia.verifying import result_of

__all__ = ["log_to_mlflow", "log_to_wandb"]
SUMMARY = "summary.json"
_REFUSED = re.compile(r"[^\w.-]+", re.ASCII)


@dataclass(frozen=True)
class Logged:
    """What goes to a tracker."""

    metrics: dict[str, float]
    params: dict[str, Any]
    files: tuple[Path, ...]


def log_to_mlflow(result: Evaluation | str | Path, *, prefix: str = "") -> str:
    """Log a result to the active MLflow run, or to a new one where none is active.

    Parameters
    ----------
    result : Evaluation or path
        The result in memory, or its folder.
    prefix : str, default=""
        Put before the names of metrics and parameters with a slash, so that one run can hold several results.

    Returns
    -------
    str
        The id of the run.

    Raises
    ------
    InputError
        If mlflow is not installed, the folder is no result, or its page holds sentences or ids.

    Notes
    -----
    Metrics are the numbers over the whole run: ``nDCG_10``, ``nDCG_10_low``, ``nDCG_10_high``. Conventions and undefined values are
    left out. Artifacts are ``summary.json``, with what the page shows for ids and without notes and messages of checks, and the
    page where it is drawn. No table of queries and no text is logged.

    Examples
    --------
    >>> log_to_mlflow("result")  # doctest: +SKIP
    '6f1ec5b0d6c94ff0a1b2c3d4e5f60718'
    """
    mlflow = _tracker("mlflow", "mlflow-skinny")
    with _logged(result, prefix) as logged:
        active = mlflow.active_run()
        with nullcontext(active) if active is not None else mlflow.start_run() as run:
            mlflow.log_params(logged.params)
            mlflow.log_metrics(logged.metrics)
            for file in logged.files:
                mlflow.log_artifact(str(file), _plain(prefix) or None)
    return str(run.info.run_id)


def log_to_wandb(result: Evaluation | str | Path, *, prefix: str = "") -> str:
    """Log a result to the active run of Weights & Biases, or to a new one where none is active.

    Parameters
    ----------
    result : Evaluation or path
        The result in memory, or its folder.
    prefix : str, default=""
        Put before the names of metrics and parameters with a slash, so that one run can hold several results.

    Returns
    -------
    str
        The id of the run.

    Raises
    ------
    InputError
        If wandb is not installed, the folder is no result, or its page holds sentences or ids.

    Notes
    -----
    The numbers of ``log_to_mlflow`` become the summary of the run, the parameters its config, and the files one artifact
    of the type "evaluation".

    Examples
    --------
    >>> log_to_wandb("result")  # doctest: +SKIP
    '3k9x2b7q'
    """
    wandb = _tracker("wandb", "wandb")
    with _logged(result, prefix) as logged:
        active = wandb.run
        with nullcontext(active) if active is not None else wandb.init() as run:
            run.config.update(logged.params)
            run.summary.update(logged.metrics)
            artifact = wandb.Artifact(f"evidentia-{_plain(prefix) or run.id}", type="evaluation")
            for file in logged.files:
                artifact.add_file(str(file))
            run.log_artifact(artifact)
    return str(run.id)


def _tracker(name: str, package: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{name} is not installed: pip install {package}.") from None


@contextmanager
def _logged(result: object, prefix: str) -> Iterator[Logged]:
    """What is logged of a result; the files of one in memory exist inside only."""
    if isinstance(result, str | Path):
        folder = result_of(Path(result)).resolve()
        with tempfile.TemporaryDirectory() as temporary:
            yield _of(read_evaluation(folder, manifest_of(folder)), folder, prefix, Path(temporary))
    elif isinstance(result, Evaluation):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "result"
            result.save(folder)
            yield _of(result, folder, prefix, Path(temporary))
    else:
        raise InputError("Give an Evaluation, or the folder of a result.")


def _of(evaluation: Evaluation, folder: Path, prefix: str, temporary: Path) -> Logged:
    page = folder / PAGE
    if page.is_file():
        _refuse_open_page(folder)
    before = f"{_plain(prefix)}/" if prefix else ""
    summary = temporary / SUMMARY
    summary.write_text(_summary_without_ids(folder), encoding="utf-8")
    files = (summary, page) if page.is_file() else (summary,)
    metrics = {before + name: value for name, value in metrics_of(evaluation).items()}
    return Logged(metrics, {before + name: value for name, value in _params(evaluation).items()}, files)


def _summary_without_ids(folder: Path) -> str:
    """The summary as the page has it; notes and messages of checks say where the first of something is, so they stay behind."""
    summary = loads(read_content(folder).summary)
    checks = [{key: value for key, value in check.items() if key != "message"} for check in summary["checks"]]
    return dumps({key: value for key, value in summary.items() if key != "notes"} | {"checks": checks})


def _refuse_open_page(folder: Path) -> None:
    """Refuse a page that was drawn with sentences, or with ids as they are."""
    try:
        drawn = read_record(folder).get("html")
    except InputError:  # nobody knows how
        drawn = None
    if drawn is None or drawn.texts is not None or drawn.ids == "shown":
        raise InputError(
            f"{folder.name}/{PAGE} holds sentences or ids of posts, or may: they do not belong on a tracker. "
            "Draw it again by `evidentia report` without --include-text and --show-ids."
        )


def metrics_of(evaluation: Evaluation) -> dict[str, float]:
    """The measured numbers over the whole run and their limits, under names that trackers take.

    >>> from evidentia.results import Estimate
    >>> ndcg = Estimate("nDCG@10", 0.8, "", "", "", 9, 3, "", "higher", "", ci=(0.7, 0.9))
    >>> metrics_of(Evaluation("contract", 7, 100, {"nDCG@10": ndcg}))
    {'nDCG_10': 0.8, 'nDCG_10_low': 0.7, 'nDCG_10_high': 0.9}
    """
    metrics = {}
    for estimate in evaluation.overall():
        if estimate.degenerate is None and not math.isnan(estimate.value):
            name = _plain(estimate.name)
            metrics[name] = estimate.value
            if estimate.ci is not None:
                metrics[f"{name}_low"], metrics[f"{name}_high"] = estimate.ci
    return metrics


def _plain(name: str) -> str:
    return _REFUSED.sub("_", name).strip("_")


def _params(evaluation: Evaluation) -> dict[str, Any]:
    """How the result was made, and how large it is."""
    from evidentia import __version__

    sizes = ("queries", "positives", "posts", "criteria", "folds", "participants", "items")
    failed = sum(check.status == "failed" for check in evaluation.checks)
    return {
        "evidentia": __version__,
        **{name: getattr(evaluation, name) for name in ("profile", "seed", "resamples")},
        **{name: evaluation.dataset[name] for name in sizes if evaluation.dataset.get(name) is not None},
        "interval_level": evaluation.interval.get("level"),
        "failed_checks": failed,
    }
