"""Part 2: the whole command on files, against ir_measures: wall time and peak memory of a new process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evidentia.synth import SyntheticRun, write_run, write_trec
from measuring import DisagreementError, Figure, show
from peers import ALLOWED_MEANS, MEASURES

LAUNCHER = Path(__file__).with_name("launch.py")
JUDGED, RELEVANT = "qrels.txt", "qrels-relevant.txt"  # every candidate judged, and only what is relevant, as mostly
PEERS = {JUDGED: "ir_measures, every candidate judged", RELEVANT: "ir_measures, only the relevant judged"}
WITH_PAGE = "evidentia, CSV, contract profile, and its page with figures"  # the peer draws nothing
ALLOCATOR = "_RJEM_MALLOC_CONF"  # polars sets it on import, as here; a command that inherited it would take a quarter more memory
FLOORS = {  # by command: how many times as fast as the peer, and how much of its memory, is aimed at
    "evidentia, CSV, contract profile": (2.4, 1.0),
    "evidentia, CSV, same measures": (1.0, 1.0),
    "evidentia, TREC files, same measures, every candidate judged": (1.0, 1.0),
    "evidentia, TREC files, same measures, only the relevant judged": (1.0, None),
    WITH_PAGE: (1.2, None),
}


@dataclass(frozen=True)
class Spent:
    """What a command took, from start to exit."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def cold_command(run: SyntheticRun, *, starts: int) -> list[Figure]:
    """Start every command several times, in turns, and compare the smallest of what they took."""
    spent: dict[str, list[Spent]] = {name: [] for name in (*PEERS.values(), *FLOORS)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_run(run, folder)
        write_trec(run, folder)
        lines = (folder / JUDGED).read_text().splitlines(keepends=True)
        (folder / RELEVANT).write_text("".join(line for line in lines if line.split()[3] != "0"))
        for start in range(starts):
            for qrels, peer in PEERS.items():
                spent[peer].append(started(_peer_command(qrels), folder, f"{qrels}.tsv"))
            for number, (system, command) in enumerate(_commands().items()):
                out = f"out-{number}-{start}"
                spent[system].append(started((*command, "-q", "--resamples", "0", "-o", out), folder, "printed.txt"))
                topics = run.per_query["has_evidence"].sum() if RELEVANT in command else run.per_query.height
                peer_means = folder / f"{_qrels_of(command)}.tsv"
                check_means(peer_means, folder / out / "summary.json", queries=int(topics))
    smallest = {what: _least(each) for what, each in spent.items()}
    figures = _figures(smallest)
    _show(smallest, figures, starts)
    return figures


def _commands() -> dict[str, tuple[str, ...]]:
    """Our commands in the order of ``FLOORS``."""
    names, evaluate = ",".join(named.over_all for named in MEASURES), ("evidentia", "evaluate")
    same = ("--measures", names, "--no-report")
    commands = (
        (*evaluate, "per_query.csv", "--no-report"),
        (*evaluate, "per_query.csv", *same),
        *((*evaluate, "--qrels", qrels, "--run", "run.txt", *same) for qrels in (JUDGED, RELEVANT)),
        (*evaluate, "per_query.csv"),
    )
    return dict(zip(FLOORS, commands, strict=True))


def _qrels_of(command: Sequence[str]) -> str:
    """The qrels of the peer that a command is compared with."""
    return RELEVANT if RELEVANT in command else JUDGED


def _peer_command(qrels: str) -> tuple[str, ...]:
    return ("ir_measures", qrels, "run.txt", *(named.ir for named in MEASURES), "-p", "10")  # digits


def started(command: Sequence[str], folder: Path, output: str) -> Spent:
    """Run a command of this environment in a folder as a new process; what it prints goes to a file there."""
    program = Path(sysconfig.get_path("scripts")) / command[0]
    words = [sys.executable, "-I", "-S", str(LAUNCHER), output, str(program), *command[1:]]
    usual = {name: value for name, value in os.environ.items() if name != ALLOCATOR}
    told = subprocess.run(words, cwd=folder, env=usual, stdout=subprocess.PIPE, text=True, check=True)
    answer = json.loads(told.stdout)
    if answer.pop("exit_code") != 0:
        raise SystemExit(f"{command[0]} failed; its message is above.")
    return Spent(**answer)


def check_means(peer: Path, summary: Path, *, queries: int) -> None:
    """Refuse if the means differ; where ours is over the queries with evidence, the others would add only zeros."""
    theirs = {name: float(value) for name, value in (line.split() for line in peer.read_text().splitlines())}
    ours = json.loads(summary.read_text(encoding="utf-8"))["measures"]
    for named in MEASURES:
        found = ours[named.over_all if named.over_all in ours else named.ours]
        mean = found["value"] * found["n"] / queries
        if not abs(mean - theirs[named.ir]) <= ALLOWED_MEANS:
            raise DisagreementError(f"{named.ours}: evidentia says {mean:.10f}, ir_measures {theirs[named.ir]:.10f}")


def _least(spent: Sequence[Spent]) -> Spent:
    return Spent(
        min(one.seconds for one in spent), min(one.cpu_seconds for one in spent), min(one.peak_mib for one in spent)
    )


def _figures(spent: dict[str, Spent]) -> list[Figure]:
    figures = []
    for system, command in _commands().items():
        mine, peer = spent[system], spent[PEERS[_qrels_of(command)]]
        faster, leaner = FLOORS[system]
        figures += [
            Figure("cold command", f"{system}: time", "s", mine.seconds, peer.seconds, floor=faster),
            Figure("cold command", f"{system}: memory", "MiB", mine.peak_mib, peer.peak_mib, floor=leaner),
        ]
    page = spent[WITH_PAGE].peak_mib
    figures.append(Figure("cold command", f"{WITH_PAGE}: 300 MiB over peak", "MiB", page, 300.0, floor=1.0))
    return figures


def _show(spent: dict[str, Spent], figures: Sequence[Figure], starts: int) -> None:
    show(
        f"2. The cold command: smallest of {starts} starts",
        ("", "wall s", "CPU s", "peak MiB", ""),
        [(what, f"{s.seconds:.2f}", f"{s.cpu_seconds:.2f}", f"{s.peak_mib:.0f}", "") for what, s in spent.items()],
    )
    show(
        "   ir_measures over evidentia",
        ("", "ratio", "target"),
        [(figure.what, f"{figure.ratio:.2f}", figure.verdict) for figure in figures],
        "printed means agree; the contract profile computes and writes everything that the run allows",
        "memory and processor time are those of all processes of a command: with figures there is a second one, which draws",
    )
