"""What cannot be computed from the rows stands twice, in the summary and in the manifest, and must be the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evidentia.verify.folder import ResultFolder
from evidentia.verify.tally import Tally

MANIFEST = {
    *("schema", "evidentia", "versions", "command", "options", "time", "profile", "seed", "resamples"),
    *("inputs", "read", "thresholds", "files"),
}
OPTIONS = {"measures", "by", "slices", "k", "dual", "interval", "reading"}
READING = {"map", "delimiter", "ties", "card"}
DATASET = ["card", "queries", "positives", "posts", "criteria", "folds", "left_out"]
OTHER = ["name", "profiles", "definition", "value", "degenerate"]
ROLES = (("run", "tune", "candidates"), ("qrels", "trec_run"))
LEFT_OUT = (("TRAIN rows", "TUNE rows of folds without EVAL rows"), ("topics that are not in the qrels",))
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check_record(folder: ResultFolder, tally: Tally) -> None:
    """Summary and manifest hold the same settings and the same account of what was read, and nothing else."""
    summary, manifest = folder.summary, folder.manifest
    _check_keys(folder, tally)
    read, dataset = manifest["read"], summary["dataset"]
    name = None if read["card"] is None else read["card"]["name"]
    tally.exact("summary.json: interval", summary["interval"], manifest["options"]["interval"])
    tally.exact("summary.json: dataset: keys", list(dataset), DATASET)
    tally.exact("summary.json: dataset: card", dataset["card"], name)
    tally.exact("summary.json: dataset: left_out", dataset["left_out"], read["left_out"])
    tally.exact("summary.json: notes", summary["notes"], read["notes"])
    for other in summary["other_definitions"]:
        tally.exact(f"summary.json: other_definitions: {other['name']}: keys", list(other), OTHER)
    _check_inputs(manifest, tally)


def _check_keys(folder: ResultFolder, tally: Tally) -> None:
    """The manifest says nothing that nobody looks at."""
    manifest = folder.manifest
    keys = manifest.keys() - {"applied_thresholds"}
    tally.exact("manifest.json: keys", sorted(keys), sorted(MANIFEST))
    tally.exact("manifest.json: read: keys", sorted(manifest["read"]), ["card", "left_out", "notes"])
    tally.exact("manifest.json: options: keys", sorted(manifest["options"]), sorted(OPTIONS))
    strange = sorted(manifest["options"]["reading"].keys() - READING)
    tally.exact("manifest.json: options: reading: unknown keys", strange, [])


def _check_inputs(manifest: Mapping[str, Any], tally: Tally) -> None:
    """The inputs are those of a table or of TREC files, each once, in their order, and their rows are possible."""
    trec = any(source["role"] == "qrels" for source in manifest["inputs"])
    known = [*ROLES[trec], "thresholds"]
    roles = [source["role"] for source in manifest["inputs"]]
    tally.exact("manifest.json: inputs: roles", roles, [role for role in _in_reading_order(roles) if role in known])
    for source in manifest["inputs"]:
        where, hashed = f"manifest.json: inputs: {source['role']}", source["sha256"]
        tally.exact(f"{where}: keys", sorted(source), ["name", "role", "rows", "sha256"])
        plain = hashed is None or (isinstance(hashed, str) and _SHA256.fullmatch(hashed) is not None)
        tally.exact(f"{where}: sha256 is a hash, or null for a table in memory", plain, True)
        tally.exact(f"{where}: rows is a count", isinstance(source["rows"], int) and source["rows"] > 0, True)
    tally.exact("manifest.json: read: left_out: reasons", _strange(manifest, trec=trec), [])


def _in_reading_order(roles: list[str]) -> list[str]:
    order = ("run", "candidates", "tune", "qrels", "trec_run", "thresholds")
    return [role for role in order if role in roles]


def _strange(manifest: Mapping[str, Any], *, trec: bool) -> list[str]:
    """Reasons to leave rows out that this kind of input cannot have, or that left none out."""
    return sorted(
        reason for reason, rows in manifest["read"]["left_out"].items() if reason not in LEFT_OUT[trec] or rows < 1
    )
