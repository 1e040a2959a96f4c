"""Run one command and print its wall time, processor time and peak memory as JSON.

A process of its own, and a small one: the kernel counts the memory of whoever starts a command into that command's peak.
Usage: python -I -S launch.py OUTPUT_FILE PROGRAM [ARGUMENT ...]
"""

import json
import os
import sys
import time

BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024


def main() -> None:
    output, command = sys.argv[1], sys.argv[2:]
    redirect = (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    started = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[redirect])
    _, status, usage = os.wait4(child, 0)
    spent = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss * BYTES_PER_UNIT / 2**20,
        "exit_code": os.waitstatus_to_exitcode(status),
    }
    print(json.dumps(spent))


if __name__ == "__main__":
    main()
