"""What no row can show: the form of manifests, and that summary and manifest tell the same of how a result was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evidentia.results.estimate import Finding
from evidentia.verify.folder import ResultFolder
from evidentia.verify.points import Points
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally, compare

VERSION = re.compile(r"[0-9]+\.[0-9]+[0-9A-Za-z.+-]*")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")
SHA256 = re.compile(r"[0-9a-f]{64}")
Form = Callable[[Any], bool] | re.Pattern[str] | Mapping[str, Any] | Sequence[Any]


def anything(value: object) -> bool:
    """What is compared elsewhere, or cannot be."""
    return True


def is_hash(value: object) -> bool:
    """A hash, or null for a table in memory."""
    return value is None or (isinstance(value, str) and SHA256.fullmatch(value) is not None)


def is_count(value: object) -> bool:
    """A whole number above 0."""
    return isinstance(value, int) and value > 0


def is_plain_name(value: object) -> bool:
    """The name of a file without its path."""
    return isinstance(value, str) and "/" not in value


def is_command(value: object) -> bool:
    """A command of Evidentia, or null."""
    return value is None or (isinstance(value, str) and value.startswith("evidentia "))


def forms(*names: str) -> dict[str, Form]:
    """Keys that must be there, whatever they hold."""
    return dict.fromkeys(names, anything)


LIBRARIES = dict.fromkeys(("numpy", "polars", "python", "scipy"), VERSION)
STAMP = {"evidentia": VERSION, "versions": LIBRARIES, "time": TIME, "command": is_command}
INPUTS = [{"name": is_plain_name, "role": anything, "rows": is_count, "sha256": is_hash}]
READING = {"map", "delimiter", "list_sep", "uids", "ties", "card"}
EVALUATION = {
    **forms("schema", "profile", "seed", "resamples", "thresholds", "files", *STAMP),
    "options": forms("measures", "by", "slices", "k", "dual", "interval")
    | {"reading": lambda reading: reading.keys() <= READING},
    "inputs": INPUTS,
    "read": forms("card", "left_out", "notes"),
}
ROLES = (("run", "tune", "candidates", "labels"), ("qrels", "trec_run"))
ORDER = ("run", "candidates", "tune", "labels", "qrels", "trec_run", "thresholds")
LEFT_OUT = (
    ("TRAIN rows", "TUNE rows of folds without EVAL rows", "answers without a label"),
    ("topics that are not in the qrels",),
)
LISTED = ("measures", "not_computed", "other_definitions", "checks")


def check_form(where: str, value: Any, form: Form, tally: Tally) -> None:
    """Compare a document with its form: keys, and patterns or tests of what they hold; a list has one form for all."""
    if isinstance(form, Mapping):
        tally.exact(f"{where}: keys", sorted(value), sorted(form))
        for key in form.keys() & value.keys():
            check_form(f"{where}: {key}", value[key], form[key], tally)
    elif isinstance(form, Sequence):
        for entry in value:
            check_form(where, entry, form[0], tally)
    elif isinstance(form, re.Pattern):
        tally.exact(f"{where}: its form", isinstance(value, str) and form.fullmatch(value) is not None, True)
    elif form is not anything:
        tally.exact(f"{where}: {form.__doc__ or 'its form'}", form(value), True)


def check_stamp(manifest: Mapping[str, Any], tally: Tally) -> None:
    """Versions, the time and the command have the form that they are written in: nobody can recompute them."""
    check_form("manifest.json", {key: manifest[key] for key in STAMP}, STAMP, tally)


def check_manifest(folder: ResultFolder, tally: Tally) -> None:
    """The manifest says nothing that nobody looks at; inputs are a table or TREC files, each once, in their order."""
    manifest = folder.manifest
    form = EVALUATION | (forms("applied_thresholds") if "applied_thresholds" in manifest else {})
    check_form("manifest.json", manifest, form, tally)
    roles = [source["role"] for source in manifest["inputs"]]
    trec = "qrels" in roles
    known = [role for role in ORDER if role in roles and role in (*ROLES[trec], "thresholds")]
    tally.exact("manifest.json: inputs: roles", roles, known)
    tally.exact("manifest.json: applied_thresholds", "applied_thresholds" in manifest, "thresholds" in roles)
    left_out = manifest["read"]["left_out"].items()
    strange = sorted(reason for reason, rows in left_out if reason not in LEFT_OUT[trec] or rows < 1)
    tally.exact("manifest.json: read: left_out: reasons", strange, [])


def check_head(folder: ResultFolder, study: Study, tally: Tally) -> None:
    """The settings and counts of the summary, and that no row went missing between the input and the result."""
    summary, manifest, read = folder.summary, folder.manifest, folder.manifest["read"]
    expected = {
        "schema": "evidentia.summary/1",
        **{key: manifest[key] for key in ("profile", "seed", "resamples")},
        "interval": manifest["options"]["interval"],
        "dataset": {
            "card": None if read["card"] is None else read["card"]["name"],
            "queries": len(study.queries),
            "positives": sum(query.label for query in study.queries),
            "posts": len({query.post for query in study.queries}),
            "criteria": len(study.criteria),
            "folds": len(study.folds) or None,
            "left_out": read["left_out"],
        },
        **{key: summary.get(key) for key in LISTED},
        "notes": read["notes"],
    }
    tally.exact("summary.json: keys", list(summary), list(expected))
    for key in [key for key in expected if key not in LISTED]:
        compare(f"summary.json: {key}", summary[key], expected[key], tally)
    rows = {str(source["role"]): source["rows"] for source in manifest["inputs"]}
    if "run" in rows and "qrels" not in rows:
        accounted = len(study.queries) + len(study.tune) + sum(read["left_out"].values())
        tally.exact(
            "manifest.json: inputs: rows that are here or left out", rows["run"] + rows.get("tune", 0), accounted
        )
    if "labels" in rows:
        tally.exact("manifest.json: inputs: labels", rows["labels"], len(study.queries))
    keys = {(query.post, query.criterion) for query in study.queries}
    tally.exact("per_query.csv: different queries", len(keys), len(study.queries))


def check_findings(folder: ResultFolder, findings: Sequence[Finding], tally: Tally) -> None:
    """Every check of the summary came out as it does when it is made again."""
    compare("summary.json: checks", folder.summary["checks"], [asdict(finding) for finding in findings], tally)


def check_thresholds(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """Every threshold of the manifest is what its fold's TUNE queries give, chosen on the posts that it names."""
    entries = points.expected.entries.values()
    tuned = [e.definition.args.cut for e in entries if e.definition.args.get("threshold") == "tuned"]
    chosen = [
        {
            **{"rule": "fpr_budget", "target": str(cut), "fold": fold},
            **{"value": threshold.value, "reason": threshold.reason},
            **{"tune_tpr": threshold.tpr, "tune_fpr": threshold.fpr, "tuned_on_posts": list(threshold.posts)},
        }
        for cut in dict.fromkeys(tuned)
        if cut is not None
        for fold, threshold in points.study.thresholds(cut).items()
    ]
    compare("manifest.json: thresholds", folder.manifest["thresholds"], chosen, tally)
