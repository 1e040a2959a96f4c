"""What holds for every test.

Most tests read numbers and never look at a page: they go without, unless they ask for it (`report=True`). The conformance
suite reads the hand-worked tests of the measures, so it must be able to import them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")  # no test depends on the speed of a machine
os.environ["EVIDENTIA_NO_REPORT"] = "1"
sys.path.insert(0, str(Path(__file__).parent / "measures"))
