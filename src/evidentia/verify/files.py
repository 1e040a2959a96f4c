"""The bytes of a result: every file against its hash, none missing, none added."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from evidentia.results.derived import is_derived
from evidentia.verify.folder import ResultFolder
from evidentia.verify.tally import Tally

ABOUT = frozenset({"manifest.json", "verification.json", "report.key"})  # one lists the others, two are written later
DATA = ("candidates.parquet", "tune.parquet")  # not every run has them


def check_hashes(folder: ResultFolder, tally: Tally) -> None:
    """Every file that the manifest lists is there with these bytes, and there is no other."""
    listed = folder.manifest["files"]
    for name, said in listed.items():
        tally.exact(f"{name}: SHA-256", said, folder.sha256(name) if folder.has(name) else None)
    there = {path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*") if path.is_file()}
    for name in sorted(there - listed.keys() - ABOUT):
        if is_derived(name):  # made from the other files, and made again after every verification
            continue
        tally.exact(f"{name}: listed in manifest.json", None, "a file")


def check_listing(folder: ResultFolder, made: Iterable[str], tally: Tally) -> None:
    """The files are those that a result of this run has, and no others."""
    optional = [name for name in DATA if name in folder.manifest["files"]]
    given = ["thresholds.json"] if "applied_thresholds" in folder.manifest else []
    expected = {"summary.json", "per_query.csv", *optional, *given, *made}
    tally.exact("manifest.json: files", sorted(folder.manifest["files"]), sorted(expected))


def check_inputs(folder: ResultFolder, inputs: Path, tally: Tally) -> None:
    """The input files have the bytes that the result was made from."""
    for given in folder.manifest["inputs"]:
        path = inputs / str(given["name"])
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        tally.exact(f"input {given['name']}: SHA-256", given["sha256"], found)
