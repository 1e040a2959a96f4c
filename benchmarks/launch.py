"""Run one command and print its wall time, processor time and peak memory, of all its processes together, as JSON.

A process of its own, and a small one: the kernel counts the memory of whoever starts a command into that command's peak.
Usage: python -I -S launch.py OUTPUT_FILE PROGRAM [ARGUMENT ...]
"""

import json
import os
import sys
import time

BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024


def resident(process: int) -> int:
    """Bytes of memory that a process and those that it started have; 0 where the system does not tell."""
    try:
        others = [child for thread in os.listdir(f"/proc/{process}/task") for child in started_by(process, thread)]
        with open(f"/proc/{process}/statm") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, others))


def started_by(process: int, thread: str) -> list[int]:
    """The processes that a thread started and that are still there."""
    with open(f"/proc/{process}/task/{thread}/children") as file:
        return [int(number) for number in file.read().split()]


def main() -> None:
    output, command = sys.argv[1], sys.argv[2:]
    redirect = (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    started = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[redirect])
    together = 0
    while True:  # a command that starts others: what all have at once, every few milliseconds
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            break
        together = max(together, resident(child))
        time.sleep(0.005)
    spent = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mib": max(usage.ru_maxrss * BYTES_PER_UNIT, together) / 2**20,
        "exit_code": os.waitstatus_to_exitcode(status),
    }
    print(json.dumps(spent))


if __name__ == "__main__":
    main()
