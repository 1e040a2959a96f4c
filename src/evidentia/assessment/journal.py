"""A journal beside the run file: every participant's result is on the disk before the next one is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from evidentia.errors import InputError, OutputError
from evidentia.results.strict_json import loads

SCHEMA = "evidentia.assess-journal/1"


class Journal:
    """Results of one run by participant, appended and synced one by one."""

    def __init__(self, run_file: Path, key: str) -> None:
        self.path = run_file.with_name(f"{run_file.name}.journal")
        self.key = key
        self._lock = Lock()

    def open(self, *, resume: bool) -> dict[str, dict[str, Any]]:
        """The results of earlier starts; empty for a new run. A journal of other settings is refused."""
        if not self.path.exists():
            self._append({"schema": SCHEMA, "key": self.key})
            return {}
        if not resume:
            raise OutputError(
                f"{self.path.name} holds the results of a run that was interrupted. Go on with --resume, or remove that file."
            )
        lines = self._whole_lines()
        head = lines[0] if lines else {}
        if head.get("schema") != SCHEMA or head.get("key") != self.key:
            raise InputError(
                f"{self.path.name} is of a run with other interviews, another scorer or other settings. Use the same ones, or "
                "remove that file to start anew."
            )
        return {str(entry["participant_id"]): entry for entry in lines[1:]}

    def _whole_lines(self) -> list[dict[str, Any]]:
        """Every line that was written whole; what a crash cut short is cut off, so that the next line starts anew."""
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        try:
            return [loads(line) for line in whole.decode().splitlines()]
        except ValueError:
            raise InputError(f"{self.path.name} cannot be read. Remove it to start anew.") from None

    def add(self, result: Mapping[str, Any]) -> None:
        """Write one result, and wait until it is on the disk."""
        with self._lock:
            self._append(result)

    def _append(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            with self.path.open("ab") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(f"Writing {self.path.name} failed: {error.strerror}. Results so far are kept.") from None

    def close(self) -> None:
        """Remove the journal, once the run file is there."""
        self.path.unlink(missing_ok=True)
