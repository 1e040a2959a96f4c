"""Tables larger than memory: `evidentia evaluate` in blocks beside a bare scan by polars, its growth, and peers until they fail.

    python benchmarks/scale.py --sizes 1,10 --folder BIG           # a minute
    python benchmarks/scale.py --sizes 1,10,100,1000 --folder BIG --write

Sizes are multiples of the contract's 1,477 posts (14,770 queries, some 300,000 candidates). Runs are made once and kept in the
folder. A thousand times the contract's size takes 12 GB there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import record
from cold import ALLOCATOR, LAUNCHER, Spent
from evidentia.errors import counted
from measuring import DisagreementError, Figure, cores, show, versions
from scale_floor import tables
from scale_peers import PEERS
from scale_pictures import draw_growth
from scale_plan import Measured, write_plan

HERE = Path(__file__).parent
POSTS, SEED = 1_477, 7
MEMORY = 2_000_000_000
CEILING = 6.0  # times the floor, for all measures of the contract's profile
PEER_MEMORY, PEER_SECONDS = 16_000_000_000, 600
MODULES = {"scikit-learn": "sklearn"}
ALLOWED = 1e-6  # pytrec_eval keeps scores in single precision
PYTHON = ("python",)


@dataclass(frozen=True)
class Size:
    """One run and what was measured on it."""

    times: int
    queries: int
    candidates: int
    megabytes: float
    scan: Spent
    group: Spent
    ours: Spent

    @property
    def floor(self) -> float:
        """Seconds of the scan and the grouping together."""
        return self.scan.seconds + self.group.seconds

    @property
    def figure(self) -> Figure:
        """Ours beside the floor."""
        return Figure("scale", f"{self.times}x", "s", self.ours.seconds, self.floor, ceiling=CEILING)


@dataclass(frozen=True)
class Failed:
    """How a process ended that did not do its work."""

    why: str


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary) if arguments.folder is None else arguments.folder
        home.mkdir(parents=True, exist_ok=True)
        sizes = [_measured(home, times, starts=arguments.starts) for times in arguments.sizes]
        _show_growth(sizes)
        _show_peers(home, sizes, arguments.peers)
        phases = _phases(home, sizes[-1].times)
    picture = draw_growth([(s.candidates, s.ours.seconds, s.floor, s.ours.peak_mib) for s in sizes], MEMORY / 2**20)
    if arguments.picture is not None:
        arguments.picture.write_text(picture, encoding="utf-8")
    if arguments.write:
        listed = ",".join(str(times) for times in arguments.sizes)
        how = f"python benchmarks/scale.py --sizes {listed} --write"
        used = versions("evidentia", "numpy", "polars", "pytrec-eval-terrier", "ir-measures", "scikit-learn", "ranx")
        record.write("scale", used, how=how)
        (HERE.parent / "docs" / "images" / "scale.svg").write_text(picture, encoding="utf-8")
        last = sizes[-1]
        write_plan(Measured(last.queries, last.candidates, last.megabytes * 1e6, last.ours.cpu_seconds, **phases), how)


def _measured(home: Path, times: int, *, starts: int) -> Size:
    """Make the run where it is not there yet, and take the smallest of several starts of each command."""
    folder = _made(home, times)
    per_query, candidates = tables(folder)
    floor = [
        [_run(folder, (*PYTHON, HERE / "scale_floor.py", part, ".")) for _ in range(starts)]
        for part in ("scan", "group")
    ]
    ours = [_evaluated(folder) for _ in range(starts)]
    files = [
        path for table in (per_query, candidates) for path in (table.rglob("*.parquet") if table.is_dir() else [table])
    ]
    rows = [pl.scan_parquet(table).select(pl.len()).collect().item() for table in (per_query, candidates)]
    return Size(times, *rows, sum(path.stat().st_size for path in files) / 1e6, *map(_least, (*floor, ours)))


def _made(home: Path, times: int) -> Path:
    """A run without tied scores, which tools break differently."""
    folder = home / f"x{times}"
    if not (folder / "done").exists():
        words = ("--posts", str(POSTS * times), "--seed", str(SEED), "--ties", "0", "--format", "parquet", "--force")
        _must(_run(home, ("evidentia", "synth", *words, "-o", folder.name)))
        (folder / "done").touch()
    return folder


def _evaluated(folder: Path) -> Spent:
    """The command as a user gives it, with all measures of the contract's profile."""
    per_query, candidates = (table.name for table in tables(folder))
    words = ("--memory", str(MEMORY), "--resamples", "0", "--no-report", "-q", "-o", "out", "--force")
    return _must(_run(folder, ("evidentia", "evaluate", per_query, "--candidates", candidates, *words)))


