"""Frames, measures and statistics become one frozen Evaluation, and its files."""

from evidentia.evaluation.evaluate import evaluate_run
from evidentia.evaluation.files import (
    command_of,
    ensure_writable,
    write_comparison,
    write_folder,
    write_manifest,
    write_result,
)

__all__ = [
    "command_of",
    "ensure_writable",
    "evaluate_run",
    "write_comparison",
    "write_folder",
    "write_manifest",
    "write_result",
]
