"""Options that several commands share, and how lists are written: repeated, or separated by commas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evidentia.errors import InputError, shown
from evidentia.listed import listed as listed  # noqa: PLC0414 - commands take it from here

Mapped = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="NAME=COLUMN", help="Read NAME from the file's COLUMN. Repeatable."),
]
CandidatesFile = Annotated[
    Path | None, typer.Option("--candidates", metavar="FILE", help="Table of scored candidates of every query.")
]
TuneFile = Annotated[
    Path | None, typer.Option("--tune", metavar="FILE", help="The TUNE rows, where they are in a file of their own.")
]
Delimiter = Annotated[str, typer.Option("--delimiter", help="What separates the cells of a CSV file.")]
Card = Annotated[
    str | None, typer.Option("--card", metavar="CARD", help="Dataset card: a TOML file, or the name redsm5.")
]
Qrels = Annotated[Path | None, typer.Option("--qrels", metavar="FILE", help="TREC qrels, together with --run.")]
TrecRun = Annotated[Path | None, typer.Option("--run", metavar="FILE", help="TREC run, together with --qrels.")]
Ties = Annotated[
    str, typer.Option("--ties", help="Equal scores in a TREC run: 'input' keeps their order, 'trec' does as trec_eval.")
]
By = Annotated[
    list[str] | None, typer.Option("--by", metavar="COLUMN", help="Also report every measure per value of this column.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the resamples; there is no default.")]
Out = Annotated[Path | None, typer.Option("-o", "--out", metavar="OUT", help="Folder for the result.")]
Mode = Annotated[str | None, typer.Option("--mode", help="Which experiment of the file.")]
Against = Annotated[
    Path | None, typer.Option("--against", metavar="OTHER", help="A second run; differences are RUN minus OTHER.")
]
AgainstMode = Annotated[
    str | None,
    typer.Option("--against-mode", help="Which experiment of the second run; without --against, of the same file."),
]
Confidences = Annotated[
    list[str] | None,
    typer.Option("--confidence", metavar="SIGNAL", help="Rank by this signal. Repeatable; 'all' ranks all of them."),
]
Coverages = Annotated[
    list[str] | None, typer.Option("--coverage", metavar="LIST", help="Coverages to match: 0.1,0.2,...")
]
Loss = Annotated[
    str | None, typer.Option("--loss", help="One loss for all measures: abs, abs_norm, zero_one or squared.")
]
ItemMax = Annotated[
    float | None, typer.Option("--item-max", help="Largest possible error of an item of a table, for abs_norm.")
]
SelectiveMeasures = Annotated[
    list[str] | None,
    typer.Option("--measures", metavar="NAMES", help="Only these, for example AURC,MAE@coverage=0.5."),
]
ParticipantResamples = Annotated[
    int, typer.Option("--resamples", help="Bootstrap resamples of participants; 0 turns intervals off.")
]
Level = Annotated[float, typer.Option("--ci", help="Level of the intervals.")]
IntervalMethod = Annotated[str, typer.Option("--ci-method", help="percentile or bca.")]
Alpha = Annotated[float, typer.Option("--alpha", help="Largest corrected p that counts as a difference.")]
OtherParticipants = Annotated[
    str,
    typer.Option("--on-mismatch", help="Other participants in one run: 'error', or 'intersect' to compare the shared."),
]


def _allow(limit: int) -> int:
    from evidentia.tables.limits import set_max_bytes

    return set_max_bytes(limit)


MAX_BYTES = 1_000_000_000
MaxBytes = Annotated[
    int,
    typer.Option("--max-bytes", metavar="N", callback=_allow, help="How many bytes a gzip file may unpack to."),
]
AllowDisjoint = Annotated[
    bool,
    typer.Option("--allow-disjoint", help="Do not mind that no gold uid occurs in any ranking."),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write numbers and tables, but neither page nor figures.")]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it is an earlier result.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
ProfileName = Annotated[
    str, typer.Option("--profile", help="Which definitions names stand for: contract, e2e, paper or audit.")
]


def result_of(folder: Path) -> Path:
    """The result inside the folder of `evidentia run`; any other folder is what it is."""
    inner = folder / "result"
    is_run = (inner / "summary.json").is_file() and not (folder / "summary.json").exists()
    return inner if is_run else folder


ResultFolder = Annotated[
    Path, typer.Argument(metavar="OUT", help="A result folder, or that of `evidentia run`.", callback=result_of)
]


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


def depths(values: list[str] | None) -> tuple[str, ...] | None:
    """The K list: whole numbers above 0, or ALL."""
    ks = listed(values)
    wrong = [k for k in ks if k.upper() != "ALL" and not (k.isdecimal() and int(k) > 0)]
    if wrong:
        raise InputError(f"--k {shown(wrong[0])} is not a whole number above 0 or ALL.")
    return tuple(k.upper() for k in ks) or None