def _run(folder: Path, command: Sequence[object], *, seconds: float | None = None) -> Spent | Failed:
    """Run a command of this environment in a folder; where its time is up, it and all that it started are ended."""
    program = Path(sysconfig.get_path("scripts")) / str(command[0])
    words = [sys.executable, "-I", "-S", str(LAUNCHER), "printed.txt", str(program), *map(str, command[1:])]
    usual = {name: value for name, value in os.environ.items() if name != ALLOCATOR}
    with (
        (folder / "errors.txt").open("w") as errors,
        subprocess.Popen(
            words, cwd=folder, env=usual, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        ) as process,
    ):
        try:
            answer, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return Failed(f"not done after {seconds:,.0f} s")
    spent = json.loads(answer)
    if spent.pop("exit_code") != 0:
        lines = (folder / "errors.txt").read_text().strip().splitlines()
        return Failed(lines[-1] if lines else "ended by the system")
    return Spent(**spent)


def _must(spent: Spent | Failed) -> Spent:
    if isinstance(spent, Failed):
        raise SystemExit(f"A command failed: {spent.why}")
    return spent


def _least(spent: Sequence[Spent | Failed]) -> Spent:
    """The smallest time, and the largest memory: a limit must always hold."""
    done = [_must(each) for each in spent]
    fastest = min(done, key=lambda each: each.seconds)
    return Spent(fastest.seconds, fastest.cpu_seconds, max(each.peak_mib for each in done))


def _show_growth(sizes: Sequence[Size]) -> None:
    show(
        "1. The contract's profile in blocks, and the floor",
        (
            "",
            "queries",
            "candidates",
            "MB",
            "scan s",
            "group s",
            "evaluate s",
            "CPU s",
            "peak MiB",
            "candidates/s/core",
            "times the floor",
            "target",
        ),
        [
            (
                *(f"{s.times}x", f"{s.queries:,}", f"{s.candidates:,}", f"{s.megabytes:,.0f}"),
                *(
                    f"{s.scan.seconds:.2f}",
                    f"{s.group.seconds:.2f}",
                    f"{s.ours.seconds:.2f}",
                    f"{s.ours.cpu_seconds:.2f}",
                ),
                *(f"{s.ours.peak_mib:,.0f}", f"{s.candidates / s.ours.seconds / cores():,.0f}"),
                *(f"{s.figure.ratio:.2f}", s.figure.verdict),
            )
            for s in sizes
        ],
        f"evidentia evaluate per_query --candidates candidates --memory {MEMORY / 1e9:g}GB --resamples 0 --no-report: memory is "
        "that of all its processes together, sampled every 5 ms",
        "the floor is a streaming scan by polars that adds up or hashes every column of both tables, and a streaming group-by of "
        "the candidates into queries, each in a process of its own",
    )
    first, last = sizes[0], sizes[-1]
    if last.times > first.times:
        show(
            "   growth",
            ("", "smallest", "largest", "ratio", "of candidates"),
            [
                _growth("seconds", first.ours.seconds, last.ours.seconds, first, last),
                _growth("peak MiB", first.ours.peak_mib, last.ours.peak_mib, first, last),
            ],
        )


