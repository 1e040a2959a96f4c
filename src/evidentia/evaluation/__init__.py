"""Frames, measures and statistics become one frozen Evaluation, and its files."""

from evidentia.evaluation.evaluate import evaluate_run
from evidentia.evaluation.files import (
    command_of,
    may_write,
    write_comparison,
    write_folder,
    write_manifest,
    write_result,
)

__all__ = [
    "command_of",
    "evaluate_run",
    "may_write",
    "write_comparison",
    "write_folder",
    "write_manifest",
    "write_result",
]
