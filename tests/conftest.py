"""Most tests read numbers and never look at a page: they go without, unless they ask for it (`report=True`)."""

from __future__ import annotations

import os

os.environ["EVIDENTIA_NO_REPORT"] = "1"