def _growth(what: str, small: float, large: float, first: Size, last: Size) -> tuple[str, ...]:
    return (
        what,
        f"{small:.1f}",
        f"{large:.1f}",
        f"{large / small:.2f}",
        f"{last.candidates / first.candidates:.0f} times",
    )


def _show_peers(home: Path, sizes: Sequence[Size], names: Sequence[str]) -> None:
    """Every peer on every size until it fails; what it computes must be what we do."""
    rows = []
    for name in names:
        cells, failed = [], ""
        for size in sizes:
            cell, failed = ("", failed) if failed else _peer(home / f"x{size.times}", name, size.queries)
            cells.append(cell)
        rows.append((name, *cells, failed or "no size was too much"))
    show(
        "2. Peers, seconds and MiB, each until it fails",
        ("", *(f"{size.times}x" for size in sizes), "where it stops"),
        rows,
        f"each in a process of its own with {PEER_MEMORY / 1e9:g} GB of address space and {PEER_SECONDS} s; nDCG@10 and MRR of all "
        "queries, scikit-learn the two areas over candidates; means agree with ours within 1e-6",
    )


def _peer(folder: Path, name: str, queries: int) -> tuple[str, str]:
    """What a peer took, or why it failed."""
    if importlib.util.find_spec(MODULES.get(name, name)) is None:
        return "", "not installed"
    spent = _run(folder, (*PYTHON, HERE / "scale_peers.py", name, ".", PEER_MEMORY), seconds=PEER_SECONDS)
    if isinstance(spent, Failed):
        return "fails", f"{folder.name[1:]}x: {spent.why[:80]}"
    _agree(name, json.loads((folder / "printed.txt").read_text()), folder / "out" / "summary.json", queries)
    return f"{spent.seconds:.1f} s, {spent.peak_mib:,.0f}", ""


def _agree(peer: str, means: dict[str, float], summary: Path, queries: int) -> None:
    """Refuse other means; ours of rankings are over the queries with evidence, and the others add only zeros to theirs."""
    measures = json.loads(summary.read_text(encoding="utf-8"))["measures"]
    for name, mean in means.items():
        share = 1.0 if "level=candidate" in name else measures[name]["n"] / queries
        if not abs(measures[name]["value"] * share - mean) <= ALLOWED:
            raise DisagreementError(f"{name}: evidentia says {measures[name]['value'] * share:.9f}, {peer} {mean:.9f}")


def _phases(home: Path, times: int) -> dict[str, float]:
    """How long the parts of an evaluation take that do not spread over machines."""
    folder = home / f"x{times}"
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        _must(_run(folder, (*PYTHON, HERE / "scale_phases.py", ".", MEMORY, scratch)))
    phases: dict[str, float] = json.loads((folder / "printed.txt").read_text())
    names = (("finding posts", "before"), ("blocks", "blocks"), ("orders and estimates", "after"))
    show(
        f"3. Phases of an evaluation of {times}x",
        ("", "s", ""),
        [(what, f"{phases[key]:.2f}", "") for what, key in names],
        f"{counted(int(phases['number']), 'block')} sent {phases['bytes_sent'] / 1e6:,.1f} MB of narrow columns; only their phase "
        "spreads over machines",
    )
    return phases


def _whole(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(word) for word in text.split(",")))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=_whole, default=(1, 10), metavar="LIST", help="multiples of the contract's size"
    )
    parser.add_argument("--starts", type=int, default=3, help="how often each command is started")
    parser.add_argument("--folder", type=Path, help="where runs are kept; a temporary folder otherwise")
    parser.add_argument(
        "--peers", type=lambda text: [p for p in text.split(",") if p], default=list(PEERS), metavar="LIST"
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="also write the picture of the growth, as SVG")
    parser.add_argument("--write", action="store_true", help="write tables, picture and the plan of docs/scale.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
