"""The bytes of a result: every file against its hash, none missing, none added."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from evidentia.verify.folder import ResultFolder
from evidentia.verify.tally import Tally

ABOUT = frozenset({"manifest.json", "verification.json", "report.key"})  # one lists the others, two are written later
LOG = "run.log"  # when an ablation did what: it holds times, and nothing is computed from it
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (?:fold \S{1,40} \w{1,20}|\d+ stages? reused) \d+\.\d s")
DRAWN = re.compile(r"report\.(?:json|html|tex|md)|figures/[^/]+\.(?:svg|png|pdf)|figures/drawn/[^/]+\.csv")
DATA = ("candidates.parquet", "tune.parquet")  # not every run has them


def check_hashes(folder: ResultFolder, tally: Tally, *, nested: Collection[str] = ()) -> None:
    """Every file that the manifest lists is there with these bytes, and nothing else is there but its report.

    Results that are ``nested`` in the folder are verified by themselves; it has no report of its own then.
    """
    listed = folder.manifest["files"]
    for name, hashed in listed.items():
        tally.exact(f"{name}: SHA-256", hashed, folder.sha256(name) if folder.has(name) else None)
    about = (ABOUT - {"report.key"}) | {LOG} if nested else ABOUT
    files, others = contents(folder.path)
    known = {name for name in files if name in listed or name in about or (not nested and is_drawn(name))}
    known |= {name for name in files if _is_below(name, nested)}
    for name in sorted(set(files) - known):
        tally.exact(f"{name}: known", "a file", None)
    folders = {parent.as_posix() for name in known for parent in PurePosixPath(name).parents}
    for name, kind in sorted(others.items()):
        if kind != "a folder" or (name not in folders and not _is_below(name, nested)):
            tally.exact(f"{name}: known", kind, None)


def check_log(folder: ResultFolder, tally: Tally) -> None:
    """The log of an ablation has a line for each stage, and no other words."""
    if folder.has(LOG):
        lines = (folder.path / LOG).read_text(encoding="utf-8").splitlines()
        strange = sum(LINE.fullmatch(line) is None for line in lines)
        tally.exact(f"{LOG}: lines of another form", strange, 0)


def _is_below(name: str, folders: Collection[str]) -> bool:
    return any(name.startswith(f"{folder}/") for folder in folders)


def is_drawn(name: str) -> bool:
    """Whether a file is part of a report, which whoever can draw one compares.

    >>> is_drawn("figures/roc.svg"), is_drawn("figures/roc.csv"), is_drawn("report.pdf")
    (True, False, False)
    """
    return DRAWN.fullmatch(name) is not None


def is_plain(path: Path) -> bool:
    """Whether a folder holds files and folders only, neither links nor devices, so that it can be read."""
    try:
        return set(contents(path)[1].values()) <= {"a folder"}
    except OSError:
        return False


def contents(path: Path) -> tuple[list[str], dict[str, str]]:
    """The names of all plain files below a folder, and what else is there by its kind; a link is not followed."""
    files: list[str] = []
    others: dict[str, str] = {}
    waiting = [path]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                name = Path(entry.path).relative_to(path).as_posix()
                if entry.is_symlink():
                    others[name] = "a link"
                elif entry.is_file():
                    files.append(name)
                elif entry.is_dir():
                    others[name] = "a folder"
                    waiting.append(Path(entry.path))
                else:
                    others[name] = "neither a file nor a folder"
    return files, others


def check_listing(folder: ResultFolder, written: Iterable[str], tally: Tally) -> None:
    """The files are those that a result of this run has, and no others."""
    optional = [name for name in DATA if name in folder.manifest["files"]]
    source = ["thresholds.json"] if "applied_thresholds" in folder.manifest else []
    expected = {"summary.json", "per_query.csv", *optional, *source, *written}
    tally.exact("manifest.json: files", sorted(folder.manifest["files"]), sorted(expected))


def check_inputs(folder: ResultFolder, inputs: Path, tally: Tally) -> None:
    """The input files have the bytes that the result was made from."""
    for source in folder.manifest["inputs"]:
        path = inputs / str(source["name"])
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        tally.exact(f"input {source['name']}: SHA-256", source["sha256"], digest)
