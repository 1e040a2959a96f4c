"""Lists of names as people write them: in one text with commas, or each by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

_OUTSIDE_BRACKETS = re.compile(r",(?![^(\[]*[)\]])")


def listed(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """The members of a list; commas inside brackets belong to a member.

    >>> listed(["AUROC,F1(avg=post,empty=1)", "MRR"])
    ('AUROC', 'F1(avg=post,empty=1)', 'MRR')
    >>> listed("AUROC, nDCG@10")
    ('AUROC', 'nDCG@10')
    """
    values = (names,) if isinstance(names, str) else names or ()
    parts = (part.strip() for value in values for part in _OUTSIDE_BRACKETS.split(value))
    return tuple(part for part in parts if part)
