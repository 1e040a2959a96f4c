"""The small runs that these tests share."""

from cli.abstaining import runs
from cli.small import files, saved, split_files, split_saved

__all__ = ["files", "runs", "saved", "split_files", "split_saved"]
