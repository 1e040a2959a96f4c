"""What a manifest says of its own making: nobody can recompute it, but it has a form."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from evidentia.verify.tally import Tally

LIBRARIES = ("numpy", "polars", "python", "scipy")
VERSION = re.compile(r"[0-9]+\.[0-9]+[0-9A-Za-z.+-]*")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")
SHA256 = re.compile(r"[0-9a-f]{64}")


def check_stamp(manifest: Mapping[str, Any], tally: Tally) -> None:
    """Versions, the time and the command have the form that they are written in."""
    check_versions(manifest["versions"], LIBRARIES, tally)
    tally.exact("manifest.json: evidentia is a version", matches(VERSION, manifest["evidentia"]), True)
    tally.exact("manifest.json: time is one", matches(TIME, manifest["time"]), True)
    command = manifest["command"]
    plain = command is None or (isinstance(command, str) and command.startswith("evidentia "))
    tally.exact("manifest.json: command is one, or null", plain, True)


def check_versions(versions: Mapping[str, Any], names: Collection[str], tally: Tally) -> None:
    """These libraries are named, each with a version."""
    tally.exact("manifest.json: versions: keys", sorted(versions), sorted(names))
    for name, version in versions.items():
        tally.exact(f"manifest.json: versions: {name} is a version", matches(VERSION, version), True)


def matches(form: re.Pattern[str], value: object) -> bool:
    """Whether a value is text of a form.

    >>> matches(VERSION, "2.1.0rc1"), matches(VERSION, None), matches(VERSION, "new")
    (True, False, False)
    """
    return isinstance(value, str) and form.fullmatch(value) is not None
