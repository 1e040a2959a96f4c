"""The configured pipeline before the canaries: labels that it must not see are changed, and everything it says is watched."""

from evidentia.leakcheck.adapter import Annotated, ConfiguredPipeline, annotated_posts
from evidentia.leakcheck.check import Leakcheck, leakcheck, run_canaries

__all__ = ["Annotated", "ConfiguredPipeline", "Leakcheck", "annotated_posts", "leakcheck", "run_canaries"]
