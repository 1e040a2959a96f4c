"""Hold what a file says against what it must say, key by key: nothing may be missing, and nothing may be added."""

from __future__ import annotations

from collections.abc import Mapping

from evidentia.verify.tally import Tally


def agree(tally: Tally, where: str, said: object, found: object) -> None:
    """Compare two JSON values to their leaves: numbers that were computed up to the tolerance, everything else exactly.

    >>> tally = Tally()
    >>> agree(tally, "Cmax", {"value": 0.5, "warnings": [], "more": 1}, {"value": 0.5 + 1e-12, "warnings": []})
    >>> tally.comparisons, [mismatch.where for mismatch in tally.mismatches]
    (3, ['Cmax keys'])
    """
    if isinstance(found, Mapping) and isinstance(said, Mapping):
        tally.exact(f"{where} keys", sorted(map(str, said)), sorted(map(str, found)))
        for key in (key for key in found if key in said):
            agree(tally, f"{where} {key}", said[key], found[key])
    elif isinstance(found, list) and isinstance(said, list):
        tally.exact(f"{where} length", len(said), len(found))
        for place, (one, other) in enumerate(zip(said, found, strict=False)):
            agree(tally, f"{where} {place}", one, other)
    elif isinstance(found, float):
        tally.number(where, said, found)
    else:
        tally.exact(where, said, found)
