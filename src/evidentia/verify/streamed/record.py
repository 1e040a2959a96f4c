"""What stands beside the numbers of a result of tables: the form of its manifest, its counts, its files, its rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import INTERVAL, about_intervals
from evidentia.verify.record import LISTED, STAMP, Form, check_form, forms, is_count, is_hash
from evidentia.verify.streamed.study import StreamedStudy
from evidentia.verify.tally import Tally, compare

ROLES = ("run", "candidates")


def is_name_below(value: object) -> bool:
    """The name of a file in the folder of its table."""
    return isinstance(value, str) and not value.startswith("/") and ".." not in PurePosixPath(value).parts


def is_engine(value: object) -> bool:
    """Where blocks were read."""
    return value in ("local", "dask")


READING = forms("mapping", "candidates_mapping", "list_sep", "uids", "by")
MANIFEST: dict[str, Form] = {
    **forms("schema", "profile", "seed", "resamples", "files", *STAMP),
    "options": {**forms("measures", "by", "dual", "k"), "reading": READING},
    "inputs": [{"name": is_name_below, "role": lambda role: role in ROLES, "rows": is_count, "sha256": is_hash}],
    "engine": {"name": is_engine, "memory": is_count, "workers": is_count},
    "read": forms("left_out", "notes"),
}


HASHES = ("queries_hash", "evidence_hash", "gold_hash")
TRUTH: dict[str, Form] = {"truth": [forms("criterion", "queries", "with_evidence", *HASHES)]}


def check_tables_manifest(folder: ResultFolder, tally: Tally) -> None:
    """The manifest says nothing that nobody looks at, and says the same of itself as the summary."""
    manifest, summary = folder.manifest, folder.summary
    check_form("manifest.json", manifest, MANIFEST | (TRUTH if summary["resamples"] else {}), tally)
    if summary["resamples"]:
        dataset, truth = summary["dataset"], manifest["truth"]
        tally.exact("manifest.json: truth: criteria", len(truth), dataset["criteria"])
        for key, name in (("queries", "queries"), ("positives", "with_evidence")):
            tally.exact(f"manifest.json: truth: {name}", sum(entry[name] for entry in truth), dataset[key])
    roles = list(dict.fromkeys(source["role"] for source in manifest["inputs"]))
    tally.exact("manifest.json: inputs: roles", roles, [role for role in ROLES if role in roles])
    tally.exact("manifest.json: inputs: a run", "run" in roles, True)
    tally.exact("manifest.json: options: by", manifest["options"]["reading"]["by"], manifest["options"]["by"])
    keys = ["schema", "profile", "seed", "resamples", "interval", "dataset", *LISTED, "notes"]
    tally.exact("summary.json: keys", list(summary), keys)
    tally.exact("summary.json: schema", summary["schema"], "evidentia.summary/1")
    tally.exact(
        "summary.json: interval: keys",
        sorted(summary["interval"]),
        ["bootstrap", "level", "method", "stratified_by_fold"],
    )
    for key in ("profile", "seed", "resamples"):
        tally.exact(f"manifest.json: {key}", manifest[key], summary[key])
    compare("summary.json: notes", summary["notes"], manifest["read"]["notes"], tally)
    compare("summary.json: dataset: left_out", summary["dataset"]["left_out"], manifest["read"]["left_out"], tally)


def check_tables_head(folder: ResultFolder, study: StreamedStudy, tally: Tally) -> None:
    """The settings and counts of the summary, and that no row went missing between the tables and the result."""
    summary, columns = folder.summary, study.columns
    left_out = {"TRAIN rows": columns.left_out} if columns.left_out else {}
    dataset = {
        "card": None,
        "queries": len(study),
        "positives": int(study.label.sum()),
        "posts": len(columns.posts),
        "criteria": len(study.criteria),
        "folds": len(study.folds) or None,
        "left_out": left_out,
    }
    compare("summary.json: dataset", summary["dataset"], dataset, tally)
    compare("summary.json: checks", summary["checks"], [], tally)
    if columns.truth is not None:
        compare("manifest.json: truth", folder.manifest["truth"], columns.truth.described(), tally)


def check_rows(study: StreamedStudy, tally: Tally) -> None:
    """No row contradicts itself or another."""
    faults = dict(study.columns.faults) | (study.pool.faults if study.pool is not None else {})
    for fault, rows in sorted(faults.items()):
        tally.exact(f"run: {fault}", rows, 0)


def check_no_intervals(folder: ResultFolder, tally: Tally) -> None:
    """A result without resamples has no interval."""
    for name, entry in folder.summary["measures"].items():
        tally.exact(f"summary.json: {name}: interval", [entry.get(key, "") for key in INTERVAL], [None] * len(INTERVAL))
        reported = [words for words in entry["warnings"] if about_intervals(words)]
        tally.exact(f"summary.json: {name}: warnings of intervals", reported, [])


def check_listing(folder: ResultFolder, written: Iterable[str], tally: Tally) -> None:
    """The files are those that a result of this run has, and no others."""
    drawn = ["replicates.parquet"] if folder.summary["resamples"] else []
    expected = {"summary.json", *drawn, *written}
    tally.exact("manifest.json: files", sorted(folder.manifest["files"]), sorted(expected))
