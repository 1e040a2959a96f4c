"""What `scale.py` asks about one evaluation: how long each of its phases takes, and what its workers send to it.

Usage: python scale_phases.py RUN_FOLDER MEMORY SCRATCH
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from evidentia.workflow import evaluate_tables
from scale_floor import tables


def answer() -> None:
    folder, memory, scratch = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    ends: list[float] = []
    sent = 0

    def progress(done: int, of: int) -> None:
        nonlocal sent
        ends.append(time.perf_counter())
        if done == of:
            sent = sum(path.stat().st_size for path in scratch.rglob("*.column"))

    started = time.perf_counter()
    evaluate_tables(*tables(folder), memory=memory, scratch=scratch, progress=progress)
    ended = time.perf_counter()
    one = (ends[-1] - ends[0]) / max(len(ends) - 1, 1)  # the first is there one block after the work began
    blocks = one * len(ends)
    phases = {"before": max(ends[0] - one - started, 0.0), "blocks": blocks, "after": ended - ends[-1]}
    print(json.dumps(phases | {"bytes_sent": sent, "number": len(ends)}))


if __name__ == "__main__":
    answer()
