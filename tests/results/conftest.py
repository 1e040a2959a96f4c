"""The small runs that these tests share."""

from builders.runs import files, saved, split_files, split_saved
from cli.abstaining import runs

__all__ = ["files", "runs", "saved", "split_files", "split_saved"]
