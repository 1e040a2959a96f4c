"""Options that several commands share, and how lists are written: repeated, or separated by commas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from evidentia.errors import InputError, shown
from evidentia.listed import listed as listed  # noqa: PLC0414 - commands take it from here


def option(usage: str, words: str, **more: Any) -> Any:
    """An option as it is used, ``--name VALUE``, with the words of its help."""
    names, metavar = [w for w in usage.split() if w[0] == "-"], [w for w in usage.split() if w[0] != "-"]
    return typer.Option(*names, help=words, metavar=metavar[0] if metavar else None, **more)


def argument(words: str, **more: Any) -> Any:
    """An argument with the words of its help."""
    return typer.Argument(help=words, **more)


SCALE = "Tables larger than memory"
Mapped = Annotated[list[str] | None, option("--map NAME=COLUMN", "Read NAME from the file's COLUMN. Repeatable.")]
RunMapped = Annotated[
    list[str] | None,
    option("--map NAME=COLUMN", "Read NAME from the file's COLUMN. Repeatable. 'auto' takes what is certain."),
]
ListSep = Annotated[
    str | None, option("--list-sep SIGN", "What joins uids in a cell: a sign, 'space', or 'json' for printed lists.")
]
Uids = Annotated[str, option("--uids", "What a uid is unique in: 'run', or its 'post' only.")]
CandidatesFile = Annotated[Path | None, option("--candidates FILE", "Table of scored candidates of every query.")]
TuneFile = Annotated[Path | None, option("--tune FILE", "The TUNE rows, where they are in a file of their own.")]
Delimiter = Annotated[str, option("--delimiter", "What separates the cells of a CSV file.")]
Card = Annotated[str | None, option("--card CARD", "Dataset card: a TOML file, or the name redsm5.")]
Qrels = Annotated[Path | None, option("--qrels FILE", "TREC qrels, together with --run.")]
TrecRun = Annotated[Path | None, option("--run FILE", "TREC run, together with --qrels.")]
Ties = Annotated[
    str, option("--ties", "Equal scores in a TREC run: 'input' keeps their order, 'trec' does as trec_eval.")
]
By = Annotated[list[str] | None, option("--by COLUMN", "Also report every measure per value of this column.")]
Out = Annotated[Path | None, option("-o --out OUT", "Folder for the result.")]
Resamples = Annotated[int, option("--resamples", "Bootstrap resamples of posts; 0 turns intervals off.")]
SampleSeed = Annotated[int, option("--seed", "Seed of the resamples.")]
Bootstrap = Annotated[
    str, option("--bootstrap", "exact (default up to 1,000,000 clusters), or poisson: mergeable, by a hash of each id.")
]
Memory = Annotated[
    str | None,
    option(
        "--memory SIZE",
        "Read Parquet files block by block within this much memory, for example 2GB.",
        rich_help_panel=SCALE,
    ),
]
Engine = Annotated[
    str | None,
    option("--engine ENGINE", "Where blocks are read: local, dask, or dask:HOST:PORT.", rich_help_panel=SCALE),
]
Workers = Annotated[
    int | None, option("--workers N", "Processes that read blocks; default: one per core.", rich_help_panel=SCALE)
]
Scratch = Annotated[
    Path | None,
    option("--scratch FOLDER", "Where temporary files go; default: the system's place.", rich_help_panel=SCALE),
]
Level = Annotated[float, option("--ci", "Level of the intervals.")]
Alpha = Annotated[float, option("--alpha", "Largest corrected p that counts as a difference.")]


def _allow(limit: int) -> int:
    from evidentia.tables.limits import set_max_bytes

    return set_max_bytes(limit)


MAX_BYTES = 1_000_000_000
MaxBytes = Annotated[int, option("--max-bytes N", "How many bytes a gzip file may unpack to.", callback=_allow)]
AllowDisjoint = Annotated[bool, option("--allow-disjoint", "Do not mind that no gold uid occurs in any ranking.")]
NoReport = Annotated[bool, option("--no-report", "Write numbers and tables, but neither page nor figures.")]
Force = Annotated[bool, option("--force", "Replace OUT if it is an earlier result.")]
NoFigures = Annotated[bool, option("--no-report", "Draw no page and no figures.")]
Everything = Annotated[Path, option("-o --out OUT", "Folder for everything.")]
AsJson = Annotated[bool, option("--json", "Print only the summary, as JSON.")]
Quiet = Annotated[bool, option("--quiet -q", "Print nothing but errors.")]
ProfileName = Annotated[str, option("--profile", "Which definitions names stand for: contract, e2e, paper or audit.")]


def result_of(folder: Path) -> Path:
    """The result inside the folder of `evidentia run`; any other folder is what it is."""
    inner = folder / "result"
    is_run = (inner / "summary.json").is_file() and not (folder / "summary.json").exists()
    return inner if is_run else folder


ResultFolder = Annotated[
    Path, argument("A result folder, or that of `evidentia run`.", metavar="OUT", callback=result_of)
]


def exit_unless(passed: bool) -> None:
    """End the command with 1 where what it judged did not pass."""
    if not passed:
        raise typer.Exit(1)


def mapping_of(values: list[str] | None) -> dict[str, str]:
    """The column mapping that --map options give.

    >>> mapping_of(["gold_sent_uids=gold_ids"])
    {'gold_sent_uids': 'gold_ids'}
    """
    mapping: dict[str, str] = {}
    for value in listed(values):
        name, equals, column = (part.strip() for part in value.partition("="))
        if not equals or not name or not column:
            raise InputError(f"--map {shown(value)} is not NAME=COLUMN, for example ranked_sent_uids=reranked_topk.")
        if name in mapping:
            raise InputError(f"--map names {shown(name)} twice. Each name can come from one column only.")
        mapping[name] = column
    return mapping


Choice = TypeVar("Choice", bound=str)
UIDS: tuple[Literal["run", "post"], ...] = ("run", "post")
TIES: tuple[Literal["input", "trec"], ...] = ("input", "trec")
INTERVALS: tuple[Literal["auto", "percentile", "bca"], ...] = ("auto", "percentile", "bca")
BLOCK_INTERVALS: tuple[Literal["auto", "percentile"], ...] = ("auto", "percentile")
AREA_INTERVALS: tuple[Literal["percentile", "bca"], ...] = ("percentile", "bca")
BOOTSTRAPS: tuple[Literal["auto", "exact", "poisson"], ...] = ("auto", "exact", "poisson")
MISMATCHES: tuple[Literal["error", "intersect"], ...] = ("error", "intersect")


def choice(option: str, value: str, choices: tuple[Choice, ...]) -> Choice:
    """The value of an option that has few."""
    for known in choices:
        if value == known:
            return known
    *others, last = choices
    raise InputError(f"{option} must be {', '.join(others)}{' or ' if others else ''}{last}.")


def depths(values: list[str] | None) -> tuple[str, ...] | None:
    """The K list: whole numbers above 0, or ALL."""
    ks = listed(values)
    wrong = [k for k in ks if k.upper() != "ALL" and not (k.isdecimal() and int(k) > 0)]
    if wrong:
        raise InputError(f"--k {shown(wrong[0])} is not a whole number above 0 or ALL.")
    return tuple(k.upper() for k in ks) or None
