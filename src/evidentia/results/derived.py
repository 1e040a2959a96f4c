"""Files of a result that are drawn from its other files: they can be made again at any time, so no hash is kept of them."""

from __future__ import annotations

import re

_DERIVED = re.compile(
    r"report\.(?:html|tex|aux|log|pdf|md|key|json)|figures/[^/]+\.(?:svg|png|pdf)|figures/drawn/[^/]+\.csv"
)


def is_derived(name: str) -> bool:
    """Whether a file of a result folder is part of its report, or what pdflatex makes of it there.

    >>> is_derived("report.html"), is_derived("figures/roc.png"), is_derived("figures/roc.csv")
    (True, True, False)
    """
    return _DERIVED.fullmatch(name) is not None
