"""The conformance suite reads the hand-worked tests of the measures, so it must be able to import them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "measures"))
